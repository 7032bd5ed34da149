//! Plain questions about the values of a text, which the validation rules ask.

use std::collections::HashSet;

use counterproof_core::ByteSpan;

use super::model::{Date, Value};
use super::{chinese, date, number, parse};
use crate::packs::{chinese as chinese_words, english};
use crate::scan::{Kind, Lexeme, lex};

/// The year tokens of `text`, as written with their era, in order: 1000 to 2100, or one to four digits with BC, BCE, AD
/// or CE, or a Chinese year (2019年, 公元前221年, without 年).
///
/// "1990s" is a decade, and "4,1990" and "1990 m" hold no year token of their own; of "1990–95" the first year is one.
pub fn years(text: &str) -> Vec<(String, ByteSpan)> {
    let lexemes = lex(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < lexemes.len() {
        let Some((start, end, next)) = year_token(&lexemes, at) else {
            at += 1;
            continue;
        };
        if let (Some(first), Some(last)) = (lexemes.get(start), lexemes.get(end.wrapping_sub(1)))
            && let Some(span) = ByteSpan::new(first.start, last.end)
            && let Some(written) = span.slice(text)
        {
            found.push((written.to_owned(), span));
        }
        at = next;
    }
    found
}

/// The lexemes of the year token at `at` and the place after it.
fn year_token(lexemes: &[Lexeme], at: usize) -> Option<(usize, usize, usize)> {
    if let Some((date, next)) = chinese::date_at(lexemes, at) {
        date.years.filter(|y| y.is_single())?;
        let year_mark = (at..next).find(|i| lexemes.get(*i).is_some_and(|l| l.is("年")))?;
        return Some((at, year_mark, next));
    }
    let (years, next) = date::year_at(lexemes, at)?;
    let lexeme = lexemes.get(at)?;
    let attached = |l: Option<&Lexeme>| l.is_some_and(|l| !l.space_before && l.is_word());
    let glued =
        !lexeme.space_before && at.checked_sub(1).and_then(|b| lexemes.get(b)).is_some_and(Lexeme::is_word);
    let decade = next == at + 1 && attached(lexemes.get(next));
    (years.is_single() && !glued && !decade).then_some((at, next, next))
}

/// Whether `text` names a time: a digit, a month, a weekday, a season, a decade or a century.
pub fn has_time_marker(text: &str) -> bool {
    let lexemes = lex(text);
    lexemes.iter().enumerate().any(|(at, lexeme)| match lexeme.kind {
        Kind::Number => true,
        Kind::Word => {
            let word = lexeme.text.as_str();
            english::WEEKDAYS.contains(&word)
                || english::TIME_WORDS.contains(&word)
                    && (word != "fall" || lexeme.capital || lexemes.len() == 1)
                || english::MONTHS.iter().any(|(m, _)| *m == word) && date::names_a_month(&lexemes, at)
                || date::date_at(&lexemes, at).is_some()
        }
        Kind::Han => {
            let rest: String = lexemes
                .get(at..(at + 3).min(lexemes.len()))
                .unwrap_or_default()
                .iter()
                .map(|l| l.text.as_str())
                .collect();
            chinese_words::TIME_WORDS.iter().any(|w| rest.starts_with(w))
        }
        Kind::Symbol => false,
    })
}

/// Whether `text` holds a digit or a number word ("twelve", "dozen", 三).
pub fn has_number_marker(text: &str) -> bool {
    let lexemes = lex(text);
    lexemes.iter().enumerate().any(|(at, lexeme)| match lexeme.kind {
        Kind::Number => true,
        Kind::Word => {
            let word = lexeme.text.as_str();
            matches!(
                word,
                "hundred"
                    | "hundreds"
                    | "dozen"
                    | "dozens"
                    | "half"
                    | "quarter"
                    | "thousands"
                    | "millions"
                    | "billions"
                    | "none"
                    | "nil"
                    | "twice"
                    | "once"
                    | "thrice"
                    | "single"
                    | "double"
                    | "triple"
                    | "both"
            ) || english::SCALE_WORDS.iter().any(|(w, _)| *w == word)
                || number::number_at(&lexemes, at).is_some()
                || english::UNITS_WORDS
                    .iter()
                    .chain(english::TENS_WORDS)
                    .chain(english::ORDINAL_WORDS)
                    .any(|(w, _)| *w == word)
        }
        Kind::Han => lexeme.han().is_some_and(|c| chinese::is_numeral(c) || matches!(c, '半' | '双' | '雙')),
        Kind::Symbol => lexeme.text.chars().any(char::is_numeric),
    })
}

/// What ties an answer to its evidence: the numbers, years, months and days of a text in one canonical form each, so
/// that equal ones are equal strings however they were written; in order, without repetition.
///
/// Numbers are plain digits ("4523000", "12"), months their English name ("january"), years digits with "bc" where they
/// are before Christ, decades "1990s", centuries "c19".
pub fn anchors(text: &str) -> Vec<String> {
    let lexemes = lex(text);
    let mut out = Vec::new();
    for found in parse::in_lexemes(&lexemes) {
        push(&found.value, &mut out);
    }
    let mut seen = HashSet::new();
    out.retain(|a| seen.insert(a.clone()));
    out
}

fn push(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Number(n) | Value::Percent(n) => {
            out.push(n.value.to_string());
            out.extend(n.alternative.map(|a| a.to_string()));
        }
        Value::Quantity(q) => out.push(q.number.value.to_string()),
        Value::Date(date) => push_date(date, out),
        Value::Range(range) => {
            push(&range.low, out);
            push(&range.high, out);
        }
    }
}

fn push_date(date: &Date, out: &mut Vec<String>) {
    let month = |m: u8| english::MONTH_NAMES.get(usize::from(m).wrapping_sub(1)).map(|m| (*m).to_owned());
    out.extend(date.month.and_then(month));
    out.extend(date.day.map(|d| d.to_string()));
    if let Some((other_month, other_day)) = date.alternative {
        out.extend(month(other_month));
        out.push(other_day.to_string());
    }
    if let Some(season) = date.season {
        out.push(format!("{season:?}").to_lowercase());
    }
    let Some(years) = date.years else { return };
    let one = |y: i32| if y < 0 { format!("{}bc", y.unsigned_abs()) } else { y.to_string() };
    if years.is_single() {
        out.push(one(years.first));
    } else if years.last - years.first == 99 {
        let n = years.first.unsigned_abs().max(years.last.unsigned_abs()).div_ceil(100);
        out.push(format!("c{n}{}", if years.first < 0 { "bc" } else { "" }));
    } else {
        out.push(format!("{}s", one(years.first)));
    }
}
