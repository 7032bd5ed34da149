//! Byte ranges of a text. A span is data that came from a model, a reader or a file, so turning it into a slice is
//! always checked.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A half-open range of bytes `start..end` of some text, with `start <= end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ByteSpan {
    start: usize,
    end: usize,
}

impl ByteSpan {
    /// The span `start..end`, or `None` when `start > end`.
    pub fn new(start: usize, end: usize) -> Option<Self> {
        (start <= end).then_some(Self { start, end })
    }

    /// Where `part` lies in `text` when it is a sub-slice of it in memory; `None` for any other string.
    pub fn of_slice(text: &str, part: &str) -> Option<Self> {
        let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let end = start.checked_add(part.len())?;
        (end <= text.len()).then_some(Self { start, end })
    }

    /// First byte of the span.
    pub fn start(self) -> usize {
        self.start
    }

    /// One past the last byte of the span.
    pub fn end(self) -> usize {
        self.end
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the span holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether two spans share at least one byte.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether `other` lies wholly inside this span.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The words of `text` under the span; `None` when the span is out of range or cuts a character.
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }

    /// The span as a standard range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_never_cuts_a_character() {
        let text = "né 1912";
        assert_eq!(ByteSpan::new(0, 2).unwrap().slice(text), None);
        assert_eq!(ByteSpan::new(0, 3).unwrap().slice(text), Some("né"));
        assert_eq!(ByteSpan::new(4, 99).unwrap().slice(text), None);
        assert_eq!(ByteSpan::new(3, 2), None);
    }

    #[test]
    fn a_sub_slice_is_found_where_it_lies() {
        let text = String::from("founded in 1913 in Paris");
        let part = &text[11..15];
        assert_eq!(ByteSpan::of_slice(&text, part).unwrap().range(), 11..15);
        assert_eq!(ByteSpan::of_slice(&text, &String::from("1913 again")), None);
    }
}
