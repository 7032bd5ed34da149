//! Scores of questions whose answer is a set.
//!
//! There is no one way to count: QAMPARI, ALCE, RoMQA and MultiSpanQA differ in what they normalise, in whether a
//! repeated prediction costs precision, and in what they average. Figures of one are never set beside figures of
//! another, so each has its own function, after its official code. A gold answer is given as all of its names, the
//! chief name first, as QAMPARI publishes it; [`one_name_each`] makes that of plain answers.

mod alce;
mod multispanqa;
mod qampari;
mod ramdocs;
mod romqa;
mod stages;

use serde::{Deserialize, Serialize};

use crate::{Metric, PrecisionRecall};

pub use alce::{AlceMeans, AlceScore, alce, alce_list, alce_of_output};
pub use multispanqa::{MultiSpanCounts, MultiSpanScore};
pub use qampari::{contained, qampari};
pub use ramdocs::{ReplyMeans, ReplyScore, ramdocs};
pub use romqa::{Names, RomqaAnswer, RomqaAt, RomqaMeans, RomqaReport, cluster_min, entity_set, romqa};
pub use stages::{VerificationScore, Verified, candidate_recall};

/// The score of one question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SetScore {
    /// Precision, recall and F1; all 0 when nothing was hit.
    #[serde(flatten)]
    pub score: PrecisionRecall,
    /// Gold answers that were hit, each counted once.
    pub hits: usize,
    /// Predictions that count for precision.
    pub predicted: usize,
    /// Gold answers that count for recall.
    pub gold: usize,
}

impl SetScore {
    /// From counts. Without predictions or without gold answers all figures are 0.
    fn of(hits: usize, predicted: usize, gold: usize) -> Self {
        Self { score: PrecisionRecall::of(hits, predicted, gold), hits, predicted, gold }
    }
}

/// Macro means over questions, with the two shares that QAMPARI reports beside them (`f1_above` and `rec_above` of its
/// `reader_metrics.py`; Amouyal et al., 2022).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SetMeans {
    /// Mean precision.
    pub precision: Metric,
    /// Mean recall.
    pub recall: Metric,
    /// Mean F1, which is not the F1 of the two means.
    pub f1: Metric,
    /// Share of questions with F1 of at least 0.5.
    pub f1_from_half: Metric,
    /// Share of questions with recall of at least 0.8.
    pub recall_from_four_fifths: Metric,
}

impl SetMeans {
    /// The means of `scores`, one score a question, in their order.
    pub fn of(scores: &[SetScore]) -> Self {
        let all = || scores.iter().map(|s| s.score);
        Self {
            precision: Metric::mean(all().map(|s| s.precision).collect()),
            recall: Metric::mean(all().map(|s| s.recall).collect()),
            f1: Metric::mean(all().map(|s| s.f1).collect()),
            f1_from_half: Metric::share(all().map(|s| s.f1 >= 0.5)),
            recall_from_four_fifths: Metric::share(all().map(|s| s.recall >= 0.8)),
        }
    }
}

/// Plain answers as gold answers of one name each.
pub fn one_name_each(answers: &[impl AsRef<str>]) -> Vec<[&str; 1]> {
    answers.iter().map(|a| [a.as_ref()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_shares_are_over_questions() {
        // F1 of 0.5 and recall of 0.8 exactly are inside.
        let scores = [SetScore::of(1, 2, 2), SetScore::of(4, 40, 5), SetScore::of(0, 0, 3)];
        let means = SetMeans::of(&scores);
        assert_eq!(means.precision.items, [0.5, 0.1, 0.0]);
        assert!((means.recall.value.unwrap() - 1.3 / 3.0).abs() < 1e-12);
        assert_eq!(means.f1_from_half.items, [1.0, 0.0, 0.0]);
        assert_eq!(means.recall_from_four_fifths.items, [0.0, 1.0, 0.0]);
        assert!(means.f1_from_half.wilson().is_some());
        assert_eq!(SetMeans::of(&[]).f1.value, None);
    }

    #[test]
    fn a_score_is_one_flat_record() {
        assert_eq!(
            serde_json::to_string(&SetScore::of(1, 2, 1)).unwrap(),
            r#"{"precision":0.5,"recall":1.0,"f1":0.6666666666666666,"hits":1,"predicted":2,"gold":1}"#
        );
    }
}
