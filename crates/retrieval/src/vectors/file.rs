//! The vectors of one segment on disk.
//!
//! ```text
//! header    64 bytes, written last: a file that was not finished has none
//! rows      one after the other: a signed byte a dimension, then the scale (f32) that makes them the vector
//! codes     one bit a dimension, in whole words of 64 bits
//! factors   f32 a row
//! mean      f32 a dimension
//! ```
//! All numbers are little-endian. Rows are written as they come; codes follow when the mean is known.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use counterproof_core::{Error, InternalError, Result, UserError};
use memmap2::Mmap;

use super::codes;
use super::kernel::MAX_DIMENSION;

const MAGIC: &[u8; 8] = b"cpvector";
const VERSION: u32 = 1;
const HEADER: usize = 64;

/// Where the parts of a file lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    dimension: usize,
    rows: usize,
    codes: usize,
    factors: usize,
    mean: usize,
    end: usize,
}

impl Layout {
    /// `None` when the numbers are beyond what memory can address.
    fn of(dimension: usize, rows: usize) -> Option<Self> {
        let codes = HEADER.checked_add(rows.checked_mul(stride(dimension))?)?.checked_next_multiple_of(64)?;
        let factors = codes.checked_add(rows.checked_mul(codes::code_bytes(dimension))?)?;
        let mean = factors.checked_add(rows.checked_mul(4)?)?;
        let end = mean.checked_add(dimension.checked_mul(4)?)?;
        Some(Self { dimension, rows, codes, factors, mean, end })
    }

    fn header(self) -> [u8; HEADER] {
        let mut header = [0u8; HEADER];
        let fields = [self.dimension as u64, self.rows as u64, self.end as u64];
        let bytes = MAGIC.iter().copied().chain(VERSION.to_le_bytes()).chain([0; 4]);
        let bytes = bytes.chain(fields.into_iter().flat_map(u64::to_le_bytes));
        for (to, from) in header.iter_mut().zip(bytes) {
            *to = from;
        }
        header
    }
}

/// Bytes of a row: its values and its scale.
fn stride(dimension: usize) -> usize {
    dimension + 4
}

/// Writes a file in one stream.
pub(crate) struct VectorWriter {
    path: PathBuf,
    out: BufWriter<File>,
    dimension: usize,
    rows: usize,
    /// Sum of all vectors, for the mean.
    sum: Vec<f64>,
    row: Vec<u8>,
}

impl VectorWriter {
    pub(crate) fn create(path: &Path, dimension: usize) -> Result<Self> {
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(UserError::Unsupported {
                who: "the vector index".to_owned(),
                what: format!("hold vectors of {dimension} dimensions; it takes 1 to {MAX_DIMENSION}"),
            }
            .into());
        }
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|e| Error::io("creating", path, &e))?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&[0; HEADER]).map_err(|e| Error::io("writing", path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            out,
            dimension,
            rows: 0,
            sum: vec![0.0; dimension],
            row: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, vector: &[f32]) -> Result<()> {
        if vector.len() != self.dimension || !vector.iter().all(|x| x.is_finite()) {
            return Err(Error::failed(
                "storing a vector",
                format!(
                    "the embedder gave {} numbers where {} finite ones were promised",
                    vector.len(),
                    self.dimension
                ),
            ));
        }
        let greatest = vector.iter().fold(0f32, |max, x| max.max(x.abs()));
        let scale = if greatest > 0.0 { greatest / 127.0 } else { 0.0 };
        let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        self.row.clear();
        for (x, sum) in vector.iter().zip(&mut self.sum) {
            let byte = (x * inverse).round().clamp(-127.0, 127.0) as i8;
            self.row.push(byte.cast_unsigned());
            *sum += f64::from(byte) * f64::from(scale);
        }
        self.row.extend_from_slice(&scale.to_le_bytes());
        self.rows += 1;
        self.out.write_all(&self.row).map_err(|e| Error::io("writing", &self.path, &e))
    }

    /// Copies a row of another file, byte for byte.
    pub(crate) fn add_row(&mut self, bytes: &[u8], scale: f32) -> Result<()> {
        for (byte, sum) in bytes.iter().zip(&mut self.sum) {
            *sum += f64::from(byte.cast_signed()) * f64::from(scale);
        }
        self.rows += 1;
        self.out
            .write_all(bytes)
            .and_then(|()| self.out.write_all(&scale.to_le_bytes()))
            .map_err(|e| Error::io("writing", &self.path, &e))
    }

    /// Writes the codes and, last of all, the header; then makes sure that it is all on the disk.
    pub(crate) fn finish(mut self) -> Result<()> {
        let path = self.path.clone();
        self.write_end().map_err(|e| Error::io("writing", path, &e))
    }

    fn write_end(&mut self) -> std::io::Result<()> {
        let layout = Layout::of(self.dimension, self.rows)
            .ok_or_else(|| std::io::Error::other("the segment is larger than memory can address"))?;
        let mean: Vec<f32> = self.sum.iter().map(|sum| (sum / self.rows.max(1) as f64) as f32).collect();
        self.out.flush()?;
        let written = HEADER + self.rows * stride(self.dimension);
        // SAFETY: the file was created by this writer, which is the only one that knows of it until the manifest
        // names it; nothing shortens it while the map lives.
        let rows = unsafe { Mmap::map(self.out.get_ref())? };
        self.out.write_all(&vec![0u8; layout.codes - written])?;
        let mut code = vec![0u8; codes::code_bytes(self.dimension)];
        let mut factors = Vec::with_capacity(self.rows * 4);
        for row in rows.get(HEADER..written).unwrap_or_default().chunks_exact(stride(self.dimension)) {
            let Some((values, scale)) = row.split_last_chunk::<4>() else { continue };
            let scale = f32::from_le_bytes(*scale);
            let vector = values.iter().map(|byte| f32::from(byte.cast_signed()) * scale);
            let factor = codes::encode(vector, &mean, &mut code);
            self.out.write_all(&code)?;
            factors.extend_from_slice(&factor.to_le_bytes());
        }
        drop(rows);
        self.out.write_all(&factors)?;
        for m in &mean {
            self.out.write_all(&m.to_le_bytes())?;
        }
        self.out.flush()?;
        let file = self.out.get_mut();
        file.sync_all()?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&layout.header())?;
        file.sync_all()
    }
}

/// An open file of vectors, read through a memory map.
pub(crate) struct VectorFile {
    map: Mmap,
    layout: Layout,
    mean: Vec<f32>,
}

impl VectorFile {
    /// Opens and checks a file: its magic, version, dimension and length.
    pub(crate) fn open(path: &Path, dimension: usize) -> Result<Self> {
        let damaged = |message: &str| {
            Error::from(InternalError::Damaged {
                path: path.display().to_string(),
                message: format!("{message}; build the index again"),
            })
        };
        let file = File::open(path).map_err(|e| Error::io("reading", path, &e))?;
        // SAFETY: files of a segment are never changed once a manifest names them; a program that shortens one from
        // outside breaks the contract of the index folder, as it would for any memory-mapped store.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("reading", path, &e))?;
        let number = |at: usize| {
            let bytes = map.get(at..at + 8).and_then(|b| b.first_chunk::<8>());
            bytes.map(|b| u64::from_le_bytes(*b)).and_then(|n| usize::try_from(n).ok())
        };
        if map.get(..8) != Some(MAGIC.as_slice()) {
            return Err(damaged("it does not begin as a vector file, or was never finished"));
        }
        if map.get(8..12) != Some(VERSION.to_le_bytes().as_slice()) {
            return Err(damaged("its version is another one than this program reads"));
        }
        let layout = number(16).zip(number(24)).and_then(|(dimension, rows)| Layout::of(dimension, rows));
        let Some(layout) = layout.filter(|l| number(32) == Some(l.end) && map.len() == l.end) else {
            return Err(damaged("it does not have the length that its header tells"));
        };
        if layout.dimension != dimension {
            return Err(damaged("its vectors have another dimension than the manifest says"));
        }
        let (mean, _) = map.get(layout.mean..).unwrap_or_default().as_chunks::<4>();
        let mean = mean.iter().map(|m| f32::from_le_bytes(*m)).collect();
        Ok(Self { map, layout, mean })
    }

    pub(crate) fn rows(&self) -> usize {
        self.layout.rows
    }

    pub(crate) fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// The bytes of a row and its scale.
    pub(crate) fn row(&self, row: usize) -> Option<(&[u8], f32)> {
        if row >= self.layout.rows {
            return None;
        }
        let start = HEADER + row * stride(self.layout.dimension);
        let bytes = self.map.get(start..start + stride(self.layout.dimension))?;
        let (values, scale) = bytes.split_last_chunk::<4>()?;
        Some((values, f32::from_le_bytes(*scale)))
    }

    /// The codes of `count` rows from `start` on.
    pub(crate) fn codes(&self, start: usize, count: usize) -> &[u8] {
        let size = codes::code_bytes(self.layout.dimension);
        let from = self.layout.codes + start * size;
        self.map.get(from..(from + count * size).min(self.layout.factors)).unwrap_or_default()
    }

    /// The factors of `count` rows from `start` on, four bytes each.
    pub(crate) fn factors(&self, start: usize, count: usize) -> &[u8] {
        let from = self.layout.factors + start * 4;
        self.map.get(from..(from + count * 4).min(self.layout.mean)).unwrap_or_default()
    }
}
