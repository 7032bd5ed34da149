//! RAMDocs (Wang et al., 2025): ambiguous questions over documents some of which are false and some of which are noise.

use serde::Deserialize;

use crate::detokenise::prose;
use crate::read::{Row, required};

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// Supports one of the right answers.
    Correct,
    /// Was changed to support a wrong one.
    Misinfo,
    /// Supports none.
    Noise,
}

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub struct RamDocsDocument {
    /// Its words.
    pub text: String,
    /// What it is.
    pub kind: DocumentKind,
    /// The answer it supports; none for noise.
    pub answer: Option<String>,
}

/// A question over several documents.
#[derive(Debug, Clone, PartialEq)]
pub struct RamDocsQuestion {
    /// The question.
    pub question: String,
    /// The documents.
    pub documents: Vec<RamDocsDocument>,
    /// Answers all of which are right, each for another thing of the name.
    pub gold_answers: Vec<String>,
    /// Answers that the false documents support.
    pub wrong_answers: Vec<String>,
    /// The things of the name.
    pub entities: Vec<String>,
    /// What a language model replied to the question and its documents, in files of recorded replies.
    pub llm_answer: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    text: String,
    #[serde(rename = "type")]
    kind: String,
    answer: String,
}

#[derive(Deserialize)]
pub struct Published {
    question: String,
    documents: Vec<Document>,
    #[serde(default)]
    disambig_entity: Vec<String>,
    gold_answers: Vec<String>,
    #[serde(default)]
    wrong_answers: Vec<String>,
    llm_answer: Option<String>,
}

impl Row for RamDocsQuestion {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let document = |d: Document| {
            let kind = match d.kind.as_str() {
                "correct" => DocumentKind::Correct,
                "misinfo" => DocumentKind::Misinfo,
                "noise" => DocumentKind::Noise,
                other => return Err(format!("`{other}` is no type of document")),
            };
            let answer = (kind != DocumentKind::Noise).then_some(d.answer).filter(|a| !a.trim().is_empty());
            Ok(RamDocsDocument { text: prose(&d.text.replace('\u{feff}', "")), kind, answer })
        };
        if row.gold_answers.is_empty() {
            return Err("`gold_answers` is empty".into());
        }
        Ok(Self {
            question: required("question", row.question)?,
            documents: row.documents.into_iter().map(document).collect::<Result<_, String>>()?,
            gold_answers: row.gold_answers,
            wrong_answers: row.wrong_answers,
            entities: row.disambig_entity,
            llm_answer: row.llm_answer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn documents_by_kind() {
        let rows = of_text::<RamDocsQuestion>(
            r#"{"question": "What is the population?", "documents": [{"text": "There were 3,559 people ( 2010 ) .", "type": "correct", "answer": "3,559"}, {"text": "It is 10,000.", "type": "misinfo", "answer": "10,000"}, {"text": "Menu", "type": "noise", "answer": "unknown"}], "disambig_entity": ["Broken Bow"], "gold_answers": ["3,559"], "wrong_answers": ["10,000"]}
{"question": "Q?", "documents": [{"text": "t", "type": "odd", "answer": "a"}], "gold_answers": ["a"]}"#,
        );
        let row = &rows.rows[0];
        assert_eq!(row.documents[0].text, "There were 3,559 people (2010).");
        assert_eq!(row.documents[1].answer.as_deref(), Some("10,000"));
        assert_eq!(row.documents[2].answer, None);
        assert_eq!(row.llm_answer, None);
        assert_eq!(rows.bad[0].problem, "`odd` is no type of document");
    }

    #[test]
    fn a_recorded_reply_is_read_with_its_row() {
        let rows = of_text::<RamDocsQuestion>(
            r#"{"question": "Q?", "documents": [], "disambig_entity": ["A"], "gold_answers": ["3,559"], "wrong_answers": [], "llm_answer": "It is 3,559."}"#,
        );
        assert_eq!(rows.rows[0].llm_answer.as_deref(), Some("It is 3,559."));
    }
}
