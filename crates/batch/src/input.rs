//! Reading rows: JSON lines or CSV, one row at a time, each with its line number.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use counterproof_core::{Error, Limits, Passage, Result, UserError, sha256_hex};
use serde_json::{Map, Value};

use crate::csv_rows::CsvRows;

/// The form of an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// A JSON object a line.
    JsonLines,
    /// Comma-separated values under a header.
    Csv,
    /// Tab-separated values under a header.
    Tsv,
}

impl InputFormat {
    /// The format that a file's name tells; JSON lines for a name that tells none.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Self::Csv,
            Some("tsv") => Self::Tsv,
            _ => Self::JsonLines,
        }
    }
}

/// Fields under which a row may hold its question.
pub(crate) const QUESTION: &[&str] = &["question", "problem", "query"];
/// Fields under which a row may hold a claim.
pub(crate) const CLAIM: &[&str] = &["claim", "statement"];
/// Fields under which a row may hold evidence of its own, to be judged by as it is.
const EVIDENCE: &[&str] = &["evidence", "evidence_text"];
/// Fields under which a row may hold its id.
const ID: &[&str] = &["id", "_id", "qas_id"];
/// Fields under which a row may hold its draft. `answer` comes last: where a file holds more than one of them, it is
/// the likeliest to be the right answer rather than a model's.
const DRAFT: &[&str] = &["draft", "llm_answer", "predicted_answer", "answer"];
/// Fields under which a row may bring passages of its own.
const PASSAGES: &[&str] = &["passages", "ctxs", "documents"];

/// A row that could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The question; empty when the row holds a claim and no question.
    pub question: String,
    /// The claim; `None` when the row holds none.
    pub claim: Option<String>,
    /// Evidence for the claim as the row writes it; see [`Row::evidence`].
    pub evidence: Option<Value>,
    /// The draft answer; `None` when the row holds none.
    pub draft: Option<String>,
    /// Passages the row brings along; `None` when it brings none.
    pub passages: Option<Vec<Passage>>,
}

impl Row {
    /// The evidence that the row brings to judge its claim by: a text, a list of texts or passages, or such a list as text (a
    /// column of CSV). Blank evidence is none, and so are lists of something else: data sets keep sentence numbers there.
    ///
    /// # Errors
    /// A user's error when it is beyond `limits`.
    pub fn evidence(&self, limits: &Limits) -> Result<Option<Vec<Passage>>> {
        evidence(self.evidence.as_ref(), limits)
    }
}

/// The evidence that a field of a row holds; see [`Row::evidence`].
///
/// # Errors
/// As [`Row::evidence`].
pub fn evidence(field: Option<&Value>, limits: &Limits) -> Result<Option<Vec<Passage>>> {
    let listed = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_array);
    let list = match field {
        None => return Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(Value::String(text)) => {
            listed(text).unwrap_or_else(|| Value::Array(vec![Value::String(text.clone())]))
        }
        Some(list) => list.clone(),
    };
    let is_text = |item: &Value| item.is_string() || item.is_object();
    if list.as_array().is_none_or(|items| items.is_empty() || !items.iter().all(is_text)) {
        return Ok(None);
    }
    let read = passages(&list, limits);
    read.map(Some).map_err(|problem| Error::invalid("the row's evidence", problem))
}

/// A row of the input, read or not.
#[derive(Debug, Clone)]
pub struct InputRow {
    /// The line it begins on, counted from 1.
    pub number: u64,
    /// Its id; empty when it has none.
    pub id: String,
    /// A digest of its content: 16 hexadecimal digits.
    pub digest: String,
    /// What it holds, or why that cannot be told.
    pub content: Result<Row>,
}

/// An input file.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    format: InputFormat,
    limits: Limits,
}

impl Input {
    /// The file at `path`.
    pub fn new(path: impl Into<PathBuf>, format: InputFormat, limits: Limits) -> Self {
        Self { path: path.into(), format, limits }
    }

    /// Its rows, in order. Blank lines are left out.
    ///
    /// # Errors
    /// When the file cannot be opened, or its header cannot be read.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Result<InputRow>> + Send>> {
        let file = File::open(&self.path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::from(UserError::NotFound {
                what: format!("the input {}", self.path.display()),
                hint: "give a .jsonl or .csv file that exists".to_owned(),
            }),
            _ => Error::io("reading", &self.path, &e),
        })?;
        let mut reader = BufReader::with_capacity(256 << 10, file);
        let start = reader.fill_buf().map_err(|e| Error::io("reading", &self.path, &e))?;
        if start.starts_with(&[0xEF, 0xBB, 0xBF]) {
            reader.consume(3);
        }
        match self.format {
            InputFormat::JsonLines => Ok(Box::new(JsonLines {
                reader,
                path: self.path.clone(),
                limits: self.limits.clone(),
                number: 0,
                done: false,
            })),
            InputFormat::Csv => Ok(Box::new(CsvRows::new(reader, b',', &self.path, &self.limits)?)),
            InputFormat::Tsv => Ok(Box::new(CsvRows::new(reader, b'\t', &self.path, &self.limits)?)),
        }
    }
}

struct JsonLines<R> {
    reader: R,
    path: PathBuf,
    limits: Limits,
    number: u64,
    done: bool,
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Result<InputRow>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.done {
                return None;
            }
            let mut line = Vec::new();
            match read_line(&mut self.reader, self.limits.max_row_bytes, &mut line) {
                Err(e) => {
                    self.done = true;
                    return Some(Err(Error::io("reading", &self.path, &e)));
                }
                Ok(0) => return None,
                Ok(size) => {
                    self.number += 1;
                    if line.iter().all(u8::is_ascii_whitespace) {
                        continue;
                    }
                    let content = if size > self.limits.max_row_bytes {
                        Err(too_large(size, &self.limits))
                    } else {
                        json_object(&line, self.number)
                    };
                    return Some(Ok(row(self.number, digest(&line), content, &self.limits)));
                }
            }
        }
    }
}

/// Reads one line without its end into `line`, keeping `max` bytes of it at most; the length it had, 0 at the end of
/// the file.
pub(crate) fn read_line(reader: &mut impl BufRead, max: usize, line: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if buffer.is_empty() {
            return Ok(length);
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let room = max.saturating_sub(line.len());
        line.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        let used = end.map_or(buffer.len(), |end| end + 1);
        length += used;
        reader.consume(used);
        if end.is_some() {
            return Ok(length);
        }
    }
}

fn json_object(line: &[u8], number: u64) -> Result<Map<String, Value>> {
    let at = || format!("line {number}");
    let text = std::str::from_utf8(line)
        .map_err(|e| Error::invalid(at(), format!("it is not UTF-8 at byte {}", e.valid_up_to())))?;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Error::invalid(at(), "it is no JSON object")),
        Err(e) => Err(Error::invalid(at(), format!("it is no JSON object: {e}"))),
    }
}

pub(crate) fn row(
    number: u64,
    digest: String,
    content: Result<Map<String, Value>>,
    limits: &Limits,
) -> InputRow {
    let id = content.as_ref().map_or(String::new(), |object| {
        first(object, ID).map_or(String::new(), |(_, id)| match id {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        })
    });
    let content = content.and_then(|object| interpret(&object, number, limits));
    InputRow { number, id, digest, content }
}

fn interpret(object: &Map<String, Value>, number: u64, limits: &Limits) -> Result<Row> {
    let at = |field: &str| format!("line {number}, field {field}");
    let text = |names: &'static [&'static str]| -> Result<Option<String>> {
        match first(object, names) {
            None | Some((_, Value::Null)) => Ok(None),
            Some((name, Value::String(text))) => {
                if text.contains('\0') {
                    return Err(Error::invalid(at(name), "it holds a NUL character"));
                }
                Ok(Some(text.clone()))
            }
            Some((_, Value::Number(number))) => Ok(Some(number.to_string())),
            Some((name, _)) => Err(Error::invalid(at(name), "it must be a text")),
        }
    };
    let claim = text(CLAIM)?;
    let question = match (text(QUESTION)?, &claim) {
        (Some(question), _) => {
            limits.check_question(&question)?;
            question
        }
        (None, Some(_)) => String::new(),
        (None, None) => return Err(Error::invalid(at("question"), "it is missing")),
    };
    let draft = text(DRAFT)?;
    if let Some(draft) = &draft {
        limits.check_draft(draft)?;
    }
    let passages = match first(object, PASSAGES) {
        None | Some((_, Value::Null)) => None,
        // A CSV column may hold the list as JSON.
        Some((name, Value::String(json))) => {
            let list = serde_json::from_str(json)
                .map_err(|e| Error::invalid(at(name), format!("it must be a list of passages: {e}")))?;
            Some(passages(&list, limits).map_err(|problem| Error::invalid(at(name), problem))?)
        }
        Some((name, list)) => {
            Some(passages(list, limits).map_err(|problem| Error::invalid(at(name), problem))?)
        }
    };
    let evidence = first(object, EVIDENCE).map(|(_, value)| value.clone());
    Ok(Row { question, claim, evidence, draft, passages })
}

fn passages(list: &Value, limits: &Limits) -> Result<Vec<Passage>, String> {
    let Value::Array(items) = list else { return Err("it must be a list of passages".to_owned()) };
    if items.len() > limits.max_passages {
        return Err(format!(
            "{} passages are over the limit max_passages = {}",
            items.len(),
            limits.max_passages
        ));
    }
    let passage = |(i, item): (usize, &Value)| -> Result<Passage, String> {
        let i = i + 1;
        let (id, title, text) = match item {
            Value::String(text) => (None, "", text.as_str()),
            Value::Object(fields) => {
                let field = |names: &'static [&'static str]| {
                    first(fields, names).and_then(|(_, value)| value.as_str())
                };
                let text = field(&["text", "contents", "content", "passage"])
                    .ok_or_else(|| format!("passage {i} has no field text"))?;
                (field(&["id", "doc_id"]), field(&["title"]).unwrap_or(""), text)
            }
            _ => return Err(format!("passage {i} is neither a text nor an object")),
        };
        limits.check_passage(text).map_err(|e| format!("passage {i}: {e}"))?;
        // A NUL in evidence is noise of extraction; removing it keeps the words.
        Ok(Passage::new(id.map_or_else(|| i.to_string(), str::to_owned), title, text.replace('\0', "")))
    };
    items.iter().enumerate().map(passage).collect()
}

fn first<'a>(
    object: &'a Map<String, Value>,
    names: &'static [&'static str],
) -> Option<(&'static str, &'a Value)> {
    names.iter().find_map(|name| object.get(*name).map(|value| (*name, value)))
}

pub(crate) fn too_large(size: usize, limits: &Limits) -> Error {
    UserError::TooLarge { what: "row", limit: "max_row_bytes", size, max: limits.max_row_bytes }.into()
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let trimmed = bytes.trim_ascii();
    sha256_hex(trimmed).as_str().chars().take(16).collect()
}
