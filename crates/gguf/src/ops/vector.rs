//! Elementwise functions and reductions, as plain counted loops: the form that is inlined and vectorised reliably when it
//! is compiled for a processor with more features than the rest of the program.

#![allow(
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "all indices are counters up to the length of what they index"
)]

use super::simd::{multiply_add, vectorized};

const LANES: usize = 32;

/// The dot product of two vectors of the same length.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if super::simd::has_avx2() {
        // SAFETY: the processor was just seen to have the features that the function was compiled for.
        return unsafe { super::x86::dot(a, b) };
    }
    dot_plainly(a, b)
}

vectorized! {
    fn dot_plainly<FMA>(a: &[f32], b: &[f32]) -> f32 {
        // Independent sums hide the latency of the addition; 32 fill four registers of eight.
        let mut sums = [0f32; LANES];
        let (a_chunks, a_rest) = a.as_chunks::<LANES>();
        let (b_chunks, b_rest) = b.as_chunks::<LANES>();
        let count = if a_chunks.len() < b_chunks.len() { a_chunks.len() } else { b_chunks.len() };
        for i in 0..count {
            let (x, y) = (&a_chunks[i], &b_chunks[i]);
            for j in 0..LANES {
                sums[j] = multiply_add::<FMA>(x[j], y[j], sums[j]);
            }
        }
        let mut eight = [0f32; 8];
        for j in 0..8 {
            eight[j] = (sums[j] + sums[j + 8]) + (sums[j + 16] + sums[j + 24]);
        }
        let mut total = ((eight[0] + eight[4]) + (eight[1] + eight[5]))
            + ((eight[2] + eight[6]) + (eight[3] + eight[7]));
        let rest = if a_rest.len() < b_rest.len() { a_rest.len() } else { b_rest.len() };
        for i in 0..rest {
            total += a_rest[i] * b_rest[i];
        }
        total
    }
}

vectorized! {
    /// `out += factor * x`.
    pub(crate) fn add_scaled<FMA>(out: &mut [f32], factor: f32, x: &[f32]) {
        let count = if out.len() < x.len() { out.len() } else { x.len() };
        let (out, x) = (&mut out[..count], &x[..count]);
        for i in 0..count {
            out[i] = multiply_add::<FMA>(factor, x[i], out[i]);
        }
    }
}

/// `out += x`.
pub(crate) fn add_assign(out: &mut [f32], x: &[f32]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o += x;
    }
}

/// `x *= factor`.
pub(crate) fn scale(x: &mut [f32], factor: f32) {
    for x in x {
        *x *= factor;
    }
}

/// Divides a vector by its root mean square and multiplies it by the weights, as RMSNorm (Zhang and Sennrich, 2019).
pub(crate) fn rms_norm(x: &mut [f32], weight: &[f32], epsilon: f32) {
    let mean_square = dot(x, x) / x.len().max(1) as f32;
    let factor = 1.0 / (mean_square + epsilon).sqrt();
    for (x, w) in x.iter_mut().zip(weight) {
        *x *= factor * w;
    }
}

/// `e^x` with a relative error under 2e-7, in operations that vectorise: the argument is split into a power of two and
/// a rest within half of ln 2, for which a polynomial (Cephes `expf`) serves.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding and taking it away rounds to a whole number.
    let x = x.clamp(-87.3, 88.3);
    let n = multiply_add::<FMA>(x, std::f32::consts::LOG2_E, ROUND) - ROUND;
    // ln 2 in two parts, so that the difference is exact.
    let r = multiply_add::<FMA>(n, -0.693_359_4, x);
    let r = multiply_add::<FMA>(n, 2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4;
    p = multiply_add::<FMA>(p, r, 1.398_199_9e-3);
    p = multiply_add::<FMA>(p, r, 8.333_452e-3);
    p = multiply_add::<FMA>(p, r, 4.166_579_6e-2);
    p = multiply_add::<FMA>(p, r, 1.666_666_5e-1);
    p = multiply_add::<FMA>(p, r, 0.5);
    let value = multiply_add::<FMA>(p, r * r, r + 1.0);
    value * f32::from_bits((((n as i32) + 127) << 23) as u32)
}

vectorized! {
    /// Turns scores into probabilities that sum to one. Scores of negative infinity become zero.
    pub(crate) fn softmax<FMA>(x: &mut [f32]) {
        let max = largest(x);
        for i in 0..x.len() {
            let p = exp::<FMA>(x[i] - max);
            x[i] = if x[i] == f32::NEG_INFINITY { 0.0 } else { p };
        }
        let (chunks, rest) = x.as_chunks::<8>();
        let mut sums = [0f32; 8];
        for i in 0..chunks.len() {
            for j in 0..8 {
                sums[j] += chunks[i][j];
            }
        }
        let mut total = 0.0;
        for j in 0..8 {
            total += sums[j];
        }
        for i in 0..rest.len() {
            total += rest[i];
        }
        let factor = 1.0 / total;
        for i in 0..x.len() {
            x[i] *= factor;
        }
    }
}

vectorized! {
    /// `ln(sum of e^x)`, summed in double precision.
    pub(crate) fn log_sum_exp<FMA>(x: &[f32]) -> f64 {
        let max = largest(x);
        let (chunks, rest) = x.as_chunks::<8>();
        let mut sums = [0f64; 8];
        for i in 0..chunks.len() {
            for j in 0..8 {
                sums[j] += exp::<FMA>(chunks[i][j] - max) as f64;
            }
        }
        let mut total = 0.0;
        for j in 0..8 {
            total += sums[j];
        }
        for i in 0..rest.len() {
            total += exp::<FMA>(rest[i] - max) as f64;
        }
        max as f64 + total.ln()
    }
}

/// The largest number, NaN aside; negative infinity when there is none.
#[inline(always)]
fn largest(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<8>();
    let mut maxima = [f32::NEG_INFINITY; 8];
    for i in 0..chunks.len() {
        for j in 0..8 {
            maxima[j] = if chunks[i][j] > maxima[j] { chunks[i][j] } else { maxima[j] };
        }
    }
    let mut max = f32::NEG_INFINITY;
    for j in 0..8 {
        max = if maxima[j] > max { maxima[j] } else { max };
    }
    for i in 0..rest.len() {
        max = if rest[i] > max { rest[i] } else { max };
    }
    max
}

vectorized! {
    /// `gate = silu(gate) * up`, with silu(x) = x / (1 + e^-x).
    pub(crate) fn silu_mul<FMA>(gate: &mut [f32], up: &[f32]) {
        let count = if gate.len() < up.len() { gate.len() } else { up.len() };
        let (gate, up) = (&mut gate[..count], &up[..count]);
        for i in 0..count {
            gate[i] = gate[i] / (1.0 + exp::<FMA>(-gate[i])) * up[i];
        }
    }
}

vectorized! {
    /// `gate = gelu(gate) * up`, in the tanh form of GELU (Hendrycks and Gimpel, 2016).
    pub(crate) fn gelu_mul<FMA>(gate: &mut [f32], up: &[f32]) {
        let count = if gate.len() < up.len() { gate.len() } else { up.len() };
        let (gate, up) = (&mut gate[..count], &up[..count]);
        for i in 0..count {
            let x = gate[i];
            let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
            let tanh = 1.0 - 2.0 / (exp::<FMA>(2.0 * inner) + 1.0);
            gate[i] = 0.5 * x * (1.0 + tanh) * up[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_a_few_units_in_the_last_place() {
        for i in -8700..=8800 {
            let x = i as f32 / 100.0;
            let want = f64::from(x).exp();
            for got in [exp::<true>(x), exp::<false>(x)] {
                assert!((f64::from(got) / want - 1.0).abs() < 3e-7, "exp({x}) = {got}, not {want}");
            }
        }
    }

    #[test]
    fn reductions_agree_with_double_precision() {
        let a: Vec<f32> = (0..1001).map(|i| ((i * 37 % 101) as f32 - 50.0) / 17.0).collect();
        let b: Vec<f32> = (0..1001).map(|i| ((i * 53 % 97) as f32 - 48.0) / 13.0).collect();
        let want: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        for dot in [dot, dot_plainly] {
            assert!((f64::from(dot(&a, &b)) - want).abs() < 1e-2);
        }
        let want = a.iter().map(|x| f64::from(*x).exp()).sum::<f64>().ln();
        assert!((log_sum_exp(&a) - want).abs() < 1e-6);
        let mut p = a.clone();
        p[3] = f32::NEG_INFINITY;
        softmax(&mut p);
        assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(p[3], 0.0);
    }

    #[test]
    fn activations_match_their_formulas() {
        let x: Vec<f32> = (-40..40).map(|i| i as f32 / 4.0).collect();
        let up = vec![2.0; x.len()];
        let (mut silu, mut gelu) = (x.clone(), x.clone());
        silu_mul(&mut silu, &up);
        gelu_mul(&mut gelu, &up);
        for ((x, s), g) in x.iter().map(|x| f64::from(*x)).zip(&silu).zip(&gelu) {
            assert!((f64::from(*s) - 2.0 * x / (1.0 + (-x).exp())).abs() < 1e-5);
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            assert!((f64::from(*g) - x * (1.0 + inner.tanh())).abs() < 1e-5);
        }
    }
}
