//! Softmax over rows, forwards and backwards.

use rten_simd::SimdOp;
use rten_vecmath::Softmax;

use crate::vector::dot_lanes;
use crate::wide;

/// Replaces each row of `columns` numbers by its softmax.
pub fn softmax_rows(x: &mut [f32], columns: usize) {
    for row in x.chunks_exact_mut(columns.max(1)) {
        Softmax::new_mut(row).dispatch();
    }
}

/// Replaces the gradients with respect to the shares by those with respect to the scores: `p * (dp - <p, dp>)` in each
/// row of `columns` numbers.
pub fn softmax_rows_backward(p: &[f32], dp: &mut [f32], columns: usize) {
    wide(
        #[inline(always)]
        || {
            let columns = columns.max(1);
            for (p, dp) in p.chunks_exact(columns).zip(dp.chunks_exact_mut(columns)) {
                let mean = dot_lanes(p, dp);
                for (p, dp) in p.iter().zip(dp) {
                    *dp = p * (*dp - mean);
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let scores: Vec<f32> = (0..22).map(|i| ((i * 37) % 11) as f32 / 5.0).collect();
        let upstream: Vec<f32> = (0..22).map(|i| ((i * 17) % 13) as f32 / 7.0 - 0.8).collect();
        let value = |scores: &[f32]| -> f64 {
            let mut p = scores.to_vec();
            softmax_rows(&mut p, 11);
            p.iter().zip(&upstream).map(|(p, u)| f64::from(*p) * f64::from(*u)).sum()
        };
        let mut p = scores.clone();
        softmax_rows(&mut p, 11);
        let mut gradient = upstream.clone();
        softmax_rows_backward(&p, &mut gradient, 11);
        for i in 0..scores.len() {
            let (mut up, mut down) = (scores.clone(), scores.clone());
            up[i] += 1e-2;
            down[i] -= 1e-2;
            let difference = (value(&up) - value(&down)) / 2e-2;
            assert!((difference - f64::from(gradient[i])).abs() < 1e-4, "{i}: {difference} {}", gradient[i]);
        }
    }
}
