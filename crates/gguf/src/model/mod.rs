//! One decoder-only transformer that serves the Llama, Qwen 2, Qwen 3 and Gemma 3 families: what differs between them is
//! read from the file (biases, normed queries and keys, extra norms, tied embeddings, windows, scales).

mod attention;
mod cache;
mod config;

use counterproof_core::{Error, Result};

use self::attention::{Span, Turns, attend};
pub(crate) use self::cache::KvCache;
use self::config::Architecture;
pub(crate) use self::config::Config;
use crate::file::GgufFile;
use crate::ops::{Matrix, add_assign, gelu_mul, multiply, rms_norm, scale, silu_mul};

/// Whether the one who asked has gone; then the work stops.
pub(crate) trait Stop {
    /// Whether to stop now.
    fn stopped(&self) -> bool;
}

/// The work was stopped because nobody waits for it any more.
pub(crate) fn stopped_error() -> Error {
    Error::failed("GGUF model", "the request was withdrawn")
}

/// The vectors of tokens after the last layer.
pub(crate) struct Hidden {
    vectors: Vec<f32>,
    width: usize,
}

struct Layer {
    attention_norm: Vec<f32>,
    q: Matrix,
    k: Matrix,
    v: Matrix,
    q_bias: Option<Vec<f32>>,
    k_bias: Option<Vec<f32>>,
    v_bias: Option<Vec<f32>>,
    q_norm: Option<Vec<f32>>,
    k_norm: Option<Vec<f32>>,
    attention_out: Matrix,
    attention_out_bias: Option<Vec<f32>>,
    post_attention_norm: Option<Vec<f32>>,
    hidden_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
    post_hidden_norm: Option<Vec<f32>>,
}

/// A transformer whose weights lie in a GGUF file.
pub(crate) struct Transformer {
    config: Config,
    embeddings: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    output: Matrix,
}

impl Transformer {
    /// Finds the weights in the file and checks their shapes.
    pub(crate) fn load(file: &GgufFile) -> Result<Self> {
        let config = Config::read(file)?;
        let embeddings = file.matrix("token_embd.weight", config.vocabulary, config.width)?;
        let output = if file.has_tensor("output.weight") {
            file.matrix("output.weight", config.vocabulary, config.width)?
        } else {
            embeddings.clone()
        };
        let norm = file.vector("output_norm.weight", config.width)?;
        let layers = (0..config.layers).map(|i| Layer::load(file, &config, i)).collect::<Result<_>>()?;
        Ok(Self { config, embeddings, layers, norm, output })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// An empty cache of the right shape.
    pub(crate) fn new_cache(&self) -> KvCache {
        KvCache::new(self.config.layers, self.config.kv_width())
    }

    /// Reads `tokens` after those in the cache and adds them to it.
    pub(crate) fn extend(&self, cache: &mut KvCache, tokens: &[u32], stop: &dyn Stop) -> Result<Hidden> {
        let spans = [Span { start: 0, len: tokens.len() }];
        let hidden = self.forward(cache, tokens, &spans, stop)?;
        cache.commit(tokens);
        Ok(hidden)
    }

    /// Reads each of `branches` on its own after the tokens in the cache, which is left as it was. The vectors come one
    /// branch after the other.
    pub(crate) fn branch(&self, cache: &mut KvCache, branches: &[&[u32]], stop: &dyn Stop) -> Result<Hidden> {
        let mut spans = Vec::with_capacity(branches.len());
        let mut start = 0;
        for branch in branches {
            spans.push(Span { start, len: branch.len() });
            start += branch.len();
        }
        let hidden = self.forward(cache, &branches.concat(), &spans, stop)?;
        cache.truncate(cache.len());
        Ok(hidden)
    }

    fn forward(
        &self,
        cache: &mut KvCache,
        tokens: &[u32],
        spans: &[Span],
        stop: &dyn Stop,
    ) -> Result<Hidden> {
        let config = &self.config;
        let base = cache.len();
        // Work that was stopped half way may have left something behind.
        cache.truncate(base);
        let mut x = vec![0f32; tokens.len() * config.width];
        for (token, out) in tokens.iter().zip(x.chunks_exact_mut(config.width)) {
            if *token as usize >= config.vocabulary {
                return Err(Error::failed(
                    "GGUF model",
                    format!("there is no token {token} in its embeddings"),
                ));
            }
            self.embeddings.row(*token as usize, out);
        }
        if config.embedding_scale != 1.0 {
            scale(&mut x, config.embedding_scale);
        }
        let positions = || spans.iter().flat_map(|s| base..base + s.len);
        let turns = Turns::new(&config.rope, positions());
        let local_turns = config.window.map(|_| Turns::new(&config.local_rope, positions()));
        for (i, (layer, kv)) in self.layers.iter().zip(&mut cache.layers).enumerate() {
            if stop.stopped() {
                return Err(stopped_error());
            }
            let window = config.layer_window(i);
            let turns = match (&local_turns, window) {
                (Some(local), Some(_)) => local,
                _ => &turns,
            };
            layer.attention(config, &mut x, kv, base, spans, turns, window);
            layer.feed_forward(config, &mut x);
        }
        Ok(Hidden { vectors: x, width: config.width })
    }

    /// The scores of all tokens of the vocabulary to come next, for the vectors `rows`, one row after the other.
    pub(crate) fn logits(&self, hidden: &Hidden, rows: std::ops::Range<usize>) -> Vec<f32> {
        let count = rows.len();
        let span = rows.start * hidden.width..rows.end * hidden.width;
        let mut x = hidden.vectors.get(span).unwrap_or_default().to_vec();
        norm_all(&mut x, &self.norm, self.config.norm_epsilon);
        let [logits] = multiply([&self.output], &x, count);
        logits
    }
}

fn norm_all(x: &mut [f32], weight: &[f32], epsilon: f32) {
    for vector in x.chunks_exact_mut(weight.len().max(1)) {
        rms_norm(vector, weight, epsilon);
    }
}

fn add_bias(x: &mut [f32], bias: Option<&Vec<f32>>) {
    if let Some(bias) = bias {
        for vector in x.chunks_exact_mut(bias.len().max(1)) {
            add_assign(vector, bias);
        }
    }
}

impl Layer {
    fn load(file: &GgufFile, config: &Config, index: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{index}.{part}");
        let (width, head_dim) = (config.width, config.head_dim);
        let q_width = config.heads * head_dim;
        let kv_width = config.kv_width();
        let normed = matches!(config.architecture, Architecture::Qwen3 | Architecture::Gemma3);
        let norm_if = |on: bool, part: &str, len: usize| {
            if on { file.vector(&name(part), len).map(Some) } else { Ok(None) }
        };
        let gemma = config.architecture == Architecture::Gemma3;
        Ok(Self {
            attention_norm: file.vector(&name("attn_norm.weight"), width)?,
            q: file.matrix(&name("attn_q.weight"), q_width, width)?,
            k: file.matrix(&name("attn_k.weight"), kv_width, width)?,
            v: file.matrix(&name("attn_v.weight"), kv_width, width)?,
            q_bias: file.optional_vector(&name("attn_q.bias"), q_width)?,
            k_bias: file.optional_vector(&name("attn_k.bias"), kv_width)?,
            v_bias: file.optional_vector(&name("attn_v.bias"), kv_width)?,
            q_norm: norm_if(normed, "attn_q_norm.weight", head_dim)?,
            k_norm: norm_if(normed, "attn_k_norm.weight", head_dim)?,
            attention_out: file.matrix(&name("attn_output.weight"), width, q_width)?,
            attention_out_bias: file.optional_vector(&name("attn_output.bias"), width)?,
            post_attention_norm: norm_if(gemma, "post_attention_norm.weight", width)?,
            hidden_norm: file.vector(&name("ffn_norm.weight"), width)?,
            gate: file.matrix(&name("ffn_gate.weight"), config.hidden, width)?,
            up: file.matrix(&name("ffn_up.weight"), config.hidden, width)?,
            down: file.matrix(&name("ffn_down.weight"), width, config.hidden)?,
            post_hidden_norm: norm_if(gemma, "post_ffw_norm.weight", width)?,
        })
    }

    #[allow(clippy::too_many_arguments)] // One call; a struct for it would only rename the arguments.
    fn attention(
        &self,
        config: &Config,
        x: &mut [f32],
        kv: &mut cache::LayerCache,
        base: usize,
        spans: &[Span],
        turns: &Turns,
        window: Option<usize>,
    ) {
        let count = x.len() / config.width;
        let (q_width, kv_width, head_dim) =
            (config.heads * config.head_dim, config.kv_width(), config.head_dim);
        let mut normed = x.to_vec();
        norm_all(&mut normed, &self.attention_norm, config.norm_epsilon);
        let [mut q, mut k, mut v] = multiply([&self.q, &self.k, &self.v], &normed, count);
        add_bias(&mut q, self.q_bias.as_ref());
        add_bias(&mut k, self.k_bias.as_ref());
        add_bias(&mut v, self.v_bias.as_ref());
        if let Some(norm) = &self.q_norm {
            norm_all(&mut q, norm, config.norm_epsilon);
        }
        if let Some(norm) = &self.k_norm {
            norm_all(&mut k, norm, config.norm_epsilon);
        }
        turns.apply(&mut q, q_width, head_dim);
        turns.apply(&mut k, kv_width, head_dim);
        kv.keys.extend_from_slice(&k);
        kv.values.extend_from_slice(&v);
        let attended = attend(config, &q, &kv.keys, &kv.values, base, spans, window);
        let [mut out] = multiply([&self.attention_out], &attended, count);
        add_bias(&mut out, self.attention_out_bias.as_ref());
        if let Some(norm) = &self.post_attention_norm {
            norm_all(&mut out, norm, config.norm_epsilon);
        }
        add_assign(x, &out);
    }

    fn feed_forward(&self, config: &Config, x: &mut [f32]) {
        let count = x.len() / config.width;
        let mut normed = x.to_vec();
        norm_all(&mut normed, &self.hidden_norm, config.norm_epsilon);
        let [mut gate, up] = multiply([&self.gate, &self.up], &normed, count);
        match config.architecture {
            Architecture::Gemma3 => gelu_mul(&mut gate, &up),
            _ => silu_mul(&mut gate, &up),
        }
        let [mut out] = multiply([&self.down], &gate, count);
        if let Some(norm) = &self.post_hidden_norm {
            norm_all(&mut out, norm, config.norm_epsilon);
        }
        add_assign(x, &out);
    }
}
