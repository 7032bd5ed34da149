//! From a file to typed rows: JSON lines, one JSON array, or an object with its rows under `data`, gzipped or plain.
//!
//! The content says which of these a file is, not its name. One bad row is no reason to lose the others: it is kept
//! with its place and the reader goes on.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use counterproof_core::{Error, InternalError, Result, Sha256Hex, UserError, sha256_hex};
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A row of a data set, made from the JSON that its publisher chose.
pub trait Row: Sized {
    /// The row as it is published.
    type Published: DeserializeOwned;

    /// The row from its published form, or what is wrong with it.
    ///
    /// # Errors
    /// What is wrong, in words that make sense behind a file name and a line number.
    fn from_published(published: Self::Published) -> Result<Self, String>;
}

/// Where a row stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The line, counted from one.
    Line(usize),
    /// The item of the array, counted from one.
    Item(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(n) => write!(f, "line {n}"),
            Self::Item(n) => write!(f, "item {n}"),
        }
    }
}

/// A row that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.file.display(), self.place, self.problem)
    }
}

/// What a file held.
#[derive(Debug, Clone)]
pub struct Rows<T> {
    /// The file.
    pub file: PathBuf,
    /// Digest of its bytes as they are on disk, for reports.
    pub sha256: Sha256Hex,
    /// The rows, in order.
    pub rows: Vec<T>,
    /// The rows that could not be read, in order.
    pub bad: Vec<BadRow>,
}

/// Reads a whole file.
///
/// # Errors
/// When it is missing, cannot be read or is no JSON as a whole, never for one bad row.
pub fn read<R: Row>(path: impl AsRef<Path>) -> Result<Rows<R>> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => UserError::NotFound {
            what: format!("the data file {}", path.display()),
            hint: "check the path; the data folder's README lists what lies where".into(),
        }
        .into(),
        _ => Error::io("reading", path, &e),
    })?;
    let sha256 = sha256_hex(&bytes);
    let text = plain(path, bytes)?;
    let mut out = Rows { file: path.to_owned(), sha256, rows: Vec::new(), bad: Vec::new() };
    for (place, item) in items(path, &text)? {
        let row = item
            .and_then(|value| serde_json::from_value::<R::Published>(value).map_err(|e| e.to_string()))
            .and_then(R::from_published);
        match row {
            Ok(row) => out.rows.push(row),
            Err(problem) => out.bad.push(BadRow { file: path.to_owned(), place, problem }),
        }
    }
    Ok(out)
}

/// The text of a file that may be gzipped. Bytes that are no UTF-8 become U+FFFD, so that they spoil one row only.
fn plain(path: &Path, bytes: Vec<u8>) -> Result<String> {
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked).map_err(|e| {
            Error::from(InternalError::Damaged {
                path: path.display().to_string(),
                message: format!("it begins like a gzip file but cannot be unpacked ({e}); fetch it again"),
            })
        })?;
        unpacked
    } else {
        bytes
    };
    let text =
        String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

type Item = (Place, Result<Value, String>);

fn items(path: &Path, text: &str) -> Result<Vec<Item>> {
    let no_json = |e: serde_json::Error| {
        Error::invalid(path.display().to_string(), format!("it is no JSON: {e}; fetch the file again"))
    };
    let head = text.trim_start();
    if head.starts_with('[') {
        return Ok(numbered(serde_json::from_str(text).map_err(no_json)?));
    }
    // An object that ends on its first line is the first of JSON lines, unless it holds the rows.
    let first_line = head.lines().next().unwrap_or_default();
    let opens_lines =
        serde_json::from_str::<Value>(first_line).is_ok_and(|v| v.get("data").is_none_or(|d| !d.is_array()));
    if head.starts_with('{')
        && !opens_lines
        && let Ok(Value::Object(mut whole)) = serde_json::from_str(text)
        && let Some(Value::Array(rows)) = whole.remove("data")
    {
        return Ok(numbered(rows));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok(lines
        .map(|(at, line)| {
            (Place::Line(at + 1), serde_json::from_str(line).map_err(|e| format!("no JSON: {e}")))
        })
        .collect())
}

fn numbered(rows: Vec<Value>) -> Vec<Item> {
    rows.into_iter().enumerate().map(|(at, row)| (Place::Item(at + 1), Ok(row))).collect()
}

/// The text without the white space around it, or an error that names the field.
pub(crate) fn required(field: &str, text: String) -> Result<String, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(format!("`{field}` is empty"));
    }
    Ok(if trimmed.len() == text.len() { text } else { trimmed.to_owned() })
}

/// A field that is a string in some releases of a set and a number in others.
pub(crate) fn id_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
pub(crate) fn of_text<R: Row>(text: &str) -> Rows<R> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    read(file.path()).unwrap()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Word(String);

    #[derive(serde::Deserialize)]
    struct Published {
        word: String,
    }

    impl Row for Word {
        type Published = Published;

        fn from_published(published: Published) -> Result<Self, String> {
            required("word", published.word).map(Self)
        }
    }

    fn words(text: &str) -> (Vec<String>, Vec<(Place, String)>) {
        let rows = of_text::<Word>(text);
        let bad = rows.bad.into_iter().map(|b| (b.place, b.problem)).collect();
        (rows.rows.into_iter().map(|w| w.0).collect(), bad)
    }

    #[test]
    fn lines_arrays_and_objects_are_told_apart_by_content() {
        for text in [
            "{\"word\": \"a\"}\n\n{\"word\": \" b \"}\n",
            "\u{feff}[{\"word\": \"a\"},\n {\"word\": \"b\"}]",
            "{\"version\": 1, \"data\": [{\"word\": \"a\"}, {\"word\": \"b\"}]}",
            "{\n\"data\":\n[{\"word\": \"a\"}, {\"word\": \"b\"}]}",
        ] {
            assert_eq!(words(text), (vec!["a".into(), "b".into()], vec![]), "{text}");
        }
    }

    #[test]
    fn a_bad_row_is_reported_by_its_place_and_the_rest_goes_on() {
        let (good, bad) =
            words("{\"word\": \"a\"}\n{\"word\": 3}\nnot json\n{\"word\": \"  \"}\n{\"word\": \"b\"}");
        assert_eq!(good, ["a", "b"]);
        let places: Vec<Place> = bad.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [Place::Line(2), Place::Line(3), Place::Line(4)]);
        assert_eq!(bad[2].1, "`word` is empty");
        assert_eq!(words("[{\"word\": \"a\"}, {}]").1[0].0, Place::Item(2));
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"{\"word\": \"a\"}").unwrap();
        std::fs::write(file.path(), packed.finish().unwrap()).unwrap();
        assert_eq!(read::<Word>(file.path()).unwrap().rows, [Word("a".into())]);
        std::fs::write(file.path(), [0x1f, 0x8b, 8, 0, 1]).unwrap();
        assert_eq!(read::<Word>(file.path()).unwrap_err().code(), "damaged");
    }

    #[test]
    fn bytes_that_are_no_utf8_spoil_no_other_row() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"{\"word\": \"a\"}\n{\"word\": \"\xff\"}\n\xff\n").unwrap();
        let rows = read::<Word>(file.path()).unwrap();
        assert_eq!(rows.rows, [Word("a".into()), Word("\u{fffd}".into())]);
        assert_eq!(rows.bad.len(), 1);
    }

    #[test]
    fn a_missing_file_and_a_broken_array_are_errors() {
        assert_eq!(read::<Word>("no/such/file").unwrap_err().code(), "not_found");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[{\"word\": \"a\"},").unwrap();
        assert_eq!(read::<Word>(file.path()).unwrap_err().code(), "invalid_input");
    }
}
