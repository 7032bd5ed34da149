//! Logistic regression over numbers of which some may not be known. What is not known is not zero.

use counterproof_core::Result;
use counterproof_logistic::Logistic;
use serde::{Deserialize, Serialize};

/// The penalty of the fits.
pub(crate) const PENALTY: f64 = 1.0;

/// Log-odds of a probability, held within what single precision can tell apart from certainty.
pub(crate) fn logit(p: f64) -> f64 {
    let p = p.clamp(1e-4, 1.0 - 1e-4);
    (p / (1.0 - p)).ln()
}

/// `P(y = 1 | x)`, where each feature has a weight, and another number that is added where it is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Weighing {
    /// Names of the features, in order.
    features: Vec<String>,
    /// What stands in for a feature that is not known: its mean.
    means: Vec<f64>,
    weights: Vec<f64>,
    /// What is added where the feature is not known.
    missing: Vec<f64>,
    bias: f64,
}

impl Weighing {
    /// Fits to rows of features, each with its outcome.
    ///
    /// # Errors
    /// The outcomes are all the same.
    pub(crate) fn fit(names: &[&str], rows: &[Vec<Option<f64>>], outcomes: &[bool]) -> Result<Self> {
        let mean = |i: usize| {
            let known: Vec<f64> = rows.iter().filter_map(|v| v.get(i).copied().flatten()).collect();
            if known.is_empty() { 0.0 } else { known.iter().sum::<f64>() / known.len() as f64 }
        };
        let means: Vec<f64> = (0..names.len()).map(mean).collect();
        let x: Vec<Vec<f64>> = rows
            .iter()
            .map(|values| {
                let filled = values.iter().zip(&means).map(|(value, mean)| value.unwrap_or(*mean));
                let absent = values.iter().map(|value| f64::from(u8::from(value.is_none())));
                filled.chain(absent).collect()
            })
            .collect();
        let Logistic { weights, bias } = Logistic::fit(&x, outcomes, PENALTY)?;
        let (weights, missing) = weights.split_at_checked(names.len()).unwrap_or((&weights, &[]));
        Ok(Self {
            features: names.iter().map(|name| (*name).to_owned()).collect(),
            means,
            weights: weights.to_vec(),
            missing: missing.to_vec(),
            bias,
        })
    }

    /// Whether it was fitted to these features.
    pub(crate) fn is_over(&self, names: &[&str]) -> bool {
        self.features == names
            && [&self.means, &self.weights, &self.missing].iter().all(|w| w.len() == names.len())
    }

    /// The probability of features in the order of their names.
    pub(crate) fn probability(&self, values: &[Option<f64>]) -> f64 {
        let known = values.iter().zip(&self.means).zip(self.weights.iter().zip(&self.missing));
        let sum: f64 = known
            .map(|((value, mean), (weight, absent))| match value {
                Some(x) => weight * x,
                None => weight * mean + absent,
            })
            .sum();
        1.0 / (1.0 + (-(self.bias + sum)).exp())
    }
}
