//! The GGUF container: metadata and tensors of a model in one file, read through a memory map so that opening a model
//! costs no copy of its weights. Layout after the GGUF specification (versions 2 and 3, little endian).

mod reader;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof_core::{Error, InternalError, Result, UserError};
use memmap2::Mmap;
use sha2::{Digest, Sha256};

use crate::ops::Matrix;
use crate::ops::quant::Quantization;

pub(crate) use reader::Value;

/// How much of each end of a tensor goes into the identity of the weights.
const SAMPLE_BYTES: usize = 4096;

/// Where a tensor lies and how it is written down.
#[derive(Debug, Clone)]
pub(crate) struct TensorInfo {
    /// Sizes, the fastest-changing first.
    pub(crate) dims: Vec<usize>,
    /// The number that GGUF gives the type of its elements.
    pub(crate) type_id: u32,
    /// Bytes from the start of the tensor data.
    pub(crate) offset: u64,
}

/// An opened GGUF file.
pub(crate) struct GgufFile {
    path: PathBuf,
    map: Arc<Mmap>,
    metadata: HashMap<String, Value>,
    tensors: HashMap<String, TensorInfo>,
    data_start: usize,
}

impl GgufFile {
    /// Opens a file and checks that its header is whole and that every tensor lies within it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let file = File::open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::from(UserError::NotFound {
                what: format!("the GGUF model {shown}"),
                hint: "give the path of a .gguf file, or fetch one with `counterproof models pull`"
                    .to_owned(),
            }),
            _ => InternalError::Io { action: "opening", path: shown.clone(), message: e.to_string() }.into(),
        })?;
        // SAFETY: the map is only read. As with every memory map, a process that shortens or rewrites the file under us
        // would be seen; the model store replaces files by renaming, which leaves an open map as it was.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| InternalError::Io {
            action: "mapping",
            path: shown.clone(),
            message: e.to_string(),
        })?;
        let header = reader::read_header(&map).map_err(|problem| InternalError::Damaged {
            path: shown,
            message: format!("{problem}. Fetch the file again"),
        })?;
        let this = Self {
            path: path.to_owned(),
            map: Arc::new(map),
            metadata: header.metadata,
            tensors: header.tensors,
            data_start: header.data_start,
        };
        for name in this.tensors.keys() {
            if let Some(quantization) = this.tensors.get(name).and_then(|t| Quantization::from_id(t.type_id))
            {
                this.tensor_range(name, quantization)?;
            }
        }
        Ok(this)
    }

    /// The path, for messages.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// An error about what the file holds.
    pub(crate) fn damaged(&self, message: impl Into<String>) -> Error {
        InternalError::Damaged { path: self.name(), message: message.into() }.into()
    }

    /// An error about what this back end cannot run.
    pub(crate) fn unsupported(&self, what: impl std::fmt::Display) -> Error {
        UserError::Unsupported {
            who: "the GGUF back end".to_owned(),
            what: format!("run {}: {what}", self.name()),
        }
        .into()
    }

    /// A value of the metadata.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// A text of the metadata.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// A whole number of the metadata.
    pub(crate) fn integer(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Value::as_u64)
    }

    /// A number of the metadata.
    pub(crate) fn number(&self, key: &str) -> Option<f32> {
        self.get(key).and_then(Value::as_f32)
    }

    /// A flag of the metadata.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Value::as_bool)
    }

    /// Whether a tensor is there.
    pub(crate) fn has_tensor(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn tensor_range(&self, name: &str, quantization: Quantization) -> Result<std::ops::Range<usize>> {
        let info = self.info(name)?;
        let elements = info.dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        let columns = info.dims.first().copied().unwrap_or(0);
        let size = elements
            .filter(|_| columns.is_multiple_of(quantization.block_elements()))
            .and_then(|n| (n / quantization.block_elements()).checked_mul(quantization.block_bytes()))
            .ok_or_else(|| self.damaged(format!("tensor {name} has an impossible shape {:?}", info.dims)))?;
        let start = usize::try_from(info.offset).ok().and_then(|o| self.data_start.checked_add(o));
        let end = start.and_then(|s| s.checked_add(size));
        match (start, end) {
            (Some(start), Some(end)) if end <= self.map.len() => Ok(start..end),
            _ => Err(self.damaged(format!(
                "it is cut off: tensor {name} ends beyond the {} bytes of the file. Fetch the file again",
                self.map.len()
            ))),
        }
    }

    fn info(&self, name: &str) -> Result<&TensorInfo> {
        self.tensors.get(name).ok_or_else(|| self.damaged(format!("tensor {name} is missing")))
    }

    /// The matrix `name`, which must have `rows` rows of `columns` numbers. Nothing is copied.
    pub(crate) fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        let info = self.info(name)?;
        let quantization = Quantization::from_id(info.type_id).ok_or_else(|| {
            self.unsupported(format!(
                "tensor {name} is quantised as {}; supported are {}",
                Quantization::foreign_name(info.type_id),
                Quantization::supported_names()
            ))
        })?;
        if info.dims != [columns, rows] && !(rows == 1 && info.dims == [columns]) {
            return Err(self.damaged(format!(
                "tensor {name} has shape {:?} where [{columns}, {rows}] is needed",
                info.dims
            )));
        }
        let range = self.tensor_range(name, quantization)?;
        Ok(Matrix::new(Arc::clone(&self.map), range, quantization, rows, columns))
    }

    /// How many rows a matrix has.
    pub(crate) fn matrix_rows(&self, name: &str) -> Result<usize> {
        Ok(self.info(name)?.dims.get(1).copied().unwrap_or(1))
    }

    /// The vector `name` of `len` numbers, as plain numbers.
    pub(crate) fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        let matrix = self.matrix(name, 1, len)?;
        let mut out = vec![0.0; len];
        matrix.row(0, &mut out);
        Ok(out)
    }

    /// The vector `name` where the file has it.
    pub(crate) fn optional_vector(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>> {
        if self.has_tensor(name) { self.vector(name, len).map(Some) } else { Ok(None) }
    }

    /// A digest that changes with the model: SHA-256 over the size of the file, its whole header (metadata, vocabulary,
    /// names, shapes and places of tensors), and the first and last 4 KiB of every tensor in the order of their
    /// places. It reads a few megabytes where hashing the file would read all of it at every start.
    pub(crate) fn fingerprint(&self) -> String {
        use std::fmt::Write as _;
        let mut hasher = Sha256::new();
        hasher.update((self.map.len() as u64).to_le_bytes());
        hasher.update(self.map.get(..self.data_start).unwrap_or(&self.map));
        let mut starts: Vec<usize> = self
            .tensors
            .values()
            .filter_map(|t| usize::try_from(t.offset).ok()?.checked_add(self.data_start))
            .collect();
        starts.push(self.map.len());
        starts.sort_unstable();
        for pair in starts.windows(2) {
            if let [start, end] = pair
                && let Some(bytes) = self.map.get(*start..*end)
            {
                hasher.update(bytes.get(..SAMPLE_BYTES).unwrap_or(bytes));
                hasher.update(bytes.get(bytes.len().saturating_sub(SAMPLE_BYTES)..).unwrap_or(bytes));
            }
        }
        let mut hex = String::with_capacity(64);
        for byte in hasher.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}
