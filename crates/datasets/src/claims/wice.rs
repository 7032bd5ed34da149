//! WiCE (Kamoi et al., 2023): claims of Wikipedia against chunks of the web pages they cite.

use serde::Deserialize;
use serde_json::Value;

use crate::detokenise::prose;
use crate::read::{Row, id_text, required};

/// How far a chunk supports a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WiceSupport {
    /// All of it.
    Supported,
    /// Some of it.
    PartiallySupported,
    /// None of it.
    NotSupported,
}

/// A claim with the sentences of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct WiceClaim {
    /// The id of the row.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// How far the chunk supports it.
    pub support: WiceSupport,
    /// The sentences of the chunk.
    pub sentences: Vec<String>,
    /// Which of them (by place in `sentences`) the annotators took to support it.
    pub oracle: Vec<usize>,
}

#[derive(Deserialize)]
struct Meta {
    id: Value,
    #[serde(default)]
    chunk_idx: Vec<usize>,
    #[serde(default)]
    oracle_idx: Vec<usize>,
}

#[derive(Deserialize)]
pub struct Published {
    label: String,
    claim: String,
    evidence: Vec<String>,
    meta: Meta,
}

impl Row for WiceClaim {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let support = match row.label.as_str() {
            "supported" => WiceSupport::Supported,
            "partially_supported" => WiceSupport::PartiallySupported,
            "not_supported" => WiceSupport::NotSupported,
            other => return Err(format!("`{other}` is no label of WiCE")),
        };
        if row.evidence.is_empty() {
            return Err("`evidence` is empty".into());
        }
        let places =
            row.meta.oracle_idx.iter().filter_map(|o| row.meta.chunk_idx.iter().position(|c| c == o));
        let oracle = places.filter(|p| *p < row.evidence.len()).collect();
        Ok(Self {
            id: id_text(&row.meta.id),
            claim: prose(&required("claim", row.claim)?),
            support,
            sentences: row.evidence.iter().map(|s| prose(s)).collect(),
            oracle,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn oracle_sentences_are_found_in_the_chunk() {
        let rows = of_text::<WiceClaim>(
            r#"{"label": "partially_supported", "claim": "Arnold is publisher.", "evidence": ["A.", "B.", "C."], "meta": {"id": "dev1", "claim_title": "x", "chunk_idx": [2, 5, 10], "oracle_idx": [5, 15]}}
{"label": "perhaps", "claim": "C.", "evidence": ["A."], "meta": {"id": "dev2"}}"#,
        );
        assert_eq!(
            (rows.rows[0].support, rows.rows[0].oracle.clone()),
            (WiceSupport::PartiallySupported, vec![1])
        );
        assert_eq!(rows.bad.len(), 1);
    }
}
