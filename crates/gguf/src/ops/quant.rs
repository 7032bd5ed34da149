//! The ways GGUF writes numbers down, and how to read them back. A row of a matrix is a sequence of blocks; a block
//! holds 32 or 256 small integers with the scales that make numbers of them. Layouts after ggml.
//!
//! The kernels are plain counted loops over blocks of constant size: that is the form which is inlined and vectorised
//! reliably when it is compiled for a processor with more features than the rest of the program.

#![allow(
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "all indices are constants or counters within arrays of constant size"
)]

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

/// Reads blocks with `$read`, as many as both sides hold.
macro_rules! blocks {
    ($bytes:ident, $out:ident, $read:ident, $block_bytes:literal, $elements:literal) => {{
        let blocks = $bytes.as_chunks::<$block_bytes>().0;
        let out = $out.as_chunks_mut::<$elements>().0;
        let count = if blocks.len() < out.len() { blocks.len() } else { out.len() };
        for i in 0..count {
            $read(&blocks[i], &mut out[i]);
        }
    }};
}

/// Reads `bytes`, whole blocks, into `out`, which is as long as they hold numbers.
pub(crate) fn dequantize(quantization: Quantization, bytes: &[u8], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if super::simd::has_avx2() {
        // SAFETY: the processor was just seen to have the features that the function was compiled for.
        if unsafe { super::x86::dequantize(quantization, bytes, out) } {
            return;
        }
    }
    dequantize_plainly(quantization, bytes, out);
}

vectorized! {
    fn dequantize_plainly<_FMA>(quantization: Quantization, bytes: &[u8], out: &mut [f32]) {
        match quantization {
            Quantization::F32 => blocks!(bytes, out, f32_, 4, 1),
            Quantization::F16 => blocks!(bytes, out, f16, 2, 1),
            Quantization::Bf16 => blocks!(bytes, out, bf16, 2, 1),
            Quantization::Q4_0 => blocks!(bytes, out, q4_0, 18, 32),
            Quantization::Q4_1 => blocks!(bytes, out, q4_1, 20, 32),
            Quantization::Q5_0 => blocks!(bytes, out, q5_0, 22, 32),
            Quantization::Q5_1 => blocks!(bytes, out, q5_1, 24, 32),
            Quantization::Q8_0 => blocks!(bytes, out, q8_0, 34, 32),
            Quantization::Q2K => blocks!(bytes, out, q2_k, 84, 256),
            Quantization::Q3K => blocks!(bytes, out, q3_k, 110, 256),
            Quantization::Q4K => blocks!(bytes, out, q4_k, 144, 256),
            Quantization::Q5K => blocks!(bytes, out, q5_k, 176, 256),
            Quantization::Q6K => blocks!(bytes, out, q6_k, 210, 256),
        }
    }
}

#[inline(always)]
fn f32_(b: &[u8; 4], out: &mut [f32; 1]) {
    out[0] = f32::from_bits(u32::from_le_bytes(*b));
}

#[inline(always)]
fn f16(b: &[u8; 2], out: &mut [f32; 1]) {
    out[0] = half(b[0], b[1]);
}

#[inline(always)]
fn bf16(b: &[u8; 2], out: &mut [f32; 1]) {
    out[0] = f32::from_bits(u32::from_le_bytes([0, 0, b[0], b[1]]));
}

/// A half-precision number, exactly. The product puts the exponent right for normal and subnormal numbers alike;
/// infinities and NaN do not occur in weights.
#[inline(always)]
pub(super) fn half(low: u8, high: u8) -> f32 {
    let bits = u16::from_le_bytes([low, high]) as u32;
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000); // 2^112
    f32::from_bits(magnitude.to_bits() | ((bits & 0x8000) << 16))
}

#[inline(always)]
fn q4_0(b: &[u8; 18], out: &mut [f32; 32]) {
    let d = half(b[0], b[1]);
    for j in 0..16 {
        out[j] = d * ((b[2 + j] & 15) as i32 - 8) as f32;
    }
    for j in 0..16 {
        out[16 + j] = d * ((b[2 + j] >> 4) as i32 - 8) as f32;
    }
}

#[inline(always)]
fn q4_1(b: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half(b[0], b[1]), half(b[2], b[3]));
    for j in 0..16 {
        out[j] = d * (b[4 + j] & 15) as f32 + m;
    }
    for j in 0..16 {
        out[16 + j] = d * (b[4 + j] >> 4) as f32 + m;
    }
}

/// The fifth bits of a block are a field of 32; bit `j` as 16 or 0.
#[inline(always)]
fn fifth_bit(field: u32, j: u32) -> i32 {
    (((field >> j) & 1) << 4) as i32
}

#[inline(always)]
fn q5_0(b: &[u8; 22], out: &mut [f32; 32]) {
    let d = half(b[0], b[1]);
    let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
    for j in 0..16 {
        out[j] = d * (((b[6 + j] & 15) as i32 | fifth_bit(high, j as u32)) - 16) as f32;
    }
    for j in 0..16 {
        out[16 + j] = d * (((b[6 + j] >> 4) as i32 | fifth_bit(high, j as u32 + 16)) - 16) as f32;
    }
}

#[inline(always)]
fn q5_1(b: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (half(b[0], b[1]), half(b[2], b[3]));
    let high = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
    for j in 0..16 {
        out[j] = d * ((b[8 + j] & 15) as i32 | fifth_bit(high, j as u32)) as f32 + m;
    }
    for j in 0..16 {
        out[16 + j] = d * ((b[8 + j] >> 4) as i32 | fifth_bit(high, j as u32 + 16)) as f32 + m;
    }
}

#[inline(always)]
fn q8_0(b: &[u8; 34], out: &mut [f32; 32]) {
    let d = half(b[0], b[1]);
    for j in 0..32 {
        out[j] = d * (b[2 + j] as i8) as f32;
    }
}

/// Where the sixteenth of a 256-block lies: its half of the block, its run of 32 within the half, its side of the run.
#[inline(always)]
fn place(sixteenth: usize) -> (usize, usize, usize) {
    (sixteenth / 8, sixteenth % 8 / 2, sixteenth % 2)
}

#[inline(always)]
fn q2_k(b: &[u8; 84], out: &mut [f32; 256]) {
    let (d, min) = (half(b[80], b[81]), half(b[82], b[83]));
    for s in 0..16 {
        // Each half has 32 bytes; a byte holds two bits for each of its four runs.
        let (half_block, run, side) = place(s);
        let at = 16 + half_block * 32 + side * 16;
        let (dl, ml) = (d * (b[s] & 15) as f32, min * (b[s] >> 4) as f32);
        for l in 0..16 {
            out[s * 16 + l] = dl * ((b[at + l] >> (2 * run)) & 3) as f32 - ml;
        }
    }
}

#[inline(always)]
fn q3_k(b: &[u8; 110], out: &mut [f32; 256]) {
    let d = half(b[108], b[109]);
    for s in 0..16 {
        let (half_block, run, side) = place(s);
        // Sixteen scales of six bits: the low four in eight bytes, the high two in the four after them.
        let low = b[96 + s % 8] >> (s / 8 * 4) & 15;
        let high = b[104 + s % 4] >> (s / 4 * 2) & 3;
        let dl = d * ((low | (high << 4)) as i32 - 32) as f32;
        let at = 32 + half_block * 32 + side * 16;
        for l in 0..16 {
            let third_bit = (b[side * 16 + l] >> (half_block * 4 + run)) & 1;
            let q = ((b[at + l] >> (2 * run)) & 3) | (third_bit << 2);
            out[s * 16 + l] = dl * (q as i32 - 4) as f32;
        }
    }
}

/// Scale and minimum number `j` of the eight that a Q4_K or Q5_K block packs into twelve bytes, six bits each; the
/// bytes begin at `b[4]`.
#[inline(always)]
pub(super) fn scale_and_min<const N: usize>(b: &[u8; N], j: usize) -> (f32, f32) {
    let (scale, min) = if j < 4 {
        (b[4 + j] & 63, b[8 + j] & 63)
    } else {
        ((b[8 + j] & 15) | (b[j] >> 6 << 4), (b[8 + j] >> 4) | (b[4 + j] >> 6 << 4))
    };
    (scale as f32, min as f32)
}

#[inline(always)]
fn q4_k(b: &[u8; 144], out: &mut [f32; 256]) {
    let (d, min) = (half(b[0], b[1]), half(b[2], b[3]));
    for j in 0..4 {
        let (s1, m1) = scale_and_min(b, 2 * j);
        let (s2, m2) = scale_and_min(b, 2 * j + 1);
        let (d1, m1, d2, m2) = (d * s1, min * m1, d * s2, min * m2);
        for l in 0..32 {
            out[j * 64 + l] = d1 * (b[16 + 32 * j + l] & 15) as f32 - m1;
        }
        for l in 0..32 {
            out[j * 64 + 32 + l] = d2 * (b[16 + 32 * j + l] >> 4) as f32 - m2;
        }
    }
}

#[inline(always)]
fn q5_k(b: &[u8; 176], out: &mut [f32; 256]) {
    let (d, min) = (half(b[0], b[1]), half(b[2], b[3]));
    for j in 0..4 {
        let (s1, m1) = scale_and_min(b, 2 * j);
        let (s2, m2) = scale_and_min(b, 2 * j + 1);
        let (d1, m1, d2, m2) = (d * s1, min * m1, d * s2, min * m2);
        for l in 0..32 {
            let high = ((b[16 + l] >> (2 * j)) & 1) << 4;
            out[j * 64 + l] = d1 * ((b[48 + 32 * j + l] & 15) | high) as f32 - m1;
        }
        for l in 0..32 {
            let high = ((b[16 + l] >> (2 * j + 1)) & 1) << 4;
            out[j * 64 + 32 + l] = d2 * ((b[48 + 32 * j + l] >> 4) | high) as f32 - m2;
        }
    }
}

#[inline(always)]
fn q6_k(b: &[u8; 210], out: &mut [f32; 256]) {
    let d = half(b[208], b[209]);
    for s in 0..16 {
        // Of each half's 128 numbers, runs 0 and 1 take the low four bits of 64 bytes, runs 2 and 3 the high four; the
        // upper two bits of all four runs share 32 bytes.
        let (half_block, run, side) = place(s);
        let low = half_block * 64 + run % 2 * 32 + side * 16;
        let high = 128 + half_block * 32 + side * 16;
        let dl = d * (b[192 + s] as i8) as f32;
        for l in 0..16 {
            let q = ((b[low + l] >> (run / 2 * 4)) & 15) | (((b[high + l] >> (2 * run)) & 3) << 4);
            out[s * 16 + l] = dl * (q as i32 - 32) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of random bits and what they mean, as computed by `gguf.quants.dequantize` of the Python package `gguf`
    /// 0.19, which is ggml's own reader and independent of this one.
    const BLOCKS: &str = include_str!("../../tests/data/blocks.json");

    #[derive(serde::Deserialize)]
    struct Block {
        bytes: String,
        values: Vec<f32>,
    }

    #[test]
    fn every_type_reads_as_ggml_reads_it() {
        let blocks: std::collections::BTreeMap<String, Block> = serde_json::from_str(BLOCKS).unwrap();
        for (quantization, _, name, ..) in Quantization::TABLE {
            if quantization == Quantization::F32 {
                continue;
            }
            let block = &blocks[name];
            let bytes: Vec<u8> = (0..block.bytes.len() / 2)
                .map(|i| u8::from_str_radix(&block.bytes[2 * i..2 * i + 2], 16).unwrap())
                .collect();
            let elements = bytes.len() / quantization.block_bytes() * quantization.block_elements();
            assert_eq!(elements, block.values.len(), "{name}");
            for read in [dequantize, dequantize_plainly] {
                let mut got = vec![0.0; elements];
                read(quantization, &bytes, &mut got);
                for (i, (g, w)) in got.iter().zip(&block.values).enumerate() {
                    assert!((g - w).abs() <= 2e-6 * w.abs().max(0.5), "{name} at {i}: {g}, not {w}");
                }
            }
        }
    }

    #[test]
    fn plain_numbers_are_themselves() {
        let values = [1.5f32, -0.25, f32::MIN_POSITIVE];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut got = [0.0; 3];
        dequantize(Quantization::F32, &bytes, &mut got);
        assert_eq!(got, values);
    }

    #[test]
    fn halves_are_exact() {
        for (bits, want) in
            [(0x3c00u16, 1.0f32), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0), (0x8000, -0.0)]
        {
            assert_eq!(half(bits as u8, (bits >> 8) as u8).to_bits(), want.to_bits());
        }
    }

    #[test]
    fn a_foreign_type_has_a_name() {
        assert_eq!(Quantization::from_id(23), None);
        assert_eq!(Quantization::foreign_name(23), "IQ4_XS");
        assert!(Quantization::supported_names().contains("Q4_K"));
    }
}
