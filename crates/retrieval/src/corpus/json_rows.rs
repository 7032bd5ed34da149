//! JSON corpora: an object a line, or one document that holds them all.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::columns::Columns;
use super::lines::{LineError, Lines, too_long};
use super::source::{Source, read_all};
use super::{RawDocument, ReadOptions, Row, Rows};

/// A JSON document that is read whole; larger corpora come as JSON lines.
const MAX_DOCUMENT_BYTES: usize = 1 << 30;

fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Array(parts) => {
            let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
            Some(parts?.join(" "))
        }
        _ => None,
    }
}

fn field(object: &Map<String, Value>, names: &[String]) -> Option<String> {
    names.iter().find_map(|name| object.get(name).and_then(value_text))
}

fn row(object: &Map<String, Value>, columns: &Columns, line: u64) -> Result<RawDocument, String> {
    let Some(text) = field(object, &columns.text) else {
        if columns.text.iter().any(|name| object.get(name).is_some_and(Value::is_null)) {
            return Ok(RawDocument { line, ..RawDocument::default() });
        }
        return Err(columns.no_text(&object.keys().cloned().collect::<Vec<_>>()));
    };
    let title = field(object, &columns.title).unwrap_or_default();
    let id = field(object, &columns.id).or_else(|| {
        // Wikipedia leads have no id, but their titles name one page each.
        (object.contains_key("extract") && !title.trim().is_empty()).then(|| title.trim().to_owned())
    });
    Ok(RawDocument { id, title, url: field(object, &columns.url), text, line, ..RawDocument::default() })
}

/// An object a line.
pub(super) struct JsonLines {
    lines: Lines,
    columns: Columns,
    max: usize,
}

impl JsonLines {
    pub(super) fn new(source: Source, options: &ReadOptions) -> Self {
        let max = options.limits.max_row_bytes;
        Self { lines: Lines::new(source, max), columns: Columns::new(options), max }
    }
}

impl Rows for JsonLines {
    fn next_row(&mut self) -> Option<Result<Row, (Option<u64>, String)>> {
        let line = match self.lines.next()? {
            Ok(line) => line,
            Err(LineError::TooLong { number, bytes }) => {
                return Some(Err((Some(number), too_long(bytes, self.max))));
            }
            Err(LineError::Io { number, error }) => return Some(Err((Some(number), error.to_string()))),
        };
        let (text, invalid_utf8) = line.text();
        if text.trim().is_empty() {
            return Some(Ok(Row::Blank));
        }
        let parsed = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(object)) => row(&object, &self.columns, line.number),
            Ok(_) => Err("the line is not a JSON object".to_owned()),
            Err(e) => Err(format!("not JSON: {e}")),
        };
        Some(
            parsed
                .map(|raw| Row::Document(RawDocument { invalid_utf8, nul: line.nul, ..raw }))
                .map_err(|problem| (Some(line.number), problem)),
        )
    }
}

type Parsed = Result<RawDocument, (Option<u64>, String)>;

/// One JSON document. It is read whole and parsed at the first call: JSON has no row to resume at.
pub(super) struct JsonDocument {
    source: Option<Source>,
    columns: Columns,
    rows: std::vec::IntoIter<Parsed>,
}

impl JsonDocument {
    pub(super) fn new(source: Source, options: &ReadOptions) -> Self {
        Self { source: Some(source), columns: Columns::new(options), rows: Vec::new().into_iter() }
    }

    fn parse(&self, source: &mut Source) -> Vec<Parsed> {
        let bytes = match read_all(source, MAX_DOCUMENT_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let problem =
                    format!("over {MAX_DOCUMENT_BYTES} bytes of JSON: write an object a line (.jsonl)");
                return vec![Err((None, problem))];
            }
            Err(e) => return vec![Err((None, e.to_string()))],
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut rows = Vec::new();
        let mut json = serde_json::Deserializer::from_str(&text);
        let outcome = Objects { columns: &self.columns, rows: &mut rows }
            .deserialize(&mut json)
            .and_then(|()| json.end());
        if let Err(e) = outcome {
            rows.push(Err((Some(e.line() as u64), format!("not JSON: {e}"))));
        }
        if matches!(text, std::borrow::Cow::Owned(_)) {
            for raw in rows.iter_mut().flatten() {
                raw.invalid_utf8 = raw.text.contains(char::REPLACEMENT_CHARACTER);
            }
        }
        rows
    }
}

impl Rows for JsonDocument {
    fn next_row(&mut self) -> Option<Result<Row, (Option<u64>, String)>> {
        if let Some(mut source) = self.source.take() {
            self.rows = self.parse(&mut source).into_iter();
        }
        Some(self.rows.next()?.map(Row::Document))
    }
}

/// Collects the objects of an array or of an object, keeping those before a syntax error.
struct Objects<'a> {
    columns: &'a Columns,
    rows: &'a mut Vec<Parsed>,
}

impl Objects<'_> {
    fn push(&mut self, key: Option<String>, value: &Value) {
        let number = self.rows.len() as u64 + 1;
        let name = key.clone().unwrap_or_else(|| format!("entry {number}"));
        let parsed = match value {
            Value::Object(object) => row(object, self.columns, number),
            _ => Err("not a JSON object".to_owned()),
        };
        self.rows.push(match parsed {
            Ok(raw) => Ok(RawDocument { id: key.or(raw.id), ..raw }),
            Err(problem) => Err((None, format!("{name}: {problem}"))),
        });
    }
}

impl<'de> DeserializeSeed<'de> for Objects<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array or an object of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element::<Value>()? {
            self.push(None, &value);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            self.push(Some(key), &value);
        }
        Ok(())
    }
}
