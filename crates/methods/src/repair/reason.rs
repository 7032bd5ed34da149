//! Why a repair ended as it did: codes for programs, words for people.

use std::fmt;
use std::str::FromStr;

use counterproof_core::Error;
use serde::{Deserialize, Serialize};

/// A deterministic rule that every revision has to pass, in the order in which they are applied (CounterRefine,
/// step 6). The first one that is broken rolls back to the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The answer says something, and is no abstention.
    Empty,
    /// The answer is another one than the draft.
    SameAsDraft,
    /// The answer to a yes/no question is yes or no.
    YesNoIllTyped,
    /// The answer to a who, where or entity question is short.
    EntityTooLong,
    /// It names a thing; it does not describe one.
    EntityDescriptive,
    /// The answer to a question of time holds a time.
    NoTimeMarker,
    /// The answer to a question of quantity holds a number.
    NoNumberMarker,
    /// The answer to a question for a year holds one year, or a range.
    AmbiguousYear,
    /// Evidence was given.
    NoEvidence,
    /// The evidence quoted stands in a passage that was found.
    EvidenceNotInPool,
    /// The evidence quoted holds the words of the answer.
    WeakOverlap,
    /// The numbers of the answer stand in the evidence quoted.
    Unanchored,
}

impl Rule {
    /// Every rule, in the order in which they are applied.
    pub const ALL: [Self; 12] = [
        Self::Empty,
        Self::SameAsDraft,
        Self::YesNoIllTyped,
        Self::EntityTooLong,
        Self::EntityDescriptive,
        Self::NoTimeMarker,
        Self::NoNumberMarker,
        Self::AmbiguousYear,
        Self::NoEvidence,
        Self::EvidenceNotInPool,
        Self::WeakOverlap,
        Self::Unanchored,
    ];

    /// The rule's code in JSON, reports and `--ablate`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::SameAsDraft => "same_as_draft",
            Self::YesNoIllTyped => "yes_no_ill_typed",
            Self::EntityTooLong => "entity_too_long",
            Self::EntityDescriptive => "entity_descriptive",
            Self::NoTimeMarker => "no_time_marker",
            Self::NoNumberMarker => "no_number_marker",
            Self::AmbiguousYear => "ambiguous_year",
            Self::NoEvidence => "no_evidence",
            Self::EvidenceNotInPool => "evidence_not_in_pool",
            Self::WeakOverlap => "weak_overlap",
            Self::Unanchored => "unanchored",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|r| r.code() == name).ok_or_else(|| {
            let rules: Vec<&str> = Self::ALL.iter().map(|r| r.code()).collect();
            Error::invalid(
                format!("ablation {name}"),
                format!(
                    "there is none of that name; there are no_counter_retrieval, no_bare_draft, \
                     no_conditioned_query, unconditioned_expansion, free_rewrite, no_validation, \
                     no_normalisation, loose_overlap, rounds=N, k_r=N, and the rules {}",
                    rules.join(", ")
                ),
            )
        })
    }
}

/// What a repair decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The draft stays, byte for byte.
    Keep,
    /// Another answer takes its place.
    Revise,
}

/// Why a repair ended as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A revision passed every rule.
    Accepted,
    /// The gate found nothing strong enough against the draft.
    Supported,
    /// No passage holds another answer of the kind asked for.
    NoAlternative,
    /// The gate's reply could not be read.
    Malformed,
    /// Every search failed.
    RetrievalFailed,
    /// The model failed at the gate.
    GateFailed,
    /// A revision passed the rules, but a verifier found that its evidence speaks against it.
    Vetoed,
    /// A revision was proposed and broke this rule.
    Rejected(Rule),
}

impl Reason {
    /// The code in JSON and reports.
    pub fn code(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Supported => "supported",
            Self::NoAlternative => "no_alternative",
            Self::Malformed => "malformed",
            Self::RetrievalFailed => "retrieval_failed",
            Self::GateFailed => "gate_failed",
            Self::Vetoed => "vetoed",
            Self::Rejected(rule) => rule.code(),
        }
    }

    /// The reason in words.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Accepted => "a passage says otherwise, and the new answer passed every rule",
            Self::Supported => "no passage speaks strongly enough against it",
            Self::NoAlternative => "no passage found offers another answer of the kind asked for",
            Self::Malformed => "the model's decision could not be read, so nothing was changed",
            Self::RetrievalFailed => "no search succeeded, so there was no evidence to test it on",
            Self::GateFailed => "the model failed while deciding, so nothing was changed",
            Self::Vetoed => {
                "the verifier found that the evidence quoted does not bear out the proposed revision"
            }
            Self::Rejected(rule) => match rule {
                Rule::Empty => "the proposed revision said nothing",
                Rule::SameAsDraft => "the proposed revision means the same",
                Rule::YesNoIllTyped => "the proposed revision was neither yes nor no",
                Rule::EntityTooLong => "the proposed revision was too long to be a name",
                Rule::EntityDescriptive => "the proposed revision described something instead of naming it",
                Rule::NoTimeMarker => "the proposed revision held no date or year",
                Rule::NoNumberMarker => "the proposed revision held no number",
                Rule::AmbiguousYear => "the proposed revision held more than one year",
                Rule::NoEvidence => "a revision was proposed without evidence",
                Rule::EvidenceNotInPool => "the evidence quoted for the revision stands in no passage found",
                Rule::WeakOverlap => "the evidence quoted does not hold the proposed revision",
                Rule::Unanchored => "the numbers of the proposed revision are not in the evidence quoted",
            },
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Reason {
    type Err = Error;

    fn from_str(code: &str) -> Result<Self, Error> {
        const OTHERS: [Reason; 7] = [
            Reason::Accepted,
            Reason::Supported,
            Reason::NoAlternative,
            Reason::Malformed,
            Reason::RetrievalFailed,
            Reason::GateFailed,
            Reason::Vetoed,
        ];
        OTHERS
            .into_iter()
            .chain(Rule::ALL.into_iter().map(Reason::Rejected))
            .find(|r| r.code() == code)
            .ok_or_else(|| Error::invalid("reason", format!("{code} is not a reason code")))
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        code.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_round_trip() {
        for rule in Rule::ALL {
            assert_eq!(rule.code().parse::<Rule>().unwrap(), rule);
            let json = serde_json::to_string(&Reason::Rejected(rule)).unwrap();
            assert_eq!(json, format!("\"{}\"", rule.code()));
            assert_eq!(serde_json::from_str::<Reason>(&json).unwrap(), Reason::Rejected(rule));
            assert_eq!(serde_json::to_string(&rule).unwrap(), json, "one spelling for rule and reason");
        }
        assert!("nonsense".parse::<Reason>().is_err());
    }
}
