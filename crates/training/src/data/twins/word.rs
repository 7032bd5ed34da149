//! A word for its opposite, where the two cannot both be true.

use std::ops::Range;

/// Pairs that exclude each other in nearly every sentence, in both directions.
const OPPOSITES: &[(&str, &str)] = &[
    ("first", "last"),
    ("north", "south"),
    ("northern", "southern"),
    ("east", "west"),
    ("eastern", "western"),
    ("northeast", "southwest"),
    ("northwest", "southeast"),
    ("largest", "smallest"),
    ("highest", "lowest"),
    ("oldest", "youngest"),
    ("longest", "shortest"),
    ("before", "after"),
    ("won", "lost"),
    ("increased", "decreased"),
    ("rose", "fell"),
    ("male", "female"),
    ("son", "daughter"),
    ("brother", "sister"),
    ("husband", "wife"),
    ("father", "mother"),
    ("upper", "lower"),
    ("majority", "minority"),
    ("more", "fewer"),
    ("above", "below"),
    ("best", "worst"),
    ("most", "least"),
    ("public", "private"),
    ("winter", "summer"),
    ("spring", "autumn"),
    ("older", "younger"),
    ("larger", "smaller"),
    ("higher", "lower"),
    ("king", "queen"),
    ("prince", "princess"),
    ("boys", "girls"),
    ("men", "women"),
    ("begins", "ends"),
    ("began", "ended"),
    ("married", "divorced"),
    ("accepted", "rejected"),
    ("success", "failure"),
    ("dead", "alive"),
    ("left", "right"),
];

/// Words before which an opposite changes the grammar or the sense ("at least", "most of", "more than").
fn is_bound(before: &str, word: &str, after: &str) -> bool {
    let last = before.trim_end().rsplit(' ').next().unwrap_or_default().to_lowercase();
    let next = after.trim_start().split(' ').next().unwrap_or_default().to_lowercase();
    match word {
        "first" | "last" => {
            last == "at" || matches!(next.as_str(), "name" | "year" | "time" | "two" | "week")
        }
        "more" | "fewer" => {
            next != "than"
                || after
                    .trim_start()
                    .split(' ')
                    .nth(1)
                    .is_none_or(|w| !w.starts_with(|c: char| c.is_ascii_digit()))
        }
        "most" | "least" => last == "at" || last != "the",
        "before" | "after" => {
            matches!(next.as_str(), "that" | "which" | "his" | "her" | "a" | "being")
                || matches!(last.as_str(), "named" | "the" | "shortly")
        }
        "fell" | "rose" => matches!(next.as_str(), "in" | "into" | "ill" | "to" | "from"),
        // "left the band", "the right to vote".
        "left" | "right" => {
            !matches!(next.as_str(), "hand" | "side" | "bank" | "wing" | "eye" | "leg" | "arm" | "foot")
        }
        _ => false,
    }
}

/// The places of words that have an opposite, with it. Words inside names (with a capital) stay.
pub(super) fn changes(text: &str) -> Vec<(Range<usize>, String)> {
    let mut out = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let span = at..at + word.len();
        at += piece.len();
        let opposite = OPPOSITES.iter().find_map(|(a, b)| {
            if *a == word {
                Some(*b)
            } else if *b == word {
                Some(*a)
            } else {
                None
            }
        });
        let (before, after) =
            (text.get(..span.start).unwrap_or_default(), text.get(span.end..).unwrap_or_default());
        let in_name = after.strip_prefix([' ', '-']).is_some_and(|rest| rest.starts_with(char::is_uppercase))
            && !matches!(word, "before" | "after")
            || after.starts_with('-')
            || before.ends_with('-');
        if let Some(opposite) = opposite
            && !is_bound(before, word, after)
            && !in_name
        {
            out.push((span, opposite.to_owned()));
        }
    }
    out
}

/// Whether the word at `span` stands beside the same word in `other` as in `text`: "the largest lake" in both, so that the
/// two speak of one thing.
pub(super) fn stands_alike(text: &str, span: &Range<usize>, other: &str) -> bool {
    let word = text.get(span.clone()).unwrap_or_default();
    let next = |t: &str| -> String {
        let word = t.split(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty());
        word.unwrap_or_default().to_lowercase()
    };
    let last = |t: &str| -> String {
        let word = t.rsplit(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty());
        word.unwrap_or_default().to_lowercase()
    };
    const EMPTY: [&str; 12] = ["", "the", "a", "an", "of", "in", "and", "to", "is", "was", "his", "her"];
    let around = |t: &str, at: &Range<usize>| {
        (last(t.get(..at.start).unwrap_or_default()), next(t.get(at.end..).unwrap_or_default()))
    };
    let (before, after) = around(text, span);
    other.match_indices(word).any(|(at, found)| {
        let (b, a) = around(other, &(at..at + found.len()));
        let same = |x: &str, y: &str| x == y && !EMPTY.contains(&x);
        same(&before, &b) || same(&after, &a)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_about_the_same_thing_are_changed() {
        let text = "It is the largest lake of Italy.";
        let span = text.find("largest").map(|at| at..at + 7).unwrap();
        assert!(stands_alike(text, &span, "The largest lake is there."));
        assert!(!stands_alike(text, &span, "The largest of its towns is there."));
    }

    #[test]
    fn opposites_by_whole_words() {
        let made: Vec<String> =
            changes("It is the largest lake in the north of Italy, the first to be named after him.")
                .into_iter()
                .map(|(_, with)| with)
                .collect();
        assert_eq!(made, ["smallest", "south", "last"]);
        for text in [
            "At first it was the First Lady.",
            "At least most of it.",
            "the north Atlantic coast-north",
            "firstly",
        ] {
            assert!(changes(text).is_empty(), "{text}: {:?}", changes(text));
        }
    }
}
