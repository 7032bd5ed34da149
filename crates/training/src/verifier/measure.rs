//! The verifier's figures on a validation set.

use std::collections::BTreeMap;

use super::loss::{index, loss};
use super::{LABELS, PairSample};
use crate::config::VerifierLoss;
use crate::examples::Target;
use crate::progress::Evaluation;

/// Correct and all.
#[derive(Default)]
struct Count(usize, usize);

impl Count {
    fn add(&mut self, correct: bool) {
        self.0 += usize::from(correct);
        self.1 += 1;
    }

    fn share(&self) -> f64 {
        if self.1 == 0 { 0.0 } else { self.0 as f64 / self.1 as f64 }
    }
}

/// Macro-F1 over the three classes (the score), accuracy overall and by source, loss without smoothing.
///
/// Rows that are only known to be not entailed count in the accuracies, where anything but "entailed" is right, and not
/// in the F1; where there is no other row the score is their accuracy.
pub(crate) fn measure(samples: &[PairSample], outputs: &[[f32; 3]]) -> Evaluation {
    let plain = VerifierLoss { label_smoothing: 0.0, class_weights: [1.0; 3], not_entailed_weight: 1.0 };
    // For each class: right, predicted, due.
    let mut classes = [[0usize; 3]; 3];
    let mut total = 0.0;
    let mut all = Count::default();
    let mut sources: BTreeMap<&str, Count> = BTreeMap::new();
    for (sample, logits) in samples.iter().zip(outputs) {
        total += loss(*logits, sample.target, &plain).0;
        let predicted = best(*logits);
        let correct = match sample.target {
            Target::Is(label) => {
                let due = index(label);
                for (class, [right, guessed, gold]) in classes.iter_mut().enumerate() {
                    *right += usize::from(class == due && class == predicted);
                    *guessed += usize::from(class == predicted);
                    *gold += usize::from(class == due);
                }
                predicted == due
            }
            Target::NotEntailed => predicted != 0,
        };
        all.add(correct);
        sources.entry(&sample.source).or_default().add(correct);
    }
    let f1 = classes.map(
        |[right, guessed, gold]| {
            if right == 0 { 0.0 } else { 2.0 * right as f64 / (guessed + gold) as f64 }
        },
    );
    let seen: Vec<f64> =
        classes.iter().zip(f1).filter(|([_, _, gold], _)| *gold > 0).map(|(_, f)| f).collect();
    let macro_f1 = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
    let mut figures = vec![("accuracy".to_owned(), all.share()), ("macro_f1".to_owned(), macro_f1)];
    figures.extend(LABELS.iter().zip(f1).map(|(label, f1)| (format!("f1/{label}"), f1)));
    figures.extend(sources.iter().map(|(source, count)| (format!("accuracy/{source}"), count.share())));
    Evaluation {
        step: 0,
        examples: samples.len(),
        loss: total / samples.len().max(1) as f64,
        score: if seen.is_empty() { all.share() } else { macro_f1 },
        figures,
    }
}

/// The likeliest class.
fn best(logits: [f32; 3]) -> usize {
    let [entail, neutral, contradict] = logits;
    if entail >= neutral && entail >= contradict {
        0
    } else if neutral >= contradict {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use counterproof_encoders::parts::Sequence;

    use super::*;
    use crate::examples::Label;

    fn sample(target: Target, source: &str) -> PairSample {
        let sequence = Sequence { ids: vec![1], type_ids: vec![0] };
        PairSample { sequence, target, weight: 1.0, source: source.to_owned() }
    }

    #[test]
    fn figures_are_those_counted_by_hand() {
        let samples = [
            sample(Target::Is(Label::Entailment), "a"),
            sample(Target::Is(Label::Entailment), "a"),
            sample(Target::Is(Label::Contradiction), "b"),
            sample(Target::NotEntailed, "b"),
        ];
        let outputs = [[3.0, 0.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 3.0], [0.0, 3.0, 0.0]];
        let measured = measure(&samples, &outputs);
        let figure = |name: &str| measured.figures.iter().find(|(n, _)| n == name).map(|(_, x)| *x);
        assert_eq!(figure("accuracy"), Some(0.75));
        assert_eq!(figure("accuracy/a"), Some(0.5));
        assert_eq!(figure("accuracy/b"), Some(1.0));
        // Entailed: one right, one guessed, two due; contradicted: one right, two guessed, one due.
        assert!((measured.score - 2.0 / 3.0).abs() < 1e-12, "{}", measured.score);
    }
}
