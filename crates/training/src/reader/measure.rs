//! The reader's figures on a validation set, over tokens.

use counterproof_evaluation::auroc;

use super::loss::bound_loss;
use super::{ReaderOutput, SpanSample};
use crate::config::ReaderLoss;
use crate::progress::Evaluation;

/// The longest answer in tokens.
pub(crate) const MAX_ANSWER_TOKENS: usize = 30;

/// The best span of at most [`MAX_ANSWER_TOKENS`] tokens and its score, start plus end.
fn best_span(output: &ReaderOutput) -> Option<(usize, usize, f32)> {
    let mut best: Option<(usize, usize, f32)> = None;
    for (start, s) in output.starts.iter().enumerate() {
        for (end, e) in output.ends.iter().enumerate().skip(start).take(MAX_ANSWER_TOKENS) {
            if best.is_none_or(|(_, _, score)| s + e > score) {
                best = Some((start, end, s + e));
            }
        }
    }
    best
}

/// F1 over tokens of a span against the gold span that fits it best; bounds inclusive.
fn span_f1((start, end): (usize, usize), answers: &[(usize, usize)]) -> f64 {
    let f1 = |(from, to): &(usize, usize)| {
        let common = (end.min(*to) + 1).saturating_sub(start.max(*from));
        2.0 * common as f64 / ((end - start + 1) + (to - from + 1)) as f64
    };
    answers.iter().map(f1).fold(0.0, f64::max)
}

/// Token F1 with the no-answer decision (the score): one for a passage rightly left unanswered, zero for one wrongly
/// answered or left. Beside it F1 and exact match of the best span where there is an answer, whatever the no-answer
/// score says, and how well that score tells the two kinds apart (area under the ROC curve).
pub(crate) fn measure(samples: &[SpanSample], outputs: &[ReaderOutput], kind: ReaderLoss) -> Evaluation {
    let (mut total, mut score) = (0.0, 0.0);
    let (mut answerable, mut f1_sum, mut exact) = (0usize, 0.0, 0usize);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (sample, output) in samples.iter().zip(outputs) {
        let (starts, ends) = sample.bounds();
        total += 0.5 * bound_loss(&output.starts, output.none, &starts, kind).0;
        total += 0.5 * bound_loss(&output.ends, output.none, &ends, kind).0;
        let Some((start, end, best)) = best_span(output) else { continue };
        let margin = 2.0 * output.none - best;
        let answered = margin < 0.0;
        if sample.answers.is_empty() {
            without.push(f64::from(margin));
            score += f64::from(u8::from(!answered));
        } else {
            with.push(f64::from(margin));
            answerable += 1;
            let f1 = span_f1((start, end), &sample.answers);
            f1_sum += f1;
            exact += usize::from(sample.answers.contains(&(start, end)));
            score += if answered { f1 } else { 0.0 };
        }
    }
    let of = |sum: f64, count: usize| sum / count.max(1) as f64;
    Evaluation {
        step: 0,
        examples: samples.len(),
        loss: of(total, samples.len()),
        score: of(score, samples.len()),
        figures: vec![
            ("f1_with_no_answer".to_owned(), of(score, samples.len())),
            ("span_f1".to_owned(), of(f1_sum, answerable)),
            ("span_exact".to_owned(), of(exact as f64, answerable)),
            ("no_answer_auroc".to_owned(), auroc(&without, &with).unwrap_or(0.5)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use counterproof_encoders::parts::Sequence;

    use super::*;

    #[test]
    fn figures_are_those_counted_by_hand() {
        let sample = |answers: &[(usize, usize)]| SpanSample {
            sequence: Sequence { ids: vec![0; 6], type_ids: vec![0; 6] },
            context: 2..6,
            answers: answers.to_vec(),
        };
        let output = |starts: [f32; 4], ends: [f32; 4], none| ReaderOutput {
            starts: starts.to_vec(),
            ends: ends.to_vec(),
            none,
        };
        let samples = [sample(&[(1, 2)]), sample(&[(0, 0)]), sample(&[])];
        let outputs = [
            output([0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 5.0, 0.0], 0.0),
            output([5.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0], 0.0),
            output([0.0; 4], [0.0; 4], 4.0),
        ];
        let measured = measure(&samples, &outputs, ReaderLoss::Any);
        let figure = |name: &str| measured.figures.iter().find(|(n, _)| n == name).map(|(_, x)| *x);
        assert_eq!(figure("span_exact"), Some(0.5));
        assert!((figure("span_f1").unwrap() - 5.0 / 6.0).abs() < 1e-12);
        assert!((measured.score - (1.0 + 2.0 / 3.0 + 1.0) / 3.0).abs() < 1e-12);
        assert_eq!(figure("no_answer_auroc"), Some(1.0));
    }
}
