//! What is done to each number or each token alone.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

/// Layer normalisation (Ba, Kiros and Hinton, arXiv:1607.06450).
pub(super) struct LayerNorm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

impl LayerNorm {
    /// Normalises each row of `x`.
    pub(super) fn apply(&self, x: &mut [f32]) {
        NormaliseRows { norm: self, x }.dispatch();
    }
}

struct NormaliseRows<'a> {
    norm: &'a LayerNorm,
    x: &'a mut [f32],
}

impl SimdOp for NormaliseRows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let LayerNorm { weight, bias, epsilon } = self.norm;
        for row in self.x.chunks_exact_mut(weight.len().max(1)) {
            let size = row.len() as f32;
            let mean = Sum::new(row).eval(isa) / size;
            let variance = SumSquareSub::new(row, mean).eval(isa) / size;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + epsilon).sqrt(),
                element_scale: Some(weight),
                bias: 0.0,
                element_bias: Some(bias),
            };
            Normalize::new_mut(row, options).eval(isa);
        }
    }
}

/// `max(x, 0)`.
pub(super) struct Relu;

impl SimdUnaryOp<f32> for Relu {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        ops.max(x, ops.zero())
    }
}
