//! One transformer layer under training, with what its backward pass needs.

use std::ops::Range;

use counterproof_kernels::activation::gelu_and_derivative;
use counterproof_kernels::norm::LayerNorm;
use counterproof_kernels::vector::{add, multiply};

use super::attention::{Attention, Heads};
use super::dense::{Dense, Scratch};
use super::parameters::{part, part_mut};
use super::{Masks, Packed};

/// A layer norm whose weight and bias may be trained.
#[derive(Debug, Clone)]
pub(super) struct Norm {
    pub(super) norm: LayerNorm,
    /// Where weight and bias lie in the parameters, if they are trained.
    pub(super) slots: Option<(Range<usize>, Range<usize>)>,
}

impl Norm {
    pub(super) fn merge(&mut self, parameters: &[f32]) {
        if let Some((weight, bias)) = &self.slots {
            self.norm.weight.copy_from_slice(part(parameters, weight));
            self.norm.bias.copy_from_slice(part(parameters, bias));
        }
    }

    fn backward(&self, normalised: &[f32], scales: &[f32], dy: &mut [f32], gradients: &mut [f32]) {
        let slots = self.slots.as_ref().and_then(|(weight, bias)| {
            // The weight was added to the parameters just before its bias.
            let (weights, biases) = gradients.split_at_mut_checked(bias.start)?;
            Some((weights.get_mut(weight.clone())?, biases.get_mut(..bias.len())?))
        });
        self.norm.backward(normalised, scales, dy, slots);
    }
}

/// One transformer layer.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) heads: Heads,
    /// Queries, keys and values in one product.
    pub(super) qkv: Dense,
    pub(super) attention_output: Dense,
    pub(super) attention_norm: Norm,
    pub(super) inner: Dense,
    pub(super) output: Dense,
    pub(super) output_norm: Norm,
}

/// What the forward pass keeps: one row a token.
#[derive(Debug, Default)]
pub(super) struct Saved {
    /// The layer's input.
    pub(super) input: Vec<f32>,
    qkv: Vec<f32>,
    /// For each text `heads x tokens x tokens`.
    shares: Vec<f32>,
    context: Vec<f32>,
    attention_normalised: Vec<f32>,
    attention_scales: Vec<f32>,
    attended: Vec<f32>,
    /// The derivative of GELU, then GELU itself, at the inner layer's outputs.
    slope: Vec<f32>,
    inner: Vec<f32>,
    output_normalised: Vec<f32>,
    output_scales: Vec<f32>,
}

/// Room for the gradients of one thread.
#[derive(Debug, Default)]
pub(super) struct Room {
    attention: Attention,
    pub(super) scratch: Scratch,
    dropped: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    qkv: Vec<f32>,
}

impl Layer {
    pub(super) fn denses(&mut self) -> [&mut Dense; 4] {
        [&mut self.qkv, &mut self.attention_output, &mut self.inner, &mut self.output]
    }

    pub(super) fn norms(&mut self) -> [&mut Norm; 2] {
        [&mut self.attention_norm, &mut self.output_norm]
    }

    /// From `saved.input` to `out`. `masks` drops the output of both blocks out at the sites `site` and `site + 1`.
    pub(super) fn forward(
        &self,
        packed: &Packed,
        site: u64,
        masks: Option<Masks<'_>>,
        saved: &mut Saved,
        room: &mut Room,
        out: &mut Vec<f32>,
    ) {
        let (tokens, hidden) = (packed.tokens(), self.output.outputs());
        let inner = self.inner.outputs();
        saved.qkv.resize(tokens * 3 * hidden, 0.0);
        saved.shares.resize(packed.shares(self.heads.count), 0.0);
        for numbers in [
            &mut saved.context,
            &mut saved.attention_normalised,
            &mut saved.attended,
            &mut saved.output_normalised,
            out,
        ] {
            numbers.resize(tokens * hidden, 0.0);
        }
        for numbers in [&mut saved.slope, &mut saved.inner] {
            numbers.resize(tokens * inner, 0.0);
        }
        for numbers in [&mut saved.attention_scales, &mut saved.output_scales] {
            numbers.resize(tokens, 0.0);
        }

        self.qkv.forward(&saved.input, &mut saved.qkv);
        for (rows, shares) in packed.texts(self.heads.count) {
            let shares = part_mut(&mut saved.shares, &shares);
            room.attention.forward(self.heads, rows, &saved.qkv, shares, &mut saved.context);
        }
        self.attention_output.forward(&saved.context, &mut saved.attention_normalised);
        drop_out(packed, site, masks, hidden, &mut saved.attention_normalised);
        add(&mut saved.attention_normalised, &saved.input);
        self.attention_norm.norm.forward(
            &mut saved.attention_normalised,
            &mut saved.attention_scales,
            &mut saved.attended,
        );

        self.inner.forward(&saved.attended, &mut saved.slope);
        gelu_and_derivative(&mut saved.slope, &mut saved.inner);
        self.output.forward(&saved.inner, &mut saved.output_normalised);
        drop_out(packed, site + 1, masks, hidden, &mut saved.output_normalised);
        add(&mut saved.output_normalised, &saved.attended);
        self.output_norm.norm.forward(&mut saved.output_normalised, &mut saved.output_scales, out);
    }

    /// Adds the gradients of the parameters to `gradients` and replaces `d`, the gradient with respect to the output,
    /// by that with respect to the input; where nothing below is trained, `through` is false and `d` is left unfinished.
    #[allow(clippy::too_many_arguments)] // The forward pass's, and the gradients.
    pub(super) fn backward(
        &self,
        packed: &Packed,
        site: u64,
        masks: Option<Masks<'_>>,
        saved: &Saved,
        room: &mut Room,
        d: &mut [f32],
        through: bool,
        gradients: &mut [f32],
    ) {
        let (tokens, hidden) = (packed.tokens(), self.output.outputs());
        let Room { attention, scratch, dropped, context, inner, qkv } = room;
        dropped.resize(tokens * hidden, 0.0);
        context.resize(tokens * hidden, 0.0);
        inner.resize(tokens * self.inner.outputs(), 0.0);
        qkv.resize(tokens * 3 * hidden, 0.0);

        self.output_norm.backward(&saved.output_normalised, &saved.output_scales, d, gradients);
        dropped.copy_from_slice(d);
        drop_out(packed, site + 1, masks, hidden, dropped);
        self.output.add_gradients(&saved.inner, dropped, gradients, scratch);
        self.output.backward(dropped, inner, false);
        multiply(inner, &saved.slope);
        self.inner.add_gradients(&saved.attended, inner, gradients, scratch);
        self.inner.backward(inner, d, true);

        self.attention_norm.backward(&saved.attention_normalised, &saved.attention_scales, d, gradients);
        dropped.copy_from_slice(d);
        drop_out(packed, site, masks, hidden, dropped);
        self.attention_output.add_gradients(&saved.context, dropped, gradients, scratch);
        self.attention_output.backward(dropped, context, false);
        for (rows, shares) in packed.texts(self.heads.count) {
            attention.backward(self.heads, rows, &saved.qkv, part(&saved.shares, &shares), context, qkv);
        }
        self.qkv.add_gradients(&saved.input, qkv, gradients, scratch);
        if through {
            self.qkv.backward(qkv, d, true);
        }
    }
}

/// Drops numbers of each text's rows out, by the mask of its seed and of the site.
pub(super) fn drop_out(packed: &Packed, site: u64, masks: Option<Masks<'_>>, hidden: usize, x: &mut [f32]) {
    let Some(masks) = masks else { return };
    for (text, (rows, _)) in packed.texts(0).enumerate() {
        masks.apply(text, site, part_mut(x, &(rows.start * hidden..rows.end * hidden)));
    }
}
