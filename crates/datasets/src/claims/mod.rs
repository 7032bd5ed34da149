//! Sets of claims with evidence.

use counterproof_text::statement::{joined_premise, premise};
use serde::{Deserialize, Serialize};

mod climate_fever;
mod fever;
mod fever_symmetric;
mod feverous;
mod fm2;
mod sufficient_facts;
mod vitaminc;
mod wice;

pub use climate_fever::{ClimateClaim, ClimateEvidence, ClimateVerdict};
pub use fever::FeverClaim;
pub use fever_symmetric::SymmetricPair;
pub use feverous::FeverousClaim;
pub use fm2::Fm2Claim;
pub use sufficient_facts::{Sufficiency, SufficientFactsClaim};
pub use vitaminc::VitaminCPair;
pub use wice::{WiceClaim, WiceSupport};

/// How evidence bears on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It makes the claim true.
    Supported,
    /// It makes the claim false.
    Refuted,
    /// It settles nothing.
    NotEnough,
}

impl Verdict {
    /// Reads the labels of the FEVER family in any of their spellings.
    pub(crate) fn parse(label: &str) -> Result<Self, String> {
        match label.trim().to_ascii_uppercase().replace('_', " ").as_str() {
            "SUPPORTS" | "SUPPORTED" | "SUPPORT" => Ok(Self::Supported),
            "REFUTES" | "REFUTED" | "REFUTE" | "CONTRADICT" => Ok(Self::Refuted),
            "NOT ENOUGH INFO" | "NOT ENOUGH" | "NEI" => Ok(Self::NotEnough),
            _ => Err(format!("`{label}` is no verdict; expected supports, refutes or not enough info")),
        }
    }
}

/// A sentence or short passage of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// Title of the page it is from; empty where the set does not tell.
    pub title: String,
    /// The words, as prose.
    pub text: String,
}

impl Evidence {
    pub(crate) fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into() }
    }

    /// `Title. text`, as passages are read; the text alone where there is no title, or where the text begins with it.
    pub fn with_title(&self) -> String {
        premise(&self.title, &self.text)
    }
}

/// The pieces as one premise, a title only where it changes.
pub fn join_evidence(pieces: &[Evidence]) -> String {
    joined_premise(pieces.iter().map(|p| (p.title.as_str(), p.text.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_in_every_spelling() {
        for (label, verdict) in [
            ("SUPPORTS", Verdict::Supported),
            ("SUPPORTED", Verdict::Supported),
            ("refutes", Verdict::Refuted),
            ("not enough info", Verdict::NotEnough),
            ("NOT_ENOUGH_INFO", Verdict::NotEnough),
        ] {
            assert_eq!(Verdict::parse(label), Ok(verdict));
        }
        assert!(Verdict::parse("MAYBE").unwrap_err().contains("`MAYBE`"));
    }

    #[test]
    fn a_title_stands_in_front_once() {
        let pieces = [
            Evidence::new("Royal Albert Hall", "It is a hall."),
            Evidence::new("Royal Albert Hall", "It holds the Proms."),
            Evidence::new("Who?", "A band."),
            Evidence::new("The Proms", "The Proms are concerts."),
            Evidence::new("", "An end."),
        ];
        assert_eq!(
            join_evidence(&pieces),
            "Royal Albert Hall. It is a hall. It holds the Proms. Who? A band. The Proms are concerts. An end."
        );
    }
}
