//! How well confidences match the share of right answers.
//!
//! All figures here are of binary correctness: the confidence is that of the chosen label, the outcome is whether that
//! label is right. The Brier score of all class probabilities is another figure.

use counterproof_core::Probability;
use serde::{Deserialize, Serialize};

use crate::Metric;
use crate::statistics::auroc;

/// A confidence and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Confidence that the chosen label is right.
    pub confidence: Probability,
    /// Whether it is.
    pub right: bool,
}

impl Forecast {
    /// The outcome as a number: 1 for right, 0 for wrong.
    fn outcome(&self) -> f64 {
        f64::from(u8::from(self.right))
    }
}

/// The Brier score of binary correctness: the mean of `(confidence - outcome)²`, in 0..=1, lower is better (Brier, 1950,
/// halved for two classes).
pub fn brier(forecasts: &[Forecast]) -> Metric {
    Metric::mean(forecasts.iter().map(|f| (f.confidence.get() - f.outcome()).powi(2)).collect())
}

/// The negative log-likelihood of the outcomes in nats, 0 at best. Confidences are clamped to `1e-12..=1 - 1e-12`, so
/// that one item costs at most 27.6.
pub fn nll(forecasts: &[Forecast]) -> Metric {
    let one = |f: &Forecast| {
        let p = f.confidence.get().clamp(1e-12, 1.0 - 1e-12);
        // ln_1p keeps the digits that 1 - p loses near 0.
        if f.right { -p.ln() } else { -(-p).ln_1p() }
    };
    Metric::mean(forecasts.iter().map(one).collect())
}

/// The probability that a right answer has more confidence than a wrong one, ties counted half. `None` when all answers
/// are right or all are wrong.
pub fn confidence_auroc(forecasts: &[Forecast]) -> Option<f64> {
    let of = |right| -> Vec<f64> {
        forecasts.iter().filter(|f| f.right == right).map(|f| f.confidence.get()).collect()
    };
    auroc(&of(true), &of(false))
}

/// How items are put into bins by confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binning {
    /// M bins of width 1/M, open below and closed above: `(0, 1/M]`, `(1/M, 2/M]` and so on. 0 is in the first.
    EqualWidth,
    /// M bins whose numbers of items differ by at most one.
    EqualMass,
}

/// One bin of a reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lower edge; the lowest confidence in a bin of equal mass.
    pub low: f64,
    /// Upper edge; the highest confidence in a bin of equal mass.
    pub high: f64,
    /// How many items.
    pub n: usize,
    /// Mean confidence; `None` in an empty bin.
    pub confidence: Option<f64>,
    /// Share of right answers; `None` in an empty bin.
    pub accuracy: Option<f64>,
}

impl ReliabilityBin {
    /// The bin of `items`, which are `(confidence, outcome)`.
    fn of(low: f64, high: f64, items: &[(f64, f64)]) -> Self {
        let mean = |f: fn(&(f64, f64)) -> f64| Metric::mean(items.iter().map(f).collect()).value;
        Self { low, high, n: items.len(), confidence: mean(|i| i.0), accuracy: mean(|i| i.1) }
    }

    /// How far accuracy and confidence are apart, in 0..=1; `None` in an empty bin.
    pub fn gap(&self) -> Option<f64> {
        self.accuracy.zip(self.confidence).map(|(accuracy, confidence)| (accuracy - confidence).abs())
    }
}

/// The reliability diagram of `forecasts` over `bins` bins, lowest confidence first.
///
/// Equal width gives all bins, the empty ones too. Equal mass gives no empty bin, so fewer bins than asked for when
/// there are fewer items. Where the edge of a bin of equal mass falls among equal confidences, each of those items
/// stands at their mean outcome, so that the order of the input does not matter.
pub fn reliability(forecasts: &[Forecast], binning: Binning, bins: usize) -> Vec<ReliabilityBin> {
    let items = by_confidence(forecasts);
    match binning {
        Binning::EqualWidth => equal_width(&items, bins),
        Binning::EqualMass => equal_mass(&items, bins),
    }
}

/// `(confidence, outcome)` by rising confidence, equal confidences at their mean outcome.
fn by_confidence(forecasts: &[Forecast]) -> Vec<(f64, f64)> {
    let mut items: Vec<(f64, f64)> = forecasts.iter().map(|f| (f.confidence.get(), f.outcome())).collect();
    items.sort_by(|a, b| a.0.total_cmp(&b.0));
    for tied in items.chunk_by_mut(|a, b| a.0 == b.0) {
        let mean = tied.iter().map(|i| i.1).sum::<f64>() / tied.len() as f64;
        tied.iter_mut().for_each(|i| i.1 = mean);
    }
    items
}

fn equal_width(mut items: &[(f64, f64)], bins: usize) -> Vec<ReliabilityBin> {
    // k/M is compared as it is written: a product p * M may be rounded across an edge.
    let edge = |k: usize| k as f64 / bins as f64;
    let bin = |k: usize| {
        let (inside, above) = items.split_at(items.partition_point(|i| i.0 <= edge(k + 1)));
        items = above;
        ReliabilityBin::of(edge(k), edge(k + 1), inside)
    };
    (0..bins).map(bin).collect()
}

fn equal_mass(items: &[(f64, f64)], bins: usize) -> Vec<ReliabilityBin> {
    let cut = |k: usize| (k as u128 * items.len() as u128 / bins.max(1) as u128) as usize;
    let bin = |k: usize| {
        let inside = items.get(cut(k)..cut(k + 1))?;
        Some(ReliabilityBin::of(inside.first()?.0, inside.last()?.0, inside))
    };
    (0..bins).filter_map(bin).collect()
}

/// The mean gap of bins, weighted by their items.
fn mean_gap(bins: &[ReliabilityBin]) -> Option<f64> {
    let n: usize = bins.iter().map(|b| b.n).sum();
    let sum: f64 = bins.iter().filter_map(|b| Some(b.n as f64 * b.gap()?)).sum();
    (n > 0).then(|| sum / n as f64)
}

/// The expected calibration error over `bins` bins of equal width, in 0..=1: the mean gap between accuracy and
/// confidence, weighted by the items of a bin (Guo et al., 2017). `None` over no items or no bins.
pub fn ece(forecasts: &[Forecast], bins: usize) -> Option<f64> {
    mean_gap(&reliability(forecasts, Binning::EqualWidth, bins))
}

/// The expected calibration error over `bins` bins of equal mass (Nguyen and O'Connor, 2015). `None` over no items or
/// no bins.
pub fn adaptive_ece(forecasts: &[Forecast], bins: usize) -> Option<f64> {
    mean_gap(&reliability(forecasts, Binning::EqualMass, bins))
}

/// The maximum calibration error: the greatest gap among `bins` bins of equal width (Guo et al., 2017). `None` over no
/// items or no bins.
pub fn mce(forecasts: &[Forecast], bins: usize) -> Option<f64> {
    let bins = reliability(forecasts, Binning::EqualWidth, bins);
    bins.iter().filter_map(ReliabilityBin::gap).reduce(f64::max)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn forecasts(items: &[(f64, bool)]) -> Vec<Forecast> {
        items
            .iter()
            .map(|(p, right)| Forecast { confidence: Probability::new(*p).unwrap(), right: *right })
            .collect()
    }

    /// The example of the specification.
    pub(crate) fn example() -> Vec<Forecast> {
        let confidences = [0.95, 0.9, 0.8, 0.7, 0.6, 0.55, 0.4, 0.3];
        let right = [true, true, true, false, true, false, false, true];
        forecasts(&confidences.into_iter().zip(right).collect::<Vec<_>>())
    }

    /// Forecasts with many ties.
    pub(crate) fn any_forecasts() -> impl Strategy<Value = Vec<Forecast>> {
        let one = (0u8..=12, any::<bool>()).prop_map(|(k, right)| (f64::from(k) / 12.0, right));
        proptest::collection::vec(one, 1..40).prop_map(|items| forecasts(&items))
    }

    fn close(value: Option<f64>, expected: f64) -> bool {
        (value.unwrap() - expected).abs() < 5e-5
    }

    #[test]
    fn the_example_of_the_specification() {
        let all = example();
        let score = brier(&all);
        assert!((score.value.unwrap() - 0.206_875).abs() < 1e-12);
        assert_eq!((score.n, score.items.len()), (8, 8));
        assert!(close(ece(&all, 5), 0.1375));
        assert!(close(mce(&all, 5), 0.25));
        assert!(close(confidence_auroc(&all), 0.7333));
        assert!(close(nll(&all).value, 0.5760));
    }

    #[test]
    fn bins_of_the_example() {
        let bins = reliability(&example(), Binning::EqualWidth, 5);
        assert_eq!(bins.iter().map(|b| b.n).collect::<Vec<_>>(), [0, 2, 2, 2, 2]);
        assert_eq!((bins[0].confidence, bins[0].accuracy, bins[0].gap()), (None, None, None));
        for (bin, gap) in bins[1..].iter().zip([0.15, 0.075, 0.25, 0.075]) {
            assert!((bin.gap().unwrap() - gap).abs() < 1e-12, "{bin:?}");
        }
        assert_eq!((bins[4].low, bins[4].high), (0.8, 1.0));
    }

    #[test]
    fn an_edge_belongs_to_the_bin_below_and_nought_to_the_first() {
        let counts = |p: f64, bins| -> Vec<usize> {
            reliability(&forecasts(&[(p, true)]), Binning::EqualWidth, bins).iter().map(|b| b.n).collect()
        };
        assert_eq!(counts(0.0, 2), [1, 0]);
        assert_eq!(counts(0.5, 2), [1, 0]);
        assert_eq!(counts(1.0, 2), [0, 1]);
        // 0.28 * 25 is above 7 in floating point.
        assert_eq!(counts(0.28, 25).iter().position(|n| *n == 1), Some(6));
    }

    #[test]
    fn bins_of_equal_mass_split_the_items_evenly() {
        let bins = reliability(&example(), Binning::EqualMass, 3);
        assert_eq!(bins.iter().map(|b| b.n).collect::<Vec<_>>(), [2, 3, 3]);
        assert_eq!((bins[1].low, bins[1].high), (0.55, 0.7));
        // |1/2 - .35|, |1/3 - .616667| and |1 - .883333| by the items of each bin.
        assert!(close(adaptive_ece(&example(), 3), (2.0 * 0.15 + 3.0 * 0.283_333 + 3.0 * 0.116_667) / 8.0));
        assert_eq!(reliability(&example(), Binning::EqualMass, 100).len(), 8);
    }

    #[test]
    fn equal_confidences_in_two_bins_stand_at_their_mean_outcome() {
        let tied = forecasts(&[(0.5, true), (0.5, true), (0.5, false), (0.5, false)]);
        assert_eq!(adaptive_ece(&tied, 2), Some(0.0));
    }

    #[test]
    fn nothing_gives_null() {
        assert_eq!((brier(&[]).value, nll(&[]).value, confidence_auroc(&[])), (None, None, None));
        assert_eq!((ece(&[], 10), adaptive_ece(&[], 10), mce(&[], 10)), (None, None, None));
        assert_eq!((ece(&example(), 0), adaptive_ece(&example(), 0), mce(&example(), 0)), (None, None, None));
        assert!(reliability(&[], Binning::EqualMass, 10).is_empty());
    }

    #[test]
    fn one_class_only_has_no_area_and_a_sure_error_a_finite_loss() {
        let right = forecasts(&[(0.9, true), (1.0, true)]);
        assert_eq!(confidence_auroc(&right), None);
        assert!(close(ece(&right, 1), 0.05));
        let sure = nll(&forecasts(&[(1.0, false), (0.0, true)])).value.unwrap();
        assert!((sure - 27.631).abs() < 1e-3, "{sure}");
    }

    proptest! {
        #[test]
        fn errors_are_shares_and_do_not_depend_on_the_order(all in any_forecasts(), bins in 1usize..20) {
            let mut turned = all.clone();
            turned.reverse();
            for binning in [Binning::EqualWidth, Binning::EqualMass] {
                let (some, other) = (reliability(&all, binning, bins), reliability(&turned, binning, bins));
                prop_assert_eq!(some.iter().map(|b| b.n).sum::<usize>(), all.len());
                prop_assert_eq!(some, other);
            }
            let (mean, greatest) = (ece(&all, bins).unwrap(), mce(&all, bins).unwrap());
            prop_assert!((0.0..=1.0).contains(&mean) && mean <= greatest + 1e-12 && greatest <= 1.0);
            prop_assert!((0.0..=1.0).contains(&adaptive_ece(&all, bins).unwrap()));
        }

        #[test]
        fn one_bin_is_the_gap_of_the_means(all in any_forecasts()) {
            let n = all.len() as f64;
            let gap = all.iter().map(|f| f.outcome() - f.confidence.get()).sum::<f64>().abs() / n;
            prop_assert!((ece(&all, 1).unwrap() - gap).abs() < 1e-12);
            prop_assert!((adaptive_ece(&all, 1).unwrap() - gap).abs() < 1e-12);
        }
    }
}
