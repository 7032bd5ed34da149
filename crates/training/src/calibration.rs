//! From logits to probabilities that mean what they say, fitted on examples that are not trained on.

use counterproof_core::{Error, Result};
use counterproof_encoders::adapter::Calibration;
use counterproof_encoders::{BertVerifier, Fusion, RulesModel};
use counterproof_logistic::{Logistic, Multinomial, Observation};
use rayon::prelude::*;

use crate::examples::{Label, PairExample, Target};

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

/// The penalty of the layer over the rules, against a weight of one a row.
const FUSION_PENALTY: f64 = 10.0;

/// Fits the layer that joins a verifier's logits with what rules and the network over them find, to pairs that neither was
/// trained on. Each part counts
/// by its share, whatever its number of rows.
///
/// # Errors
/// A pair has a blank statement, or one of the three classes is missing among them.
pub fn fit_fusion(
    verifier: &BertVerifier,
    rules: RulesModel,
    parts: &[(&[PairExample], f64)],
) -> Result<Fusion> {
    let all: f64 = parts.iter().filter(|(rows, _)| !rows.is_empty()).map(|(_, share)| share).sum();
    let count: usize = parts.iter().map(|(rows, _)| rows.len()).sum();
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(count);
    let mut observations = Vec::with_capacity(count);
    for (examples, share) in parts {
        let pairs: Vec<(&str, &str)> =
            examples.iter().map(|e| (e.premise.as_str(), e.hypothesis.as_str())).collect();
        let logits = verifier.logits(&pairs)?;
        let work: Vec<_> = pairs.iter().zip(&logits).collect();
        rows.par_extend(
            work.into_par_iter()
                .map(|((premise, hypothesis), logits)| Fusion::inputs(&rules, *logits, premise, hypothesis)),
        );
        let weight = share / all * count as f64 / examples.len().max(1) as f64;
        observations.extend(examples.iter().map(|e| Observation { classes: classes(e.target), weight }));
    }
    let Multinomial { classes } = Multinomial::fit(&rows, &observations, 3, FUSION_PENALTY)?;
    let mut classes = classes.into_iter();
    let (Some(entailed), Some(contradicted)) = (classes.next(), classes.next()) else {
        return Err(Error::failed("fitting the layer over the rules", "it has too few classes"));
    };
    let biases = [entailed.bias, contradicted.bias];
    let [entailed, contradicted] = [entailed, contradicted].map(|Logistic { weights, .. }| weights);
    Ok(Fusion { inputs: Fusion::input_names(), entailed, contradicted, biases, rules })
}

/// The classes that a target leaves open, as bits: neutral, entailed, contradicted.
fn classes(target: Target) -> u32 {
    match target {
        Target::Is(Label::Neutral) => 0b001,
        Target::Is(Label::Entailment) => 0b010,
        Target::Is(Label::Contradiction) => 0b100,
        Target::NotEntailed => 0b101,
    }
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
        let truth = Calibration { temperature: 2.5, offsets: [0.8, 0.0, -0.5], fusion: None };
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
