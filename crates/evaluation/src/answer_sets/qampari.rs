//! The rule of QAMPARI, exact and lenient.

use std::collections::{HashMap, HashSet};

use counterproof_text::normalise::{contains_phrase, squad};

use super::SetScore;

/// Each name of the gold answers with the answer it stands for, in the order in which the official code tries them.
///
/// That code (`reader_metrics.py`, `create_mapping` and `create_inverse_mappings`) keeps both in dictionaries: of two
/// answers with the same chief name the later gives the names, and a name that two answers share stands for the later
/// one, at the place where it first came.
fn names_in_order<'a, G: AsRef<[A]>, A: AsRef<str> + 'a>(golds: &'a [G]) -> Vec<(&'a str, usize)> {
    let mut answers: Vec<(&str, &[A])> = Vec::new();
    let mut place_of_answer: HashMap<&str, usize> = HashMap::new();
    for gold in golds {
        let names = gold.as_ref();
        let Some(chief) = names.first().map(AsRef::as_ref) else { continue };
        let place = *place_of_answer.entry(chief).or_insert(answers.len());
        match answers.get_mut(place) {
            Some(known) => known.1 = names,
            None => answers.push((chief, names)),
        }
    }
    let mut order: Vec<(&str, usize)> = Vec::new();
    let mut place_of_name: HashMap<&str, usize> = HashMap::new();
    for (answer, (_, names)) in answers.into_iter().enumerate() {
        for name in names.iter().map(AsRef::as_ref) {
            let place = *place_of_name.entry(name).or_insert(order.len());
            match order.get_mut(place) {
                Some(known) => known.1 = answer,
                None => order.push((name, answer)),
            }
        }
    }
    order
}

/// The official score of QAMPARI (Amouyal et al., 2022; `compute_metrics_qampari` of `reader_metrics.py`).
///
/// Predictions are told apart as they are written. Each hits the answer of the first name that equals it in SQuAD form,
/// and an answer is hit once, so a second way of saying it costs precision. Precision is hits over distinct predictions,
/// recall is hits over gold answers as they are given, repeats and all. The official code divides by zero where nothing
/// is predicted; here all figures are 0 then.
pub fn qampari<G: AsRef<[A]>, A: AsRef<str>, P: AsRef<str>>(golds: &[G], predictions: &[P]) -> SetScore {
    let mut answer_of: HashMap<String, usize> = HashMap::new();
    for (name, answer) in names_in_order(golds) {
        answer_of.entry(squad(name)).or_insert(answer);
    }
    let distinct: HashSet<&str> = predictions.iter().map(AsRef::as_ref).collect();
    let hit: HashSet<usize> = distinct.iter().filter_map(|p| answer_of.get(&squad(p)).copied()).collect();
    SetScore::of(hit.len(), distinct.len(), golds.len())
}

/// The rule of [`qampari`], but lenient with predictions in free words, as RAMDocs needs it ("3,559" for "3,559 people").
///
/// Ours; no published figure uses it. A prediction may hit an answer when one of the two holds the other's words in a
/// row, in SQuAD form. Each prediction counts for one answer at most and each answer once, paired so that the hits are
/// as many as can be: the order of the predictions changes nothing, and precision stays below 1 where two predictions
/// say one thing.
pub fn contained<G: AsRef<[A]>, A: AsRef<str>, P: AsRef<str>>(golds: &[G], predictions: &[P]) -> SetScore {
    let mut seen: HashSet<&str> = HashSet::new();
    let distinct = predictions.iter().map(AsRef::as_ref).filter(|p| seen.insert(p));
    let said: Vec<String> = distinct.map(squad).collect();
    let names: Vec<Vec<String>> =
        golds.iter().map(|g| g.as_ref().iter().map(|n| squad(n.as_ref())).collect()).collect();
    let holds = |p: &str, name: &str| p == name || contains_phrase(p, name) || contains_phrase(name, p);
    let fits: Vec<Vec<usize>> = said
        .iter()
        .map(|p| {
            let fit = |names: &[String]| names.iter().any(|name| holds(p, name));
            names.iter().enumerate().filter(|(_, names)| fit(names)).map(|(at, _)| at).collect()
        })
        .collect();
    SetScore::of(most_pairs(&fits, golds.len()), said.len(), golds.len())
}

/// How many predictions can be paired with answers they fit, no answer taken twice (augmenting paths; Kuhn, 1955).
fn most_pairs(fits: &[Vec<usize>], answers: usize) -> usize {
    let mut taken_by: Vec<Option<usize>> = vec![None; answers];
    (0..fits.len()).filter(|p| pair(*p, fits, &mut taken_by, &mut HashSet::new())).count()
}

/// Gives a prediction an answer, moving others where that frees one.
fn pair(
    prediction: usize,
    fits: &[Vec<usize>],
    taken_by: &mut [Option<usize>],
    tried: &mut HashSet<usize>,
) -> bool {
    for answer in fits.get(prediction).into_iter().flatten() {
        if !tried.insert(*answer) {
            continue;
        }
        let holder = taken_by.get(*answer).copied().flatten();
        if holder.is_none_or(|other| pair(other, fits, taken_by, tried)) {
            if let Some(place) = taken_by.get_mut(*answer) {
                *place = Some(prediction);
            }
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::one_name_each;
    use super::*;

    const NONE: [&str; 0] = [];

    #[test]
    fn the_example_of_the_specification() {
        let golds = one_name_each(&["A1", "B1", "C1", "D1", "E1"]);
        let score = qampari(&golds, &["a1", "B1.", "the C1", "X"]);
        assert_eq!((score.hits, score.predicted, score.gold), (3, 4, 5));
        assert_eq!((score.score.precision, score.score.recall), (0.75, 0.6));
        assert!((score.score.f1 - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn two_ways_of_saying_one_answer_cost_precision() {
        let golds = [vec!["New York City", "NYC"], vec!["Paris"]];
        let score = qampari(&golds, &["NYC", "New York City"]);
        assert_eq!((score.hits, score.predicted, score.score.precision), (1, 2, 0.5));
        // Repeats are told apart as they are written, not in normal form.
        assert_eq!(qampari(&golds, &["NYC", "NYC"]).predicted, 1);
        assert_eq!(qampari(&golds, &["NYC", "nyc"]).predicted, 2);
    }

    #[test]
    fn nothing_predicted_is_zero() {
        let score = qampari(&[vec!["A1"]], &NONE);
        assert_eq!((score.score.f1, score.predicted, score.gold), (0.0, 0, 1));
        assert_eq!(qampari::<[&str; 1], _, _>(&[], &["x"]).score.recall, 0.0);
    }

    #[test]
    fn a_repeated_gold_answer_is_in_the_denominator_twice_and_hit_once() {
        let score = qampari(&[vec!["B1", "Bee"], vec!["A1"], vec!["B1", "Be"]], &["B1", "A1"]);
        assert_eq!((score.hits, score.gold), (2, 3));
        // Of one chief name the later answer gives the names.
        assert_eq!(qampari(&[vec!["B1", "Bee"], vec!["B1", "Be"]], &["Bee"]).hits, 0);
    }

    #[test]
    fn a_name_of_two_answers_stands_for_the_later_one() {
        let golds = [vec!["Final Fantasy IV", "FF"], vec!["Final Fantasy II", "FF"]];
        assert_eq!(qampari(&golds, &["FF", "Final Fantasy IV"]).hits, 2);
        assert_eq!(qampari(&golds, &["FF", "Final Fantasy II"]).hits, 1);
        // Written otherwise it is another name, and the first that is equal in normal form counts.
        let golds = [vec!["Final Fantasy IV", "FF"], vec!["Final Fantasy II", "ff"]];
        assert_eq!(qampari(&golds, &["FF", "Final Fantasy IV"]).hits, 1);
    }

    #[test]
    fn a_contained_answer_counts_in_both_directions() {
        let golds = one_name_each(&["3,559 people", "Football"]);
        let score = contained(&golds, &["3,559", "American football"]);
        assert_eq!((score.hits, score.score.f1), (2, 1.0));
        assert_eq!(qampari(&golds, &["3,559", "American football"]).hits, 0);
        // Whole words only.
        assert_eq!(contained(&golds, &["footballer", "559"]).hits, 0);
        assert_eq!(contained(&golds, &["the", ""]).hits, 0);
    }

    #[test]
    fn a_prediction_counts_for_one_answer_and_an_answer_once() {
        let golds = one_name_each(&["Paris", "Rome"]);
        assert_eq!(contained(&golds, &["Paris and Rome"]).hits, 1);
        let twice = contained(&golds, &["Paris", "in Paris"]);
        assert_eq!((twice.hits, twice.score.precision), (1, 0.5));
        // The long one gives way, whatever the order.
        assert_eq!(contained(&golds, &["Paris and Rome", "Paris"]).hits, 2);
        assert_eq!(contained(&golds, &["Paris", "Paris and Rome"]).hits, 2);
    }

    proptest! {
        #[test]
        fn order_changes_nothing_and_figures_are_shares(
            golds in proptest::collection::vec(proptest::collection::vec("[a-c]( [a-c])?", 1..3), 0..6),
            predictions in proptest::collection::vec("[a-d]( [a-d])?", 0..6),
        ) {
            let turned: Vec<&String> = predictions.iter().rev().collect();
            prop_assert_eq!(qampari(&golds, &predictions), qampari(&golds, &turned));
            prop_assert_eq!(contained(&golds, &predictions), contained(&golds, &turned));
            for score in [qampari(&golds, &predictions), contained(&golds, &predictions)] {
                prop_assert!(score.hits <= score.predicted.min(score.gold));
                prop_assert!((0.0..=1.0).contains(&score.score.f1));
            }
        }
    }
}
