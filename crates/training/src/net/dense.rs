//! Dense layers under training: the forward product with whatever was learnt merged into the weight, and the gradients
//! of LoRA matrices, weights and biases.
//!
//! A layer `y = x W^T + b` may join several of the encoder's layers that read the same input, as queries, keys and
//! values do. Under LoRA the weight is `W + s B A`; it is merged once a step, so that both large products of a step cost
//! what they cost the base, and the gradients are four thin products over blocks of tokens that stay in the cache:
//! with `h = s x A^T`, `dB = dy^T h` and, with `g = s dy B`, `dA = g^T x`. `A` is kept transposed, so that no large
//! matrix has to be laid out anew for them.

use std::ops::Range;

use counterproof_kernels::matrix::{Left, Panels, Product, Then, padded};
use counterproof_kernels::vector::add_columns;

use super::parameters::{part, part_mut};

/// Tokens whose inputs and gradients stay in the second-level cache while the thin products run over them.
const BLOCK: usize = 64;

/// Tokens that the gradient of a whole weight sums over at a time.
const DEEP_BLOCK: usize = 256;

/// A dense layer whose weight, bias or LoRA matrices may be trained.
#[derive(Debug, Clone)]
pub(crate) struct Dense {
    inputs: usize,
    outputs: usize,
    parts: Vec<Part>,
    /// `outputs x inputs`, as the base has it.
    base_weight: Vec<f32>,
    base_bias: Vec<f32>,
    /// The weight with what was learnt, kept so that a step asks for no memory.
    merged: Vec<f32>,
    /// `W^T`, for `x W^T`.
    forward: Panels,
    /// `W`, for `dy W`.
    backward: Panels,
    bias: Vec<f32>,
}

/// Some of the outputs: one layer of the encoder.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Its outputs.
    pub(crate) rows: Range<usize>,
    pub(crate) lora: Option<Lora>,
    /// Where the weight lies in the parameters, if it is trained whole.
    pub(crate) weight: Option<Range<usize>>,
    /// Where the bias lies in the parameters, if it is trained.
    pub(crate) bias: Option<Range<usize>>,
}

/// Where a pair of LoRA matrices lies in the parameters.
#[derive(Debug, Clone)]
pub(crate) struct Lora {
    pub(crate) rank: usize,
    pub(crate) scale: f32,
    /// `inputs x rank`: the transpose of `A`.
    pub(crate) a: Range<usize>,
    /// `outputs x rank`.
    pub(crate) b: Range<usize>,
    /// `s A^T` and `s B`, laid out for the thin products.
    pub(crate) a_panels: Panels,
    pub(crate) b_panels: Panels,
}

impl Lora {
    pub(crate) fn new(rank: usize, scale: f32, a: Range<usize>, b: Range<usize>) -> Self {
        Self { rank, scale, a, b, a_panels: Panels::empty(), b_panels: Panels::empty() }
    }
}

/// Room for the thin products of one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    thin: Vec<f32>,
    panels: Panels,
}

impl Dense {
    /// A layer that has not been merged yet.
    pub(crate) fn new(inputs: usize, parts: Vec<Part>, base_weight: Vec<f32>, base_bias: Vec<f32>) -> Self {
        let outputs = base_bias.len();
        let (forward, backward) = (Panels::empty(), Panels::empty());
        let (merged, bias) = (Vec::new(), Vec::new());
        Self { inputs, outputs, parts, base_weight, base_bias, merged, forward, backward, bias }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Merges the parameters into the weight.
    pub(crate) fn merge(&mut self, parameters: &[f32]) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        self.merged.clone_from(&self.base_weight);
        let weight = &mut self.merged;
        let mut bias = self.base_bias.clone();
        for Part { rows, lora, weight: whole, bias: moved } in &mut self.parts {
            let rows_of_weight = rows.start * inputs..rows.end * inputs;
            if let Some(whole) = whole {
                part_mut(weight, &rows_of_weight).copy_from_slice(part(parameters, whole));
            }
            if let Some(moved) = moved {
                part_mut(&mut bias, rows).copy_from_slice(part(parameters, moved));
            }
            if let Some(lora) = lora {
                let (a, b) = (part(parameters, &lora.a), part(parameters, &lora.b));
                let rank = lora.rank.max(1);
                lora.b_panels.lay_columns(rank, lora.scale, a.chunks_exact(rank));
                Product {
                    x: Left::rows(b, rank, rows.len()),
                    panels: &lora.b_panels,
                    bias: None,
                    out: part_mut(weight, &rows_of_weight),
                    out_stride: inputs,
                    accumulate: true,
                    then: Then::Keep,
                }
                .run();
                lora.a_panels.lay_rows(rank, lora.scale, a.chunks_exact(rank));
                lora.b_panels.lay_rows(rank, lora.scale, b.chunks_exact(rank));
            }
        }
        self.forward.lay_transposed(weight, inputs);
        self.backward.lay_rows(inputs, 1.0, weight.chunks_exact(inputs.max(1)));
        debug_assert_eq!(self.forward.columns(), outputs);
        self.bias = padded(bias);
    }

    /// Writes the layer's value at each row of `x` to the row of `out`.
    pub(crate) fn forward(&self, x: &[f32], out: &mut [f32]) {
        Product {
            x: Left::rows(x, self.inputs, x.len() / self.inputs.max(1)),
            panels: &self.forward,
            bias: Some(&self.bias),
            out,
            out_stride: self.outputs,
            accumulate: false,
            then: Then::Keep,
        }
        .run();
    }

    /// The gradient with respect to the input, written to `dx` or added to what stands there.
    pub(crate) fn backward(&self, dy: &[f32], dx: &mut [f32], accumulate: bool) {
        Product {
            x: Left::rows(dy, self.outputs, dy.len() / self.outputs.max(1)),
            panels: &self.backward,
            bias: None,
            out: dx,
            out_stride: self.inputs,
            accumulate,
            then: Then::Keep,
        }
        .run();
    }

    /// Adds the gradients with respect to the parameters to `gradients`, which is laid out like them.
    pub(crate) fn add_gradients(&self, x: &[f32], dy: &[f32], gradients: &mut [f32], scratch: &mut Scratch) {
        let tokens = x.len() / self.inputs.max(1);
        for start in (0..tokens).step_by(BLOCK) {
            let end = (start + BLOCK).min(tokens);
            let x = part(x, &(start * self.inputs..end * self.inputs));
            let dy = part(dy, &(start * self.outputs..end * self.outputs));
            for of in &self.parts {
                let dy_part = dy.get(of.rows.start..).unwrap_or_default();
                if let Some(lora) = &of.lora {
                    self.add_lora(lora, &of.rows, x, dy_part, end - start, gradients, scratch);
                }
                if let Some(bias) = &of.bias {
                    for row in dy.chunks_exact(self.outputs) {
                        add_columns(part(row, &of.rows), of.rows.len(), part_mut(gradients, bias));
                    }
                }
            }
        }
        if self.parts.iter().any(|of| of.weight.is_some()) {
            self.add_weights(x, dy, tokens, gradients, scratch);
        }
    }

    /// The gradients of one pair of LoRA matrices over one block of tokens.
    #[allow(clippy::too_many_arguments)] // All but the first two are the block's.
    fn add_lora(
        &self,
        lora: &Lora,
        rows: &Range<usize>,
        x: &[f32],
        dy: &[f32],
        tokens: usize,
        gradients: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let rank = lora.rank;
        let Scratch { thin, panels } = scratch;
        thin.resize(BLOCK * rank, 0.0);
        let x_rows = Left::rows(x, self.inputs, tokens);
        let dy_rows = Left::rows(dy, self.outputs, tokens);
        let x_columns = Left::columns(x, self.inputs, self.inputs);
        let dy_columns = Left::columns(dy, self.outputs, rows.len());
        for (rows, by, columns, of) in
            [(x_rows, &lora.a_panels, dy_columns, &lora.b), (dy_rows, &lora.b_panels, x_columns, &lora.a)]
        {
            let thin = part_mut(thin, &(0..tokens * rank));
            product(rows, by, thin, rank, false);
            panels.lay_rows(rank, 1.0, thin.chunks_exact(rank));
            product(columns, panels, part_mut(gradients, of), rank, true);
        }
    }

    fn add_weights(
        &self,
        x: &[f32],
        dy: &[f32],
        tokens: usize,
        gradients: &mut [f32],
        scratch: &mut Scratch,
    ) {
        for start in (0..tokens).step_by(DEEP_BLOCK) {
            let end = (start + DEEP_BLOCK).min(tokens);
            let x = part(x, &(start * self.inputs..end * self.inputs));
            scratch.panels.lay_rows(self.inputs, 1.0, x.chunks_exact(self.inputs));
            for of in &self.parts {
                let Some(weight) = &of.weight else { continue };
                let dy = dy.get(start * self.outputs + of.rows.start..).unwrap_or_default();
                let dy = Left::columns(dy, self.outputs, of.rows.len());
                product(dy, &scratch.panels, part_mut(gradients, weight), self.inputs, true);
            }
        }
    }
}

/// `out = x * panels [+ out]`, rows of `out` side by side.
fn product(x: Left<'_>, panels: &Panels, out: &mut [f32], columns: usize, accumulate: bool) {
    Product { x, panels, bias: None, out, out_stride: columns, accumulate, then: Then::Keep }.run();
}
