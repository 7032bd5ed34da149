//! Fool Me Twice (Eisenschlos et al., 2021): claims that players wrote to fool each other.

use serde::Deserialize;
use serde_json::Value;

use super::{Evidence, Verdict};
use crate::detokenise::{page_title, prose};
use crate::read::{Row, id_text, required};

/// A claim with the sentences that settle it and others of the same page.
#[derive(Debug, Clone, PartialEq)]
pub struct Fm2Claim {
    /// The id of the row.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// Supported or refuted.
    pub verdict: Verdict,
    /// The sentences that settle it.
    pub gold: Vec<Evidence>,
    /// Sentences that were retrieved for it; some are gold ones.
    pub retrieved: Vec<Evidence>,
}

#[derive(Deserialize)]
struct Sentence {
    text: String,
}

#[derive(Deserialize)]
pub struct Published {
    id: Value,
    text: String,
    label: String,
    gold_evidence: Vec<Sentence>,
    #[serde(default)]
    retrieved_evidence: Vec<Sentence>,
    #[serde(default)]
    wikipedia_page: String,
}

impl Row for Fm2Claim {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let title = page_title(&row.wikipedia_page);
        let pieces = |sentences: Vec<Sentence>| -> Vec<Evidence> {
            let texts = sentences.into_iter().map(|s| prose(&s.text)).filter(|t| !t.is_empty());
            texts.map(|text| Evidence::new(title.clone(), text)).collect()
        };
        let gold = pieces(row.gold_evidence);
        if gold.is_empty() {
            return Err("`gold_evidence` is empty".into());
        }
        Ok(Self {
            id: id_text(&row.id),
            claim: prose(&required("text", row.text)?),
            verdict: Verdict::parse(&row.label)?,
            gold,
            retrieved: pieces(row.retrieved_evidence),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn gold_and_retrieved_sentences() {
        let rows = of_text::<Fm2Claim>(
            r#"{"id": "a", "text": "The film was shot at once.", "label": "REFUTES", "gold_evidence": [{"section_header": "Production", "text": "Shooting would be impossible."}], "retrieved_evidence": [{"section_header": "Plot", "text": "Gandhi is opposed."}], "wikipedia_page": "Gandhi_(film)"}
{"id": "b", "text": "No evidence.", "label": "REFUTES", "gold_evidence": []}"#,
        );
        assert_eq!(rows.rows[0].gold, [Evidence::new("Gandhi (film)", "Shooting would be impossible.")]);
        assert_eq!(rows.rows[0].retrieved.len(), 1);
        assert_eq!(rows.bad.len(), 1);
    }
}
