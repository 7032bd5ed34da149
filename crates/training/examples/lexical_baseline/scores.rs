//! Accuracy, macro-F1 and the area under the curve, over the classes that a set has.

use counterproof_evaluation::{auroc, wilson};
use counterproof_training::examples::{Label, PairExample, Target};

/// The class of a pair, and -1 for "not entailed", which counts as right when entailment is not chosen.
fn class(pair: &PairExample) -> i32 {
    match pair.target {
        Target::Is(Label::Entailment) => 0,
        Target::Is(Label::Neutral) => 1,
        Target::Is(Label::Contradiction) => 2,
        Target::NotEntailed => -1,
    }
}

fn best(p: [f64; 3], classes: &[usize]) -> usize {
    classes.iter().copied().max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap_or(0)
}

/// Factors of the classes, chosen on validation pairs for the best macro-F1.
pub(crate) struct Offsets([f64; 3]);

impl Offsets {
    pub(crate) fn fit(pairs: &[&PairExample], predicted: &[[f64; 3]]) -> Self {
        let steps: [f64; 9] = [0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 1.9, 2.4];
        let mut found = ([1.0; 3], f64::MIN);
        for neutral in steps {
            for contradicted in steps {
                let offsets = Self([1.0, neutral, contradicted]);
                let score = Scores::of(pairs, &offsets.apply(predicted)).macro_f1;
                if score > found.1 {
                    found = (offsets.0, score);
                }
            }
        }
        Self(found.0)
    }

    pub(crate) fn apply(&self, predicted: &[[f64; 3]]) -> Vec<[f64; 3]> {
        predicted.iter().map(|p| [0, 1, 2].map(|class| p[class] * self.0[class])).collect()
    }
}

/// The figures of one model on one set.
pub(crate) struct Scores {
    n: usize,
    right: usize,
    pub(crate) macro_f1: f64,
    auc: Option<f64>,
}

impl Scores {
    pub(crate) const HEAD: &'static str = "set                     model            n  accuracy  95 % interval     macro-F1   AUC (entailed against contradicted)";

    /// Only classes that the set has are chosen from: in a set without neutral pairs, entailed against contradicted.
    pub(crate) fn of(pairs: &[&PairExample], predicted: &[[f64; 3]]) -> Self {
        let truths: Vec<i32> = pairs.iter().map(|p| class(p)).collect();
        let two_way = truths.contains(&-1);
        let classes: Vec<usize> = (0..3).filter(|c| truths.contains(&(*c as i32)) || two_way).collect();
        let chosen: Vec<usize> = predicted.iter().map(|p| best(*p, &classes)).collect();
        Self::from_choices(&truths, &chosen, &classes, auc(&truths, predicted))
    }

    pub(crate) fn of_majority(pairs: &[&PairExample]) -> Self {
        let truths: Vec<i32> = pairs.iter().map(|p| class(p)).collect();
        let classes: Vec<usize> = (0..3).filter(|c| truths.contains(&(*c as i32))).collect();
        let size = |c: &usize| truths.iter().filter(|t| **t == *c as i32).count();
        let most = classes.iter().copied().max_by_key(size).unwrap_or(0);
        Self::from_choices(&truths, &vec![most; truths.len()], &classes, None)
    }

    fn from_choices(truths: &[i32], chosen: &[usize], classes: &[usize], auc: Option<f64>) -> Self {
        let is_right =
            |truth: i32, chosen: usize| if truth < 0 { chosen != 0 } else { truth == chosen as i32 };
        let right = truths.iter().zip(chosen).filter(|(t, c)| is_right(**t, **c)).count();
        // "Not entailed" has no class of its own, so it counts in the accuracy only.
        let f1 = |class: usize| {
            let both = truths.iter().zip(chosen).filter(|(t, c)| **t == class as i32 && **c == class).count();
            let said = truths.iter().zip(chosen).filter(|(t, c)| **t >= 0 && **c == class).count();
            let are = truths.iter().filter(|t| **t == class as i32).count();
            (are > 0).then(|| 2.0 * both as f64 / (said + are).max(1) as f64)
        };
        let list: Vec<f64> = classes.iter().filter_map(|c| f1(*c)).collect();
        let macro_f1 = list.iter().sum::<f64>() / list.len().max(1) as f64;
        Self { n: truths.len(), right, macro_f1, auc }
    }

    pub(crate) fn line(&self, set: &str, model: &str) -> String {
        let accuracy = self.right as f64 / self.n.max(1) as f64;
        let interval = wilson(self.right as u64, self.n as u64)
            .map_or(String::new(), |i| format!("{:.3} to {:.3}", i.low, i.high));
        let auc = self.auc.map_or_else(|| "-".to_owned(), |a| format!("{a:.3}"));
        format!(
            "{set:23} {model:11} {:6}  {accuracy:8.3}  {interval:16}  {:8.3}   {auc}",
            self.n, self.macro_f1
        )
    }
}

/// The chance that an entailed pair scores above a contradicted one, ties counting half.
fn auc(truths: &[i32], predicted: &[[f64; 3]]) -> Option<f64> {
    let of = |class: i32| -> Vec<f64> {
        let rows = truths.iter().zip(predicted).filter(|(t, _)| **t == class);
        rows.map(|(_, p)| p[0] / (p[0] + p[2]).max(1e-12)).collect()
    };
    auroc(&of(0), &of(2))
}
