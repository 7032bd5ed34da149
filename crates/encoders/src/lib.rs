//! BERT encoders in process: text embeddings without a server, a GPU or a C++ library.
//!
//! A model folder is the one that a hub hands out: `config.json`, `tokenizer.json` and `model.safetensors`. Encoders of
//! the BERT family are computed from these by a forward pass of our own, which runs over real tokens only; measured
//! on real passages it does twice the sentences a CPU-second that a runtime for padded graphs does. An encoder of
//! another family runs from its `.onnx` file. [`export_onnx`] writes the graph of a BERT encoder, so that its weights
//! run elsewhere.
//!
//! ```no_run
//! use counterproof_core::Embedder;
//! use counterproof_encoders::{BertEmbedder, EncoderOptions};
//!
//! # async fn f() -> counterproof_core::Result<()> {
//! let embedder = BertEmbedder::open("models/all-MiniLM-L6-v2", &EncoderOptions::default())?;
//! let vectors = embedder.embed(&["When did the observatory open?", "It opened in 1889."]).await?;
//! assert_eq!(vectors[0].len(), embedder.dimension());
//! # Ok(())
//! # }
//! ```

pub mod adapter;
mod batches;
mod bert;
mod classifier;
mod config;
mod digest;
mod embedder;
mod files;
mod fusion;
mod onnx;
mod pairs;
mod pool;
mod reader;
mod runtime;
mod source;
mod tokens;
mod verifier;
mod weights;
mod windows;

pub use config::{Activation, BertConfig, Pooling};
pub use embedder::BertEmbedder;
pub use fusion::{DenseLayer, Fusion, RulesModel};
pub use onnx::{Head, export_onnx};
pub use pool::EncoderOptions;
pub use reader::{BertReader, ScoredSpan};
pub use verifier::{BertVerifier, Judgement};

/// What a model folder is read with, for crates that compute with the weights themselves.
pub mod parts {
    pub use crate::digest::file_sha256;
    pub use crate::pairs::{PairTokenizer, Tokens};
    pub use crate::tokens::Sequence;
    pub use crate::weights::{Table, Weights};
}
