//! How probably a candidate is right: a light model over what reader, verifier and search found, fitted to questions whose
//! answers are known.

use counterproof_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::weighing::{Weighing, logit};

/// The version of the file's form.
const SCHEMA: u32 = 1;

/// Parts that the questions are cut into: what is said of a question comes from a fit without its part.
const FOLDS: usize = 5;

/// Of the candidates that a language model would be asked about at most this share, where a band is taken from the rows.
const MOST_UNSURE: f64 = 0.15;

/// What is weighed for a candidate. Margins are in nats, judgements in logits (log-odds).
pub const FEATURES: [&str; 17] = [
    "margin",
    "mean_margin",
    "place",
    "listed",
    "support",
    "support_share",
    "rank",
    "candidates",
    "entail",
    "contradict",
    "neutral",
    "extra_entail",
    "extra_contradict",
    "extra_holds",
    "words",
    "rival",
    "titled",
];

/// What is known of a candidate. `None` is "not known here", which is another thing than zero: a search that was not made has
/// entailed nothing and refuted nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// The greatest margin of the reader.
    pub margin: Option<f64>,
    /// Its mean over the passages that say so.
    pub mean_margin: Option<f64>,
    /// Its best place within a passage, from 0.
    pub place: f64,
    /// Share of its mentions that were only found in a list with something else.
    pub listed: f64,
    /// Passages that say so.
    pub support: f64,
    /// That number, of the greatest among the candidates.
    pub support_share: f64,
    /// The first passage that says so, from 0.
    pub rank: f64,
    /// How many candidates there are.
    pub candidates: f64,
    /// The greatest probability of entailment by a passage that it was read in.
    pub entail: Option<f64>,
    /// The greatest probability of contradiction by one of these.
    pub contradict: Option<f64>,
    /// The least probability that one of these settles nothing.
    pub neutral: Option<f64>,
    /// The greatest probability of entailment by a further passage.
    pub extra_entail: Option<f64>,
    /// The greatest probability of contradiction by one of these.
    pub extra_contradict: Option<f64>,
    /// How many of these hold its words.
    pub extra_holds: Option<f64>,
    /// Its words.
    pub words: f64,
    /// By how many nats the reader prefers another candidate in the passage where it prefers this one most; zero where it
    /// prefers none.
    pub rival: Option<f64>,
    /// Share of its mentions that no reader read: what their passages are about.
    #[serde(default)]
    pub titled: f64,
}

impl Evidence {
    /// What is known without the further passages.
    #[must_use]
    pub fn without_extra(self) -> Self {
        Self { extra_entail: None, extra_contradict: None, extra_holds: None, ..self }
    }

    /// The numbers in the order of [`FEATURES`].
    pub fn values(&self) -> [Option<f64>; FEATURES.len()] {
        let nats = |x: f64| x.clamp(-10.0, 20.0);
        [
            self.margin.map(nats),
            self.mean_margin.map(nats),
            Some(self.place.ln_1p()),
            Some(self.listed),
            Some(self.support.ln_1p()),
            Some(self.support_share),
            Some(self.rank.ln_1p()),
            Some(self.candidates.ln_1p()),
            self.entail.map(logit),
            self.contradict.map(logit),
            self.neutral.map(logit),
            self.extra_entail.map(logit),
            self.extra_contradict.map(logit),
            self.extra_holds.map(f64::ln_1p),
            Some(self.words.ln_1p()),
            self.rival.map(nats),
            Some(self.titled),
        ]
    }
}

/// A question whose answers are known, with its candidates.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationRow {
    /// For each candidate what is known of it, and the right answer that it names, by its place among them. Two candidates may
    /// name the same one.
    pub candidates: Vec<(Evidence, Option<usize>)>,
    /// How many right answers there are.
    pub answers: usize,
}

/// A model of how probably a candidate is right, with the thresholds that serve best on questions it was not fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswersCalibration {
    schema: u32,
    /// What it was fitted on, for a person.
    pub fitted_on: String,
    /// What it was fitted for: see [`Answers::fitted_for`](super::Answers::fitted_for).
    #[serde(default)]
    pub fitted_for: String,
    model: Weighing,
    /// Candidates are kept from this probability on.
    pub threshold: f64,
    /// Between these probabilities a language model is asked, where there is one.
    pub unsure: (f64, f64),
}

impl AnswersCalibration {
    /// Fits to questions with known answers. The threshold is the one with the greatest mean F1 on questions that a fit had
    /// not seen. The band around it holds the candidates whose verdicts are most often wrong there: at most fifteen in a hundred.
    ///
    /// # Errors
    /// A user's error where there are too few rows, or no candidate is right or none is wrong.
    pub fn fit(rows: &[CalibrationRow], fitted_on: impl Into<String>) -> Result<Self> {
        let said = Self::cross_validated(rows, true)?;
        let f1 = |threshold: f64| {
            let sum: f64 = rows
                .iter()
                .zip(&said)
                .map(|(row, said)| {
                    let kept = row.candidates.iter().zip(said).filter(|(_, p)| **p >= threshold);
                    let (mut hits, mut n) = (std::collections::HashSet::new(), 0.0);
                    for ((_, names), _) in kept {
                        n += 1.0;
                        hits.extend(*names);
                    }
                    2.0 * hits.len() as f64 / (n + row.answers as f64).max(1.0)
                })
                .sum();
            sum / rows.len() as f64
        };
        let threshold = (1..100)
            .map(|i| f64::from(i) / 100.0)
            .max_by(|a, b| f1(*a).total_cmp(&f1(*b)).then_with(|| b.total_cmp(a)))
            .unwrap_or(0.5);
        let all: Vec<f64> = said.iter().flatten().copied().collect();
        let model = Self::model(rows, &|_| true)?;
        let unsure = band(threshold, &all);
        let (fitted_on, fitted_for) = (fitted_on.into(), String::new());
        Ok(Self { schema: SCHEMA, fitted_on, fitted_for, model, threshold, unsure })
    }

    /// Says what it was fitted for.
    #[must_use]
    pub fn fitted_for(self, what: impl Into<String>) -> Self {
        Self { fitted_for: what.into(), ..self }
    }

    /// For each candidate of each row its probability by a fit that had not seen the row; with `extra` by all that is known,
    /// else without what further passages say.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn cross_validated(rows: &[CalibrationRow], extra: bool) -> Result<Vec<Vec<f64>>> {
        if rows.len() < FOLDS {
            let problem = format!("{} questions are too few: {FOLDS} are needed at the least", rows.len());
            return Err(Error::invalid("the rows to calibrate on", problem));
        }
        let right = |(_, names): &(Evidence, Option<usize>)| names.is_some();
        let candidates = || rows.iter().flat_map(|row| &row.candidates);
        if !candidates().any(right) || candidates().all(right) {
            let problem =
                "some candidates have to be right and some wrong, or there is nothing to tell apart";
            return Err(Error::invalid("the rows to calibrate on", problem));
        }
        let mut said: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
        for fold in 0..FOLDS {
            let model = Self::model(rows, &|i| i % FOLDS != fold)?;
            for (row, said) in rows.iter().zip(&mut said).skip(fold).step_by(FOLDS) {
                let seen = |e: &Evidence| if extra { *e } else { e.without_extra() };
                *said = row.candidates.iter().map(|(e, _)| model.probability(&seen(e).values())).collect();
            }
        }
        Ok(said)
    }

    /// Each candidate teaches twice: as it is, and as it was before anything was searched for it.
    fn model(rows: &[CalibrationRow], keep: &dyn Fn(usize) -> bool) -> Result<Weighing> {
        let chosen = rows.iter().enumerate().filter(|(i, _)| keep(*i)).flat_map(|(_, row)| &row.candidates);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (evidence, names) in chosen {
            for evidence in [*evidence, evidence.without_extra()] {
                x.push(evidence.values().to_vec());
                y.push(names.is_some());
            }
        }
        Weighing::fit(&FEATURES, &x, &y)
    }

    /// Reads a calibration's file; `name` names it in errors.
    ///
    /// # Errors
    /// A user's error when it is no calibration, or one for other features.
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        let read: Self = serde_json::from_str(text)
            .map_err(|e| Error::invalid(name, format!("not a calibration of answers: {e}")))?;
        if read.schema != SCHEMA || !read.model.is_over(&FEATURES) {
            let problem = "made for other features than this version has; fit it again with `counterproof train calibrator`";
            return Err(Error::invalid(name, problem));
        }
        Ok(read)
    }

    /// The probability that a candidate is right.
    pub fn probability(&self, evidence: &Evidence) -> f64 {
        self.model.probability(&evidence.values()).clamp(1e-4, 1.0 - 1e-4)
    }
}

/// The probabilities between which the candidates lie that are nearest to the threshold, at most a share of all.
fn band(threshold: f64, all: &[f64]) -> (f64, f64) {
    let mut distances: Vec<f64> = all.iter().map(|p| (p - threshold).abs()).collect();
    distances.sort_by(f64::total_cmp);
    let most = (distances.len() as f64 * MOST_UNSURE) as usize;
    let width = distances.get(most.saturating_sub(1)).copied().unwrap_or(0.0);
    let rounded = |p: f64| (p.clamp(0.0, 1.0) * 1e4).round() / 1e4;
    (rounded(threshold - width), rounded(threshold + width))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates that are right as often as the verifier says so.
    fn rows() -> Vec<CalibrationRow> {
        let candidate = |i: usize, entail: f64, right: bool| {
            let evidence = Evidence {
                margin: Some((i % 7) as f64),
                support: 1.0,
                entail: Some(entail),
                extra_entail: i.is_multiple_of(2).then_some(entail),
                ..Evidence::default()
            };
            (evidence, right.then_some(0))
        };
        (0..60)
            .map(|i| CalibrationRow {
                candidates: vec![
                    candidate(i, 0.9, !i.is_multiple_of(6)),
                    candidate(i, 0.1, i.is_multiple_of(6)),
                ],
                answers: 1,
            })
            .collect()
    }

    #[test]
    fn what_the_verifier_says_is_learnt_and_parted_by_the_threshold() {
        let fitted = AnswersCalibration::fit(&rows(), "a test").unwrap();
        let of = |entail| {
            fitted.probability(&Evidence { entail: Some(entail), support: 1.0, ..Evidence::default() })
        };
        assert!(of(0.9) > 0.7 && of(0.1) < 0.3, "{} {}", of(0.9), of(0.1));
        assert!(of(0.1) < fitted.threshold && fitted.threshold <= of(0.9));
        let (low, high) = fitted.unsure;
        assert!(low <= fitted.threshold && fitted.threshold <= high);
    }

    #[test]
    fn a_file_is_read_back_and_one_for_something_else_is_refused() {
        let fitted = AnswersCalibration::fit(&rows(), "a test").unwrap();
        let json = serde_json::to_string(&fitted).unwrap();
        assert_eq!(AnswersCalibration::from_json(&json, "x").unwrap(), fitted);
        let other = json.replace("\"margin\"", "\"something\"");
        assert!(
            AnswersCalibration::from_json(&other, "x").unwrap_err().to_string().contains("train calibrator")
        );
        assert!(AnswersCalibration::from_json("{}", "x").is_err());
        assert!(AnswersCalibration::fit(&rows()[..2], "x").is_err());
    }
}
