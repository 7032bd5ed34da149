//! Finding the values of a text.

use std::collections::HashSet;
use std::sync::LazyLock;

use counterproof_core::ByteSpan;

use super::model::{Date, Found, Number, Quantity, Range, Value, Years};
use super::{Decimal, Unit, chinese, date, number};
use crate::packs::units::CURRENCY_CODES;
use crate::packs::{chinese as chinese_words, english};
use crate::scan::{Kind, Lexeme, lex};

/// The values of `text`, in order, none overlapping another.
///
/// A figure of four digits from 1000 to 2100 is read as a year unless a plural noun, a unit or a scale follows it.
pub fn values(text: &str) -> Vec<Found> {
    let lexemes = lex(text);
    in_lexemes(&lexemes)
}

pub(crate) fn in_lexemes(lexemes: &[Lexeme]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lexemes.len() {
        match range_or_value_at(lexemes, at) {
            Some((value, next)) if next > at => {
                if let (Some(first), Some(last)) = (lexemes.get(at), lexemes.get(next - 1))
                    && let Some(span) = ByteSpan::new(first.start, last.end)
                {
                    found.push(Found { value, span });
                }
                at = next;
            }
            _ => at += 1,
        }
    }
    found
}

/// Words that can begin a value. Most words of a text cannot, and one look-up says so.
static STARTERS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let months = english::MONTHS.iter().map(|(word, _)| *word);
    let numbers = [english::UNITS_WORDS, english::TENS_WORDS, english::ORDINAL_WORDS];
    months
        .chain(numbers.into_iter().flatten().map(|(word, _)| *word))
        .chain(["a", "an", "half", "spring", "summer", "autumn", "fall", "winter", "ad", "ce", "bc"])
        .chain(CURRENCY_CODES)
        .collect()
});

fn can_begin(lexeme: &Lexeme) -> bool {
    match lexeme.kind {
        Kind::Number | Kind::Han | Kind::Symbol => true,
        Kind::Word => {
            STARTERS.contains(lexeme.text.as_str())
                || lexeme.capital && lexeme.text.bytes().all(|b| b"ivxlcdm".contains(&b))
        }
    }
}

/// A value, or a range with an opening word ("from", "between") or of two values joined by a dash, "to", 至 or 到.
fn range_or_value_at(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let opener = match lexemes.get(at)?.text.as_str() {
        "from" | "从" | "從" | "自" => Some("from"),
        "between" => Some("between"),
        _ => None,
    };
    if opener.is_some() {
        let (low, after_low) = value_at(lexemes, at + 1)?;
        return range_from(lexemes, &low, after_low, opener);
    }
    let (low, after_low) = value_at(lexemes, at)?;
    Some(range_from(lexemes, &low, after_low, None).unwrap_or((low, after_low)))
}

/// The range that begins with `low`, when the words behind it join another value to it.
fn range_from(
    lexemes: &[Lexeme],
    low: &Value,
    after_low: usize,
    opener: Option<&str>,
) -> Option<(Value, usize)> {
    let joint = lexemes.get(after_low).filter(|l| !l.line_before)?;
    let joins = match opener {
        Some("between") => joint.is("and") || joint.is_dash(),
        Some(_) => {
            joint.is("to") || joint.is("until") || joint.is("till") || joint.is("through") || joint.is_dash()
        }
        None => joint.is("to") || joint.is("through") || joint.is_dash() && !joint.is("—"),
    };
    if !joins {
        return None;
    }
    // "a - b" with spaces around one hyphen and "-b" behind a space are a dash in prose or a sign.
    let lopsided =
        joint.is("-") && lexemes.get(after_low + 1).is_some_and(|l| l.space_before != joint.space_before);
    if lopsided {
        return None;
    }
    if let Some((value, next)) = short_year(lexemes, low, after_low + 1) {
        return Some((value, next));
    }
    let (high, next) = value_at(lexemes, after_low + 1)?;
    let range = join(low.clone(), high)?;
    // A chain of joined numbers (telephone, score list) is no range.
    if lexemes.get(next).is_some_and(|l| l.is_dash() && !l.space_before)
        && lexemes.get(next + 1).is_some_and(Lexeme::is_number)
    {
        return None;
    }
    Some((range, next))
}

/// "1990–95": the two last digits of the later year.
fn short_year(lexemes: &[Lexeme], low: &Value, at: usize) -> Option<(Value, usize)> {
    let Value::Date(date) = low else { return None };
    let years = date.years.filter(|y| date.is_year_only() && y.is_single() && y.first >= 1000)?;
    let lexeme = lexemes.get(at).filter(|l| l.is_number() && l.text.len() == 2 && !l.space_before)?;
    let tail: i32 = lexeme.text.parse().ok().filter(|t| *t > years.first % 100)?;
    let longer =
        lexemes.get(at + 1).is_some_and(|l| !l.space_before && (l.is_word() || l.is_dash() || l.is("%")));
    let high = Date::year(years.first - years.first % 100 + tail);
    (!longer).then(|| (Value::Range(Box::new(Range { low: low.clone(), high: Value::Date(high) })), at + 1))
}

/// The range from `low` to `high`, when both are of one kind and in order. The first takes over what only the second
/// states: its unit, its scale, its year.
fn join(low: Value, high: Value) -> Option<Value> {
    let (low, high) = match (low, high) {
        (Value::Date(a), Value::Date(b)) => {
            let (a, b) = share_year(a, b)?;
            (Value::Date(a), Value::Date(b))
        }
        // "500 to 1500" of a text without eras: both numbers.
        (Value::Number(a), Value::Date(b)) if b.is_year_only() => {
            let last = b.years.filter(|y| y.is_single())?.first;
            // "100–44 BC"
            if last < 0 {
                let first = i32::try_from(a.value.to_i64()?).ok().filter(|y| (1..=9999).contains(y))?;
                (Value::Date(Date::year(-first)), Value::Date(b))
            } else {
                (Value::Number(a), Value::Number(Number::exact(Decimal::from(i64::from(last)))))
            }
        }
        (Value::Date(a), Value::Number(b)) if a.is_year_only() => {
            let first = a.years.filter(|y| y.is_single())?.first;
            (Value::Number(Number::exact(Decimal::from(i64::from(first)))), Value::Number(b))
        }
        (Value::Number(a), Value::Number(b)) => (Value::Number(share_scale(a, b)), Value::Number(b)),
        (Value::Number(a) | Value::Percent(a), Value::Percent(b)) => (Value::Percent(a), Value::Percent(b)),
        (Value::Number(a), Value::Quantity(b)) => {
            (Value::Quantity(Quantity { number: share_scale(a, b.number), unit: b.unit }), Value::Quantity(b))
        }
        (Value::Quantity(a), Value::Number(b)) => {
            let a = Quantity { number: share_scale(a.number, b), ..a };
            (Value::Quantity(a), Value::Quantity(Quantity { number: b, unit: a.unit }))
        }
        (Value::Date(a), Value::Quantity(b)) if a.is_year_only() && !b.unit.is_currency() => {
            let first = a.years.filter(|y| y.is_single())?.first;
            let number = Number::exact(Decimal::from(i64::from(first)));
            (Value::Quantity(Quantity { number, unit: b.unit }), Value::Quantity(b))
        }
        (Value::Quantity(a), Value::Quantity(b)) if a.unit == b.unit => {
            let a = Quantity { number: share_scale(a.number, b.number), ..a };
            (Value::Quantity(a), Value::Quantity(b))
        }
        _ => return None,
    };
    let ordered = match (low.number(), high.number()) {
        (Some(a), Some(b)) => a.value.compare(b.value).is_lt() && !a.ordinal && !b.ordinal,
        _ => true,
    };
    ordered.then(|| Value::Range(Box::new(Range { low, high })))
}

/// "1.5 to 2 million": the scale is said once.
fn share_scale(a: Number, b: Number) -> Number {
    if a.rounded || !b.rounded || a.value.compare(Decimal::from(1000u32)).is_ge() {
        return a;
    }
    for power in [3, 6, 9, 12] {
        // The scale is the one under which the second number reads between 1 and 1000.
        let read = b.value.times_ten_to(-power);
        if read.is_some_and(|n| {
            n.compare(Decimal::from(1u32)).is_ge() && n.compare(Decimal::from(1000u32)).is_lt()
        }) && let Some(value) = a.value.times_ten_to(power)
        {
            return Number { value, rounded: true, alternative: None, ..a };
        }
    }
    a
}

/// "January–March 1990": the year is said once. `None` when the dates are out of order.
fn share_year(mut a: Date, b: Date) -> Option<(Date, Date)> {
    if a.years.is_none() && a.month.is_some() {
        a.years = b.years;
    }
    let key = |d: &Date| (d.years.map_or(0, |y| y.first), d.month.unwrap_or(0), d.day.unwrap_or(0));
    let same_parts = a.years.is_some() == b.years.is_some();
    // "500–44 BC" is written with the era once.
    if let (Some(x), Some(y)) = (a.years, b.years)
        && y.last < 0
        && x.first > 0
        && a.is_year_only()
    {
        a.years = Some(Years::single(-x.first));
    }
    (same_parts && key(&a) < key(&b)).then_some((a, b))
}

/// The value that starts at `at`, ranges aside.
fn value_at(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let lexeme = lexemes.get(at).filter(|l| can_begin(l))?;
    if lexeme.kind == Kind::Symbol {
        return signed_or_money(lexemes, at);
    }
    // Digits inside an identifier (B2B, A4) are no value; a currency code may touch its number.
    let attached =
        at.checked_sub(1).and_then(|b| lexemes.get(b)).filter(|b| b.is_word() && !lexeme.space_before);
    if lexeme.is_number()
        && let Some(word) = attached
        && !matches!(word.text.as_str(), "c" | "ca" | "ad" | "no" | "pp" | "p")
    {
        return None;
    }
    if lexeme.is_word()
        && let Some((unit, next)) = Unit::currency_before(lexemes, at)
    {
        return money(lexemes, unit, next, at);
    }
    let approximate = is_approximate(lexemes, at);
    if let Some((value, next)) = chinese::value_at(lexemes, at) {
        return Some((mark(value, approximate), next));
    }
    if let Some((value, next)) = date::date_at(lexemes, at)
        && !counts_things(lexemes, &value, at, next)
    {
        return Some((mark(value, approximate), next));
    }
    if let Some(value) = roman_at(lexemes, at) {
        return Some((value, at + 1));
    }
    if lexeme.kind == Kind::Han {
        return None;
    }
    let (number, next) = number::number_at(lexemes, at)?;
    let (value, next) = with_unit(lexemes, number, next);
    Some((mark(value, approximate), next))
}

/// "$5", "-5", "−5 °C", "'90" aside.
fn signed_or_money(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    if let Some((unit, next)) = Unit::currency_before(lexemes, at) {
        return money(lexemes, unit, next, at);
    }
    let sign = lexemes.get(at).filter(|l| matches!(l.text.as_str(), "-" | "−" | "–") && l.space_before)?;
    lexemes.get(at + 1).filter(|l| l.is_number() && !l.space_before && sign.end == l.start)?;
    let (number, next) = number::number_at(lexemes, at + 1).filter(|(n, _)| !n.ordinal)?;
    // "- 5" in a list and "1990 -95" are dashes: a sign stands behind a word or nothing.
    if at.checked_sub(1).and_then(|b| lexemes.get(b)).is_some_and(Lexeme::is_number) {
        return None;
    }
    let number = Number { value: number.value.negated(), alternative: None, ..number };
    Some(with_unit(lexemes, number, next))
}

fn money(lexemes: &[Lexeme], unit: Unit, number_at: usize, at: usize) -> Option<(Value, usize)> {
    let (mut number, mut next) = number::number_at(lexemes, number_at)?;
    if let Some((scaled, after)) = chinese::numeral_at(lexemes, number_at).filter(|(_, after)| *after > next)
    {
        (number, next) = (scaled, after);
    }
    // "$5m", "£3bn", "$5k"
    if let Some(suffix) = lexemes.get(next).filter(|l| l.is_word() && !l.space_before) {
        let power = match suffix.text.as_str() {
            "k" => Some(3),
            "m" | "mil" | "mln" => Some(6),
            "b" => Some(9),
            "t" | "tn" => Some(12),
            _ => None,
        };
        if let Some(value) = power.and_then(|p| number.value.times_ten_to(p)) {
            (number, next) = (Number { value, rounded: true, alternative: None, ..number }, next + 1);
        }
    }
    let value = Value::Quantity(Quantity { number, unit });
    Some((mark(value, is_approximate(lexemes, at)), next))
}

/// The number with the percent sign or unit behind it.
fn with_unit(lexemes: &[Lexeme], number: Number, next: usize) -> (Value, usize) {
    if number.ordinal {
        return (Value::Number(number), next);
    }
    let word =
        |i: usize| lexemes.get(i).filter(|l| !l.line_before).map(|l| l.text.as_str()).unwrap_or_default();
    match word(next) {
        "%" | "percent" | "pct" => return (Value::Percent(number), next + 1),
        "per" if word(next + 1) == "cent" => return (Value::Percent(number), next + 2),
        "percentage" if word(next + 1) == "points" => return (Value::Percent(number), next + 2),
        _ => {}
    }
    let dash = usize::from(lexemes.get(next).is_some_and(|l| l.is("-") && !l.space_before));
    if let Some((unit, length)) = lexemes.get(next + dash..).and_then(Unit::at_start)
        && (dash == 0 || lexemes.get(next + dash).is_some_and(|l| !l.space_before))
    {
        return (Value::Quantity(Quantity { number, unit }), next + dash + length);
    }
    (Value::Number(number), next)
}

/// Whether a word of approximation stands before `at`.
fn is_approximate(lexemes: &[Lexeme], at: usize) -> bool {
    let back = |n: usize| at.checked_sub(n).and_then(|i| lexemes.get(i));
    let Some(before) = back(1) else { return false };
    if before.kind == Kind::Han {
        let pair: String = [back(2), back(1)].into_iter().flatten().map(|l| l.text.as_str()).collect();
        return chinese_words::APPROXIMATE_WORDS.iter().any(|w| pair.ends_with(w));
    }
    let word = if before.is(".") { back(2) } else { Some(before) };
    word.is_some_and(|w| {
        english::APPROXIMATE_WORDS.contains(&w.text.as_str()) && (before.is(".") || !w.is("c"))
    }) || before.is("~")
}

fn mark(value: Value, approximate: bool) -> Value {
    let inexact = |n: Number| Number { approximate: true, rounded: true, ..n };
    match value {
        value if !approximate => value,
        Value::Number(n) => Value::Number(inexact(n)),
        Value::Percent(n) => Value::Percent(inexact(n)),
        Value::Quantity(q) => Value::Quantity(Quantity { number: inexact(q.number), ..q }),
        Value::Date(d) => Value::Date(Date { approximate: true, ..d }),
        range @ Value::Range(_) => range,
    }
}

/// Whether what looks like a year counts things: "1500 people", "1200 km", "1990 million".
fn counts_things(lexemes: &[Lexeme], value: &Value, at: usize, next: usize) -> bool {
    let year = matches!(value, Value::Date(d) if d.is_year_only() && d.years.is_some_and(|y| y.is_single()));
    if !year || next != at + 1 {
        return false;
    }
    let Some(following) = lexemes.get(next).filter(|l| !l.line_before) else { return false };
    if following.is("%") || following.is("percent") {
        return true;
    }
    if let Some((unit, _)) = lexemes.get(next..).and_then(Unit::at_start) {
        return !matches!(unit.name(), "s" | "in");
    }
    if english::SCALE_WORDS.iter().any(|(w, _)| following.is(w)) {
        return true;
    }
    let before = at.checked_sub(1).and_then(|b| lexemes.get(b));
    let timely = before.is_some_and(|l| {
        matches!(
            l.text.as_str(),
            "in" | "since"
                | "until"
                | "of"
                | "by"
                | "from"
                | "to"
                | "during"
                | "the"
                | "before"
                | "after"
                | "early"
                | "late"
                | "mid"
                | ","
                | "("
                | "year"
                | "circa"
                | "and"
                | "-"
                | "–"
                | "between"
                | "his"
                | "her"
                | "their"
                | "its"
                | "'"
                | "s"
        ) || english::MONTHS.iter().any(|(m, _)| l.is(m))
    });
    let plural = following.is_word()
        && !following.capital
        && following.space_before
        && (following.text.len() > 3 && following.text.ends_with('s') && !following.text.ends_with("ss")
            || matches!(
                following.text.as_str(),
                "people" | "men" | "women" | "children" | "feet" | "inhabitants"
            ));
    plural && !timely
}

/// "World War II", "Chapter IV".
fn roman_at(lexemes: &[Lexeme], at: usize) -> Option<Value> {
    let lexeme = lexemes.get(at).filter(|l| l.is_word() && l.capital && l.space_before)?;
    let before =
        lexemes.get(at.checked_sub(1)?).filter(|l| english::ROMAN_CONTEXT.contains(&l.text.as_str()))?;
    let number = number::roman(&lexeme.text)?;
    before.is_word().then(|| Value::Number(Number::exact(Decimal::from(number))))
}
