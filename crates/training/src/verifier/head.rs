//! The verifier's head: `[CLS; mean of tokens]` through a dense layer with tanh to three logits.

use counterproof_encoders::parts::Sequence;
use counterproof_kernels::dropout::Dropout;
use counterproof_kernels::vector::{add, add_scaled};

use super::loss::loss;
use super::measure::measure;
use super::{LABELS, PairSample};
use crate::config::{TrainConfig, VerifierLoss};
use crate::net::dense::{Dense, Part};
use crate::net::parameters::{Fill, Parameters, part, part_mut};
use crate::net::{Masks, Workspace};
use crate::progress::Evaluation;
use crate::random::Random;
use crate::task::{HEAD_SITE, HeadRoom, Task};

/// The head and its loss.
pub(crate) struct VerifierTask {
    hidden: usize,
    dense: Dense,
    output: Dense,
    dropout: Dropout,
    loss: VerifierLoss,
}

impl VerifierTask {
    /// A new head, its weights added to `parameters`.
    pub(crate) fn new(
        config: &TrainConfig,
        hidden: usize,
        parameters: &mut Parameters,
        random: &mut Random,
    ) -> Self {
        let rate = config.head_rate as f32;
        Self {
            hidden,
            dense: head_layer("head.dense", 2 * hidden, hidden, rate, parameters, random),
            output: head_layer("head.output", hidden, LABELS.len(), rate, parameters, random),
            dropout: Dropout::new(config.head_dropout),
            loss: config.verifier_loss,
        }
    }

    /// The logits of each text, and before them what the backward pass needs.
    fn forward(&self, masks: Option<Masks<'_>>, space: &mut Workspace) {
        let (hidden, texts) = (self.hidden, space.packed.rows().len());
        let HeadRoom { features, hidden: inner, dropped, logits, .. } = &mut space.head;
        features.clear();
        features.resize(texts * 2 * hidden, 0.0);
        inner.resize(texts * hidden, 0.0);
        logits.resize(texts * LABELS.len(), 0.0);
        for (rows, features) in space.packed.rows().iter().zip(features.chunks_exact_mut(2 * hidden)) {
            let (first, mean) = features.split_at_mut(hidden);
            let states = part(&space.states, &(rows.start * hidden..rows.end * hidden));
            first.copy_from_slice(part(states, &(0..hidden)));
            for row in states.chunks_exact(hidden) {
                add_scaled(mean, 1.0 / rows.len() as f32, row);
            }
        }
        self.dense.forward(features, inner);
        inner.iter_mut().for_each(|x| *x = x.tanh());
        dropped.clone_from(inner);
        self.drop_out(masks, dropped);
        self.output.forward(dropped, logits);
    }

    fn drop_out(&self, masks: Option<Masks<'_>>, x: &mut [f32]) {
        let Some(masks) = masks else { return };
        for (text, row) in x.chunks_exact_mut(self.hidden).enumerate() {
            masks.apply(text, HEAD_SITE, row);
        }
    }
}

/// A dense layer of a head, trained whole.
pub(crate) fn head_layer(
    name: &str,
    inputs: usize,
    outputs: usize,
    rate: f32,
    parameters: &mut Parameters,
    random: &mut Random,
) -> Dense {
    let fill = Fill::Uniform { inputs };
    let weight = parameters.add(format!("{name}.weight"), &[outputs, inputs], &fill, rate, random);
    let bias = parameters.add(format!("{name}.bias"), &[outputs], &Fill::Zeros, rate, random);
    let part = Part { rows: 0..outputs, lora: None, weight: Some(weight), bias: Some(bias) };
    Dense::new(inputs, vec![part], vec![0.0; outputs * inputs], vec![0.0; outputs])
}

impl Task for VerifierTask {
    type Sample = PairSample;
    type Output = [f32; 3];

    fn sequence(sample: &PairSample) -> &Sequence {
        &sample.sequence
    }

    fn describe(sample: &PairSample, bytes: &mut Vec<u8>) {
        let target = match sample.target {
            crate::examples::Target::Is(label) => super::loss::index(label),
            crate::examples::Target::NotEntailed => LABELS.len(),
        };
        bytes.extend((target as u64).to_le_bytes());
        bytes.extend(sample.weight.to_le_bytes());
    }

    fn merge(&mut self, parameters: &[f32]) {
        self.dense.merge(parameters);
        self.output.merge(parameters);
    }

    fn outputs(&self, _: &[&PairSample], space: &mut Workspace) -> Vec<[f32; 3]> {
        self.forward(None, space);
        space.head.logits.as_chunks().0.to_vec()
    }

    fn learn(&self, batch: &[&PairSample], seeds: Option<&[u64]>, factor: f32, space: &mut Workspace) -> f64 {
        let masks = seeds.map(|seeds| Masks { dropout: self.dropout, seeds });
        self.forward(masks, space);
        let hidden = self.hidden;
        let Workspace { packed, gradients, head, d_states, .. } = space;
        let HeadRoom { features, hidden: inner, dropped, logits, d_features, d_hidden, d_logits, scratch } =
            head;
        d_logits.clear();
        let mut total = 0.0;
        for (sample, logits) in batch.iter().zip(logits.as_chunks().0) {
            let (value, gradient) = loss(*logits, sample.target, &self.loss);
            let weight = factor * sample.weight;
            total += f64::from(weight) * value;
            d_logits.extend(gradient.map(|g| weight * g));
        }
        d_hidden.resize(batch.len() * hidden, 0.0);
        d_features.resize(batch.len() * 2 * hidden, 0.0);
        self.output.add_gradients(dropped, d_logits, gradients, scratch);
        self.output.backward(d_logits, d_hidden, false);
        self.drop_out(masks, d_hidden);
        for (d, y) in d_hidden.iter_mut().zip(inner.iter()) {
            *d *= 1.0 - y * y;
        }
        self.dense.add_gradients(features, d_hidden, gradients, scratch);
        self.dense.backward(d_hidden, d_features, false);
        d_states.clear();
        d_states.resize(packed.tokens() * hidden, 0.0);
        for (rows, d_features) in packed.rows().iter().zip(d_features.chunks_exact(2 * hidden)) {
            let (first, mean) = d_features.split_at(hidden);
            let d_states = part_mut(d_states, &(rows.start * hidden..rows.end * hidden));
            for row in d_states.chunks_exact_mut(hidden) {
                add_scaled(row, 1.0 / rows.len() as f32, mean);
            }
            add(d_states, first);
        }
        total
    }

    fn evaluate(&self, samples: &[PairSample], outputs: &[[f32; 3]]) -> Evaluation {
        measure(samples, outputs)
    }
}
