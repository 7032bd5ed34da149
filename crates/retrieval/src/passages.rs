//! Cutting documents into passages: the unit that is searched, shown to a model and cited.
//!
//! A passage ends where a sentence ends, holds about [`PassageOptions::words`] words, keeps the title of its
//! document, and is an exact slice of the document's text, so that a citation of the passage is one of the document.

use counterproof_core::{ByteSpan, Passage};
use counterproof_text::sentences::sentences;

use crate::corpus::Document;

/// A word of Chinese has about 1.6 characters.
const CJK_CHARACTERS_PER_WORD: f64 = 1.6;

/// How documents are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageOptions {
    /// How many words a passage holds at most, unless one sentence alone is longer. In scripts without blanks a word
    /// counts as 1.6 characters.
    pub words: usize,
}

impl Default for PassageOptions {
    /// 100 words, the passage length of dense passage retrieval (Karpukhin et al., 2020).
    fn default() -> Self {
        Self { words: 100 }
    }
}

/// Cuts a document into passages. A document that fits into one keeps its id; otherwise the passages are called
/// `<id>#0`, `<id>#1`, ... A blank document gives none.
pub fn split(document: &Document, options: &PassageOptions) -> Vec<Passage> {
    let text = document.text.as_str();
    let spans = spans(text, options.words.max(1));
    let whole = spans.len() == 1;
    spans
        .into_iter()
        .filter_map(|span| span.slice(text))
        .enumerate()
        .map(|(ix, words)| Passage {
            url: document.url.clone(),
            ..Passage::new(
                if whole { document.id.clone() } else { format!("{}#{ix}", document.id) },
                document.title.clone(),
                words,
            )
        })
        .collect()
}

/// The passages of `text`, trimmed, in order, without overlap.
fn spans(text: &str, max: usize) -> Vec<ByteSpan> {
    let mut pieces = Vec::new();
    for sentence in sentences(text) {
        pieces.extend(pieces_of(text, sentence, max));
    }
    let total: f64 = pieces.iter().map(|(_, words)| words).sum();
    // Evenly filled passages: 110 words become 55 and 55, not 100 and 10.
    let parts = (total / max as f64).ceil().max(1.0);
    let target = (total / parts).max(1.0);
    let mut spans: Vec<ByteSpan> = Vec::new();
    let mut open: Option<(usize, usize, f64)> = None;
    for (piece, words) in pieces {
        open = match open {
            Some((start, end, held)) => {
                // The sentence that straddles the target goes to the side that leaves the smaller error.
                let over = held + words > max as f64 || held + words / 2.0 > target;
                if over {
                    spans.extend(ByteSpan::new(start, end));
                    Some((piece.start(), piece.end(), words))
                } else {
                    Some((start, piece.end(), held + words))
                }
            }
            None => Some((piece.start(), piece.end(), words)),
        };
    }
    if let Some((start, end, _)) = open {
        spans.extend(ByteSpan::new(start, end));
    }
    spans
}

/// A sentence, or, when it is far longer than a passage (lists and tables have no full stops), its parts.
fn pieces_of(text: &str, sentence: ByteSpan, max: usize) -> Vec<(ByteSpan, f64)> {
    let Some(words) = sentence.slice(text) else { return Vec::new() };
    let Some(sentence) = ByteSpan::of_slice(text, words.trim()) else { return Vec::new() };
    let Some(words) = sentence.slice(text).filter(|w| !w.is_empty()) else { return Vec::new() };
    let count = count_words(words);
    if count <= 1.5 * max as f64 {
        return vec![(sentence, count)];
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut held = 0.0;
    let mut counter = WordCounter::default();
    let mut last_break = None;
    for (at, c) in words.char_indices() {
        let before = held;
        held += counter.step(c);
        if held > max as f64 && before > 0.0 {
            // Between words where there are words, anywhere in a script or a blob without them.
            let cut = last_break.filter(|b| *b > start).unwrap_or(at);
            if let Some(piece) = words.get(start..cut) {
                pieces.push(piece);
            }
            start = cut;
            held = words.get(start..at).map_or(0.0, count_words);
            counter = WordCounter::default();
            held += counter.step(c);
            last_break = None;
        }
        if c.is_whitespace() {
            last_break = Some(at);
        }
    }
    pieces.extend(words.get(start..));
    pieces
        .into_iter()
        .filter_map(|piece| {
            let piece = piece.trim();
            Some((ByteSpan::of_slice(text, piece)?, count_words(piece)))
        })
        .filter(|(span, _)| !span.is_empty())
        .collect()
}

/// Words of a text: runs between blanks, and for CJK a share of a word a character.
pub(crate) fn count_words(text: &str) -> f64 {
    let mut counter = WordCounter::default();
    text.chars().map(|c| counter.step(c)).sum()
}

#[derive(Default)]
struct WordCounter {
    in_word: bool,
    /// Characters of the run so far; a run longer than any word is counted by its length, so that a text without
    /// blanks is cut too.
    run: usize,
}

/// A run without blanks longer than this is a url, a table row or a blob, and counts a word for each such length.
const LONGEST_WORD: usize = 40;

impl WordCounter {
    fn step(&mut self, c: char) -> f64 {
        if crate::analyzer::is_cjk(c) {
            self.in_word = false;
            self.run = 0;
            return 1.0 / CJK_CHARACTERS_PER_WORD;
        }
        if c.is_whitespace() {
            self.in_word = false;
            self.run = 0;
            return 0.0;
        }
        self.run += 1;
        if !self.in_word && c.is_alphanumeric() {
            self.in_word = true;
            self.run = 1;
            return 1.0;
        }
        if self.run > LONGEST_WORD {
            self.run = 0;
            return 1.0;
        }
        0.0
    }
}
