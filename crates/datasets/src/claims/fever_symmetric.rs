//! FEVER-symmetric (Schuster et al., 2019): every claim stands with evidence for it and evidence against it, so that a
//! claim alone gives nothing away.

use serde::Deserialize;
use serde_json::Value;

use super::Verdict;
use crate::detokenise::prose;
use crate::read::{Row, id_text, required};

/// A claim with one sentence of evidence. Version 0.1 and version 0.2 read alike.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricPair {
    /// The number of the row.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// The sentence; its page is not told.
    pub evidence: String,
    /// Supported or refuted.
    pub verdict: Verdict,
}

#[derive(Deserialize)]
pub struct Published {
    id: Value,
    claim: String,
    #[serde(alias = "evidence_sentence")]
    evidence: String,
    label: String,
}

impl Row for SymmetricPair {
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
    fn both_versions() {
        let rows = of_text::<SymmetricPair>(
            r#"{"id": "1", "label": "REFUTES", "claim": "It is a English network .", "evidence_sentence": "It -LRB- T -RRB- is Spanish ."}
{"id": "2", "claim": "It ended .", "evidence": "It ended so .", "sentence1": "x", "gold_label": "SUPPORTS", "label": "SUPPORTS", "evid": [["x", 1.0]]}
{"id": "3", "claim": "It ended .", "evidence": "", "label": "SUPPORTS"}"#,
        );
        assert_eq!(rows.rows[0].evidence, "It (T) is Spanish.");
        assert_eq!((rows.rows[1].claim.as_str(), rows.rows[1].verdict), ("It ended.", Verdict::Supported));
        assert_eq!(rows.bad.len(), 1);
    }
}
