//! Comma- and tab-separated values with a header.
//!
//! Records are put together from lines here and only then handed to the `csv` crate, for three reasons: a record is
//! named by the line it starts on; its length is bounded; and a quote that is opened and never closed costs its own
//! row, not the rest of the file.

use std::collections::VecDeque;

use super::columns::Columns;
use super::lines::{Line, LineError, Lines, too_long};
use super::source::Source;
use super::{RawDocument, ReadOptions, Row, Rows};

/// A quoted field over more lines than this is taken for a quote that was never closed.
const MAX_LINES_OF_A_RECORD: usize = 10_000;

type Failure = (Option<u64>, String);

pub(super) struct CsvRows {
    lines: Lines,
    /// Lines to be read again, behind a record that was given up.
    again: VecDeque<Line>,
    delimiter: u8,
    columns: Columns,
    max: usize,
    header: Option<Header>,
    ended: bool,
}

struct Header {
    width: usize,
    id: Option<usize>,
    title: Option<usize>,
    url: Option<usize>,
    text: usize,
}

struct Record {
    number: u64,
    fields: Vec<String>,
    invalid_utf8: bool,
    nul: bool,
}

impl CsvRows {
    pub(super) fn new(source: Source, delimiter: u8, options: &ReadOptions) -> Self {
        let max = options.limits.max_row_bytes;
        Self {
            lines: Lines::new(source, max),
            again: VecDeque::new(),
            delimiter,
            columns: Columns::new(options),
            max,
            header: None,
            ended: false,
        }
    }

    fn line(&mut self) -> Option<Result<Line, Failure>> {
        if let Some(line) = self.again.pop_front() {
            return Some(Ok(line));
        }
        Some(match self.lines.next()? {
            Ok(line) => Ok(line),
            Err(LineError::TooLong { number, bytes }) => Err((Some(number), too_long(bytes, self.max))),
            Err(LineError::Io { number, error }) => Err((Some(number), error.to_string())),
        })
    }

    /// The next record that is not a blank line.
    fn record(&mut self) -> Option<Result<Record, Failure>> {
        let first = loop {
            match self.line()? {
                Ok(line) if line.bytes.iter().all(u8::is_ascii_whitespace) => {}
                Ok(line) => break line,
                Err(failure) => return Some(Err(failure)),
            }
        };
        let number = first.number;
        let mut state = Quoting::FieldStart.after(&first.bytes, self.delimiter);
        let mut parts = vec![first];
        let mut size = 0usize;
        while state == Quoting::Quoted {
            size += parts.last().map_or(0, |p| p.bytes.len() + 1);
            let next =
                if size > self.max || parts.len() >= MAX_LINES_OF_A_RECORD { None } else { self.line() };
            match next {
                Some(Ok(line)) => {
                    state = state.after(b"\n", self.delimiter).after(&line.bytes, self.delimiter);
                    parts.push(line);
                }
                failed_or_end => {
                    let mut rest: VecDeque<Line> = parts.drain(1..).collect();
                    rest.append(&mut self.again);
                    self.again = rest;
                    let problem = match failed_or_end {
                        Some(Err((_, problem))) => format!("a quoted field is not closed: {problem}"),
                        _ => "a quote is opened on this line and never closed".to_owned(),
                    };
                    return Some(Err((Some(number), problem)));
                }
            }
        }
        Some(Ok(self.split(number, &parts)))
    }

    fn split(&self, number: u64, lines: &[Line]) -> Record {
        let bytes = lines.iter().map(|l| l.bytes.as_slice()).collect::<Vec<_>>().join(&b'\n');
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .from_reader(bytes.as_slice());
        let mut record = csv::ByteRecord::new();
        let mut invalid_utf8 = false;
        let mut fields = Vec::new();
        // Reading from memory, flexible in width, cannot fail: what is not a record is an empty one.
        if reader.read_byte_record(&mut record).unwrap_or(false) {
            for field in &record {
                let text = String::from_utf8_lossy(field);
                invalid_utf8 |= matches!(text, std::borrow::Cow::Owned(_));
                fields.push(text.into_owned());
            }
        }
        Record { number, fields, invalid_utf8, nul: lines.iter().any(|l| l.nul) }
    }

    fn read_header(&mut self) -> Option<Result<Header, Failure>> {
        let record = match self.record()? {
            Ok(record) => record,
            Err(failure) => return Some(Err(failure)),
        };
        let Some(text) = Columns::find(&self.columns.text, &record.fields) else {
            return Some(Err((Some(record.number), self.columns.no_text(&record.fields))));
        };
        Some(Ok(Header {
            width: record.fields.len(),
            id: Columns::find(&self.columns.id, &record.fields),
            title: Columns::find(&self.columns.title, &record.fields),
            url: Columns::find(&self.columns.url, &record.fields),
            text,
        }))
    }
}

impl Rows for CsvRows {
    fn next_row(&mut self) -> Option<Result<Row, Failure>> {
        if self.ended {
            return None;
        }
        if self.header.is_none() {
            match self.read_header()? {
                Ok(header) => self.header = Some(header),
                Err(failure) => {
                    // Without a header no row can be understood.
                    self.ended = true;
                    return Some(Err(failure));
                }
            }
        }
        let mut record = match self.record()? {
            Ok(record) => record,
            Err(failure) => return Some(Err(failure)),
        };
        let header = self.header.as_ref()?;
        if record.fields.len() != header.width {
            let problem = format!("the row has {} fields, the header {}", record.fields.len(), header.width);
            return Some(Err((Some(record.number), problem)));
        }
        let mut take = |at: Option<usize>| Some(std::mem::take(record.fields.get_mut(at?)?));
        let raw = RawDocument {
            id: take(header.id),
            title: take(header.title).unwrap_or_default(),
            url: take(header.url),
            text: take(Some(header.text)).unwrap_or_default(),
            line: record.number,
            invalid_utf8: record.invalid_utf8,
            nul: record.nul,
        };
        Some(Ok(Row::Document(raw)))
    }
}

/// Where in a record the reading stands, by the rules of RFC 4180: a quote opens a field only at its start, and two
/// quotes inside one are a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    FieldStart,
    Plain,
    Quoted,
    QuoteInQuoted,
}

impl Quoting {
    fn after(self, bytes: &[u8], delimiter: u8) -> Self {
        bytes.iter().fold(self, |state, byte| match (state, *byte) {
            (Self::FieldStart, b'"') => Self::Quoted,
            (Self::FieldStart | Self::Plain | Self::QuoteInQuoted, b) if b == delimiter => Self::FieldStart,
            (Self::FieldStart | Self::Plain, _) => Self::Plain,
            (Self::Quoted, b'"') => Self::QuoteInQuoted,
            (Self::Quoted, _) => Self::Quoted,
            (Self::QuoteInQuoted, b'"') => Self::Quoted,
            // The csv crate reads on after a stray closing quote as plain text.
            (Self::QuoteInQuoted, _) => Self::Plain,
        })
    }
}
