//! Text embeddings by an encoder.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{Embedder, Error, Result};
use rayon::prelude::*;

use crate::batches::compute;
use crate::bert::BertModel;
use crate::config::{self, BertConfig, Pooling};
use crate::digest::file_sha256;
use crate::pool::{Cancelled, EncoderOptions, Never, Pool};
use crate::runtime::{OnnxModel, Runtime, find_onnx};
use crate::source::Source;
use crate::tokens::{Sequence, WindowTokenizer};
use crate::weights::Weights;

/// The window of sentence-transformers' all-MiniLM-L6-v2, in tokens.
const DEFAULT_MAX_TOKENS: usize = 256;

/// An [`Embedder`] that runs an encoder in this process.
///
/// BERT and RoBERTa encoders are computed from their safetensors, without padding; an encoder of another family is
/// run from its `.onnx` file. Either way on threads of its own, and a text's vector does not depend on the texts
/// beside it.
#[derive(Clone)]
pub struct BertEmbedder {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
}

struct Shared {
    identity: String,
    tokenizer: WindowTokenizer,
    runtime: Runtime,
    pooling: Pooling,
}

impl BertEmbedder {
    /// Loads the model folder `dir`: `tokenizer.json`, and either `config.json` with `model.safetensors` or
    /// `model.onnx` (perhaps in a folder `onnx`); where they are, `1_Pooling/config.json` and
    /// `sentence_bert_config.json` are followed. Blocks for about a tenth of a second.
    ///
    /// The first opening keeps the SHA-256 of the weights beside them, if the folder can be written to.
    ///
    /// # Errors
    /// A file is missing, damaged, or of a model that cannot be run; the error names it.
    pub fn open(dir: impl AsRef<Path>, options: &EncoderOptions) -> Result<Self> {
        let dir = dir.as_ref();
        let pool = Pool::new(options.threads)?;
        let pooling = Pooling::read(dir)?;
        let window = options.max_tokens.or(config::window(dir)?).unwrap_or(DEFAULT_MAX_TOKENS);
        let tokenizer_of = |most: usize| {
            let max_tokens = window.clamp(3, most.max(3));
            Ok::<_, Error>((WindowTokenizer::open(&dir.join("tokenizer.json"), max_tokens)?, max_tokens))
        };
        let safetensors = dir.join("model.safetensors");
        let config = BertConfig::read(dir).and_then(|config| Ok((config, Weights::open(&safetensors)?)));
        let ((tokenizer, max_tokens), runtime, file) = match (config, find_onnx(dir)) {
            (Ok((config, weights)), _) => {
                let most = config.max_tokens();
                let (tokenizer, model) = pool.run(|| {
                    rayon::join(|| tokenizer_of(most), || BertModel::load(Source::plain(&weights), config))
                });
                (tokenizer?, Runtime::Bert(model?), safetensors)
            }
            (Err(_), Some(onnx)) => {
                let tokenizer = tokenizer_of(config::positions(dir)?.unwrap_or(usize::MAX))?;
                let model = OnnxModel::load(&onnx, pool.threads(), &tokenizer.0.encode("a")?)?;
                (tokenizer, Runtime::Onnx(model), onnx)
            }
            (Err(error), None) => return Err(error),
        };
        let digest = file_sha256(&file)?;
        let folder = || dir.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = options.name.clone().or_else(folder).unwrap_or_else(|| "encoder".to_owned());
        let identity = format!("{name}@{digest}/{}/{max_tokens}", pooling.name());
        Ok(Self { shared: Arc::new(Shared { identity, tokenizer, runtime, pooling }), pool: Arc::new(pool) })
    }

    /// As [`embed`](Embedder::embed), blocking this thread until the vectors are there: for callers outside an
    /// async runtime.
    ///
    /// # Errors
    /// As [`embed`](Embedder::embed).
    pub fn embed_blocking<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<Vec<f32>>> {
        self.pool.run(|| self.shared.embed(texts, self.pool.threads(), &Never))
    }
}

#[async_trait]
impl Embedder for BertEmbedder {
    fn identity(&self) -> &str {
        &self.shared.identity
    }

    fn dimension(&self) -> usize {
        self.shared.runtime.hidden_size()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let (shared, threads) = (Arc::clone(&self.shared), self.pool.threads());
        self.pool.spawn(move |cancelled| shared.embed(&texts, threads, cancelled)).await
    }
}

impl Shared {
    /// Runs on a thread of the pool.
    fn embed<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        threads: usize,
        cancelled: &dyn Cancelled,
    ) -> Result<Vec<Vec<f32>>> {
        let sequences: Vec<Sequence> =
            texts.par_iter().map(|text| self.tokenizer.encode(text.as_ref())).collect::<Result<_>>()?;
        let together = self.runtime.one_thread_a_batch();
        compute(&sequences, threads, together, cancelled, |batch| {
            Ok(self.pool_states(batch, &self.runtime.forward(batch)?))
        })
    }

    /// One unit vector a text from the hidden states of its tokens.
    fn pool_states(&self, batch: &[&Sequence], states: &[f32]) -> Vec<Vec<f32>> {
        let hidden = self.runtime.hidden_size();
        let mut rows = states.chunks_exact(hidden);
        let vector = |sequence: &&Sequence| {
            let mut sum = vec![0f32; hidden];
            for (i, row) in rows.by_ref().take(sequence.len()).enumerate() {
                if i == 0 || self.pooling == Pooling::Mean {
                    for (sum, x) in sum.iter_mut().zip(row) {
                        *sum += x;
                    }
                }
            }
            normalised(sum)
        };
        batch.iter().map(vector).collect()
    }
}

/// `vector` at length one. A vector without direction, as a text without any token has it, becomes the first unit
/// vector.
fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        for x in &mut vector {
            *x /= norm;
        }
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
    vector
}
