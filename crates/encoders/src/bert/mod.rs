//! The forward pass of a BERT, RoBERTa or DeBERTa encoder over packed sequences.
//!
//! The tokens of several texts stand one after another without padding: everything that treats tokens alone (the
//! embeddings, the matrix products, the layer norms) runs over all of them at once, and only attention looks at one
//! text at a time. So no arithmetic is spent on padding, and a vector cannot depend on the texts beside it.

mod attention;
mod linear;
mod relative;

use counterproof_core::{Error, Result};
use counterproof_kernels::matrix::Then;
use counterproof_kernels::norm::LayerNorm;
use rayon::prelude::*;

use self::attention::Attention;
pub(crate) use self::linear::Linear;
use self::relative::{PositionTable, Positions};
use crate::config::{Activation, BertConfig};
use crate::source::Source;
use crate::tokens::Sequence;
use crate::weights::Table;

/// A BERT encoder, its weights laid out for the processor.
pub(crate) struct BertModel {
    config: BertConfig,
    words: Table,
    /// Absolute positions; none where attention is over relative ones.
    positions: Option<Table>,
    /// Segments; none where the model tells them by their separator alone.
    types: Option<Table>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Queries, keys and values in one product; the queries already divided by the root of the head size.
    qkv: Linear,
    relative: Option<Positions>,
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
        let table = PositionTable::load(source, &config)?;
        let [query, key, value] = if config.is_deberta() {
            ["query_proj", "key_proj", "value_proj"]
        } else {
            ["query", "key", "value"]
        };
        let layers = (0..config.num_hidden_layers).into_par_iter().map(|i| {
            let part = |name: &str| format!("encoder.layer.{i}.{name}");
            let inner = config.intermediate_size;
            // Three scores are added where attention is over relative positions, and all are scaled alike.
            let added = if table.is_some() { 3.0 } else { 1.0 };
            let scale = 1.0 / (added * config.head_size() as f32).sqrt();
            let [query, key, value] = [query, key, value].map(|name| part(&format!("attention.self.{name}")));
            let relative = table.as_ref().map(|table| {
                let one = |name: &str, scale| Linear::load(source, &[(name, scale)], hidden, hidden);
                Ok::<_, Error>(table.for_layer(&one(&query, scale)?, &one(&key, 1.0)?, &config))
            });
            Ok(Layer {
                relative: relative.transpose()?,
                qkv: Linear::load(source, &[(&query, scale), (&key, 1.0), (&value, 1.0)], hidden, hidden)?,
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
            positions: (!config.is_deberta())
                .then(|| {
                    let shape = [config.max_position_embeddings, hidden];
                    weights.tensor("embeddings.position_embeddings.weight", &shape)
                })
                .transpose()?,
            types: (config.type_vocab_size > 0)
                .then(|| {
                    let shape = [config.type_vocab_size, hidden];
                    weights.tensor("embeddings.token_type_embeddings.weight", &shape)
                })
                .transpose()?,
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
                attention.attend(&qkv, &mut context, start..end, layer.relative.as_ref());
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
            if let Some(types) = &self.types {
                types.add_row(type_id.min(self.config.type_vocab_size - 1), out);
            }
            if let Some(positions) = &self.positions {
                positions.add_row(position + self.config.first_position(), out);
            }
        }
        self.norm.apply(&mut x);
        Ok(x)
    }
}
