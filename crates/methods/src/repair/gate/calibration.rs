//! How the encoder gate weighs what the reader and the verifier found, and how often it may spoil a right answer.

use counterproof_core::{Error, Result};
use counterproof_logistic::Logistic;
use serde::{Deserialize, Serialize};

use crate::bound::upper_bound;

/// What is weighed for an alternative to the draft. Readings are in nats, judgements in logits (log-odds).
pub const FEATURES: [&str; 15] = [
    "reading",
    "draft_reading",
    "entail",
    "contradict",
    "draft_entail",
    "draft_contradict_here",
    "draft_entail_here",
    "draft_contradict",
    "draft_found",
    "relevance",
    "draft_relevance",
    "passages",
    "draft_passages",
    "value_question",
    "other_question",
];

/// Parts that the rows are cut into: what is said of a row comes from a fit without its part.
const FOLDS: usize = 5;

/// The penalty of the fit.
const PENALTY: f64 = 1.0;

/// A question with a known answer, as the gate saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationRow {
    /// Whether the draft was right.
    pub draft_right: bool,
    /// For each alternative its features, and whether it was right.
    pub alternatives: Vec<([f64; FEATURES.len()], bool)>,
}

/// The version of the file's form.
const SCHEMA: u32 = 1;

/// A logistic model over [`FEATURES`], and what it said where the draft was right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateCalibration {
    /// The version of the file's form.
    pub schema: u32,
    /// What it was fitted on, for a person.
    pub fitted_on: String,
    /// Names of the features, in order.
    pub features: Vec<String>,
    /// A weight a feature.
    pub weights: Vec<f64>,
    /// The constant.
    pub bias: f64,
    /// The threshold that serves best where nothing else is asked for.
    pub threshold: f64,
    /// For each calibration question whose draft was right, the greatest probability that an alternative was given (0
    /// where there was none), on questions that the weights were not fitted on.
    pub right_drafts: Vec<f64>,
}

impl GateCalibration {
    /// Fits the weights to questions with known answers. The threshold is the one at which, on rows that a fit had not
    /// seen, answers repaired less twice the answers spoiled are most: a right answer is worth more than a repaired one.
    ///
    /// # Errors
    /// A user's error where there are too few rows, or no alternative is ever right.
    pub fn fit(rows: &[CalibrationRow], fitted_on: impl Into<String>) -> Result<Self> {
        let logistic = |keep: &dyn Fn(usize) -> bool| {
            let chosen = rows.iter().enumerate().filter(|(i, _)| keep(*i)).flat_map(|(_, row)| {
                row.alternatives.iter().map(|(x, right)| (x.to_vec(), *right && !row.draft_right))
            });
            let (x, y): (Vec<Vec<f64>>, Vec<bool>) = chosen.unzip();
            Logistic::fit(&x, &y, PENALTY)
        };
        // What is said of each row by a fit without its fold: the best alternative's probability, and whether it is right.
        let mut said: Vec<(bool, f64, bool)> = Vec::with_capacity(rows.len());
        for fold in 0..FOLDS {
            let fitted = logistic(&|i| i % FOLDS != fold)?;
            for row in rows.iter().skip(fold).step_by(FOLDS) {
                let best = row
                    .alternatives
                    .iter()
                    .map(|(x, right)| (fitted.probability(x), *right))
                    .max_by(|a, b| a.0.total_cmp(&b.0))
                    .unwrap_or((0.0, false));
                said.push((row.draft_right, best.0, best.1));
            }
        }
        let worth = |threshold: f64| -> i64 {
            said.iter()
                .filter(|(_, p, _)| *p >= threshold)
                .map(|(draft_right, _, right)| match (draft_right, right) {
                    (true, false) => -2,
                    (false, true) => 1,
                    _ => 0,
                })
                .sum()
        };
        let threshold = (1..100)
            .map(|i| f64::from(i) / 100.0)
            .max_by(|a, b| worth(*a).cmp(&worth(*b)).then_with(|| a.total_cmp(b)))
            .unwrap_or(0.5);
        let Logistic { weights, bias } = logistic(&|_| true)?;
        let mut right_drafts: Vec<f64> =
            said.iter().filter(|(right, ..)| *right).map(|(_, p, _)| (p * 1e4).round() / 1e4).collect();
        right_drafts.sort_by(f64::total_cmp);
        Ok(Self {
            schema: SCHEMA,
            fitted_on: fitted_on.into(),
            features: FEATURES.map(str::to_owned).to_vec(),
            weights,
            bias,
            threshold,
            right_drafts,
        })
    }

    /// Reads a calibration file; `name` names it in errors.
    ///
    /// # Errors
    /// A user's error when it is no calibration file, or one for other features.
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        let read: Self = serde_json::from_str(text)
            .map_err(|e| Error::invalid(name, format!("not a calibration of the gate: {e}")))?;
        if read.schema != SCHEMA || read.features != FEATURES || read.weights.len() != FEATURES.len() {
            return Err(Error::invalid(
                name,
                "made for other features than this version has; fit it again with `counterproof train calibrator`",
            ));
        }
        Ok(read)
    }

    /// The probability that an alternative is right and the draft wrong.
    pub fn probability(&self, features: &[f64; FEATURES.len()]) -> f64 {
        let sum: f64 = self.weights.iter().zip(features).map(|(w, x)| w * x).sum();
        1.0 / (1.0 + (-(self.bias + sum)).exp())
    }

    /// The threshold in use: `given` if it is, else the smallest that keeps within the harm budget `max_harm`, else
    /// the calibration's own. A budget below what the calibration rows can show is met by never revising.
    pub fn threshold(&self, max_harm: Option<f64>, given: Option<f64>) -> f64 {
        match (given, max_harm) {
            (Some(threshold), _) => threshold,
            (None, Some(budget)) => self.within(budget),
            (None, None) => self.threshold,
        }
    }

    /// The least harm budget that can be promised: with fewer calibration questions it is met by keeping everything.
    pub fn least_harm(&self) -> f64 {
        upper_bound(0, self.right_drafts.len())
    }

    /// The smallest threshold at which, with 95 % confidence, fewer than `budget` of the right drafts are replaced.
    fn within(&self, budget: f64) -> f64 {
        let n = self.right_drafts.len();
        let mut scores = self.right_drafts.clone();
        scores.sort_by(|a, b| b.total_cmp(a));
        // With `harmed` drafts allowed to go, the threshold lies just above the next one's score.
        let mut best = f64::INFINITY;
        for harmed in 0..n {
            if upper_bound(harmed, n) > budget {
                break;
            }
            best = scores.get(harmed).map_or(0.0, |next| next.next_up());
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(right_drafts: Vec<f64>) -> GateCalibration {
        GateCalibration {
            schema: SCHEMA,
            fitted_on: "a test".to_owned(),
            features: FEATURES.map(str::to_owned).to_vec(),
            weights: vec![0.0; FEATURES.len()],
            bias: 0.0,
            threshold: 0.5,
            right_drafts,
        }
    }

    #[test]
    fn a_smaller_budget_asks_for_more_certainty() {
        let scores: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        let calibration = calibration(scores);
        let (strict, loose) =
            (calibration.threshold(Some(0.01), None), calibration.threshold(Some(0.1), None));
        assert!(strict > 0.99 && loose > 0.9 && strict > loose, "{strict} {loose}");
        let harmed = calibration.right_drafts.iter().filter(|p| **p >= strict).count();
        assert!(upper_bound(harmed, 1000) <= 0.01 && upper_bound(harmed + 1, 1000) > 0.01);
        assert_eq!(calibration.threshold(Some(0.01), Some(0.3)), 0.3);
    }

    #[test]
    fn a_budget_that_the_rows_cannot_show_is_met_by_keeping_everything() {
        let few = calibration(vec![0.1; 20]);
        assert_eq!(few.threshold(Some(0.01), None), f64::INFINITY);
        assert!(few.threshold(Some(few.least_harm() + 1e-9), None).is_finite());
    }

    #[test]
    fn a_fit_tells_what_beats_a_draft() {
        // The verifier's word is what counts here; every third draft is right, and then no alternative is.
        let rows: Vec<CalibrationRow> = (0..150)
            .map(|i| {
                let draft_right = i % 3 == 0;
                let mut right = [0.0; FEATURES.len()];
                right[2] = 2.0 + f64::from(i % 5) / 5.0;
                let mut wrong = [0.0; FEATURES.len()];
                wrong[2] = f64::from(i % 7) / 3.0;
                let mut alternatives = vec![(wrong, false)];
                if !draft_right {
                    alternatives.push((right, true));
                }
                CalibrationRow { draft_right, alternatives }
            })
            .collect();
        let fitted = GateCalibration::fit(&rows, "a test").unwrap();
        assert!(fitted.weights[2] > 0.5, "{fitted:?}");
        assert_eq!(fitted.right_drafts.len(), 50);
        let json = serde_json::to_string(&fitted).unwrap();
        assert_eq!(GateCalibration::from_json(&json, "x").unwrap(), fitted);
        let only_right: Vec<CalibrationRow> = rows.into_iter().filter(|r| r.draft_right).collect();
        assert!(GateCalibration::fit(&only_right, "x").unwrap_err().is_user());
    }

    #[test]
    fn a_foreign_file_is_refused_by_name() {
        let error = GateCalibration::from_json("{}", "mine.json").unwrap_err();
        assert!(error.is_user() && error.to_string().contains("mine.json"), "{error}");
    }
}
