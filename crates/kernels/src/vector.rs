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
