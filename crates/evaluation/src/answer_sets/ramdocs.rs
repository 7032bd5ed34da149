//! RAMDocs (Wang et al., 2025): several right answers, and wrong ones that false documents speak for.
//!
//! Its repository holds the systems and no scorer. The paper's measure is a strict exact match: an answer is right when it
//! gives every gold answer and no wrong one. Texts are compared in SQuAD form, which `run_madam_rag.py` uses as well; to
//! find an answer as whole words in a row is ours.
//!
//! In the published file a wrong answer is also a gold answer of the same question, or part of one, in a few rows. By
//! this rule no reply to them is right.

use counterproof_text::normalise::{contains_phrase, squad};
use serde::{Deserialize, Serialize};

use super::{SetScore, one_name_each, qampari};
use crate::Metric;

/// The score of a list of answers: the rule of [`qampari`] with one name for each gold answer. [`super::contained`] is the
/// lenient one.
pub fn ramdocs(golds: &[impl AsRef<str>], predictions: &[impl AsRef<str>]) -> SetScore {
    qampari(&one_name_each(golds), predictions)
}

/// Which answers a reply in free words gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyScore {
    /// For each gold answer, whether its words stand in the reply in a row.
    pub gold_found: Vec<bool>,
    /// The same for each wrong answer.
    pub wrong_found: Vec<bool>,
}

impl ReplyScore {
    /// The score of `reply`. An answer without a normal form (`The`) is found in none.
    pub fn of(reply: &str, golds: &[impl AsRef<str>], wrongs: &[impl AsRef<str>]) -> Self {
        let reply = squad(reply);
        let found = |answer: &str| contains_phrase(&reply, &squad(answer));
        Self {
            gold_found: golds.iter().map(|a| found(a.as_ref())).collect(),
            wrong_found: wrongs.iter().map(|a| found(a.as_ref())).collect(),
        }
    }

    /// Share of the gold answers that are given; `None` without any.
    pub fn gold_recall(&self) -> Option<f64> {
        Metric::share(self.gold_found.iter().copied()).value
    }

    /// Share of the wrong answers that are given; `None` without any.
    pub fn wrong_share(&self) -> Option<f64> {
        Metric::share(self.wrong_found.iter().copied()).value
    }

    /// Whether every gold answer is given and no wrong one; never so without a gold answer.
    pub fn is_right(&self) -> bool {
        !self.gold_found.is_empty() && self.gold_found.iter().all(|f| *f) && !self.wrong_found.contains(&true)
    }
}

/// Means over questions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyMeans {
    /// Mean share of gold answers given.
    pub gold_recall: Metric,
    /// Mean share of wrong answers given, over the questions that have one.
    pub wrong_share: Metric,
    /// Share of replies that give every gold answer and no wrong one.
    pub strict_accuracy: Metric,
}

impl ReplyMeans {
    /// The means of `scores`, one score a question, in their order.
    pub fn of(scores: &[ReplyScore]) -> Self {
        Self {
            gold_recall: Metric::mean(scores.iter().filter_map(ReplyScore::gold_recall).collect()),
            wrong_share: Metric::mean(scores.iter().filter_map(ReplyScore::wrong_share).collect()),
            strict_accuracy: Metric::share(scores.iter().map(ReplyScore::is_right)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [&str; 0] = [];

    #[test]
    fn a_list_is_scored_like_qampari_with_one_name_each() {
        let score = ramdocs(&["Telugu", "Hindi"], &["hindi", "Marathi"]);
        assert_eq!((score.hits, score.score.precision, score.score.recall), (1, 0.5, 0.5));
        assert_eq!(ramdocs(&["3,559 people"], &["3,559"]).hits, 0);
    }

    #[test]
    fn a_reply_is_right_with_every_gold_answer_and_no_wrong_one() {
        let of = |reply: &str| ReplyScore::of(reply, &["1856", "the 1902 fair"], &["1900", "1901"]);
        let right = of("It was 1856, or else (for the fair) the 1902 Fair.");
        assert!(right.is_right());
        assert_eq!((right.gold_recall(), right.wrong_share()), (Some(1.0), Some(0.0)));
        let half = of("In 1856; not 1900.");
        assert_eq!((half.is_right(), half.gold_recall(), half.wrong_share()), (false, Some(0.5), Some(0.5)));
        assert!(!of("In 1856, 1901 and at the 1902 fair.").is_right());
        // Whole words only.
        assert_eq!(of("18567").gold_found, [false, false]);
    }

    #[test]
    fn a_question_without_wrong_answers_has_no_share_of_them() {
        let score = ReplyScore::of("Paris", &["Paris"], &NONE);
        assert_eq!((score.is_right(), score.wrong_share()), (true, None));
        assert!(!ReplyScore::of("Paris", &NONE, &NONE).is_right());
        let means = ReplyMeans::of(&[score, ReplyScore::of("Rome", &["Paris"], &["Rome"])]);
        assert_eq!((means.gold_recall.value, means.strict_accuracy.value), (Some(0.5), Some(0.5)));
        assert_eq!((means.wrong_share.value, means.wrong_share.n), (Some(1.0), 1));
        assert_eq!(ReplyMeans::of(&[]).strict_accuracy.value, None);
    }

    #[test]
    fn a_wrong_answer_inside_a_gold_one_cannot_be_avoided() {
        assert!(!ReplyScore::of("American football", &["American football"], &["Football"]).is_right());
    }
}
