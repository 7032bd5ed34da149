//! The words of a claim with the marks around them.

use counterproof_core::ByteSpan;

/// A word as white space parts it, without the marks before and after it.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// Lower-case.
    pub(super) lower: String,
    /// Where the word with its marks starts.
    pub(super) start: usize,
    /// Where the word with its marks ends.
    pub(super) end: usize,
    /// Whether it begins with a capital.
    pub(super) capital: bool,
    /// Whether it begins with a digit.
    pub(super) number: bool,
    /// Whether it stands in quotation marks or brackets: names and titles that nothing inside is read of.
    pub(super) inside: bool,
    /// Whether it stands in brackets.
    pub(super) bracketed: bool,
    /// The marks after it.
    pub(super) after: String,
}

impl Word {
    pub(super) fn is(&self, words: &[&str]) -> bool {
        !self.capital && self.any_case(words)
    }

    pub(super) fn any_case(&self, words: &[&str]) -> bool {
        !self.inside && words.contains(&self.lower.as_str())
    }

    pub(super) fn comma(&self) -> bool {
        self.after.contains([',', '，'])
    }

    pub(super) fn semicolon(&self) -> bool {
        self.after.contains(';')
    }
}

/// The words, and whether every quotation mark and bracket has its other half.
pub(super) fn read(text: &str) -> (Vec<Word>, bool) {
    let mut out = Vec::new();
    let (mut depth, mut quoted, mut single) = (0usize, false, false);
    for chunk in text.split_whitespace() {
        let Some(span) = ByteSpan::of_slice(text, chunk) else { continue };
        let start = span.start();
        let bare = chunk.trim_start_matches(|c: char| !c.is_alphanumeric());
        let opening = chunk.get(..chunk.len() - bare.len()).unwrap_or_default();
        let word = bare.trim_end_matches(|c: char| !c.is_alphanumeric());
        let closing = bare.get(word.len()..).unwrap_or_default();
        let before = depth > 0 || quoted || single;
        single |= opening.ends_with(['\'', '‘']) && !word.is_empty();
        mark(opening, &mut depth, &mut quoted);
        let inside = before || depth > 0 || quoted || single;
        let bracketed = depth > 0;
        mark(word, &mut depth, &mut quoted);
        mark(closing, &mut depth, &mut quoted);
        single &= !closing.contains(['\'', '’']);
        if word.is_empty() {
            continue;
        }
        out.push(Word {
            lower: word.to_lowercase().replace('’', "'"),
            start,
            end: start + chunk.len(),
            capital: word.starts_with(char::is_uppercase),
            number: word.starts_with(|c: char| c.is_ascii_digit()),
            inside,
            bracketed,
            after: closing.to_owned(),
        });
    }
    (out, depth == 0 && !quoted && !single)
}

fn mark(marks: &str, depth: &mut usize, quoted: &mut bool) {
    for c in marks.chars() {
        match c {
            '(' | '[' | '{' | '（' => *depth += 1,
            ')' | ']' | '}' | '）' => *depth = depth.saturating_sub(1),
            '“' => *quoted = true,
            '”' => *quoted = false,
            '"' => *quoted = !*quoted,
            _ => {}
        }
    }
}
