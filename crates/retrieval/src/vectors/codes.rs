//! Codes of one bit a dimension, and what a query reads from them.
//!
//! The code of a vector `x` holds the signs of `r = x - mean`, where `mean` is that of its segment: taking the mean
//! away matters for encoders whose vectors all lie in one corner. Beside it stands the factor `|r|^2 / sum |r_i|`, with
//! which the signs stand in for `r` without bias when its direction is random (RaBitQ, Gao and Long, 2024):
//!
//! ```text
//! q . x  =  q . mean + q . r   ~   q . mean + factor * sum_i q_i * sign(r_i)
//! ```
//!
//! The query keeps four bits a dimension, laid out as bit planes, so that the sum is a few bitwise ANDs and population
//! counts. The random rotation that RaBitQ applies first was measured here and changed nothing: the dimensions of sentence
//! encoders are mixed enough.

use super::file::VectorFile;
use super::kernel;

/// Greatest magnitude of a query value in its four bits (two's complement, symmetric).
const GREATEST: f32 = 7.0;

/// Bit planes of a query.
pub(crate) const PLANES: usize = 4;

/// Bytes of a code, whole words of 64 bits.
pub(crate) fn code_bytes(dimension: usize) -> usize {
    dimension.div_ceil(64) * 8
}

/// The code of a vector and its factor.
pub(crate) fn encode(vector: impl Iterator<Item = f32>, mean: &[f32], code: &mut [u8]) -> f32 {
    code.fill(0);
    let (mut squares, mut magnitudes) = (0f32, 0f32);
    for (i, (x, m)) in vector.zip(mean).enumerate() {
        let r = x - m;
        squares += r * r;
        magnitudes += r.abs();
        if r > 0.0
            && let Some(byte) = code.get_mut(i / 8)
        {
            *byte |= 1 << (i % 8);
        }
    }
    if magnitudes > 0.0 { squares / magnitudes } else { 0.0 }
}

/// A query, ready to be compared with the codes of one segment.
pub(crate) struct Query {
    /// `words` words of each plane, plane by plane.
    planes: Vec<u64>,
    words: usize,
    /// Sum of the quantised values.
    sum: i32,
    /// Value of one unit.
    unit: f32,
    /// `q . mean`.
    base: f32,
}

impl Query {
    pub(crate) fn new(query: &[f32], mean: &[f32]) -> Self {
        let words = query.len().div_ceil(64);
        let greatest = query.iter().fold(0f32, |max, q| max.max(q.abs()));
        let unit = if greatest > 0.0 { greatest / GREATEST } else { 1.0 };
        let mut planes = vec![0u64; words * PLANES];
        let mut sum = 0i32;
        for (i, q) in query.iter().enumerate() {
            let value = (q / unit).round().clamp(-GREATEST, GREATEST) as i32;
            sum += value;
            for plane in 0..PLANES {
                if value >> plane & 1 == 1
                    && let Some(word) = planes.get_mut(plane * words + i / 64)
                {
                    *word |= 1 << (i % 64);
                }
            }
        }
        let base = query.iter().zip(mean).map(|(q, m)| q * m).sum();
        Self { planes, words, sum, unit, base }
    }

    /// Estimates of the dot products with the rows from `start` on.
    pub(crate) fn estimate(&self, vectors: &VectorFile, start: usize, estimates: &mut [f32]) {
        let codes = vectors.codes(start, estimates.len());
        let factors = vectors.factors(start, estimates.len());
        kernel::planes_dot(codes, self.words, &self.planes, estimates);
        let (factors, _) = factors.as_chunks::<4>();
        for (estimate, factor) in estimates.iter_mut().zip(factors) {
            // The kernel gives the sum over the set bits; the unset ones count against it.
            let signed = 2.0 * *estimate - self.sum as f32;
            *estimate = self.base + f32::from_le_bytes(*factor) * self.unit * signed;
        }
    }
}
