//! From text to the terms of the inverted index.
//!
//! One analysis for documents and queries, for every language:
//! * a term is a run of letters and digits, lower-cased, in Unicode's compatibility form (full-width becomes ASCII),
//!   Latin and Greek letters without diacritics;
//! * a number is one term: `4,523,000` is `4523000` and `3.5` stays whole;
//! * English words lose their ending (Snowball's English stemmer) and their possessive;
//! * Chinese, Japanese and Korean have no blanks to split at, so each character of a run and each pair of neighbours
//!   is a term: pairs carry the meaning, single characters keep a one-character query findable.
//!
//! No character has a special meaning, so no query is a syntax error.

use tantivy::tokenizer::{Language, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer runs are blobs, not words; they are cut here (in bytes) so that no term is over tantivy's bound.
const MAX_TERM_BYTES: usize = 256;

/// The analyzer, by the name under which an index knows it. The name changes when the terms change.
pub(crate) const NAME: &str = "counterproof1";

/// Whether a character belongs to a script that is written without blanks between words.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The whole analysis as tantivy takes it.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(WordTokenizer::default()).filter(Stemmer::new(Language::English)).build()
}

/// The analysis of one text after another.
pub(crate) struct Analysis(TextAnalyzer);

impl Analysis {
    pub(crate) fn new() -> Self {
        Self(analyzer())
    }

    /// Calls `put` with each term of `text`, in order, repeated as they occur.
    pub(crate) fn each_term(&mut self, text: &str, mut put: impl FnMut(&str)) {
        let mut stream = self.0.token_stream(text);
        while stream.advance() {
            put(&stream.token().text);
        }
    }
}

/// The terms by which BM25 matches a text, in order, repeated as they occur: what a query is looked up by.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    Analysis::new().each_term(text, |term| terms.push(term.to_owned()));
    terms
}

/// Everything but the stemming.
#[derive(Clone, Default)]
pub(crate) struct WordTokenizer {
    token: Token,
    words: Words,
}

/// Terms found and not yet given, in one buffer.
#[derive(Clone, Default)]
struct Words {
    buffer: String,
    ends: Vec<usize>,
}

impl Words {
    fn clear(&mut self) {
        self.buffer.clear();
        self.ends.clear();
    }

    fn end_word(&mut self) {
        let start = self.ends.last().copied().unwrap_or(0);
        if self.buffer.len() > start {
            if self.buffer.len() - start > MAX_TERM_BYTES {
                let mut cut = start + MAX_TERM_BYTES;
                while !self.buffer.is_char_boundary(cut) {
                    cut -= 1;
                }
                self.buffer.truncate(cut);
            }
            self.ends.push(self.buffer.len());
        }
    }

    fn push(&mut self, word: &str) {
        self.buffer.push_str(word);
        self.end_word();
    }

    fn get(&self, at: usize) -> Option<&str> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.buffer.get(start..*self.ends.get(at)?)
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        self.words.clear();
        find_words(text, &mut self.words);
        WordStream { token: &mut self.token, words: &self.words, next: 0 }
    }
}

pub(crate) struct WordStream<'a> {
    token: &'a mut Token,
    words: &'a Words,
    next: usize,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.get(self.next) else { return false };
        self.token.text.clear();
        self.token.text.push_str(word);
        self.token.position = self.next;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

fn find_words(text: &str, words: &mut Words) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let run = if is_cjk(c) {
            let run = prefix(rest, is_cjk);
            cjk_run(run, words);
            run
        } else if c.is_ascii_digit() {
            number(rest, words)
        } else if c.is_alphanumeric() {
            let run = prefix(rest, |c| (c.is_alphanumeric() || is_combining_mark(c)) && !is_cjk(c));
            word(run, words);
            run
        } else {
            rest.get(..c.len_utf8()).unwrap_or(rest)
        };
        rest = rest.get(run.len()..).unwrap_or_default();
        // The possessive is no word: "Boso's" is about Boso.
        if c.is_alphanumeric() {
            for ending in ["'s", "’s"] {
                let after = rest.strip_prefix(ending);
                if let Some(after) = after.filter(|a| !a.starts_with(char::is_alphanumeric)) {
                    rest = after;
                }
            }
        }
    }
}

fn prefix(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

/// Folds a word and adds it.
fn word(run: &str, words: &mut Words) {
    if run.is_ascii() {
        let start = words.buffer.len();
        words.buffer.push_str(run);
        if let Some(word) = words.buffer.get_mut(start..) {
            word.make_ascii_lowercase();
        }
        words.end_word();
        return;
    }
    let mut folds = false;
    let folded: String = run
        .nfkd()
        .filter(|c| {
            if matches!(c, '\u{300}'..='\u{36f}') {
                return !folds;
            }
            folds = c.is_ascii_alphabetic() || matches!(c, '\u{370}'..='\u{3ff}');
            true
        })
        .nfc()
        .flat_map(char::to_lowercase)
        .collect();
    if folded.is_ascii() {
        words.push(&folded);
        return;
    }
    // Letters that Unicode does not take apart, by their usual spelling in ASCII.
    for c in folded.chars() {
        match c {
            'ß' => words.buffer.push_str("ss"),
            'æ' => words.buffer.push_str("ae"),
            'œ' => words.buffer.push_str("oe"),
            'þ' => words.buffer.push_str("th"),
            'ø' => words.buffer.push('o'),
            'đ' | 'ð' => words.buffer.push('d'),
            'ł' => words.buffer.push('l'),
            'ı' => words.buffer.push('i'),
            // Lower-casing İ leaves a dot behind.
            '\u{307}' => {}
            _ if is_cjk(c) || c.is_alphanumeric() || is_combining_mark(c) => words.buffer.push(c),
            // Compatibility forms may hold blanks and marks, such as the fraction slash.
            _ => words.end_word(),
        }
    }
    words.end_word();
}

/// A number with its thousands joined and its decimals kept; letters that follow at once belong to it ("1990s").
fn number<'a>(text: &'a str, words: &mut Words) -> &'a str {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut end = digits(0);
    words.buffer.push_str(text.get(..end).unwrap_or_default());
    if end <= 3 {
        while at(end) == b',' && digits(end + 1) == 3 {
            words.buffer.push_str(text.get(end + 1..end + 4).unwrap_or_default());
            end += 4;
        }
    }
    if at(end) == b'.' && digits(end + 1) > 0 {
        let decimals = digits(end + 1);
        // A second point makes it a version or a date, whose parts are terms of their own.
        if at(end + 1 + decimals) != b'.' || digits(end + 2 + decimals) == 0 {
            words.buffer.push_str(text.get(end..=end + decimals).unwrap_or_default());
            end += 1 + decimals;
        }
    }
    let tail = prefix(text.get(end..).unwrap_or_default(), |c| c.is_alphanumeric() && !is_cjk(c));
    if tail.is_ascii() {
        let start = words.buffer.len();
        words.buffer.push_str(tail);
        if let Some(tail) = words.buffer.get_mut(start..) {
            tail.make_ascii_lowercase();
        }
        words.end_word();
    } else {
        words.end_word();
        word(tail, words);
    }
    text.get(..end + tail.len()).unwrap_or(text)
}

/// Each character of the run, and each pair of neighbours.
fn cjk_run(run: &str, words: &mut Words) {
    let folded: Vec<char> = run.nfkc().collect();
    let mut previous: Option<char> = None;
    for c in folded {
        if let Some(before) = previous {
            words.buffer.push(before);
            words.buffer.push(c);
            words.end_word();
        }
        words.buffer.push(c);
        words.end_word();
        previous = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_folded_and_stemmed() {
        assert_eq!(
            terms("Boso's DAUGHTERS, café; Ångström naïve"),
            ["boso", "daughter", "cafe", "angstrom", "naiv"]
        );
        assert_eq!(terms("Straße Łódź İstanbul Ωμέγα"), ["strass", "lodz", "istanbul", "ωμεγα"]);
        assert_eq!(terms("ＡＢＣ１２"), ["abc12"]);
    }

    #[test]
    fn a_number_is_one_term_however_it_is_written() {
        assert_eq!(terms("4,523,000 4523000"), ["4523000", "4523000"]);
        assert_eq!(
            terms("3.5% in 1990s, v1.2.3; 1,2 and 12,345."),
            ["3.5", "in", "1990s", "v1", "2.3", "1", "2", "and", "12345"]
        );
    }

    #[test]
    fn cjk_gives_characters_and_pairs() {
        assert_eq!(terms("图书馆1952年"), ["图", "图书", "书", "书馆", "馆", "1952", "年"]);
        assert_eq!(terms("ソニー"), ["ソ", "ソニ", "ニ", "ニー", "ー"]);
    }

    proptest! {
        #[test]
        fn any_text_gives_terms_within_bounds(text in "\\PC{0,200}|[\\x00-\\x7f]{0,600}") {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES + 8, "{term:?}");
            }
        }

        #[test]
        fn case_does_not_matter(text in "[a-zA-Z ]{0,80}") {
            prop_assert_eq!(terms(&text), terms(&text.to_uppercase()));
        }
    }
}
