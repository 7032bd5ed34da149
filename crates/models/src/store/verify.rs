//! Whether a file is the one that was meant. Hashing hundreds of megabytes at each start would be felt, so a file
//! that was found sound is remembered with its size and time of change, and hashed again only when these differ.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use counterproof_core::{Error, InternalError, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::manifest::FileEntry;

/// The name of the record beside the files of a model.
pub(super) const RECORD: &str = "checksums.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    sha256: String,
    size: u64,
    modified_ns: u128,
}

/// What is known of a file in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileState {
    /// Not there.
    Absent,
    /// There, and never looked into.
    Unchecked,
    /// There, and the one that was meant.
    Sound,
    /// There, and another one: why.
    Unsound(String),
}

/// The record of one model's files.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    dir: PathBuf,
    seen: BTreeMap<String, Seen>,
}

impl Checksums {
    /// Reads the record of the model in `dir`; a missing or unreadable one is empty, and files are hashed afresh.
    pub(super) fn open(dir: &Path) -> Self {
        let seen = std::fs::read(dir.join(RECORD))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self { dir: dir.to_owned(), seen }
    }

    /// The digest the file must have: the manifest's, or the one of the first pull.
    pub(super) fn expected<'a>(&'a self, entry: &'a FileEntry) -> Option<&'a str> {
        entry.sha256.as_deref().or_else(|| self.seen.get(&entry.name).map(|s| s.sha256.as_str()))
    }

    /// What can be said of the file without reading it.
    pub(super) fn glance(&self, entry: &FileEntry) -> FileState {
        let Ok(meta) = std::fs::metadata(self.dir.join(&entry.name)) else { return FileState::Absent };
        if let Some(size) = entry.size.filter(|size| *size != meta.len()) {
            return FileState::Unsound(format!("it has {} bytes in place of {size}", meta.len()));
        }
        match self.seen.get(&entry.name) {
            Some(seen)
                if seen.size == meta.len()
                    && seen.modified_ns == modified_ns(&meta)
                    && self.expected(entry) == Some(seen.sha256.as_str()) =>
            {
                FileState::Sound
            }
            _ => FileState::Unchecked,
        }
    }

    /// Looks into the file where a glance does not settle it, and remembers it when it is sound.
    pub(super) fn check(&mut self, entry: &FileEntry, counter: &AtomicU64) -> Result<FileState> {
        let state = self.glance(entry);
        if state != FileState::Unchecked {
            return Ok(state);
        }
        let path = self.dir.join(&entry.name);
        let digest = sha256_file(&path, counter)?;
        if let Some(expected) = self.expected(entry).filter(|e| *e != digest) {
            return Ok(FileState::Unsound(format!("its sha256 is {digest} in place of {expected}")));
        }
        self.remember(entry, digest)?;
        Ok(FileState::Sound)
    }

    /// Notes that the file in place has this digest.
    pub(super) fn remember(&mut self, entry: &FileEntry, sha256: String) -> Result<()> {
        let path = self.dir.join(&entry.name);
        let meta = std::fs::metadata(&path).map_err(|e| Error::io("reading", &path, &e))?;
        let seen = Seen { sha256, size: meta.len(), modified_ns: modified_ns(&meta) };
        // Another process may have noted another file meanwhile.
        self.seen.extend(Self::open(&self.dir).seen);
        self.seen.insert(entry.name.clone(), seen);
        let json = serde_json::to_vec_pretty(&self.seen).map_err(|e| Error::failed("model store", e))?;
        let record = self.dir.join(RECORD);
        let io = |e: std::io::Error| Error::io("writing", &record, &e);
        let mut temporary = tempfile::NamedTempFile::new_in(&self.dir).map_err(io)?;
        temporary.write_all(&json).map_err(io)?;
        temporary.persist(&record).map_err(|e| Error::io("writing", &record, &e.error))?;
        Ok(())
    }
}

/// The error for a file that is not the one that was meant.
pub(super) fn unsound(path: &Path, why: &str) -> Error {
    InternalError::Damaged {
        path: path.display().to_string(),
        message: format!("{why}; delete it and pull the model again, or put the right file in its place"),
    }
    .into()
}

/// The SHA-256 of a file; `counter` grows by the bytes read.
pub(super) fn sha256_file(path: &Path, counter: &AtomicU64) -> Result<String> {
    let io = |e: std::io::Error| Error::io("reading", path, &e);
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = Hasher::default();
    copy(&mut file, &mut hasher, counter).map_err(io)?;
    Ok(hasher.finish())
}

/// Copies all of `from` into `to`; `counter` grows by the bytes copied.
pub(super) fn copy(from: &mut dyn Read, to: &mut dyn Write, counter: &AtomicU64) -> std::io::Result<()> {
    let mut buffer = vec![0u8; 256 << 10];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        to.write_all(buffer.get(..n).unwrap_or_default())?;
        counter.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// A writer that hashes what is written to it.
#[derive(Default)]
pub(super) struct Hasher(Sha256);

impl Hasher {
    pub(super) fn finish(self) -> String {
        use std::fmt::Write as _;
        let mut hex = String::with_capacity(64);
        for byte in self.0.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn modified_ns(meta: &std::fs::Metadata) -> u128 {
    meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |d| d.as_nanos())
}
