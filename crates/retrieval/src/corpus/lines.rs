//! Lines of a source, with a bound on their length: a line over it costs its length in time but not in memory.

use std::io::{self, BufRead};

use super::source::Source;

/// A line without its end, cleaned of NUL bytes.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// Whether NUL bytes were removed.
    pub(super) nul: bool,
}

impl Line {
    /// The line as text, and whether bytes had to be replaced for that.
    pub(super) fn text(&self) -> (std::borrow::Cow<'_, str>, bool) {
        let text = String::from_utf8_lossy(&self.bytes);
        let replaced = matches!(text, std::borrow::Cow::Owned(_));
        (text, replaced)
    }
}

/// Why there is no line.
#[derive(Debug)]
pub(super) enum LineError {
    /// It is longer than the bound.
    TooLong { number: u64, bytes: u64 },
    /// The source failed; nothing more can be read.
    Io { number: u64, error: io::Error },
}

pub(super) struct Lines {
    source: Source,
    max: usize,
    number: u64,
    failed: bool,
}

impl Lines {
    pub(super) fn new(source: Source, max: usize) -> Self {
        Self { source, max, number: 0, failed: false }
    }
}

impl Iterator for Lines {
    type Item = Result<Line, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let number = self.number + 1;
        let mut bytes = Vec::new();
        let mut length = 0u64;
        loop {
            let buffer = match self.source.fill_buf() {
                Ok(buffer) => buffer,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(LineError::Io { number, error }));
                }
            };
            if buffer.is_empty() {
                if length == 0 {
                    return None;
                }
                break;
            }
            let end = buffer.iter().position(|b| *b == b'\n');
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            if bytes.len() + part.len() <= self.max {
                bytes.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            length += used as u64;
            self.source.consume(used);
            if end.is_some() {
                length -= 1;
                break;
            }
        }
        self.number = number;
        if length > self.max as u64 {
            return Some(Err(LineError::TooLong { number, bytes: length }));
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let nul = bytes.contains(&0);
        if nul {
            bytes.retain(|b| *b != 0);
        }
        Some(Ok(Line { number, bytes, nul }))
    }
}

/// The words for a row that is too long.
pub(super) fn too_long(bytes: u64, max: usize) -> String {
    format!("the row has {bytes} bytes, over the limit max_row_bytes = {max}")
}
