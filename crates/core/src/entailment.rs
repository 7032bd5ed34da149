//! The seam to natural language inference.

use std::collections::HashSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::retriever::words_of;
use crate::{Probability, Result};

/// How a premise bears on a hypothesis: three probabilities that sum to one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Nli {
    /// The premise makes the hypothesis true.
    pub entail: Probability,
    /// The premise does not settle it.
    pub neutral: Probability,
    /// The premise makes it false.
    pub contradict: Probability,
}

impl Nli {
    /// What evidence says that says nothing.
    pub const NEUTRAL: Self =
        Self { entail: Probability::ZERO, neutral: Probability::ONE, contradict: Probability::ZERO };

    /// What the windows of one premise say together: it settles the hypothesis as far as the window that does so most.
    /// The greatest probabilities of entailment and contradiction and the least of neutral are taken and brought to one;
    /// without a window it is neutral.
    pub fn over_windows(windows: &[Self]) -> Self {
        match windows {
            [] => Self::NEUTRAL,
            [one] => *one,
            several => {
                let most = |of: fn(&Self) -> Probability| {
                    several.iter().map(|nli| of(nli).get()).fold(0.0, f64::max)
                };
                let neutral = several.iter().map(|nli| nli.neutral.get()).fold(1.0, f64::min);
                Self::from_weights(most(|nli| nli.entail), neutral, most(|nli| nli.contradict))
            }
        }
    }

    /// The distribution proportional to three non-negative weights; all zero (or not finite) gives "neutral".
    pub fn from_weights(entail: f64, neutral: f64, contradict: f64) -> Self {
        let sum = entail + neutral + contradict;
        if !(sum.is_finite() && sum > 0.0) {
            return Self::NEUTRAL;
        }
        Self {
            entail: Probability::clamped(entail / sum),
            neutral: Probability::clamped(neutral / sum),
            contradict: Probability::clamped(contradict / sum),
        }
    }
}

/// The places of the labels that say entailed, neutral and contradicted in the list of a classifier's output names, by how
/// they begin, whatever their case; `None` unless each of the three is there once and nothing else.
pub fn nli_order(labels: &[impl AsRef<str>]) -> Option<[usize; 3]> {
    if labels.len() != 3 {
        return None;
    }
    let place =
        |stem: &str| labels.iter().position(|label| label.as_ref().trim().to_lowercase().starts_with(stem));
    Some([place("entail")?, place("neutral")?, place("contradict")?])
}

/// Judges whether a premise entails a hypothesis.
///
/// Contract: one [`Nli`] a pair, in the order given. A blank premise is neutral without asking a model. Premises
/// beyond the model's window are read in windows; the hypothesis is never cut.
#[async_trait]
pub trait Entailment: Send + Sync {
    /// Names the model and its weights, for traces and cache keys.
    fn identity(&self) -> &str;

    /// Whether `text` is in a language that it was made for, as far as that can be told; what it says of any other is a
    /// guess, and callers mark it as one.
    fn knows_language_of(&self, _text: &str) -> bool {
        true
    }

    /// Judges each `(premise, hypothesis)`.
    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>>;
}

/// Entailment by shared words, negation and numbers: no model, and right only on the simplest of texts. For tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct LexicalEntailment;

#[async_trait]
impl Entailment for LexicalEntailment {
    fn identity(&self) -> &str {
        "lexical"
    }

    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        Ok(pairs.iter().map(|(premise, hypothesis)| lexical(premise, hypothesis)).collect())
    }
}

fn lexical(premise: &str, hypothesis: &str) -> Nli {
    const NEGATIONS: [&str; 6] = ["not", "no", "never", "nor", "without", "cannot"];
    let premise: HashSet<String> = words_of(premise).into_iter().collect();
    let hypothesis: HashSet<String> = words_of(hypothesis).into_iter().collect();
    if premise.is_empty() || hypothesis.is_empty() {
        return Nli::from_weights(0.0, 1.0, 0.0);
    }
    let covered = hypothesis.intersection(&premise).count() as f64 / hypothesis.len() as f64;
    let negated = |words: &HashSet<String>| NEGATIONS.iter().any(|n| words.contains(*n));
    let numbers = |words: &HashSet<String>| -> HashSet<String> {
        words.iter().filter(|w| w.chars().all(|c| c.is_ascii_digit())).cloned().collect()
    };
    let (theirs, ours) = (numbers(&premise), numbers(&hypothesis));
    let number_differs = !ours.is_empty() && !theirs.is_empty() && ours.is_disjoint(&theirs);
    if covered < 0.5 {
        Nli::from_weights(0.05, 0.9, 0.05)
    } else if negated(&premise) != negated(&hypothesis) || number_differs {
        Nli::from_weights(0.05, 1.0 - covered, covered)
    } else {
        Nli::from_weights(covered, 1.0 - covered, 0.05)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_read_from_the_names_or_refused() {
        assert_eq!(nli_order(&["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]), Some([2, 1, 0]));
        assert_eq!(nli_order(&["entailment", "neutral", "contradiction"]), Some([0, 1, 2]));
        assert_eq!(nli_order(&["LABEL_0", "LABEL_1", "LABEL_2"]), None);
        assert_eq!(nli_order(&["entailment", "entailment", "contradiction"]), None);
        assert_eq!(nli_order(&["entailment", "not_entailment"]), None);
    }

    #[test]
    fn windows_settle_as_far_as_one_of_them_does() {
        let silent = Nli::from_weights(0.05, 0.9, 0.05);
        let against = Nli::from_weights(0.1, 0.2, 0.7);
        assert_eq!(Nli::over_windows(&[]), Nli::NEUTRAL);
        assert_eq!(Nli::over_windows(&[against]), against);
        let both = Nli::over_windows(&[silent, against, silent]);
        assert!(
            (both.contradict.get() - 0.7).abs() < 1e-9 && (both.neutral.get() - 0.2).abs() < 1e-9,
            "{both:?}"
        );
    }

    #[tokio::test]
    async fn contradiction_is_seen_before_support() {
        let judged = LexicalEntailment
            .judge(&[
                ("The feature is enabled", "The feature is enabled"),
                ("The feature is not enabled", "The feature is enabled"),
                ("It opened in 1912", "It opened in 1913"),
                ("", "It opened in 1913"),
            ])
            .await
            .unwrap();
        assert!(judged[0].entail > judged[0].contradict);
        assert!(judged[1].contradict > judged[1].entail);
        assert!(judged[2].contradict > judged[2].entail);
        assert_eq!(judged[3].neutral, Probability::ONE);
    }
}
