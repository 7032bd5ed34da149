//! What a check says in the end.

use counterproof_core::{Citation, Cost, Probability, Trace, Verdict};
use serde::{Deserialize, Serialize};

/// The version of [`CheckReport`]'s JSON form.
pub const CHECK_SCHEMA: u32 = 1;

/// How a citation bears on the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// It supports the claim.
    Supports,
    /// It speaks against the claim.
    Refutes,
}

/// Words of a passage, and how they bear on the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// The words.
    #[serde(flatten)]
    pub citation: Citation,
    /// How they bear on the claim.
    pub stance: Stance,
}

/// Why a verdict was withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbstainReason {
    /// It is not sure enough.
    LowConfidence,
    /// Passages contradict one another about the claim.
    Conflict,
    /// The verifier does not know the claim's language.
    UnknownLanguage,
    /// The risk that was asked for cannot be promised.
    NoPromise,
}

impl AbstainReason {
    /// The reason in words.
    pub fn explain(self) -> &'static str {
        match self {
            Self::LowConfidence => "the verdict is not sure enough to be given",
            Self::Conflict => "passages contradict one another about it",
            Self::UnknownLanguage => {
                "the verifier was not trained on this language, so its verdict is a guess"
            }
            Self::NoPromise => "the calibration cannot promise the risk that was asked for",
        }
    }
}

/// The verdict on one fact, or on the whole claim where it states one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartReport {
    /// The fact.
    pub claim: String,
    /// What the evidence says of it. Where it is withheld, this is what it would have been.
    pub verdict: Verdict,
    /// Whether the verdict is withheld.
    pub abstained: bool,
    /// Why it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<AbstainReason>,
    /// The probability that the verdict is right.
    pub confidence: Probability,
    /// Whether some passages support the fact while others speak against it.
    pub conflict: bool,
    /// Whether the verifier could not be asked, so that the verdict is the language model's majority and its confidence the
    /// share of votes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
    /// The words that it rests on; in a conflict those of both sides.
    pub citations: Vec<Cited>,
}

/// The outcome of a check, with the evidence it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The version of this form: [`CHECK_SCHEMA`].
    pub schema: u32,
    /// The claim's id in a batch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The verdict on the whole claim.
    #[serde(flatten)]
    pub whole: PartReport,
    /// The verdicts on its facts, where it states more than one.
    pub parts: Vec<PartReport>,
    /// What it cost.
    pub cost: Cost,
    /// How it came about.
    #[serde(default)]
    pub trace: Trace,
}

impl CheckReport {
    /// The report as one JSON object; the trace is left out unless `explain`.
    pub fn to_json(&self, explain: bool) -> serde_json::Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if !explain && let Some(object) = json.as_object_mut() {
            object.remove("trace");
        }
        json
    }
}

/// The verdict on a claim from those on its facts: supported if all are, refuted if one is. A refuted fact is enough, so
/// the surest one counts; for support all have to be right, so their probabilities are multiplied.
pub(super) fn whole(claim: &str, parts: &[PartReport]) -> PartReport {
    let of = |verdict: Verdict| parts.iter().filter(move |p| p.verdict == verdict);
    let surest =
        |verdict: Verdict| of(verdict).max_by(|a, b| a.confidence.get().total_cmp(&b.confidence.get()));
    let (verdict, confidence, deciding): (_, f64, Vec<&PartReport>) =
        match (surest(Verdict::Refuted), surest(Verdict::NotEnoughEvidence)) {
            (Some(part), _) => (Verdict::Refuted, part.confidence.get(), vec![part]),
            // Unsettled takes that no other fact is refuted after all, so those count as well.
            (None, Some(part)) => (Verdict::NotEnoughEvidence, part.confidence.get(), parts.iter().collect()),
            (None, None) => {
                let all = parts.iter().map(|p| p.confidence.get()).product();
                (Verdict::Supported, all, parts.iter().collect())
            }
        };
    let reason = deciding.iter().find_map(|p| p.reason);
    let abstained = deciding.iter().any(|p| p.abstained);
    let mut citations: Vec<Cited> = Vec::new();
    let deciding: Vec<&PartReport> = match verdict {
        Verdict::NotEnoughEvidence => Vec::new(),
        _ => deciding,
    };
    for cited in deciding.iter().flat_map(|p| &p.citations) {
        if !citations.contains(cited) {
            citations.push(cited.clone());
        }
    }
    PartReport {
        claim: claim.to_owned(),
        verdict,
        abstained,
        reason,
        confidence: Probability::clamped(confidence),
        conflict: parts.iter().any(|p| p.conflict),
        unverified: parts.iter().any(|p| p.unverified),
        citations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(verdict: Verdict, confidence: f64) -> PartReport {
        PartReport {
            claim: "x".to_owned(),
            verdict,
            abstained: false,
            reason: None,
            confidence: Probability::clamped(confidence),
            conflict: false,
            unverified: false,
            citations: Vec::new(),
        }
    }

    #[test]
    fn a_claim_is_as_its_facts_are() {
        use Verdict::{NotEnoughEvidence as Nei, Refuted, Supported};
        for (parts, verdict, confidence) in [
            (vec![(Supported, 0.9), (Supported, 0.8)], Supported, 0.72),
            (vec![(Supported, 0.9), (Refuted, 0.8), (Nei, 0.99)], Refuted, 0.8),
            (vec![(Supported, 0.9), (Nei, 0.6)], Nei, 0.6),
        ] {
            let parts: Vec<PartReport> = parts.into_iter().map(|(v, c)| part(v, c)).collect();
            let whole = whole("x and y", &parts);
            assert_eq!(whole.verdict, verdict);
            assert!((whole.confidence.get() - confidence).abs() < 1e-9);
        }
    }
}
