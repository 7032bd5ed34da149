//! Intervals and tests for shares.

use serde::{Deserialize, Serialize};

/// An interval of a share.
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

    proptest! {
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
