//! Another number or date, written as the first one is.

use std::ops::Range;

use counterproof_text::packs::english::{MONTH_NAMES, ORDINAL_WORDS, TENS_WORDS, UNITS_WORDS};
use counterproof_text::value::{Comparison, Date, Value, compare, values};

use super::TwinKind;
use crate::data::pick;
use crate::random::Random;

/// Whether the figure belongs to a name ("Apollo 11", "World War II", "iPhone 4").
pub(super) fn is_part_of_name(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default().trim_end_matches([' ', '-']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let attached = before.len() == span.start || text.get(..span.start).is_some_and(|t| t.ends_with('-'));
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    let month = MONTH_NAMES.contains(&word.to_lowercase().as_str());
    let opens = before.len() == word.len()
        || before.trim_end_matches(word).trim_end().ends_with(['.', '!', '?', ':']);
    let spaced = text.get(..span.start).is_some_and(|t| t.ends_with(' '));
    (spaced && capital && !month && !opens && !word.is_empty())
        || (attached && !spaced && before.ends_with(|c: char| c.is_alphanumeric()))
}

/// Whether a count stands in brackets ("(season 8)", "(37 mi)") or opens a title ("21 Jump Street").
pub(super) fn is_aside_or_title(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let aside = before.rfind('(').is_some_and(|open| before.rfind(')').is_none_or(|close| close < open));
    let after = text.get(span.end..).unwrap_or_default();
    aside || after.strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

/// The kind of change and the new words for `value`, which is written as `written`; `None` where no rule keeps it
/// fluent.
pub(super) fn changed(value: &Value, written: &str, random: &mut Random) -> Option<(TwinKind, String)> {
    let (kind, with) = match value {
        Value::Date(date) => (TwinKind::Date, dated(date, written, random)?),
        Value::Number(_) | Value::Percent(_) | Value::Quantity(_) => {
            (TwinKind::Number, counted(written, random)?)
        }
        Value::Range(_) => return None,
    };
    // "1.5 million" may be rounded to "2.0 million": the new words have to be at odds by value.
    let differs = values(&with).first().is_some_and(|n| compare(&n.value, value) == Comparison::Different);
    differs.then_some((kind, with))
}

/// The parts of a text that are digits, with the commas and points inside.
fn figures(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        let inner = matches!(byte, b',' | b'.') && at > 0 && digit(at - 1) && digit(at + 1);
        if !(byte.is_ascii_digit() || inner) {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => out.push(at..at + 1),
        }
    }
    out
}

fn replace(text: &str, range: &Range<usize>, with: &str) -> Option<String> {
    Some(format!("{}{with}{}", text.get(..range.start)?, text.get(range.end..)?))
}

/// A date with its year, its month or its day changed.
fn dated(date: &Date, written: &str, random: &mut Random) -> Option<String> {
    let figures = figures(written);
    let years = date.years?;
    let year = figures.iter().find(|f| f.len() == 4);
    let part = random.below(3);
    if part == 1
        && let Some(month) = date.month
    {
        let from = MONTH_NAMES.get(usize::from(month).checked_sub(1)?)?;
        let at = written.to_lowercase().find(from)?;
        let others: Vec<&&str> = MONTH_NAMES.iter().filter(|m| *m != from).collect();
        let to = pick(random, &others)?;
        let to: String = to.chars().take(1).flat_map(char::to_uppercase).chain(to.chars().skip(1)).collect();
        return replace(written, &(at..at + from.len()), &to);
    }
    if part == 2
        && let Some(day) = date.day
        && let Some(range) =
            figures.iter().find(|f| written.get((*f).clone()).is_some_and(|t| t.parse() == Ok(day)))
    {
        // "3rd" would need another ending.
        if written.get(range.end..).is_some_and(|t| t.starts_with(char::is_alphabetic)) {
            return None;
        }
        let to = 1 + (usize::from(day) + random.below(26)) % 28;
        return replace(written, range, &to.to_string()).filter(|_| to != usize::from(day));
    }
    if let Some(range) = year {
        let old: i32 = written.get(range.clone())?.parse().ok()?;
        let decade = !years.is_single();
        let step = if decade {
            10 * (1 + random.below(6) as i32)
        } else {
            let widest = if random.below(2) == 0 { 5 } else { 40 };
            1 + random.below(widest) as i32
        };
        let up = old + step <= 2023 && random.below(2) == 0;
        return replace(written, range, &(if up { old + step } else { old - step }).to_string());
    }
    // "19th century": another one.
    let range = figures.first()?;
    let number: u32 = written.get(range.clone())?.parse().ok().filter(|n| (4..=20).contains(n))?;
    let others: Vec<u32> = (4..=20).filter(|n| *n != number).collect();
    let rest = written.get(range.end..)?;
    rest.starts_with("th").then_some(())?;
    replace(written, range, &pick(random, &others)?.to_string())
}

fn counted(written: &str, random: &mut Random) -> Option<String> {
    let figures = figures(written);
    if let [range] = figures.as_slice() {
        return replace(
            written,
            range,
            &figure(written.get(range.clone())?, written.get(range.end..)?, random)?,
        );
    }
    if !figures.is_empty() {
        return None;
    }
    // The first word that names a number is changed: "twelve million".
    let mut at = 0;
    for word in written.split_inclusive([' ', '-']) {
        let bare = word.trim_end_matches([' ', '-']);
        if let Some(to) = worded(bare, random) {
            return replace(written, &(at..at + bare.len()), &to);
        }
        at += word.len();
    }
    None
}

/// Another number word of the same row: "three" for "five", "twelfth" for "second".
fn worded(word: &str, random: &mut Random) -> Option<String> {
    let lower = word.to_lowercase();
    for list in [UNITS_WORDS, TENS_WORDS, ORDINAL_WORDS] {
        let Some((_, number)) = list.iter().find(|(w, _)| *w == lower) else { continue };
        // "zero" and "one" ask for other grammar around them.
        let fits = |n: u32| n != *number && (n > 1 || std::ptr::eq(list, ORDINAL_WORDS)) && n <= 90;
        if !std::ptr::eq(list, ORDINAL_WORDS) && *number < 2 {
            return None;
        }
        let near = |n: u32| n.abs_diff(*number) <= 8 || *number >= 20;
        let others: Vec<&str> =
            list.iter().filter(|(w, n)| fits(*n) && near(*n) && *w != "fourty").map(|(w, _)| *w).collect();
        let to = *pick(random, &others)?;
        let capital = word.starts_with(char::is_uppercase);
        return Some(if capital {
            to.chars().take(1).flat_map(char::to_uppercase).chain(to.chars().skip(1)).collect()
        } else {
            to.to_owned()
        });
    }
    None
}

/// Another figure of the same size and form: thousands parted if they were, as many decimals, as many zeros at the end.
fn figure(written: &str, rest: &str, random: &mut Random) -> Option<String> {
    if rest.starts_with(|c: char| c.is_alphabetic()) && !rest.starts_with('m') && !rest.starts_with('k') {
        // "21st": the ending belongs to the number.
        let number: u32 = written.parse().ok()?;
        return rest.starts_with("th").then(|| {
            let to = 4 + random.below(16) as u32;
            if to == number { to + 1 } else { to }.to_string()
        });
    }
    let parted = written.contains(',');
    let bare: String = written.chars().filter(|c| *c != ',').collect();
    let decimals = bare.split_once('.').map_or(0, |(_, d)| d.len());
    let digits: String = bare.chars().filter(char::is_ascii_digit).collect();
    let number: u64 = digits.parse().ok().filter(|n| *n > 1 || decimals > 0)?;
    let zeros = if decimals > 0 { 0 } else { digits.len() - digits.trim_end_matches('0').len() };
    let unit = 10u64.checked_pow(u32::try_from(zeros).ok()?)?;
    let core = number / unit;
    let span = match core {
        0..=9 => 5,
        10..=99 => 12,
        _ => core / 2,
    };
    let step = 1 + random.below(usize::try_from(span).ok()?) as u64;
    // "1,200" stays a figure with a comma.
    let smaller = core > step + 1 && (!parted || (core - step) * unit >= 1000);
    let to = if smaller && random.below(2) == 0 { core - step } else { core + step };
    let to = to.checked_mul(unit)?;
    let percent = rest.trim_start().starts_with('%') || rest.trim_start().starts_with("percent");
    if percent && decimals == 0 && to > 99 {
        return None;
    }
    let mut text = to.to_string();
    if decimals > 0 {
        while text.len() <= decimals {
            text.insert(0, '0');
        }
        text.insert(text.len() - decimals, '.');
    }
    if parted {
        let whole = text.find('.').unwrap_or(text.len());
        let mut at = whole;
        while at > 3 {
            at -= 3;
            text.insert(at, ',');
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins(written: &str) -> Vec<String> {
        let value = values(written).remove(0).value;
        let made = (0..60).filter_map(|seed| changed(&value, written, &mut Random::new(seed)));
        made.map(|(_, text)| text).collect()
    }

    #[test]
    fn a_twin_is_written_like_its_source_and_says_another_value() {
        for written in [
            "1967",
            "January 15, 1967",
            "15 January 1967",
            "the 1990s",
            "4,523,000",
            "12",
            "3.75",
            "45%",
            "twelve",
            "third",
            "5 km",
            "$1,200",
            "1.5 million",
            "19th century",
            "8th",
        ] {
            let twins = twins(written);
            assert!(twins.len() >= 20, "{written}: {twins:?}");
            let value = values(written).remove(0).value;
            for twin in twins {
                let other = values(&twin);
                assert_eq!(other.len(), 1, "{twin}");
                assert_eq!(compare(&value, &other[0].value), Comparison::Different, "{written} -> {twin}");
                assert_eq!(written.contains(','), twin.contains(','), "{written} -> {twin}");
            }
        }
    }

    #[test]
    fn every_part_of_a_date_is_changed_at_times() {
        let made = twins("January 15, 1967");
        assert!(made.iter().any(|t| t.ends_with("15, 1967") && !t.starts_with("January")));
        assert!(made.iter().any(|t| t.starts_with("January") && t.ends_with("1967")));
        assert!(made.iter().any(|t| t.starts_with("January 15,")));
    }

    #[test]
    fn asides_and_titles_stay() {
        for (text, figure, is) in [
            ("Idol (season 8) began", "8", true),
            ("He was in 21 Jump Street.", "21", true),
            ("It (a lake) has 8 islands.", "8", false),
        ] {
            let at = text.find(figure).unwrap();
            assert_eq!(is_aside_or_title(text, &(at..at + figure.len())), is, "{text}");
        }
    }

    #[test]
    fn figures_in_names_stay() {
        for (text, figure, named) in [
            ("It flew on Apollo 11.", "11", true),
            ("In May 1990 it closed.", "1990", false),
            ("Of 11 men", "11", false),
            ("the iPhone 4 sold", "4", false),
            ("He won. Twelve", "Twelve", false),
            ("a Boeing-747 landed", "747", true),
        ] {
            let at = text.find(figure).unwrap();
            assert_eq!(is_part_of_name(text, &(at..at + figure.len())), named, "{text}");
        }
    }
}
