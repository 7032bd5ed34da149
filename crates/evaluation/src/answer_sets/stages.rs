//! Where answers are won and lost between candidates and the final set: what the candidates hold at best, and what
//! verification keeps and drops.

use serde::{Deserialize, Serialize};

use super::qampari;
use crate::Metric;

/// The mean share of gold answers that some candidate names, over `(gold answers, candidates)` of each question: by the
/// rule of [`qampari`], so that it is the recall of a verifier that keeps exactly what is right.
pub fn candidate_recall<'a, G, A, P>(questions: impl IntoIterator<Item = (&'a [G], &'a [P])>) -> Metric
where
    G: AsRef<[A]> + 'a,
    A: AsRef<str>,
    P: AsRef<str> + 'a,
{
    let recall = |(golds, candidates)| qampari(golds, candidates).score.recall;
    Metric::mean(questions.into_iter().map(recall).collect())
}

/// A candidate after verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Whether it is a gold answer.
    pub right: bool,
    /// Whether it was kept.
    pub kept: bool,
}

/// What verification did to candidates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerificationScore {
    /// Share of the kept candidates that are right. Micro: every candidate counts the same.
    pub precision: Metric,
    /// Share of the right candidates that were not kept.
    pub false_rejection: Metric,
    /// Share of all candidates that are right: the precision of keeping everything.
    pub right_before: Metric,
}

impl VerificationScore {
    /// The score over `candidates`.
    pub fn of(candidates: &[Verified]) -> Self {
        let all = candidates.iter();
        Self {
            precision: Metric::share(all.clone().filter(|c| c.kept).map(|c| c.right)),
            false_rejection: Metric::share(all.clone().filter(|c| c.right).map(|c| !c.kept)),
            right_before: Metric::share(all.map(|c| c.right)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_measured_by_the_answers_they_name() {
        let golds = [vec!["New York City", "NYC"], vec!["Paris"]];
        let all: [(&[Vec<&str>], &[&str]); 2] = [(&golds, &["nyc", "x", "y"]), (&golds, &[])];
        let recall = candidate_recall(all);
        assert_eq!((recall.value, recall.items.as_slice()), (Some(0.25), [0.5, 0.0].as_slice()));
    }

    #[test]
    fn verification_keeps_and_drops() {
        let of = |right, kept| Verified { right, kept };
        let score = VerificationScore::of(&[
            of(true, true),
            of(true, true),
            of(false, true),
            of(true, false),
            of(false, false),
        ]);
        assert!((score.precision.value.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert!((score.false_rejection.value.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((score.right_before.value, score.right_before.n), (Some(0.6), 5));
        assert!(score.precision.wilson().is_some());
    }

    #[test]
    fn a_verifier_that_knows_is_never_wrong_and_drops_nothing_right() {
        let oracle = [true, false, true].map(|right| Verified { right, kept: right });
        let score = VerificationScore::of(&oracle);
        assert_eq!((score.precision.value, score.false_rejection.value), (Some(1.0), Some(0.0)));
        assert_eq!(VerificationScore::of(&[]).precision.value, None);
        assert_eq!(
            VerificationScore::of(&[Verified { right: false, kept: false }]).false_rejection.value,
            None
        );
    }
}
