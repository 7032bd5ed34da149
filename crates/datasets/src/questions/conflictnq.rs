//! ConflictNQ: questions of Natural Questions with a real passage and several made up to say something else.

use serde::Deserialize;
use serde_json::Value;

use crate::detokenise::{Hyphens, Prose, prose};
use crate::read::{Row, id_text, required};

/// A question with real and false passages.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictNqQuestion {
    /// Its number.
    pub id: String,
    /// The question as people typed it.
    pub question: String,
    /// The question as a sentence.
    pub cleaned_question: String,
    /// The right answer, a phrase or a sentence.
    pub answer: String,
    /// Passages that give it.
    pub passages: Vec<String>,
    /// The false answer.
    pub fake_answer: String,
    /// Passages that give that.
    pub fake_passages: Vec<String>,
}

#[derive(Deserialize)]
struct Passage {
    passage: String,
}

#[derive(Deserialize)]
pub struct Published {
    id: Value,
    question: String,
    cleaned_question: String,
    real_short_answer: String,
    real_passages: Vec<Passage>,
    fake_short_answer: String,
    fake_passages: Vec<Passage>,
}

impl Row for ConflictNqQuestion {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let texts = |passages: Vec<Passage>| -> Vec<String> {
            passages
                .into_iter()
                .map(|p| Prose::of(&p.passage, Hyphens::Cut).text)
                .filter(|t| !t.is_empty())
                .collect()
        };
        Ok(Self {
            id: id_text(&row.id),
            question: required("question", row.question)?,
            cleaned_question: required("cleaned_question", row.cleaned_question)?,
            answer: prose(&required("real_short_answer", row.real_short_answer)?),
            passages: texts(row.real_passages),
            fake_answer: prose(&required("fake_short_answer", row.fake_short_answer)?),
            fake_passages: texts(row.fake_passages),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn real_and_false_passages() {
        let rows = of_text::<ConflictNqQuestion>(
            r#"{"id": "5", "question": "when was it made", "cleaned_question": "When was it made?", "real_answer": "x", "real_short_answer": "August 8, 2014", "real_passages": [{"passage": "It was made on August 8 , 2014 , a spin - off .", "summary": "s"}], "fake_answer": "y", "fake_short_answer": "1993", "fake_passages": [{"passage": "In 1993 it was made.", "summary": "s"}]}"#,
        );
        assert_eq!(rows.rows[0].passages, ["It was made on August 8, 2014, a spin-off."]);
        assert_eq!(rows.rows[0].fake_answer, "1993");
    }
}
