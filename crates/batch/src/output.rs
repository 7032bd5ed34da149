//! The output file: what is in it already, and how lines get into it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use counterproof_core::{Error, ErrorBody, Result};
use serde::Deserialize;
use serde_json::Value;

/// How every line begins, so that a torn one can be told from what is not ours.
const LINE_START: &[u8] = b"{\"row\":";

/// What to do with an output file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// Refuse it, unless it is empty.
    No,
    /// Go on from it; failed rows are tried again where another try may succeed.
    Continue,
    /// Go on from it; every failed row is tried again.
    RetryFailed,
}

/// A line that stands in the output.
#[derive(Debug, Clone)]
struct Line {
    digest: String,
    offset: u64,
    length: usize,
}

/// The few fields of a line that tell what it is.
#[derive(Deserialize)]
struct Head {
    row: u64,
    input: String,
    #[serde(default)]
    error: Option<ErrorBody>,
}

/// An output file that is open for one run.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    file: File,
    length: u64,
    lines: BTreeMap<u64, Line>,
    failed: u64,
}

impl Sink {
    /// Opens the output, reads what is in it, cuts off a torn last line, and takes out the failed rows that are to be
    /// tried again.
    ///
    /// # Errors
    /// When the file holds rows and `resume` is [`Resume::No`], when another run is writing it, when it holds
    /// something other than output rows, or when it cannot be read or written.
    pub fn open(path: impl Into<PathBuf>, resume: Resume) -> Result<Self> {
        let path = path.into();
        let _ = std::fs::remove_file(temporary(&path));
        let file = open(&path)?;
        let mut sink = Self { path, file, length: 0, lines: BTreeMap::new(), failed: 0 };
        sink.lock()?;
        let size = sink.file.metadata().map_err(|e| sink.io("reading", &e))?.len();
        if resume == Resume::No && size > 0 {
            return Err(Error::invalid(
                format!("the output {}", sink.path.display()),
                "it exists already: give --resume to go on from it, or name another file",
            ));
        }
        let retry = sink.scan(resume)?;
        if retry > 0 {
            tracing::info!("{retry} failed rows are tried again");
            sink.rewrite()?;
        }
        Ok(sink)
    }

    /// Whether the row stands in the output already.
    ///
    /// # Errors
    /// When it does, but with another content: the input has been changed since.
    pub fn has(&self, number: u64, digest: &str) -> Result<bool> {
        match self.lines.get(&number) {
            None => Ok(false),
            Some(line) if line.digest == digest => Ok(true),
            Some(_) => Err(self.changed(&format!("row {number} is another one now"))),
        }
    }

    /// How many rows stand in the output.
    pub fn len(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Whether no row stands in the output.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many of them are failed ones.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The highest row that stands in the output.
    pub fn last_row(&self) -> Option<u64> {
        self.lines.last_key_value().map(|(number, _)| *number)
    }

    pub(crate) fn changed(&self, what: &str) -> Error {
        Error::invalid(
            format!("the output {}", self.path.display()),
            format!("it was made from another input ({what}): restore that input, or name another output"),
        )
    }

    /// Writes a row: one line, one write. After a failed write (a full disk) the file holds what it held before.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write(&mut self, number: u64, digest: &str, line: &Value) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(|e| Error::failed("writing a row", e))?;
        bytes.push(b'\n');
        if let Err(e) = self.file.write_all(&bytes) {
            let _ = self.file.set_len(self.length);
            return Err(self.io("writing", &e));
        }
        let entry = Line { digest: digest.to_owned(), offset: self.length, length: bytes.len() };
        self.length += bytes.len() as u64;
        self.failed += u64::from(line.get("error").is_some());
        self.lines.insert(number, entry);
        Ok(())
    }

    /// Puts the rows into the order of the input and brings them safely to the disk.
    ///
    /// # Errors
    /// When that fails; the rows then stand in the order in which they were finished.
    pub fn finish(mut self) -> Result<()> {
        let mut end = 0;
        let sorted =
            self.lines.values().all(|line| std::mem::replace(&mut end, line.offset + 1) <= line.offset);
        if !sorted {
            self.rewrite()?;
        }
        self.file.sync_all().map_err(|e| self.io("writing", &e))
    }

    /// Reads the file into `lines`. How many lines were left out for being retried.
    fn scan(&mut self, resume: Resume) -> Result<u64> {
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let (mut offset, mut retry, mut number) = (0u64, 0u64, 0u64);
        let mut lines = BTreeMap::new();
        let mut failed = 0;
        loop {
            let mut bytes = Vec::new();
            let length = reader.read_until(b'\n', &mut bytes).map_err(|e| self.io("reading", &e))?;
            if length == 0 {
                break;
            }
            if bytes.last() != Some(&b'\n') {
                let ours = bytes.iter().zip(LINE_START).all(|(a, b)| a == b);
                if ours {
                    break; // A torn line.
                }
                return Err(Error::invalid(
                    format!("the output {}, line {}", self.path.display(), number + 1),
                    "it is no row of a batch run: name another output",
                ));
            }
            number += 1;
            let head: Head = serde_json::from_slice(&bytes).map_err(|e| {
                Error::invalid(
                    format!("the output {}, line {number}", self.path.display()),
                    format!("it is no row of a batch run ({e}): name another output"),
                )
            })?;
            let again = match (&head.error, resume) {
                (None, _) | (Some(_), Resume::No) => false,
                (Some(_), Resume::RetryFailed) => true,
                (Some(error), Resume::Continue) => is_transient(error),
            };
            if again {
                retry += 1;
            } else {
                failed += u64::from(head.error.is_some());
                let line = Line { digest: head.input, offset, length };
                if lines.insert(head.row, line).is_some() {
                    return Err(Error::invalid(
                        format!("the output {}, line {number}", self.path.display()),
                        format!("row {} stands in it twice: name another output", head.row),
                    ));
                }
            }
            offset += length as u64;
        }
        drop(reader);
        self.file.set_len(offset).map_err(|e| self.io("writing", &e))?;
        self.file.seek(SeekFrom::End(0)).map_err(|e| self.io("writing", &e))?;
        (self.lines, self.length, self.failed) = (lines, offset, failed);
        Ok(retry)
    }

    /// Writes the lines that count into a new file, in the order of their rows, and puts it in place of the old one.
    fn rewrite(&mut self) -> Result<()> {
        let temporary = temporary(&self.path);
        let result = self.copy_sorted(&temporary);
        let (file, lines, length) = match result {
            Ok(copied) => copied,
            Err(e) => {
                let _ = std::fs::remove_file(&temporary);
                return Err(self.io("writing", &e));
            }
        };
        std::fs::rename(&temporary, &self.path).map_err(|e| self.io("writing", &e))?;
        (self.file, self.lines, self.length) = (file, lines, length);
        self.lock()
    }

    fn copy_sorted(&mut self, to: &Path) -> std::io::Result<(File, BTreeMap<u64, Line>, u64)> {
        let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(to)?;
        let mut writer = BufWriter::with_capacity(1 << 20, file);
        let mut lines = BTreeMap::new();
        let mut offset = 0;
        for (number, line) in &self.lines {
            let mut bytes = vec![0; line.length];
            self.file.seek(SeekFrom::Start(line.offset))?;
            self.file.read_exact(&mut bytes)?;
            writer.write_all(&bytes)?;
            lines.insert(*number, Line { offset, ..line.clone() });
            offset += line.length as u64;
        }
        let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok((file, lines, offset))
    }

    fn lock(&self) -> Result<()> {
        match self.file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(Error::invalid(
                format!("the output {}", self.path.display()),
                "another run is writing it: wait for that one, or name another file",
            )),
            Err(TryLockError::Error(e)) => Err(self.io("locking", &e)),
        }
    }

    fn io(&self, action: &'static str, e: &std::io::Error) -> Error {
        Error::io(action, &self.path, e)
    }
}

/// Whether a failed row may succeed at another try: told by its stable code.
fn is_transient(error: &ErrorBody) -> bool {
    error.code.starts_with("upstream_") && error.code != "upstream_refused"
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(|e| Error::io("opening", path, &e))
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".sorting");
    path.with_file_name(name)
}
