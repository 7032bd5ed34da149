//! RoMQA (Zhong et al., 2022; its `evaluation.py`): sets of entities, and how a system does on the worst question of a
//! cluster of questions that differ little.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use counterproof_text::normalise::squad;
use serde::{Deserialize, Serialize};

use super::SetScore;
use crate::Metric;

/// How two names of entities are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// As they are written: labels of Wikidata against labels of Wikidata. The official way.
    Exact,
    /// In SQuAD form, for systems that take names from passages. Ours.
    Normalised,
}

impl Names {
    /// The names without repeats, in order, as they are compared.
    fn distinct(self, names: &[impl AsRef<str>]) -> Vec<String> {
        let mut seen = HashSet::new();
        let forms = names.iter().map(|n| match self {
            Self::Exact => n.as_ref().to_owned(),
            Self::Normalised => squad(n.as_ref()),
        });
        forms.filter(|n| seen.insert(n.clone())).collect()
    }
}

/// A question with what was predicted for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RomqaAnswer {
    /// The cluster of the question.
    pub cluster: String,
    /// What was predicted, the surest first.
    pub predicted: Vec<String>,
    /// The right ones among the candidates of the closed setting.
    pub among_candidates: Vec<String>,
    /// All right ones. A question without any is left out.
    pub complete: Vec<String>,
}

/// Means over questions, and over clusters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RomqaMeans {
    /// Mean precision, over questions that have a gold answer.
    pub precision: Metric,
    /// Mean recall, over the same.
    pub recall: Metric,
    /// Mean F1, over the same.
    pub f1: Metric,
    /// Share of questions, of all, whose predicted set is the gold set.
    pub accuracy: Metric,
    /// Mean over clusters of the least precision of any of their questions (`cluster_min_precision`).
    pub worst_precision: Metric,
    /// The same of recall.
    pub worst_recall: Metric,
    /// The same of F1.
    pub worst_f1: Metric,
    /// Share of clusters all of whose questions are answered exactly.
    pub worst_accuracy: Metric,
}

/// Means over the first `k` predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RomqaAt {
    /// How many predictions count; `None` for all of them.
    pub k: Option<usize>,
    /// The means.
    pub means: RomqaMeans,
}

/// What the official code reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RomqaReport {
    /// How names were compared.
    pub names: Names,
    /// All predictions against the right candidates.
    pub candidates: RomqaMeans,
    /// The first 1, 10, 100 and all predictions against all right answers. The paper's P@10 is the precision at 10.
    pub complete: Vec<RomqaAt>,
}

/// The score of two sets (`SetF1`): common over predicted, common over gold; all 0 where nothing is common.
fn set_score<T: Eq + Hash>(predicted: &HashSet<T>, gold: &HashSet<T>) -> SetScore {
    SetScore::of(predicted.intersection(gold).count(), predicted.len(), gold.len())
}

/// The score of the names predicted for one question.
pub fn entity_set(predicted: &[impl AsRef<str>], gold: &[impl AsRef<str>], names: Names) -> SetScore {
    let set = |all: Vec<String>| all.into_iter().collect::<HashSet<_>>();
    set_score(&set(names.distinct(predicted)), &set(names.distinct(gold)))
}

/// The mean over clusters of the least value of any question in the cluster; items are clusters, in the order of their
/// first question.
pub fn cluster_min(clusters: &[impl AsRef<str>], values: &[f64]) -> Metric {
    let mut least: Vec<f64> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (cluster, value) in clusters.iter().zip(values) {
        let place = *places.entry(cluster.as_ref()).or_insert(least.len());
        match least.get_mut(place) {
            Some(known) => *known = known.min(*value),
            None => least.push(*value),
        }
    }
    Metric::mean(least)
}

/// The report over `answers`.
pub fn romqa(answers: &[RomqaAnswer], names: Names) -> RomqaReport {
    let kept: Vec<&RomqaAnswer> = answers.iter().filter(|a| !a.complete.is_empty()).collect();
    let complete = [Some(1), Some(10), Some(100), None]
        .map(|k| RomqaAt { k, means: means(&kept, names, k, |a| &a.complete) })
        .to_vec();
    RomqaReport { names, candidates: means(&kept, names, None, |a| &a.among_candidates), complete }
}

/// The means of the first `k` predictions against one gold set of each question (`evaluate_gold`).
fn means(
    answers: &[&RomqaAnswer],
    names: Names,
    k: Option<usize>,
    gold: fn(&RomqaAnswer) -> &Vec<String>,
) -> RomqaMeans {
    let clusters: Vec<&str> = answers.iter().map(|a| a.cluster.as_str()).collect();
    let mut scores = Vec::new();
    let mut equal = Vec::new();
    let mut has_gold = Vec::new();
    for answer in answers {
        let predicted: HashSet<String> =
            names.distinct(&answer.predicted).into_iter().take(k.unwrap_or(usize::MAX)).collect();
        let gold = gold(answer);
        // The official code also calls the set of one empty string empty.
        has_gold.push(gold.iter().any(|g| !g.is_empty()));
        let gold: HashSet<String> = names.distinct(gold).into_iter().collect();
        scores.push(set_score(&predicted, &gold).score);
        equal.push(f64::from(u8::from(predicted == gold)));
    }
    let with_gold = || scores.iter().zip(&has_gold).filter(|(_, has)| **has).map(|(s, _)| s);
    let worst = |values: Vec<f64>| cluster_min(&clusters, &values);
    RomqaMeans {
        precision: Metric::mean(with_gold().map(|s| s.precision).collect()),
        recall: Metric::mean(with_gold().map(|s| s.recall).collect()),
        f1: Metric::mean(with_gold().map(|s| s.f1).collect()),
        worst_precision: worst(scores.iter().map(|s| s.precision).collect()),
        worst_recall: worst(scores.iter().map(|s| s.recall).collect()),
        worst_f1: worst(scores.iter().map(|s| s.f1).collect()),
        worst_accuracy: worst(equal.clone()),
        accuracy: Metric::mean(equal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(
        cluster: &str,
        predicted: &[&str],
        among_candidates: &[&str],
        complete: &[&str],
    ) -> RomqaAnswer {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        RomqaAnswer {
            cluster: cluster.into(),
            predicted: owned(predicted),
            among_candidates: owned(among_candidates),
            complete: owned(complete),
        }
    }

    #[test]
    fn the_example_of_the_specification() {
        let least = cluster_min(&["a", "a", "b"], &[0.8, 0.4, 0.6]);
        assert_eq!((least.items.as_slice(), least.n), ([0.4, 0.6].as_slice(), 2));
        assert!((least.value.unwrap() - 0.5).abs() < 1e-12);
        assert!((Metric::mean(vec![0.8, 0.4, 0.6]).value.unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(cluster_min(&[] as &[&str], &[]).value, None);
    }

    #[test]
    fn names_are_compared_as_they_are_written_or_in_normal_form() {
        let (predicted, gold) = (["the Beatles", "The Beatles", "Queen"], ["The Beatles", "Queen"]);
        let exact = entity_set(&predicted, &gold, Names::Exact);
        assert_eq!((exact.hits, exact.predicted, exact.score.recall), (2, 3, 1.0));
        let normalised = entity_set(&predicted, &gold, Names::Normalised);
        assert_eq!((normalised.hits, normalised.predicted, normalised.score.f1), (2, 2, 1.0));
        assert_eq!(entity_set(&["queen"], &gold, Names::Exact).hits, 0);
        assert_eq!(entity_set(&[] as &[&str], &[] as &[&str], Names::Exact).score.f1, 0.0);
    }

    #[test]
    fn the_first_k_are_cut_after_repeats_are_dropped() {
        let report = romqa(&[answer("1", &["A", "A", "B"], &["B"], &["A", "B"])], Names::Exact);
        let at: Vec<(Option<usize>, Option<f64>, Option<f64>)> = report
            .complete
            .iter()
            .map(|at| (at.k, at.means.precision.value, at.means.recall.value))
            .collect();
        assert_eq!(
            at,
            [
                (Some(1), Some(1.0), Some(0.5)),
                (Some(10), Some(1.0), Some(1.0)),
                (Some(100), Some(1.0), Some(1.0)),
                (None, Some(1.0), Some(1.0))
            ]
        );
        assert_eq!(
            (report.candidates.precision.value, report.candidates.recall.value),
            (Some(0.5), Some(1.0))
        );
        assert_eq!(
            (report.candidates.accuracy.value, report.complete[3].means.accuracy.value),
            (Some(0.0), Some(1.0))
        );
    }

    #[test]
    fn questions_without_gold_are_left_out_where_the_official_code_does() {
        let answers = [
            answer("1", &["A"], &["A"], &["A"]),
            // No right candidate: out of the mean of F1, in the worst of its cluster and in accuracy.
            answer("1", &["A"], &[], &["A"]),
            // No right answer at all: nowhere.
            answer("2", &["A"], &[], &[]),
        ];
        let report = romqa(&answers, Names::Exact);
        assert_eq!((report.candidates.f1.value, report.candidates.f1.n), (Some(1.0), 1));
        assert_eq!((report.candidates.worst_f1.value, report.candidates.worst_f1.n), (Some(0.0), 1));
        assert_eq!((report.candidates.accuracy.value, report.candidates.accuracy.n), (Some(0.5), 2));
        assert_eq!(report.complete[3].means.worst_accuracy.value, Some(1.0));
        assert_eq!(romqa(&[], Names::Normalised).candidates.f1.value, None);
    }
}
