//! What changing answers did: the intervention report of CounterRefine.

use serde::{Deserialize, Serialize};

use crate::simpleqa::Grade;
use crate::statistics::mcnemar_exact;

/// One item before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Grade of the draft.
    pub before: Grade,
    /// Grade of the final answer.
    pub after: Grade,
    /// Whether the answer was changed.
    pub changed: bool,
}

/// Counts of items by grade before (row) and after (column), in the order of [`Grade::ALL`].
pub type TransitionMatrix = [[usize; 3]; 3];

/// How many answers were helped and harmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// All items.
    pub n: usize,
    /// Items whose answer was changed.
    pub changed: usize,
    /// Not correct before, correct after.
    pub helped: usize,
    /// Correct before, not correct after.
    pub harmed: usize,
    /// Changed, but neither helped nor harmed.
    pub neutral: usize,
    /// `helped / harmed`; `None` when nothing was harmed.
    pub ratio: Option<f64>,
    /// `(helped - harmed) / n`; `None` over no items.
    pub net: Option<f64>,
    /// Exact two-sided McNemar p-value of helped against harmed.
    pub p_value: f64,
    /// Items by grade before and after.
    pub matrix: TransitionMatrix,
}

impl Intervention {
    /// The report over `items`.
    ///
    /// An unchanged answer has one grade; should a grader give it two, the item is counted by its grades all the same,
    /// so that [`correct_after`](Self::correct_after) minus [`correct_before`](Self::correct_before) is always
    /// `helped - harmed`.
    pub fn of(items: &[Transition]) -> Self {
        let correct = |g: Grade| g == Grade::Correct;
        let count = |f: &dyn Fn(&Transition) -> bool| items.iter().filter(|t| f(t)).count();
        let helped = count(&|t| !correct(t.before) && correct(t.after));
        let harmed = count(&|t| correct(t.before) && !correct(t.after));
        let neutral = count(&|t| t.changed && correct(t.before) == correct(t.after));
        let mut matrix = TransitionMatrix::default();
        for t in items {
            if let Some(cell) = matrix.get_mut(t.before.index()).and_then(|row| row.get_mut(t.after.index()))
            {
                *cell += 1;
            }
        }
        let n = items.len();
        Self {
            n,
            changed: count(&|t| t.changed),
            helped,
            harmed,
            neutral,
            ratio: (harmed > 0).then(|| helped as f64 / harmed as f64),
            net: (n > 0).then(|| (helped as f64 - harmed as f64) / n as f64),
            p_value: mcnemar_exact(helped as u64, harmed as u64),
            matrix,
        }
    }

    /// How many were correct before.
    pub fn correct_before(&self) -> usize {
        self.matrix.iter().take(1).flatten().sum()
    }

    /// How many are correct after.
    pub fn correct_after(&self) -> usize {
        self.matrix.iter().filter_map(|row| row.first()).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn items(counts: &[(Grade, Grade, bool, usize)]) -> Vec<Transition> {
        counts
            .iter()
            .flat_map(|(before, after, changed, n)| {
                std::iter::repeat_n(Transition { before: *before, after: *after, changed: *changed }, *n)
            })
            .collect()
    }

    #[test]
    fn the_published_figures_come_out() {
        use Grade::{Correct, Incorrect};
        let all = items(&[
            (Incorrect, Correct, true, 180),
            (Correct, Incorrect, true, 8),
            (Incorrect, Incorrect, true, 54),
            (Correct, Correct, false, 2756),
            (Incorrect, Incorrect, false, 1328),
        ]);
        let report = Intervention::of(&all);
        assert_eq!(
            (report.n, report.changed, report.helped, report.harmed, report.neutral),
            (4326, 242, 180, 8, 54)
        );
        assert!((report.net.unwrap() - 0.0398).abs() < 5e-5);
        assert_eq!(report.ratio, Some(22.5));
        assert!(report.p_value < 1e-40);
    }

    #[test]
    fn nothing_harmed_has_no_ratio_and_nothing_at_all_no_net() {
        let report = Intervention::of(&items(&[(Grade::NotAttempted, Grade::Correct, true, 2)]));
        assert_eq!((report.ratio, report.net), (None, Some(1.0)));
        assert_eq!(report.matrix, [[0, 0, 0], [0, 0, 0], [2, 0, 0]]);
        let empty = Intervention::of(&[]);
        assert_eq!((empty.net, empty.ratio, empty.p_value), (None, None, 1.0));
        assert!(!serde_json::to_string(&empty).unwrap().contains("NaN"));
    }

    fn any_grade() -> impl Strategy<Value = Grade> {
        prop_oneof![Just(Grade::Correct), Just(Grade::Incorrect), Just(Grade::NotAttempted)]
    }

    proptest! {
        #[test]
        fn what_is_gained_is_helped_minus_harmed(grades in proptest::collection::vec((any_grade(), any_grade(), any::<bool>()), 0..60)) {
            let all: Vec<Transition> =
                grades.into_iter().map(|(before, after, changed)| Transition { before, after, changed }).collect();
            let report = Intervention::of(&all);
            let (before, after) = (report.correct_before() as i64, report.correct_after() as i64);
            prop_assert_eq!(after - before, report.helped as i64 - report.harmed as i64);
            prop_assert_eq!(report.matrix.iter().flatten().sum::<usize>(), report.n);
        }
    }
}
