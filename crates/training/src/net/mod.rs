//! The base encoder under training: a forward pass that keeps what the backward pass needs, and the backward pass, over
//! packed sequences.
//!
//! Both are written by hand over the kernels that inference uses. An automatic differentiation would pad the texts, keep
//! copies of every intermediate and walk over memory once for each small operation; here the tokens of a group of texts
//! stand one after another, the two large products of each layer are all but the whole cost, and one thread computes one
//! group from end to end.

mod attention;
pub(crate) mod dense;
mod layer;
pub(crate) mod parameters;

use std::ops::Range;
use std::path::Path;

use counterproof_core::{Error, Result, UserError};
use counterproof_encoders::parts::{Sequence, Table, Weights};
use counterproof_encoders::{Activation, BertConfig};
use counterproof_kernels::dropout::Dropout;
use counterproof_kernels::norm::LayerNorm;
use rayon::prelude::*;

use self::attention::Heads;
use self::dense::{Dense, Lora, Part};
use self::layer::{Layer, Norm, Room, Saved, drop_out};
use self::parameters::{Fill, Parameters};
use crate::config::{TrainConfig, Trainable};
use crate::random::{Random, mix};

/// The encoder.
pub(crate) struct Encoder {
    config: BertConfig,
    words: Table,
    positions: Table,
    types: Table,
    norm: LayerNorm,
    layers: Vec<Layer>,
    /// Layers at the bottom that are not trained.
    frozen: usize,
}

/// Where the texts of a group stand among its rows.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    rows: Vec<Range<usize>>,
}

impl Packed {
    fn of(batch: &[&Sequence]) -> Self {
        let mut start = 0;
        let rows = batch.iter().map(|sequence| {
            let rows = start..start + sequence.len();
            start = rows.end;
            rows
        });
        Self { rows: rows.collect() }
    }

    pub(crate) fn tokens(&self) -> usize {
        self.rows.last().map_or(0, |rows| rows.end)
    }

    /// The rows of each text.
    pub(crate) fn rows(&self) -> &[Range<usize>] {
        &self.rows
    }

    /// Numbers that the attention shares of `heads` heads take.
    fn shares(&self, heads: usize) -> usize {
        self.rows.iter().map(|rows| heads * rows.len() * rows.len()).sum()
    }

    /// The rows of each text and the place of its attention shares.
    fn texts(&self, heads: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let mut start = 0;
        self.rows.iter().map(move |rows| {
            let shares = start..start + heads * rows.len() * rows.len();
            start = shares.end;
            (rows.clone(), shares)
        })
    }
}

/// The dropout masks of a group of texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masks<'a> {
    pub(crate) dropout: Dropout,
    /// One a text.
    pub(crate) seeds: &'a [u64],
}

impl Masks<'_> {
    /// Drops numbers that belong to text `text` out; each site in the network has masks of its own.
    pub(crate) fn apply(&self, text: usize, site: u64, x: &mut [f32]) {
        self.dropout.apply(mix(self.seeds.get(text).copied().unwrap_or_default(), site), x);
    }
}

/// The site of the embeddings' mask; layer `i` takes the two sites from `2 i + 1` on.
const EMBEDDINGS: u64 = 0;

/// What one thread needs to compute a group, kept from step to step so that no memory is asked for anew.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) packed: Packed,
    layers: Vec<Saved>,
    /// The last hidden states, `tokens x hidden`.
    pub(crate) states: Vec<f32>,
    /// The gradient with respect to them.
    pub(crate) d_states: Vec<f32>,
    /// The gradient of the parameters.
    pub(crate) gradients: Vec<f32>,
    room: Room,
    /// Room for a head.
    pub(crate) head: crate::task::HeadRoom,
}

impl Encoder {
    /// Loads the base encoder of the folder `base` and adds what is trained of it to `parameters`.
    pub(crate) fn load(
        base: &Path,
        config: &TrainConfig,
        parameters: &mut Parameters,
        random: &mut Random,
    ) -> Result<Self> {
        let bert = BertConfig::read(base)?;
        if bert.hidden_act != Activation::Gelu {
            let who = format!("the trainer ({})", base.display());
            return Err(UserError::Unsupported { who, what: "train a model without GELU".to_owned() }.into());
        }
        config.check(bert.num_hidden_layers, bert.max_tokens())?;
        let weights = Weights::open(&base.join("model.safetensors"))?;
        let hidden = bert.hidden_size;
        let mut loader = Loader { weights: &weights, bert: &bert, config, parameters, random };
        let norm = loader.norm("embeddings.LayerNorm", None)?.norm;
        let mut layers = Vec::with_capacity(bert.num_hidden_layers);
        for i in 0..bert.num_hidden_layers {
            layers.push(loader.layer(i)?);
        }
        let table = |name: &str, rows: usize| weights.tensor(name, &[rows, hidden]);
        Ok(Self {
            words: table("embeddings.word_embeddings.weight", bert.vocab_size)?,
            positions: table("embeddings.position_embeddings.weight", bert.max_position_embeddings)?,
            types: table("embeddings.token_type_embeddings.weight", bert.type_vocab_size)?,
            norm,
            layers,
            frozen: config.trainable.frozen_layers,
            config: bert,
        })
    }

    pub(crate) fn hidden(&self) -> usize {
        self.config.hidden_size
    }

    /// Takes new values of the parameters over.
    pub(crate) fn merge(&mut self, parameters: &[f32], first: bool) {
        let skipped = if first { 0 } else { self.frozen };
        let mut denses: Vec<&mut Dense> = Vec::new();
        for layer in self.layers.iter_mut().skip(skipped) {
            for norm in layer.norms() {
                norm.merge(parameters);
            }
            denses.extend(layer.denses());
        }
        denses.into_par_iter().for_each(|dense| dense.merge(parameters));
    }

    /// Computes the last hidden states of a group into `space.states`; `masks` drops out as training does.
    pub(crate) fn forward(
        &self,
        batch: &[&Sequence],
        masks: Option<Masks<'_>>,
        space: &mut Workspace,
    ) -> Result<()> {
        space.packed = Packed::of(batch);
        let Workspace { packed, layers, states, room, .. } = space;
        layers.resize_with(self.layers.len(), Saved::default);
        self.embed(batch, states)?;
        drop_out(packed, EMBEDDINGS, masks, self.hidden(), states);
        for (i, (layer, saved)) in self.layers.iter().zip(layers).enumerate() {
            std::mem::swap(&mut saved.input, states);
            layer.forward(packed, site(i), masks, saved, room, states);
        }
        Ok(())
    }

    /// From the gradient of the hidden states of the last forward pass, `space.d_states`, adds those of the parameters
    /// to `space.gradients`.
    pub(crate) fn backward(&self, masks: Option<Masks<'_>>, space: &mut Workspace) {
        let Workspace { packed, layers, d_states, gradients, room, .. } = space;
        let upwards = self.layers.iter().zip(layers).enumerate().skip(self.frozen);
        for (i, (layer, saved)) in upwards.rev() {
            let through = i > self.frozen;
            layer.backward(packed, site(i), masks, saved, room, d_states, through, gradients);
        }
    }

    /// The sum of the three embeddings of every token, normalised.
    fn embed(&self, batch: &[&Sequence], out: &mut Vec<f32>) -> Result<()> {
        let hidden = self.hidden();
        out.resize(batch.iter().map(|s| s.len()).sum::<usize>() * hidden, 0.0);
        let places = batch.iter().flat_map(|s| s.ids.iter().zip(&s.type_ids).enumerate());
        for (out, (position, (&id, &segment))) in out.chunks_exact_mut(hidden).zip(places) {
            let (id, segment) = (id as usize, segment as usize);
            if id >= self.config.vocab_size || position >= self.config.max_tokens() {
                let message = format!("token {id} at position {position} is not in the model");
                return Err(Error::failed("embedding a text", message));
            }
            self.words.copy_row(id, out);
            self.types.add_row(segment.min(self.config.type_vocab_size - 1), out);
            self.positions.add_row(position + self.config.first_position(), out);
        }
        self.norm.apply(out);
        Ok(())
    }
}

fn site(layer: usize) -> u64 {
    2 * layer as u64 + 1
}

/// Builds layers and registers what is trained of them.
struct Loader<'a> {
    weights: &'a Weights,
    bert: &'a BertConfig,
    config: &'a TrainConfig,
    parameters: &'a mut Parameters,
    random: &'a mut Random,
}

impl Loader<'_> {
    fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        Ok(self.weights.tensor(name, &[length])?.to_vec())
    }

    /// A layer norm; of layer `layer`, or of the embeddings, which is never trained.
    fn norm(&mut self, name: &str, layer: Option<usize>) -> Result<Norm> {
        let hidden = self.bert.hidden_size;
        let mut slots = Vec::new();
        let mut numbers = Vec::new();
        for kind in ["weight", "bias"] {
            let full = format!("{name}.{kind}");
            let vector = self.vector(&full, hidden)?;
            if let Some(layer) = layer.filter(|layer| self.moves(*layer)) {
                let rate = self.rate(layer);
                slots.push(self.parameters.add(full, &[hidden], &Fill::Copy(&vector), rate, self.random));
            }
            numbers.push(vector);
        }
        let (bias, weight) = (numbers.pop().unwrap_or_default(), numbers.pop().unwrap_or_default());
        let slots = slots.pop().and_then(|bias| slots.pop().map(|weight| (weight, bias)));
        Ok(Norm { norm: LayerNorm { weight, bias, epsilon: self.bert.layer_norm_eps }, slots })
    }

    /// Whether norms and biases of a layer are trained.
    fn moves(&self, layer: usize) -> bool {
        self.config.trainable.norms_and_biases && layer >= self.config.trainable.frozen_layers
    }

    fn rate(&self, layer: usize) -> f32 {
        let above = self.bert.num_hidden_layers.saturating_sub(layer + 1);
        self.config.layer_decay.powi(i32::try_from(above).unwrap_or(i32::MAX)) as f32
    }

    fn dense(&mut self, layer: usize, names: &[&str], inputs: usize, outputs: usize) -> Result<Dense> {
        let Trainable { rank, alpha, whole_layers, frozen_layers, .. } = &self.config.trainable;
        let rate = self.rate(layer);
        let (mut weights, mut biases, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for (i, name) in names.iter().enumerate() {
            let full = format!("encoder.layer.{layer}.{name}");
            let weight = self.weights.tensor(&format!("{full}.weight"), &[outputs, inputs])?.to_vec();
            let bias = self.vector(&format!("{full}.bias"), outputs)?;
            let rows = i * outputs..(i + 1) * outputs;
            let mut part = Part { rows, lora: None, weight: None, bias: None };
            let mut add = |name: &str, shape: &[usize], fill: &Fill<'_>| {
                self.parameters.add(format!("{full}.{name}"), shape, fill, rate, self.random)
            };
            if whole_layers.contains(&layer) {
                part.weight = Some(add("weight", &[outputs, inputs], &Fill::Copy(&weight)));
            } else if *rank > 0 && layer >= *frozen_layers {
                let a = add("lora_A", &[inputs, *rank], &Fill::Uniform { inputs });
                let b = add("lora_B", &[outputs, *rank], &Fill::Zeros);
                part.lora = Some(Lora::new(*rank, alpha / *rank as f32, a, b));
            }
            if self.config.trainable.norms_and_biases && layer >= *frozen_layers {
                part.bias = Some(add("bias", &[outputs], &Fill::Copy(&bias)));
            }
            weights.extend(weight);
            biases.extend(bias);
            parts.push(part);
        }
        Ok(Dense::new(inputs, parts, weights, biases))
    }

    fn layer(&mut self, i: usize) -> Result<Layer> {
        let (hidden, inner) = (self.bert.hidden_size, self.bert.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{i}.{part}.LayerNorm");
        Ok(Layer {
            heads: Heads { count: self.bert.num_attention_heads, size: self.bert.head_size() },
            qkv: self.dense(
                i,
                &["attention.self.query", "attention.self.key", "attention.self.value"],
                hidden,
                hidden,
            )?,
            attention_output: self.dense(i, &["attention.output.dense"], hidden, hidden)?,
            attention_norm: self.norm(&name("attention.output"), Some(i))?,
            inner: self.dense(i, &["intermediate.dense"], hidden, inner)?,
            output: self.dense(i, &["output.dense"], inner, hidden)?,
            output_norm: self.norm(&name("output"), Some(i))?,
        })
    }
}
