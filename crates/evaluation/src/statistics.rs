//! Intervals and tests.

use serde::{Deserialize, Serialize};

/// An interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The 97.5 % point of the standard normal distribution.
const Z95: f64 = 1.959_964;

/// The 95 % Wilson score interval of `hits` among `n`; `None` for `n == 0` or more hits than items. Unlike the normal
/// interval it does not shrink to a point at 0 and 1.
pub fn wilson(hits: u64, n: u64) -> Option<Interval> {
    if n == 0 || hits > n {
        return None;
    }
    let (n, p, z2) = (n as f64, hits as f64 / n as f64, Z95 * Z95);
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    Some(Interval { low: (centre - half).clamp(0.0, p), high: (centre + half).clamp(p, 1.0) })
}

/// The exact two-sided McNemar p-value for `b` changes one way and `h` the other:
/// `min(1, 2 * sum_{k <= min(b, h)} C(b + h, k) / 2^(b + h))`. 1 when nothing changed.
pub fn mcnemar_exact(b: u64, h: u64) -> f64 {
    let (n, least) = (b + h, b.min(h));
    if n == 0 {
        return 1.0;
    }
    // In logarithms, because 2^n overflows: ln C(n, k+1) = ln C(n, k) + ln(n - k) - ln(k + 1).
    let mut ln_term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = ln_term.exp();
    for k in 0..least {
        ln_term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
        sum += ln_term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// The area under the ROC curve: the probability that a number of `high` is above one of `low`, ties counted half (Mann
/// and Whitney, 1947). `None` where one of the two is empty.
pub fn auroc(high: &[f64], low: &[f64]) -> Option<f64> {
    let mut all: Vec<(f64, bool)> =
        high.iter().map(|x| (*x, true)).chain(low.iter().map(|x| (*x, false))).collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (mut below, mut wins) = (0.0, 0.0);
    for tied in all.chunk_by(|(a, _), (b, _)| a == b) {
        let highs = tied.iter().filter(|(_, high)| *high).count() as f64;
        let lows = tied.len() as f64 - highs;
        wins += highs * (below + 0.5 * lows);
        below += lows;
    }
    let pairs = high.len() as f64 * low.len() as f64;
    (pairs > 0.0).then(|| wins / pairs)
}

/// The 95 % bootstrap percentile interval of a figure over `n` items (Efron, 1979).
///
/// `statistic` gets `n` indices below `n`, drawn with replacement, `resamples` times; the ends are the 2.5 % and 97.5 %
/// points of its values, interpolated linearly. The same seed gives the same interval on every machine. A resample
/// without a finite value, such as one that lacks a class, is left out. `None` over no items, or when no resample has a
/// value.
pub fn bootstrap(
    n: usize,
    resamples: usize,
    seed: u64,
    mut statistic: impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let mut random = SplitMix64(seed);
    let mut indices = vec![0; n];
    let mut values: Vec<f64> = Vec::new();
    for _ in 0..resamples {
        indices.fill_with(|| random.below(n));
        values.extend(statistic(&indices).filter(|v| v.is_finite()));
    }
    values.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&values, 0.025)?, high: quantile(&values, 0.975)? })
}

/// The point below which a share of `part` of the values lies, interpolated linearly between neighbours (definition 7 of
/// Hyndman and Fan, 1996). `None` over no values.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * part;
    let (below, above) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(below + (above - below) * place.fract())
}

/// SplitMix64 (Steele, Lea and Flood, 2014): its sequence for a seed is fixed for all time.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`. The bias of the multiplication is below `bound / 2^64`.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        assert_eq!(auroc(&[2.0, 3.0], &[1.0, 0.0]), Some(1.0));
        assert_eq!(auroc(&[1.0, 2.0], &[1.0]), Some(0.75));
        assert_eq!(auroc(&[], &[1.0]), None);
    }

    #[test]
    fn wilson_at_the_ends_is_an_interval() {
        let at = |hits, n| wilson(hits, n).unwrap();
        assert_eq!(at(0, 10).low, 0.0);
        // The textbook value for 0 of 10 is z² / (n + z²).
        assert!((at(0, 10).high - 0.277_533).abs() < 1e-5);
        assert_eq!(at(10, 10).high, 1.0);
        let half = at(50, 100);
        assert!((half.low - 0.403_832).abs() < 1e-5 && (half.high - 0.596_168).abs() < 1e-5);
        assert_eq!(wilson(0, 0), None);
        assert_eq!(wilson(2, 1), None);
    }

    #[test]
    fn mcnemar_of_small_and_large_counts() {
        assert_eq!(mcnemar_exact(0, 0), 1.0);
        assert_eq!(mcnemar_exact(3, 3), 1.0);
        assert!((mcnemar_exact(5, 0) - 2.0 / 32.0).abs() < 1e-12);
        assert!((mcnemar_exact(8, 2) - 2.0 * (1.0 + 10.0 + 45.0) / 1024.0).abs() < 1e-12);
        let p = mcnemar_exact(180, 8);
        assert!(p > 0.0 && p < 1e-40, "{p}");
    }

    /// The mean of the values at `indices`.
    fn mean(values: &[f64], indices: &[usize]) -> Option<f64> {
        Some(indices.iter().map(|i| values[*i]).sum::<f64>() / indices.len() as f64)
    }

    #[test]
    fn the_bootstrap_of_a_share_is_near_its_normal_interval() {
        let values: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i % 4 == 0))).collect();
        let interval = bootstrap(400, 4000, 7, |indices| mean(&values, indices)).unwrap();
        let half = 1.96 * (0.25f64 * 0.75 / 400.0).sqrt();
        assert!((interval.low - (0.25 - half)).abs() < 0.005, "{interval:?}");
        assert!((interval.high - (0.25 + half)).abs() < 0.005, "{interval:?}");
    }

    #[test]
    fn a_seed_fixes_the_bootstrap() {
        let values: Vec<f64> = (0..50).map(f64::from).collect();
        let at = |seed| bootstrap(50, 200, seed, |indices| mean(&values, indices));
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
        // The published first numbers of the generator for the seed 1234567.
        let mut random = SplitMix64(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn resamples_without_a_value_are_left_out() {
        let right = [true, false];
        let area = |indices: &[usize]| {
            let of =
                |class| indices.iter().filter(|i| right[**i] == class).map(|i| *i as f64).collect::<Vec<_>>();
            auroc(&of(true), &of(false))
        };
        assert_eq!(bootstrap(2, 100, 3, area), Some(Interval { low: 0.0, high: 0.0 }));
        assert_eq!(bootstrap(2, 100, 3, |_| None), None);
        assert_eq!(bootstrap(2, 100, 3, |_| Some(f64::NAN)), None);
        assert_eq!((bootstrap(0, 100, 3, |_| Some(1.0)), bootstrap(2, 0, 3, |_| Some(1.0))), (None, None));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), Some(3.0));
        assert_eq!((quantile(&[5.0], 0.975), quantile(&[], 0.5)), (Some(5.0), None));
    }

    proptest! {
        #[test]
        fn a_bootstrap_draws_n_indices_and_stays_in_the_range(
            values in proptest::collection::vec(-5.0f64..5.0, 1..30),
            seed in any::<u64>(),
        ) {
            let n = values.len();
            let interval = bootstrap(n, 50, seed, |indices| {
                assert!(indices.len() == n && indices.iter().all(|i| *i < n));
                mean(&values, indices)
            })
            .unwrap();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least - 1e-9 <= interval.low && interval.low <= interval.high);
            prop_assert!(interval.high <= greatest + 1e-9);
        }

        #[test]
        fn mcnemar_is_a_symmetric_probability(b in 0u64..400, h in 0u64..400) {
            let p = mcnemar_exact(b, h);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert_eq!(p, mcnemar_exact(h, b));
        }

        #[test]
        fn wilson_holds_the_share(n in 1u64..5000, part in 0.0f64..=1.0) {
            let hits = (n as f64 * part) as u64;
            let interval = wilson(hits, n).unwrap();
            let p = hits as f64 / n as f64;
            prop_assert!(0.0 <= interval.low && interval.low <= p && p <= interval.high && interval.high <= 1.0);
        }
    }
}
