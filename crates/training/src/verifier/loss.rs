//! The verifier's loss on one pair.

use crate::config::VerifierLoss;
use crate::examples::{Label, Target};

/// The place of a label among the logits.
pub(crate) fn index(label: Label) -> usize {
    match label {
        Label::Entailment => 0,
        Label::Neutral => 1,
        Label::Contradiction => 2,
    }
}

/// The loss and its gradient with respect to the logits.
///
/// A three-way target is cross-entropy against the smoothed target. A pair that is only known to be not entailed costs
/// `-ln(1 - p(entailed))`, with the share of smoothing that entailment would get as `-ln p(entailed)`.
pub(crate) fn loss(logits: [f32; 3], target: Target, config: &VerifierLoss) -> (f64, [f32; 3]) {
    let logits = logits.map(f64::from);
    let most = logits.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = logits.iter().map(|z| (z - most).exp()).sum();
    let log_p = logits.map(|z| z - most - sum.ln());
    let p = log_p.map(f64::exp);
    let smoothing = f64::from(config.label_smoothing);
    let [entail, neutral, contradict] = p;
    match target {
        Target::Is(label) => {
            let weight = f64::from(config.class_weights.get(index(label)).copied().unwrap_or(1.0));
            let mut due = [smoothing / 3.0; 3];
            if let Some(due) = due.get_mut(index(label)) {
                *due += 1.0 - smoothing;
            }
            let value: f64 = due.iter().zip(log_p).map(|(due, log_p)| -due * log_p).sum();
            let mut gradient = [0.0; 3];
            for ((gradient, p), due) in gradient.iter_mut().zip(p).zip(due) {
                *gradient = (weight * (p - due)) as f32;
            }
            (weight * value, gradient)
        }
        Target::NotEntailed => {
            let weight = f64::from(config.not_entailed_weight);
            let share = smoothing / 3.0;
            // 1 - p, summed from the other two so that it stays exact when p is near one.
            let rest = (neutral + contradict).max(1e-12);
            let [log_entail, ..] = log_p;
            let value = -(1.0 - share) * rest.ln() - share * log_entail;
            let gradient = [
                (1.0 - share) * entail + share * (entail - 1.0),
                -(1.0 - share) * neutral * entail / rest + share * neutral,
                -(1.0 - share) * contradict * entail / rest + share * contradict,
            ];
            (weight * value, gradient.map(|g| (weight * g) as f32))
        }
    }
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let config =
            VerifierLoss { label_smoothing: 0.1, class_weights: [1.0, 0.5, 2.0], not_entailed_weight: 0.7 };
        let targets = [
            Target::Is(Label::Entailment),
            Target::Is(Label::Neutral),
            Target::Is(Label::Contradiction),
            Target::NotEntailed,
        ];
        for target in targets {
            let logits = [0.3f32, -1.2, 0.9];
            let (_, gradient) = loss(logits, target, &config);
            for i in 0..3 {
                let (mut up, mut down) = (logits, logits);
                up[i] += 1e-2;
                down[i] -= 1e-2;
                let difference = (loss(up, target, &config).0 - loss(down, target, &config).0)
                    / f64::from(up[i] - down[i]);
                assert!((difference - f64::from(gradient[i])).abs() < 1e-4, "{target:?} {i}");
            }
        }
    }

    #[test]
    fn not_entailed_asks_nothing_of_the_other_two_classes() {
        let config = VerifierLoss { label_smoothing: 0.0, ..VerifierLoss::default() };
        let (neutral, _) = loss([-3.0, 4.0, 0.0], Target::NotEntailed, &config);
        let (contradicted, _) = loss([-3.0, 0.0, 4.0], Target::NotEntailed, &config);
        assert!((neutral - contradicted).abs() < 1e-9);
        let (entailed, gradient) = loss([40.0, 0.0, 0.0], Target::NotEntailed, &config);
        assert!(entailed > 20.0 && gradient.iter().all(|g| g.is_finite()));
        let (sure, _) = loss([30.0, 0.0, 0.0], Target::Is(Label::Entailment), &config);
        assert!(sure < 1e-9);
    }
}
