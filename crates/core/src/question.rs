//! A question and the kind of answer it asks for.

use serde::{Deserialize, Serialize};

/// A question as the user put it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Names the question in a batch; empty for a single one.
    #[serde(default)]
    pub id: String,
    /// The words of the question.
    pub text: String,
}

impl Question {
    /// A question without an id.
    pub fn new(text: impl Into<String>) -> Self {
        Self { id: String::new(), text: text.into() }
    }
}

/// What kind of answer a question asks for (CounterRefine, step 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionType {
    /// Yes or no.
    YesNo,
    /// A year.
    Year,
    /// A date or other time that is not just a year.
    When,
    /// A quantity.
    Number,
    /// A place.
    Where,
    /// A person.
    Who,
    /// Another named thing: a title, a band, a school, an award.
    Entity,
    /// Anything else: why, how, an instruction.
    Other,
}

impl QuestionType {
    /// Every type, in the order of the specification's table.
    pub const ALL: [Self; 8] = [
        Self::YesNo,
        Self::Year,
        Self::When,
        Self::Number,
        Self::Where,
        Self::Who,
        Self::Entity,
        Self::Other,
    ];

    /// The name used in JSON and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::YesNo => "yes_no",
            Self::Year => "year",
            Self::When => "when",
            Self::Number => "number",
            Self::Where => "where",
            Self::Who => "who",
            Self::Entity => "entity",
            Self::Other => "other",
        }
    }
}

impl std::fmt::Display for QuestionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
