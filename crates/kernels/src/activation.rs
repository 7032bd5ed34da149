//! The non-linearity of feed-forward blocks, with its derivative.

use rten_simd::ops::{BitOps, FloatOps, NumOps};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_vecmath::Exp;

/// Replaces each `x` in `x` by the derivative of GELU at it and writes `GELU(x) = x * Phi(x)` to `y` (Hendrycks and
/// Gimpel, arXiv:1606.08415). Both need the same exponential, so the derivative costs next to nothing here.
///
/// Of slices that differ in length, the ends are left as they are.
pub fn gelu_and_derivative(x: &mut [f32], y: &mut [f32]) {
    GeluAndDerivative { x, y }.dispatch();
}

struct GeluAndDerivative<'a> {
    x: &'a mut [f32],
    y: &'a mut [f32],
}

impl SimdOp for GeluAndDerivative<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let lanes = ops.len();
        let count = self.x.len().min(self.y.len());
        let (x, y) = (self.x.as_mut_ptr(), self.y.as_mut_ptr());
        for start in (0..count).step_by(lanes) {
            let left = count - start;
            // SAFETY: both slices have `count` numbers; lanes beyond them are neither read nor written.
            unsafe {
                let (x, y) = (x.add(start), y.add(start));
                if left >= lanes {
                    let (value, slope) = gelu(isa, ops.load_ptr(x));
                    ops.store_ptr(value, y);
                    ops.store_ptr(slope, x);
                } else {
                    let mask = ops.first_n_mask(left);
                    let (value, slope) = gelu(isa, ops.load_ptr_mask(x, mask));
                    ops.store_ptr_mask(value, y, mask);
                    ops.store_ptr_mask(slope, x, mask);
                }
            }
        }
    }
}

/// GELU and its derivative. The error function is Abramowitz and Stegun's 7.1.26, off by less than `2e-7`.
#[inline(always)]
fn gelu<I: Isa>(isa: I, x: I::F32) -> (I::F32, I::F32) {
    const P: f32 = 0.327_591_1;
    const A: [f32; 5] = [0.254_829_6, -0.284_496_74, 1.421_413_7, -1.453_152, 1.061_405_4];
    /// `1 / sqrt(2 pi)`.
    const DENSITY: f32 = 0.398_942_3;
    let ops = isa.f32();
    let z = ops.mul(ops.abs(x), ops.splat(std::f32::consts::FRAC_1_SQRT_2));
    let t = ops.reciprocal(ops.mul_add(z, ops.splat(P), ops.one()));
    let series = ops.poly_eval(t, &A.map(|a| ops.splat(a)));
    let exponential = Exp::apply(isa, ops.neg(ops.mul(z, z)));
    let tail = ops.mul(ops.mul(series, exponential), ops.splat(0.5));
    // The Gaussian distribution function: 1 - tail right of zero, tail left of it.
    let phi = ops.select(tail, ops.sub(ops.one(), tail), ops.lt(x, ops.zero()));
    let slope = ops.mul(x, ops.mul(exponential, ops.splat(DENSITY)));
    (ops.mul(x, phi), ops.add(phi, slope))
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    /// The error function by its Taylor series.
    fn erf(z: f64) -> f64 {
        let (mut term, mut sum) = (z, z);
        for n in 1..200 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        2.0 / std::f64::consts::PI.sqrt() * sum
    }

    #[test]
    fn gelu_and_its_derivative_are_those_of_the_formula() {
        for length in [1, 7, 8, 9, 63] {
            let points: Vec<f32> = (0..length).map(|i| (i as f32 / length as f32 - 0.5) * 9.0).collect();
            let (mut x, mut y) = (points.clone(), vec![0.0; length]);
            gelu_and_derivative(&mut x, &mut y);
            for i in 0..length {
                let p = f64::from(points[i]);
                let phi = 0.5 * (1.0 + erf(p / std::f64::consts::SQRT_2));
                let density = (-p * p / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
                assert!((f64::from(y[i]) - p * phi).abs() < 2e-6, "GELU({p}) = {}", y[i]);
                assert!((f64::from(x[i]) - phi - p * density).abs() < 2e-6, "GELU'({p}) = {}", x[i]);
            }
        }
    }
}
