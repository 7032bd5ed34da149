//! The passages of one segment on disk: their words, and where an id is to be found.
//!
//! ```text
//! header    32 bytes, written last
//! records   lengths of id, title, url (u32::MAX: none) and text, each u32, then the four in this order
//! offsets   u64 a row: where its record begins
//! ids       u64 and u32 a row: the first eight bytes of the SHA-256 of its id, and its number, in this order
//! ```
//! All numbers are little-endian. Nothing is compressed: a hit is read straight out of the memory map.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use counterproof_core::{Error, InternalError, Passage, PassageId, Result};
use memmap2::Mmap;

use super::content::id_key;

const MAGIC: &[u8; 8] = b"cptexts\0";
const VERSION: u32 = 1;
const HEADER: usize = 32;
const ID_ENTRY: usize = 12;
const NONE: u32 = u32::MAX;

/// Writes a file in one stream.
pub(crate) struct TextWriter {
    path: PathBuf,
    out: BufWriter<File>,
    at: u64,
    offsets: Vec<u64>,
    ids: Vec<(u64, u32)>,
}

impl TextWriter {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io("creating", path, &e))?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&[0; HEADER]).map_err(|e| Error::io("writing", path, &e))?;
        Ok(Self { path: path.to_owned(), out, at: HEADER as u64, offsets: Vec::new(), ids: Vec::new() })
    }

    pub(crate) fn add(&mut self, passage: &Passage) -> Result<()> {
        let parts = [
            Some(passage.id.as_str()),
            Some(passage.title.as_str()),
            passage.url.as_deref(),
            Some(passage.text.as_str()),
        ];
        let mut written = 0u64;
        let mut put = |bytes: &[u8]| {
            written += bytes.len() as u64;
            self.out.write_all(bytes).map_err(|e| Error::io("writing", &self.path, &e))
        };
        for part in parts {
            let length = match part {
                Some(part) => u32::try_from(part.len()).ok().filter(|n| *n != NONE).ok_or_else(|| {
                    Error::failed("storing a passage", format!("{} has over 4 GiB of text", passage.id))
                })?,
                None => NONE,
            };
            put(&length.to_le_bytes())?;
        }
        for part in parts.into_iter().flatten() {
            put(part.as_bytes())?;
        }
        self.ids.push((id_key(&passage.id), self.offsets.len() as u32));
        self.offsets.push(self.at);
        self.at += written;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        let path = self.path.clone();
        self.write_end().map_err(|e| Error::io("writing", path, &e))
    }

    fn write_end(&mut self) -> std::io::Result<()> {
        self.ids.sort_unstable();
        for offset in &self.offsets {
            self.out.write_all(&offset.to_le_bytes())?;
        }
        for (key, row) in &self.ids {
            self.out.write_all(&key.to_le_bytes())?;
            self.out.write_all(&row.to_le_bytes())?;
        }
        self.out.flush()?;
        let rows = self.offsets.len() as u64;
        let file = self.out.get_mut();
        file.sync_all()?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        file.write_all(&[0; 4])?;
        file.write_all(&rows.to_le_bytes())?;
        file.write_all(&self.at.to_le_bytes())?;
        file.sync_all()
    }
}

/// An open file of passages.
pub(crate) struct TextFile {
    path: PathBuf,
    map: Mmap,
    rows: usize,
    offsets: usize,
}

impl TextFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io("reading", path, &e))?;
        // SAFETY: as for the vectors of a segment: the file is never changed once a manifest names it.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("reading", path, &e))?;
        let texts = Self { path: path.to_owned(), map, rows: 0, offsets: 0 };
        if texts.map.get(..8) != Some(MAGIC.as_slice()) {
            return Err(texts.damaged("it does not begin as a file of passages, or was never finished"));
        }
        if texts.map.get(8..12) != Some(VERSION.to_le_bytes().as_slice()) {
            return Err(texts.damaged("its version is another one than this program reads"));
        }
        let size = |at: usize| texts.number(at).and_then(|n| usize::try_from(n).ok());
        let (rows, offsets) = (size(16), size(24));
        let end = rows.zip(offsets).and_then(|(rows, offsets)| {
            offsets.checked_add(rows.checked_mul(8 + ID_ENTRY)?).filter(|_| offsets >= HEADER)
        });
        match (rows, offsets, end) {
            (Some(rows), Some(offsets), Some(end)) if end == texts.map.len() => {
                Ok(Self { rows, offsets, ..texts })
            }
            _ => Err(texts.damaged("it does not have the length that its header tells")),
        }
    }

    fn damaged(&self, message: &str) -> Error {
        InternalError::Damaged {
            path: self.path.display().to_string(),
            message: format!("{message}; build the index again"),
        }
        .into()
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    fn number(&self, at: usize) -> Option<u64> {
        self.map.get(at..)?.first_chunk::<8>().map(|b| u64::from_le_bytes(*b))
    }

    /// The parts of a record: id, title, url, text.
    fn parts(&self, row: usize) -> Option<(&str, &str, Option<&str>, &str)> {
        if row >= self.rows {
            return None;
        }
        let at = usize::try_from(self.number(self.offsets + row * 8)?).ok()?;
        let records = self.map.get(..self.offsets)?.get(at..)?;
        let (lengths, mut rest) = records.split_first_chunk::<16>()?;
        let (lengths, _) = lengths.as_chunks::<4>();
        let mut next = |length: &[u8; 4]| {
            let length = u32::from_le_bytes(*length);
            if length == NONE {
                return Some(None);
            }
            let (part, after) = rest.split_at_checked(length as usize)?;
            rest = after;
            Some(Some(std::str::from_utf8(part).ok()?))
        };
        let [id, title, url, text] = lengths else { return None };
        Some((next(id)??, next(title)??, next(url)?, next(text)??))
    }

    fn no_record(&self, row: usize) -> Error {
        self.damaged(&format!("row {row} has no readable record"))
    }

    /// The id of a row.
    pub(crate) fn id(&self, row: usize) -> Result<&str> {
        self.parts(row).map(|parts| parts.0).ok_or_else(|| self.no_record(row))
    }

    /// A passage.
    pub(crate) fn passage(&self, row: usize) -> Result<Passage> {
        let (id, title, url, text) = self.parts(row).ok_or_else(|| self.no_record(row))?;
        Ok(Passage { url: url.map(str::to_owned), ..Passage::new(id, title, text) })
    }

    /// The rows that carry an id: one, unless it was deleted and added again.
    pub(crate) fn find(&self, id: &PassageId) -> Vec<u32> {
        let key = id_key(id);
        let table = self.offsets + self.rows * 8;
        let key_at = |i: usize| self.number(table + i * ID_ENTRY).unwrap_or(u64::MAX);
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if key_at(middle) < key { low = middle + 1 } else { high = middle }
        }
        (low..self.rows)
            .take_while(|i| key_at(*i) == key)
            .filter_map(|i| self.map.get(table + i * ID_ENTRY + 8..)?.first_chunk::<4>())
            .map(|row| u32::from_le_bytes(*row))
            .filter(|row| self.id(*row as usize).is_ok_and(|found| found == id.as_str()))
            .collect()
    }
}
