//! Dates in English and in figures.

use super::model::{Date, Range, Season, Value, Years};
use super::number::number_at;
use crate::packs::english;
use crate::scan::Lexeme;

/// Years that a bare figure of four digits is read as.
const BARE_YEARS: std::ops::RangeInclusive<i32> = 1000..=2100;

/// Reads the date that starts at `at`; the place after it is returned too.
pub(super) fn date_at(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let lexeme = lexemes.get(at)?;
    if lexeme.is_number() {
        return figures(lexemes, at)
            .or_else(|| day_first(lexemes, at))
            .or_else(|| decade(lexemes, at))
            .or_else(|| century(lexemes, at))
            .or_else(|| year_at(lexemes, at).map(|(y, next)| (Value::Date(with_years(y)), next)));
    }
    if !lexeme.is_word() {
        return None;
    }
    month_first(lexemes, at)
        .or_else(|| day_first(lexemes, at))
        .or_else(|| season(lexemes, at))
        .or_else(|| century(lexemes, at))
        .or_else(|| year_at(lexemes, at).map(|(y, next)| (Value::Date(with_years(y)), next)))
}

fn with_years(years: Years) -> Date {
    Date { years: Some(years), ..Date::default() }
}

fn same_line(lexemes: &[Lexeme], at: usize) -> Option<&Lexeme> {
    lexemes.get(at).filter(|l| !l.line_before)
}

/// The month whose name stands at `at`, and the place after it and its full stop.
fn month_name(lexemes: &[Lexeme], at: usize) -> Option<(u8, usize)> {
    let lexeme = lexemes.get(at).filter(|l| l.is_word())?;
    let (name, month) = english::MONTHS.iter().find(|(name, _)| lexeme.is(name))?;
    let abbreviated = name.len() < 5 && *name != "may" && *name != "june" && *name != "july";
    let stop = abbreviated && lexemes.get(at + 1).is_some_and(|l| l.is(".") && !l.space_before);
    Some((*month, at + 1 + usize::from(stop)))
}

/// A day of the month: 1 to 31 in figures, with or without a suffix, or an ordinal in words.
fn day_at(lexemes: &[Lexeme], at: usize) -> Option<(u8, usize)> {
    let lexeme = same_line(lexemes, at)?;
    let short =
        lexeme.is_number() && lexeme.text.len() <= 2 && lexeme.text.bytes().all(|b| b.is_ascii_digit());
    if short {
        let day: u8 = lexeme.text.parse().ok().filter(|d| (1..=31).contains(d))?;
        let suffix = lexemes
            .get(at + 1)
            .is_some_and(|l| !l.space_before && matches!(l.text.as_str(), "st" | "nd" | "rd" | "th"));
        return Some((day, at + 1 + usize::from(suffix)));
    }
    let (number, next) = number_at(lexemes, at).filter(|(n, _)| n.ordinal && lexeme.is_word())?;
    let day = u8::try_from(number.value.to_i64()?).ok().filter(|d| (1..=31).contains(d))?;
    Some((day, next))
}

/// A year of three or four digits as part of a longer date, or any year with its era.
fn year_in_date(lexemes: &[Lexeme], at: usize) -> Option<(i32, usize)> {
    same_line(lexemes, at)?;
    let (years, next) = year_at(lexemes, at)?;
    years.is_single().then_some((years.first, next))
}

/// The year after a month or day: directly, after a comma, or after "of".
fn trailing_year(lexemes: &[Lexeme], at: usize) -> Option<(i32, usize)> {
    let skip = usize::from(same_line(lexemes, at).is_some_and(|l| matches!(l.text.as_str(), "," | "of")));
    year_in_date(lexemes, at + skip).or_else(|| {
        let twice = lexemes.get(at).is_some_and(|l| l.is(","))
            && lexemes.get(at + 1).is_some_and(|l| l.is("in") || l.is("of"));
        if twice { year_in_date(lexemes, at + 2) } else { None }
    })
}

/// "January 15, 1967", "January 1967", "January 15–17, 1967", "January".
fn month_first(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let (month, after_month) = month_name(lexemes, at)?;
    let the = usize::from(same_line(lexemes, after_month).is_some_and(|l| l.is("the")));
    // In "January 3 BC" the figure is a year.
    let day = day_at(lexemes, after_month + the)
        .filter(|(_, after)| same_line(lexemes, *after).and_then(|_| era_at(lexemes, *after)).is_none());
    if let Some((day, after_day)) = day {
        // "June 1967" never lands here: a year has more than two digits. "May 5 million" is no date.
        if lexemes
            .get(after_day)
            .is_some_and(|l| l.is_word() && english::SCALE_WORDS.iter().any(|(w, _)| l.is(w)))
        {
            return None;
        }
        if lexemes.get(after_day).is_some_and(Lexeme::is_dash)
            && let Some((last, after_last)) = day_at(lexemes, after_day + 1)
            && last > day
        {
            let (year, next) =
                trailing_year(lexemes, after_last).map_or((None, after_last), |(y, n)| (Some(y), n));
            return Some((days(year, month, day, last), next));
        }
        let (year, next) = trailing_year(lexemes, after_day).map_or((None, after_day), |(y, n)| (Some(y), n));
        return Some((Value::Date(Date::new(year, Some(month), Some(day))), next));
    }
    if let Some((year, next)) = trailing_year(lexemes, after_month) {
        return Some((Value::Date(Date::new(Some(year), Some(month), None)), next));
    }
    names_a_month(lexemes, at).then(|| (Value::Date(Date::new(None, Some(month), None)), after_month))
}

/// Whether a month's name without a day or year is the month: "may" and "march" are verbs more often, and short forms
/// are parts of other words.
pub(super) fn names_a_month(lexemes: &[Lexeme], at: usize) -> bool {
    let Some(lexeme) = lexemes.get(at) else { return false };
    if lexeme.text.len() < 4 && lexeme.text != "may" {
        return false;
    }
    if !matches!(lexeme.text.as_str(), "may" | "march" | "august") {
        return lexeme.capital || lexeme.text.len() > 4;
    }
    let joins =
        lexemes.get(at + 1).is_some_and(|l| l.is_dash() || l.is("to") || l.is("and") || l.is("through"));
    if lexemes.len() == 1 || joins && month_name(lexemes, at + 2).is_some() {
        return true;
    }
    let before = at.checked_sub(1).and_then(|b| lexemes.get(b)).map(|l| l.text.as_str()).unwrap_or_default();
    let in_time = matches!(
        before,
        "in" | "since"
            | "until"
            | "till"
            | "during"
            | "early"
            | "late"
            | "mid"
            | "last"
            | "next"
            | "by"
            | "every"
            | "of"
            | "to"
            | "through"
            | "-"
            | "–"
            | "between"
            | "from"
    );
    in_time && (lexeme.capital || !matches!(before, "to" | "by" | "-"))
}

fn days(year: Option<i32>, month: u8, first: u8, last: u8) -> Value {
    let day = |d| Value::Date(Date::new(year, Some(month), Some(d)));
    Value::Range(Box::new(Range { low: day(first), high: day(last) }))
}

/// "15 January 1967", "the 15th of January", "15–17 January 1967".
fn day_first(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let (day, after_day) = day_at_start(lexemes, at)?;
    let of = |i: usize| i + usize::from(same_line(lexemes, i).is_some_and(|l| l.is("of")));
    let finish = |after_month: usize| {
        trailing_year(lexemes, after_month).map_or((None, after_month), |(y, n)| (Some(y), n))
    };
    if let Some((month, after_month)) =
        same_line(lexemes, of(after_day)).and_then(|_| month_name(lexemes, of(after_day)))
    {
        let (year, next) = finish(after_month);
        // "6 January 793": behind a day and a month three digits are a year.
        let early = same_line(lexemes, after_month)
            .filter(|l| year.is_none() && l.is_number() && l.text.len() == 3 && l.space_before);
        if let Some(early) = early.and_then(|l| l.text.parse().ok()) {
            return Some((Value::Date(Date::new(Some(early), Some(month), Some(day))), after_month + 1));
        }
        return Some((Value::Date(Date::new(year, Some(month), Some(day))), next));
    }
    let dash = lexemes.get(after_day).is_some_and(Lexeme::is_dash);
    let (last, after_last) = if dash { day_at(lexemes, after_day + 1)? } else { return None };
    let (month, after_month) =
        same_line(lexemes, of(after_last)).and_then(|_| month_name(lexemes, of(after_last)))?;
    let (year, next) = finish(after_month);
    (last > day).then(|| (days(year, month, day, last), next))
}

/// Like [`day_at`], but the lexeme may begin a line.
fn day_at_start(lexemes: &[Lexeme], at: usize) -> Option<(u8, usize)> {
    let rest = lexemes.get(at..)?;
    if rest.first()?.line_before {
        let mut first = rest.get(..rest.len().min(4))?.to_vec();
        if let Some(l) = first.first_mut() {
            l.line_before = false;
        }
        return day_at(&first, 0).map(|(day, next)| (day, at + next));
    }
    day_at(lexemes, at)
}

/// `1967-01-15`, `15/01/1967`, `15.01.1967`, `1967.01.15`.
fn figures(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let first = lexemes.get(at)?;
    if first.text.contains('.') {
        let parts: Vec<&str> = first.text.split('.').collect();
        return numeric_date(&parts, '.').map(|d| (Value::Date(d), at + 1));
    }
    let separator =
        lexemes.get(at + 1).filter(|l| !l.space_before && matches!(l.text.as_str(), "-" | "/"))?;
    let second = lexemes.get(at + 2).filter(|l| l.is_number() && !l.space_before)?;
    lexemes.get(at + 3).filter(|l| !l.space_before && l.text == separator.text)?;
    let third = lexemes.get(at + 4).filter(|l| l.is_number() && !l.space_before)?;
    // A longer chain is a number of another kind (ISBN, telephone).
    if lexemes.get(at + 5).is_some_and(|l| !l.space_before && l.text == separator.text) {
        return None;
    }
    let separator = separator.text.chars().next()?;
    numeric_date(&[&first.text, &second.text, &third.text], separator).map(|d| (Value::Date(d), at + 5))
}

fn numeric_date(parts: &[&str], separator: char) -> Option<Date> {
    let [a, b, c] = parts else { return None };
    if !parts.iter().all(|p| (1..=4).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let month = |n: u8| (1..=12).contains(&n).then_some(n);
    let day = |n: u8| (1..=31).contains(&n).then_some(n);
    if a.len() == 4 {
        let (y, m, d): (i32, u8, u8) = (a.parse().ok()?, b.parse().ok()?, c.parse().ok()?);
        return Some(Date::new(Some(y), Some(month(m)?), Some(day(d)?)));
    }
    if c.len() != 4 {
        return None;
    }
    let (first, second, year): (u8, u8, i32) = (a.parse().ok()?, b.parse().ok()?, c.parse().ok()?);
    // Points are written between day and month, never between month and day.
    let day_first = Date::new(Some(year), month(second), day(first));
    if separator == '.' || month(first).is_none() {
        return (day_first.month.is_some() && day_first.day.is_some()).then_some(day_first);
    }
    let month_first = Date::new(Some(year), month(first), Some(day(second)?));
    if month(second).is_none() || first == second {
        return Some(month_first);
    }
    Some(Date { alternative: Some((second, first)), ..month_first })
}

/// The era at `at` (`BC`, `B.C.E.`, `AD`, ...): whether it is before Christ, and the place after it.
pub(super) fn era_at(lexemes: &[Lexeme], at: usize) -> Option<(bool, usize)> {
    let first = lexemes.get(at).filter(|l| l.is_word())?;
    let whole = match first.text.as_str() {
        "bc" | "bce" => Some(true),
        "ad" | "ce" => Some(false),
        _ => None,
    };
    if let Some(bc) = whole {
        return first.capital.then_some((bc, at + 1)).or((bc || first.is("ce")).then_some((bc, at + 1)));
    }
    let mut letters = String::new();
    let mut next = at;
    while let Some(letter) =
        lexemes.get(next).filter(|l| l.is_word() && l.text.len() == 1 && (next == at || !l.line_before))
    {
        if letters.len() == 3 || !lexemes.get(next + 1).is_some_and(|l| l.is(".")) {
            break;
        }
        letters.push_str(&letter.text);
        next += 2;
    }
    match letters.as_str() {
        "bc" | "bce" => Some((true, next)),
        "ad" | "ce" => Some((false, next)),
        _ => None,
    }
}

/// A year: `1967`, `44 BC`, `AD 79`, `79 AD`.
pub(super) fn year_at(lexemes: &[Lexeme], at: usize) -> Option<(Years, usize)> {
    let lexeme = lexemes.get(at)?;
    let digits = |l: &Lexeme| -> Option<i32> {
        let plain =
            l.is_number() && (1..=4).contains(&l.text.len()) && l.text.bytes().all(|b| b.is_ascii_digit());
        if plain { l.text.parse().ok().filter(|y| *y > 0) } else { None }
    };
    if lexeme.is_word() {
        let (bc, next) = era_at(lexemes, at).filter(|(bc, _)| !bc)?;
        let year = same_line(lexemes, next).and_then(digits)?;
        return Some((Years::single(if bc { -year } else { year }), next + 1));
    }
    let year = digits(lexeme)?;
    if let Some((bc, next)) = same_line(lexemes, at + 1).and_then(|_| era_at(lexemes, at + 1)) {
        return Some((Years::single(if bc { -year } else { year }), next));
    }
    (lexeme.text.len() == 4 && BARE_YEARS.contains(&year)).then(|| (Years::single(year), at + 1))
}

/// "1990s".
fn decade(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let lexeme = lexemes.get(at)?;
    let year: i32 = lexeme.text.parse().ok().filter(|y| BARE_YEARS.contains(y) && y % 10 == 0)?;
    let apostrophe = usize::from(
        lexemes.get(at + 1).is_some_and(|l| !l.space_before && matches!(l.text.as_str(), "'" | "’")),
    );
    let s = lexemes.get(at + 1 + apostrophe).filter(|l| l.is("s") && !l.space_before)?;
    // "1990's" with a noun after it may be a possessive; a decade is meant far more often.
    let years = if year % 100 == 0 { Years { first: year, last: year + 99 } } else { Years::decade(year) };
    s.is_word().then(|| (Value::Date(with_years(years)), at + 2 + apostrophe))
}

/// "the 19th century", "nineteenth-century", "5th century BC".
fn century(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let (number, after) = number_at(lexemes, at).filter(|(n, _)| n.ordinal)?;
    let dash = usize::from(lexemes.get(after).is_some_and(|l| l.is("-") && !l.space_before));
    same_line(lexemes, after + dash).filter(|l| l.is("century") || l.is("centuries"))?;
    let number = u32::try_from(number.value.to_i64()?).ok().filter(|n| (1..=40).contains(n))?;
    let after = after + dash + 1;
    let (bc, next) = same_line(lexemes, after).and_then(|_| era_at(lexemes, after)).unwrap_or((false, after));
    Some((Value::Date(with_years(Years::century(number, bc))), next))
}

/// "summer 1990", "the spring of 1990", "Fall 2001".
fn season(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    let season = match lexemes.get(at)?.text.as_str() {
        "spring" => Season::Spring,
        "summer" => Season::Summer,
        "autumn" | "fall" => Season::Autumn,
        "winter" => Season::Winter,
        _ => return None,
    };
    let (year, next) = trailing_year(lexemes, at + 1)?;
    Some((Value::Date(Date { season: Some(season), ..Date::year(year) }), next))
}
