//! How sure a verdict is (R2VC, 2.4 and 2.5): a light model over [`Features`] that says how probably the verdict is right,
//! and the thresholds below which it is withheld.
//!
//! A calibrator is fitted on some claims. What it says of others is kept in its file, so that any
//! threshold can be taken from claims it has not seen: for a share of claims to be answered, or for a risk that is promised.
//! A promise is about claims like those held back, one drawn independently of the other, each stating one fact.

use std::collections::BTreeMap;

use counterproof_core::{Error, Result, Sha256Hex, sha256_hex};
use counterproof_logistic::Logistic;
use serde::{Deserialize, Serialize};

use super::config::Abstention;
use super::features::{FEATURES, Features};
use crate::bound::at_most;
use crate::weighing::{PENALTY, Weighing, logit};

/// The version of the file's form.
const SCHEMA: u32 = 1;

/// A promise of risk holds with this probability.
const ASSURANCE: f64 = 0.95;

/// Sequences of tests that share the error of a promise.
const SEQUENCES: f64 = 3.0;

/// A verdict on a claim whose truth is known.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationRow {
    /// Its numbers.
    pub features: Features,
    /// Whether the verdict was right.
    pub right: bool,
    /// Claims of one group (a page, a case, the same claim again) share text: they go to the same side, and one of them
    /// is held back.
    pub group: String,
    /// Whether the evidence was given, not searched for.
    pub given: bool,
}

/// Which model is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibratorKind {
    /// Logistic regression over all features, with an L2 penalty.
    #[default]
    Logistic,
    /// The same over [`LEAN`] alone: what carries over to claims of other kinds than it is fitted to.
    Lean,
    /// Logistic regression over the log-odds of the verifier's score alone (Platt 1999).
    Platt,
    /// One temperature for these log-odds (Guo et al. 2017).
    Temperature,
    /// A rising step function of the score (pool adjacent violators; Zadrozny and Elkan 2002).
    Isotonic,
    /// The score as it is.
    None,
}

/// The features of [`CalibratorKind::Lean`].
pub const LEAN: [&str; 4] = ["score_logit", "margin", "top_score", "score_gap"];

/// The fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Fitted {
    Logistic(Weighing),
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
    /// Whether the evidence was given, not searched for.
    pub given: bool,
}

/// A model of confidence, and what it said of claims that it was not fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrator {
    schema: u32,
    /// What it was fitted on, for a person.
    pub fitted_on: String,
    /// What it was fitted for: see [`Check::fitted_for`](super::Check::fitted_for). Nothing is promised of anything else.
    pub fitted_for: String,
    model: Fitted,
    /// Claims it was not fitted on, by falling confidence: one of each group.
    held: Vec<Held>,
}

/// Why a threshold cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPromise {
    /// No claims were held back.
    #[error("the calibration holds no claims to take a threshold from")]
    NothingHeld,
    /// The calibrator was fitted for other models, or for another way to score.
    #[error("the calibration was fitted for another verifier or language model, or for another way to score")]
    OtherModels,
    /// No number of claims shows a risk of zero.
    #[error("a risk of 0 cannot be shown by any number of claims")]
    Zero,
    /// Too few claims were held back.
    #[error(
        "the calibration holds {held} claims; {needed} without a wrong verdict among the surest are needed at the least"
    )]
    TooFew {
        /// Claims that were held back.
        held: usize,
        /// How many are needed if none of the verdicts on them is wrong.
        needed: usize,
    },
    /// Even the surest verdicts are wrong too often.
    #[error("of the {answered} surest verdicts on claims held back {wrong} are wrong")]
    TooWrong {
        /// The verdicts looked at first.
        answered: usize,
        /// How many of them are wrong.
        wrong: usize,
    },
}

impl Calibrator {
    /// No calibration: the confidence is the verifier's score, and nothing can be promised.
    pub fn none() -> Self {
        Self {
            schema: SCHEMA,
            fitted_on: "nothing".to_owned(),
            fitted_for: String::new(),
            model: Fitted::None,
            held: Vec::new(),
        }
    }

    /// Fits a model to one half of the rows, by group, and holds the other half back.
    ///
    /// # Errors
    /// As [`fit_on`](Self::fit_on).
    pub fn fit(rows: &[CalibrationRow], kind: CalibratorKind, fitted_on: impl Into<String>) -> Result<Self> {
        let (fit, hold): (Vec<CalibrationRow>, Vec<CalibrationRow>) =
            rows.iter().cloned().partition(|row| half(&row.group));
        Self::fit_on(&fit, &hold, kind, fitted_on)
    }

    /// Fits a model to some rows and holds others back: rows that nothing was fitted on, neither this nor the verifier.
    ///
    /// # Errors
    /// A user's error when there are no rows to fit or to hold back.
    pub fn fit_on(
        fit: &[CalibrationRow],
        hold: &[CalibrationRow],
        kind: CalibratorKind,
        fitted_on: impl Into<String>,
    ) -> Result<Self> {
        if fit.len() < 2 || hold.is_empty() {
            let rows = fit.len() + hold.len();
            let problem = format!("{rows} rows are too few to fit on some and test on others");
            return Err(Error::invalid("the rows to calibrate on", problem));
        }
        let fit: Vec<&CalibrationRow> = fit.iter().collect();
        let fitted = Self {
            schema: SCHEMA,
            fitted_on: fitted_on.into(),
            fitted_for: String::new(),
            model: Fitted::to(&fit, kind)?,
            held: Vec::new(),
        };
        Ok(fitted.holding(hold))
    }

    /// The same model with other claims held back to take thresholds from. Of each group one is taken, by chance of a hash:
    /// claims that share text are right and wrong together, and count as one.
    #[must_use]
    pub fn holding(self, rows: &[CalibrationRow]) -> Self {
        let mut chosen: BTreeMap<(&str, bool), (Sha256Hex, &CalibrationRow)> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            let draw = sha256_hex(format!("held\u{1f}{}\u{1f}{at}", row.group));
            let key = (row.group.as_str(), row.given);
            if chosen.get(&key).is_none_or(|(least, _)| draw.as_str() < least.as_str()) {
                chosen.insert(key, (draw, row));
            }
        }
        let mut held: Vec<Held> = chosen
            .into_values()
            .map(|(_, row)| Held {
                confidence: self.confidence(&row.features),
                right: row.right,
                given: row.given,
            })
            .collect();
        held.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Self { held, ..self }
    }

    /// Says what it was fitted for.
    #[must_use]
    pub fn fitted_for(self, what: impl Into<String>) -> Self {
        Self { fitted_for: what.into(), ..self }
    }

    /// The claims that were held back, by falling confidence.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Reads a calibrator's file; `name` names it in errors.
    ///
    /// # Errors
    /// A user's error when it is no calibrator, or one for other features.
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        let mut read: Self = serde_json::from_str(text)
            .map_err(|e| Error::invalid(name, format!("not a calibrator of check: {e}")))?;
        let fits = match &read.model {
            Fitted::Logistic(weighing) => weighing.is_over(&FEATURES),
            Fitted::Isotonic { from, values } => from.len() == values.len() && !from.is_empty(),
            Fitted::Temperature { temperature } => *temperature > 0.0,
            Fitted::Platt { .. } | Fitted::None => true,
        };
        if read.schema != SCHEMA || !fits {
            let problem = "made for other features than this version has; fit it again with `counterproof train calibrator`";
            return Err(Error::invalid(name, problem));
        }
        read.held.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Ok(read)
    }

    /// The kind of the model.
    pub fn kind(&self) -> CalibratorKind {
        match self.model {
            Fitted::Logistic(_) => CalibratorKind::Logistic,
            Fitted::Platt { .. } => CalibratorKind::Platt,
            Fitted::Temperature { .. } => CalibratorKind::Temperature,
            Fitted::Isotonic { .. } => CalibratorKind::Isotonic,
            Fitted::None => CalibratorKind::None,
        }
    }

    /// The probability that a verdict with these numbers is right, to four places and never quite 0 or 1.
    pub fn confidence(&self, features: &Features) -> f64 {
        rounded(self.probability(features)).clamp(1e-4, 1.0 - 1e-4)
    }

    fn probability(&self, features: &Features) -> f64 {
        let odds = |x: f64| 1.0 / (1.0 + (-x).exp());
        match &self.model {
            Fitted::Logistic(weighing) => weighing.probability(&features.values()),
            Fitted::Platt { slope, bias } => odds(slope * logit(features.score) + bias),
            Fitted::Temperature { temperature } => odds(logit(features.score) / temperature),
            Fitted::Isotonic { from, values } => {
                let at = from.partition_point(|x| *x <= features.score).saturating_sub(1);
                values.get(at).copied().unwrap_or(0.5)
            }
            Fitted::None => features.score.clamp(0.0, 1.0),
        }
    }

    /// The confidence that a verdict needs, to be given at all. `given` says that the evidence was given: shares and risks
    /// are taken from claims held back that were judged alike.
    ///
    /// # Errors
    /// [`NoPromise`] where the claims that were held back are too few, or too many verdicts on them wrong, for the share or
    /// the risk that was asked for.
    pub fn threshold(&self, abstention: Abstention, given: bool) -> std::result::Result<f64, NoPromise> {
        match abstention {
            Abstention::Never => Ok(0.0),
            Abstention::Threshold(threshold) => Ok(threshold),
            Abstention::Coverage(share) if share >= 1.0 => Ok(0.0),
            Abstention::Coverage(share) => {
                let held: Vec<f64> = self.alike(given).map(|h| h.confidence).collect();
                if held.is_empty() {
                    return Err(NoPromise::NothingHeld);
                }
                let answered = (share * held.len() as f64).ceil() as usize;
                Ok(match answered.checked_sub(1) {
                    Some(last) => held.get(last).copied().unwrap_or(0.0),
                    None => f64::INFINITY,
                })
            }
            Abstention::Risk(risk) => self.within(risk, given),
        }
    }

    /// Claims held back that were judged alike.
    fn alike(&self, given: bool) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |h| h.given == given)
    }

    /// The least threshold at which the share of wrong verdicts among those given is at most `risk`, with 95 % confidence
    /// over the draw of the claims held back.
    ///
    /// Learn then Test (Angelopoulos et al. 2021) with fixed-sequence testing: thresholds are tried from high to low, each
    /// by the exact binomial test of "the risk is greater", until one is not rejected. Three sequences share the error
    /// (Bauer 1991): one begins where twice the claims are answered that the test needs when none is wrong, and two where
    /// a quarter and a half are, since few claims show little. Where they begin depends on how many claims there are and
    /// not on what was right.
    fn within(&self, risk: f64, given: bool) -> std::result::Result<f64, NoPromise> {
        if risk >= 1.0 {
            return Ok(0.0);
        }
        if risk <= 0.0 {
            return Err(NoPromise::Zero);
        }
        let held: Vec<&Held> = self.alike(given).collect();
        let needed = needed_for(risk);
        if held.is_empty() {
            return Err(NoPromise::NothingHeld);
        }
        if held.len() < needed {
            return Err(NoPromise::TooFew { held: held.len(), needed });
        }
        let first = (2 * needed).min(held.len());
        let starts = [first, (held.len() / 4).max(first), (held.len() / 2).max(first)];
        let mut wrong = 0;
        let mut at = 0;
        let wrong_up_to: Vec<usize> = held
            .iter()
            .map(|claim| {
                wrong += usize::from(!claim.right);
                wrong
            })
            .collect();
        let mut best: Option<(usize, f64)> = None;
        for start in starts {
            at = at.max(start);
            while let Some((claim, wrong)) = held.get(at - 1).zip(wrong_up_to.get(at - 1)) {
                // Claims of one confidence are answered together.
                let tied = held.get(at).is_some_and(|next| next.confidence == claim.confidence);
                if !tied {
                    if at_most(*wrong, at, risk) > (1.0 - ASSURANCE) / SEQUENCES {
                        break;
                    }
                    if best.is_none_or(|(most, _)| at > most) {
                        best = Some((at, claim.confidence));
                    }
                }
                at += 1;
            }
        }
        let wrong = wrong_up_to.get(first - 1).copied().unwrap_or(wrong);
        best.map(|(_, threshold)| threshold).ok_or(NoPromise::TooWrong { answered: first, wrong })
    }
}

/// Claims that have to be held back for a promise of `risk`, if no verdict on them is wrong.
fn needed_for(risk: f64) -> usize {
    (((1.0 - ASSURANCE) / SEQUENCES).ln() / (1.0 - risk).ln()).ceil() as usize
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
            CalibratorKind::Logistic => Self::logistic(rows, &outcomes, &FEATURES)?,
            CalibratorKind::Lean => Self::logistic(rows, &outcomes, &LEAN)?,
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

    fn logistic(rows: &[&CalibrationRow], outcomes: &[bool], of: &[&str]) -> Result<Self> {
        // A feature that is left out is the same for all, and one that never changes has no weight.
        let of = |values: [Option<f64>; FEATURES.len()]| {
            let kept = values
                .into_iter()
                .zip(FEATURES)
                .map(|(x, name)| if of.contains(&name) { x } else { Some(0.0) });
            kept.collect::<Vec<Option<f64>>>()
        };
        let values: Vec<Vec<Option<f64>>> = rows.iter().map(|row| of(row.features.values())).collect();
        Ok(Self::Logistic(Weighing::fit(&FEATURES, &values, outcomes)?))
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
