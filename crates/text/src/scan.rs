//! Lexemes: what the readers of values and names work on. Full-width forms are folded while spans still point into
//! the text as it is.

use crate::han::is_han;
use crate::normalise::fold_char;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Digits with separators inside (`4,523,000`, `3.5`), folded to ASCII.
    Number,
    /// Letters of a script that writes words.
    Word,
    /// One ideograph.
    Han,
    /// Any other character that is not white space.
    Symbol,
}

#[derive(Debug, Clone)]
pub(crate) struct Lexeme {
    pub(crate) kind: Kind,
    /// Folded to ASCII width and lower-cased.
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) space_before: bool,
    pub(crate) line_before: bool,
    /// Whether the word begins with a capital.
    pub(crate) capital: bool,
}

impl Lexeme {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(crate) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    pub(crate) fn is_number(&self) -> bool {
        self.kind == Kind::Number
    }

    pub(crate) fn is_dash(&self) -> bool {
        matches!(self.text.as_str(), "-" | "–" | "—" | "~" | "−" | "‐" | "‑" | "～" | "至" | "到")
    }

    /// The ideograph, for one.
    pub(crate) fn han(&self) -> Option<char> {
        if self.kind == Kind::Han { self.text.chars().next() } else { None }
    }
}

/// The lexemes of `text`, in order.
pub(crate) fn lex(text: &str) -> Vec<Lexeme> {
    let mut out: Vec<Lexeme> = Vec::new();
    let (mut space, mut line) = (true, true);
    let mut chars = text.char_indices().peekable();
    while let Some((start, raw)) = chars.next() {
        let c = fold_char(raw);
        if c.is_whitespace() || matches!(c, '\0' | '\u{feff}' | '\u{200b}') {
            space = true;
            line |= c == '\n';
            continue;
        }
        let mut end = start + raw.len_utf8();
        let mut folded = String::new();
        let kind = if c.is_ascii_digit() {
            folded.push(c);
            while let Some(&(at, next)) = chars.peek() {
                let digit = fold_char(next);
                if digit.is_ascii_digit() {
                    folded.push(digit);
                    end = at + next.len_utf8();
                    chars.next();
                } else if let Some(separator) =
                    inner_separator(digit, &folded, text.get(at + next.len_utf8()..))
                {
                    folded.push(separator);
                    end = at + next.len_utf8();
                    chars.next();
                } else {
                    break;
                }
            }
            Kind::Number
        } else if is_han(c) {
            folded.push(c);
            Kind::Han
        } else if c.is_alphabetic() {
            folded.extend(c.to_lowercase());
            while let Some(&(at, next)) = chars.peek() {
                let letter = fold_char(next);
                if !(letter.is_alphabetic() || is_mark(letter)) || is_han(letter) {
                    break;
                }
                folded.extend(letter.to_lowercase());
                end = at + next.len_utf8();
                chars.next();
            }
            Kind::Word
        } else {
            folded.push(c);
            Kind::Symbol
        };
        out.push(Lexeme {
            kind,
            text: folded,
            start,
            end,
            space_before: space,
            line_before: line,
            capital: c.is_uppercase(),
        });
        (space, line) = (false, false);
    }
    out
}

/// Combining marks of decomposed Latin letters stay with their word.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The ASCII separator that `c` stands for between two digits; the no-break spaces that part thousands count as
/// commas.
fn inner_separator(c: char, so_far: &str, rest: Option<&str>) -> Option<char> {
    let mut rest = rest?.chars().map(fold_char);
    let next = rest.next()?;
    if !next.is_ascii_digit() {
        return None;
    }
    match c {
        '.' | ',' => Some(c),
        '\u{a0}' | '\u{202f}' | '\u{2009}' => {
            let group = so_far.rsplit(',').next().map_or(0, str::len);
            let first = !so_far.contains(',');
            let three = rest.next().is_some_and(|c| c.is_ascii_digit())
                && rest.next().is_some_and(|c| c.is_ascii_digit())
                && !rest.next().is_some_and(|c| c.is_ascii_digit());
            (three && if first { group <= 3 } else { group == 3 }).then_some(',')
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lex(text).into_iter().map(|l| l.text).collect()
    }

    #[test]
    fn numbers_words_and_ideographs_are_told_apart() {
        assert_eq!(texts("It cost 4,523.50, no?"), ["it", "cost", "4,523.50", ",", "no", "?"]);
        assert_eq!(texts("1990s 21st"), ["1990", "s", "21", "st"]);
        assert_eq!(texts("２０１９年"), ["2019", "年"]);
        assert_eq!(texts("12\u{a0}345\u{a0}678"), ["12,345,678"]);
        assert_eq!(texts("in 1990\u{a0}1995"), ["in", "1990", "1995"]);
    }

    #[test]
    fn spans_point_into_the_text_as_it_is() {
        let text = "Ｐａｒｉｓ　１９６７";
        let lexemes = lex(text);
        assert_eq!(&text[lexemes[0].start..lexemes[0].end], "Ｐａｒｉｓ");
        assert_eq!(&text[lexemes[1].start..lexemes[1].end], "１９６７");
        assert!(lexemes[0].capital);
    }
}
