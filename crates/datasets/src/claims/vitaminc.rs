//! VitaminC (Schuster et al., 2021): claims against revisions of Wikipedia sentences.

use serde::Deserialize;
use serde_json::Value;

use super::Verdict;
use crate::detokenise::prose;
use crate::read::{Row, id_text, required};

/// A claim with one sentence of evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct VitaminCPair {
    /// The number of the row; what stands before `_` names the revision.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// The sentence.
    pub evidence: String,
    /// How it bears on the claim.
    pub verdict: Verdict,
}

#[derive(Deserialize)]
pub struct Published {
    #[serde(alias = "unique_id")]
    id: Value,
    claim: String,
    evidence: String,
    label: String,
}

impl Row for VitaminCPair {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        Ok(Self {
            id: id_text(&row.id),
            claim: prose(&required("claim", row.claim)?),
            evidence: prose(&required("evidence", row.evidence)?),
            verdict: Verdict::parse(&row.label)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn a_pair_is_read_as_prose() {
        let rows = of_text::<VitaminCPair>(
            r#"{"claim": "Hedda Gabler 's premiere was in 1891 .", "evidence": "It was in 1892 .", "label": "refutes", "id": "5ed_4", "_file": "test.jsonl"}"#,
        );
        assert_eq!(rows.rows[0].claim, "Hedda Gabler's premiere was in 1891.");
        assert_eq!(rows.rows[0].verdict, Verdict::Refuted);
    }
}
