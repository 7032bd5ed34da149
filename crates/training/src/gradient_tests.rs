//! The backward pass against finite differences of the forward pass, for every kind of parameter, and the forward pass
//! against the one that inference runs.

// A failed expectation is what these are for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use counterproof_encoders::adapter::{Adapter, AdapterKind, Calibration, FORMAT, Metadata, Tensor};
use counterproof_encoders::parts::{PairTokenizer, file_sha256};
use counterproof_encoders::{BertReader, BertVerifier, EncoderOptions};

use crate::config::{ReaderLoss, TrainConfig, Trainable, VerifierLoss};
use crate::examples::{Label, Target};
use crate::model::Model;
use crate::net::Workspace;
use crate::optimiser::norm;
use crate::random::Random;
use crate::reader::{ReaderTask, SpanSample};
use crate::task::Task;
use crate::testing::tiny_base;
use crate::verifier::{PairSample, VerifierTask};

const EVIDENCE: [&str; 4] = [
    "the observatory opened in 1889",
    "a comet was seen by ada late in 1912",
    "it opened",
    "the museum closed when it did",
];
const STATEMENTS: [&str; 4] =
    ["it opened in 1912", "bela did not see a comet", "the observatory", "it was late"];

fn configs() -> Vec<TrainConfig> {
    let config = TrainConfig {
        max_tokens: 32,
        groups: 2,
        verifier_loss: VerifierLoss {
            label_smoothing: 0.1,
            class_weights: [1.0, 0.5, 2.0],
            not_entailed_weight: 0.7,
        },
        ..TrainConfig::default()
    };
    let with = |trainable: Trainable| TrainConfig { trainable, ..config.clone() };
    vec![
        with(Trainable { rank: 3, alpha: 6.0, ..Trainable::default() }),
        with(Trainable { rank: 17, norms_and_biases: false, whole_layers: vec![0], ..Trainable::default() }),
        with(Trainable { rank: 0, whole_layers: vec![1], ..Trainable::default() }),
        with(Trainable { rank: 4, frozen_layers: 1, ..Trainable::default() }),
    ]
}

fn pairs(tokenizer: &PairTokenizer) -> Vec<PairSample> {
    let targets = [
        Target::Is(Label::Entailment),
        Target::Is(Label::Contradiction),
        Target::Is(Label::Neutral),
        Target::NotEntailed,
    ];
    (0..8)
        .map(|i| PairSample {
            sequence: tokenizer.join(
                &tokenizer.ids(EVIDENCE[i % 4]).unwrap(),
                &tokenizer.ids(STATEMENTS[(i + i / 4) % 4]).unwrap(),
            ),
            target: targets[i % 4],
            weight: 0.5 + i as f32 / 8.0,
            source: String::new(),
        })
        .collect()
}

fn spans(tokenizer: &PairTokenizer) -> Vec<SpanSample> {
    (0..6)
        .map(|i| {
            let question = tokenizer.ids(STATEMENTS[i % 4]).unwrap();
            let passage = tokenizer.ids(EVIDENCE[(i + 1) % 4]).unwrap();
            let start = tokenizer.second_start(question.len());
            let answers = match i % 3 {
                0 => vec![],
                1 => vec![(1, 1)],
                _ => vec![(0, 0), (0, 1)],
            };
            SpanSample {
                sequence: tokenizer.join(&question, &passage),
                context: start..start + passage.len(),
                answers,
            }
        })
        .collect()
}

/// Moves every parameter, so that none is at a special place such as zero.
fn shake<T: Task>(model: &mut Model<T>) {
    let mut random = Random::new(5);
    for x in &mut model.parameters.values {
        *x += 0.3 * (random.unit() - 0.5);
    }
    model.merge(false);
}

/// Along the gradient and along a random direction, for each tensor.
fn check<T: Task>(model: &mut Model<T>, samples: &[T::Sample], seed: Option<u64>) {
    let samples: Vec<&T::Sample> = samples.iter().collect();
    let mut spaces: Vec<Workspace> = vec![Workspace::default(), Workspace::default()];
    let mut gradient = vec![0.0; model.parameters.values.len()];
    model.learn(&samples, seed, &mut spaces, &mut gradient).unwrap();
    let mut unused = gradient.clone();
    let values = model.parameters.values.clone();
    let mut random = Random::new(9);
    for slot in model.parameters.slots.clone() {
        let own = gradient[slot.range.clone()].to_vec();
        assert!(norm(&own) > 1e-6 || slot.name.ends_with("key.bias"), "{} has no gradient", slot.name);
        let even: Vec<f32> = own.iter().map(|_| random.unit() - 0.5).collect();
        for direction in [&own, &even] {
            let length = norm(direction).max(1e-9) as f32;
            let slope: f64 =
                own.iter().zip(direction).map(|(g, d)| f64::from(*g) * f64::from(*d / length)).sum();
            let step = 4e-3f32;
            let mut at = |sign: f32| {
                model.parameters.values.clone_from(&values);
                let moved = &mut model.parameters.values[slot.range.clone()];
                for (x, d) in moved.iter_mut().zip(direction) {
                    *x += sign * step * d / length;
                }
                model.merge(false);
                model.learn(&samples, seed, &mut spaces, &mut unused).unwrap()
            };
            let difference = (at(1.0) - at(-1.0)) / f64::from(2.0 * step);
            assert!(
                (difference - slope).abs() < 4e-4 + 0.02 * slope.abs(),
                "{}: {difference} by differences, {slope} by the backward pass",
                slot.name
            );
        }
    }
    model.parameters.values = values;
    model.merge(false);
}

#[test]
fn the_verifier_s_gradients_are_those_of_finite_differences() {
    let base = tiny_base();
    let tokenizer = PairTokenizer::open(&base.path().join("tokenizer.json")).unwrap();
    for config in configs() {
        let mut model = Model::load(base.path(), &config, |seed| {
            VerifierTask::new(&config, seed.hidden, seed.parameters, seed.random)
        })
        .unwrap();
        shake(&mut model);
        check(&mut model, &pairs(&tokenizer), None);
        // The masks are the seed's, so that the loss under dropout is a function too.
        check(&mut model, &pairs(&tokenizer), Some(3));
    }
}

#[test]
fn the_reader_s_gradients_are_those_of_finite_differences() {
    let base = tiny_base();
    let tokenizer = PairTokenizer::open(&base.path().join("tokenizer.json")).unwrap();
    for (config, reader_loss) in
        configs().into_iter().zip([ReaderLoss::Any, ReaderLoss::Every].into_iter().cycle())
    {
        let config = TrainConfig { reader_loss, ..config };
        let mut model = Model::load(base.path(), &config, |seed| {
            ReaderTask::new(&config, seed.hidden, seed.parameters, seed.random)
        })
        .unwrap();
        shake(&mut model);
        check(&mut model, &spans(&tokenizer), None);
        check(&mut model, &spans(&tokenizer), Some(3));
    }
}

fn metadata(base: &std::path::Path, config: &TrainConfig, kind: AdapterKind) -> Metadata {
    Metadata {
        format: FORMAT,
        kind,
        base_sha256: file_sha256(&base.join("model.safetensors")).unwrap(),
        rank: config.trainable.rank,
        alpha: config.trainable.alpha,
        template: String::new(),
        max_tokens: 32,
        labels: ["entailment", "neutral", "contradiction"].map(str::to_owned).to_vec(),
        calibration: Calibration::default(),
        languages: Vec::new(),
        training: serde_json::Value::Null,
    }
}

/// Rounds the parameters to the 16 bits of an adapter file.
fn round<T: Task>(model: &mut Model<T>) -> BTreeMap<String, Tensor> {
    for x in &mut model.parameters.values {
        *x = half::f16::from_f32(*x).to_f32();
    }
    model.merge(false);
    model.parameters.tensors()
}

#[test]
fn training_and_inference_compute_the_same_logits() {
    let base = tiny_base();
    let tokenizer = PairTokenizer::open(&base.path().join("tokenizer.json")).unwrap();
    for config in configs() {
        let mut model = Model::load(base.path(), &config, |seed| {
            VerifierTask::new(&config, seed.hidden, seed.parameters, seed.random)
        })
        .unwrap();
        shake(&mut model);
        let adapter = Adapter::new(metadata(base.path(), &config, AdapterKind::Verifier), round(&mut model));
        let adapter = Adapter::from_bytes(&adapter.to_bytes().unwrap(), "tiny").unwrap();
        let verifier = BertVerifier::with_adapter(base.path(), &adapter, &EncoderOptions::default()).unwrap();
        let texts: Vec<(&str, &str)> =
            (0..8).map(|i| (EVIDENCE[i % 4], STATEMENTS[(i + i / 4) % 4])).collect();
        let trained = model.outputs(&pairs(&tokenizer)).unwrap();
        for (a, b) in trained.iter().zip(verifier.logits(&texts).unwrap()) {
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
        }
    }
}

#[test]
fn the_trained_reader_and_inference_score_spans_alike() {
    let base = tiny_base();
    let tokenizer = PairTokenizer::open(&base.path().join("tokenizer.json")).unwrap();
    let config = configs().remove(0);
    let mut model = Model::load(base.path(), &config, |seed| {
        ReaderTask::new(&config, seed.hidden, seed.parameters, seed.random)
    })
    .unwrap();
    shake(&mut model);
    let adapter = Adapter::new(metadata(base.path(), &config, AdapterKind::Reader), round(&mut model));
    let reader = BertReader::with_adapter(base.path(), &adapter, &EncoderOptions::default()).unwrap();
    let samples = spans(&tokenizer);
    for (i, output) in model.outputs(&samples).unwrap().iter().enumerate() {
        let read = reader.best_spans(STATEMENTS[i % 4], &[EVIDENCE[(i + 1) % 4]], 1).unwrap();
        let (spans, none) = &read[0];
        let sum = |logits: &[f32]| {
            logits.iter().chain([&output.none]).map(|x| f64::from(*x).exp()).sum::<f64>().ln()
        };
        let (starts, ends) = (sum(&output.starts), sum(&output.ends));
        let mut best = f64::MIN;
        for (s, start) in output.starts.iter().enumerate() {
            for end in &output.ends[s..] {
                best = best.max(f64::from(start + end) - starts - ends);
            }
        }
        assert!((best - spans[0].score).abs() < 1e-4, "{best} {spans:?}");
        assert!((2.0 * f64::from(output.none) - starts - ends - none).abs() < 1e-4);
    }
}
