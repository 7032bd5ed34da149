//! Another name of the same kind, at places of a sentence where only one name is right.
//!
//! "Anna starred in it" does not become false when another person starred too. So names are changed only where the
//! relation has one answer: who a thing was made by, where somebody was born, what people somebody belongs to.

use std::ops::Range;

use counterproof_core::QuestionType;
use counterproof_text::mention::mentions;

use super::{Change, Names, TwinKind};

const PEOPLES: &[&str] = &[
    "American",
    "British",
    "Canadian",
    "Australian",
    "French",
    "German",
    "Italian",
    "Spanish",
    "Portuguese",
    "Dutch",
    "Swedish",
    "Norwegian",
    "Danish",
    "Finnish",
    "Polish",
    "Russian",
    "Turkish",
    "Greek",
    "Irish",
    "Scottish",
    "Chinese",
    "Japanese",
    "Korean",
    "Indian",
    "Pakistani",
    "Iranian",
    "Egyptian",
    "Nigerian",
    "Mexican",
    "Brazilian",
    "Argentine",
    "Chilean",
    "Colombian",
    "Cuban",
    "Hungarian",
    "Austrian",
    "Swiss",
    "Belgian",
    "Czech",
    "Romanian",
];
const COUNTRIES: &[&str] = &[
    "Canada",
    "Mexico",
    "Brazil",
    "Argentina",
    "Chile",
    "Peru",
    "Colombia",
    "France",
    "Germany",
    "Italy",
    "Spain",
    "Portugal",
    "Sweden",
    "Norway",
    "Denmark",
    "Finland",
    "Poland",
    "Russia",
    "Turkey",
    "Greece",
    "Ireland",
    "Scotland",
    "England",
    "China",
    "Japan",
    "India",
    "Pakistan",
    "Iran",
    "Egypt",
    "Nigeria",
    "Kenya",
    "Australia",
    "Austria",
    "Hungary",
    "Belgium",
    "Romania",
];
const STATES: &[&str] = &[
    "California",
    "Texas",
    "Florida",
    "Ohio",
    "Michigan",
    "Illinois",
    "Pennsylvania",
    "Virginia",
    "Massachusetts",
    "Georgia",
    "Oregon",
    "Colorado",
    "Arizona",
    "Alabama",
    "Tennessee",
    "Kentucky",
    "Minnesota",
    "Wisconsin",
    "Iowa",
    "Kansas",
    "Missouri",
    "Louisiana",
    "Nevada",
    "Utah",
    "Maine",
    "Vermont",
    "Connecticut",
    "Maryland",
    "Indiana",
    "Oklahoma",
];
const CITIES: &[&str] = &[
    "London",
    "Paris",
    "Berlin",
    "Rome",
    "Madrid",
    "Lisbon",
    "Vienna",
    "Prague",
    "Warsaw",
    "Budapest",
    "Moscow",
    "Athens",
    "Istanbul",
    "Cairo",
    "Mumbai",
    "Tokyo",
    "Beijing",
    "Shanghai",
    "Sydney",
    "Melbourne",
    "Toronto",
    "Montreal",
    "Chicago",
    "Boston",
    "Philadelphia",
    "Houston",
    "Dallas",
    "Seattle",
    "Denver",
    "Detroit",
    "Atlanta",
    "Miami",
    "Dublin",
    "Glasgow",
    "Edinburgh",
    "Manchester",
    "Liverpool",
    "Birmingham",
    "Hamburg",
    "Munich",
    "Milan",
    "Naples",
    "Stockholm",
    "Oslo",
];
const MONTH_LIKE: &[&str] = &["in", "at", "from", "near", "to", "of"];

/// The places where a name may be changed, each with the names it may be changed for.
pub(super) fn places_of_change<'a>(text: &str, names: &'a Names) -> Vec<(Range<usize>, Vec<&'a str>)> {
    let mut out: Vec<(Range<usize>, Vec<&str>)> = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let span = at..at + word.len();
        at += piece.len();
        if !word.starts_with(char::is_uppercase) {
            continue;
        }
        let before = text.get(..span.start).unwrap_or_default();
        let after = text.get(span.end..).unwrap_or_default();
        let last = before.trim_end().rsplit(' ').next().unwrap_or_default();
        let next = after.trim_start().chars().next();
        // "American Idol", "New London", "Paris, Texas", "South African": part of a longer name.
        let longer = after.starts_with('-')
            || after.starts_with(" football")
            || before.ends_with(['-', '\'', '’'])
            || after.starts_with([' ']) && next.is_some_and(char::is_uppercase)
            || after.starts_with(", ") && after.get(2..).is_some_and(|a| a.starts_with(char::is_uppercase))
            || last.starts_with(char::is_uppercase) && !before.trim_end().ends_with('.');
        if longer {
            continue;
        }
        if PEOPLES.contains(&word)
            && matches!(last, "a" | "an" | "the" | "is" | "was" | "former")
            && next.is_some_and(char::is_lowercase)
        {
            out.push((span, PEOPLES.iter().filter(|p| **p != word).copied().collect()));
            continue;
        }
        for list in [COUNTRIES, STATES, CITIES] {
            if list.contains(&word) && MONTH_LIKE.contains(&last) && placed(before) {
                out.push((span.clone(), list.iter().filter(|p| **p != word).copied().collect()));
                break;
            }
        }
    }
    for mention in mentions(text, QuestionType::Who) {
        let span = mention.span.start()..mention.span.end();
        let before = text.get(..span.start).unwrap_or_default();
        let mut words = before.split_whitespace().rev();
        let made = words.next() == Some("by") && words.next().is_some_and(is_participle);
        let listed = text
            .get(span.end..)
            .is_some_and(|t| t.starts_with(" and ") || t.starts_with(", ") || t.starts_with(" &"));
        if made && !listed && mention.text.split(' ').count() == 2 && !names.persons.is_empty() {
            let others = names.persons.iter().map(String::as_str).filter(|p| *p != mention.text);
            out.push((span, others.collect()));
        }
    }
    out
}

/// Whether what stands before a place name says that something is or happened there and nowhere else.
fn placed(before: &str) -> bool {
    const RELATIONS: [&str; 24] = [
        "born",
        "died",
        "located",
        "based",
        "founded",
        "headquartered",
        "situated",
        "raised",
        "buried",
        "set",
        "city",
        "town",
        "village",
        "capital",
        "held",
        "built",
        "lies",
        "province",
        "state",
        "killed",
        "formed",
        "established",
        "county",
        "is",
    ];
    let words: Vec<&str> = before.split_whitespace().rev().take(4).collect();
    words.iter().any(|w| RELATIONS.contains(w))
}

fn is_participle(word: &str) -> bool {
    word.ends_with("ed")
        || matches!(
            word,
            "written"
                | "made"
                | "built"
                | "won"
                | "sung"
                | "led"
                | "drawn"
                | "run"
                | "held"
                | "known"
                | "given"
                | "beaten"
                | "chosen"
                | "shot"
                | "taken"
        )
}

/// The change of the name at `span` for `with`, with the article before it.
pub(super) fn change(text: &str, span: Range<usize>, with: &str) -> Option<Change> {
    let before = text.get(..span.start)?;
    let vowel = with.starts_with(['A', 'E', 'I', 'O']);
    for (article, is_an) in [(" a ", false), (" an ", true)] {
        if before.ends_with(article) && is_an != vowel {
            let start = span.start - (article.len() - 1);
            let with = format!("{} {with}", if vowel { "an" } else { "a" });
            return Some(Change { kind: TwinKind::Name, span: start..span.end, with });
        }
    }
    Some(Change { kind: TwinKind::Name, span, with: with.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<&str> {
        let names = Names { persons: vec!["Tom Jones".into()] };
        places_of_change(text, &names).into_iter().map(|(span, _)| &text[span]).collect()
    }

    #[test]
    fn only_where_one_name_is_right() {
        assert_eq!(written("He is an American actor born in Paris."), ["American", "Paris"]);
        assert_eq!(written("It was written by Anna Smith in 1990."), ["Anna Smith"]);
        for text in [
            "American Idol is a show.",
            "He was born in Paris, Texas.",
            "He spoke to Paris.",
            "Anna Smith starred with Eve Black.",
            "It was written by Anna Smith and Eve Black.",
            "He lives in New London.",
        ] {
            assert!(written(text).is_empty(), "{text}: {:?}", written(text));
        }
    }

    #[test]
    fn the_article_goes_with_the_name() {
        let text = "He is an American actor.";
        let span = text.find("American").map(|at| at..at + 8).unwrap();
        assert_eq!(
            change(text, span.clone(), "French").unwrap().apply(text).unwrap(),
            "He is a French actor."
        );
        assert_eq!(change(text, span, "Irish").unwrap().apply(text).unwrap(), "He is an Irish actor.");
    }
}
