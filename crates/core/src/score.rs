//! Scores order things; probabilities can be compared with a threshold that means something. They are different
//! types, so that one is never mistaken for the other.

use serde::{Deserialize, Serialize};

/// A ranking score: higher is better, and nothing else can be read from it. Never NaN.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Score(f64);

impl Score {
    /// Wraps a finite number; NaN becomes the lowest score, so that a fault can never win a ranking.
    pub fn new(value: f64) -> Self {
        Self(if value.is_nan() { f64::NEG_INFINITY } else { value })
    }

    /// The number behind the score.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Score {}

#[allow(clippy::derive_ord_xor_partial_ord)] // NaN is ruled out on construction, so the two orders agree.
impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A probability in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

impl Probability {
    /// Certainly not.
    pub const ZERO: Self = Self(0.0);
    /// Certainly.
    pub const ONE: Self = Self(1.0);

    /// The probability `value`, or `None` when it is not in `[0, 1]`.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The nearest probability to `value`; NaN becomes zero. For results of floating-point sums that may leave the
    /// interval by a rounding error.
    pub fn clamped(value: f64) -> Self {
        if value.is_nan() { Self::ZERO } else { Self(value.clamp(0.0, 1.0)) }
    }

    /// The number behind the probability.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        Self::new(value).ok_or_else(|| format!("{value} is not a probability"))
    }
}

impl From<Probability> for f64 {
    fn from(value: Probability) -> f64 {
        value.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_never_wins() {
        assert!(Score::new(f64::NAN) < Score::new(-1e300));
        assert_eq!(Probability::clamped(f64::NAN), Probability::ZERO);
        assert_eq!(Probability::new(1.0 + 1e-9), None);
        assert_eq!(Probability::clamped(1.0 + 1e-9), Probability::ONE);
    }
}
