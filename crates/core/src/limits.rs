//! The bound on every input. Whoever meets one is told which.

use serde::{Deserialize, Serialize};

use crate::{Result, UserError};

/// Upper bounds on what one request may hold. Sizes are in bytes of UTF-8 unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// A question or a claim.
    pub max_question_bytes: usize,
    /// A draft answer.
    pub max_draft_bytes: usize,
    /// The text of one passage that is given or retrieved.
    pub max_passage_bytes: usize,
    /// How many passages a request may bring along.
    pub max_passages: usize,
    /// How many hits a search may ask for.
    pub max_k: usize,
    /// One line (row) of an input file.
    pub max_row_bytes: usize,
    /// Calls to models and engines under way at the same time.
    pub max_concurrent_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_question_bytes: 16 << 10,
            max_draft_bytes: 64 << 10,
            max_passage_bytes: 1 << 20,
            max_passages: 100_000,
            max_k: 10_000,
            max_row_bytes: 64 << 20,
            max_concurrent_calls: 16,
        }
    }
}

impl Limits {
    /// Checks a question: not blank, and within its bound.
    ///
    /// # Errors
    /// A user's error that names what is wrong.
    pub fn check_question(&self, text: &str) -> Result<()> {
        self.check_asked("question", text)
    }

    /// Checks a claim, as [`check_question`](Self::check_question).
    ///
    /// # Errors
    /// A user's error that names what is wrong.
    pub fn check_claim(&self, text: &str) -> Result<()> {
        self.check_asked("claim", text)
    }

    fn check_asked(&self, what: &'static str, text: &str) -> Result<()> {
        if text.trim().is_empty() {
            return Err(UserError::Empty { what }.into());
        }
        within("max_question_bytes", what, text.len(), self.max_question_bytes)
    }

    /// Checks a draft answer. An empty draft is allowed: it counts as an abstention.
    ///
    /// # Errors
    /// A user's error that names the limit.
    pub fn check_draft(&self, text: &str) -> Result<()> {
        within("max_draft_bytes", "draft", text.len(), self.max_draft_bytes)
    }

    /// Checks the text of a passage.
    ///
    /// # Errors
    /// A user's error that names the limit.
    pub fn check_passage(&self, text: &str) -> Result<()> {
        within("max_passage_bytes", "passage", text.len(), self.max_passage_bytes)
    }

    /// Checks how many hits are asked for.
    ///
    /// # Errors
    /// A user's error that names the limit.
    pub fn check_k(&self, k: usize) -> Result<()> {
        within("max_k", "number of hits", k, self.max_k)
    }
}

fn within(limit: &'static str, what: &'static str, size: usize, max: usize) -> Result<()> {
    if size > max { Err(UserError::TooLarge { what, limit, size, max }.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_limit_it_met() {
        let limits = Limits { max_question_bytes: 5, ..Limits::default() };
        let error = limits.check_question("too long").unwrap_err();
        assert_eq!(error.code(), "too_large");
        assert!(error.to_string().contains("max_question_bytes"), "{error}");
        assert_eq!(limits.check_question(" \n").unwrap_err().code(), "empty_input");
        assert!(limits.check_draft("").is_ok());
    }
}
