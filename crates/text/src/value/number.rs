//! Numbers in digits and in English words.

use super::{Decimal, Number};
use crate::packs::english;
use crate::scan::Lexeme;

fn in_table(table: &[(&str, u32)], word: &str) -> Option<u32> {
    table.iter().find(|(w, _)| *w == word).map(|(_, n)| *n)
}

/// Reads digits with separators; the second number is what the other convention reads.
///
/// `1,234` and `1,234.5` follow the English convention and `1.234,5` the European one beyond doubt; `1.234` may be
/// either. Anything else with several separators (`1.2.3`) is no number.
pub(super) fn literal(text: &str) -> Option<(Decimal, Option<Decimal>)> {
    let commas = text.matches(',').count();
    let points = text.matches('.').count();
    let plain = |t: &str| Decimal::parse(&t.replace(',', ""));
    match (commas, points) {
        (0, 0) => Some((Decimal::parse(text)?, None)),
        (0, 1) => {
            let value = Decimal::parse(text)?;
            let (whole, fraction) = text.split_once('.')?;
            let unclear = fraction.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0');
            Some((value, if unclear { Decimal::parse(&text.replace('.', "")) } else { None }))
        }
        (0, _) if grouped(text, '.') => Some((Decimal::parse(&text.replace('.', ""))?, None)),
        (_, 0) if grouped(text, ',') => Some((plain(text)?, None)),
        (1, 0) => {
            let (_, fraction) = text.split_once(',')?;
            (fraction.len() < 3).then(|| Decimal::parse(&text.replace(',', ".")).map(|d| (d, None)))?
        }
        (_, 1) => {
            let (whole, fraction) = text.split_once('.')?;
            if fraction.contains(',') {
                // European: points part the thousands, one comma the fraction.
                let (groups, decimals) = text.rsplit_once(',')?;
                return (commas == 1 && grouped(groups, '.')).then(|| {
                    Decimal::parse(&format!("{}.{decimals}", groups.replace('.', ""))).map(|d| (d, None))
                })?;
            }
            grouped(whole, ',').then(|| plain(text).map(|d| (d, None)))?
        }
        (1, _) => {
            let (groups, decimals) = text.split_once(',')?;
            (grouped(groups, '.') && !decimals.contains('.')).then(|| {
                Decimal::parse(&format!("{}.{decimals}", groups.replace('.', ""))).map(|d| (d, None))
            })?
        }
        _ => None,
    }
}

/// Whether `separator` parts the digits as thousands (`4,523,000`) or, with commas, as in India (`12,34,567`).
fn grouped(text: &str, separator: char) -> bool {
    let groups: Vec<&str> = text.split(separator).collect();
    let [first, middle @ .., last] = groups.as_slice() else { return false };
    let western = (1..=3).contains(&first.len()) && middle.iter().all(|g| g.len() == 3) && last.len() == 3;
    let indian = separator == ','
        && (1..=2).contains(&first.len())
        && !middle.is_empty()
        && middle.iter().all(|g| g.len() == 2)
        && last.len() == 3;
    western || indian
}

/// The scale word at `at` ("million"), as a factor.
fn scale_at(lexemes: &[Lexeme], at: usize) -> Option<Decimal> {
    let lexeme = lexemes.get(at)?;
    if lexeme.line_before {
        return None;
    }
    if let Some(power) = in_table(english::SCALE_WORDS, &lexeme.text) {
        return Some(Decimal::new(1, power as i32));
    }
    match lexeme.text.as_str() {
        "hundred" => Some(Decimal::from(100u32)),
        "dozen" => Some(Decimal::from(12u32)),
        _ => None,
    }
}

/// Reads the number that starts at `at`, in digits or words, with its scale ("1.5 million", "3 dozen"); the place
/// after it is returned too. Signs, units and words of approximation are the caller's.
pub(super) fn number_at(lexemes: &[Lexeme], at: usize) -> Option<(Number, usize)> {
    let lexeme = lexemes.get(at)?;
    if lexeme.is_number() {
        return digits_at(lexemes, at);
    }
    if lexeme.is_word() { words_at(lexemes, at) } else { None }
}

fn digits_at(lexemes: &[Lexeme], at: usize) -> Option<(Number, usize)> {
    let (mut value, mut alternative) = literal(&lexemes.get(at)?.text)?;
    let mut next = at + 1;
    let suffix = lexemes.get(next).filter(|l| !l.space_before);
    if suffix.is_some_and(|l| matches!(l.text.as_str(), "st" | "nd" | "rd" | "th")) {
        return Some((Number { ordinal: true, ..Number::exact(value) }, next + 1));
    }
    let mut rounded = false;
    // "1.5 million", "1.5-million": a scale word decides that the point is a decimal one.
    loop {
        let dashed = lexemes.get(next).is_some_and(|l| l.is("-") && !l.space_before);
        let scale_place = if dashed { next + 1 } else { next };
        let Some(scale) = scale_at(lexemes, scale_place) else { break };
        let Some(product) = value.times(scale) else { break };
        (value, alternative, rounded, next) = (product, None, true, scale_place + 1);
    }
    Some((Number { alternative, rounded, ..Number::exact(value) }, next))
}

/// "twenty-one", "one hundred and five", "a dozen", "twenty-first", "half a million".
fn words_at(lexemes: &[Lexeme], at: usize) -> Option<(Number, usize)> {
    let first = lexemes.get(at)?;
    let mut next = at;
    let (mut total, mut group) = (Decimal::ZERO, Decimal::ZERO);
    let (mut any, mut ordinal, mut scaled) = (false, false, false);
    // What may follow within the group: after tens a digit, after a hundred tens or digits.
    let mut room = 1000u32;
    if first.is("half") && lexemes.get(at + 1).is_some_and(|l| l.is("a")) {
        let scale = scale_at(lexemes, at + 2)?;
        return Some((Number { rounded: true, ..Number::exact(scale.times(Decimal::new(5, -1))?) }, at + 3));
    }
    if matches!(first.text.as_str(), "a" | "an") {
        scale_at(lexemes, at + 1)?;
        group = Decimal::from(1u32);
        (any, room, next) = (true, 0, at + 1);
    }
    while let Some(lexeme) = lexemes.get(next) {
        if next > at && lexeme.line_before {
            break;
        }
        let mut place = next;
        if any && (lexeme.is("and") || lexeme.is("-") && !lexeme.space_before) {
            place += 1;
            // "one and two" are two numbers: "and" joins only after a hundred or more.
            if lexeme.is("and") && !scaled {
                break;
            }
        }
        let Some(lexeme) = lexemes.get(place).filter(|l| l.is_word()) else { break };
        let word = lexeme.text.as_str();
        let fits = |n: &u32| room >= 100 || (room == 10 && (1..10).contains(n));
        if let Some(n) = in_table(english::UNITS_WORDS, word).filter(fits) {
            group = group.plus(Decimal::from(n))?;
            (any, room, next) = (true, 0, place + 1);
        } else if let Some(n) = in_table(english::TENS_WORDS, word).filter(|_| room >= 100) {
            group = group.plus(Decimal::from(n))?;
            (any, room, next) = (true, 10, place + 1);
        } else if let Some(n) = in_table(english::ORDINAL_WORDS, word).filter(fits) {
            group = group.plus(Decimal::from(n))?;
            (any, ordinal, next) = (true, true, place + 1);
            break;
        } else if any
            && place == next
            && word == "hundred"
            && room < 100
            && group.to_i64().is_some_and(|n| (1..100).contains(&n))
        {
            group = group.times(Decimal::from(100u32))?;
            (room, scaled, next) = (100, true, place + 1);
        } else if any
            && place == next
            && group != Decimal::ZERO
            && let Some(scale) = scale_at(lexemes, place)
        {
            total = total.plus(group.times(scale)?)?;
            group = Decimal::ZERO;
            (room, scaled, next) = (1000, true, place + 1);
        } else {
            break;
        }
    }
    if !any || (next == at + 1 && is_not_counting(lexemes, at)) {
        return None;
    }
    Some((Number { ordinal, ..Number::exact(total.plus(group)?) }, next))
}

/// "one" as a pronoun ("one of the", "no one"), "second" as a unit of time.
fn is_not_counting(lexemes: &[Lexeme], at: usize) -> bool {
    let word = lexemes.get(at).map(|l| l.text.as_str()).unwrap_or_default();
    let next = lexemes.get(at + 1).map(|l| l.text.as_str()).unwrap_or_default();
    let before = at.checked_sub(1).and_then(|b| lexemes.get(b)).map(|l| l.text.as_str()).unwrap_or_default();
    match word {
        "one" => {
            matches!(next, "of" | "another" | "'" | "’" | "should" | "can" | "must" | "who" | "that")
                || matches!(before, "no" | "any" | "every" | "each" | "this" | "that" | "which" | "some")
        }
        "a" | "an" => true,
        _ => false,
    }
}

/// The Roman numeral in `text`, when it is a well-formed one below 4000.
pub(super) fn roman(text: &str) -> Option<u32> {
    const PARTS: [(&str, u32); 13] = [
        ("m", 1000),
        ("cm", 900),
        ("d", 500),
        ("cd", 400),
        ("c", 100),
        ("xc", 90),
        ("l", 50),
        ("xl", 40),
        ("x", 10),
        ("ix", 9),
        ("v", 5),
        ("iv", 4),
        ("i", 1),
    ];
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    let (mut rest, mut total) = (text, 0);
    for (part, n) in PARTS {
        while let Some(after) = rest.strip_prefix(part) {
            (rest, total) = (after, total + n);
        }
    }
    let mut written = String::new();
    let mut left = total;
    for (part, n) in PARTS {
        while left >= n {
            written.push_str(part);
            left -= n;
        }
    }
    (rest.is_empty() && written == text).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::lex;

    fn read(text: &str) -> Option<String> {
        let lexemes = lex(text);
        let (number, next) = number_at(&lexemes, 0)?;
        (next == lexemes.len()).then(|| number.to_string())
    }

    #[test]
    fn digits_under_each_convention() {
        for (text, value) in [
            ("4,523,000", "4523000"),
            ("1,00,000", "100000"),
            ("1.234,5", "1234.5"),
            ("1.234.567", "1234567"),
            ("1,234.5", "1234.5"),
            ("1,5", "1.5"),
            ("3.14", "3.14"),
            ("0.125", "0.125"),
        ] {
            assert_eq!(literal(text).unwrap().0.to_string(), value, "{text}");
            assert_eq!(literal(text).unwrap().1, None, "{text}");
        }
        assert_eq!(literal("1.234").unwrap().1.unwrap().to_string(), "1234");
        assert_eq!(literal("1.2.3"), None);
        assert_eq!(literal("12,3456"), None);
    }

    #[test]
    fn english_number_words() {
        for (text, value) in [
            ("twelve", "12"),
            ("twenty-one", "21"),
            ("twenty one", "21"),
            ("one hundred and five", "105"),
            ("a hundred", "100"),
            ("two thousand nineteen", "2019"),
            ("one million two hundred thousand", "1200000"),
            ("three dozen", "36"),
            ("3 dozen", "36"),
            ("a dozen", "12"),
            ("1.5 million", "1500000"),
            ("two hundred million", "200000000"),
            ("twenty-first", "21st"),
            ("one hundred and first", "101st"),
            ("twelfth", "12th"),
            ("half a million", "500000"),
            ("five hundred thousand", "500000"),
            ("nineteen hundred", "1900"),
            ("zero", "0"),
        ] {
            assert_eq!(read(text).as_deref(), Some(value), "{text}");
        }
        for text in ["one of them", "one and two", "twelve twelve", "hundred", "a", "two three"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn roman_numerals_are_well_formed() {
        assert_eq!(roman("xiv"), Some(14));
        assert_eq!(roman("ii"), Some(2));
        assert_eq!(roman("iiii"), None);
        assert_eq!(roman("mix"), Some(1009));
        assert_eq!(roman("vx"), None);
    }
}
