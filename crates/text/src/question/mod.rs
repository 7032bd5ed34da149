//! What kind of answer a question asks for (CounterRefine, step 2).

mod chinese;
mod english;

use counterproof_core::QuestionType;

use crate::language::{self, Language};
use crate::normalise::fold_width;

/// How much of a question is read: its head stands at its start or its end, and questions are short.
const LOOKED_AT: usize = 2000;

/// Tells what kind of answer a question asks for. A language model or a trained classifier can stand in for the rules.
pub trait QuestionTyper: Send + Sync {
    /// The type of `question`; a text that is no question is [`QuestionType::Other`].
    fn classify(&self, question: &str) -> QuestionType;
}

/// Types a question by the word that heads it and the noun that follows.
///
/// Only the head clause is read, so that names inside the question ("Doctor Who", "Where the Wild Things Are") decide
/// nothing. Where the question word does not come first ("X was born in which year?", "Name the capital of ..."), the
/// last question word that is not a relative pronoun, or the noun after the instruction, takes its place. Chinese
/// question words count wherever they stand. Other languages are [`QuestionType::Other`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleTyper;

impl QuestionTyper for RuleTyper {
    fn classify(&self, question: &str) -> QuestionType {
        let question = head(question);
        let question = fold_width(question);
        match language::detect(&question) {
            Language::English => english::classify(&question),
            Language::Chinese => chinese::classify(&question),
            Language::Other => QuestionType::Other,
        }
    }
}

/// Whether the question itself asks for an estimate ("approximately how many ..."), so that "about" belongs to the
/// answer.
pub fn asks_estimate(question: &str) -> bool {
    let question = fold_width(head(question)).to_lowercase();
    if crate::han::has_han(&question) {
        return ["大约", "大約", "大概", "估计", "估計", "约", "約"].iter().any(|w| question.contains(w));
    }
    question.split(|c: char| !c.is_alphanumeric()).any(|w| {
        matches!(w, "approximately" | "roughly" | "estimate" | "estimated" | "approximate" | "circa")
    }) || ["about how", "around how", "about what", "around what", "ballpark"]
        .iter()
        .any(|p| question.contains(p))
}

fn head(question: &str) -> &str {
    let end = question.char_indices().nth(LOOKED_AT).map_or(question.len(), |(at, _)| at);
    question.get(..end).unwrap_or(question)
}

#[cfg(test)]
mod tests;
