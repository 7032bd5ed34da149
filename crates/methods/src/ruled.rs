//! A verifier with rules around it, for claims: what is settled by reading values and words needs no encoder to guess at it.
//!
//! An encoder of 22 million parameters reads "4523000" and "4,523,000" as two numbers, takes "disabled" for "enabled", and
//! refutes a claim by a sentence on something else. Three rules stand before and after it. Each probability is the share
//! of labels among the pairs that the rule applied to, on claims that no report is made on (see
//! `docs/BENCHMARKS.md`).

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{ByteSpan, Entailment, Nli, Result};
use counterproof_text::conflict::{Conflict, ConflictKind, compare};
use counterproof_text::tokens::content_tokens;
use counterproof_text::value::{self, Comparison};

/// The version of the rules: part of the identity, since a calibration belongs to what it was fitted on.
const VERSION: &str = "rules-1";

/// A verifier, and the rules.
#[derive(Clone)]
pub struct Ruled {
    verifier: Arc<dyn Entailment>,
    identity: String,
}

impl Ruled {
    /// Puts the rules around a verifier.
    pub fn new(verifier: Arc<dyn Entailment>) -> Self {
        let identity = format!("{}+{VERSION}", verifier.identity());
        Self { verifier, identity }
    }
}

#[async_trait]
impl Entailment for Ruled {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn knows_language_of(&self, text: &str) -> bool {
        self.verifier.knows_language_of(text)
    }

    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        let worded: Vec<String> = pairs.iter().map(|(premise, claim)| in_words_of(premise, claim)).collect();
        let asked: Vec<(&str, &str)> =
            pairs.iter().zip(&worded).map(|((premise, _), claim)| (*premise, claim.as_str())).collect();
        let judged = self.verifier.judge(&asked).await?;
        let ruled = asked.iter().zip(judged).map(|((premise, claim), nli)| ruled(premise, claim, nli));
        Ok(ruled.collect())
    }
}

/// The claim with its values written as the evidence writes them, where they are the same: "4523000" as "4,523,000",
/// "Jan 15, 1967" as "January 15, 1967".
fn in_words_of(premise: &str, claim: &str) -> String {
    let ours = value::values(claim);
    if ours.is_empty() {
        return claim.to_owned();
    }
    let theirs = value::values(premise);
    let mut out = String::with_capacity(claim.len());
    let mut done = 0;
    for found in &ours {
        let Some(own) = found.span.slice(claim).filter(|own| !premise.contains(*own)) else { continue };
        let same = theirs.iter().find(|t| value::compare(&t.value, &found.value) == Comparison::Same);
        let Some(written) = same.and_then(|t| t.span.slice(premise)).filter(|w| *w != own) else { continue };
        if found.span.start() < done {
            continue;
        }
        out.push_str(claim.get(done..found.span.start()).unwrap_or_default());
        out.push_str(written);
        done = found.span.end();
    }
    out.push_str(claim.get(done..).unwrap_or_default());
    out
}

/// What the verifier says, where no rule knows better.
fn ruled(premise: &str, claim: &str, nli: Nli) -> Nli {
    let claimed: HashSet<String> = content_tokens(claim).into_iter().collect();
    let held: HashSet<String> = content_tokens(premise).into_iter().collect();
    if premise.trim().is_empty() || claimed.is_empty() {
        return nli;
    }
    if claimed.is_disjoint(&held) {
        // Not a word in common: 318 pairs.
        return Nli::from_weights(0.11, 0.77, 0.12);
    }
    match compare(premise, claim).conflicts.as_slice() {
        [only] if is_all_that_differs(only, claim, &claimed, &held) => {
            let refuted = match only.kind {
                // 154, 35 and 64 pairs.
                ConflictKind::Date => 0.96,
                ConflictKind::Opposite => 0.89,
                ConflictKind::Number => 0.84,
                ConflictKind::Name | ConflictKind::Negation | ConflictKind::Answer => return nli,
            };
            let rest = (1.0 - refuted) / 2.0;
            if nli.contradict.get() >= refuted { nli } else { Nli::from_weights(rest, rest, refuted) }
        }
        _ => nli,
    }
}

/// Whether the evidence holds every word of the claim but those of the conflict.
fn is_all_that_differs(
    conflict: &Conflict,
    claim: &str,
    claimed: &HashSet<String>,
    held: &HashSet<String>,
) -> bool {
    let span: ByteSpan = conflict.statement;
    let differing: HashSet<String> =
        content_tokens(span.slice(claim).unwrap_or(&conflict.claimed)).into_iter().collect();
    claimed.iter().all(|word| held.contains(word) || differing.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entails whatever it is asked.
    struct Yes;

    #[async_trait]
    impl Entailment for Yes {
        fn identity(&self) -> &str {
            "yes"
        }
        async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
            Ok(pairs.iter().map(|_| Nli::from_weights(0.9, 0.05, 0.05)).collect())
        }
    }

    async fn judged(premise: &str, claim: &str) -> Nli {
        Ruled::new(Arc::new(Yes)).judge(&[(premise, claim)]).await.unwrap()[0]
    }

    #[tokio::test]
    async fn the_one_difference_refutes() {
        for (premise, claim) in [
            ("The bridge was opened in 1932.", "The bridge was opened in 1923."),
            ("The feature is enabled.", "The feature is disabled."),
            ("The town has sixteen schools.", "The town has fifteen schools."),
        ] {
            let nli = judged(premise, claim).await;
            assert!(nli.contradict.get() > 0.8, "{claim}: {nli:?}");
        }
        let other =
            judged("The bridge of the north was opened in 1932.", "The old mill was opened in 1923.").await;
        assert!(other.entail.get() > 0.8, "more than the year differs, so the verifier is heard: {other:?}");
    }

    #[tokio::test]
    async fn no_word_in_common_settles_nothing() {
        let nli = judged("The bridge was opened in 1932.", "The mill ground flour.").await;
        assert!(nli.neutral.get() > 0.7, "{nli:?}");
    }

    #[test]
    fn values_are_written_as_the_evidence_writes_them() {
        let claim = "The fund holds 4523000 dollars since Jan 15, 1967.";
        let premise = "Since January 15, 1967 the fund holds 4,523,000 dollars.";
        assert_eq!(in_words_of(premise, claim), "The fund holds 4,523,000 dollars since January 15, 1967.");
        assert_eq!(in_words_of("It opened in 1932.", "It opened in 1923."), "It opened in 1923.");
    }
}
