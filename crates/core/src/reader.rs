//! The seam to extractive reading.

use std::collections::HashMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{ByteSpan, Result, Score};

/// Words of a passage that may answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AnswerSpan {
    /// Where they lie in the passage's text.
    pub span: ByteSpan,
    /// How well they answer, comparable with the other spans and with `no_answer` of the same [`Reading`].
    pub score: Score,
}

/// What a reader found in one passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Answers, best first; empty when the passage holds none.
    pub spans: Vec<AnswerSpan>,
    /// The score of "this passage does not answer the question".
    pub no_answer: Score,
}

impl Reading {
    /// By how much a span of this reading is preferred to "this passage does not answer the question".
    pub fn margin(&self, span: &AnswerSpan) -> Score {
        Score::new(span.score.get() - self.no_answer.get())
    }
}

/// Finds the words of a passage that answer a question.
///
/// Contract: one [`Reading`] a passage, in the order given; spans lie in the text on character bounds.
#[async_trait]
pub trait SpanReader: Send + Sync {
    /// Names the model and its weights, for traces and cache keys.
    fn identity(&self) -> &str;

    /// Reads each of `passages` for an answer to `question`.
    async fn read(&self, question: &str, passages: &[&str]) -> Result<Vec<Reading>>;
}

/// A reader that finds the words it was told to find, wherever a passage holds them. For tests.
#[derive(Debug, Clone, Default)]
pub struct ScriptedReader {
    answers: HashMap<String, Vec<String>>,
}

impl ScriptedReader {
    /// Makes the reader look for `answer` whenever it is asked `question`.
    #[must_use]
    pub fn answering(mut self, question: impl Into<String>, answer: impl Into<String>) -> Self {
        self.answers.entry(question.into()).or_default().push(answer.into());
        self
    }
}

#[async_trait]
impl SpanReader for ScriptedReader {
    fn identity(&self) -> &str {
        "scripted"
    }

    async fn read(&self, question: &str, passages: &[&str]) -> Result<Vec<Reading>> {
        let answers = self.answers.get(question).map(Vec::as_slice).unwrap_or_default();
        Ok(passages
            .iter()
            .map(|text| {
                let spans = answers
                    .iter()
                    .filter_map(|a| text.find(a.as_str()).and_then(|at| ByteSpan::new(at, at + a.len())))
                    .map(|span| AnswerSpan { span, score: Score::new(1.0) })
                    .collect();
                Reading { spans, no_answer: Score::new(0.0) }
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_twin_finds_what_it_was_told_to_find() {
        let reader = ScriptedReader::default().answering("when?", "1913");
        let read = reader.read("when?", &["It opened in 1913.", "It never opened."]).await.unwrap();
        assert_eq!(read[0].spans[0].span.slice("It opened in 1913."), Some("1913"));
        assert!(read[1].spans.is_empty());
    }
}
