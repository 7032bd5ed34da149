//! Numbers and dates, by what they say.

use super::reading::{Alignment, Reading};
use super::{Conflict, ConflictKind};
use crate::value::{self, Comparison, Found, Value};

/// What became of one kind of value in the statement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    /// In the statement.
    pub(super) total: usize,
    /// Said by the evidence too, or more exactly by it.
    pub(super) stated: usize,
    /// Not said, and the evidence says another where the statement's words are.
    pub(super) at_odds: usize,
    /// Not said, and nothing else in its place.
    pub(super) missing: usize,
}

/// Numbers and dates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ByValue {
    pub(super) numbers: Tally,
    pub(super) dates: Tally,
}

fn is_date(value: &Value) -> bool {
    match value {
        Value::Date(_) => true,
        Value::Range(range) => matches!(range.low, Value::Date(_)),
        _ => false,
    }
}

pub(super) fn compare(
    evidence: &Reading<'_>,
    statement: &Reading<'_>,
    aligned: &Alignment,
    conflicts: &mut Vec<Conflict>,
) -> ByValue {
    let mut out = ByValue::default();
    for claimed in &statement.values {
        let tally = if is_date(&claimed.value) { &mut out.dates } else { &mut out.numbers };
        tally.total += 1;
        let agrees = |stated: &Found| match value::compare(&stated.value, &claimed.value) {
            Comparison::Same => true,
            // The evidence may say it more exactly; when it says less it does not state it, nor is it at odds.
            Comparison::Compatible | Comparison::Ambiguous => true,
            Comparison::Different | Comparison::Incomparable => false,
        };
        if evidence.values.iter().any(agrees) || written_alike(evidence, statement, claimed) {
            tally.stated += 1;
            continue;
        }
        match rival(evidence, statement, claimed, aligned) {
            Some(stated) => {
                tally.at_odds += 1;
                let kind = if is_date(&claimed.value) { ConflictKind::Date } else { ConflictKind::Number };
                conflicts.extend(Conflict::between(
                    kind,
                    (evidence.text, stated.span),
                    (statement.text, claimed.span),
                ));
            }
            None => tally.missing += 1,
        }
    }
    out
}

/// The same words, though no value: "one" as a pronoun, a figure inside a name.
fn written_alike(evidence: &Reading<'_>, statement: &Reading<'_>, claimed: &Found) -> bool {
    let words = statement.within(claimed.span);
    !words.is_empty() && words.iter().all(|w| evidence.holds(&w.stem))
}

/// The value that the evidence gives in place of the claimed one: of its kind, different, and in the sentence that the
/// statement's words point to or beside words that stand around the claimed one.
fn rival<'e>(
    evidence: &'e Reading<'_>,
    statement: &Reading<'_>,
    claimed: &Found,
    aligned: &Alignment,
) -> Option<&'e Found> {
    // The statement has to be about the evidence before a difference counts.
    if aligned.share < 0.3 {
        return None;
    }
    let around: Vec<&str> = near(statement, claimed).collect();
    let fits = |stated: &&Found| {
        let alike = same_form(&stated.value, &claimed.value);
        alike && value::compare(&stated.value, &claimed.value) == Comparison::Different
    };
    let weight = |stated: &Found| {
        let here = Some(evidence.sentence_at(stated.span.start())) == aligned.sentence;
        let shared = near(evidence, stated).filter(|w| around.contains(w)).count();
        (usize::from(here) * 2 + shared, std::cmp::Reverse(stated.span.start()))
    };
    evidence
        .values
        .iter()
        .filter(fits)
        .map(|s| (weight(s), s))
        .filter(|((w, _), _)| *w > 0)
        .max_by_key(|(w, _)| *w)
        .map(|(_, s)| s)
}

/// Content words up to four words away.
fn near<'r>(reading: &'r Reading<'_>, found: &Found) -> impl Iterator<Item = &'r str> {
    let from = reading.word_at(found.span.start());
    let to = reading.word_at(found.span.end().saturating_sub(1)) + 1;
    let before = reading.words.get(from.saturating_sub(4)..from).unwrap_or_default();
    let after =
        reading.words.get(to.min(reading.words.len())..(to + 4).min(reading.words.len())).unwrap_or_default();
    before.iter().chain(after).filter(|w| w.content).map(|w| w.stem.as_str())
}

/// Whether two values answer the same question: years stand against dates, counts against counts.
fn same_form(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x.ordinal == y.ordinal,
        (Value::Range(r), other) | (other, Value::Range(r)) => same_form(&r.low, other),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
