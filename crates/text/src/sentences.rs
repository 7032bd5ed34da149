//! Sentences of a text, as spans.
//!
//! The bounds of Unicode UAX #29 are the base. Abbreviations ("Dr.", "U.S.", initials, "No. 5") take bounds away;
//! the full-width semicolon, which Chinese uses between whole clauses, adds one.

use counterproof_core::ByteSpan;
use unicode_segmentation::UnicodeSegmentation;

use crate::packs::english;

/// The sentences of `text` in order, without the white space around them. Together they hold every character that is
/// not white space. A line break always ends a sentence.
pub fn sentences(text: &str) -> Vec<ByteSpan> {
    let mut out: Vec<ByteSpan> = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    for (at, piece) in text.split_sentence_bound_indices() {
        let end = at + piece.len();
        let (start, _) = open.unwrap_or((at, end));
        open = Some((start, end));
        let so_far = text.get(start..end).unwrap_or_default();
        let rest = text.get(end..).unwrap_or_default();
        if !ends_line(piece) && (goes_on_in_lower_case(so_far, rest) || ends_with_abbreviation(so_far, rest))
        {
            continue;
        }
        push_clauses(text, start, end, &mut out);
        open = None;
    }
    if let Some((start, end)) = open {
        push_clauses(text, start, end, &mut out);
    }
    out
}

/// The sentence at a byte of `text` with its neighbours; `None` past the end of the last one.
pub fn with_neighbours(text: &str, at: usize) -> Option<&str> {
    let all = sentences(text);
    let at = all.iter().position(|s| at < s.end())?;
    let first = all.get(at.saturating_sub(1))?.start();
    let last = all.get((at + 1).min(all.len() - 1))?.end();
    Some(text.get(first..last)?.trim())
}

fn ends_line(piece: &str) -> bool {
    piece.ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// Whether a question or exclamation mark stands inside the sentence: "Who is it?" she asked.
fn goes_on_in_lower_case(sentence: &str, rest: &str) -> bool {
    let end = sentence.trim_end().trim_end_matches(['"', '\'', '”', '’', ')']);
    end.ends_with(['?', '!']) && rest.trim_start().starts_with(char::is_lowercase)
}

/// Whether the full stop at the end of `sentence` belongs to an abbreviation, given what follows.
fn ends_with_abbreviation(sentence: &str, rest: &str) -> bool {
    let Some(body) = sentence.trim_end().strip_suffix('.') else { return false };
    let word_start = body
        .char_indices()
        .rev()
        .find(|(_, c)| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“' | '—' | '–'))
        .map_or(0, |(at, c)| at + c.len_utf8());
    let word = body.get(word_start..).unwrap_or_default();
    let lower = word.to_lowercase();
    let lower = lower.as_str();
    let next =
        rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '“' | '\'' | '(' | '['));
    let next_word: String = next.chars().take_while(|c| c.is_alphanumeric()).take(20).collect();
    if next_word.is_empty() {
        return false;
    }
    let capital = word.starts_with(char::is_uppercase);
    let initial = capital && word.chars().nth(1).is_none() && word != "I";
    if !initial && english::NUMBER_ABBREVIATIONS.contains(&lower) {
        return next_word.starts_with(|c: char| c.is_numeric());
    }
    let opener = english::SENTENCE_OPENERS.contains(&next_word.to_lowercase().as_str());
    if english::OPEN_ABBREVIATIONS.contains(&lower) && (word.chars().nth(1).is_some() || !opener) {
        return true;
    }
    let initials = capital && word.contains('.') && word.split('.').all(|p| p.chars().count() == 1);
    (initial || initials || english::CLOSE_ABBREVIATIONS.contains(&lower)) && !opener
}

/// Pushes `start..end`, parted after each full-width semicolon, without surrounding white space.
fn push_clauses(text: &str, start: usize, end: usize, out: &mut Vec<ByteSpan>) {
    let Some(sentence) = text.get(start..end) else { return };
    for clause in sentence.split_inclusive('；') {
        let trimmed = clause.trim();
        if !trimmed.is_empty() {
            out.extend(ByteSpan::of_slice(text, trimmed));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|s| s.slice(text).unwrap()).collect()
    }

    #[test]
    fn abbreviations_initials_and_decimals_do_not_split() {
        for text in [
            "Martin Luther King Jr. was born in Atlanta.",
            "Dr. Smith met Mr. J. R. R. Tolkien on Jan. 3.",
            "The U.S. Capitol stands in Washington, D.C. near the Mall.",
            "It costs 3.5 million, i.e. No. 5 of the list, e.g. Apple Inc. in 1999.",
            "George H. W. Bush lived at St. Mary's.",
            "He left at 5 p.m. on Monday.",
            "Edward A. \"Ted\" Irving won the Francis P. Garvan Medal.",
        ] {
            assert_eq!(split(text), [text]);
        }
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            split("It opened in 1912. It closed! Why? "),
            ["It opened in 1912.", "It closed!", "Why?"]
        );
        assert_eq!(split("He moved to the U.S. He stayed."), ["He moved to the U.S.", "He stayed."]);
        assert_eq!(split("He said no. Then he left."), ["He said no.", "Then he left."]);
        assert_eq!(split("He said \"Go.\" She went."), ["He said \"Go.\"", "She went."]);
        assert_eq!(split("\"Who is it?\" she asked. No one."), ["\"Who is it?\" she asked.", "No one."]);
        assert_eq!(split("A title\nThe text.\r\n\r\nNext"), ["A title", "The text.", "Next"]);
        assert_eq!(split("During World War I. The end."), ["During World War I.", "The end."]);
        assert_eq!(split("See Dr.\nSmith"), ["See Dr.", "Smith"]);
    }

    #[test]
    fn chinese_sentences() {
        assert_eq!(
            split("他说：“你好。”她走了！图书馆建于1952年；它很大？是的。"),
            ["他说：“你好。”", "她走了！", "图书馆建于1952年；", "它很大？", "是的。"]
        );
    }

    #[test]
    fn enormous_input_is_read_in_linear_time() {
        let text = "Mr. A. ".repeat(40_000);
        assert!(!sentences(&text).is_empty());
        assert_eq!(sentences(&"x".repeat(1_000_000)).len(), 1);
    }

    proptest! {
        #[test]
        fn sentences_are_ordered_disjoint_and_cover_what_is_not_space(text in "[A-Za-z.!?。；\\s\"“”0-9é国]{0,120}") {
            let spans = sentences(&text);
            let mut end = 0;
            for span in &spans {
                prop_assert!(span.start() >= end);
                prop_assert!(text[end..span.start()].trim().is_empty());
                let sentence = span.slice(&text).unwrap();
                prop_assert!(!sentence.is_empty() && sentence.trim() == sentence);
                end = span.end();
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
