//! The way ALCE scores lists of QAMPARI (Gao et al., 2023; `compute_qampari_f1` of its `eval.py`).
//!
//! It is easier than [`super::qampari`] for long lists, for it counts repeated predictions as right again and has figures
//! that stop at five answers. The two are never compared.

use std::collections::HashSet;

use counterproof_text::normalise::squad;
use serde::{Deserialize, Serialize};

use super::SetScore;
use crate::{Metric, PrecisionRecall};

/// Gold answers beyond this number are not asked for by the figures that stop.
const TOP: usize = 5;

/// The score of one question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AlceScore {
    /// Precision, recall and F1 over all answers; `hits` are gold answers with a name that was predicted.
    pub all: SetScore,
    /// Predictions that are a name of some gold answer, repeats counted again: what precision is made from.
    pub right: usize,
    /// The same precision, recall that stops at five answers, and their F1.
    pub top5: PrecisionRecall,
}

/// The score of a list of predictions. Those without a normal form are dropped, repeats are not.
pub fn alce<G: AsRef<[A]>, A: AsRef<str>, P: AsRef<str>>(golds: &[G], predictions: &[P]) -> AlceScore {
    let said: Vec<String> = predictions.iter().map(|p| squad(p.as_ref())).filter(|p| !p.is_empty()).collect();
    let names: Vec<Vec<String>> =
        golds.iter().map(|g| g.as_ref().iter().map(|n| squad(n.as_ref())).collect()).collect();
    let any_name: HashSet<&String> = names.iter().flatten().collect();
    let right = said.iter().filter(|p| any_name.contains(p)).count();
    let hits = names.iter().filter(|n| n.iter().any(|name| said.contains(name))).count();
    let share = |part: usize, of: usize| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let precision = share(right, said.len());
    let score = PrecisionRecall::from_parts(precision, share(hits, golds.len()));
    AlceScore {
        all: SetScore { score, hits, predicted: said.len(), gold: golds.len() },
        right,
        top5: PrecisionRecall::from_parts(precision, share(hits.min(TOP), golds.len().min(TOP))),
    }
}

/// The score of what a model wrote: [`alce`] of [`alce_list`].
pub fn alce_of_output<G: AsRef<[A]>, A: AsRef<str>>(golds: &[G], output: &str) -> AlceScore {
    alce(golds, &alce_list(output))
}

/// The predictions in what a model wrote: its first line without citations and without the full stops and commas at the
/// end, split at commas. A comma inside a name splits it, as it does in the official code.
pub fn alce_list(output: &str) -> Vec<String> {
    let first = output.trim().split('\n').next().unwrap_or_default().replace("<|im_end|>", "");
    let bare = without_citations(&first);
    let list = bare.trim_end().trim_end_matches('.').trim_end_matches(',');
    list.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()
}

/// The text without `[3]` and the space before it (`remove_citations` of the official code).
fn without_citations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let number = after.len() - after.trim_start_matches(|c: char| c.is_numeric()).len();
        if number == 0 {
            out.push_str(before);
            out.push('[');
        } else {
            out.push_str(before.strip_suffix(' ').unwrap_or(before));
        }
        rest = after.get(number..).unwrap_or_default();
    }
    out.push_str(rest);
    out.replace(" |", "").replace(']', "")
}

/// Macro means over questions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AlceMeans {
    /// Mean precision.
    pub precision: Metric,
    /// Mean recall.
    pub recall: Metric,
    /// Mean F1.
    pub f1: Metric,
    /// Mean recall that stops at five answers.
    pub recall_top5: Metric,
    /// Mean F1 of precision and that recall.
    pub f1_top5: Metric,
    /// Mean number of predictions.
    pub predicted: Metric,
}

impl AlceMeans {
    /// The means of `scores`, one score a question, in their order.
    pub fn of(scores: &[AlceScore]) -> Self {
        let mean = |of: fn(&AlceScore) -> f64| Metric::mean(scores.iter().map(of).collect());
        Self {
            precision: mean(|s| s.all.score.precision),
            recall: mean(|s| s.all.score.recall),
            f1: mean(|s| s.all.score.f1),
            recall_top5: mean(|s| s.top5.recall),
            f1_top5: mean(|s| s.top5.f1),
            predicted: mean(|s| s.all.predicted as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::one_name_each;
    use super::*;

    #[test]
    fn repeats_count_again_and_recall_stops_at_five() {
        let golds = one_name_each(&["A1", "B1", "C1", "D1", "E1", "F1", "G1", "H1", "I1", "J1"]);
        let score = alce(&golds, &["a1", "A1", "B1", "C1", "D1", "E1", "wrong", "the"]);
        assert_eq!((score.right, score.all.hits, score.all.predicted, score.all.gold), (6, 5, 7, 10));
        assert!((score.all.score.precision - 6.0 / 7.0).abs() < 1e-12);
        assert_eq!((score.all.score.recall, score.top5.recall), (0.5, 1.0));
        assert!((score.top5.f1 - 12.0 / 13.0).abs() < 1e-12);
        let few = alce(&one_name_each(&["A1", "B1"]), &["A1"]);
        assert_eq!((few.top5.recall, few.all.score.recall), (0.5, 0.5));
    }

    #[test]
    fn any_name_will_do_and_a_name_of_two_answers_hits_both() {
        let golds = [vec!["New York City", "NYC"], vec!["NYC", "The Ballet"]];
        let score = alce(&golds, &["nyc"]);
        assert_eq!((score.right, score.all.hits, score.all.score.f1), (1, 2, 1.0));
    }

    #[test]
    fn a_list_is_the_first_line_cut_at_commas() {
        assert_eq!(
            alce_list(" Heat, Mai, the Psychic Girl ,, Strain., .\nThe end"),
            ["Heat", "Mai", "the Psychic Girl", "Strain."]
        );
        assert_eq!(
            alce_list("Heat [1][2], Strain [12] |, Sanctuary [x].<|im_end|>"),
            ["Heat", "Strain", "Sanctuary [x"]
        );
        assert_eq!(alce_of_output(&[vec!["Heat"]], "Heat[1].").all.score.f1, 1.0);
        assert_eq!(alce_of_output(&[vec!["Heat"]], "").all, SetScore { gold: 1, ..SetScore::default() });
    }

    #[test]
    fn means_are_over_questions() {
        let golds = [["A1"]];
        let means = AlceMeans::of(&[alce(&golds, &["A1"]), alce(&golds, &["x", "y"])]);
        assert_eq!((means.f1.value, means.predicted.value, means.f1_top5.n), (Some(0.5), Some(1.5), 2));
        assert_eq!(AlceMeans::of(&[]).f1.value, None);
    }
}
