//! What is done to each number or each token alone.

use rten_simd::{SimdOp, SimdUnaryOp};
use rten_vecmath::{ApproxGelu, Gelu, Normalize, NormalizeOptions, Sum, SumSquareSub};

/// Layer normalisation (Ba, Kiros and Hinton, arXiv:1607.06450).
pub(crate) struct LayerNorm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl LayerNorm {
    /// Normalises each row of `x`.
    pub(crate) fn apply(&self, x: &mut [f32]) {
        for row in x.chunks_exact_mut(self.weight.len().max(1)) {
            let size = row.len() as f32;
            let mean = Sum::new(row).dispatch() / size;
            let variance = SumSquareSub::new(row, mean).dispatch() / size;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + self.epsilon).sqrt(),
                element_scale: Some(&self.weight),
                bias: 0.0,
                element_bias: Some(&self.bias),
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}

/// `x * Phi(x)`.
pub(crate) fn gelu(x: &mut [f32]) {
    Gelu {}.map_mut(x);
}

/// The approximation of [`gelu`] by a hyperbolic tangent.
pub(crate) fn gelu_tanh(x: &mut [f32]) {
    ApproxGelu {}.map_mut(x);
}

/// `max(x, 0)`.
pub(crate) fn relu(x: &mut [f32]) {
    for x in x {
        *x = x.max(0.0);
    }
}
