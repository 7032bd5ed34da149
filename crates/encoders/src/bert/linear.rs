//! Dense layers: a matrix laid out once for the kernel, and a bias.

use counterproof_core::Result;
use counterproof_kernels::matrix::{Left, Panels, Product, Then, padded};

use crate::source::Source;

/// `x * W^T + b`, as PyTorch's `nn.Linear` has it.
pub(crate) struct Linear {
    weight: Panels,
    bias: Vec<f32>,
}

impl Linear {
    /// Joins the layers named in `parts`, each `inputs` to `outputs` and multiplied by its factor, into one whose
    /// outputs stand side by side.
    pub(crate) fn load(
        source: Source<'_>,
        parts: &[(&str, f32)],
        inputs: usize,
        outputs: usize,
    ) -> Result<Self> {
        let mut weight = Vec::with_capacity(parts.len() * outputs * inputs);
        let mut bias = Vec::with_capacity(parts.len() * outputs);
        for (name, scale) in parts {
            let scaled = |x: f32| x * scale;
            weight.extend(source.matrix(name, outputs, inputs)?.into_iter().map(scaled));
            bias.extend(source.vector(&format!("{name}.bias"), outputs)?.into_iter().map(scaled));
        }
        Ok(Self::new(&weight, bias, inputs))
    }

    /// The layer with this weight, one row of `inputs` numbers for each number of `bias`.
    pub(crate) fn new(weight: &[f32], bias: Vec<f32>, inputs: usize) -> Self {
        let mut panels = Panels::empty();
        panels.lay_transposed(weight, inputs);
        Self { weight: panels, bias: padded(bias) }
    }

    /// Writes `then` of the layer's value at each row of `x` to the row of `out`.
    pub(crate) fn apply(&self, x: &[f32], then: Then, out: &mut [f32]) {
        self.run(x, then, out, false);
    }

    /// Adds the layer's value at each row of `x` to the row of `out`.
    pub(crate) fn add_to(&self, x: &[f32], out: &mut [f32]) {
        self.run(x, Then::Keep, out, true);
    }

    fn run(&self, x: &[f32], then: Then, out: &mut [f32], accumulate: bool) {
        let stride = self.weight.depth();
        Product {
            x: Left::rows(x, stride, x.len() / stride.max(1)),
            panels: &self.weight,
            bias: Some(&self.bias),
            out,
            out_stride: self.weight.columns(),
            accumulate,
            then,
        }
        .run();
    }
}
