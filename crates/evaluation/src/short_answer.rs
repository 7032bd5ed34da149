//! Exact match and token F1 of short answers, as HotpotQA, SQuAD 2.0 and NQ-open define them.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use counterproof_text::normalise::{nq_open, squad};
use serde::{Deserialize, Serialize};

use crate::Metric;

/// Whether two answers are equal in SQuAD form.
pub fn exact_match(prediction: &str, gold: &str) -> bool {
    squad(prediction) == squad(gold)
}

/// Precision, recall and their harmonic mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecall {
    /// Share of what was predicted that is right.
    pub precision: f64,
    /// Share of what is right that was predicted.
    pub recall: f64,
    /// Harmonic mean of the two; 0 when both are.
    pub f1: f64,
}

impl PrecisionRecall {
    /// From counts; all 0 when `common` is.
    pub(crate) fn of(common: usize, predicted: usize, gold: usize) -> Self {
        if common == 0 {
            return Self::default();
        }
        Self::from_parts(common as f64 / predicted as f64, common as f64 / gold as f64)
    }

    pub(crate) fn from_parts(precision: f64, recall: f64) -> Self {
        let f1 = if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
        Self { precision, recall, f1 }
    }
}

/// How many tokens two normalised strings share, counted as often as both hold them.
fn shared_tokens(prediction: &str, gold: &str) -> (usize, usize, usize) {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for token in gold.split_whitespace() {
        *left.entry(token).or_default() += 1;
    }
    let gold_total = left.values().sum();
    let (mut common, mut total) = (0, 0);
    for token in prediction.split_whitespace() {
        total += 1;
        if let Some(count) = left.get_mut(token).filter(|c| **c > 0) {
            *count -= 1;
            common += 1;
        }
    }
    (common, total, gold_total)
}

/// Token precision, recall and F1 of one answer as HotpotQA scores it: all 0 when either answer is `yes`, `no` or
/// `noanswer` and they differ.
pub fn token_f1(prediction: &str, gold: &str) -> PrecisionRecall {
    let (prediction, gold) = (squad(prediction), squad(gold));
    let closed = |s: &str| matches!(s, "yes" | "no" | "noanswer");
    if prediction != gold && (closed(&prediction) || closed(&gold)) {
        return PrecisionRecall::default();
    }
    let (common, predicted, total) = shared_tokens(&prediction, &gold);
    PrecisionRecall::of(common, predicted, total)
}

/// HotpotQA exact match over `(prediction, gold)`; a missing prediction counts as wrong.
pub fn hotpot_exact_match<P: AsRef<str>, G: AsRef<str>>(
    items: impl IntoIterator<Item = (Option<P>, G)>,
) -> Metric {
    Metric::share(items.into_iter().map(|(p, g)| p.is_some_and(|p| exact_match(p.as_ref(), g.as_ref()))))
}

/// HotpotQA token F1 over `(prediction, gold)`; a missing prediction counts as 0.
pub fn hotpot_f1<P: AsRef<str>, G: AsRef<str>>(items: impl IntoIterator<Item = (Option<P>, G)>) -> Metric {
    Metric::mean(
        items.into_iter().map(|(p, g)| p.map_or(0.0, |p| token_f1(p.as_ref(), g.as_ref()).f1)).collect(),
    )
}

/// Supporting facts of one question: precision, recall and F1 of the predicted `(title, sentence)` set, and whether it
/// is the gold set.
pub fn supporting_facts<T: Eq + Hash>(predicted: &HashSet<T>, gold: &HashSet<T>) -> (PrecisionRecall, bool) {
    let common = predicted.intersection(gold).count();
    (PrecisionRecall::of(common, predicted.len(), gold.len()), predicted == gold)
}

/// Joint HotpotQA score of one question from its answer and supporting-fact scores: the products of the precisions and
/// of the recalls, F1 from those, and exact only if both are.
pub fn joint_hotpot(
    answer: (PrecisionRecall, bool),
    facts: (PrecisionRecall, bool),
) -> (PrecisionRecall, bool) {
    let joint =
        PrecisionRecall::from_parts(answer.0.precision * facts.0.precision, answer.0.recall * facts.0.recall);
    (joint, answer.1 && facts.1)
}

/// The gold answers that SQuAD 2.0 keeps: those whose normal form is not empty; a question without one has the answer "".
fn squad_golds<G: AsRef<str>>(golds: &[G]) -> Vec<String> {
    let kept: Vec<String> = golds.iter().map(|g| squad(g.as_ref())).filter(|g| !g.is_empty()).collect();
    if kept.is_empty() { vec![String::new()] } else { kept }
}

/// SQuAD 2.0 exact match of one question, the best over its gold answers.
pub fn squad_exact_match(prediction: &str, golds: &[impl AsRef<str>]) -> bool {
    squad_golds(golds).contains(&squad(prediction))
}

/// SQuAD 2.0 F1 of one question, the best over its gold answers; with an empty side, 1 when both are empty.
pub fn squad_f1(prediction: &str, golds: &[impl AsRef<str>]) -> f64 {
    let prediction = squad(prediction);
    let one = |gold: &String| {
        if prediction.is_empty() || gold.is_empty() {
            return f64::from(u8::from(prediction == *gold));
        }
        let (common, predicted, total) = shared_tokens(&prediction, gold);
        PrecisionRecall::of(common, predicted, total).f1
    };
    squad_golds(golds).iter().map(one).fold(0.0, f64::max)
}

/// NQ-open exact match of one question: equality after NFD and SQuAD normalisation with any gold answer. A missing
/// prediction is wrong.
pub fn nq_exact_match(prediction: Option<&str>, golds: &[impl AsRef<str>]) -> bool {
    prediction.is_some_and(|p| {
        let p = nq_open(p);
        golds.iter().any(|g| nq_open(g.as_ref()) == p)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        let score = token_f1("Barack Hussein Obama", "Barack Obama");
        assert!((score.precision - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(score.recall, 1.0);
        assert!((score.f1 - 0.8).abs() < 1e-12);
        assert!(!exact_match("Barack Hussein Obama", "Barack Obama"));
    }

    #[test]
    fn yes_and_no_score_whole_or_nothing() {
        assert_eq!(token_f1("yes it is", "yes").f1, 0.0);
        assert_eq!(token_f1("Yes.", "yes").f1, 1.0);
        assert_eq!(token_f1("no", "yes").f1, 0.0);
    }

    #[test]
    fn tokens_are_counted_as_often_as_both_hold_them() {
        let score = token_f1("New York New York", "New York");
        assert_eq!((score.precision, score.recall), (0.5, 1.0));
        assert_eq!(token_f1("the", "a").f1, 0.0);
    }

    #[test]
    fn a_missing_answer_counts_against_the_mean() {
        let items = [(Some("Paris"), "Paris"), (None, "Rome")];
        assert_eq!(hotpot_exact_match(items).value, Some(0.5));
        assert_eq!(hotpot_f1(items).items, [1.0, 0.0]);
        assert_eq!(hotpot_f1([(None::<&str>, "x"); 0]).value, None);
    }

    #[test]
    fn supporting_facts_and_the_joint_score() {
        let gold = HashSet::from([("A", 0), ("B", 1)]);
        let (facts, exact) = supporting_facts(&HashSet::from([("A", 0), ("B", 2)]), &gold);
        assert_eq!((facts.precision, facts.recall, facts.f1, exact), (0.5, 0.5, 0.5, false));
        let (joint, exact) = joint_hotpot((token_f1("Paris", "Paris"), true), (facts, exact));
        assert_eq!((joint.f1, exact), (0.5, false));
        let right = supporting_facts(&gold, &gold);
        assert_eq!(
            joint_hotpot((token_f1("x", "x"), true), right),
            (PrecisionRecall { precision: 1.0, recall: 1.0, f1: 1.0 }, true)
        );
    }

    #[test]
    fn squad_two_drops_empty_golds_and_scores_silence() {
        assert!(squad_exact_match("", &[] as &[&str]));
        assert!(squad_exact_match("The", &["...", "a"]));
        assert_eq!(squad_f1("Paris", &[] as &[&str]), 0.0);
        assert_eq!(squad_f1("", &["Paris"]), 0.0);
        assert_eq!(squad_f1("", &[""]), 1.0);
        assert!((squad_f1("Barack Hussein Obama", &["Obama", "Barack Obama"]) - 0.8).abs() < 1e-12);
        // The closed answers of HotpotQA mean nothing to SQuAD.
        assert!(squad_f1("yes it is", &["yes"]) > 0.0);
    }

    #[test]
    fn nq_compares_after_decomposition() {
        assert!(nq_exact_match(Some("Beyonce\u{301}"), &["Beyoncé"]));
        assert!(!nq_exact_match(Some("Beyonce"), &["Beyoncé"]));
        assert!(!nq_exact_match(None, &["anything"]));
    }

    #[test]
    fn a_gold_answer_that_is_an_article_is_matched_only_by_equality() {
        for gold in ["A", "The"] {
            assert!(!exact_match("a long answer", gold));
            assert_eq!(token_f1("a long answer", gold).f1, 0.0);
            assert!(!nq_exact_match(Some("a long answer"), &[gold]));
        }
    }

    proptest! {
        #[test]
        fn f1_is_symmetric_and_one_for_equals(a in "[a-d ]{0,12}", b in "[a-d ]{0,12}") {
            prop_assert!((token_f1(&a, &b).f1 - token_f1(&b, &a).f1).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&token_f1(&a, &b).f1));
            if !squad(&a).is_empty() {
                prop_assert_eq!(token_f1(&a, &a).f1, 1.0);
            }
        }
    }
}
