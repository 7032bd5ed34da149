//! Short stretches of a paragraph: evidence as retrieval hands it over, a few sentences rather than a page.

use std::collections::HashSet;
use std::ops::Range;

use counterproof_retrieval::query_terms;
use counterproof_text::sentences::sentences;

/// The most sentences of a window.
const SENTENCES: usize = 4;
/// The most words of a window, about 120 tokens.
const WORDS: usize = 90;

/// The windows of one to four sentences of `text`, of at most 90 words unless one sentence has more.
pub(super) fn windows(text: &str) -> Vec<Range<usize>> {
    let spans = sentences(text);
    let mut out = Vec::new();
    for (first, open) in spans.iter().enumerate() {
        for close in spans.iter().skip(first).take(SENTENCES) {
            let range = open.start()..close.end();
            let long = text.get(range.clone()).is_some_and(|t| t.split_whitespace().count() > WORDS);
            if long && close.end() != open.end() {
                break;
            }
            out.push(range);
        }
    }
    out
}

/// The window around `answer` that holds most of the question's terms in few words.
pub(super) fn around(
    text: &str,
    answer: &Range<usize>,
    question_terms: &HashSet<String>,
) -> Option<Range<usize>> {
    best(text, question_terms, |w| w.start <= answer.start && answer.end <= w.end)
}

/// The window in which most of the question's terms stand and for whose words `allowed` holds.
pub(super) fn best_without(
    text: &str,
    question_terms: &HashSet<String>,
    allowed: impl Fn(&str) -> bool,
) -> Option<Range<usize>> {
    best(text, question_terms, |w| text.get(w.clone()).is_some_and(&allowed))
}

fn best(
    text: &str,
    question_terms: &HashSet<String>,
    allowed: impl Fn(&Range<usize>) -> bool,
) -> Option<Range<usize>> {
    // A sentence more is worth its words when it brings one term of ten.
    const PER_WORD: f64 = 0.004;
    // The terms of the text once, with their places, instead of once a window.
    let mut found: Vec<(usize, String)> = Vec::new();
    for span in sentences(text) {
        let terms = span.slice(text).map(query_terms).unwrap_or_default();
        found.extend(terms.into_iter().filter(|t| question_terms.contains(t)).map(|t| (span.start(), t)));
    }
    let value = |w: &Range<usize>| {
        let held: HashSet<&str> =
            found.iter().filter(|(at, _)| w.contains(at)).map(|(_, t)| t.as_str()).collect();
        let words = text.get(w.clone()).unwrap_or_default().split_whitespace().count();
        held.len() as f64 / question_terms.len().max(1) as f64 - PER_WORD * words as f64
    };
    let mut valued: Vec<(f64, Range<usize>)> = windows(text).into_iter().map(|w| (value(&w), w)).collect();
    // Stable: of equal windows the first.
    valued.sort_by(|a, b| b.0.total_cmp(&a.0));
    valued.into_iter().map(|(_, w)| w).find(|w| allowed(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::search::content_terms;

    const TEXT: &str =
        "The tower stands in Paris. It was built by Eiffel. It is tall. Many people visit it. It rusts.";

    #[test]
    fn a_window_is_whole_sentences() {
        let all = windows(TEXT);
        assert_eq!(all.len(), 4 + 4 + 3 + 2 + 1);
        assert!(all.iter().all(|w| TEXT[w.clone()].ends_with('.')));
        let long = "word ".repeat(100) + "end. Short.";
        assert_eq!(windows(&long).len(), 2);
    }

    #[test]
    fn the_window_around_an_answer_takes_what_the_question_needs() {
        let answer = TEXT.find("Eiffel").map(|at| at..at + 6).unwrap();
        let taken =
            |question: &str| TEXT[around(TEXT, &answer, &content_terms(question)).unwrap()].to_owned();
        assert_eq!(taken("Who built it?"), "It was built by Eiffel.");
        assert_eq!(
            taken("Who built the tower in Paris?"),
            "The tower stands in Paris. It was built by Eiffel."
        );
    }

    #[test]
    fn a_window_without_the_answer() {
        let free =
            best_without(TEXT, &content_terms("who built the tower"), |t| !t.contains("Eiffel")).unwrap();
        assert_eq!(&TEXT[free], "The tower stands in Paris.");
        assert_eq!(best_without("Eiffel.", &HashSet::new(), |t| !t.contains("Eiffel")), None);
    }
}
