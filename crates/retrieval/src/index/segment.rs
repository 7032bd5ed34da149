//! A segment: some passages with their words, their postings and, where there is an embedder, their vectors. Row `n`
//! is the same passage in all three. A segment is never changed once it is written; deletions are kept beside it.

use std::fs;
use std::path::{Path, PathBuf};

use counterproof_core::{Error, InternalError, Passage, Result};

use super::manifest::{SegmentInfo, sync_folder};
use super::texts::{TextFile, TextWriter};
use crate::bitmap::Bitmap;
use crate::bm25::{LexicalSegment, LexicalWriter};
use crate::vectors::file::{VectorFile, VectorWriter};

const TEXTS: &str = "passages.bin";
const VECTORS: &str = "vectors.bin";
const POSTINGS: &str = "postings";

/// Writes one segment in a stream.
pub(crate) struct SegmentWriter {
    folder: PathBuf,
    name: String,
    texts: TextWriter,
    vectors: Option<VectorWriter>,
    lexical: LexicalWriter,
    rows: u32,
}

impl SegmentWriter {
    /// Starts the segment `name` in `segments`, with vectors of `dimension` numbers when that is given.
    pub(crate) fn create(segments: &Path, name: &str, dimension: Option<usize>) -> Result<Self> {
        let folder = segments.join(name);
        fs::create_dir_all(&folder).map_err(|e| Error::io("creating", &folder, &e))?;
        Ok(Self {
            texts: TextWriter::create(&folder.join(TEXTS))?,
            vectors: dimension.map(|d| VectorWriter::create(&folder.join(VECTORS), d)).transpose()?,
            lexical: LexicalWriter::on_disk(&folder.join(POSTINGS))?,
            folder,
            name: name.to_owned(),
            rows: 0,
        })
    }

    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Adds a passage, with its vector if the segment has vectors.
    pub(crate) fn add(&mut self, passage: &Passage, vector: Option<&[f32]>) -> Result<()> {
        match (&mut self.vectors, vector) {
            (Some(vectors), Some(vector)) => vectors.add(vector)?,
            (None, None) => {}
            _ => return Err(Error::failed("writing a segment", "a passage came without its vector")),
        }
        self.add_words(passage)
    }

    /// Copies a passage of another segment of the same index.
    pub(crate) fn add_from(&mut self, segment: &Segment, row: u32) -> Result<()> {
        if let Some(to) = &mut self.vectors {
            let from = segment.vectors.as_ref().and_then(|v| v.row(row as usize));
            let Some((bytes, scale)) = from else {
                return Err(Error::failed("merging segments", format!("row {row} has no vector")));
            };
            to.add_row(bytes, scale)?;
        }
        self.add_words(&segment.texts.passage(row as usize)?)
    }

    fn add_words(&mut self, passage: &Passage) -> Result<()> {
        self.texts.add(passage)?;
        self.lexical.add(&passage.title, &passage.text)?;
        self.rows += 1;
        Ok(())
    }

    /// Writes everything out and makes sure that it is on the disk.
    pub(crate) fn finish(self) -> Result<SegmentInfo> {
        self.texts.finish()?;
        if let Some(vectors) = self.vectors {
            vectors.finish()?;
        }
        self.lexical.finish()?;
        let mut files = Vec::new();
        let postings = self.folder.join(POSTINGS);
        for (folder, prefix) in [(&self.folder, ""), (&postings, "postings/")] {
            let reading = |e: std::io::Error| Error::io("reading", folder, &e);
            for entry in fs::read_dir(folder).map_err(reading)? {
                let entry = entry.map_err(reading)?;
                let metadata = entry.metadata().map_err(reading)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if metadata.is_file() && !name.ends_with(".lock") {
                    files.push((format!("{prefix}{name}"), metadata.len()));
                }
            }
            sync_folder(folder).map_err(|e| Error::io("writing", folder, &e))?;
        }
        files.sort();
        Ok(SegmentInfo { name: self.name, rows: self.rows, deleted: 0, deletions: None, files })
    }
}

/// A segment, open for search.
pub(crate) struct Segment {
    pub(crate) info: SegmentInfo,
    pub(crate) texts: TextFile,
    pub(crate) lexical: LexicalSegment,
    pub(crate) vectors: Option<VectorFile>,
    pub(crate) deleted: Option<Bitmap>,
    /// Number of its first row in the whole index.
    pub(crate) first_row: u32,
}

impl Segment {
    /// Opens the segment that a manifest names, and checks that it is whole.
    pub(crate) fn open(
        segments: &Path,
        info: &SegmentInfo,
        dimension: Option<usize>,
        first_row: u32,
    ) -> Result<Self> {
        let folder = segments.join(&info.name);
        let damaged = |path: &Path, message: String| {
            Error::from(InternalError::Damaged {
                path: path.display().to_string(),
                message: format!("{message}; build the index again"),
            })
        };
        for (name, length) in &info.files {
            let path = folder.join(name);
            match fs::metadata(&path) {
                Ok(metadata) if metadata.len() == *length => {}
                Ok(metadata) => {
                    let message = format!("it has {} bytes where {length} were written", metadata.len());
                    return Err(damaged(&path, message));
                }
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    return Err(damaged(&path, "it is missing".to_owned()));
                }
                Err(e) => return Err(Error::io("reading", &path, &e)),
            }
        }
        let texts = TextFile::open(&folder.join(TEXTS))?;
        let lexical = LexicalSegment::open(&folder.join(POSTINGS))?;
        let vectors = dimension.map(|d| VectorFile::open(&folder.join(VECTORS), d)).transpose()?;
        let counts =
            [texts.rows(), lexical.rows() as usize, vectors.as_ref().map_or(texts.rows(), |v| v.rows())];
        if counts.iter().any(|count| *count != info.rows as usize) {
            return Err(damaged(&folder, format!("its parts hold {counts:?} rows, not {}", info.rows)));
        }
        let deleted = match &info.deletions {
            None => None,
            Some(name) => {
                let path = folder.join(name);
                let bytes = fs::read(&path).map_err(|e| Error::io("reading", &path, &e))?;
                let deleted = Bitmap::from_bytes(&bytes);
                if deleted.len() != info.deleted as usize {
                    return Err(damaged(&path, format!("it does not hold {} rows", info.deleted)));
                }
                Some(deleted)
            }
        };
        Ok(Self { info: info.clone(), texts, lexical, vectors, deleted, first_row })
    }

    /// Whether a row can be found.
    pub(crate) fn is_live(&self, row: u32) -> bool {
        self.deleted.as_ref().is_none_or(|deleted| !deleted.contains(row))
    }
}
