//! QAMPARI (Amouyal et al., 2022): questions with many answers, each under all its names. The file holds no passages.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::detokenise::prose;
use crate::read::{Row, id_text, required};

/// How a question was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QampariKind {
    /// One relation of Wikidata.
    WikidataSimple,
    /// Two relations of Wikidata, one after the other.
    WikidataComposition,
    /// Two relations of Wikidata that both hold.
    WikidataIntersection,
    /// One column of a table of Wikipedia.
    WikitablesSimple,
    /// A column of a table of Wikipedia and a relation after it.
    WikitablesComposition,
}

impl QampariKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::WikidataSimple,
        Self::WikidataComposition,
        Self::WikidataIntersection,
        Self::WikitablesSimple,
        Self::WikitablesComposition,
    ];

    /// As it stands in an id.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WikidataSimple => "wikidata_simple",
            Self::WikidataComposition => "wikidata_comp",
            Self::WikidataIntersection => "wikidata_intersection",
            Self::WikitablesSimple => "wikitables_simple",
            Self::WikitablesComposition => "wikitables_composition",
        }
    }

    /// The kind that an id such as `799__wikidata_simple__dev` names.
    fn of_id(id: &str) -> Result<Self, String> {
        let named =
            id.split("__").nth(1).ok_or_else(|| format!("the id `{id}` names no kind of question"))?;
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == named)
            .ok_or_else(|| format!("`{named}` is no kind of question"))
    }
}

impl fmt::Display for QampariKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A question with all its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct QampariQuestion {
    /// Its id, such as `799__wikidata_simple__dev`.
    pub id: String,
    /// The question.
    pub question: String,
    /// The answers as they are published, each as its names, the chief name first.
    ///
    /// An answer that was reached in two ways stands here twice, and one answer of the dev set has the empty name: the
    /// published count is what official recall divides by. See [`Self::distinct_answers`].
    pub answers: Vec<Vec<String>>,
    /// How it was made.
    pub kind: QampariKind,
}

impl QampariQuestion {
    /// The answers without repeats: those of one chief name are one, with the names of all of them; empty names are
    /// left out. Recall over these can reach 1, which over [`Self::answers`] it cannot where one is repeated.
    pub fn distinct_answers(&self) -> Vec<Vec<&str>> {
        let mut distinct: Vec<Vec<&str>> = Vec::new();
        for names in &self.answers {
            let mut names = names.iter().map(String::as_str).filter(|n| !n.is_empty()).peekable();
            let Some(chief) = names.peek().copied() else { continue };
            match distinct.iter_mut().find(|known| known.first() == Some(&chief)) {
                Some(known) => names.for_each(|n| {
                    if !known.contains(&n) {
                        known.push(n);
                    }
                }),
                None => distinct.push(names.collect()),
            }
        }
        distinct
    }
}

#[derive(Deserialize)]
pub struct Published {
    id: Value,
    question: String,
    answers: Vec<Vec<String>>,
}

impl Row for QampariQuestion {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let id = id_text(&row.id);
        let kind = QampariKind::of_id(&id)?;
        if row.answers.is_empty() {
            return Err("`answers` is empty".into());
        }
        let names = |names: Vec<String>| names.iter().map(|n| n.trim().to_owned()).collect();
        Ok(Self {
            id,
            question: prose(&required("question", row.question)?),
            answers: row.answers.into_iter().map(names).collect(),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    const ROWS: &str = r#"[
{"id": "799__wikidata_simple__dev", "question": "What are some diamonds ?", "answers": [["Akbar Shah", "Akbar"], ["Heat "]], "answer": "Akbar Shah, Heat."},
{"id": "1__wikidata_comp__dev", "question": "Q?", "answers": [["B", "Bee"], ["A"], ["B", "Be"], [""]], "answer": ""},
{"id": "2__wikidata_intersection__dev", "question": "Q?", "answers": [["A"]]},
{"id": "3__wikitables_simple__dev", "question": "Q?", "answers": [["A"]]},
{"id": "4__wikitables_composition__dev", "question": "Q?", "answers": [["A"]]},
{"id": "5__freebase__dev", "question": "Q?", "answers": [["A"]]},
{"id": "6", "question": "Q?", "answers": [["A"]]},
{"id": "7__wikidata_comp__dev", "question": "Q?", "answers": []}]"#;

    #[test]
    fn the_id_names_the_kind() {
        let rows = of_text::<QampariQuestion>(ROWS);
        let kinds: Vec<QampariKind> = rows.rows.iter().map(|r| r.kind).collect();
        assert_eq!(kinds, QampariKind::ALL);
        assert_eq!(rows.rows[0].question, "What are some diamonds?");
        assert_eq!(rows.rows[0].answers, [vec!["Akbar Shah", "Akbar"], vec!["Heat"]]);
    }

    #[test]
    fn an_unknown_kind_is_a_bad_row_that_is_named() {
        let rows = of_text::<QampariQuestion>(ROWS);
        let problems: Vec<&str> = rows.bad.iter().map(|b| b.problem.as_str()).collect();
        assert_eq!(
            problems,
            [
                "`freebase` is no kind of question",
                "the id `6` names no kind of question",
                "`answers` is empty"
            ]
        );
    }

    #[test]
    fn repeated_answers_are_kept_and_can_be_put_together() {
        let row = &of_text::<QampariQuestion>(ROWS).rows[1];
        assert_eq!(row.answers.len(), 4);
        assert_eq!(row.distinct_answers(), [vec!["B", "Bee", "Be"], vec!["A"]]);
    }
}
