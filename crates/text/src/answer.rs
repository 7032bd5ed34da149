//! The answer within a reply: its wrapping taken off, and its yes or no read.

use std::borrow::Cow;

use crate::normalise::fold_width;
use crate::packs::{chinese, english};

/// The answer in a model's reply (CounterRefine, step 1.3): the first line that holds anything, without a label such
/// as "Answer:", without quotes or Markdown emphasis around it, and without one final full stop, unless that belongs
/// to an initial or abbreviation.
pub fn clean_answer(raw: &str) -> String {
    let mut text = raw
        .lines()
        .map(|line| line.trim_matches(is_blank))
        .find(|line| !line.is_empty() && !is_bare_label(line))
        .unwrap_or_default();
    // Wrappings nest in any order ("**Answer:** \"Paris.\""): take them off until nothing changes. Each round
    // shortens the text, so this ends.
    loop {
        let before = text.len();
        text = strip_label(text);
        text = strip_emphasis(text);
        text = strip_quotes(text);
        text = strip_final_stop(text);
        if text.len() == before {
            return text.to_owned();
        }
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\0' | '\u{200b}')
}

/// A line that holds only a label or only Markdown fencing: the answer is on the next one.
fn is_bare_label(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| is_blank(c) || matches!(c, '*' | '#' | '_' | '`' | ':' | '：'));
    bare.is_empty() || ((line.starts_with('#') || line.contains([':', '：'])) && is_label(bare))
}

fn is_label(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    english::ANSWER_LABELS.contains(&lower.as_str()) || chinese::ANSWER_LABELS.contains(&lower.as_str())
}

fn strip_label(text: &str) -> &str {
    let text = text.trim_matches(is_blank);
    let text = text.trim_start_matches(['#', '>']).trim_start();
    if let Some((label, rest)) = text.split_once([':', '：'])
        && is_label(label.trim_matches(['*', '_', '`', ' ']))
        && !rest.trim().is_empty()
    {
        return rest.trim_start_matches('*').trim_start();
    }
    for label in chinese::ANSWER_LABELS {
        if let Some(rest) =
            text.strip_prefix(label).and_then(|r| r.strip_prefix('是').or_else(|| r.strip_prefix('为')))
        {
            return rest.trim_start_matches([':', '：']).trim_start();
        }
    }
    for label in english::ANSWER_LABELS.iter().filter(|l| l.ends_with("answer")) {
        for copula in [" is ", " is: ", " was "] {
            let length = label.len() + copula.len();
            let Some(head) = text.get(..length) else { continue };
            if head.to_ascii_lowercase() == format!("{label}{copula}")
                && let Some(rest) = text.get(length..)
                && !rest.trim().is_empty()
            {
                return rest.trim_start();
            }
        }
    }
    text
}

fn strip_emphasis(text: &str) -> &str {
    for mark in ["***", "**", "*", "__", "_", "```", "`"] {
        if let Some(inner) = text.strip_prefix(mark).and_then(|t| t.strip_suffix(mark))
            && !inner.is_empty()
            && !inner.contains(mark)
        {
            return inner.trim();
        }
        if let Some(inner) =
            text.strip_prefix(mark).and_then(|t| t.strip_suffix('.')).and_then(|t| t.strip_suffix(mark))
            && !inner.is_empty()
            && !inner.contains(mark)
        {
            return inner.trim();
        }
    }
    text
}

fn strip_quotes(text: &str) -> &str {
    const PAIRS: [(char, char); 9] = [
        ('"', '"'),
        ('\'', '\''),
        ('“', '”'),
        ('‘', '’'),
        ('«', '»'),
        ('「', '」'),
        ('『', '』'),
        ('"', '”'),
        ('‟', '”'),
    ];
    for (open, close) in PAIRS {
        if let Some(inner) = text.strip_prefix(open).and_then(|t| t.strip_suffix(close))
            && !inner.trim().is_empty()
            && !inner.contains(open)
            && !inner.contains(close)
        {
            return inner.trim();
        }
        // The sentence's own full stop stands after the closing quote.
        if let Some(inner) =
            text.strip_prefix(open).and_then(|t| t.strip_suffix('.')).and_then(|t| t.strip_suffix(close))
            && !inner.trim().is_empty()
            && !inner.contains(open)
            && !inner.contains(close)
        {
            return inner.trim();
        }
    }
    text
}

/// Takes one final full stop off, unless it belongs to an initial ("Samuel L.") or an abbreviation ("Jr.", "U.S.").
fn strip_final_stop(text: &str) -> &str {
    if let Some(body) = text.strip_suffix(['。', '．', '｡']) {
        return body.trim_end();
    }
    let Some(body) = text.strip_suffix('.') else { return text };
    if body.ends_with('.') {
        return text;
    }
    let word =
        body.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | ',' | '-')).next().unwrap_or(body);
    let lower = word.to_lowercase();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let is_dotted = word.contains('.')
        && word
            .split('.')
            .all(|p| (1..=2).contains(&p.chars().count()) && p.chars().all(char::is_alphabetic));
    // Time zones and units aside, only forms that are nothing but abbreviations keep their stop.
    const KEPT: [&str; 22] = [
        "jr", "sr", "esq", "inc", "ltd", "co", "corp", "bros", "llc", "etc", "dr", "mr", "mrs", "ms", "st",
        "prof", "dept", "ave", "blvd", "mt", "univ", "vol",
    ];
    if is_initial || is_dotted || KEPT.contains(&lower.as_str()) { text } else { body.trim_end() }
}

/// Reads a yes or no from the start of a text: `yes - because ...` is yes. `None` when the text says neither, which
/// is not "no".
pub fn yes_no(text: &str) -> Option<bool> {
    let cleaned = clean_answer(text);
    let folded: Cow<'_, str> = fold_width(&cleaned);
    let folded = folded.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first: String =
        folded.chars().take_while(|c| c.is_alphanumeric() || *c == '\'').collect::<String>().to_lowercase();
    if english::YES_WORDS.contains(&first.as_str()) {
        return Some(true);
    }
    if english::NO_WORDS.contains(&first.as_str()) && !is_no_of_another_kind(folded) {
        return Some(false);
    }
    chinese_yes_no(folded)
}

/// "No. 5" is a number, "No one" a person, "No Country for Old Men" a title: only a clause that ends after the word,
/// or a pronoun after it, is a refusal.
fn is_no_of_another_kind(text: &str) -> bool {
    let rest = text.get(2..).unwrap_or_default();
    if !text.get(..2).is_some_and(|w| w.eq_ignore_ascii_case("no")) || rest.starts_with(char::is_alphabetic) {
        return false;
    }
    let rest = rest.strip_prefix('.').map_or(rest, |after| {
        if after.trim_start().starts_with(|c: char| c.is_numeric()) { " number" } else { after }
    });
    let Some(rest) = rest.strip_prefix(' ') else { return false };
    let next: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric()).collect();
    !next.is_empty()
        && ![
            "it", "he", "she", "they", "this", "that", "the", "there", "because", "as", "since", "i", "but",
            "not", "these", "neither", "only", "both",
        ]
        .contains(&next.to_lowercase().as_str())
}

fn chinese_yes_no(text: &str) -> Option<bool> {
    let clause: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    let whole = |words: &[&str]| words.contains(&clause.as_str());
    if whole(chinese::NO_WORDS) {
        return Some(false);
    }
    if whole(chinese::YES_WORDS) {
        return Some(true);
    }
    // Without a mark after it, "是" may open any sentence, so only the longer forms may lead one.
    let leads = |words: &[&str]| words.iter().any(|w| w.chars().nth(1).is_some() && clause.starts_with(w));
    if leads(chinese::NO_WORDS) {
        Some(false)
    } else if leads(chinese::YES_WORDS) {
        Some(true)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wrappings_come_off() {
        for (raw, clean) in [
            ("Answer: Paris", "Paris"),
            ("\n\n  **Answer:** \"Paris.\"\nBecause it is.", "Paris"),
            ("The answer is Marie Curie.", "Marie Curie"),
            ("The correct answer is: 1912.", "1912"),
            ("**1912**", "1912"),
            ("**1912**.", "1912"),
            ("'The Times'", "The Times"),
            ("“Abbey Road”.", "Abbey Road"),
            ("Answer:\nParis", "Paris"),
            ("### Answer\nParis", "Paris"),
            ("答案：北京。", "北京"),
            ("答案是《红楼梦》。", "《红楼梦》"),
            ("最终答案: ２０１９年", "２０１９年"),
            ("\u{feff}UNKNOWN\r\n", "UNKNOWN"),
            ("", ""),
            ("  \n ", ""),
        ] {
            assert_eq!(clean_answer(raw), clean, "{raw:?}");
        }
    }

    #[test]
    fn what_belongs_to_the_answer_stays() {
        for text in [
            "Martin Luther King Jr.",
            "Washington, D.C.",
            "Samuel L.",
            "Apple Inc.",
            "U.S.",
            "O'Brien",
            "St. John's",
            "\"Heroes\" and \"Low\"",
            "5:30",
            "Title: The Sequel",
            "Answer Me This",
            "Wait...",
            "*NSYNC",
            "M*A*S*H",
            "'Tis",
        ] {
            assert_eq!(clean_answer(text), text);
        }
        assert_eq!(clean_answer("He was born in Rome."), "He was born in Rome");
    }

    #[test]
    fn yes_and_no_are_read_from_the_first_word() {
        for text in [
            "yes ",
            "yes\n",
            "Yes.",
            "yes - because...",
            "YES",
            "**Yes**",
            "Answer: yes",
            "True",
            "是",
            "是的。",
            "对，因为如此",
            "没错",
        ] {
            assert_eq!(yes_no(text), Some(true), "{text:?}");
        }
        for text in ["no", "No, it is not.", "No it is not", "false", "否", "不是", "不是，它在法国", "不对"]
        {
            assert_eq!(yes_no(text), Some(false), "{text:?}");
        }
        for text in [
            "",
            "maybe",
            "unparsed",
            "Yesterday",
            "Norway",
            "No. 5",
            "No Country for Old Men",
            "nothing",
            "是谁写的",
            "both",
        ] {
            assert_eq!(yes_no(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(raw in ".{0,60}") {
            let once = clean_answer(&raw);
            prop_assert_eq!(clean_answer(&once), once);
        }
    }
}
