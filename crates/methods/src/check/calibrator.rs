//! How sure a verdict is (R2VC, 2.4 and 2.5): a light model over [`Features`] that says how probably the verdict is right,
//! and the thresholds below which it is withheld.
//!
//! A calibrator is fitted on one half of the claims. What it says of the other half is kept in its file, so that any
//! threshold can be taken from claims it has not seen: for a share of claims to be answered, or for a risk that is promised.

use counterproof_core::{Error, Result, sha256_hex};
use counterproof_logistic::Logistic;
use serde::{Deserialize, Serialize};

use super::config::Abstention;
use super::features::{FEATURES, Features, logit};
use crate::bound::at_most;

/// The version of the file's form.
const SCHEMA: u32 = 1;

/// The penalty of the fits.
const PENALTY: f64 = 1.0;

/// A promise of risk holds with this probability.
const ASSURANCE: f64 = 0.95;

/// A verdict on a claim whose truth is known.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationRow {
    /// Its numbers.
    pub features: Features,
    /// Whether the verdict was right.
    pub right: bool,
    /// Claims of one group (a page, a case, the same claim again) share text and go to the same half.
    pub group: String,
}

/// Which model is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibratorKind {
    /// Logistic regression over all features, with an L2 penalty.
    #[default]
    Logistic,
    /// Logistic regression over the log-odds of the verifier's score alone (Platt 1999).
    Platt,
    /// One temperature for these log-odds (Guo et al. 2017).
    Temperature,
    /// A rising step function of the score (pool adjacent violators; Zadrozny and Elkan 2002).
    Isotonic,
    /// The score as it is.
    None,
}

/// The fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Fitted {
    Logistic {
        /// Names of the features, in order.
        features: Vec<String>,
        /// What stands in for a feature that is not known: its mean.
        means: Vec<f64>,
        weights: Vec<f64>,
        /// What is added where the feature is not known.
        missing: Vec<f64>,
        bias: f64,
    },
    Platt {
        slope: f64,
        bias: f64,
    },
    Temperature {
        temperature: f64,
    },
    Isotonic {
        /// Scores from which on the values hold, rising.
        from: Vec<f64>,
        values: Vec<f64>,
    },
    None,
}

/// What was said of a claim that the fit had not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The confidence.
    pub confidence: f64,
    /// Whether the verdict was right.
    pub right: bool,
}

/// A model of confidence, and what it said of claims that it was not fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrator {
    schema: u32,
    /// What it was fitted on, for a person.
    pub fitted_on: String,
    model: Fitted,
    /// The other half of the claims, by falling confidence.
    pub held: Vec<Held>,
}

/// Why a threshold cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPromise {
    /// Claims that the calibrator was not fitted on.
    pub held: usize,
    /// How many would be needed if none of the verdicts on them were wrong.
    pub needed: usize,
}

impl Calibrator {
    /// No calibration: the confidence is the verifier's score, and nothing can be promised.
    pub fn none() -> Self {
        Self { schema: SCHEMA, fitted_on: "nothing".to_owned(), model: Fitted::None, held: Vec::new() }
    }

    /// Fits a model to one half of the rows, by group, and keeps what it says of the other half.
    ///
    /// # Errors
    /// A user's error when a half has no rows.
    pub fn fit(rows: &[CalibrationRow], kind: CalibratorKind, fitted_on: impl Into<String>) -> Result<Self> {
        let first_half = |row: &&CalibrationRow| half(&row.group);
        let (fit, hold): (Vec<&CalibrationRow>, Vec<&CalibrationRow>) = rows.iter().partition(first_half);
        if fit.len() < 2 || hold.is_empty() {
            let problem = format!("{} rows are too few to fit on one half and test on the other", rows.len());
            return Err(Error::invalid("the rows to calibrate on", problem));
        }
        let mut calibrator = Self {
            schema: SCHEMA,
            fitted_on: fitted_on.into(),
            model: Fitted::to(&fit, kind)?,
            held: Vec::new(),
        };
        calibrator.held = hold
            .iter()
            .map(|row| Held { confidence: rounded(calibrator.confidence(&row.features)), right: row.right })
            .collect();
        calibrator.held.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Ok(calibrator)
    }

    /// Reads a calibrator's file; `name` names it in errors.
    ///
    /// # Errors
    /// A user's error when it is no calibrator, or one for other features.
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        let read: Self = serde_json::from_str(text)
            .map_err(|e| Error::invalid(name, format!("not a calibrator of check: {e}")))?;
        let fits = match &read.model {
            Fitted::Logistic { features, means, weights, missing, .. } => {
                *features == FEATURES && [means, weights, missing].iter().all(|w| w.len() == FEATURES.len())
            }
            Fitted::Isotonic { from, values } => from.len() == values.len() && !from.is_empty(),
            _ => true,
        };
        if read.schema != SCHEMA || !fits {
            let problem = "made for other features than this version has; fit it again with `counterproof train calibrator`";
            return Err(Error::invalid(name, problem));
        }
        Ok(read)
    }

    /// The same model with other claims held back to take thresholds from.
    #[must_use]
    pub fn with_held(self, mut held: Vec<Held>) -> Self {
        held.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Self { held, ..self }
    }

    /// The kind of the model.
    pub fn kind(&self) -> CalibratorKind {
        match self.model {
            Fitted::Logistic { .. } => CalibratorKind::Logistic,
            Fitted::Platt { .. } => CalibratorKind::Platt,
            Fitted::Temperature { .. } => CalibratorKind::Temperature,
            Fitted::Isotonic { .. } => CalibratorKind::Isotonic,
            Fitted::None => CalibratorKind::None,
        }
    }

    /// The probability that a verdict with these numbers is right.
    pub fn confidence(&self, features: &Features) -> f64 {
        let odds = |x: f64| 1.0 / (1.0 + (-x).exp());
        match &self.model {
            Fitted::Logistic { means, weights, missing, bias, .. } => {
                let values = features.values();
                let known = values.iter().zip(means).zip(weights.iter().zip(missing));
                let sum: f64 = known
                    .map(|((value, mean), (weight, absent))| match value {
                        Some(x) => weight * x,
                        None => weight * mean + absent,
                    })
                    .sum();
                odds(bias + sum)
            }
            Fitted::Platt { slope, bias } => odds(slope * logit(features.score) + bias),
            Fitted::Temperature { temperature } => odds(logit(features.score) / temperature),
            Fitted::Isotonic { from, values } => {
                let at = from.partition_point(|x| *x <= features.score).saturating_sub(1);
                values.get(at).copied().unwrap_or(0.5)
            }
            Fitted::None => features.score.clamp(0.0, 1.0),
        }
    }

    /// The confidence that a verdict needs, to be given at all.
    ///
    /// # Errors
    /// [`NoPromise`] where the claims that were held back are too few, or too many verdicts on them wrong, for the risk that
    /// was asked for.
    pub fn threshold(&self, abstention: Abstention) -> std::result::Result<f64, NoPromise> {
        match abstention {
            Abstention::Never => Ok(0.0),
            Abstention::Threshold(threshold) => Ok(threshold),
            Abstention::Coverage(share) => {
                if self.held.is_empty() {
                    return Err(NoPromise { held: 0, needed: 1 });
                }
                let answered = (share * self.held.len() as f64).ceil() as usize;
                Ok(match answered.checked_sub(1) {
                    Some(last) => self.held.get(last).map_or(0.0, |h| h.confidence),
                    None => f64::INFINITY,
                })
            }
            Abstention::Risk(risk) => self.within(risk),
        }
    }

    /// The least threshold at which the share of wrong verdicts among those given is at most `risk`, with 95 % confidence
    /// over the draw of the claims held back.
    ///
    /// Learn then Test (Angelopoulos et al. 2021) with fixed-sequence testing: thresholds are tried from high to low, each
    /// by the exact binomial test of "the risk is greater", until one is not rejected. The sequence begins where twice
    /// the claims are answered that the test needs when none is wrong, so that one error does not end it; where it
    /// begins depends on the confidences and not on what was right.
    fn within(&self, risk: f64) -> std::result::Result<f64, NoPromise> {
        let held = self.held.len();
        let needed = needed_for(risk);
        let none = NoPromise { held, needed };
        if held < needed || risk <= 0.0 {
            return Err(none);
        }
        if risk >= 1.0 {
            return Ok(0.0);
        }
        let start = (2 * needed).min(held);
        let mut wrong = 0;
        let mut best = None;
        for (at, claim) in self.held.iter().enumerate() {
            wrong += usize::from(!claim.right);
            let answered = at + 1;
            // Claims of one confidence are answered together.
            let tied = self.held.get(answered).is_some_and(|next| next.confidence == claim.confidence);
            if answered < start || tied {
                continue;
            }
            if at_most(wrong, answered, risk) > 1.0 - ASSURANCE {
                break;
            }
            best = Some(claim.confidence);
        }
        best.ok_or(none)
    }
}

/// Claims that have to be held back for a promise of `risk`, if no verdict on them is wrong.
fn needed_for(risk: f64) -> usize {
    if risk <= 0.0 {
        return usize::MAX;
    }
    if risk >= 1.0 {
        return 1;
    }
    ((1.0 - ASSURANCE).ln() / (1.0 - risk).ln()).ceil() as usize
}

/// Whether a group belongs to the half that is fitted on: a hash decides, so that it is the same everywhere.
fn half(group: &str) -> bool {
    sha256_hex(format!("calibrator\u{1f}{group}")).as_str().bytes().next_back().is_some_and(|b| b % 2 == 0)
}

fn rounded(p: f64) -> f64 {
    (p * 1e4).round() / 1e4
}

impl Fitted {
    fn to(rows: &[&CalibrationRow], kind: CalibratorKind) -> Result<Self> {
        let right = rows.iter().filter(|r| r.right).count();
        if right == 0 || right == rows.len() {
            // Nothing tells right from wrong: what is left is how often, smoothed.
            let p = (right as f64 + 1.0) / (rows.len() as f64 + 2.0);
            return Ok(match kind {
                CalibratorKind::None => Self::None,
                _ => Self::Platt { slope: 0.0, bias: logit(p) },
            });
        }
        let outcomes: Vec<bool> = rows.iter().map(|r| r.right).collect();
        Ok(match kind {
            CalibratorKind::Logistic => Self::logistic(rows, &outcomes)?,
            CalibratorKind::Platt => {
                let x: Vec<Vec<f64>> = rows.iter().map(|r| vec![logit(r.features.score)]).collect();
                let fitted = Logistic::fit(&x, &outcomes, PENALTY)?;
                Self::Platt { slope: fitted.weights.first().copied().unwrap_or(0.0), bias: fitted.bias }
            }
            CalibratorKind::Temperature => Self::Temperature { temperature: temperature(rows) },
            CalibratorKind::Isotonic => {
                let (from, values) = isotonic(rows);
                Self::Isotonic { from, values }
            }
            CalibratorKind::None => Self::None,
        })
    }

    fn logistic(rows: &[&CalibrationRow], outcomes: &[bool]) -> Result<Self> {
        let values: Vec<_> = rows.iter().map(|row| row.features.values()).collect();
        let mean = |i: usize| {
            let known: Vec<f64> = values.iter().filter_map(|v| v.get(i).copied().flatten()).collect();
            if known.is_empty() { 0.0 } else { known.iter().sum::<f64>() / known.len() as f64 }
        };
        let means: Vec<f64> = (0..FEATURES.len()).map(mean).collect();
        let x: Vec<Vec<f64>> = values
            .iter()
            .map(|values| {
                let filled = values.iter().zip(&means).map(|(value, mean)| value.unwrap_or(*mean));
                let absent = values.iter().map(|value| f64::from(u8::from(value.is_none())));
                filled.chain(absent).collect()
            })
            .collect();
        let Logistic { weights, bias } = Logistic::fit(&x, outcomes, PENALTY)?;
        let (weights, missing) = weights.split_at_checked(FEATURES.len()).unwrap_or((&weights, &[]));
        Ok(Self::Logistic {
            features: FEATURES.map(str::to_owned).to_vec(),
            means,
            weights: weights.to_vec(),
            missing: missing.to_vec(),
            bias,
        })
    }
}

/// The temperature with the least negative log-likelihood, by golden-section search over its logarithm.
fn temperature(rows: &[&CalibrationRow]) -> f64 {
    let loss = |t: f64| -> f64 {
        rows.iter()
            .map(|row| {
                let x = logit(row.features.score) / t.exp();
                let x = if row.right { x } else { -x };
                (-x).exp().ln_1p()
            })
            .sum()
    };
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (-3.0, 4.0);
    for _ in 0..60 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if loss(a) < loss(b) { high = b } else { low = a }
    }
    f64::midpoint(low, high).exp()
}

/// Pool adjacent violators: the scores from which on each mean holds.
fn isotonic(rows: &[&CalibrationRow]) -> (Vec<f64>, Vec<f64>) {
    let mut points: Vec<(f64, f64)> =
        rows.iter().map(|r| (r.features.score, f64::from(u8::from(r.right)))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Each block: where it begins, the sum of its outcomes, how many.
    let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
    for (score, outcome) in points {
        let mut block = (score, outcome, 1.0);
        while let Some(last) = blocks.last().copied()
            && (last.1 / last.2 >= block.1 / block.2 || last.0 == block.0)
        {
            block = (last.0, last.1 + block.1, last.2 + block.2);
            blocks.pop();
        }
        blocks.push(block);
    }
    blocks.into_iter().map(|(from, sum, n)| (from, sum / n)).unzip()
}

#[cfg(test)]
mod tests;
