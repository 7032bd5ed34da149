//! Candidate answers in a passage: the spans of the kind that a question asks for.
//!
//! They become the alternatives that a gate chooses between, so clean bounds matter more than catching everything: a
//! span is the whole name, date or quantity, without the words around it.

mod chinese;
mod names;

use std::collections::HashSet;

use counterproof_core::{ByteSpan, QuestionType};
use serde::{Deserialize, Serialize};

use crate::han::{has_han, is_kana};
use crate::scan::{Lexeme, lex};
use crate::value::{self, Unit, Value};

/// What kind of thing a mention is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MentionKind {
    /// A year.
    Year,
    /// A date or other time.
    Date,
    /// A number with its unit or the thing it counts.
    Number,
    /// A name that reads as a person's.
    Person,
    /// A name that reads as a place's.
    Place,
    /// Any other name.
    Name,
    /// A quoted or bracketed title.
    Title,
}

/// A candidate answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// Where it stands in the text.
    pub span: ByteSpan,
    /// Its words.
    pub text: String,
    /// What it is.
    pub kind: MentionKind,
}

/// The spans of `text` that could answer a question of the type `wanted`, in order. The same words are given once,
/// where they first stand. Yes/no questions and those of no particular type have none.
pub fn mentions(text: &str, wanted: QuestionType) -> Vec<Mention> {
    let found = match wanted {
        QuestionType::YesNo | QuestionType::Other => return Vec::new(),
        QuestionType::Year => {
            value::years(text).into_iter().map(|(_, span)| (span, MentionKind::Year)).collect()
        }
        QuestionType::When => dates(text),
        QuestionType::Number => numbers(text),
        QuestionType::Who | QuestionType::Where | QuestionType::Entity => {
            let mut found = names::find(text, wanted);
            if has_han(text) && !text.chars().any(is_kana) {
                found.extend(chinese::find(text, wanted));
            }
            found
        }
    };
    distinct(text, found)
}

/// The answer of the kind `wanted` within the words that a reader read, which may carry a description along: "fifth
/// Mughal emperor, Shah Jahan" answers who with "Shah Jahan", "1994 to 1999" in what year with "1994". `None` where the
/// words are of another kind, as "English" is for who.
pub fn narrowed(words: &str, wanted: QuestionType) -> Option<&str> {
    let found = mentions(words, wanted);
    let text = |mention: &Mention| mention.span.slice(words);
    match (wanted, found.as_slice()) {
        (QuestionType::YesNo | QuestionType::Other, _) => Some(words),
        // "Orville and Wilbur Wright": the first of them is half a name.
        (QuestionType::Who, [only]) if is_joined(words.get(..only.span.start()).unwrap_or_default()) => {
            Some(words)
        }
        (_, [only]) => text(only),
        (QuestionType::Year, [first, ..]) => text(first),
        (QuestionType::Year | QuestionType::When | QuestionType::Number, []) => None,
        (QuestionType::Who | QuestionType::Where, []) if names::are_peoples(words) => None,
        (QuestionType::Who, [.., last]) if described(words, last.span) || titled(words, last.span) => {
            text(last)
        }
        _ => Some(words),
    }
}

/// Whether what stands before a name joins another one to it.
fn is_joined(before: &str) -> bool {
    let before = before.trim_end();
    before.starts_with(char::is_uppercase) && (before.ends_with(" and") || before.ends_with('&'))
}

/// Whether the words are a name after a comma, and a description that starts with a small letter before it.
fn described(words: &str, name: ByteSpan) -> bool {
    let ends = words.get(name.end()..).is_some_and(|rest| rest.trim().is_empty());
    let before = words.get(..name.start()).unwrap_or_default().trim_end();
    let descriptive = before.trim_start_matches("the ").starts_with(char::is_lowercase);
    ends && descriptive && before.matches(',').count() == 1 && before.ends_with(',')
}

/// Whether the words are a name after what it is, in small letters and without an article: "American rock band Boys Like Girls".
fn titled(words: &str, name: ByteSpan) -> bool {
    // Words that stand within names, so that what follows is a part of one: "Friends of the Earth".
    const INNER: [&str; 28] = [
        "of",
        "the",
        "and",
        "or",
        "de",
        "la",
        "le",
        "du",
        "del",
        "der",
        "den",
        "von",
        "van",
        "da",
        "di",
        "in",
        "for",
        "to",
        "by",
        "with",
        "y",
        "e",
        "et",
        "und",
        "vs",
        "feat",
        "featuring",
        "aka",
    ];
    let ends = words.get(name.end()..).is_some_and(|rest| !rest.chars().any(char::is_alphanumeric));
    let before = words.get(..name.start()).unwrap_or_default();
    let last = before.split_whitespace().next_back().unwrap_or_default();
    ends && last.chars().all(char::is_lowercase) && !last.is_empty() && !INNER.contains(&last)
}

/// Orders the spans and keeps each wording once.
fn distinct(text: &str, mut found: Vec<(ByteSpan, MentionKind)>) -> Vec<Mention> {
    found.sort_by_key(|(span, _)| (span.start(), std::cmp::Reverse(span.end())));
    let mut seen = HashSet::new();
    found
        .into_iter()
        .filter_map(|(span, kind)| {
            let words = span.slice(text)?;
            seen.insert(words.to_lowercase()).then(|| Mention { span, text: words.to_owned(), kind })
        })
        .collect()
}

/// Dates, each as long as it is written; a range also gives its two ends.
fn dates(text: &str) -> Vec<(ByteSpan, MentionKind)> {
    let lexemes = lex(text);
    let mut out = Vec::new();
    for found in value::values(text) {
        match &found.value {
            Value::Date(_) => out.push(found.span),
            Value::Range(range) if matches!(range.low, Value::Date(_)) => {
                out.push(found.span);
                out.extend(range_ends(text, &lexemes, found.span));
            }
            _ => {}
        }
    }
    out.into_iter().map(|span| (span, MentionKind::Date)).collect()
}

/// The dates on the two sides of the dash or "to" within a range.
fn range_ends(text: &str, lexemes: &[Lexeme], span: ByteSpan) -> Vec<ByteSpan> {
    let from = lexemes.partition_point(|l| l.start < span.start());
    let to = lexemes.partition_point(|l| l.start < span.end());
    let inside = lexemes.get(from..to).unwrap_or_default();
    for joint in inside
        .iter()
        .filter(|l| l.is_dash() || matches!(l.text.as_str(), "to" | "and" | "until" | "till" | "through"))
    {
        let side = |start: usize, end: usize| {
            let piece = text.get(start..end).unwrap_or_default();
            let date = value::values(piece).into_iter().find(|f| matches!(f.value, Value::Date(_)))?;
            ByteSpan::new(start + date.span.start(), start + date.span.end())
        };
        if let (Some(low), Some(high)) = (side(span.start(), joint.start), side(joint.end, span.end())) {
            return vec![low, high];
        }
    }
    let first = value::years(span.slice(text).unwrap_or_default()).into_iter().next();
    first
        .and_then(|(_, s)| ByteSpan::new(span.start() + s.start(), span.start() + s.end()))
        .into_iter()
        .collect()
}

/// Numbers with and without what they count.
fn numbers(text: &str) -> Vec<(ByteSpan, MentionKind)> {
    let lexemes = lex(text);
    let mut out = Vec::new();
    for found in value::values(text) {
        let counts = match &found.value {
            Value::Date(date) => {
                date.is_year_only() && date.years.is_some_and(|y| y.is_single() && y.first > 0)
            }
            Value::Range(range) => !matches!(range.low, Value::Date(_)),
            _ => true,
        };
        if !counts {
            continue;
        }
        out.push((found.span, MentionKind::Number));
        if let Value::Quantity(_) = found.value
            && let Some(bare) = bare_number(text, &lexemes, found.span)
        {
            out.push((bare, MentionKind::Number));
        }
    }
    out
}

/// The number of a quantity without its unit or currency sign: both forms answer "how many".
fn bare_number(text: &str, lexemes: &[Lexeme], span: ByteSpan) -> Option<ByteSpan> {
    let from = lexemes.partition_point(|l| l.start < span.start());
    let to = lexemes.partition_point(|l| l.start < span.end());
    let inside = lexemes.get(from..to)?;
    let is_unit =
        |start: usize, end: usize| text.get(start..end).is_some_and(|form| Unit::named(form).is_some());
    for split in 1..inside.len() {
        let (before, after) = (inside.get(split - 1)?, inside.get(split)?);
        if is_unit(after.start, span.end()) {
            let number = if before.is("-") { inside.get(split.checked_sub(2)?)? } else { before };
            return ByteSpan::new(span.start(), number.end);
        }
        if is_unit(span.start(), before.end) {
            return ByteSpan::new(after.start, span.end());
        }
    }
    None
}

#[cfg(test)]
mod tests;
