//! Text embeddings by a BERT encoder.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{Embedder, Error, Result, sha256_hex};
use rayon::prelude::*;

use crate::bert::BertModel;
use crate::config::{self, BertConfig, Pooling};
use crate::pool::{Cancelled, EncoderOptions, Never, Pool};
use crate::tokens::{Sequence, WindowTokenizer};
use crate::weights::Weights;

/// The window of sentence-transformers' all-MiniLM-L6-v2, in tokens.
const DEFAULT_MAX_TOKENS: usize = 256;

/// Tokens that are computed together by one thread: enough that reading the weights costs little beside the
/// arithmetic, few enough that the hidden states stay in the processor's cache.
const TOKENS_PER_GROUP: usize = 512;

/// An [`Embedder`] that runs a BERT encoder in this process.
///
/// Texts are computed on threads of its own, without padding; a text's vector does not depend on the texts beside it.
#[derive(Clone)]
pub struct BertEmbedder {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
}

struct Shared {
    identity: String,
    tokenizer: WindowTokenizer,
    model: BertModel,
    pooling: Pooling,
}

impl BertEmbedder {
    /// Loads the model folder `dir`: `config.json`, `tokenizer.json`, `model.safetensors`, and, where they are,
    /// `1_Pooling/config.json` and `sentence_bert_config.json`. Blocks for about a tenth of a second.
    ///
    /// # Errors
    /// A file is missing, damaged, or of a model that cannot be run; the error names it.
    pub fn open(dir: impl AsRef<Path>, options: &EncoderOptions) -> Result<Self> {
        let dir = dir.as_ref();
        let pool = Pool::new(options.threads)?;
        let config = BertConfig::read(dir)?;
        let pooling = Pooling::read(dir)?;
        let window = options.max_tokens.or(config::window(dir)?).unwrap_or(DEFAULT_MAX_TOKENS);
        let max_tokens = window.clamp(3, config.max_tokens().max(3));
        let weights = Weights::open(&dir.join("model.safetensors"))?;
        let (tokenizer, (model, digest)) = pool.run(|| {
            rayon::join(
                || WindowTokenizer::open(&dir.join("tokenizer.json"), max_tokens),
                || (BertModel::load(&weights, config), sha256_hex(weights.bytes())),
            )
        });
        let folder = || dir.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = options.name.clone().or_else(folder).unwrap_or_else(|| "encoder".to_owned());
        let identity = format!("{name}@{digest}/{}/{max_tokens}", pooling.name());
        let shared = Shared { identity, tokenizer: tokenizer?, model: model?, pooling };
        Ok(Self { shared: Arc::new(shared), pool: Arc::new(pool) })
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
        self.shared.model.config().hidden_size
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
        let vectors: Vec<Vec<Vec<f32>>> = groups(&sequences, threads)
            .into_par_iter()
            .map(|group| {
                if cancelled.cancelled() {
                    return Err(Error::failed("embedding", "nobody waits for the vectors any more"));
                }
                let states = self.model.forward(&group)?;
                Ok(self.pool_states(&group, &states))
            })
            .collect::<Result<_>>()?;
        Ok(vectors.into_iter().flatten().collect())
    }

    /// One unit vector a text from the hidden states of its tokens.
    fn pool_states(&self, group: &[&Sequence], states: &[f32]) -> Vec<Vec<f32>> {
        let hidden = self.model.config().hidden_size;
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
        group.iter().map(vector).collect()
    }
}

/// Cuts a batch, in its order, into groups that a thread computes together.
fn groups(sequences: &[Sequence], threads: usize) -> Vec<Vec<&Sequence>> {
    let tokens: usize = sequences.iter().map(Sequence::len).sum();
    let most = tokens.div_ceil(threads.max(1)).min(TOKENS_PER_GROUP);
    let mut groups: Vec<Vec<&Sequence>> = Vec::new();
    let mut room = 0;
    for sequence in sequences {
        match groups.last_mut() {
            Some(group) if sequence.len() <= room => {
                group.push(sequence);
                room -= sequence.len();
            }
            _ => {
                groups.push(vec![sequence]);
                room = most.saturating_sub(sequence.len());
            }
        }
    }
    groups
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
