//! The reader's head: a start and an end logit a token, and a no-answer score from the first token.

use counterproof_encoders::parts::Sequence;
use counterproof_kernels::vector::add;

use super::loss::bound_loss;
use super::measure::measure;
use super::{ReaderOutput, SpanSample};
use crate::config::{ReaderLoss, TrainConfig};
use crate::net::Workspace;
use crate::net::dense::Dense;
use crate::net::parameters::{Parameters, part, part_mut};
use crate::progress::Evaluation;
use crate::random::Random;
use crate::task::{HeadRoom, Task};
use crate::verifier::head_layer;

/// The head and its loss.
pub(crate) struct ReaderTask {
    hidden: usize,
    bounds: Dense,
    none: Dense,
    loss: ReaderLoss,
}

impl ReaderTask {
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
            bounds: head_layer("head.bounds", hidden, 2, rate, parameters, random),
            none: head_layer("head.none", hidden, 1, rate, parameters, random),
            loss: config.reader_loss,
        }
    }

    /// The bounds' logits of every token and the no-answer score of every text.
    fn forward(&self, space: &mut Workspace) {
        let hidden = self.hidden;
        let HeadRoom { features, logits, hidden: none, .. } = &mut space.head;
        features.clear();
        for rows in space.packed.rows() {
            let first = rows.start * hidden..(rows.start + 1) * hidden;
            features.extend_from_slice(part(&space.states, &first));
        }
        none.resize(space.packed.rows().len(), 0.0);
        logits.resize(space.packed.tokens() * 2, 0.0);
        self.none.forward(features, none);
        self.bounds.forward(&space.states, logits);
    }

    /// The start and the end logits of the context's tokens of one text.
    fn context(sample: &SpanSample, start: usize, logits: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let rows = (start + sample.context.start) * 2..(start + sample.context.end) * 2;
        part(logits, &rows).as_chunks().0.iter().map(|[start, end]| (*start, *end)).unzip()
    }
}

impl Task for ReaderTask {
    type Sample = SpanSample;
    type Output = ReaderOutput;

    fn sequence(sample: &SpanSample) -> &Sequence {
        &sample.sequence
    }

    fn describe(sample: &SpanSample, bytes: &mut Vec<u8>) {
        for (start, end) in &sample.answers {
            bytes.extend((*start as u64).to_le_bytes());
            bytes.extend((*end as u64).to_le_bytes());
        }
    }

    fn merge(&mut self, parameters: &[f32]) {
        self.bounds.merge(parameters);
        self.none.merge(parameters);
    }

    fn outputs(&self, batch: &[&SpanSample], space: &mut Workspace) -> Vec<ReaderOutput> {
        self.forward(space);
        let HeadRoom { logits, hidden: none, .. } = &space.head;
        let texts = batch.iter().zip(space.packed.rows()).zip(none);
        texts
            .map(|((sample, rows), none)| {
                let (starts, ends) = Self::context(sample, rows.start, logits);
                ReaderOutput { starts, ends, none: *none }
            })
            .collect()
    }

    fn learn(&self, batch: &[&SpanSample], _: Option<&[u64]>, factor: f32, space: &mut Workspace) -> f64 {
        self.forward(space);
        let hidden = self.hidden;
        let Workspace { packed, states, gradients, head, d_states, .. } = space;
        let HeadRoom { features, logits, hidden: none, d_logits, d_hidden, d_features, scratch, .. } = head;
        d_logits.clear();
        d_logits.resize(logits.len(), 0.0);
        d_hidden.clear();
        let mut total = 0.0;
        for ((sample, rows), none) in batch.iter().zip(packed.rows()).zip(none.iter()) {
            let (starts, ends) = Self::context(sample, rows.start, logits);
            let (gold_starts, gold_ends) = sample.bounds();
            let (start, d_starts, d_none_start) = bound_loss(&starts, *none, &gold_starts, self.loss);
            let (end, d_ends, d_none_end) = bound_loss(&ends, *none, &gold_ends, self.loss);
            // The mean of the two bounds.
            let half = 0.5 * factor;
            total += f64::from(half) * (start + end);
            d_hidden.push(half * (d_none_start + d_none_end));
            let place = (rows.start + sample.context.start) * 2..(rows.start + sample.context.end) * 2;
            let rows = part_mut(d_logits, &place).as_chunks_mut().0;
            for ([d_start, d_end], (start, end)) in rows.iter_mut().zip(d_starts.iter().zip(&d_ends)) {
                (*d_start, *d_end) = (half * start, half * end);
            }
        }
        d_states.resize(packed.tokens() * hidden, 0.0);
        d_features.resize(batch.len() * hidden, 0.0);
        self.bounds.add_gradients(states, d_logits, gradients, scratch);
        self.bounds.backward(d_logits, d_states, false);
        self.none.add_gradients(features, d_hidden, gradients, scratch);
        self.none.backward(d_hidden, d_features, false);
        for (rows, d_first) in packed.rows().iter().zip(d_features.chunks_exact(hidden)) {
            add(part_mut(d_states, &(rows.start * hidden..(rows.start + 1) * hidden)), d_first);
        }
        total
    }

    fn evaluate(&self, samples: &[SpanSample], outputs: &[ReaderOutput]) -> Evaluation {
        measure(samples, outputs, self.loss)
    }
}
