//! The innermost loops with AVX2: what the compiler makes of the plain ones in [`super::quant`] and [`super::vector`]
//! moves single numbers about. Same results, within rounding.

#![allow(
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "all indices are counters up to the length of what they index"
)]

use std::arch::x86_64::*;

use super::quant::{Quantization, half, scale_and_min};

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

/// Reads blocks of a common type; says whether the type is one.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dequantize(quantization: Quantization, bytes: &[u8], out: &mut [f32]) -> bool {
    match quantization {
        Quantization::Q4_0 => blocks!(bytes, out, q4_0, 18, 32),
        Quantization::Q4_1 => blocks!(bytes, out, q4_1, 20, 32),
        Quantization::Q5_0 => blocks!(bytes, out, q5_0, 22, 32),
        Quantization::Q5_1 => blocks!(bytes, out, q5_1, 24, 32),
        Quantization::Q8_0 => blocks!(bytes, out, q8_0, 34, 32),
        Quantization::Q4K => blocks!(bytes, out, q4_k, 144, 256),
        Quantization::Q5K => blocks!(bytes, out, q5_k, 176, 256),
        Quantization::Q6K => blocks!(bytes, out, q6_k, 210, 256),
        _ => return false,
    }
    true
}

/// The dot product of two vectors; of their first numbers when one is longer.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, a_rest) = a.as_chunks::<32>();
    let (b_chunks, b_rest) = b.as_chunks::<32>();
    let count = if a_chunks.len() < b_chunks.len() { a_chunks.len() } else { b_chunks.len() };
    // Four independent sums hide the latency of the addition.
    let mut sums = [_mm256_setzero_ps(); 4];
    for i in 0..count {
        let (x, y) = (a_chunks[i].as_ptr(), b_chunks[i].as_ptr());
        for j in 0..4 {
            // SAFETY: eight numbers from 8 * j on lie within the 32 of a chunk; the loads need no alignment.
            let (x, y) = unsafe { (_mm256_loadu_ps(x.add(8 * j)), _mm256_loadu_ps(y.add(8 * j))) };
            sums[j] = _mm256_fmadd_ps(x, y, sums[j]);
        }
    }
    let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    let mut total = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    let rest = if a_rest.len() < b_rest.len() { a_rest.len() } else { b_rest.len() };
    for i in 0..rest {
        total += a_rest[i] * b_rest[i];
    }
    total
}

/// 32 bytes of a block from `AT` on.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn load32<const AT: usize, const N: usize>(block: &[u8; N]) -> __m256i {
    const { assert!(AT + 32 <= N) };
    // SAFETY: the bytes lie within the block by the assertion; the load needs no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().add(AT).cast()) }
}

/// 16 bytes of a block from `AT` on, twice: in the low half their low four bits, in the high half their high four.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn nibbles<const AT: usize, const N: usize>(block: &[u8; N]) -> __m256i {
    const { assert!(AT + 16 <= N) };
    // SAFETY: as in `load32`.
    let bytes = unsafe { _mm_loadu_si128(block.as_ptr().add(AT).cast()) };
    let both = _mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes);
    _mm256_and_si256(both, _mm256_set1_epi8(15))
}

/// `scale * q + offset` for 16 signed bytes, into `out` from `AT` on.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn write16<const AT: usize, const N: usize>(out: &mut [f32; N], q: __m128i, scale: f32, offset: f32) {
    const { assert!(AT + 16 <= N) };
    let (scale, offset) = (_mm256_set1_ps(scale), _mm256_set1_ps(offset));
    let first = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
    let second = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128::<8>(q)));
    let at = out.as_mut_ptr();
    // SAFETY: the numbers lie within the array by the assertion; the stores need no alignment.
    unsafe {
        _mm256_storeu_ps(at.add(AT), _mm256_fmadd_ps(first, scale, offset));
        _mm256_storeu_ps(at.add(AT + 8), _mm256_fmadd_ps(second, scale, offset));
    }
}

/// `scale * q + offset` for 32 signed bytes.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn write32(out: &mut [f32; 32], q: __m256i, scale: f32, offset: f32) {
    write16::<0, 32>(out, _mm256_castsi256_si128(q), scale, offset);
    write16::<16, 32>(out, _mm256_extracti128_si256::<1>(q), scale, offset);
}

/// All bits of byte `j` set where bit `j` of the field is.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn spread_bits(field: u32) -> __m256i {
    let bytes = _mm256_shuffle_epi8(
        _mm256_set1_epi32(field as i32),
        _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0),
    );
    let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits)
}

#[target_feature(enable = "avx2,fma")]
fn q4_0(b: &[u8; 18], out: &mut [f32; 32]) {
    let q = _mm256_sub_epi8(nibbles::<2, 18>(b), _mm256_set1_epi8(8));
    write32(out, q, half(b[0], b[1]), 0.0);
}

#[target_feature(enable = "avx2,fma")]
fn q4_1(b: &[u8; 20], out: &mut [f32; 32]) {
    write32(out, nibbles::<4, 20>(b), half(b[0], b[1]), half(b[2], b[3]));
}

#[target_feature(enable = "avx2,fma")]
fn q5_0(b: &[u8; 22], out: &mut [f32; 32]) {
    let fifth = spread_bits(u32::from_le_bytes([b[2], b[3], b[4], b[5]]));
    // Without the fifth bit the number is less by 16: 0xf0 in front of the four bits says that.
    let minus = _mm256_andnot_si256(fifth, _mm256_set1_epi8(0xf0_u8 as i8));
    write32(out, _mm256_or_si256(nibbles::<6, 22>(b), minus), half(b[0], b[1]), 0.0);
}

#[target_feature(enable = "avx2,fma")]
fn q5_1(b: &[u8; 24], out: &mut [f32; 32]) {
    let fifth = spread_bits(u32::from_le_bytes([b[4], b[5], b[6], b[7]]));
    let plus = _mm256_and_si256(fifth, _mm256_set1_epi8(16));
    write32(out, _mm256_or_si256(nibbles::<8, 24>(b), plus), half(b[0], b[1]), half(b[2], b[3]));
}

#[target_feature(enable = "avx2,fma")]
fn q8_0(b: &[u8; 34], out: &mut [f32; 32]) {
    write32(out, load32::<2, 34>(b), half(b[0], b[1]), 0.0);
}

/// Low and high four bits of 32 bytes.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn low_high(bytes: __m256i) -> (__m256i, __m256i) {
    let mask = _mm256_set1_epi8(15);
    (_mm256_and_si256(bytes, mask), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), mask))
}

#[target_feature(enable = "avx2,fma")]
fn q4_k(b: &[u8; 144], out: &mut [f32; 256]) {
    let (d, min) = (half(b[0], b[1]), half(b[2], b[3]));
    let quarters = [load32::<16, 144>(b), load32::<48, 144>(b), load32::<80, 144>(b), load32::<112, 144>(b)];
    for (j, (bytes, out)) in quarters.into_iter().zip(out.as_chunks_mut::<64>().0).enumerate() {
        let (low, high) = low_high(bytes);
        write_pair(out, [low, high], [scale_and_min(b, 2 * j), scale_and_min(b, 2 * j + 1)], d, min);
    }
}

#[target_feature(enable = "avx2,fma")]
fn q5_k(b: &[u8; 176], out: &mut [f32; 256]) {
    let (d, min) = (half(b[0], b[1]), half(b[2], b[3]));
    let fifth = load32::<16, 176>(b);
    let quarters = [load32::<48, 176>(b), load32::<80, 176>(b), load32::<112, 176>(b), load32::<144, 176>(b)];
    for (j, (bytes, out)) in quarters.into_iter().zip(out.as_chunks_mut::<64>().0).enumerate() {
        let (low, high) = low_high(bytes);
        let with_fifth = |q: __m256i, bit: usize| {
            let mask = _mm256_set1_epi8((1u8 << bit) as i8);
            let set = _mm256_cmpeq_epi8(_mm256_and_si256(fifth, mask), mask);
            _mm256_or_si256(q, _mm256_and_si256(set, _mm256_set1_epi8(16)))
        };
        let pair = [with_fifth(low, 2 * j), with_fifth(high, 2 * j + 1)];
        write_pair(out, pair, [scale_and_min(b, 2 * j), scale_and_min(b, 2 * j + 1)], d, min);
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn write_pair(out: &mut [f32; 64], q: [__m256i; 2], scales: [(f32, f32); 2], d: f32, min: f32) {
    for ((out, q), (scale, offset)) in out.as_chunks_mut::<32>().0.iter_mut().zip(q).zip(scales) {
        write32(out, q, d * scale, -(min * offset));
    }
}

#[target_feature(enable = "avx2,fma")]
fn q6_k(b: &[u8; 210], out: &mut [f32; 256]) {
    let d = half(b[208], b[209]);
    let lows = [[load32::<0, 210>(b), load32::<32, 210>(b)], [load32::<64, 210>(b), load32::<96, 210>(b)]];
    let highs = [load32::<128, 210>(b), load32::<160, 210>(b)];
    let mut scales = b.iter().skip(192).map(|s| d * f32::from(*s as i8));
    let two = _mm256_set1_epi8(0x30);
    for ((lows, high), out) in lows.into_iter().zip(highs).zip(out.as_chunks_mut::<128>().0) {
        let ((a, c), (b, e)) = (low_high(lows[0]), low_high(lows[1]));
        let upper = [
            _mm256_and_si256(_mm256_slli_epi16::<4>(high), two),
            _mm256_and_si256(_mm256_slli_epi16::<2>(high), two),
            _mm256_and_si256(high, two),
            _mm256_and_si256(_mm256_srli_epi16::<2>(high), two),
        ];
        for ((q, upper), out) in [a, b, c, e].into_iter().zip(upper).zip(out.as_chunks_mut::<32>().0) {
            let q = _mm256_sub_epi8(_mm256_or_si256(q, upper), _mm256_set1_epi8(32));
            write16::<0, 32>(out, _mm256_castsi256_si128(q), scales.next().unwrap_or(0.0), 0.0);
            write16::<16, 32>(out, _mm256_extracti128_si256::<1>(q), scales.next().unwrap_or(0.0), 0.0);
        }
    }
}
