//! AdamW (Loshchilov and Hutter, arXiv:1711.05101) over the flat buffer of parameters.

use counterproof_kernels::vector::AdamStep;

use crate::config::TrainConfig;
use crate::net::parameters::{Parameters, part, part_mut};

/// Added to the root of the second moment, as PyTorch has it.
const EPSILON: f32 = 1e-8;

/// The two moments of every parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AdamW {
    pub(crate) first: Vec<f32>,
    pub(crate) second: Vec<f32>,
}

impl AdamW {
    pub(crate) fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters] }
    }

    /// Takes step number `step`, counted from one, against `gradient` times `factor`.
    pub(crate) fn step(
        &mut self,
        parameters: &mut Parameters,
        gradient: &[f32],
        factor: f32,
        rate: f64,
        step: u64,
        config: &TrainConfig,
    ) {
        let [beta1, beta2] = config.betas;
        let steps = i32::try_from(step).unwrap_or(i32::MAX);
        let correction1 = 1.0 - beta1.powi(steps);
        let correction2 = 1.0 - beta2.powi(steps);
        let Parameters { values, slots } = parameters;
        for slot in slots.iter() {
            let rate = rate * f64::from(slot.rate);
            AdamStep {
                factor,
                betas: [beta1 as f32, beta2 as f32],
                size: (rate / correction1) as f32,
                root: correction2.sqrt() as f32,
                decay: if slot.decays { (1.0 - rate * config.weight_decay) as f32 } else { 1.0 },
                epsilon: EPSILON,
            }
            .apply(
                part_mut(values, &slot.range),
                part(gradient, &slot.range),
                part_mut(&mut self.first, &slot.range),
                part_mut(&mut self.second, &slot.range),
            );
        }
    }
}

/// The Euclidean norm.
pub(crate) fn norm(gradient: &[f32]) -> f64 {
    let squares = gradient.chunks(4096).map(|part| {
        let mut sums = [0f64; 8];
        for (i, g) in part.iter().enumerate() {
            if let Some(sum) = sums.get_mut(i % 8) {
                *sum += f64::from(*g) * f64::from(*g);
            }
        }
        sums.iter().sum::<f64>()
    });
    squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use crate::net::parameters::Fill;
    use crate::random::Random;

    #[test]
    fn the_first_step_is_one_rate_against_the_sign_and_only_matrices_decay() {
        let (mut parameters, mut random) = (Parameters::default(), Random::new(1));
        parameters.add("m".to_owned(), &[1, 2], &Fill::Copy(&[1.0, 1.0]), 1.0, &mut random);
        parameters.add("b".to_owned(), &[2], &Fill::Copy(&[1.0, 1.0]), 0.5, &mut random);
        let config = TrainConfig { weight_decay: 0.1, ..TrainConfig::default() };
        let mut adam = AdamW::new(4);
        adam.step(&mut parameters, &[3.0, -0.2, 5.0, 0.0], 1.0, 0.01, 1, &config);
        let due = [0.999 - 0.01, 0.999 + 0.01, 1.0 - 0.005, 1.0];
        for (x, due) in parameters.values.iter().zip(due) {
            assert!((x - due).abs() < 1e-6, "{:?}", parameters.values);
        }
    }

    #[test]
    fn a_valley_is_walked_down() {
        let (mut parameters, mut random) = (Parameters::default(), Random::new(1));
        parameters.add("x".to_owned(), &[2], &Fill::Copy(&[3.0, -2.0]), 1.0, &mut random);
        let mut adam = AdamW::new(2);
        for step in 1..=500 {
            let gradient = [2.0 * (parameters.values[0] - 1.0), 20.0 * parameters.values[1]];
            adam.step(&mut parameters, &gradient, 1.0, 0.05, step, &TrainConfig::default());
        }
        assert!((parameters.values[0] - 1.0).abs() < 0.02 && parameters.values[1].abs() < 0.02);
        assert!((norm(&[3.0, 4.0]) - 5.0).abs() < 1e-12);
    }
}
