//! Dropout (Srivastava et al., JMLR 15, 2014) whose mask is a function of a seed: the backward pass asks for the same
//! mask again and nothing has to be kept.

use crate::wide;

/// Zeroes numbers at a rate and scales the rest, so that the expectation stays as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// Hashes below this are dropped.
    threshold: u32,
    scale: f32,
}

impl Dropout {
    /// Drops each number with probability `rate`, which is taken between 0 and 0.95.
    pub fn new(rate: f32) -> Self {
        let rate = rate.clamp(0.0, 0.95);
        Self { threshold: (f64::from(rate) * f64::from(u32::MAX)) as u32, scale: 1.0 / (1.0 - rate) }
    }

    /// Whether nothing is dropped.
    pub fn is_off(self) -> bool {
        self.threshold == 0
    }

    /// Drops numbers of `x` by the mask that belongs to `seed`. The mask of a longer slice begins with that of a
    /// shorter one. Applied to a gradient with the same seed it is its own backward pass.
    pub fn apply(self, seed: u64, x: &mut [f32]) {
        if self.is_off() {
            return;
        }
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let Self { threshold, scale } = self;
        wide(
            #[inline(always)]
            || {
                for (i, x) in x.iter_mut().enumerate() {
                    let keep = if hash(i as u32, low, high) < threshold { 0.0 } else { scale };
                    *x *= keep;
                }
            },
        );
    }
}

/// Thirty-two well-mixed bits from a counter and a key: the finaliser of MurmurHash3 (Appleby, public domain), the key
/// added before and between its rounds.
#[inline(always)]
fn hash(counter: u32, low: u32, high: u32) -> u32 {
    let mut h = counter.wrapping_mul(0x9e37_79b1) ^ low;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b).wrapping_add(high);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_dropped_and_the_mean_stays() {
        let mut x = vec![1.0f32; 100_000];
        Dropout::new(0.1).apply(7, &mut x);
        let dropped = x.iter().filter(|&&x| x == 0.0).count();
        assert!((9_500..10_500).contains(&dropped), "{dropped}");
        let mean = x.iter().sum::<f32>() / x.len() as f32;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn the_mask_is_the_seed_s() {
        let mask = |seed| {
            let mut x = vec![1.0f32; 64];
            Dropout::new(0.5).apply(seed, &mut x);
            x
        };
        assert_eq!(mask(3), mask(3));
        assert_ne!(mask(3), mask(4));
        assert_ne!(mask(3), mask(3 | 1 << 40));
        let mut off = vec![2.0f32; 9];
        Dropout::new(0.0).apply(1, &mut off);
        assert_eq!(off, [2.0; 9]);
    }
}
