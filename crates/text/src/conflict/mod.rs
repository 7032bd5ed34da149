//! Where evidence and a statement are at odds, and how far they go together, read off their words.
//!
//! A neural verifier is a detector of topic first: a wrong year in the right sentence hardly moves it. Rules see just
//! that. They compare numbers and dates by value, names by their place in the sentence, negations and opposites; for
//! the statement of an answer (see [`statement`](crate::statement)) they look how near the answer stands to the
//! question's words, and whether something else of the asked kind stands nearer. What they find can be cited, and
//! [`Comparison::features`] are numbers for a model on top.
//!
//! ```
//! use counterproof_text::conflict::{compare, ConflictKind};
//!
//! let found = compare("The bridge was opened in 1932.", "The bridge was opened in 1923.");
//! assert_eq!(found.conflicts[0].kind, ConflictKind::Date);
//! assert_eq!((found.conflicts[0].stated.as_str(), found.conflicts[0].claimed.as_str()), ("1932", "1923"));
//! ```

mod features;
mod names;
mod polarity;
mod question;
mod reading;
mod values;

use counterproof_core::ByteSpan;
use serde::{Deserialize, Serialize};

pub use features::{FEATURES, Features};

use crate::statement::parts;
use reading::Reading;

/// What a conflict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// A number with or without a unit.
    Number,
    /// A date or a part of it.
    Date,
    /// A name where the evidence has another one.
    Name,
    /// One side denies what the other says.
    Negation,
    /// A word where the evidence has its opposite.
    Opposite,
    /// Another answer of the asked kind stands where the question's words are.
    Answer,
}

/// A place where evidence and statement cannot both be right, as far as rules can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// What it is about.
    pub kind: ConflictKind,
    /// Where the evidence says it.
    pub evidence: ByteSpan,
    /// What the evidence says, in its words.
    pub stated: String,
    /// Where the statement says it.
    pub statement: ByteSpan,
    /// What the statement says, in its words.
    pub claimed: String,
}

/// How evidence and a statement compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Conflicts, by their place in the statement.
    pub conflicts: Vec<Conflict>,
    /// Numbers for a model; see [`FEATURES`] for what each one is.
    pub features: Features,
}

/// The text of evidence beyond this many bytes is not compared: the caller windows long evidence.
const LONGEST: usize = 32 << 10;

/// Compares `evidence` with `statement`. Blank texts share nothing and are at odds over nothing.
pub fn compare(evidence: &str, statement: &str) -> Comparison {
    let evidence = head(evidence);
    let statement = head(statement);
    let theirs = Reading::new(evidence);
    let ours = Reading::new(statement);
    let aligned = theirs.align(&ours);
    let mut conflicts = Vec::new();
    let by_value = values::compare(&theirs, &ours, &aligned, &mut conflicts);
    let by_name = names::compare(&theirs, &ours, &aligned, &mut conflicts);
    let polarity = polarity::compare(&theirs, &ours, &aligned, &mut conflicts);
    let answered = parts(statement).map(|p| question::compare(&theirs, &p, statement, &mut conflicts));
    conflicts.sort_by_key(|c: &Conflict| (c.statement, c.kind));
    let features = features::of(&theirs, &ours, &aligned, &by_value, &by_name, &polarity, answered.as_ref());
    Comparison { conflicts, features }
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

impl Conflict {
    /// A conflict between two stretches, when both are slices of their texts.
    fn between(kind: ConflictKind, evidence: (&str, ByteSpan), statement: (&str, ByteSpan)) -> Option<Self> {
        let words = |(text, span): (&str, ByteSpan)| span.slice(text).map(str::to_owned);
        Some(Self {
            kind,
            stated: words(evidence)?,
            claimed: words(statement)?,
            evidence: evidence.1,
            statement: statement.1,
        })
    }
}

#[cfg(test)]
mod tests;
