//! MultiSpanQA (Li et al., 2022; `src/eval_script.py` of its repository): spans that match exactly, and how far they
//! overlap. Both are micro-averaged: counts are summed over questions before they are divided.

use std::collections::{BTreeSet, HashMap, HashSet};

use counterproof_text::normalise::squad;
use serde::{Deserialize, Serialize};

use crate::PrecisionRecall;

/// What one question adds to the sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MultiSpanCounts {
    /// Distinct gold spans in SQuAD form, at least 1.
    pub gold: usize,
    /// Distinct predicted spans in SQuAD form, at least 1.
    pub predicted: usize,
    /// Spans that are in both; 1 where both are empty.
    pub exact: usize,
    /// Over the predicted spans: the largest share of each that one gold span covers.
    pub overlap_predicted: f64,
    /// Over the gold spans: the largest share of each that one predicted span covers.
    pub overlap_gold: f64,
}

impl MultiSpanCounts {
    /// The counts of one question.
    pub fn of(predictions: &[impl AsRef<str>], golds: &[impl AsRef<str>]) -> Self {
        let predicted: BTreeSet<String> = predictions.iter().map(|p| squad(p.as_ref())).collect();
        let gold: BTreeSet<String> = golds.iter().map(|g| squad(g.as_ref())).collect();
        let (overlap_predicted, overlap_gold) = overlap(&predicted, &gold);
        let both_empty = predicted.is_empty() && gold.is_empty();
        Self {
            gold: gold.len().max(1),
            predicted: predicted.len().max(1),
            exact: if both_empty { 1 } else { gold.intersection(&predicted).count() },
            overlap_predicted,
            overlap_gold,
        }
    }
}

/// The sums over the predicted and over the gold spans (`count_overlap`).
fn overlap(predicted: &BTreeSet<String>, gold: &BTreeSet<String>) -> (f64, f64) {
    let nothing_said = predicted.iter().all(String::is_empty);
    if gold.is_empty() || nothing_said {
        let right = f64::from(u8::from(gold.is_empty() && nothing_said));
        return (right, right);
    }
    let letters = |spans: &BTreeSet<String>| spans.iter().map(|s| s.chars().collect()).collect();
    let (predicted, gold): (Vec<Vec<char>>, Vec<Vec<char>>) = (letters(predicted), letters(gold));
    let mut of_predicted = vec![0.0f64; predicted.len()];
    let mut of_gold = 0.0;
    for span in &gold {
        let mut best = 0.0f64;
        for (said, best_of_said) in predicted.iter().zip(&mut of_predicted) {
            let common = longest_common_run(span, said) as f64;
            if common > 0.0 {
                *best_of_said = best_of_said.max(common / said.len() as f64);
                best = best.max(common / span.len() as f64);
            }
        }
        of_gold += best;
    }
    (of_predicted.iter().sum(), of_gold)
}

/// The length of the longest run of characters that both hold, as `find_longest_match` of Python's `difflib` finds it.
///
/// It is not always the longest: in a prediction of 200 characters or more, characters that make up over a hundredth of
/// it do not begin a match, they only lengthen one. Without that quirk the figures of long predictions would differ.
fn longest_common_run(gold: &[char], said: &[char]) -> usize {
    let frequent = frequent(said);
    let (mut gold_start, mut said_start, mut longest) = (0, 0, 0);
    // The lengths of the runs that end at the last character of `gold`, by where in `said`, with one 0 before.
    let mut ending = vec![0usize; said.len() + 1];
    for (at, letter) in gold.iter().enumerate() {
        let mut next = vec![0; said.len() + 1];
        if !frequent.contains(letter) {
            for (place, ((other, before), here)) in
                said.iter().zip(&ending).zip(next.iter_mut().skip(1)).enumerate()
            {
                if letter != other {
                    continue;
                }
                *here = before + 1;
                if *here > longest {
                    longest = *here;
                    (gold_start, said_start) = (at + 1 - longest, place + 1 - longest);
                }
            }
        }
        ending = next;
    }
    let (gold_before, gold_rest) = gold.split_at_checked(gold_start).unwrap_or_default();
    let (said_before, said_rest) = said.split_at_checked(said_start).unwrap_or_default();
    let left = gold_before.iter().rev().zip(said_before.iter().rev()).take_while(|(a, b)| a == b).count();
    let right = gold_rest.iter().zip(said_rest).take_while(|(a, b)| a == b).count();
    left + right
}

/// The characters that `difflib` calls popular.
fn frequent(text: &[char]) -> HashSet<char> {
    if text.len() < 200 {
        return HashSet::new();
    }
    let mut counts: HashMap<char, usize> = HashMap::new();
    for letter in text {
        *counts.entry(*letter).or_default() += 1;
    }
    counts.into_iter().filter(|(_, n)| *n > text.len() / 100 + 1).map(|(letter, _)| letter).collect()
}

/// The official score over questions. For an interval, score resamples of the counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MultiSpanScore {
    /// Questions.
    pub n: usize,
    /// Spans that match exactly in SQuAD form.
    pub exact: PrecisionRecall,
    /// Spans by how far they overlap, in characters.
    pub overlap: PrecisionRecall,
}

impl MultiSpanScore {
    /// The score over the questions with these counts; `None` over none.
    pub fn of<'a>(counts: impl IntoIterator<Item = &'a MultiSpanCounts>) -> Option<Self> {
        let (mut n, mut sum) = (0, MultiSpanCounts::default());
        for question in counts {
            n += 1;
            sum.gold += question.gold;
            sum.predicted += question.predicted;
            sum.exact += question.exact;
            sum.overlap_predicted += question.overlap_predicted;
            sum.overlap_gold += question.overlap_gold;
        }
        let (predicted, gold) = (sum.predicted as f64, sum.gold as f64);
        (n > 0).then(|| Self {
            n,
            exact: PrecisionRecall::of(sum.exact, sum.predicted, sum.gold),
            overlap: PrecisionRecall::from_parts(sum.overlap_predicted / predicted, sum.overlap_gold / gold),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: [&str; 0] = [];

    fn run(gold: &str, said: &str) -> usize {
        let letters = |text: &str| text.chars().collect::<Vec<char>>();
        longest_common_run(&letters(gold), &letters(said))
    }

    #[test]
    fn exact_and_overlapping_spans() {
        let counts =
            MultiSpanCounts::of(&["Dave Stewart", "Gaskin", "gaskin!"], &["Dave Stewart", "Barbara Gaskin"]);
        assert_eq!((counts.gold, counts.predicted, counts.exact), (2, 2, 1));
        assert_eq!(counts.overlap_predicted, 2.0);
        assert!((counts.overlap_gold - (1.0 + 6.0 / 14.0)).abs() < 1e-12);
        let score = MultiSpanScore::of([&counts]).unwrap();
        assert_eq!((score.exact.precision, score.exact.recall, score.overlap.precision), (0.5, 0.5, 1.0));
    }

    #[test]
    fn counts_are_summed_before_they_are_divided() {
        let right = MultiSpanCounts::of(&["a1", "b1", "c1"], &["a1", "b1", "c1"]);
        let wrong = MultiSpanCounts::of(&["x"], &["y"]);
        let score = MultiSpanScore::of([&right, &wrong]).unwrap();
        assert_eq!((score.n, score.exact.f1, score.overlap.f1), (2, 0.75, 0.75));
        assert_eq!(MultiSpanScore::of([]), None);
    }

    #[test]
    fn an_empty_side_counts_as_one_span() {
        let both = MultiSpanCounts::of(&NONE, &NONE);
        assert_eq!((both.gold, both.predicted, both.exact, both.overlap_gold), (1, 1, 1, 1.0));
        let silent = MultiSpanCounts::of(&NONE, &["a1", "b1"]);
        assert_eq!((silent.gold, silent.predicted, silent.exact, silent.overlap_gold), (2, 1, 0, 0.0));
        // A prediction of nothing but an article is the official code's empty one: right by overlap only.
        let article = MultiSpanCounts::of(&["the"], &NONE);
        assert_eq!((article.exact, article.overlap_predicted), (0, 1.0));
    }

    #[test]
    fn the_longest_run_of_short_texts() {
        assert_eq!(run("dave stewart", "stewart"), 7);
        assert_eq!(run("united kingdom", "united states"), 7);
        assert_eq!((run("", "abc"), run("abc", ""), run("abc", "xyz")), (0, 0, 0));
    }

    #[test]
    fn frequent_letters_of_long_predictions_begin_no_match() {
        // Values of `difflib.SequenceMatcher(None, gold, said).find_longest_match` in CPython.
        let said = "xyab ".repeat(50);
        for (gold, length) in [("ab xyab xy", 0), ("yab xyab xy", 0), ("xyab", 4), ("qqxyabxy", 0)] {
            assert_eq!(run(gold, &said), length, "{gold}");
        }
        let said = format!("{}zebra", "the river ".repeat(25));
        for (gold, length) in [("a river zebra", 1), ("river zebra", 11), ("river the river", 0)] {
            assert_eq!(run(gold, &said), length, "{gold}");
        }
        let said = format!("{}zebra on the river", "the river ".repeat(24));
        for (gold, length) in [("river the zebra on river", 10), ("river the river the zebra on river", 10)] {
            assert_eq!(run(gold, &said), length, "{gold}");
        }
    }

    proptest! {
        #[test]
        fn overlap_is_at_least_exact_and_at_most_one(
            predictions in proptest::collection::vec("[b-e ]{1,6}", 1..5),
            golds in proptest::collection::vec("[b-e ]{1,6}", 1..5),
        ) {
            let counts = MultiSpanCounts::of(&predictions, &golds);
            let score = MultiSpanScore::of([&counts]).unwrap();
            if golds.iter().chain(&predictions).all(|s| !squad(s).is_empty()) {
                prop_assert!(score.overlap.precision + 1e-12 >= score.exact.precision);
                prop_assert!(score.overlap.recall + 1e-12 >= score.exact.recall);
            }
            prop_assert!((0.0..=1.0).contains(&score.overlap.f1) && (0.0..=1.0).contains(&score.exact.f1));
        }
    }
}
