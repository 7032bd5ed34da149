//! Reading a corpus: from whatever files people have to a stream of [`Document`]s.
//!
//! A corpus is a file or a folder of files. Rows are read one at a time, so a corpus may be larger than the memory.
//! Real files hold damaged rows; one of them must not cost a person the other million. So a row that cannot be read
//! comes out as a [`RowError`] that names the file and the line, is counted, and the stream goes on; text that can
//! be repaired without guessing (a byte order mark, CRLF, bytes that are not UTF-8, NUL) is repaired and counted in
//! [`ReadReport`].

mod columns;
mod csv_rows;
mod json_rows;
mod lines;
mod pages;
mod parquet_rows;
mod source;

use std::collections::VecDeque;
use std::fmt;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use counterproof_core::{Error, Limits, Result, UserError};

/// A document of a corpus, before it is cut into passages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Names the document in its corpus: its own id where the file gives one, else its url, its title in a file of
    /// Wikipedia leads, its path in a folder of pages, or `<file name>:<line>`.
    pub id: String,
    /// Its title; empty when there is none.
    pub title: String,
    /// Where it can be read, when the file says so.
    pub url: Option<String>,
    /// Its text, never blank and without NUL.
    pub text: String,
}

/// The forms in which a corpus is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object a line (`.jsonl`, `.ndjson`).
    JsonLines,
    /// One JSON document: an array of objects, or an object of objects as in the published Wikipedia leads (`.json`).
    Json,
    /// Comma-separated values with a header (`.csv`).
    Csv,
    /// Tab-separated values with a header (`.tsv`).
    Tsv,
    /// Apache Parquet (`.parquet`).
    Parquet,
    /// Plain text, a file a document (`.txt`).
    Text,
    /// Markdown, a file a document (`.md`, `.markdown`).
    Markdown,
    /// HTML, a file a document (`.html`, `.htm`).
    Html,
}

impl Format {
    /// The extensions that [`Format::of`] knows, for messages.
    pub const EXTENSIONS: &'static str =
        ".jsonl .ndjson .json .csv .tsv .txt .md .html (each also with .gz) .parquet";

    /// The format that the name of a file tells, looking through a final `.gz`.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "jsonl" | "ndjson" => Self::JsonLines,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" => Self::Parquet,
            "txt" | "text" => Self::Text,
            "md" | "markdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            _ => return None,
        })
    }
}

/// How a corpus is read. Every field has a default that suits the published forms.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format, when the names of the files do not tell it.
    pub format: Option<Format>,
    /// The field or column that holds the id, in place of `id`, `_id`, `doc_id`, `docid`.
    pub id_field: Option<String>,
    /// The field or column that holds the title, in place of `title`.
    pub title_field: Option<String>,
    /// The field or column that holds the text, in place of `text`, `contents`, `content`, `extract`, `body`,
    /// `passage`.
    pub text_field: Option<String>,
    /// Bounds; `max_row_bytes` holds for a row, and for a whole file where a file is one document.
    pub limits: Limits,
}

/// A row that could not be read. The rows after it are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1 (in Parquet: the row); `None` when the trouble is the file's.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.path.display(), self.problem),
            None => write!(f, "{}: {}", self.path.display(), self.problem),
        }
    }
}

impl std::error::Error for RowError {}

/// What became of the rows read so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Documents that came out.
    pub documents: u64,
    /// Rows that came out as a [`RowError`].
    pub failed: u64,
    /// Rows left out because their text is blank.
    pub empty: u64,
    /// Rows with bytes that are not UTF-8; each such sequence was replaced by U+FFFD.
    pub invalid_utf8: u64,
    /// Rows that held NUL characters, which were removed.
    pub nul: u64,
}

/// How far the reading has come, in bytes of the files as they lie on disk. Clones share the same numbers, so that a
/// progress bar may look on from another thread.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<ProgressCounts>);

#[derive(Debug, Default)]
struct ProgressCounts {
    read: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed).min(self.bytes_total())
    }

    /// Bytes in all.
    pub fn bytes_total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    fn advance(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Ordering::Relaxed);
    }

    fn expect(&self, bytes: u64) {
        self.0.total.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What a reader makes of one row.
enum Row {
    /// Fields of a document, not yet cleaned.
    Document(RawDocument),
    /// Nothing but blanks.
    Blank,
}

/// A document as its row gives it.
#[derive(Debug, Default)]
struct RawDocument {
    id: Option<String>,
    title: String,
    url: Option<String>,
    text: String,
    line: u64,
    /// Whether bytes had to be replaced to make it UTF-8.
    invalid_utf8: bool,
    /// Whether NUL bytes were removed before the row was parsed.
    nul: bool,
}

/// The rows of one file.
trait Rows: Send {
    /// The next row, or `None` at the end. After an error the next call goes on behind the bad row.
    fn next_row(&mut self) -> Option<Result<Row, (Option<u64>, String)>>;
}

/// The documents of a corpus, in the order of its files and rows.
pub struct Documents {
    files: VecDeque<CorpusFile>,
    current: Option<(CorpusFile, Box<dyn Rows>)>,
    options: ReadOptions,
    progress: Progress,
    report: ReadReport,
}

struct CorpusFile {
    path: PathBuf,
    format: Format,
    /// How ids made from the place of the document begin.
    name: String,
    /// The bytes, when they do not come from the path.
    source: Option<source::Source>,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents")
            .field("files_left", &self.files.len())
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

/// Opens a corpus: a file, a folder of files, or a BEIR folder (one that holds `corpus.jsonl`, of which only that file
/// is read). Files of a folder are read in the order of their paths; hidden files and files of unknown kinds are left out.
///
/// # Errors
/// When there is no such path, when its kind is not known, or when a folder holds nothing that can be read. Trouble
/// inside the files comes out of the iterator.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Documents> {
    let path = path.as_ref();
    let metadata = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::from(UserError::NotFound {
            what: format!("corpus {}", path.display()),
            hint: "give a file or a folder that exists".to_owned(),
        }),
        _ => Error::io("reading", path, &e),
    })?;
    let mut files = VecDeque::new();
    let progress = Progress::default();
    if metadata.is_dir() {
        let beir = ["corpus.jsonl", "corpus.jsonl.gz"].map(|name| path.join(name));
        if let Some(corpus) = beir.into_iter().find(|p| p.is_file()) {
            progress.expect(std::fs::metadata(&corpus).map_or(0, |m| m.len()));
            files.push_back(CorpusFile {
                path: corpus,
                format: Format::JsonLines,
                name: "corpus".to_owned(),
                source: None,
            });
        } else {
            collect(path, options, &progress, &mut files);
        }
        if files.is_empty() {
            return Err(Error::invalid(
                format!("corpus {}", path.display()),
                format!("the folder holds no file that can be read; known kinds: {}", Format::EXTENSIONS),
            ));
        }
    } else {
        let format = options.format.or_else(|| Format::of(path)).ok_or_else(|| {
            Error::invalid(
                format!("corpus {}", path.display()),
                format!("its name does not tell its format; known kinds: {}", Format::EXTENSIONS),
            )
        })?;
        progress.expect(metadata.len());
        files.push_back(CorpusFile { path: path.to_owned(), format, name: stem(path), source: None });
    }
    Ok(Documents { files, current: None, options: options.clone(), progress, report: ReadReport::default() })
}

/// Reads a corpus from a stream, such as the standard input, as if it were a file called `name`. The progress of such
/// a corpus is not known.
///
/// # Errors
/// When the stream cannot be read at all, or the format is Parquet, which is not read from its beginning to its end.
pub fn read(
    stream: impl BufRead + Send + 'static,
    name: &str,
    format: Format,
    options: &ReadOptions,
) -> Result<Documents> {
    if format == Format::Parquet {
        let who = "a stream".to_owned();
        return Err(UserError::Unsupported { who, what: "hold Parquet; give a file".to_owned() }.into());
    }
    let source = source::decode(stream).map_err(|e| Error::io("reading", name, &e))?;
    let file = CorpusFile { path: PathBuf::from(name), format, name: name.to_owned(), source: Some(source) };
    Ok(Documents {
        files: VecDeque::from([file]),
        current: None,
        options: options.clone(),
        progress: Progress::default(),
        report: ReadReport::default(),
    })
}

fn collect(folder: &Path, options: &ReadOptions, progress: &Progress, files: &mut VecDeque<CorpusFile>) {
    let hidden = |name: &std::ffi::OsStr| name.to_str().is_some_and(|n| n.starts_with('.'));
    let walk = walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || !hidden(entry.file_name()));
    for entry in walk.flatten().filter(|e| e.file_type().is_file()) {
        let Some(format) = Format::of(entry.path()).or(options.format) else { continue };
        progress.expect(entry.metadata().map_or(0, |m| m.len()));
        let relative = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let name = relative.to_string_lossy().replace('\\', "/");
        files.push_back(CorpusFile { path: entry.into_path(), format, name, source: None });
    }
}

/// The name of a file without `.gz` and without its extension.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

impl Documents {
    /// How far the reading has come.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// What became of the rows so far.
    pub fn report(&self) -> ReadReport {
        self.report
    }

    fn start(&self, file: &mut CorpusFile) -> Result<Box<dyn Rows>, String> {
        let given = file.source.take();
        let open = || match given {
            Some(source) => Ok(source),
            None => source::open(&file.path, &self.progress).map_err(|e| e.to_string()),
        };
        let options = &self.options;
        Ok(match file.format {
            Format::JsonLines => Box::new(json_rows::JsonLines::new(open()?, options)),
            Format::Json => Box::new(json_rows::JsonDocument::new(open()?, options)),
            Format::Csv => Box::new(csv_rows::CsvRows::new(open()?, b',', options)),
            Format::Tsv => Box::new(csv_rows::CsvRows::new(open()?, b'\t', options)),
            Format::Parquet => {
                Box::new(parquet_rows::ParquetRows::open(&file.path, options, self.progress.clone())?)
            }
            Format::Text | Format::Markdown | Format::Html => {
                Box::new(pages::Page::new(open()?, file.format, stem(&file.path), options))
            }
        })
    }

    /// Cleans what a row gave; `None` when its text is blank.
    fn document(&mut self, raw: RawDocument, file: &CorpusFile) -> Option<Document> {
        let mut nul = raw.nul;
        let mut clean = |text: String| {
            if text.contains('\0') {
                nul = true;
                text.replace('\0', "")
            } else {
                text
            }
        };
        let (title, text) = (clean(raw.title), clean(raw.text));
        let id = raw.id.map(&mut clean).filter(|id| !id.trim().is_empty());
        let url = raw.url.map(&mut clean).filter(|url| !url.trim().is_empty());
        self.report.nul += u64::from(nul);
        self.report.invalid_utf8 += u64::from(raw.invalid_utf8);
        if text.trim().is_empty() {
            self.report.empty += 1;
            return None;
        }
        let one_document = matches!(file.format, Format::Text | Format::Markdown | Format::Html);
        let id = id.or_else(|| url.clone()).unwrap_or_else(|| {
            if one_document { file.name.clone() } else { format!("{}:{}", file.name, raw.line) }
        });
        self.report.documents += 1;
        Some(Document { id, title: title.trim().to_owned(), url, text })
    }
}

impl Iterator for Documents {
    type Item = Result<Document, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((file, mut rows)) = self.current.take() else {
                let mut file = self.files.pop_front()?;
                match self.start(&mut file) {
                    Ok(rows) => self.current = Some((file, rows)),
                    Err(problem) => {
                        self.report.failed += 1;
                        return Some(Err(RowError { path: file.path, line: None, problem }));
                    }
                }
                continue;
            };
            let Some(row) = rows.next_row() else { continue };
            let item = match row {
                Ok(Row::Blank) => {
                    self.report.empty += 1;
                    None
                }
                Ok(Row::Document(raw)) => self.document(raw, &file).map(Ok),
                Err((line, problem)) => {
                    self.report.failed += 1;
                    Some(Err(RowError { path: file.path.clone(), line, problem }))
                }
            };
            self.current = Some((file, rows));
            if item.is_some() {
                return item;
            }
        }
    }
}
