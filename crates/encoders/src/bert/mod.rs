//! The forward pass of a BERT encoder over packed sequences.
//!
//! The tokens of several texts stand one after another without padding: everything that treats tokens alone (the
//! embeddings, the matrix products, the layer norms) runs over all of them at once, and only attention looks at one
//! text at a time. So no arithmetic is spent on padding, and a vector cannot depend on the texts beside it.

mod attention;
mod linear;

use counterproof_core::{Error, Result};
use counterproof_kernels::matrix::Then;
use counterproof_kernels::norm::LayerNorm;
use rayon::prelude::*;

use self::attention::Attention;
pub(crate) use self::linear::Linear;
use crate::config::{Activation, BertConfig};
use crate::source::Source;
use crate::tokens::Sequence;
use crate::weights::Table;

/// A BERT encoder, its weights laid out for the processor.
pub(crate) struct BertModel {
    config: BertConfig,
    words: Table,
    positions: Table,
    types: Table,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Queries, keys and values in one product; the queries already divided by the root of the head size.
    qkv: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    inner: Linear,
    output: Linear,
    output_norm: LayerNorm,
}

impl BertModel {
    /// Loads the encoder, changed by the source's adapter if it has one.
    pub(crate) fn load(source: Source<'_>, config: BertConfig) -> Result<Self> {
        let hidden = config.hidden_size;
        let weights = source.weights;
        let norm = |name: &str| {
            Ok::<_, Error>(LayerNorm {
                weight: source.vector(&format!("{name}.weight"), hidden)?,
                bias: source.vector(&format!("{name}.bias"), hidden)?,
                epsilon: config.layer_norm_eps,
            })
        };
        let layers = (0..config.num_hidden_layers).into_par_iter().map(|i| {
            let part = |name: &str| format!("encoder.layer.{i}.{name}");
            let inner = config.intermediate_size;
            let scale = 1.0 / (config.head_size() as f32).sqrt();
            Ok(Layer {
                qkv: Linear::load(
                    source,
                    &[
                        (&part("attention.self.query"), scale),
                        (&part("attention.self.key"), 1.0),
                        (&part("attention.self.value"), 1.0),
                    ],
                    hidden,
                    hidden,
                )?,
                attention_output: Linear::load(
                    source,
                    &[(&part("attention.output.dense"), 1.0)],
                    hidden,
                    hidden,
                )?,
                attention_norm: norm(&part("attention.output.LayerNorm"))?,
                inner: Linear::load(source, &[(&part("intermediate.dense"), 1.0)], hidden, inner)?,
                output: Linear::load(source, &[(&part("output.dense"), 1.0)], inner, hidden)?,
                output_norm: norm(&part("output.LayerNorm"))?,
            })
        });
        Ok(Self {
            layers: layers.collect::<Result<_>>()?,
            words: weights.tensor("embeddings.word_embeddings.weight", &[config.vocab_size, hidden])?,
            positions: weights
                .tensor("embeddings.position_embeddings.weight", &[config.max_position_embeddings, hidden])?,
            types: weights
                .tensor("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, hidden])?,
            norm: norm("embeddings.LayerNorm")?,
            config,
        })
    }

    pub(crate) fn config(&self) -> &BertConfig {
        &self.config
    }

    /// The last hidden states of every token, `tokens x hidden_size`, the texts one after another.
    pub(crate) fn forward(&self, batch: &[&Sequence]) -> Result<Vec<f32>> {
        let tokens: usize = batch.iter().map(|s| s.len()).sum();
        let hidden = self.config.hidden_size;
        let mut x = self.embed(batch)?;
        let mut context = vec![0.0; tokens * hidden];
        let mut qkv = vec![0.0; tokens * hidden * 3];
        let mut inner = vec![0.0; tokens * self.config.intermediate_size];
        let mut attention = Attention::new(self.config.num_attention_heads, self.config.head_size());
        let then = match self.config.hidden_act {
            Activation::Gelu => Then::Gelu,
            Activation::GeluTanh => Then::GeluTanh,
            Activation::Relu => Then::Relu,
        };
        for layer in &self.layers {
            layer.qkv.apply(&x, Then::Keep, &mut qkv);
            let mut start = 0;
            for sequence in batch {
                let end = start + sequence.len();
                attention.attend(&qkv, &mut context, start..end);
                start = end;
            }
            layer.attention_output.add_to(&context, &mut x);
            layer.attention_norm.apply(&mut x);
            layer.inner.apply(&x, then, &mut inner);
            layer.output.add_to(&inner, &mut x);
            layer.output_norm.apply(&mut x);
        }
        Ok(x)
    }

    /// The sum of the three embeddings of every token, normalised.
    fn embed(&self, batch: &[&Sequence]) -> Result<Vec<f32>> {
        let hidden = self.config.hidden_size;
        let tokens: usize = batch.iter().map(|s| s.len()).sum();
        let mut x = vec![0.0; tokens * hidden];
        let places = batch.iter().flat_map(|s| s.ids.iter().zip(&s.type_ids).enumerate());
        for (out, (position, (&id, &type_id))) in x.chunks_exact_mut(hidden).zip(places) {
            let (id, type_id) = (id as usize, type_id as usize);
            if id >= self.config.vocab_size || position >= self.config.max_tokens() {
                let message = format!(
                    "token {id} at position {position} is not in the model: its tokenizer does not belong to it"
                );
                return Err(Error::failed("embedding a text", message));
            }
            self.words.copy_row(id, out);
            // A model with one segment has no row for the second; RoBERTa tokenizers never ask for it.
            self.types.add_row(type_id.min(self.config.type_vocab_size - 1), out);
            self.positions.add_row(position + self.config.first_position(), out);
        }
        self.norm.apply(&mut x);
        Ok(x)
    }
}
