//! The rating in a judge's reply: one whole number on a scale that the reply may repeat.

use std::ops::RangeInclusive;

use crate::value::{Value, values};

/// What a reply says on the scale that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rating {
    /// One number.
    Given(u32),
    /// Several numbers, so that none can be taken.
    Ambiguous,
    /// No number of the scale.
    Missing,
}

/// Reads the rating on `scale` in `text`. The scale itself ("on a scale of 0 to 3", "0-3", "out of 3", "/3") is not the
/// rating; two different ratings ("2 or 3") are [`Rating::Ambiguous`], never the first of them.
pub fn rating(text: &str, scale: RangeInclusive<u32>) -> Rating {
    let mut given = None;
    for found in values(text) {
        let numbers = match &found.value {
            Value::Range(range) => {
                let ends = [whole(&range.low), whole(&range.high)];
                if ends == [Some(*scale.start()), Some(*scale.end())] {
                    continue;
                }
                ends.to_vec()
            }
            value => vec![whole(value)],
        };
        let before = text.get(..found.span.start()).unwrap_or_default().trim_end();
        let names_the_top =
            before.ends_with('/') || ["out of", "Out of", "OUT OF"].iter().any(|w| before.ends_with(w));
        for number in numbers.into_iter().flatten().filter(|n| scale.contains(n)) {
            if names_the_top && number == *scale.end() {
                continue;
            }
            match given {
                None => given = Some(number),
                Some(earlier) if earlier == number => {}
                Some(_) => return Rating::Ambiguous,
            }
        }
    }
    given.map_or(Rating::Missing, Rating::Given)
}

fn whole(value: &Value) -> Option<u32> {
    let number = value.number().filter(|n| !n.ordinal)?;
    u32::try_from(number.value.to_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_not_the_rating() {
        for (text, expected) in [
            ("On a scale of 0 to 3, I rate this 3", Rating::Given(3)),
            ("Score 0-3: it covers most points, so 3", Rating::Given(3)),
            ("scale of 0 to 3, I give 2 or 3", Rating::Ambiguous),
            ("2/3", Rating::Given(2)),
            ("3/3", Rating::Given(3)),
            ("two out of 3", Rating::Given(2)),
            ("Rating: 2. I repeat, 2.", Rating::Given(2)),
            ("between 1 and 2", Rating::Ambiguous),
            ("7", Rating::Missing),
            ("", Rating::Missing),
            ("the first", Rating::Missing),
        ] {
            assert_eq!(rating(text, 0..=3), expected, "{text}");
        }
    }
}
