//! The weights of an encoder: a safetensors file, mapped into memory so that only what is used is read.
//!
//! Tables of embeddings stay in the map and single rows are copied out of it: all-MiniLM-L6-v2 spends half of its
//! 90 MB on words, of which one query needs a dozen.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof_core::{Error, InternalError, Result, UserError};
use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, SafeTensors};

/// An opened safetensors file.
pub struct Weights {
    path: PathBuf,
    map: Arc<Mmap>,
    metadata: Metadata,
    /// Where the tensors begin, in bytes from the start of the file.
    start: usize,
    /// What stands before every name, such as `bert.` where the encoder was saved with a head.
    prefix: String,
}

impl Weights {
    /// Maps the file and reads its header.
    ///
    /// # Errors
    /// The file is missing, damaged, or holds no BERT encoder.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => UserError::NotFound {
                what: format!("the encoder's weights {}", path.display()),
                hint: "fetch them with `counterproof models pull`, or name another folder".to_owned(),
            }
            .into(),
            _ => Error::io("reading", path, &error),
        })?;
        // SAFETY: the file is only read, and the model store replaces files by renaming a new one into place, which
        // leaves the mapped one as it is. A person who cuts a mapped file short gets a bus error, as with any map.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::io("reading", path, &error))?;
        let (header, metadata) = SafeTensors::read_metadata(&map)
            .map_err(|error| damaged(path, format!("{error}; fetch the model again")))?;
        const WORD_TABLE: &str = "embeddings.word_embeddings.weight";
        let name = metadata.offset_keys().into_iter().find(|name| name.ends_with(WORD_TABLE));
        let prefix = match name {
            Some(name) => name.strip_suffix(WORD_TABLE).unwrap_or_default().to_owned(),
            None => {
                return Err(damaged(path, format!("there is no tensor `{WORD_TABLE}`: not a BERT encoder")));
            }
        };
        Ok(Self { path: path.to_owned(), map: Arc::new(map), metadata, start: 8 + header, prefix })
    }

    /// The tensor `name` (without the file's prefix), which must have `shape`.
    ///
    /// # Errors
    /// There is none, it has another shape, or it holds numbers of a kind that cannot be read.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Table> {
        self.head_tensor(&format!("{}{name}", self.prefix), shape)
    }

    /// As [`tensor`](Self::tensor), for a name that never has the prefix: those of a head on top of the encoder.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub fn head_tensor(&self, full: &str, shape: &[usize]) -> Result<Table> {
        // The first BERT checkpoints call the two vectors of a layer norm gamma and beta.
        let older =
            full.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
        let info = self.metadata.info(full).or_else(|| self.metadata.info(&older));
        let info = info.ok_or_else(|| damaged(&self.path, format!("there is no tensor `{full}`")))?;
        if info.shape != shape {
            let message =
                format!("tensor `{full}` has shape {:?} where config.json makes it {shape:?}", info.shape);
            return Err(damaged(&self.path, message));
        }
        let number = match info.dtype {
            Dtype::F32 => Number::F32,
            Dtype::F16 => Number::F16,
            Dtype::BF16 => Number::Bf16,
            other => {
                let message = format!("tensor `{full}` holds {other:?}; F32, F16 and BF16 can be read");
                return Err(damaged(&self.path, message));
            }
        };
        let (start, end) = info.data_offsets;
        let bytes = self.start + start..self.start + end;
        let columns = shape.last().copied().unwrap_or(1);
        Ok(Table { map: Arc::clone(&self.map), bytes, number, columns })
    }
}

fn damaged(path: &Path, message: String) -> Error {
    InternalError::Damaged { path: path.display().to_string(), message }.into()
}

/// How a number is stored.
#[derive(Debug, Clone, Copy)]
enum Number {
    F32,
    F16,
    Bf16,
}

impl Number {
    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

/// A tensor in the map, seen as rows of its last dimension.
#[derive(Clone)]
pub struct Table {
    map: Arc<Mmap>,
    bytes: Range<usize>,
    number: Number,
    columns: usize,
}

impl Table {
    /// Calls `put` with each number of row `row` and the place in `out` that it belongs to. A row beyond the table
    /// is left out: callers check their indices against the configuration.
    fn each(&self, bytes: &[u8], out: &mut [f32], put: impl Fn(&mut f32, f32)) {
        match self.number {
            Number::F32 => {
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                    put(out, f32::from_le_bytes(*bytes));
                }
            }
            Number::F16 => {
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                    put(out, f16::from_le_bytes(*bytes).to_f32());
                }
            }
            Number::Bf16 => {
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                    put(out, bf16::from_le_bytes(*bytes).to_f32());
                }
            }
        }
    }

    fn row(&self, row: usize) -> &[u8] {
        let stride = self.columns * self.number.size();
        let bytes = self.map.get(self.bytes.clone()).unwrap_or_default();
        bytes.get(row * stride..(row + 1) * stride).unwrap_or_default()
    }

    /// Copies row `row` into `out`.
    pub fn copy_row(&self, row: usize, out: &mut [f32]) {
        self.each(self.row(row), out, |out, x| *out = x);
    }

    /// Adds row `row` to `out`.
    pub fn add_row(&self, row: usize, out: &mut [f32]) {
        self.each(self.row(row), out, |out, x| *out += x);
    }

    /// Calls `put` with each row, in order; the row is only lent.
    pub fn each_row(&self, mut put: impl FnMut(&[f32])) {
        let mut row = vec![0.0; self.columns];
        for i in 0..self.bytes.len() / (self.columns * self.number.size()).max(1) {
            self.copy_row(i, &mut row);
            put(&row);
        }
    }

    /// Every number.
    pub fn to_vec(&self) -> Vec<f32> {
        let mut out = Vec::with_capacity(self.bytes.len() / self.number.size());
        self.each_row(|row| out.extend_from_slice(row));
        out
    }
}
