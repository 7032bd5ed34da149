//! Passages of a retrieval corpus.

use counterproof_core::Passage;
use serde::Deserialize;
use serde_json::Value;

use crate::detokenise::prose;
use crate::read::{Row, id_text, required};

/// A passage with its title, as prose.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusPassage(pub Passage);

/// A row as it is published.
#[derive(Deserialize)]
pub struct Published {
    id: Value,
    #[serde(default)]
    title: String,
    text: String,
}

impl Row for CorpusPassage {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let text = prose(&required("text", row.text)?);
        Ok(Self(Passage::new(id_text(&row.id), prose(&row.title), text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn a_passage_keeps_its_id_and_title() {
        let rows = of_text::<CorpusPassage>(
            "{\"id\": 7, \"title\": \"Teutberga\", \"text\": \"A queen , died 875 .\", \"src\": \"2wiki\"}",
        );
        assert_eq!(rows.rows[0].0, Passage::new("7", "Teutberga", "A queen, died 875."));
    }
}
