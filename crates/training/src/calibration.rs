//! From logits to probabilities that mean what they say, fitted on examples that are not trained on.

use counterproof_encoders::adapter::Calibration;

use crate::examples::{Label, Target};

/// Rounds of coordinate descent at most, and the change of all numbers together that ends it before.
const ROUNDS: usize = 30;
const SETTLED: f32 = 2e-3;

/// Fits a temperature (Guo et al., arXiv:1706.04599) and, if `offsets`, a summand of each class (the vector scaling of the
/// same paper, without its factors) so that the negative log-likelihood of the targets is least. Rows that are only
/// known to be not entailed count with the two classes together.
pub fn fit_calibration(logits: &[[f32; 3]], targets: &[Target], offsets: bool) -> Calibration {
    let mut fitted = Calibration::default();
    if logits.is_empty() {
        return fitted;
    }
    for _ in 0..ROUNDS {
        let before = fitted.clone();
        let log = least(-3.0, 3.0, |x| {
            negative_log_likelihood(
                logits,
                targets,
                &Calibration { temperature: x.exp() as f32, ..fitted.clone() },
            )
        });
        fitted.temperature = log.exp() as f32;
        if !offsets {
            break;
        }
        // Only differences matter: the neutral class stays at zero.
        for class in [0, 2] {
            let with = |x: f64| {
                let mut tried = fitted.clone();
                if let Some(offset) = tried.offsets.get_mut(class) {
                    *offset = x as f32;
                }
                tried
            };
            let best = least(-6.0, 6.0, |x| negative_log_likelihood(logits, targets, &with(x)));
            fitted = with(best);
        }
        let moved =
            fitted.offsets.iter().zip(before.offsets).map(|(new, old)| (new - old).abs()).sum::<f32>();
        if moved + (fitted.temperature - before.temperature).abs() < SETTLED {
            break;
        }
    }
    fitted
}

/// The mean negative log-likelihood of targets.
pub fn negative_log_likelihood(logits: &[[f32; 3]], targets: &[Target], calibration: &Calibration) -> f64 {
    let total: f64 = logits
        .iter()
        .zip(targets)
        .map(|(logits, target)| {
            let [entail, neutral, contradict] = calibration.probabilities(*logits);
            let likelihood = match target {
                Target::Is(Label::Entailment) => entail,
                Target::Is(Label::Neutral) => neutral,
                Target::Is(Label::Contradiction) => contradict,
                Target::NotEntailed => neutral + contradict,
            };
            -likelihood.max(1e-12).ln()
        })
        .sum();
    total / logits.len().max(1) as f64
}

/// Where a function with one valley is least (golden-section search; Kiefer 1953).
fn least(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let mut left = high - RATIO * (high - low);
    let mut right = low + RATIO * (high - low);
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > 1e-3 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = f(right);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_temperature_and_offsets_are_found_again() {
        // Logits whose labels are drawn from a known calibration of them.
        let truth = Calibration { temperature: 2.5, offsets: [0.8, 0.0, -0.5] };
        let mut random = Random::new(3);
        let (mut logits, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..20_000 {
            let row = [(); 3].map(|()| 8.0 * (random.unit() - 0.5));
            let [entail, neutral, _] = truth.probabilities(row);
            let draw = f64::from(random.unit());
            let label = if draw < entail {
                Label::Entailment
            } else if draw < entail + neutral {
                Label::Neutral
            } else {
                Label::Contradiction
            };
            logits.push(row);
            targets.push(Target::Is(label));
        }
        let fitted = fit_calibration(&logits, &targets, true);
        assert!((fitted.temperature - 2.5).abs() < 0.1, "{fitted:?}");
        for (found, due) in fitted.offsets.iter().zip(truth.offsets) {
            assert!((found - due).abs() < 0.12, "{fitted:?}");
        }
        let plain = fit_calibration(&logits, &targets, false);
        assert_eq!(plain.offsets, [0.0; 3]);
        let loss = |c: &Calibration| negative_log_likelihood(&logits, &targets, c);
        assert!(loss(&fitted) < loss(&plain) && loss(&plain) < loss(&Calibration::default()));
    }
}
