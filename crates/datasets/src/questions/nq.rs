//! Natural Questions in its open form (Lee et al., 2019), and its questions with the passage that answers them.

use serde::Deserialize;

use crate::claims::Evidence;
use crate::detokenise::prose;
use crate::read::{Row, required};

/// A question with its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct NqOpenQuestion {
    /// The question, lower-case and without a question mark, as people typed it.
    pub question: String,
    /// Answers any of which is right.
    pub answers: Vec<String>,
}

/// A question with the passage that answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct NqOracleQuestion {
    /// The question.
    pub question: String,
    /// Answers any of which is right.
    pub answers: Vec<String>,
    /// The passage, about a hundred words.
    pub passage: Evidence,
}

#[derive(Deserialize)]
pub struct PublishedOpen {
    question: String,
    answer: Vec<String>,
}

#[derive(Deserialize)]
struct Context {
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
pub struct PublishedOracle {
    question: String,
    answers: Vec<String>,
    ctxs: Vec<Context>,
}

fn answers(field: &str, given: Vec<String>) -> Result<Vec<String>, String> {
    let answers: Vec<String> = given.iter().map(|a| prose(a)).filter(|a| !a.is_empty()).collect();
    if answers.is_empty() { Err(format!("`{field}` holds no answer")) } else { Ok(answers) }
}

impl Row for NqOpenQuestion {
    type Published = PublishedOpen;

    fn from_published(row: PublishedOpen) -> Result<Self, String> {
        Ok(Self { question: required("question", row.question)?, answers: answers("answer", row.answer)? })
    }
}

impl Row for NqOracleQuestion {
    type Published = PublishedOracle;

    fn from_published(row: PublishedOracle) -> Result<Self, String> {
        let context = row.ctxs.into_iter().next().ok_or("`ctxs` is empty")?;
        Ok(Self {
            question: required("question", row.question)?,
            answers: answers("answers", row.answers)?,
            passage: Evidence { title: context.title, text: prose(&required("text", context.text)?) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn open_questions() {
        let rows = of_text::<NqOpenQuestion>(
            "{\"question\": \"who wrote it\", \"answer\": [\"Bobby Scott\", \"\"]}\n{\"question\": \"q\", \"answer\": []}",
        );
        assert_eq!(rows.rows[0].answers, ["Bobby Scott"]);
        assert_eq!(rows.bad.len(), 1);
    }

    #[test]
    fn oracle_passages() {
        let rows = of_text::<NqOracleQuestion>(
            r#"{"question": "who got it", "answers": ["Röntgen"], "ctxs": [{"title": "Nobel", "text": "It was Röntgen.", "hasanswer": true, "isgold": true}], "nq_annotated_gold": {}}
{"question": "who got it", "answers": ["Röntgen"], "ctxs": []}"#,
        );
        assert_eq!(rows.rows[0].passage, Evidence { title: "Nobel".into(), text: "It was Röntgen.".into() });
        assert_eq!(rows.bad[0].problem, "`ctxs` is empty");
    }
}
