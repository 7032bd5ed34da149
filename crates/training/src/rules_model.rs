//! What rules alone make of a pair: a small network over the numbers of `counterproof_text::conflict`, trained on every
//! training pair. Rules do not learn texts by heart as an encoder does, so what it says of a pair that it was trained on is
//! about as good as what it says of another, and the layer on top can be fitted to a few thousand rows.

use counterproof_encoders::{DenseLayer, RulesModel};
use counterproof_text::conflict::{FEATURES, compare};
use rayon::prelude::*;

use crate::config::{TrainConfig, VerifierLoss};
use crate::examples::{PairExample, Target};
use crate::net::dense::{Dense, Scratch};
use crate::net::parameters::{Parameters, part};
use crate::optimiser::{AdamW, norm};
use crate::random::{Random, mix};
use crate::verifier::head_layer;
use crate::verifier::loss::loss;

const HIDDEN: usize = 64;
const CLASSES: usize = 3;
const ROWS_PER_STEP: usize = 256;
const STEPS: usize = 4000;
const RATE: f64 = 4e-3;

/// Trains the network to parts of pairs, each of which is drawn from by its share, whatever its number of rows.
pub fn fit_rules_model(parts: &[(&[PairExample], f64)], seed: u64) -> RulesModel {
    let parts: Vec<&(&[PairExample], f64)> = parts.iter().filter(|(rows, _)| !rows.is_empty()).collect();
    let features: Vec<Vec<[f32; FEATURES.len()]>> = parts
        .iter()
        .map(|(rows, _)| rows.par_iter().map(|e| compare(&e.premise, &e.hypothesis).features).collect())
        .collect();
    let targets: Vec<Vec<Target>> =
        parts.iter().map(|(rows, _)| rows.iter().map(|e| e.target).collect()).collect();
    let (means, scales) = scale(&features);
    let scaled = |x: &[f32; FEATURES.len()]| -> Vec<f32> {
        x.iter().zip(&means).zip(&scales).map(|((x, mean), scale)| (x - mean) * scale).collect()
    };
    let mut random = Random::new(mix(seed, 0x7275_6c65));
    let mut parameters = Parameters::default();
    let mut hidden = head_layer("hidden", FEATURES.len(), HIDDEN, 1.0, &mut parameters, &mut random);
    let mut output = head_layer("output", HIDDEN, CLASSES, 1.0, &mut parameters, &mut random);
    let config = TrainConfig { learning_rate: RATE, ..TrainConfig::default() };
    let mut adam = AdamW::new(parameters.values.len());
    let shares: f64 = parts.iter().map(|(_, share)| share).sum();
    let mut gradient = vec![0.0; parameters.values.len()];
    let mut scratch = Scratch::default();
    for step in 0..STEPS {
        hidden.merge(&parameters.values);
        output.merge(&parameters.values);
        let (mut x, mut due) = (Vec::with_capacity(ROWS_PER_STEP * FEATURES.len()), Vec::new());
        for _ in 0..ROWS_PER_STEP {
            let mut at = f64::from(random.unit()) * shares;
            let which = parts.iter().position(|(_, share)| {
                at -= share;
                at < 0.0
            });
            let which = which.unwrap_or_default();
            let Some((rows, targets)) = features.get(which).zip(targets.get(which)) else { continue };
            let row = random.below(rows.len());
            if let Some((row, target)) = rows.get(row).zip(targets.get(row)) {
                x.extend(scaled(row));
                due.push(*target);
            }
        }
        gradient.fill(0.0);
        learn(&hidden, &output, &x, &due, &mut gradient, &mut scratch);
        let size = norm(&gradient);
        let factor = if size > config.clip { config.clip / size } else { 1.0 };
        let rate = config.rate_at((step as f64 + 0.5) / STEPS as f64);
        adam.step(&mut parameters, &gradient, factor as f32, rate, step as u64 + 1, &config);
    }
    let layer = |name: &str, inputs: usize| {
        let numbers = |kind: &str| {
            let slot = parameters.slots.iter().find(|slot| slot.name == format!("{name}.{kind}"));
            slot.map(|slot| part(&parameters.values, &slot.range).to_vec()).unwrap_or_default()
        };
        let weights = numbers("weight").chunks(inputs).map(<[f32]>::to_vec).collect();
        DenseLayer { weights, biases: numbers("bias") }
    };
    let inputs = FEATURES.map(str::to_owned).to_vec();
    RulesModel {
        inputs,
        means,
        scales,
        hidden: layer("hidden", FEATURES.len()),
        output: layer("output", HIDDEN),
    }
}

/// The gradient of the mean loss over a step's rows.
fn learn(
    hidden: &Dense,
    output: &Dense,
    x: &[f32],
    targets: &[Target],
    gradient: &mut [f32],
    scratch: &mut Scratch,
) {
    let rows = targets.len();
    let mut inner = vec![0.0; rows * HIDDEN];
    hidden.forward(x, &mut inner);
    inner.iter_mut().for_each(|x| *x = x.tanh());
    let mut logits = vec![0.0; rows * CLASSES];
    output.forward(&inner, &mut logits);
    let config = VerifierLoss { label_smoothing: 0.0, ..VerifierLoss::default() };
    let d_logits: Vec<f32> = logits
        .as_chunks()
        .0
        .iter()
        .zip(targets)
        .flat_map(|(logits, target)| loss(*logits, *target, &config).1.map(|g| g / rows as f32))
        .collect();
    let mut d_inner = vec![0.0; rows * HIDDEN];
    output.add_gradients(&inner, &d_logits, gradient, scratch);
    output.backward(&d_logits, &mut d_inner, false);
    for (d, y) in d_inner.iter_mut().zip(&inner) {
        *d *= 1.0 - y * y;
    }
    hidden.add_gradients(x, &d_inner, gradient, scratch);
}

/// The mean of each number, and what brings its deviation to one; nothing for a number that never changes.
fn scale(parts: &[Vec<[f32; FEATURES.len()]>]) -> (Vec<f32>, Vec<f32>) {
    let n = parts.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    (0..FEATURES.len())
        .map(|i| {
            let column = || parts.iter().flatten().filter_map(|row| row.get(i)).map(|x| f64::from(*x));
            let mean = column().sum::<f64>() / n;
            let variance = column().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            (mean as f32, if variance > 1e-12 { (1.0 / variance.sqrt()) as f32 } else { 0.0 })
        })
        .unzip()
}
