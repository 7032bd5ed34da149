//! Scores of labels: accuracy, the confusion matrix, and F1 by class.
//!
//! A pair is `(prediction, gold)`. Labels are of any type. An abstention counts as a class only if the caller gives it
//! as a label.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Metric, PrecisionRecall};

/// The share of pairs whose labels are equal.
pub fn label_accuracy<L: PartialEq>(pairs: &[(L, L)]) -> Metric {
    Metric::share(pairs.iter().map(|(prediction, gold)| prediction == gold))
}

/// Counts of items by gold label (row) and predicted label (column).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfusionMatrix<L> {
    /// The labels of rows and columns, in order.
    pub labels: Vec<L>,
    /// One row per gold label, one column per predicted label.
    pub counts: Vec<Vec<usize>>,
}

/// The scores of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassScore<L> {
    /// The class.
    pub label: L,
    /// Items whose gold label it is.
    pub gold: usize,
    /// Items for which it was predicted.
    pub predicted: usize,
    /// Precision, recall and F1; all 0 when the class was never predicted rightly.
    pub score: PrecisionRecall,
}

impl<L: Ord + Clone> ConfusionMatrix<L> {
    /// The matrix of `pairs`. Rows and columns start with `order`, so that tables of several runs line up; labels that
    /// occur besides follow in their own order.
    pub fn of(order: &[L], pairs: &[(L, L)]) -> Self {
        let mut labels: Vec<L> = Vec::with_capacity(order.len());
        let occurring: BTreeSet<&L> =
            pairs.iter().flat_map(|(prediction, gold)| [prediction, gold]).collect();
        for label in order.iter().chain(occurring) {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        let place = |label: &L| labels.iter().position(|l| l == label);
        let mut counts = vec![vec![0; labels.len()]; labels.len()];
        for (prediction, gold) in pairs {
            let (row, column) = (place(gold), place(prediction));
            let cell = row.zip(column).and_then(|(r, c)| counts.get_mut(r)?.get_mut(c));
            if let Some(cell) = cell {
                *cell += 1;
            }
        }
        Self { labels, counts }
    }

    /// How many items have this gold and this predicted label.
    pub fn count(&self, gold: &L, prediction: &L) -> usize {
        let place = |label: &L| self.labels.iter().position(|l| l == label);
        place(gold)
            .zip(place(prediction))
            .and_then(|(row, column)| self.counts.get(row)?.get(column))
            .copied()
            .unwrap_or(0)
    }

    /// The scores of each class that occurs in the gold labels or in the predictions, in the order of the rows.
    pub fn classes(&self) -> Vec<ClassScore<L>> {
        let class = |(i, (label, row)): (usize, (&L, &Vec<usize>))| {
            let gold: usize = row.iter().sum();
            let predicted: usize = self.counts.iter().filter_map(|r| r.get(i)).sum();
            let right = row.get(i).copied().unwrap_or(0);
            let score = PrecisionRecall::of(right, predicted, gold);
            (gold + predicted > 0).then(|| ClassScore { label: label.clone(), gold, predicted, score })
        };
        self.labels.iter().zip(&self.counts).enumerate().filter_map(class).collect()
    }

    /// The unweighted mean of F1 over the classes; a class absent from both gold labels and predictions is skipped.
    /// `None` over no items.
    pub fn macro_f1(&self) -> Option<f64> {
        Metric::mean(self.classes().iter().map(|c| c.score.f1).collect()).value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pairs of `(prediction, gold)`: `a` is right twice, `b` once, and one `b` is taken for `a`.
    const PAIRS: [(char, char); 4] = [('a', 'a'), ('a', 'a'), ('a', 'b'), ('b', 'b')];

    #[test]
    fn accuracy_is_the_share_of_equal_labels() {
        let accuracy = label_accuracy(&PAIRS);
        assert_eq!((accuracy.value, accuracy.n), (Some(0.75), 4));
        assert_eq!(accuracy.items, [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(label_accuracy::<char>(&[]).value, None);
    }

    #[test]
    fn rows_are_gold_and_columns_predicted() {
        let matrix = ConfusionMatrix::of(&[], &PAIRS);
        assert_eq!(matrix.labels, ['a', 'b']);
        assert_eq!(matrix.counts, [[2, 0], [1, 1]]);
        assert_eq!((matrix.count(&'b', &'a'), matrix.count(&'a', &'b'), matrix.count(&'z', &'a')), (1, 0, 0));
    }

    #[test]
    fn the_order_given_comes_first_and_other_labels_follow() {
        let matrix = ConfusionMatrix::of(&['c', 'b', 'b'], &PAIRS);
        assert_eq!(matrix.labels, ['c', 'b', 'a']);
        assert_eq!(matrix.counts, [[0, 0, 0], [0, 1, 1], [0, 0, 2]]);
    }

    #[test]
    fn each_class_has_its_precision_and_recall() {
        let classes = ConfusionMatrix::of(&[], &PAIRS).classes();
        let [a, b] = classes.as_slice() else { panic!("two classes") };
        assert_eq!((a.gold, a.predicted, a.score.recall), (2, 3, 1.0));
        assert!((a.score.precision - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((b.gold, b.predicted, b.score.precision, b.score.recall), (2, 1, 1.0, 0.5));
    }

    #[test]
    fn macro_f1_skips_only_classes_that_are_absent_from_both() {
        let expected = (0.8 + 2.0 / 3.0) / 2.0;
        let of = |order: &[char], pairs: &[(char, char)]| ConfusionMatrix::of(order, pairs).macro_f1();
        assert!((of(&[], &PAIRS).unwrap() - expected).abs() < 1e-12);
        assert_eq!(of(&['z'], &PAIRS), of(&[], &PAIRS));
        // A class that is only predicted counts with 0.
        assert!((of(&[], &[('a', 'a'), ('z', 'a')]).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(of(&[], &[('a', 'a')]), Some(1.0));
        assert_eq!(of(&['a'], &[]), None);
    }

    proptest! {
        #[test]
        fn the_matrix_holds_every_item(pairs in proptest::collection::vec((0u8..4, 0u8..4), 1..40)) {
            let matrix = ConfusionMatrix::of(&[3, 1], &pairs);
            prop_assert_eq!(matrix.counts.iter().flatten().sum::<usize>(), pairs.len());
            let diagonal: usize = matrix.labels.iter().map(|l| matrix.count(l, l)).sum();
            prop_assert_eq!(label_accuracy(&pairs).value.unwrap(), diagonal as f64 / pairs.len() as f64);
            // F1 by class does not ask which side is gold.
            let swapped: Vec<_> = pairs.iter().map(|(p, g)| (*g, *p)).collect();
            let swapped = ConfusionMatrix::of(&[3, 1], &swapped).macro_f1().unwrap();
            prop_assert!((matrix.macro_f1().unwrap() - swapped).abs() < 1e-12);
        }
    }
}
