//! Rows of CSV. Records are put together from lines here and only then split into fields, so that each is named by the
//! line it begins on, and a quote that is opened and never closed costs its own row instead of the rest of the file.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use counterproof_core::{Error, Limits, Result};
use serde_json::{Map, Value};

use crate::InputRow;
use crate::input::{CLAIM, QUESTION, digest, read_line, row, too_large};

/// A quoted field over more lines than this is taken for a quote that was never closed.
const MAX_LINES_OF_A_RECORD: usize = 1000;

pub(crate) struct CsvRows<R> {
    lines: Lines<R>,
    header: Vec<String>,
    delimiter: u8,
    path: PathBuf,
    limits: Limits,
    done: bool,
}

struct Lines<R> {
    reader: R,
    number: u64,
    max: usize,
    /// Lines that were read ahead in vain.
    again: VecDeque<Line>,
}

struct Line {
    number: u64,
    /// Its bytes without the end of the line, as far as the limit lets.
    bytes: Vec<u8>,
    size: usize,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> std::io::Result<Option<Line>> {
        if let Some(line) = self.again.pop_front() {
            return Ok(Some(line));
        }
        let mut bytes = Vec::new();
        let size = read_line(&mut self.reader, self.max, &mut bytes)?;
        if size == 0 {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        self.number += 1;
        Ok(Some(Line { number: self.number, bytes, size }))
    }
}

/// A record, or what is wrong with it, under the number of its first line.
struct Record {
    number: u64,
    bytes: Vec<u8>,
    fields: Result<Vec<Vec<u8>>>,
}

impl<R: BufRead> CsvRows<R> {
    pub(crate) fn new(reader: R, delimiter: u8, path: &Path, limits: &Limits) -> Result<Self> {
        let mut this = Self {
            lines: Lines { reader, number: 0, max: limits.max_row_bytes, again: VecDeque::new() },
            header: Vec::new(),
            delimiter,
            path: path.to_owned(),
            limits: limits.clone(),
            done: false,
        };
        let wrong = |problem: String| Error::invalid(format!("the header of {}", path.display()), problem);
        let header = this
            .record()
            .map_err(|e| Error::io("reading", path, &e))?
            .ok_or_else(|| wrong("it is missing: the file is empty".to_owned()))?;
        let fields = header.fields.map_err(|e| wrong(e.to_string()))?;
        this.header = fields.iter().map(|f| String::from_utf8_lossy(f).trim().to_owned()).collect();
        if !this.header.iter().any(|name| QUESTION.contains(&name.as_str()) || CLAIM.contains(&name.as_str()))
        {
            return Err(wrong(format!("it names no column question; it names {}", this.header.join(", "))));
        }
        Ok(this)
    }

    fn record(&mut self) -> std::io::Result<Option<Record>> {
        let first = loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some(line) if line.bytes.iter().all(u8::is_ascii_whitespace) => {}
                Some(line) => break line,
            }
        };
        let number = first.number;
        let mut state = State::FieldStart.after(&first.bytes, self.delimiter);
        let mut size = first.size;
        let mut parts = vec![first];
        while state == State::Quoted && size <= self.limits.max_row_bytes {
            let next = if parts.len() < MAX_LINES_OF_A_RECORD { self.lines.next()? } else { None };
            let Some(line) = next else {
                let bytes = parts.first().map(|l| l.bytes.clone()).unwrap_or_default();
                // The lines after the bad one are rows of their own.
                self.lines.again.extend(parts.drain(1..));
                let fields =
                    Err(Error::invalid(format!("line {number}"), "a quote is opened on it and never closed"));
                return Ok(Some(Record { number, bytes, fields }));
            };
            state = state.after(b"\n", self.delimiter).after(&line.bytes, self.delimiter);
            size += line.size;
            parts.push(line);
        }
        let bytes = parts.iter().map(|l| l.bytes.as_slice()).collect::<Vec<_>>().join(&b'\n');
        let fields = if size > self.limits.max_row_bytes {
            Err(too_large(size, &self.limits))
        } else {
            self.split(number, &bytes)
        };
        Ok(Some(Record { number, bytes, fields }))
    }

    fn split(&self, number: u64, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .from_reader(bytes);
        let mut record = csv::ByteRecord::new();
        reader
            .read_byte_record(&mut record)
            .map_err(|e| Error::invalid(format!("line {number}"), e.to_string()))?;
        Ok(record.iter().map(<[u8]>::to_vec).collect())
    }

    fn object(&self, number: u64, fields: Vec<Vec<u8>>) -> Result<Map<String, Value>> {
        let at = || format!("line {number}");
        if fields.len() != self.header.len() {
            let problem =
                format!("it has {} fields where the header has {}", fields.len(), self.header.len());
            return Err(Error::invalid(at(), problem));
        }
        self.header
            .iter()
            .zip(fields)
            .map(|(name, field)| match String::from_utf8(field) {
                Ok(text) => Ok((name.clone(), Value::String(text))),
                Err(_) => Err(Error::invalid(at(), format!("the field {name} is not UTF-8"))),
            })
            .collect()
    }
}

impl<R: BufRead> Iterator for CsvRows<R> {
    type Item = Result<InputRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.record() {
            Err(e) => {
                self.done = true;
                Some(Err(Error::io("reading", &self.path, &e)))
            }
            Ok(None) => None,
            Ok(Some(Record { number, bytes, fields })) => {
                let content = fields.and_then(|fields| self.object(number, fields));
                Some(Ok(row(number, digest(&bytes), content, &self.limits)))
            }
        }
    }
}

/// Where in a record one stands, by RFC 4180: a quote counts only at the beginning of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// A quote inside a quoted field: the end of it, or half of a doubled one.
    QuoteInQuoted,
}

impl State {
    fn after(self, bytes: &[u8], delimiter: u8) -> Self {
        bytes.iter().fold(self, |state, byte| match (state, *byte) {
            (Self::FieldStart | Self::QuoteInQuoted, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::QuoteInQuoted,
            (Self::Quoted, _) => Self::Quoted,
            (_, b) if b == delimiter => Self::FieldStart,
            _ => Self::Plain,
        })
    }
}
