//! Pairs of premise and hypothesis: the training pool and small samples of general sets.

use serde::{Deserialize, Serialize};

use crate::detokenise::prose;
use crate::read::{Row, required};

/// What is known of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NliLabel {
    /// The premise makes the hypothesis true.
    Entailment,
    /// The premise does not settle it.
    Neutral,
    /// The premise makes it false.
    Contradiction,
    /// Not entailed; the source does not tell neutral from contradicted.
    NotEntailment,
}

/// A pair of a pool that gathers several sources.
#[derive(Debug, Clone, PartialEq)]
pub struct NliPair {
    /// What is taken to be true.
    pub premise: String,
    /// What is judged by it.
    pub hypothesis: String,
    /// What is known.
    pub label: NliLabel,
    /// The source, such as `felipe_mnli_dev`.
    pub source: String,
    /// The licence of the source; empty where the file does not say.
    pub licence: String,
}

/// A pair of RTE: entailed or not.
#[derive(Debug, Clone, PartialEq)]
pub struct RtePair(pub NliPair);

/// A row as it is published.
#[derive(Deserialize)]
pub struct Published {
    premise: String,
    hypothesis: String,
    label: String,
    #[serde(default)]
    src: String,
    #[serde(default)]
    licence: String,
}

fn pair(row: Published, label: NliLabel) -> Result<NliPair, String> {
    Ok(NliPair {
        premise: prose(&required("premise", row.premise)?),
        hypothesis: prose(&required("hypothesis", row.hypothesis)?),
        label,
        source: row.src,
        licence: row.licence,
    })
}

impl Row for NliPair {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let label = match row.label.as_str() {
            "entailment" => NliLabel::Entailment,
            "neutral" => NliLabel::Neutral,
            "contradiction" => NliLabel::Contradiction,
            "not_entailment" => NliLabel::NotEntailment,
            other => return Err(format!("`{other}` is no label of a pair")),
        };
        pair(row, label)
    }
}

impl Row for RtePair {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let label = match row.label.as_str() {
            "True" | "entailment" => NliLabel::Entailment,
            "False" | "not_entailment" => NliLabel::NotEntailment,
            other => return Err(format!("`{other}` is no label of RTE")),
        };
        pair(row, label).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn labels_of_two_and_three_ways() {
        let rows = of_text::<NliPair>(
            r#"{"premise": "A dog , running .", "hypothesis": "A dog", "label": "entailment", "src": "snli", "licence": "CC"}
{"premise": "A", "hypothesis": "B", "label": "not_entailment"}
{"premise": "A", "hypothesis": "B", "label": "hidden"}"#,
        );
        assert_eq!(rows.rows[0].premise, "A dog, running.");
        assert_eq!(rows.rows[1].label, NliLabel::NotEntailment);
        assert_eq!(rows.bad.len(), 1);
    }

    #[test]
    fn rte_is_two_way() {
        let rows = of_text::<RtePair>(
            "{\"premise\": \"A\", \"hypothesis\": \"B\", \"label\": \"False\", \"id\": \"t\"}",
        );
        assert_eq!(rows.rows[0].0.label, NliLabel::NotEntailment);
    }
}
