//! Adapters: what training changed of a base encoder, in a file of a megabyte or two.
//!
//! A safetensors file in 16 bit. For each dense layer that LoRA touched (Hu et al., arXiv:2106.09685) it holds
//! `{layer}.lora_A` (`rank x inputs`) and `{layer}.lora_B` (`outputs x rank`), whose product times `alpha / rank` is added
//! to the base weight; tensors that were trained whole (layer norms, biases, perhaps some weights) replace the base's of
//! the same name; the head's are called `head.*`. What they belong to stands in the header as JSON, with a digest of the
//! numbers, so that a file of another base, another format or with a flipped bit is refused before it judges anything.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use counterproof_core::{Error, InternalError, Result, UserError};
use counterproof_kernels::vector::add_scaled;
use half::f16;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::temporary_in;
use crate::fusion::{Fusion, log_softmax};

/// The version of the file format.
pub const FORMAT: u32 = 1;

/// The field of the safetensors header that holds [`Metadata`] as JSON.
const FIELD: &str = "counterproof.adapter";

/// What an adapter makes of the base encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdapterKind {
    /// Judges whether evidence entails a statement.
    Verifier,
    /// Finds the words of a passage that answer a question.
    Reader,
}

impl AdapterKind {
    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verifier => "verifier",
            Self::Reader => "reader",
        }
    }
}

/// How logits become probabilities: `softmax((logit + offset) / temperature)` of the encoder alone, or by a layer over the
/// logits and what rules find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Divides the logits (Guo et al., arXiv:1706.04599).
    pub temperature: f32,
    /// Added to each class's logit before.
    pub offsets: [f32; 3],
    /// The layer that takes the rules in, where one was fitted; `temperature` and `offsets` are for the encoder alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusion: Option<Fusion>,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { temperature: 1.0, offsets: [0.0; 3], fusion: None }
    }
}

impl Calibration {
    /// The probabilities of the classes by the encoder alone.
    pub fn probabilities(&self, logits: [f32; 3]) -> [f64; 3] {
        let temperature = f64::from(self.temperature).max(1e-6);
        let mut scaled = [0.0; 3];
        for ((scaled, logit), offset) in scaled.iter_mut().zip(logits).zip(self.offsets) {
            *scaled = f64::from(logit + offset) / temperature;
        }
        log_softmax(scaled).map(f64::exp)
    }
}

/// What an adapter is and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// [`FORMAT`] when it was written.
    pub format: u32,
    /// What it does.
    pub kind: AdapterKind,
    /// SHA-256 of the base encoder's `model.safetensors`, in lower-case hexadecimal.
    pub base_sha256: String,
    /// Columns of `lora_A`'s transpose and of `lora_B`.
    pub rank: usize,
    /// Over `rank`, the factor of `lora_B * lora_A`.
    pub alpha: f32,
    /// How the two texts are joined, in words; for people.
    pub template: String,
    /// The longest sequence it was trained on, in tokens.
    pub max_tokens: usize,
    /// The names of the head's outputs, in order.
    pub labels: Vec<String>,
    /// The languages of what it was trained on, as `counterproof_text::language` calls them; empty where that is not known.
    #[serde(default)]
    pub languages: Vec<String>,
    /// How logits become probabilities.
    #[serde(default)]
    pub calibration: Calibration,
    /// How it was trained: data, rows, seed, recipe, figures.
    #[serde(default)]
    pub training: serde_json::Value,
}

/// Numbers of one tensor, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// As many numbers as the product of `shape`.
    pub data: Vec<f32>,
}

/// An adapter in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// What it is.
    pub metadata: Metadata,
    tensors: BTreeMap<String, Tensor>,
    /// The file it was read from, for messages.
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Header {
    sha256: String,
    #[serde(flatten)]
    metadata: Metadata,
}

impl Adapter {
    /// An adapter of these tensors. Numbers are rounded to 16 bit at once, so that the adapter in memory behaves as the
    /// file will.
    pub fn new(metadata: Metadata, mut tensors: BTreeMap<String, Tensor>) -> Self {
        for x in tensors.values_mut().flat_map(|tensor| &mut tensor.data) {
            *x = f16::from_f32(*x).to_f32();
        }
        Self { metadata, tensors, name: "the adapter".to_owned() }
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn save(&self, path: &Path) -> Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let failed = |error: std::io::Error| Error::io("writing", path, &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let bytes = self.to_bytes()?;
        let mut file = temporary_in(folder).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The bytes of the file; the same adapter always gives the same.
    ///
    /// # Errors
    /// A tensor whose numbers do not fill its shape.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let failed = |error: &dyn std::fmt::Display| Error::failed("writing an adapter", error);
        let bytes: Vec<(&String, &Tensor, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, tensor)| {
                let bytes = tensor.data.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect();
                (name, tensor, bytes)
            })
            .collect();
        let header = Header {
            sha256: digest(bytes.iter().map(|(name, _, bytes)| (name.as_str(), bytes.as_slice()))),
            metadata: self.metadata.clone(),
        };
        let header = serde_json::to_string(&header).map_err(|error| failed(&error))?;
        let views = bytes.iter().map(|(name, tensor, bytes)| {
            TensorView::new(Dtype::F16, tensor.shape.clone(), bytes).map(|view| (name.as_str(), view))
        });
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
        let info = std::collections::HashMap::from([(FIELD.to_owned(), header)]);
        safetensors::serialize(views, Some(info)).map_err(|error| failed(&error))
    }

    /// Reads an adapter file.
    ///
    /// # Errors
    /// The file is missing, is not an adapter, is damaged, or has a format of another version; the error names it.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => UserError::NotFound {
                what: format!("the adapter {}", path.display()),
                hint: "name another file, or make it with `counterproof train`".to_owned(),
            }
            .into(),
            _ => Error::io("reading", path, &error),
        })?;
        Self::from_bytes(&bytes, &path.display().to_string())
    }

    /// Reads an adapter from the bytes of its file; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let damaged =
            |message: String| -> Error { InternalError::Damaged { path: name.to_owned(), message }.into() };
        let (_, info) = SafeTensors::read_metadata(bytes)
            .map_err(|error| damaged(format!("not a whole safetensors file ({error}); fetch it again")))?;
        let header = info.metadata().as_ref().and_then(|fields| fields.get(FIELD));
        let header = header.ok_or_else(|| {
            Error::invalid(name, "not an adapter of counterproof: its header does not say what it adapts")
        })?;
        let format = serde_json::from_str::<serde_json::Value>(header)
            .ok()
            .and_then(|header| header.get("format").and_then(serde_json::Value::as_u64));
        if format != Some(u64::from(FORMAT)) {
            let found = format.map_or_else(|| "none".to_owned(), |format| format.to_string());
            return Err(Error::invalid(
                name,
                format!("an adapter of format {found}, this version reads format {FORMAT}: train it again"),
            ));
        }
        let Header { sha256, metadata } =
            serde_json::from_str(header).map_err(|error| damaged(format!("its header: {error}")))?;
        let file = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.to_string()))?;
        let mut views = file.tensors();
        views.sort_by(|(a, _), (b, _)| a.cmp(b));
        if digest(views.iter().map(|(name, view)| (name.as_str(), view.data()))) != sha256 {
            return Err(damaged("its numbers are not those that were written; fetch it again".to_owned()));
        }
        let mut tensors = BTreeMap::new();
        for (tensor, view) in views {
            if view.dtype() != Dtype::F16 {
                return Err(damaged(format!("tensor `{tensor}` holds {:?} where F16 is due", view.dtype())));
            }
            let numbers = view.data().as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32());
            let data: Vec<f32> = numbers.collect();
            if !data.iter().all(|x| x.is_finite()) {
                return Err(damaged(format!("tensor `{tensor}` holds a number that is not finite")));
            }
            tensors.insert(tensor, Tensor { shape: view.shape().to_vec(), data });
        }
        Ok(Self { metadata, tensors, name: name.to_owned() })
    }

    /// Refuses an adapter that is of another kind or belongs to another base.
    ///
    /// # Errors
    /// The message says what the adapter is for.
    pub fn check(&self, kind: AdapterKind, base_sha256: &str) -> Result<()> {
        let Metadata { kind: is, base_sha256: of, .. } = &self.metadata;
        if *is != kind {
            let problem = format!("it is a {}, where a {} is needed", is.name(), kind.name());
            return Err(Error::invalid(&self.name, problem));
        }
        if of != base_sha256 {
            let short = |digest: &str| digest.get(..12).unwrap_or(digest).to_owned();
            return Err(Error::invalid(
                &self.name,
                format!(
                    "it was trained on the base encoder {}, not on {}: use the base it belongs to, or train it again",
                    short(of),
                    short(base_sha256)
                ),
            ));
        }
        Ok(())
    }

    /// Refuses a calibration that does not belong to the rules of this version.
    pub(crate) fn check_fusion(&self) -> Result<()> {
        self.metadata.calibration.fusion.as_ref().map_or(Ok(()), |fusion| fusion.check(&self.name))
    }

    /// The SHA-256 of its numbers, in lower-case hexadecimal: names it in an identity.
    pub fn digest(&self) -> String {
        let bytes = self.tensors.iter().map(|(name, tensor)| {
            (
                name.as_str(),
                tensor.data.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect::<Vec<u8>>(),
            )
        });
        digest(bytes)
    }

    /// Whether there is a tensor of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The dimensions of the tensor `name`.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// The tensor `name`, which must have `shape`.
    ///
    /// # Errors
    /// There is none, or it has another shape.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<&[f32]> {
        let damaged = |message: String| InternalError::Damaged { path: self.name.clone(), message };
        let tensor = self.tensors.get(name).ok_or_else(|| damaged(format!("there is no tensor `{name}`")))?;
        if tensor.shape != shape {
            let message = format!("tensor `{name}` has shape {:?} where {shape:?} is due", tensor.shape);
            return Err(damaged(message).into());
        }
        Ok(&tensor.data)
    }

    /// Changes the weight of the dense layer `layer`, `outputs x inputs`: replaces it where the adapter holds it
    /// whole, then adds `alpha / rank * lora_B * lora_A` where it holds these.
    ///
    /// # Errors
    /// A tensor has another shape.
    pub fn change(&self, layer: &str, weight: &mut [f32], outputs: usize, inputs: usize) -> Result<()> {
        let whole = format!("{layer}.weight");
        if self.contains(&whole) {
            weight.copy_from_slice(self.tensor(&whole, &[outputs, inputs])?);
        }
        let (a, b) = (format!("{layer}.lora_A"), format!("{layer}.lora_B"));
        if self.contains(&a) {
            let Metadata { rank, alpha, .. } = self.metadata;
            let scale = alpha / rank.max(1) as f32;
            let (a, b) = (self.tensor(&a, &[rank, inputs])?, self.tensor(&b, &[outputs, rank])?);
            for (row, b) in weight.chunks_exact_mut(inputs.max(1)).zip(b.chunks_exact(rank.max(1))) {
                for (a, b) in a.chunks_exact(inputs.max(1)).zip(b) {
                    add_scaled(row, scale * b, a);
                }
            }
        }
        Ok(())
    }
}

fn digest<'a, B: AsRef<[u8]>>(tensors: impl Iterator<Item = (&'a str, B)>) -> String {
    let mut hasher = Sha256::new();
    for (name, bytes) in tensors {
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update((bytes.as_ref().len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
