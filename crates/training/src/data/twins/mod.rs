//! Twins by rule: a sentence with one number, date, name, word or negation changed, so that it says something else.
//!
//! A verifier that goes by shared words cannot tell a twin from its source. Each rule changes one thing and keeps the
//! sentence fluent: the same way of writing numbers, one part of a date, a name of the same kind in a place where
//! only one can be right, a negation where English puts it.

mod name;
mod negation;
mod number;
mod word;

use std::ops::Range;

use counterproof_text::normalise::{contains_phrase, squad};
use counterproof_text::value::{Comparison, compare, values};

pub(crate) use negation::{affirmed, negated};

use crate::random::Random;

/// What a twin differs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum TwinKind {
    /// A number.
    Number,
    /// A date or a part of it.
    Date,
    /// A name: a place, a people, a person.
    Name,
    /// A word for its opposite.
    Word,
    /// A negation more or less.
    Negation,
}

impl TwinKind {
    /// Its name in the source of an example.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::Name => "name",
            Self::Word => "word",
            Self::Negation => "negation",
        }
    }
}

/// A change of one stretch of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// What it changes.
    pub(crate) kind: TwinKind,
    /// Where, in bytes.
    pub(crate) span: Range<usize>,
    /// What stands there then.
    pub(crate) with: String,
}

impl Change {
    /// The text with the change made.
    pub(crate) fn apply(&self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len() + self.with.len());
        out.push_str(text.get(..self.span.start)?);
        out.push_str(&self.with);
        out.push_str(text.get(self.span.end..)?);
        Some(out)
    }
}

/// Names that a name may be changed for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Full names of persons.
    pub(crate) persons: Vec<String>,
}

/// Every change to `text` after which it contradicts a text that makes it true. `other` is that text: what is changed
/// is said there in the same sense, so that the two conflict.
pub(crate) fn changes(text: &str, other: &str, names: &Names, random: &mut Random) -> Vec<Change> {
    let mut out = Vec::new();
    let theirs = values(other);
    for found in values(text) {
        let span = found.span.start()..found.span.end();
        let stated = theirs.iter().any(|t| compare(&t.value, &found.value) == Comparison::Same);
        if !stated || number::is_part_of_name(text, &span) {
            continue;
        }
        let Some(written) = text.get(span.clone()) else { continue };
        let Some((kind, with)) = number::changed(&found.value, written, random) else { continue };
        if kind == TwinKind::Number && number::is_aside_or_title(text, &span) {
            continue;
        }
        // The other text may state the new value as well (a range, a list), and then nothing conflicts.
        let new = values(&with);
        let conflicts =
            new.iter().all(|n| theirs.iter().all(|t| compare(&t.value, &n.value) != Comparison::Same));
        if conflicts && with != written {
            out.push(Change { kind, span, with });
        }
    }
    let other_normal = squad(other);
    for (span, candidates) in name::places_of_change(text, names) {
        let Some(written) = text.get(span.clone()) else { continue };
        if !contains_phrase(&other_normal, &squad(written)) {
            continue;
        }
        let free: Vec<&&str> =
            candidates.iter().filter(|c| !contains_phrase(&other_normal, &squad(c))).collect();
        if let Some(with) = super::pick(random, &free) {
            out.extend(name::change(text, span, with));
        }
    }
    for (span, with) in word::changes(text) {
        if !contains_phrase(&other_normal, &squad(&with)) && word::stands_alike(text, &span, other) {
            out.push(Change { kind: TwinKind::Word, span, with });
        }
    }
    out
}

/// A text changed so that it is at odds with `other`, which says what stands there now. `None` when what was changed is
/// said once more in the text, in other words or inside another value.
pub(crate) fn contradicting(change: &Change, text: &str, other: &str) -> Option<String> {
    let written = text.get(change.span.clone())?;
    let changed = apply_everywhere(change, text)?;
    match change.kind {
        TwinKind::Number | TwinKind::Date => {
            let times = text.matches(written).count();
            let year = written.len() == 4 && written.bytes().all(|b| b.is_ascii_digit());
            let claimed = values(other);
            let old = values(written);
            let still = values(&changed)
                .iter()
                .any(|v| old.iter().any(|o| compare(&o.value, &v.value) == Comparison::Same));
            let at_odds =
                claimed.iter().any(|c| old.iter().any(|o| compare(&o.value, &c.value) == Comparison::Same));
            ((times == 1 || year) && !still && at_odds).then_some(changed)
        }
        _ => (!contains_phrase(&squad(&changed), &squad(written))).then_some(changed),
    }
}

/// The change made in the text and, everywhere else in it, to what is written the same.
pub(crate) fn apply_everywhere(change: &Change, text: &str) -> Option<String> {
    let written = text.get(change.span.clone())?;
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let inner = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    for (found, piece) in text.match_indices(written) {
        let end = found + piece.len();
        let before = text.get(..found).and_then(|t| t.chars().next_back());
        let after = text.get(end..).and_then(|t| t.chars().next());
        if found < at || inner(before) || inner(after) {
            continue;
        }
        out.push_str(text.get(at..found)?);
        out.push_str(&change.with);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, other: &str) -> Vec<(TwinKind, String)> {
        let names = Names { persons: vec!["Tom Jones".into(), "Eve Black".into()] };
        let made = changes(text, other, &names, &mut Random::new(1));
        made.iter().map(|c| (c.kind, c.apply(text).unwrap())).collect()
    }

    #[test]
    fn only_what_the_other_text_states_is_changed() {
        let text = "The film was released in 1994 and sold 1,200 copies.";
        let made = all(text, "It was released on 3 May 1994, and 1,200 copies of the film were sold.");
        let kinds: Vec<TwinKind> = made.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [TwinKind::Number], "{made:?}");
        assert!(all(text, "It was a great success.").is_empty());
    }

    #[test]
    fn a_new_value_that_the_other_text_also_states_is_no_conflict() {
        for seed in 0..200 {
            let text = "It opened in 1990.";
            let other = "It opened in 1990 and closed in 1991, 1992, 1993, 1989, 1988 and 1987.";
            for change in changes(text, other, &Names::default(), &mut Random::new(seed)) {
                assert!(!other.contains(&change.with), "{change:?}");
            }
        }
    }

    #[test]
    fn names_are_changed_where_only_one_is_right() {
        let made = all("It was directed by Anna Smith.", "Anna Smith directed it in 1990.");
        assert_eq!(made.len(), 1);
        assert!(made[0].1 == "It was directed by Tom Jones." || made[0].1 == "It was directed by Eve Black.");
        assert!(all("Anna Smith danced.", "Anna Smith danced.").is_empty());
    }

    #[test]
    fn a_change_is_made_everywhere() {
        let change = Change { kind: TwinKind::Name, span: 0..4, with: "Oslo".into() };
        assert_eq!(
            apply_everywhere(&change, "Rome, not Romeo, but Rome's Rome").unwrap(),
            "Oslo, not Romeo, but Oslo's Oslo"
        );
    }
}
