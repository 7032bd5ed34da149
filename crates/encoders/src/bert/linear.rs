//! Dense layers: a matrix laid out once for the kernel, and a bias.

use counterproof_core::Result;
use rten_simd::{SimdOp, SimdUnaryOp};

use super::kernel::{Identity, Panels, Product, Rows, padded};
use crate::weights::Weights;

/// `x * W^T + b`, as PyTorch's `nn.Linear` has it.
pub(super) struct Linear {
    weight: Panels,
    bias: Vec<f32>,
}

impl Linear {
    /// Joins the layers named in `parts`, each `inputs` to `outputs` and multiplied by its factor, into one whose
    /// outputs stand side by side.
    pub(super) fn load(
        weights: &Weights,
        parts: &[(&str, f32)],
        inputs: usize,
        outputs: usize,
    ) -> Result<Self> {
        let mut weight = Panels::zeros(inputs, parts.len() * outputs);
        let mut bias = Vec::with_capacity(parts.len() * outputs);
        for (name, scale) in parts {
            let mut column = bias.len();
            weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?.each_row(|row| {
                weight.set_column(column, row.iter().map(|x| x * scale));
                column += 1;
            });
            bias.extend(
                weights.tensor(&format!("{name}.bias"), &[outputs])?.to_vec().iter().map(|x| x * scale),
            );
        }
        Ok(Self { weight, bias: padded(bias) })
    }

    /// Writes `f` of the layer's value at each row of `x` to the row of `out`.
    pub(super) fn apply(&self, x: &[f32], f: impl SimdUnaryOp<f32>, out: &mut [f32]) {
        self.run(x, f, out, false);
    }

    /// Adds the layer's value at each row of `x` to the row of `out`.
    pub(super) fn add_to(&self, x: &[f32], out: &mut [f32]) {
        self.run(x, Identity, out, true);
    }

    fn run(&self, x: &[f32], f: impl SimdUnaryOp<f32>, out: &mut [f32], accumulate: bool) {
        let stride = self.weight.depth();
        Product {
            x: Rows { data: x, stride, count: x.len() / stride.max(1) },
            panels: &self.weight,
            bias: Some(&self.bias),
            out,
            out_stride: self.weight.columns(),
            accumulate,
            f,
        }
        .dispatch();
    }
}
