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
        let (mut matrix, mut bias) = (Vec::new(), Vec::new());
        for (name, scale) in parts {
            weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?.append_to(&mut matrix, *scale);
            weights.tensor(&format!("{name}.bias"), &[outputs])?.append_to(&mut bias, *scale);
        }
        let mut weight = Panels::default();
        weight.from_columns(inputs, matrix.chunks_exact(inputs));
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
