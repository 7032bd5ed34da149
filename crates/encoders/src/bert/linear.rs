//! Dense layers: a matrix packed once for the processor's kernel, and a bias.

use counterproof_core::{Error, Result};
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::Matrix;

use crate::weights::Weights;

/// `x * W^T + b`, as PyTorch's `nn.Linear` has it.
pub(crate) struct Linear {
    weight: PackedBMatrix<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

impl Linear {
    /// Joins the layers named in `parts`, each `inputs` to `outputs` and multiplied by its factor, into one whose
    /// outputs stand side by side.
    pub(crate) fn load(
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
        let matrix = Matrix::from_data([bias.len(), inputs], matrix.as_slice());
        let weight = GemmExecutor::new().prepack_b(matrix.transposed());
        Ok(Self { weight, bias, inputs })
    }

    /// Writes the layer's value at each row of `x` to the row of `out`.
    pub(crate) fn apply(&self, x: &[f32], out: &mut [f32]) -> Result<()> {
        self.run(x, out, 0.0)
    }

    /// Adds the layer's value at each row of `x` to the row of `out`.
    pub(crate) fn add_to(&self, x: &[f32], out: &mut [f32]) -> Result<()> {
        self.run(x, out, 1.0)
    }

    fn run(&self, x: &[f32], out: &mut [f32], beta: f32) -> Result<()> {
        let x = Matrix::from_data([x.len() / self.inputs, self.inputs], x);
        let options = GemmOptions { beta, bias: Some(BiasVector::Row(&self.bias)), ..GemmOptions::default() };
        GemmExecutor::new()
            .gemm(out, GemmInputA::Unpacked(x), GemmInputB::Packed(&self.weight), options)
            .map_err(|error| Error::failed("multiplying matrices", error))
    }
}
