//! The pool of questions with answer spans.

use std::ops::Range;

use serde::Deserialize;

use crate::detokenise::{Hyphens, Prose, prose};
use crate::read::{Row, required};

/// A question with a paragraph and the spans that answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanQuestion {
    /// The question.
    pub question: String,
    /// The paragraph, as prose.
    pub context: String,
    /// Where the answers lie in `context`, in bytes, as annotators gave them (different choices of one answer
    /// overlap); none where the paragraph holds no answer.
    pub answers: Vec<Range<usize>>,
    /// The source, such as `squad11_dev`.
    pub source: String,
    /// Its licence.
    pub licence: String,
}

impl SpanQuestion {
    /// The words of the answers.
    pub fn answer_texts(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().filter_map(|s| self.context.get(s.clone()))
    }

    /// Whether the paragraph holds no answer.
    pub fn is_impossible(&self) -> bool {
        self.answers.is_empty()
    }
}

/// A row as it is published.
#[derive(Deserialize)]
pub struct Published {
    context: String,
    question: String,
    answers: Vec<String>,
    answer_starts: Vec<usize>,
    impossible: bool,
    #[serde(default)]
    src: String,
    #[serde(default)]
    licence: String,
}

impl Row for SpanQuestion {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        if row.answers.len() != row.answer_starts.len() {
            return Err(format!("{} answers with {} starts", row.answers.len(), row.answer_starts.len()));
        }
        if row.impossible != row.answers.is_empty() {
            return Err("`impossible` and `answers` do not agree".into());
        }
        // Questions from Natural Questions are cut at hyphens, those of SQuAD are prose.
        let hyphens = if row.src.starts_with("qed") { Hyphens::Cut } else { Hyphens::Kept };
        let context = row.context;
        let moved = Prose::of(&context, hyphens);
        let mut answers = Vec::new();
        for (text, start) in row.answers.iter().zip(&row.answer_starts) {
            let from = context.char_indices().nth(*start).map(|(at, _)| at);
            let range = from
                .map(|from| from..from + text.len())
                .filter(|r| context.get(r.clone()) == Some(text.as_str()))
                .ok_or_else(|| format!("the answer `{text}` does not stand at character {start}"))?;
            answers.extend(moved.locate(&range));
        }
        if answers.len() != row.answers.len() {
            return Err("an answer is lost when the tokens are put together".into());
        }
        answers.sort_by_key(|r| (r.start, r.end));
        answers.dedup();
        Ok(Self {
            question: prose(&required("question", row.question)?),
            context: moved.text,
            answers,
            source: row.src,
            licence: row.licence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn starts_count_characters_and_follow_the_tokens() {
        let rows = of_text::<SpanQuestion>(
            r#"{"context": "Café ( best - seller ) sold over 125 million , he said .", "question": "how many", "answers": ["over 125 million"], "answer_starts": [28], "impossible": false, "src": "qed_nq_train"}
{"context": " Écoles opened in 1913.", "question": "When?", "answers": ["1913", "in 1913"], "answer_starts": [18, 15], "impossible": false, "src": "squad11_dev"}
{"context": "Nothing.", "question": "When?", "answers": [], "answer_starts": [], "impossible": true}
{"context": "It opened.", "question": "When?", "answers": ["1913"], "answer_starts": [3], "impossible": false}
{"context": "It opened.", "question": "When?", "answers": [], "answer_starts": [], "impossible": false}"#,
        );
        assert_eq!(rows.rows[0].context, "Café (best-seller) sold over 125 million, he said.");
        assert_eq!(rows.rows[0].answer_texts().collect::<Vec<_>>(), ["over 125 million"]);
        assert_eq!(rows.rows[1].answer_texts().collect::<Vec<_>>(), ["in 1913", "1913"]);
        assert!(rows.rows[2].is_impossible());
        assert_eq!(rows.bad.len(), 2);
    }
}
