//! Climate-FEVER (Diggelmann et al., 2020): claims about the climate, each with five sentences judged one by one.

use serde::Deserialize;
use serde_json::Value;

use super::{Evidence, Verdict};
use crate::detokenise::prose;
use crate::read::{Row, id_text, required};

/// What five sentences together make of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClimateVerdict {
    /// One of three verdicts.
    Is(Verdict),
    /// Some sentences support it and others refute it.
    Disputed,
}

/// A sentence and what the voters made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClimateEvidence {
    /// The sentence with the title of its article.
    pub evidence: Evidence,
    /// How it bears on the claim.
    pub verdict: Verdict,
    /// The votes, two to five of them.
    pub votes: Vec<Verdict>,
}

impl ClimateEvidence {
    /// Whether every voter voted for the verdict.
    pub fn is_unanimous(&self) -> bool {
        self.votes.iter().all(|v| *v == self.verdict)
    }
}

/// A claim with five sentences.
#[derive(Debug, Clone, PartialEq)]
pub struct ClimateClaim {
    /// Its number.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// What the sentences make of it together.
    pub verdict: ClimateVerdict,
    /// The sentences.
    pub evidence: Vec<ClimateEvidence>,
}

#[derive(Deserialize)]
struct Sentence {
    evidence_label: String,
    #[serde(default)]
    article: String,
    evidence: String,
    #[serde(default)]
    votes: Vec<Option<String>>,
}

#[derive(Deserialize)]
pub struct Published {
    claim_id: Value,
    claim: String,
    claim_label: String,
    evidences: Vec<Sentence>,
}

impl Row for ClimateClaim {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let verdict = if row.claim_label == "DISPUTED" {
            ClimateVerdict::Disputed
        } else {
            ClimateVerdict::Is(Verdict::parse(&row.claim_label)?)
        };
        let judged = |sentence: Sentence| {
            let votes: Result<Vec<Verdict>, String> =
                sentence.votes.iter().flatten().map(|v| Verdict::parse(v)).collect();
            Ok(ClimateEvidence {
                evidence: Evidence::new(sentence.article, prose(&required("evidence", sentence.evidence)?)),
                verdict: Verdict::parse(&sentence.evidence_label)?,
                votes: votes?,
            })
        };
        Ok(Self {
            id: id_text(&row.claim_id),
            claim: prose(&required("claim", row.claim)?),
            verdict,
            evidence: row.evidences.into_iter().map(judged).collect::<Result<_, String>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn each_sentence_has_a_verdict_of_its_own() {
        let rows = of_text::<ClimateClaim>(
            r#"{"claim_id": "6", "claim": "Polar bears grow.", "claim_label": "DISPUTED", "evidences": [{"evidence_id": "Polar bear:1", "evidence_label": "NOT_ENOUGH_INFO", "article": "Polar bear", "evidence": "\"Ask the experts\".", "entropy": 0.69, "votes": ["NOT_ENOUGH_INFO", "REFUTES", null]}, {"evidence_label": "REFUTES", "evidence": "They shrink.", "votes": ["REFUTES"]}]}"#,
        );
        let row = &rows.rows[0];
        assert_eq!(row.verdict, ClimateVerdict::Disputed);
        assert_eq!(row.evidence[0].votes, [Verdict::NotEnough, Verdict::Refuted]);
        assert!(!row.evidence[0].is_unanimous() && row.evidence[1].is_unanimous());
        assert_eq!(row.evidence[0].evidence.title, "Polar bear");
    }
}
