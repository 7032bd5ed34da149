//! A value that is a number on a scale.

use std::fmt;

use super::quoted::Given;
use super::{Unparsed, beginning};

/// The scale of a rating, both ends included.
///
/// A rating is read when the reply, without its mentions of the scale itself (`on a scale of 0 to 3`, `2/3`, `2 out of
/// 3`), names exactly one number, or marks exactly one as `[[2]]`. Anything else is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// The scale from `low` to `high`, in either order.
    pub fn new(low: f64, high: f64) -> Self {
        Self { low: low.min(high), high: low.max(high) }
    }

    fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.low, self.high)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Number {
    value: f64,
    start: usize,
    end: usize,
    marked: bool,
}

pub(super) fn read(text: &str, scale: Scale, given: &Given, cut_off: bool) -> Result<f64, Unparsed> {
    if text.trim().is_empty() {
        return Err(Unparsed::Empty);
    }
    let own = given.without_quoted_lines(text);
    let own = given.without_runs(&own);
    let found = numbers(&own);
    let marked: Vec<Number> = found
        .iter()
        .filter(|n| n.marked)
        // A mark that a given text has too may be its own, not the model's.
        .filter(|n| !given.holds(own.get(n.start.saturating_sub(2)..n.end + 2).unwrap_or_default()))
        .copied()
        .collect();
    if found.iter().any(|n| n.marked) && marked.is_empty() {
        return Err(Unparsed::Ambiguous { between: "the model's rating and one it repeats".to_owned() });
    }
    let ratings = if marked.is_empty() { without_scale(&own, &found, scale) } else { marked };
    let mut distinct: Vec<f64> = Vec::new();
    for number in &ratings {
        if !distinct.contains(&number.value) {
            distinct.push(number.value);
        }
    }
    match distinct.as_slice() {
        [] => Err(Unparsed::Unknown { found: beginning(text), allowed: format!("a number from {scale}") }),
        [value] if !scale.holds(*value) => {
            Err(Unparsed::OffScale { found: value.to_string(), scale: scale.to_string() })
        }
        [_] if cut_off && ratings.iter().all(|n| n.end >= own.trim_end().len()) => {
            Err(Unparsed::CutOff { what: "the rating".to_owned() })
        }
        [value] => Ok(*value),
        several => Err(Unparsed::Ambiguous {
            between: several.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// Numbers that are not part of a word, with a leading minus only where it cannot be a dash between numbers.
fn numbers(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|t| t.find(|c: char| c.is_ascii_digit())) {
        let first = at + offset;
        let rest = text.get(first..).unwrap_or_default();
        let mut length = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        length = rest.get(..length).unwrap_or_default().trim_end_matches('.').len();
        let end = first + length;
        let before = text.get(..first).unwrap_or_default();
        let minus = before.strip_suffix('-').is_some_and(|b| !b.ends_with(|c: char| c.is_alphanumeric()));
        let start = if minus { first - 1 } else { first };
        let in_word = text.get(..start).is_some_and(|b| b.ends_with(char::is_alphabetic) && !minus)
            && !text.get(..start).is_some_and(|b| b.ends_with(|c: char| !c.is_ascii()));
        let value = text.get(start..end).and_then(|n| n.parse::<f64>().ok());
        if let Some(value) = value.filter(|_| !in_word) {
            let marked = text.get(..start).is_some_and(|b| b.ends_with("[["))
                && text.get(end..).is_some_and(|a| a.starts_with("]]"));
            found.push(Number { value, start, end, marked });
        }
        at = end.max(first + 1);
    }
    found
}

/// The numbers without those that only name the scale.
fn without_scale(text: &str, found: &[Number], scale: Scale) -> Vec<Number> {
    const BETWEEN: [&str; 9] = ["to", "-", "–", "—", "through", "and", "..", "到", "至"];
    const DENOMINATOR: [&str; 3] = ["/", "out of", "of"];
    let between = |a: &Number, b: &Number| text.get(a.end..b.start).unwrap_or_default().trim().to_lowercase();
    let mut kept = Vec::new();
    let mut i = 0;
    while let Some(number) = found.get(i) {
        let next = found.get(i + 1);
        let is_range = next.is_some_and(|next| {
            number.value == scale.low
                && next.value == scale.high
                && BETWEEN.contains(&between(number, next).trim_end_matches([',', '(']))
        });
        if is_range {
            i += 2;
            continue;
        }
        kept.push(*number);
        let is_denominator = next.is_some_and(|next| {
            next.value == scale.high && DENOMINATOR.contains(&between(number, next).as_str())
        });
        i += if is_denominator { 2 } else { 1 };
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, Reply};
    use super::*;

    fn rate(text: &str) -> Parsed<f64> {
        Reply::new(text).rating(Scale::new(0.0, 3.0))
    }

    #[test]
    fn one_number_on_the_scale_is_the_rating() {
        for (text, rating) in [
            ("3", 3.0),
            ("Rating: 2", 2.0),
            ("2/3", 2.0),
            ("I give it 2 out of 3.", 2.0),
            ("1.5", 1.5),
            ("[[0]]", 0.0),
            ("Of 12 sentences none fits. [[0]]", 0.0),
            ("0到3分，我给2分", 2.0),
            ("3/3", 3.0),
        ] {
            assert_eq!(rate(text), Parsed::Read(rating), "{text}");
        }
    }

    #[test]
    fn several_numbers_are_ambiguous_and_others_off_the_scale() {
        for text in ["2 or 3", "between 1 and 2", "[[1]] or [[2]]", "0 1 2 3"] {
            assert!(matches!(rate(text), Parsed::Unparsed(Unparsed::Ambiguous { .. })), "{text}");
        }
        for text in ["7", "-1", "Rating: 10"] {
            assert!(matches!(rate(text), Parsed::Unparsed(Unparsed::OffScale { .. })), "{text}");
        }
        for text in ["good", "a1", "on a scale of 0 to 3"] {
            assert!(matches!(rate(text), Parsed::Unparsed(Unparsed::Unknown { .. })), "{text}");
        }
        let cut = Reply::new("Rating: 2").cut_off(true).rating(Scale::new(0.0, 30.0));
        assert!(matches!(cut, Parsed::Unparsed(Unparsed::CutOff { .. })));
    }
}
