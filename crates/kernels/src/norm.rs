//! Layer normalisation (Ba, Kiros and Hinton, arXiv:1607.06450), forwards and backwards.

use rten_simd::{Isa, SimdOp};
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

use crate::vector::{dot_lanes, sum_lanes};
use crate::wide;

/// A layer norm: `weight * (x - mean) / sqrt(variance + epsilon) + bias` over each row.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNorm {
    /// One factor a column.
    pub weight: Vec<f32>,
    /// One summand a column.
    pub bias: Vec<f32>,
    /// Added to the variance before its root is taken.
    pub epsilon: f32,
}

impl LayerNorm {
    /// Normalises each row of `x` in place.
    pub fn apply(&self, x: &mut [f32]) {
        NormaliseRows { norm: self, x }.dispatch();
    }

    /// Normalises each row of `x` into `y` and keeps what [`backward`](Self::backward) needs: `x` becomes the row
    /// before weight and bias, and `scales` takes `1 / sqrt(variance + epsilon)`, one a row.
    pub fn forward(&self, x: &mut [f32], scales: &mut [f32], y: &mut [f32]) {
        wide(
            #[inline(always)]
            || {
                let size = self.weight.len().max(1);
                let rows = x.chunks_exact_mut(size).zip(y.chunks_exact_mut(size)).zip(scales);
                for ((x, y), scale) in rows {
                    let mean = sum_lanes(x) / size as f32;
                    for x in x.iter_mut() {
                        *x -= mean;
                    }
                    *scale = 1.0 / (dot_lanes(x, x) / size as f32 + self.epsilon).sqrt();
                    let columns = self.weight.iter().zip(&self.bias);
                    for ((x, y), (weight, bias)) in x.iter_mut().zip(y).zip(columns) {
                        *x *= *scale;
                        *y = *x * weight + bias;
                    }
                }
            },
        );
    }

    /// Replaces the gradient with respect to the output, `dy`, by that with respect to the input, given what
    /// [`forward`](Self::forward) kept. If `parameters` is given, the gradients of weight and bias are added to it.
    pub fn backward(
        &self,
        normalised: &[f32],
        scales: &[f32],
        dy: &mut [f32],
        parameters: Option<(&mut [f32], &mut [f32])>,
    ) {
        let size = self.weight.len().max(1);
        if let Some((weight, bias)) = parameters {
            wide(
                #[inline(always)]
                || {
                    for (x, dy) in normalised.chunks_exact(size).zip(dy.chunks_exact(size)) {
                        let columns = weight.iter_mut().zip(bias.iter_mut());
                        for ((x, dy), (weight, bias)) in x.iter().zip(dy).zip(columns) {
                            *weight += x * dy;
                            *bias += dy;
                        }
                    }
                },
            );
        }
        wide(
            #[inline(always)]
            || {
                let rows = normalised.chunks_exact(size).zip(dy.chunks_exact_mut(size)).zip(scales);
                for ((x, dy), scale) in rows {
                    for (dy, weight) in dy.iter_mut().zip(&self.weight) {
                        *dy *= weight;
                    }
                    let mean = sum_lanes(dy) / size as f32;
                    let along = dot_lanes(x, dy) / size as f32;
                    for (x, dy) in x.iter().zip(dy) {
                        *dy = scale * (*dy - mean - x * along);
                    }
                }
            },
        );
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

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 23) as f32 / 9.0 - 1.0).collect()
    }

    #[test]
    fn both_forward_passes_agree_and_the_gradient_is_that_of_finite_differences() {
        let (size, rows) = (37, 3);
        let norm = LayerNorm { weight: numbers(size, 1), bias: numbers(size, 2), epsilon: 1e-5 };
        let (x, upstream) = (numbers(size * rows, 3), numbers(size * rows, 4));
        let value = |norm: &LayerNorm, x: &[f32]| -> f64 {
            let mut y = x.to_vec();
            norm.apply(&mut y);
            y.iter().zip(&upstream).map(|(y, u)| f64::from(*y) * f64::from(*u)).sum()
        };
        let (mut kept, mut scales, mut y) = (x.clone(), vec![0.0; rows], vec![0.0; x.len()]);
        norm.forward(&mut kept, &mut scales, &mut y);
        let mut plain = x.clone();
        norm.apply(&mut plain);
        for (a, b) in y.iter().zip(&plain) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        let mut dx = upstream.clone();
        let (mut weight, mut bias) = (vec![0.0; size], vec![0.0; size]);
        norm.backward(&kept, &scales, &mut dx, Some((&mut weight, &mut bias)));
        let step = 1e-2;
        let check = |up: f64, down: f64, gradient: f32, what: &str| {
            let difference = (up - down) / (2.0 * f64::from(step));
            assert!((difference - f64::from(gradient)).abs() < 2e-3, "{what}: {difference} {gradient}");
        };
        for i in 0..x.len() {
            let (mut up, mut down) = (x.clone(), x.clone());
            up[i] += step;
            down[i] -= step;
            check(value(&norm, &up), value(&norm, &down), dx[i], "x");
        }
        for i in 0..size {
            let (mut up, mut down) = (norm.clone(), norm.clone());
            up.weight[i] += step;
            down.weight[i] -= step;
            check(value(&up, &x), value(&down, &x), weight[i], "weight");
            let (mut up, mut down) = (norm.clone(), norm.clone());
            up.bias[i] += step;
            down.bias[i] -= step;
            check(value(&up, &x), value(&down, &x), bias[i], "bias");
        }
    }
}
