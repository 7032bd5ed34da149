//! Strings of JSON that was not quite written as JSON.

use super::{Repair, note};

/// What kind of string is being read: it says what may follow its closing quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    /// The value of a key, or an element of an array.
    Value {
        in_array: bool,
    },
}

pub(super) struct Read {
    pub(super) value: String,
    /// Bytes used, quotes included.
    pub(super) length: usize,
    pub(super) closed: bool,
    pub(super) repairs: Vec<Repair>,
}

/// Whether a string may begin with this character.
pub(super) fn opens(c: char) -> bool {
    closing(c).is_some()
}

fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' => Some(open),
        '“' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}

/// A key as a part of a JSON pointer (RFC 6901).
pub(super) fn pointer_part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Reads the string at the head of `text`; `None` when there is none.
pub(super) fn read(text: &str, place: Place) -> Option<Read> {
    let open = text.chars().next()?;
    let close = closing(open)?;
    let mut out = Read { value: String::new(), length: open.len_utf8(), closed: false, repairs: Vec::new() };
    if open != '"' {
        note(&mut out.repairs, Repair::Quotes);
    }
    while let Some(rest) = text.get(out.length..).filter(|r| !r.is_empty()) {
        let mut chars = rest.chars();
        let c = chars.next()?;
        let after = chars.as_str();
        if c == close {
            if ends_here(after, place) {
                out.length += c.len_utf8();
                out.closed = true;
                return Some(out);
            }
            note(&mut out.repairs, Repair::UnescapedQuote);
            out.push(c, c.len_utf8());
        } else if c == '\\' {
            out.escape(after, close, place);
        } else {
            if c.is_control() && c != '\t' {
                note(&mut out.repairs, Repair::ControlCharacter);
            }
            out.push(c, c.len_utf8());
        }
    }
    Some(out)
}

impl Read {
    fn push(&mut self, c: char, length: usize) {
        self.value.push(c);
        self.length += length;
    }

    /// Reads an escape whose backslash stands just before `after`.
    fn escape(&mut self, after: &str, close: char, place: Place) {
        let Some(c) = after.chars().next() else {
            // The backslash is the last of a reply that was cut off.
            self.length += 1;
            return;
        };
        match c {
            '"' | '/' => self.push(c, 2),
            'b' => self.push('\u{8}', 2),
            'f' => self.push('\u{c}', 2),
            'n' => self.push('\n', 2),
            'r' => self.push('\r', 2),
            't' => self.push('\t', 2),
            '\\' => {
                let beyond = after.get(1..).unwrap_or_default();
                let doubled = beyond.strip_prefix(close).filter(|rest| !ends_here(rest, place));
                if doubled.is_some() {
                    note(&mut self.repairs, Repair::EscapedTwice);
                    self.push(close, 2 + close.len_utf8());
                } else {
                    self.push('\\', 2);
                }
            }
            'u' => self.unicode(after),
            _ => {
                note(&mut self.repairs, Repair::UnknownEscape);
                if c != '\'' {
                    self.value.push('\\');
                }
                self.push(c, 1 + c.len_utf8());
            }
        }
    }

    /// Reads `uXXXX`, with its second half where it is a surrogate.
    fn unicode(&mut self, after: &str) {
        let unit = |s: &str| -> Option<u16> {
            let hex = s.strip_prefix('u')?.get(..4)?;
            hex.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(hex, 16).ok())?
        };
        let Some(first) = unit(after) else {
            note(&mut self.repairs, Repair::UnknownEscape);
            self.value.push('\\');
            self.push('u', 2);
            return;
        };
        let second = after.get(5..).and_then(|s| s.strip_prefix('\\')).and_then(unit);
        let pair = second.map_or(vec![first], |second| vec![first, second]);
        match char::decode_utf16(pair).next() {
            Some(Ok(c)) => self.push(c, if c.len_utf16() == 2 { 12 } else { 6 }),
            _ => {
                note(&mut self.repairs, Repair::UnknownEscape);
                self.push(char::REPLACEMENT_CHARACTER, 6);
            }
        }
    }
}

/// Whether what follows a quote shows that the string ends there.
fn ends_here(after: &str, place: Place) -> bool {
    let after = after.trim_start();
    let Some(next) = after.chars().next() else { return true };
    match place {
        Place::Key => next == ':',
        Place::Value { in_array } => match next {
            '}' | ']' => true,
            ',' => {
                let then = after.get(1..).unwrap_or_default().trim_start();
                match then.chars().next() {
                    None | Some('}' | ']' | ',') => true,
                    Some(c) if in_array => {
                        opens(c) || matches!(c, '{' | '[' | '-' | 't' | 'f' | 'n') || c.is_ascii_digit()
                    }
                    Some(_) => looks_like_key(then),
                }
            }
            '/' => after.starts_with("//") || after.starts_with("/*"),
            _ => !in_array && opens(next) && looks_like_key(after),
        },
    }
}

/// Whether a key and its colon stand at the head of `text`.
fn looks_like_key(text: &str) -> bool {
    const LONGEST: usize = 80;
    let Some(first) = text.chars().next() else { return false };
    let after = match closing(first) {
        Some(close) => {
            let inside = text.get(first.len_utf8()..).unwrap_or_default();
            let mut escaped = false;
            let end = inside.char_indices().take(LONGEST).find(|(_, c)| {
                let ends = *c == close && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.and_then(|(i, c)| inside.get(i + c.len_utf8()..))
        }
        None if first.is_alphabetic() || first == '_' => text
            .char_indices()
            .take(LONGEST)
            .find(|(_, c)| !(c.is_alphanumeric() || *c == '_' || *c == '-'))
            .and_then(|(i, _)| text.get(i..)),
        None if first == '/' => return text.starts_with("//") || text.starts_with("/*"),
        None => None,
    };
    after.is_some_and(|after| after.trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: Place = Place::Value { in_array: false };

    fn value(text: &str) -> String {
        read(text, VALUE).unwrap().value
    }

    #[test]
    fn escapes_are_read_as_json_reads_them() {
        assert_eq!(value(r#""a\n\t\"\\\/\u00e9\ud83d\ude00""#), "a\n\t\"\\/é😀");
        assert_eq!(value(r#""C:\\""#), "C:\\");
        assert_eq!(value(r#""\ud83d x""#), "\u{fffd} x");
        assert_eq!(value(r#""\d\u12""#), "\\d\\u12");
    }

    #[test]
    fn a_quote_that_was_escaped_twice_does_not_end_the_string() {
        let read = read(r#""he said \\"hi\\", and \'bye\'", "score": 1"#, VALUE).unwrap();
        assert_eq!(read.value, r#"he said "hi", and 'bye'"#);
        assert!(read.closed);
        assert_eq!(read.repairs, [Repair::EscapedTwice, Repair::UnknownEscape]);
    }
}
