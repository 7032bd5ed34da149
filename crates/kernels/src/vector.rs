//! Sums over vectors and columns.

use crate::wide;

/// Partial sums that are carried at once: enough independent chains to hide the latency of an addition.
const LANES: usize = 32;

/// The inner product of two slices, up to the shorter one's end. Inlined, so that it takes the caller's instruction
/// set.
#[inline(always)]
pub(crate) fn dot_lanes(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// The sum of a slice, as [`dot_lanes`] adds.
#[inline(always)]
pub(crate) fn sum_lanes(a: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (chunks, rest) = a.as_chunks::<LANES>();
    for a in chunks {
        for (sum, a) in sums.iter_mut().zip(a) {
            *sum += a;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// `y += x`, up to the shorter one's end.
pub fn add(y: &mut [f32], x: &[f32]) {
    wide(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y += x;
            }
        },
    );
}

/// `y *= x`, up to the shorter one's end.
pub fn multiply(y: &mut [f32], x: &[f32]) {
    wide(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y *= x;
            }
        },
    );
}

/// `y += a * x`, up to the shorter one's end.
pub fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) {
    wide(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y += a * x;
            }
        },
    );
}

/// Adds the columns of `x`, whose rows stand `stride` apart, to `sums`.
pub fn add_columns(x: &[f32], stride: usize, sums: &mut [f32]) {
    wide(
        #[inline(always)]
        || {
            for row in x.chunks(stride.max(1)) {
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum += x;
                }
            }
        },
    );
}

/// The numbers of one step of AdamW (Loshchilov and Hutter, arXiv:1711.05101).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamStep {
    /// Multiplies the gradient first.
    pub factor: f32,
    /// Decay rates of the first and the second moment.
    pub betas: [f32; 2],
    /// The learning rate, divided by the correction of the first moment.
    pub size: f32,
    /// The root of the correction of the second moment.
    pub root: f32,
    /// Multiplies the parameters before the step: one less the learning rate times the weight decay.
    pub decay: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
}

impl AdamStep {
    /// Takes the step: changes `x` and its two moments by the gradient `g`, up to the shortest slice's end.
    pub fn apply(&self, x: &mut [f32], g: &[f32], first: &mut [f32], second: &mut [f32]) {
        let Self { factor, betas: [beta1, beta2], size, root, decay, epsilon } = *self;
        wide(
            #[inline(always)]
            || {
                for ((x, g), (m, v)) in x.iter_mut().zip(g).zip(first.iter_mut().zip(second)) {
                    let g = factor * g;
                    *m += (1.0 - beta1) * (g - *m);
                    *v += (1.0 - beta2) * (g * g - *v);
                    *x = decay * *x - size * *m / (v.sqrt() / root + epsilon);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_take_every_number() {
        let a: Vec<f32> = (0..77).map(|i| (i % 5) as f32).collect();
        assert_eq!(sum_lanes(&a), a.iter().sum::<f32>());
        assert_eq!(dot_lanes(&a, &a), a.iter().map(|a| a * a).sum::<f32>());
        let mut sums = [0.0; 3];
        add_columns(&[1.0, 2.0, 3.0, 9.0, 4.0, 5.0, 6.0, 9.0], 4, &mut sums);
        assert_eq!(sums, [5.0, 7.0, 9.0]);
    }
}
