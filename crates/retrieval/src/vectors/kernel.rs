//! The two inner loops, compiled for the processor at hand: the program itself is built for the least of its
//! architecture, where neither a population count nor wide vectors may be assumed.

use super::codes::PLANES;

/// Greatest magnitude of a query value in [`WideQuery`]: products with a byte sum up within 32 bits for up to 8,000
/// dimensions.
const WIDE_GREATEST: f32 = 2047.0;

/// The most dimensions for which [`WideQuery`] cannot overflow.
pub(super) const MAX_DIMENSION: usize = 8192;

/// Defines `$name`, which runs `$body` as compiled with the named features where the processor has them.
macro_rules! dispatched {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)? = $body:ident with $features:tt $($feature:tt)*) => {
        $(#[$doc])*
        $vis fn $name($($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = $features)]
                fn with_features($($arg: $type),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                if true $(&& std::arch::is_x86_feature_detected!($feature))* {
                    // SAFETY: the processor has every feature that the function was compiled for, as just asked;
                    // the function itself is safe code.
                    return unsafe { with_features($($arg),*) };
                }
            }
            $body($($arg),*)
        }
    };
}

dispatched! {
    /// For each code (`words` words of 64 bits, little-endian), the sum of the query's values under its set bits. `planes`
    /// holds the bits of the values in two's complement, plane by plane.
    pub(super) fn planes_dot(codes: &[u8], words: usize, planes: &[u64], out: &mut [f32])
        = planes_dot_body with "popcnt" "popcnt"
}

#[inline(always)]
fn planes_dot_body(codes: &[u8], words: usize, planes: &[u64], out: &mut [f32]) {
    // Loops of a known length are unrolled; these are the dimensions 384, 512, 768 and 1024.
    match words {
        6 => planes_dot_fixed::<6>(codes, planes, out),
        8 => planes_dot_fixed::<8>(codes, planes, out),
        12 => planes_dot_fixed::<12>(codes, planes, out),
        16 => planes_dot_fixed::<16>(codes, planes, out),
        _ => planes_dot_any(codes, words, planes, out),
    }
}

// Iterator adapters are not inlined into functions with features of their own, which costs most of the time here.
#[allow(clippy::indexing_slicing)] // every index is below a length that the type states
#[inline(always)]
fn planes_dot_fixed<const WORDS: usize>(codes: &[u8], planes: &[u64], out: &mut [f32]) {
    let (planes, _) = planes.as_chunks::<WORDS>();
    let Some(&planes) = planes.first_chunk::<PLANES>() else { return };
    let (words, _) = codes.as_chunks::<8>();
    let (codes, _) = words.as_chunks::<WORDS>();
    let rows = codes.len().min(out.len());
    let (codes, out) = (&codes[..rows], &mut out[..rows]);
    let mut row = 0;
    while row < rows {
        let mut counts = [0u32; PLANES];
        let mut word = 0;
        while word < WORDS {
            let code = u64::from_le_bytes(codes[row][word]);
            let mut plane = 0;
            while plane < PLANES {
                counts[plane] += (code & planes[plane][word]).count_ones();
                plane += 1;
            }
            word += 1;
        }
        out[row] = weigh(counts);
        row += 1;
    }
}

#[inline(always)]
fn planes_dot_any(codes: &[u8], words: usize, planes: &[u64], out: &mut [f32]) {
    if words == 0 {
        return;
    }
    for (code, out) in codes.chunks_exact(words * 8).zip(out) {
        let (code, _) = code.as_chunks::<8>();
        let mut counts = [0u32; PLANES];
        for (plane, count) in planes.chunks_exact(words).zip(&mut counts) {
            for (word, bits) in code.iter().zip(plane) {
                *count += (u64::from_le_bytes(*word) & bits).count_ones();
            }
        }
        *out = weigh(counts);
    }
}

/// Two's complement: the last plane counts negative.
#[inline(always)]
fn weigh([ones, twos, fours, eights]: [u32; PLANES]) -> f32 {
    (ones + 2 * twos + 4 * fours) as f32 - (8 * eights) as f32
}

dispatched! {
    fn dot(wide: &[i16], bytes: &[u8]) -> i32
        = dot_body with "avx2" "avx2"
}

/// Values that are multiplied together: the width of the loop, a multiple of any processor's vectors.
const LANES: usize = 32;

#[allow(clippy::indexing_slicing)] // every index is below a length that the type states
#[inline(always)]
fn dot_body(wide: &[i16], bytes: &[u8]) -> i32 {
    let (wide, wide_rest) = wide.as_chunks::<LANES>();
    let (bytes, bytes_rest) = bytes.as_chunks::<LANES>();
    let chunks = wide.len().min(bytes.len());
    let (wide, bytes) = (&wide[..chunks], &bytes[..chunks]);
    let mut sums = [0i32; LANES];
    let mut chunk = 0;
    while chunk < chunks {
        let mut lane = 0;
        while lane < LANES {
            sums[lane] += wide[chunk][lane] as i32 * bytes[chunk][lane].cast_signed() as i32;
            lane += 1;
        }
        chunk += 1;
    }
    let mut sum: i32 = sums.iter().sum();
    for (w, b) in wide_rest.iter().zip(bytes_rest) {
        sum += i32::from(*w) * i32::from(b.cast_signed());
    }
    sum
}

/// A query with twelve bits a dimension, for dot products with stored bytes: its rounding is far below theirs.
pub(super) struct WideQuery {
    values: Vec<i16>,
    scale: f32,
}

impl WideQuery {
    pub(super) fn new(query: &[f32]) -> Self {
        let greatest = query.iter().fold(0f32, |max, q| max.max(q.abs()));
        let scale = if greatest > 0.0 { greatest / WIDE_GREATEST } else { 1.0 };
        Self { values: query.iter().map(|q| (q / scale).round() as i16).collect(), scale }
    }

    /// The value of one unit.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// The dot product in units, with a row of signed bytes.
    pub(super) fn dot(&self, bytes: &[u8]) -> i32 {
        dot(&self.values, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_wide_loops_agree_with_plain_arithmetic(
            values in proptest::collection::vec(-7i32..=7, 1..1100),
            bits in proptest::collection::vec(any::<bool>(), 1100),
        ) {
            let words = values.len().div_ceil(64);
            let mut planes = vec![0u64; words * PLANES];
            let mut code = vec![0u8; words * 8];
            let mut expected = 0;
            for (i, value) in values.iter().enumerate() {
                for plane in 0..PLANES {
                    planes[plane * words + i / 64] |= u64::from(value >> plane & 1 == 1) << (i % 64);
                }
                if bits[i] {
                    code[i / 8] |= 1 << (i % 8);
                    expected += value;
                }
            }
            let mut out = [0f32];
            planes_dot(&code, words, &planes, &mut out);
            prop_assert_eq!(out[0], expected as f32);
        }
    }

    #[test]
    fn the_greatest_values_do_not_overflow() {
        let query = WideQuery::new(&vec![1.0; MAX_DIMENSION]);
        let row = vec![127u8; MAX_DIMENSION];
        assert_eq!(query.dot(&row), 127 * 2047 * MAX_DIMENSION as i32);
    }
}
