//! MultiSpanQA (Li et al., 2022): questions whose answer is several spans of one passage, tokens with BIO labels.

use std::ops::Range;

use serde::Deserialize;

use crate::detokenise::{Hyphens, Prose, prose};
use crate::read::Row;

/// A question with a passage and the spans that answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiSpanQuestion {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The passage, as prose.
    pub context: String,
    /// Where the answers lie in `context`, in bytes, in order.
    pub spans: Vec<Range<usize>>,
}

impl MultiSpanQuestion {
    /// The words of the answers.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().filter_map(|s| self.context.get(s.clone()))
    }
}

#[derive(Deserialize)]
pub struct Published {
    id: String,
    question: Vec<String>,
    context: Vec<String>,
    label: Vec<String>,
}

impl Row for MultiSpanQuestion {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        if row.label.len() != row.context.len() {
            return Err(format!("{} labels for {} tokens", row.label.len(), row.context.len()));
        }
        let joined = row.context.join(" ");
        let prose_of = Prose::of(&joined, Hyphens::Cut);
        let mut spans: Vec<Range<usize>> = Vec::new();
        let (mut at, mut inside) = (0, false);
        for (token, label) in row.context.iter().zip(&row.label) {
            let end = at + token.len();
            match (label.as_str(), inside) {
                ("B", _) | ("I", false) => {
                    spans.push(at..end);
                    inside = true;
                }
                ("I", true) => {
                    if let Some(open) = spans.last_mut() {
                        open.end = end;
                    }
                }
                ("O", _) => inside = false,
                (other, _) => return Err(format!("`{other}` is no BIO label")),
            }
            at = end + 1;
        }
        let spans: Vec<Range<usize>> = spans.iter().filter_map(|s| prose_of.locate(s)).collect();
        if spans.is_empty() {
            return Err("no token is labelled as an answer".into());
        }
        Ok(Self { id: row.id, question: prose(&row.question.join(" ")), context: prose_of.text, spans })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn labelled_tokens_become_spans_of_prose() {
        let rows = of_text::<MultiSpanQuestion>(
            r##"{"version": 1.0, "data": [{"id": "z", "question": ["who", "sang", "it"], "context": ["By", "Dave", "Stewart", "(", "#", "3", ")", ",", "and", "Gaskin", "."], "label": ["O", "B", "I", "O", "O", "O", "O", "O", "O", "B", "O"]}, {"id": "y", "question": ["q"], "context": ["a", "b"], "label": ["O"]}]}"##,
        );
        let row = &rows.rows[0];
        assert_eq!(row.context, "By Dave Stewart (#3), and Gaskin.");
        assert_eq!(row.answers().collect::<Vec<_>>(), ["Dave Stewart", "Gaskin"]);
        assert_eq!(rows.bad[0].problem, "1 labels for 2 tokens");
    }
}
