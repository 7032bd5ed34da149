//! The manifest: the one file that says what belongs to an index.
//!
//! Segments are written first, under names no manifest has used; then a new manifest takes the place of the old one
//! in a single rename. Whatever interrupts a build, an addition or a deletion, the folder therefore holds either the
//! index as it was or the index as it should be; a folder without a manifest is no index.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use counterproof_core::{Error, InternalError, Result, UserError};
use serde::{Deserialize, Serialize};

use super::content::ContentDigest;
use crate::analyzer;
use crate::bm25::Bm25Params;

/// The form of the folder. It grows when a program of the old form would misread the new one.
pub(crate) const FORMAT: u32 = 1;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const LOCK: &str = "write.lock";
pub(crate) const SEGMENTS: &str = "segments";

/// Which embedder made the vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderInfo {
    /// [`Embedder::identity`](counterproof_core::Embedder::identity).
    pub identity: String,
    /// How many numbers a vector has.
    pub dimension: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentInfo {
    pub(crate) name: String,
    /// Rows, deleted ones included.
    pub(crate) rows: u32,
    pub(crate) deleted: u32,
    /// The file of deleted rows, when there are some.
    pub(crate) deletions: Option<String>,
    /// The files of the segment and their lengths in bytes.
    pub(crate) files: Vec<(String, u64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// Grows with every change.
    pub(crate) generation: u64,
    /// The version of the program that wrote it, for people.
    pub(crate) written_by: String,
    pub(crate) analyzer: String,
    pub(crate) bm25: Bm25Params,
    pub(crate) embedder: Option<EmbedderInfo>,
    /// Passages that can be found.
    pub(crate) passages: u64,
    pub(crate) content: ContentDigest,
    pub(crate) segments: Vec<SegmentInfo>,
    /// Always true: what is cut off before it does not parse.
    pub(crate) complete: bool,
}

impl Manifest {
    pub(crate) fn new(bm25: Bm25Params, embedder: Option<EmbedderInfo>) -> Self {
        Self {
            format: FORMAT,
            generation: 0,
            written_by: concat!("counterproof ", env!("CARGO_PKG_VERSION")).to_owned(),
            analyzer: analyzer::NAME.to_owned(),
            bm25,
            embedder,
            passages: 0,
            content: ContentDigest::default(),
            segments: Vec::new(),
            complete: true,
        }
    }

    /// Reads the manifest of an index folder.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::from(UserError::NotFound {
                what: format!("index {}", folder.display()),
                hint: match folder.join(SEGMENTS).is_dir() {
                    true => "the folder holds an index whose building was never finished; build it again",
                    false => {
                        "there is none in this folder; `counterproof index build SOURCE --out DIR` makes one"
                    }
                }
                .to_owned(),
            }),
            _ => Error::io("reading", &path, &e),
        })?;
        let damaged = |message: String| {
            Error::from(InternalError::Damaged {
                path: path.display().to_string(),
                message: format!("{message}; build the index again"),
            })
        };
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
        let other = |what: String| {
            Error::invalid(
                format!("index {}", folder.display()),
                format!("{what}; build it again with this version"),
            )
        };
        if version.format != FORMAT {
            return Err(other(format!("it has format {}, this program reads {FORMAT}", version.format)));
        }
        let manifest: Self = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
        if manifest.analyzer != analyzer::NAME {
            return Err(other(format!(
                "its words were found by {}, not {}",
                manifest.analyzer,
                analyzer::NAME
            )));
        }
        if !manifest.complete {
            return Err(damaged("it is not marked as complete".to_owned()));
        }
        Ok(manifest)
    }

    /// Puts the manifest in place of the old one, in one step.
    pub(crate) fn commit(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let temporary = folder.join("manifest.json.new");
        let json =
            serde_json::to_string_pretty(self).map_err(|e| Error::failed("writing the manifest", e))?;
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(json.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            sync_folder(folder)
        };
        write().map_err(|e| {
            let _ = fs::remove_file(&temporary);
            Error::io("writing", &path, &e)
        })
    }

    /// Removes what no manifest names any more: old segments, and those of builds that were broken off. What cannot be
    /// removed now is left for the next time.
    pub(crate) fn sweep(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder.join(SEGMENTS)) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(segment) = self.segments.iter().find(|s| s.name.as_str() == name) else {
                let _ = fs::remove_dir_all(entry.path());
                continue;
            };
            for file in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let name = file.file_name();
                let name = name.to_string_lossy();
                if name.starts_with(DELETIONS) && segment.deletions.as_deref() != Some(&*name) {
                    let _ = fs::remove_file(file.path());
                }
            }
        }
    }
}

/// How files of deleted rows begin.
pub(crate) const DELETIONS: &str = "deleted-";

/// Makes renames and new files of a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// The right to change an index folder, given to one writer at a time. It ends with the process, whatever happens.
pub(crate) struct WriteLock {
    _file: File,
}

impl WriteLock {
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        let path: PathBuf = folder.join(LOCK);
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|e| Error::io("creating", &path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(fs::TryLockError::WouldBlock) => Err(Error::invalid(
                format!("index {}", folder.display()),
                "another process is writing to it; wait until it is done",
            )),
            Err(fs::TryLockError::Error(e)) => Err(Error::io("locking", &path, &e)),
        }
    }
}
