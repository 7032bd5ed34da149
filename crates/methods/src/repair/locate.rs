//! Finding the words that a model quoted: in which passage of the pool they stand, and where.
//!
//! Models copy with small slips (spacing, case, a missing comma), so words are compared as normalised tokens; what
//! is cited in the end are the passage's own bytes.

use std::collections::HashMap;

use counterproof_core::{ByteSpan, Passage};
use counterproof_text::normalise::nfc;
use counterproof_text::sentences::sentences;
use counterproof_text::tokens::overlap;
use unicode_normalization::char::is_combining_mark;

use super::Pool;

/// What a gate offers as evidence for a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceRef {
    /// Nothing.
    None,
    /// Words that should stand in a passage of the pool.
    Snippet(String),
    /// A passage of the pool, counted from 0.
    Passage(usize),
    /// A span of a passage of the pool.
    Span {
        /// The passage, counted from 0.
        passage: usize,
        /// The span of its text.
        span: ByteSpan,
    },
}

/// Evidence that was found in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located {
    /// The passage, counted from 0.
    pub passage: usize,
    /// The words of its text that serve as evidence.
    pub span: ByteSpan,
}

/// Finds evidence in the pool.
///
/// A snippet is found where its tokens stand in a row, or else in the passage that holds the largest share of them
/// when that share is at least `containment`; then the shortest stretch that holds them is the evidence. A passage
/// as a whole is narrowed to its sentence that shares most with `answer`, so that a long passage cannot pass by
/// accident.
pub fn locate(evidence: &EvidenceRef, answer: &str, pool: &Pool, containment: f64) -> Option<Located> {
    match evidence {
        EvidenceRef::None => None,
        EvidenceRef::Span { passage, span } => {
            span.slice(&pool.get(*passage)?.text)?;
            Some(Located { passage: *passage, span: *span })
        }
        EvidenceRef::Passage(ix) => {
            let span = best_sentence(pool.get(*ix)?, answer)?;
            Some(Located { passage: *ix, span })
        }
        EvidenceRef::Snippet(snippet) => locate_snippet(snippet, pool, containment),
    }
}

fn locate_snippet(snippet: &str, pool: &Pool, containment: f64) -> Option<Located> {
    let wanted = tokens(snippet);
    if wanted.is_empty() {
        return None;
    }
    let read: Vec<Vec<Token>> = pool.passages().iter().map(|p| tokens(&p.passage.text)).collect();
    for (ix, held) in read.iter().enumerate() {
        if let Some(span) = in_a_row(&wanted, held) {
            return Some(Located { passage: ix, span });
        }
    }
    let mut best: Option<(f64, Located)> = None;
    for (ix, held) in read.iter().enumerate() {
        if let Some((share, span)) = scattered(&wanted, held)
            && share >= containment
            && best.is_none_or(|(b, _)| share > b)
        {
            best = Some((share, Located { passage: ix, span }));
        }
    }
    best.map(|(_, located)| located)
}

/// The sentence of `passage` that shares most of its words with `answer`; the first of equals.
pub fn best_sentence(passage: &Passage, answer: &str) -> Option<ByteSpan> {
    let mut best: Option<(f64, ByteSpan)> = None;
    for span in sentences(&passage.text) {
        let share = overlap(answer, span.slice(&passage.text)?);
        if best.is_none_or(|(b, _)| share > b) {
            best = Some((share, span));
        }
    }
    best.map(|(_, span)| span)
}

struct Token {
    word: String,
    start: usize,
    end: usize,
}

/// Runs of letters and digits, lower-cased, full-width forms folded, in NFC; each CJK ideograph alone, so that the
/// same words are cut alike in a snippet and in its passage.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut open = false;
    for (at, c) in text.char_indices() {
        let folded = match c {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
            _ => c,
        };
        let end = at + c.len_utf8();
        let ideograph =
            matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if ideograph {
            tokens.push(Token { word: c.to_string(), start: at, end });
            open = false;
        } else if folded.is_alphanumeric() || (open && is_combining_mark(c)) {
            match tokens.last_mut().filter(|_| open) {
                Some(token) => {
                    token.word.extend(folded.to_lowercase());
                    token.end = end;
                }
                None => tokens.push(Token { word: folded.to_lowercase().collect(), start: at, end }),
            }
            open = true;
        } else if open
            && c == ','
            && text.get(end..).is_some_and(|rest| rest.starts_with(|d: char| d.is_ascii_digit()))
        {
            // A thousands separator: "4,523,000" and "4523000" are one token.
            if tokens.last().is_none_or(|t| !t.word.chars().all(|d| d.is_ascii_digit())) {
                open = false;
            }
        } else {
            open = false;
        }
    }
    for token in &mut tokens {
        if !token.word.is_ascii() {
            token.word = nfc(&token.word).into_owned();
        }
    }
    tokens
}

fn in_a_row(wanted: &[Token], held: &[Token]) -> Option<ByteSpan> {
    let window = held.windows(wanted.len()).find(|w| w.iter().zip(wanted).all(|(a, b)| a.word == b.word))?;
    ByteSpan::new(window.first()?.start, window.last()?.end)
}

/// The share of `wanted` (as a multiset) that `held` holds, and the shortest stretch of `held` with all of that.
fn scattered(wanted: &[Token], held: &[Token]) -> Option<(f64, ByteSpan)> {
    let mut need: HashMap<&str, i64> = HashMap::new();
    for token in wanted {
        *need.entry(&token.word).or_default() += 1;
    }
    let mut have: HashMap<&str, i64> = HashMap::new();
    for token in held {
        *have.entry(&token.word).or_default() += 1;
    }
    for (word, n) in &mut need {
        *n = (*n).min(have.get(word).copied().unwrap_or(0));
    }
    let total: i64 = need.values().sum();
    if total == 0 {
        return None;
    }
    let mut missing = total;
    let mut first = 0;
    let mut shortest: Option<(usize, usize)> = None;
    for (last, token) in held.iter().enumerate() {
        if let Some(n) = need.get_mut(token.word.as_str()) {
            missing -= i64::from(*n > 0);
            *n -= 1;
        }
        while missing == 0 {
            if shortest.is_none_or(|(a, b)| last - first < b - a) {
                shortest = Some((first, last));
            }
            if let Some(n) = held.get(first).and_then(|t| need.get_mut(t.word.as_str())) {
                *n += 1;
                missing += i64::from(*n > 0);
            }
            first += 1;
        }
    }
    let (first, last) = shortest?;
    let span = ByteSpan::new(held.get(first)?.start, held.get(last)?.end)?;
    Some((total as f64 / wanted.len() as f64, span))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use counterproof_core::{Hit, Score};
    use proptest::prelude::*;

    use super::*;
    use crate::repair::query::QueryRole;

    fn pool(texts: &[&str]) -> Pool {
        let hits: Vec<Hit> = texts
            .iter()
            .enumerate()
            .map(|(i, t)| Hit::new(Arc::new(Passage::new(i.to_string(), "", *t)), Score::new(1.0)))
            .collect();
        let mut pool = Pool::default();
        pool.add(QueryRole::Question, &hits, 1.1, 100);
        pool
    }

    fn quote(snippet: &str, pool: &Pool) -> Option<String> {
        let found = locate(&EvidenceRef::Snippet(snippet.to_owned()), "", pool, 0.8)?;
        Some(found.span.slice(&pool.get(found.passage)?.text)?.to_owned())
    }

    #[test]
    fn a_snippet_is_found_despite_case_spacing_and_commas() {
        let p = pool(&["Nothing here.", "In 1913, the Laboratory  was founded; it cost 4,523,000 francs."]);
        assert_eq!(quote("the laboratory was founded", &p).unwrap(), "the Laboratory  was founded");
        assert_eq!(quote("\"it cost 4523000 francs.\"", &p).unwrap(), "it cost 4,523,000 francs");
        assert_eq!(quote("Ｆounded", &p).unwrap(), "founded");
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same() {
        let p = pool(&["Caf\u{e9} Procope opened."]);
        assert_eq!(quote("Cafe\u{301} Procope", &p).unwrap(), "Caf\u{e9} Procope");
    }

    #[test]
    fn chinese_is_found_by_characters() {
        let p = pool(&["图书馆建于一九五二年，位于北京。"]);
        assert_eq!(quote("建于一九五二年", &p).unwrap(), "建于一九五二年");
        assert_eq!(quote("建于一九六七年上海", &p), None);
    }

    #[test]
    fn a_nearly_copied_snippet_is_found_and_an_invented_one_is_not() {
        let p =
            pool(&["The old stone bridge over the river was opened to traffic in May 1889 by the mayor."]);
        let found = quote("the stone bridge was opened in May 1889 by the mayor", &p).unwrap();
        assert!(found.contains("1889") && found.len() < p.get(0).unwrap().text.len());
        assert_eq!(quote("the tunnel was closed in June 1890 by a minister", &p), None);
        assert_eq!(quote("...", &p), None);
    }

    #[test]
    fn a_whole_passage_is_narrowed_to_one_sentence() {
        let p = pool(&["It has a tower. It opened in 1889. Many visit it."]);
        let found = locate(&EvidenceRef::Passage(0), "1889", &p, 0.8).unwrap();
        assert_eq!(found.span.slice(&p.get(0).unwrap().text), Some("It opened in 1889."));
        assert_eq!(locate(&EvidenceRef::Passage(9), "1889", &p, 0.8), None);
    }

    proptest! {
        #[test]
        fn what_is_located_can_be_quoted(text in "\\PC{0,80}", snippet in "\\PC{0,40}") {
            let p = pool(&[&text]);
            for evidence in [EvidenceRef::Snippet(snippet.clone()), EvidenceRef::Passage(0)] {
                if let Some(found) = locate(&evidence, &snippet, &p, 0.5) {
                    prop_assert!(found.span.slice(&text).is_some());
                }
            }
        }

        #[test]
        fn any_run_of_words_is_found(words in prop::collection::vec("[a-z]{1,6}", 1..30), a in 0usize..30, n in 1usize..8) {
            let text = words.join(" ");
            let run: Vec<String> = words.iter().skip(a % words.len()).take(n).cloned().collect();
            let p = pool(&[&text]);
            let found = locate(&EvidenceRef::Snippet(run.join(" ")), "", &p, 0.8).unwrap();
            prop_assert_eq!(found.span.slice(&text).unwrap(), run.join(" "));
        }
    }
}
