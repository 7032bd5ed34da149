//! Answering only what one is sure of: risk against coverage.
//!
//! Coverage is the share of items answered, risk the share of wrong answers among them; both are in 0..=1.

use serde::{Deserialize, Serialize};

use crate::Metric;
use crate::calibration::Forecast;

/// The state after answering some of the items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RiskPoint {
    /// The least confidence among the items answered.
    pub threshold: f64,
    /// Share of items answered.
    pub coverage: f64,
    /// Share of wrong answers among them.
    pub risk: f64,
    /// Whether answering at `threshold` and above gives this coverage: false inside a block of equal confidences.
    pub attainable: bool,
}

/// The risk-coverage curve (El-Yaniv and Wiener, 2010): one point for each number of items answered, the most confident
/// first.
///
/// Each item of a block of equal confidences counts with the block's mean risk, which is what a random order of the
/// block gives on average. The order of the input does not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskCoverage {
    /// The points, by rising coverage.
    pub points: Vec<RiskPoint>,
    /// Wrong answers among all items.
    pub wrong: usize,
}

impl RiskCoverage {
    /// The curve of `forecasts`.
    pub fn of(forecasts: &[Forecast]) -> Self {
        let mut sorted: Vec<Forecast> = forecasts.to_vec();
        sorted.sort_by(|a, b| b.confidence.get().total_cmp(&a.confidence.get()));
        let mut points = Vec::with_capacity(sorted.len());
        let (mut answered, mut wrong) = (0, 0);
        for block in sorted.chunk_by(|a, b| a.confidence == b.confidence) {
            let block_wrong = block.iter().filter(|f| !f.right).count();
            for (j, forecast) in (1..).zip(block) {
                let errors = wrong as f64 + (block_wrong * j) as f64 / block.len() as f64;
                points.push(RiskPoint {
                    threshold: forecast.confidence.get(),
                    coverage: (answered + j) as f64 / forecasts.len() as f64,
                    risk: errors / (answered + j) as f64,
                    attainable: j == block.len(),
                });
            }
            answered += block.len();
            wrong += block_wrong;
        }
        Self { points, wrong }
    }

    /// The area under the curve: the mean risk over its points. Lower is better; `None` over no items.
    pub fn aurc(&self) -> Option<f64> {
        Metric::mean(self.points.iter().map(|p| p.risk).collect()).value
    }

    /// The excess of [`aurc`](Self::aurc) over that of the ideal order, in which every right answer comes before every
    /// wrong one (Geifman, Uziel and El-Yaniv, 2019; the ideal is summed here, not approximated). 0 at best; `None` over
    /// no items.
    pub fn excess_aurc(&self) -> Option<f64> {
        let n = self.points.len();
        let right = n.saturating_sub(self.wrong);
        let ideal = Metric::mean((1..=n).map(|k| k.saturating_sub(right) as f64 / k as f64).collect()).value;
        // Never negative but for rounding.
        self.aurc().zip(ideal).map(|(aurc, ideal)| (aurc - ideal).max(0.0))
    }

    /// The risk at the least coverage of the curve that is at least `coverage`. `None` over no items or when `coverage`
    /// is not in `(0, 1]`.
    pub fn risk_at(&self, coverage: f64) -> Option<f64> {
        if coverage <= 0.0 {
            return None;
        }
        self.points.iter().find(|p| p.coverage >= coverage).map(|p| p.risk)
    }

    /// The point of greatest coverage whose risk is at most `risk`, among those that a threshold attains: no threshold
    /// splits a block of equal confidences. `None` when every threshold has more risk.
    pub fn point_at_risk(&self, risk: f64) -> Option<RiskPoint> {
        self.points.iter().rev().find(|p| p.attainable && p.risk <= risk).copied()
    }

    /// The coverage of [`point_at_risk`](Self::point_at_risk); 0 where there is none, `None` over no items.
    pub fn coverage_at_risk(&self, risk: f64) -> Option<f64> {
        (!self.points.is_empty()).then(|| self.point_at_risk(risk).map_or(0.0, |p| p.coverage))
    }
}

/// What answering only from a threshold upwards gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectiveScore {
    /// Share of items answered: those whose confidence is at least the threshold.
    pub coverage: Metric,
    /// Share of right answers among those answered; null when none is.
    pub accuracy: Metric,
    /// The effective score, an item below the threshold being an abstention.
    pub effective: Metric,
}

impl SelectiveScore {
    /// The score of `forecasts` at `threshold`.
    pub fn at(forecasts: &[Forecast], threshold: f64) -> Self {
        let answers: Vec<Option<bool>> =
            forecasts.iter().map(|f| (f.confidence.get() >= threshold).then_some(f.right)).collect();
        Self {
            coverage: Metric::share(answers.iter().map(Option::is_some)),
            accuracy: Metric::share(answers.iter().flatten().copied()),
            effective: effective_score(&answers),
        }
    }
}

/// Right answers less wrong ones, over all items, in -1..=1. An item is whether its answer is right, or `None` for an
/// abstention, which counts as 0.
pub fn effective_score(answers: &[Option<bool>]) -> Metric {
    let one = |answer: &Option<bool>| match answer {
        Some(true) => 1.0,
        Some(false) => -1.0,
        None => 0.0,
    };
    Metric::mean(answers.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::calibration::tests::{any_forecasts, example, forecasts};

    #[test]
    fn the_example_of_the_specification() {
        let curve = RiskCoverage::of(&example());
        let expected = [0.0, 0.0, 0.0, 0.25, 0.2, 1.0 / 3.0, 3.0 / 7.0, 0.375];
        for (k, (point, risk)) in (1..).zip(curve.points.iter().zip(expected)) {
            assert!((point.risk - risk).abs() < 1e-12, "{point:?}");
            assert_eq!((point.coverage, point.attainable), (f64::from(k) / 8.0, true));
        }
        assert!((curve.aurc().unwrap() - 0.1984).abs() < 5e-5);
        // The ideal order has its three errors last: risks 1/6, 2/7 and 3/8.
        let ideal = (1.0 / 6.0 + 2.0 / 7.0 + 3.0 / 8.0) / 8.0;
        assert!((curve.excess_aurc().unwrap() - (curve.aurc().unwrap() - ideal)).abs() < 1e-12);
        let score = SelectiveScore::at(&example(), 0.65);
        assert_eq!(
            (score.coverage.value, score.accuracy.value, score.accuracy.n),
            (Some(0.5), Some(0.75), 4)
        );
        assert_eq!(score.effective.value, Some(0.25));
    }

    #[test]
    fn risk_and_coverage_are_read_from_the_curve() {
        let curve = RiskCoverage::of(&example());
        assert_eq!(
            (curve.risk_at(0.5), curve.risk_at(0.51), curve.risk_at(1.0)),
            (Some(0.25), Some(0.2), Some(0.375))
        );
        assert_eq!((curve.risk_at(0.0), curve.risk_at(1.01), curve.risk_at(f64::NAN)), (None, None, None));
        // The greatest coverage counts, though the risk was above .2 before it.
        assert_eq!(
            (curve.coverage_at_risk(0.2), curve.point_at_risk(0.2).unwrap().threshold),
            (Some(0.625), 0.6)
        );
        assert_eq!((curve.coverage_at_risk(0.0), curve.coverage_at_risk(1.0)), (Some(0.375), Some(1.0)));
    }

    #[test]
    fn a_tied_block_has_its_mean_risk_and_is_answered_whole() {
        let curve = RiskCoverage::of(&forecasts(&[(0.9, true), (0.5, false), (0.5, true), (0.5, true)]));
        let risks: Vec<f64> = curve.points.iter().map(|p| p.risk).collect();
        for (risk, expected) in risks.iter().zip([0.0, 1.0 / 6.0, 2.0 / 9.0, 0.25]) {
            assert!((risk - expected).abs() < 1e-12, "{risks:?}");
        }
        // A risk of 2/9 would be met inside the block, but no threshold ends there.
        assert_eq!((curve.coverage_at_risk(0.23), curve.coverage_at_risk(0.25)), (Some(0.25), Some(1.0)));
    }

    #[test]
    fn one_class_only_is_flat() {
        let wrong = RiskCoverage::of(&forecasts(&[(0.9, false), (0.5, false)]));
        assert_eq!((wrong.aurc(), wrong.excess_aurc()), (Some(1.0), Some(0.0)));
        assert_eq!((wrong.coverage_at_risk(0.5), wrong.point_at_risk(0.5)), (Some(0.0), None));
        let right = RiskCoverage::of(&forecasts(&[(0.9, true), (0.5, true)]));
        assert_eq!((right.aurc(), right.coverage_at_risk(0.0)), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn nothing_gives_null() {
        let curve = RiskCoverage::of(&[]);
        assert_eq!((curve.aurc(), curve.excess_aurc()), (None, None));
        assert_eq!((curve.risk_at(0.5), curve.coverage_at_risk(0.5)), (None, None));
        let none = SelectiveScore::at(&[], 0.5);
        assert_eq!((none.coverage.value, none.accuracy.value, none.effective.value), (None, None, None));
        let silent = SelectiveScore::at(&example(), 0.99);
        assert_eq!((silent.coverage.value, silent.accuracy.value), (Some(0.0), None));
        assert_eq!(silent.effective.value, Some(0.0));
    }

    #[test]
    fn a_threshold_is_answered_at() {
        assert_eq!(SelectiveScore::at(&example(), 0.7).coverage.value, Some(0.5));
    }

    #[test]
    fn an_abstention_is_worth_more_than_an_error() {
        let score = effective_score(&[Some(true), Some(true), Some(false), None]);
        assert_eq!((score.value, score.items), (Some(0.25), vec![1.0, 1.0, -1.0, 0.0]));
    }

    proptest! {
        #[test]
        fn the_curve_does_not_depend_on_the_order(all in any_forecasts()) {
            let mut turned = all.clone();
            turned.reverse();
            let curve = RiskCoverage::of(&all);
            prop_assert_eq!(&curve, &RiskCoverage::of(&turned));
            let (aurc, excess) = (curve.aurc().unwrap(), curve.excess_aurc().unwrap());
            prop_assert!((0.0..=1.0).contains(&aurc) && excess <= aurc + 1e-12);
            let last = curve.points.last().unwrap();
            prop_assert_eq!((last.coverage, last.risk), (1.0, curve.wrong as f64 / all.len() as f64));
        }

        #[test]
        fn an_attainable_point_is_what_its_threshold_gives(all in any_forecasts()) {
            for point in RiskCoverage::of(&all).points.iter().filter(|p| p.attainable) {
                let score = SelectiveScore::at(&all, point.threshold);
                prop_assert_eq!(score.coverage.value, Some(point.coverage));
                prop_assert!((score.accuracy.value.unwrap() - (1.0 - point.risk)).abs() < 1e-12);
            }
        }
    }
}
