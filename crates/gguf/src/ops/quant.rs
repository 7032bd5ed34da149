//! The ways GGUF writes numbers down, and how to read them back. A row of a matrix is a sequence of blocks; a block
//! holds 32 or 256 small integers with the scales that make numbers of them. Layouts after ggml.

use super::simd::vectorized;

/// How the numbers of a tensor are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Quantization {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

impl Quantization {
    /// All that are supported, with GGUF's number, the name, the numbers in a block and its bytes.
    const TABLE: [(Self, u32, &'static str, usize, usize); 13] = [
        (Self::F32, 0, "F32", 1, 4),
        (Self::F16, 1, "F16", 1, 2),
        (Self::Bf16, 30, "BF16", 1, 2),
        (Self::Q4_0, 2, "Q4_0", 32, 18),
        (Self::Q4_1, 3, "Q4_1", 32, 20),
        (Self::Q5_0, 6, "Q5_0", 32, 22),
        (Self::Q5_1, 7, "Q5_1", 32, 24),
        (Self::Q8_0, 8, "Q8_0", 32, 34),
        (Self::Q2K, 10, "Q2_K", 256, 84),
        (Self::Q3K, 11, "Q3_K", 256, 110),
        (Self::Q4K, 12, "Q4_K", 256, 144),
        (Self::Q5K, 13, "Q5_K", 256, 176),
        (Self::Q6K, 14, "Q6_K", 256, 210),
    ];

    pub(crate) fn from_id(id: u32) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.1 == id).map(|row| row.0)
    }

    fn row(self) -> (usize, usize) {
        Self::TABLE.iter().find(|row| row.0 == self).map_or((1, 4), |row| (row.3, row.4))
    }

    /// How many numbers a block holds.
    pub(crate) fn block_elements(self) -> usize {
        self.row().0
    }

    /// How many bytes a block takes.
    pub(crate) fn block_bytes(self) -> usize {
        self.row().1
    }

    /// The names of all that are supported, for messages.
    pub(crate) fn supported_names() -> String {
        Self::TABLE.map(|row| row.2).join(", ")
    }

    /// What ggml calls a type that is not supported here.
    pub(crate) fn foreign_name(id: u32) -> String {
        let name = match id {
            9 => "Q8_1",
            15 => "Q8_K",
            16 => "IQ2_XXS",
            17 => "IQ2_XS",
            18 => "IQ3_XXS",
            19 => "IQ1_S",
            20 => "IQ4_NL",
            21 => "IQ3_S",
            22 => "IQ2_S",
            23 => "IQ4_XS",
            29 => "IQ1_M",
            34 => "TQ1_0",
            35 => "TQ2_0",
            39 => "MXFP4",
            other => return format!("type {other}"),
        };
        name.to_owned()
    }
}

vectorized! {
    /// Reads `bytes`, whole blocks, into `out`, which is as long as they hold numbers.
    pub(crate) fn dequantize<_FMA>(quantization: Quantization, bytes: &[u8], out: &mut [f32]) {
        match quantization {
            Quantization::F32 => each(bytes, out, |b, o: &mut [f32; 1]| *o = [f32::from_le_bytes(*b)]),
            Quantization::F16 => each(bytes, out, |b, o: &mut [f32; 1]| *o = [half(*b)]),
            Quantization::Bf16 => each(bytes, out, |[lo, hi], o: &mut [f32; 1]| {
                *o = [f32::from_le_bytes([0, 0, *lo, *hi])];
            }),
            Quantization::Q4_0 => each(bytes, out, q4_0),
            Quantization::Q4_1 => each(bytes, out, q4_1),
            Quantization::Q5_0 => each(bytes, out, q5_0),
            Quantization::Q5_1 => each(bytes, out, q5_1),
            Quantization::Q8_0 => each(bytes, out, q8_0),
            Quantization::Q2K => each(bytes, out, q2_k),
            Quantization::Q3K => each(bytes, out, q3_k),
            Quantization::Q4K => each(bytes, out, q4_k),
            Quantization::Q5K => each(bytes, out, q5_k),
            Quantization::Q6K => each(bytes, out, q6_k),
        }
    }
}

#[inline(always)]
fn each<const BYTES: usize, const ELEMENTS: usize>(
    bytes: &[u8],
    out: &mut [f32],
    read: impl Fn(&[u8; BYTES], &mut [f32; ELEMENTS]),
) {
    for (block, out) in bytes.as_chunks::<BYTES>().0.iter().zip(out.as_chunks_mut::<ELEMENTS>().0) {
        read(block, out);
    }
}

/// A half-precision number, exactly. The product puts the exponent right for normal and subnormal numbers alike;
/// infinities and NaN do not occur in weights.
#[inline(always)]
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000); // 2^112
    f32::from_bits(magnitude.to_bits() | ((bits & 0x8000) << 16))
}

/// The bytes from `at` on as an array. All callers ask for constant parts of blocks of constant size.
#[inline(always)]
fn part<const N: usize, const BYTES: usize>(block: &[u8; BYTES], at: usize) -> &[u8; N] {
    const { assert!(N <= BYTES) };
    block.get(at..).and_then(|b| b.first_chunk()).unwrap_or(const { &[0; N] })
}

#[inline(always)]
fn part_mut<const N: usize, const ALL: usize>(out: &mut [f32; ALL], at: usize) -> &mut [f32; N] {
    const { assert!(N <= ALL) };
    out.get_mut(at..).and_then(|o| o.first_chunk_mut()).unwrap_or_else(|| unreachable_part())
}

#[cold]
fn unreachable_part() -> ! {
    unreachable!("the parts of a block are constants within it")
}

#[inline(always)]
fn q4_0(b: &[u8; 18], out: &mut [f32; 32]) {
    let d = half(*part(b, 0));
    let q: &[u8; 16] = part(b, 2);
    for (o, q) in part_mut::<16, 32>(out, 0).iter_mut().zip(q) {
        *o = d * (i32::from(q & 15) - 8) as f32;
    }
    for (o, q) in part_mut::<16, 32>(out, 16).iter_mut().zip(q) {
        *o = d * (i32::from(q >> 4) - 8) as f32;
    }
}

#[inline(always)]
fn q4_1(b: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half(*part(b, 0)), half(*part(b, 2)));
    let q: &[u8; 16] = part(b, 4);
    for (o, q) in part_mut::<16, 32>(out, 0).iter_mut().zip(q) {
        *o = d * f32::from(q & 15) + m;
    }
    for (o, q) in part_mut::<16, 32>(out, 16).iter_mut().zip(q) {
        *o = d * f32::from(q >> 4) + m;
    }
}

/// The 32 five-bit integers of a Q5 block: four bits from `q`, the fifth from the bit field `high`.
#[inline(always)]
fn five_bits(high: &[u8; 4], q: &[u8; 16]) -> [i32; 32] {
    let high = u32::from_le_bytes(*high);
    let mut out = [0; 32];
    let (low_half, high_half) = out.split_at_mut(16);
    for (j, (o, q)) in low_half.iter_mut().zip(q).enumerate() {
        *o = i32::from(q & 15) | (((high >> j) & 1) << 4) as i32;
    }
    for (j, (o, q)) in high_half.iter_mut().zip(q).enumerate() {
        *o = i32::from(q >> 4) | (((high >> (j + 16)) & 1) << 4) as i32;
    }
    out
}

#[inline(always)]
fn q5_0(b: &[u8; 22], out: &mut [f32; 32]) {
    let d = half(*part(b, 0));
    for (o, q) in out.iter_mut().zip(five_bits(part(b, 2), part(b, 6))) {
        *o = d * (q - 16) as f32;
    }
}

#[inline(always)]
fn q5_1(b: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (half(*part(b, 0)), half(*part(b, 2)));
    for (o, q) in out.iter_mut().zip(five_bits(part(b, 4), part(b, 8))) {
        *o = d * q as f32 + m;
    }
}

#[inline(always)]
fn q8_0(b: &[u8; 34], out: &mut [f32; 32]) {
    let d = half(*part(b, 0));
    for (o, q) in out.iter_mut().zip(part::<32, 34>(b, 2)) {
        *o = d * f32::from(*q as i8);
    }
}

#[inline(always)]
fn q2_k(b: &[u8; 84], out: &mut [f32; 256]) {
    let scales: &[u8; 16] = part(b, 0);
    let (d, min) = (half(*part(b, 80)), half(*part(b, 82)));
    for (sixteen, (out, scale)) in out.as_chunks_mut::<16>().0.iter_mut().zip(scales).enumerate() {
        // Each half of the block has 32 bytes; a byte holds two bits for each of four runs of 32 numbers.
        let (half_block, run) = (sixteen / 8, sixteen % 8 / 2);
        let q: &[u8; 16] = part(b, 16 + half_block * 32 + sixteen % 2 * 16);
        let (dl, ml) = (d * f32::from(scale & 15), min * f32::from(scale >> 4));
        for (o, q) in out.iter_mut().zip(q) {
            *o = dl * f32::from((q >> (2 * run)) & 3) - ml;
        }
    }
}

#[inline(always)]
fn q3_k(b: &[u8; 110], out: &mut [f32; 256]) {
    let d = half(*part(b, 108));
    for (sixteen, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (half_block, run, side) = (sixteen / 8, sixteen % 8 / 2, sixteen % 2);
        // Sixteen scales of six bits: the low four in the first eight bytes, the high two in the last four.
        let low = part::<1, 110>(b, 96 + sixteen % 8)[0] >> (sixteen / 8 * 4) & 15;
        let high = part::<1, 110>(b, 104 + sixteen % 4)[0] >> (sixteen / 4 * 2) & 3;
        let dl = d * (i32::from(low | (high << 4)) - 32) as f32;
        let high_bits: &[u8; 16] = part(b, side * 16);
        let q: &[u8; 16] = part(b, 32 + half_block * 32 + side * 16);
        for ((o, q), h) in out.iter_mut().zip(q).zip(high_bits) {
            let third_bit = i32::from((h >> (half_block * 4 + run)) & 1);
            *o = dl * (i32::from((q >> (2 * run)) & 3) + 4 * third_bit - 4) as f32;
        }
    }
}

/// Scale and minimum number `j` of the eight that a Q4_K or Q5_K block packs into twelve bytes, six bits each.
#[inline(always)]
fn scale_and_min(scales: &[u8; 12], j: usize) -> (f32, f32) {
    let at = |i: usize| scales.get(i).copied().unwrap_or(0);
    let (scale, min) = if j < 4 {
        (at(j) & 63, at(j + 4) & 63)
    } else {
        ((at(j + 4) & 15) | (at(j - 4) >> 6 << 4), (at(j + 4) >> 4) | (at(j) >> 6 << 4))
    };
    (f32::from(scale), f32::from(min))
}

#[inline(always)]
fn q4_k(b: &[u8; 144], out: &mut [f32; 256]) {
    let (d, min) = (half(*part(b, 0)), half(*part(b, 2)));
    let scales: &[u8; 12] = part(b, 4);
    for (j, out) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let q: &[u8; 32] = part(b, 16 + 32 * j);
        let (s1, m1) = scale_and_min(scales, 2 * j);
        let (s2, m2) = scale_and_min(scales, 2 * j + 1);
        let (d1, m1, d2, m2) = (d * s1, min * m1, d * s2, min * m2);
        for (o, q) in part_mut::<32, 64>(out, 0).iter_mut().zip(q) {
            *o = d1 * f32::from(q & 15) - m1;
        }
        for (o, q) in part_mut::<32, 64>(out, 32).iter_mut().zip(q) {
            *o = d2 * f32::from(q >> 4) - m2;
        }
    }
}

#[inline(always)]
fn q5_k(b: &[u8; 176], out: &mut [f32; 256]) {
    let (d, min) = (half(*part(b, 0)), half(*part(b, 2)));
    let scales: &[u8; 12] = part(b, 4);
    let high: &[u8; 32] = part(b, 16);
    for (j, out) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let q: &[u8; 32] = part(b, 48 + 32 * j);
        let (s1, m1) = scale_and_min(scales, 2 * j);
        let (s2, m2) = scale_and_min(scales, 2 * j + 1);
        let (d1, m1, d2, m2) = (d * s1, min * m1, d * s2, min * m2);
        for ((o, q), h) in part_mut::<32, 64>(out, 0).iter_mut().zip(q).zip(high) {
            *o = d1 * f32::from((q & 15) | (((h >> (2 * j)) & 1) << 4)) - m1;
        }
        for ((o, q), h) in part_mut::<32, 64>(out, 32).iter_mut().zip(q).zip(high) {
            *o = d2 * f32::from((q >> 4) | (((h >> (2 * j + 1)) & 1) << 4)) - m2;
        }
    }
}

#[inline(always)]
fn q6_k(b: &[u8; 210], out: &mut [f32; 256]) {
    let d = half(*part(b, 208));
    let scales: &[u8; 16] = part(b, 192);
    for (sixteen, (out, scale)) in out.as_chunks_mut::<16>().0.iter_mut().zip(scales).enumerate() {
        // Of each half block's 128 numbers, run 0 and 1 take the low four bits of 64 bytes, run 2 and 3 the high four;
        // the upper two bits of all four runs share 32 bytes.
        let (half_block, run, side) = (sixteen / 8, sixteen % 8 / 2, sixteen % 2);
        let low: &[u8; 16] = part(b, half_block * 64 + run % 2 * 32 + side * 16);
        let high: &[u8; 16] = part(b, 128 + half_block * 32 + side * 16);
        let dl = d * f32::from(*scale as i8);
        for ((o, l), h) in out.iter_mut().zip(low).zip(high) {
            let q = ((l >> (run / 2 * 4)) & 15) | (((h >> (2 * run)) & 3) << 4);
            *o = dl * (i32::from(q) - 32) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::quantized::{GgmlDType, QTensor};
    use candle_core::{Device, Tensor};

    use super::*;

    /// The types that candle, an independent implementation, can write.
    const PAIRS: [(Quantization, GgmlDType); 13] = [
        (Quantization::F32, GgmlDType::F32),
        (Quantization::F16, GgmlDType::F16),
        (Quantization::Bf16, GgmlDType::BF16),
        (Quantization::Q4_0, GgmlDType::Q4_0),
        (Quantization::Q4_1, GgmlDType::Q4_1),
        (Quantization::Q5_0, GgmlDType::Q5_0),
        (Quantization::Q5_1, GgmlDType::Q5_1),
        (Quantization::Q8_0, GgmlDType::Q8_0),
        (Quantization::Q2K, GgmlDType::Q2K),
        (Quantization::Q3K, GgmlDType::Q3K),
        (Quantization::Q4K, GgmlDType::Q4K),
        (Quantization::Q5K, GgmlDType::Q5K),
        (Quantization::Q6K, GgmlDType::Q6K),
    ];

    #[test]
    fn every_type_reads_as_an_independent_implementation_reads_it() {
        let values: Vec<f32> =
            (0..1024).map(|i| ((i * 7919 % 1009) as f32 / 504.5 - 1.0) * (1.0 + i as f32 / 300.0)).collect();
        let tensor = Tensor::from_vec(values.clone(), (2, 512), &Device::Cpu).unwrap();
        for (ours, theirs) in PAIRS {
            let quantized = QTensor::quantize(&tensor, theirs).unwrap();
            let want: Vec<f32> =
                quantized.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap().to_vec1().unwrap();
            let bytes = quantized.data().unwrap();
            assert_eq!(bytes.len(), 1024 / ours.block_elements() * ours.block_bytes(), "{ours:?}");
            let mut got = vec![0.0; 1024];
            dequantize(ours, &bytes, &mut got);
            for (i, (g, w)) in got.iter().zip(&want).enumerate() {
                assert!((g - w).abs() <= 1e-6 * w.abs().max(1.0), "{ours:?} at {i}: {g}, not {w}");
            }
        }
    }

    #[test]
    fn halves_are_exact() {
        for (bits, want) in
            [(0x3c00u16, 1.0f32), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0), (0x8000, -0.0)]
        {
            assert_eq!(half(bits.to_le_bytes()).to_bits(), want.to_bits());
        }
    }

    #[test]
    fn a_foreign_type_has_a_name() {
        assert_eq!(Quantization::from_id(23), None);
        assert_eq!(Quantization::foreign_name(23), "IQ4_XS");
        assert!(Quantization::supported_names().contains("Q4_K"));
    }
}
