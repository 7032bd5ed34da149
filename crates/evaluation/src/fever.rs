//! The FEVER score, as the official `fever-scorer` computes it (Thorne et al., 2018).
//!
//! Labels are those of FEVER: `SUPPORTS`, `REFUTES` and `NOT ENOUGH INFO`, in any case.

use serde::{Deserialize, Serialize};

use crate::{Metric, PrecisionRecall};

/// How many predicted sentences count, the first ones. An older version of the official code had no such limit.
pub const FEVER_MAX_EVIDENCE: usize = 5;

/// The gold label of a claim whose evidence is not scored.
const NOT_ENOUGH_INFO: &str = "NOT ENOUGH INFO";

/// One claim. `E` names a piece of evidence: `(page, line)` for the official score; the page alone gives a page-level
/// variant, to be named so in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeverClaim<E> {
    /// The gold label.
    pub gold_label: String,
    /// The predicted label.
    pub predicted_label: String,
    /// The gold evidence: groups, each of which is enough when whole. `None` is an entry without a line; no prediction
    /// is equal to it, so a group with one is never whole.
    pub evidence: Vec<Vec<Option<E>>>,
    /// The predicted evidence, best first. One given twice counts twice.
    pub predicted_evidence: Vec<E>,
}

impl<E: PartialEq> FeverClaim<E> {
    fn label_is_right(&self) -> bool {
        self.gold_label.to_uppercase() == self.predicted_label.to_uppercase()
    }

    fn has_evidence(&self) -> bool {
        self.gold_label.to_uppercase() != NOT_ENOUGH_INFO
    }

    fn counted(&self) -> &[E] {
        self.predicted_evidence.get(..FEVER_MAX_EVIDENCE).unwrap_or(&self.predicted_evidence)
    }

    /// Whether some gold group lies inside the predictions. An empty group does, no group at all does not.
    fn finds_a_group(&self) -> bool {
        let counted = self.counted();
        let found = |entry: &Option<E>| entry.as_ref().is_some_and(|e| counted.contains(e));
        self.evidence.iter().any(|group| group.iter().all(found))
    }

    fn is_strictly_right(&self) -> bool {
        self.label_is_right() && (!self.has_evidence() || self.finds_a_group())
    }

    /// The share of the predictions that are in any gold group; 1 when nothing was predicted.
    fn precision(&self) -> f64 {
        let counted = self.counted();
        let is_gold = |e: &&E| self.evidence.iter().flatten().flatten().any(|gold| gold == *e);
        if counted.is_empty() {
            return 1.0;
        }
        counted.iter().filter(is_gold).count() as f64 / counted.len() as f64
    }

    /// Whether the evidence was found; true when there is none to find. The official code also means to let claims
    /// pass whose groups are all empty, but its test looks at the keys of the record and never holds.
    fn is_recalled(&self) -> bool {
        self.evidence.is_empty() || self.finds_a_group()
    }
}

/// The figures of the official scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeverScore {
    /// The FEVER score: share of claims whose label is right and, unless the gold label is `NOT ENOUGH INFO`, for which
    /// a whole gold group is among the predictions that count. A claim without any gold group fails here.
    pub strict: Metric,
    /// Share of claims whose label is right.
    pub label_accuracy: Metric,
    /// Mean precision of the evidence over the claims whose gold label is not `NOT ENOUGH INFO`, whatever label was
    /// predicted.
    pub evidence_precision: Metric,
    /// Share of the same claims for which a whole gold group was found; a claim without any gold group counts as found.
    pub evidence_recall: Metric,
    /// Harmonic mean of the two; 0 when both are, where the official code divides by zero. `None` over no claim with
    /// evidence, where the official code has a precision of 1 and a recall of 0.
    pub evidence_f1: Option<f64>,
}

impl FeverScore {
    /// The score of `claims`.
    pub fn of<E: PartialEq>(claims: &[FeverClaim<E>]) -> Self {
        let with_evidence = || claims.iter().filter(|c| c.has_evidence());
        let evidence_precision = Metric::mean(with_evidence().map(FeverClaim::precision).collect());
        let evidence_recall = Metric::share(with_evidence().map(FeverClaim::is_recalled));
        let means = evidence_precision.value.zip(evidence_recall.value);
        Self {
            strict: Metric::share(claims.iter().map(FeverClaim::is_strictly_right)),
            label_accuracy: Metric::share(claims.iter().map(FeverClaim::label_is_right)),
            evidence_f1: means.map(|(precision, recall)| PrecisionRecall::from_parts(precision, recall).f1),
            evidence_precision,
            evidence_recall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sentence = (&'static str, u32);

    fn claim(labels: (&str, &str), groups: &[&[Sentence]], predicted: &[Sentence]) -> FeverClaim<Sentence> {
        FeverClaim {
            gold_label: labels.0.into(),
            predicted_label: labels.1.into(),
            evidence: groups.iter().map(|g| g.iter().copied().map(Some).collect()).collect(),
            predicted_evidence: predicted.to_vec(),
        }
    }

    /// Strict score, precision, recall and F1.
    fn figures(claims: &[FeverClaim<Sentence>]) -> [Option<f64>; 4] {
        let score = FeverScore::of(claims);
        [score.strict.value, score.evidence_precision.value, score.evidence_recall.value, score.evidence_f1]
    }

    const SUPPORTS: (&str, &str) = ("SUPPORTS", "SUPPORTS");
    const GROUPS: [&[Sentence]; 2] = [&[("A", 1)], &[("A", 2), ("B", 0)]];

    #[test]
    fn the_example_of_the_specification() {
        let one = claim(SUPPORTS, &GROUPS, &[("A", 1), ("C", 3)]);
        assert_eq!(figures(&[one]), [Some(1.0), Some(0.5), Some(1.0), Some(2.0 / 3.0)]);
    }

    #[test]
    fn half_a_group_is_precise_but_not_enough() {
        let one = claim(SUPPORTS, &GROUPS, &[("A", 2)]);
        assert_eq!(figures(&[one]), [Some(0.0), Some(1.0), Some(0.0), Some(0.0)]);
    }

    #[test]
    fn only_the_first_five_predictions_count() {
        let noise = [("X", 0), ("X", 1), ("X", 2), ("X", 3)];
        let fifth = [noise.as_slice(), &[("A", 1)]].concat();
        let sixth = [noise.as_slice(), &[("X", 4), ("A", 1)]].concat();
        assert_eq!(figures(&[claim(SUPPORTS, &GROUPS, &fifth)])[..3], [Some(1.0), Some(0.2), Some(1.0)]);
        assert_eq!(figures(&[claim(SUPPORTS, &GROUPS, &sixth)]), [Some(0.0); 4]);
    }

    #[test]
    fn labels_are_equal_in_any_case_and_evidence_counts_under_a_wrong_one() {
        let right = claim(("SUPPORTS", "supports"), &GROUPS, &[("A", 1)]);
        let wrong = claim(("SUPPORTS", "REFUTES"), &GROUPS, &[("A", 1)]);
        assert_eq!(figures(std::slice::from_ref(&wrong)), [Some(0.0), Some(1.0), Some(1.0), Some(1.0)]);
        let score = FeverScore::of(&[right, wrong]);
        assert_eq!((score.label_accuracy.value, score.strict.items), (Some(0.5), vec![1.0, 0.0]));
    }

    #[test]
    fn claims_without_enough_information_need_only_their_label() {
        let unsettled = claim(("Not Enough Info", "NOT ENOUGH INFO"), &[], &[("A", 1)]);
        assert_eq!(figures(std::slice::from_ref(&unsettled)), [Some(1.0), None, None, None]);
        let settled = claim(SUPPORTS, &GROUPS, &[("A", 1)]);
        let score = FeverScore::of(&[unsettled, settled]);
        assert_eq!((score.strict.n, score.evidence_precision.n, score.evidence_recall.n), (2, 1, 1));
    }

    #[test]
    fn no_prediction_is_precise_and_no_evidence_is_recalled() {
        assert_eq!(figures(&[claim(SUPPORTS, &GROUPS, &[])]), [Some(0.0), Some(1.0), Some(0.0), Some(0.0)]);
        // Without any group the strict score fails, as in the official code.
        assert_eq!(
            figures(&[claim(SUPPORTS, &[], &[("A", 1)])]),
            [Some(0.0), Some(0.0), Some(1.0), Some(0.0)]
        );
    }

    #[test]
    fn an_entry_without_a_line_is_never_found() {
        let mut one = claim(SUPPORTS, &[&[("A", 1)]], &[("A", 1)]);
        one.evidence[0].push(None);
        assert_eq!(figures(&[one]), [Some(0.0), Some(1.0), Some(0.0), Some(0.0)]);
    }

    #[test]
    fn a_sentence_given_twice_counts_twice() {
        let one = claim(SUPPORTS, &GROUPS, &[("A", 1), ("A", 1), ("C", 3)]);
        assert_eq!(figures(&[one])[1], Some(2.0 / 3.0));
    }

    #[test]
    fn pages_alone_make_the_page_level_variant() {
        let one = FeverClaim {
            gold_label: "REFUTES".into(),
            predicted_label: "REFUTES".into(),
            evidence: vec![vec![Some("A")], vec![Some("A"), Some("B")]],
            predicted_evidence: vec!["A", "C"],
        };
        assert_eq!(FeverScore::of(&[one]).strict.value, Some(1.0));
    }

    #[test]
    fn no_claims_give_null() {
        assert_eq!(figures(&[]), [None; 4]);
        assert_eq!(FeverScore::of::<Sentence>(&[]).label_accuracy.value, None);
    }
}
