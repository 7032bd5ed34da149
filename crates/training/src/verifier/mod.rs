//! Training the verifier: a cross-encoder over (evidence, statement) with three classes.

mod head;
pub(crate) mod loss;
mod measure;

use std::path::Path;

use counterproof_core::{Error, Result};
use counterproof_encoders::adapter::{Adapter, AdapterKind, Calibration};
use counterproof_encoders::parts::{PairTokenizer, Sequence};
use rayon::prelude::*;

pub(crate) use self::head::{VerifierTask, head_layer};
use crate::calibration::fit_calibration;
use crate::config::{Stage, TrainConfig};
use crate::examples::{PairExample, Target};
use crate::fit::{Prepared, Run, pool};
use crate::progress::{Outcome, Progress};

/// The head's outputs, in order.
pub(crate) const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];

/// Tokens of evidence that a pair must have room for beside its statement.
const LEAST_EVIDENCE: usize = 8;

/// Trains a verifier on the base encoder of the folder `base` (`config.json`, `tokenizer.json`, `model.safetensors`).
///
/// The stages are run one after another under one schedule. Evidence is cut to `config.max_tokens`, statements never;
/// pairs with an empty side, or whose statement leaves no room for evidence, are left out and counted. `progress` is
/// told after every step. Blocks until training has ended; the adapter's temperature is fitted to `validation`.
///
/// # Errors
/// The base cannot be read, the configuration makes no sense, there is nothing to train on, or a checkpoint cannot be
/// written or belongs to another run.
pub fn train_verifier(
    base: &Path,
    stages: &[Stage<'_, PairExample>],
    validation: &[PairExample],
    config: &TrainConfig,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome> {
    let pool = pool(config)?;
    let tokenizer = PairTokenizer::open(&base.join("tokenizer.json"))?;
    let mut prepared = Vec::with_capacity(stages.len());
    let mut left_out = 0;
    for stage in stages {
        let samples = pool.install(|| samples(&tokenizer, stage.examples, config.max_tokens))?;
        left_out += stage.examples.len() - samples.len();
        prepared.push(Prepared { name: stage.name.clone(), samples, amount: stage.amount });
    }
    let validation = pool.install(|| samples(&tokenizer, validation, config.max_tokens))?;
    let mut run = Run::new(&pool, base, config, &prepared, &validation, |model| {
        VerifierTask::new(config, model.hidden, model.parameters, model.random)
    })?;
    let (mut summary, outputs) = run.train(progress)?;
    summary.left_out = left_out;
    let targets: Vec<Target> = validation.iter().map(|sample| sample.target).collect();
    let calibration =
        if targets.is_empty() { Calibration::default() } else { fit_calibration(&outputs, &targets, true) };
    let metadata =
        run.metadata(base, AdapterKind::Verifier, &LABELS, "evidence, statement", calibration, &summary)?;
    Ok(Outcome { adapter: Adapter::new(metadata, run.tensors()), summary })
}

/// A tokenized pair.
#[derive(Debug, Clone)]
pub(crate) struct PairSample {
    pub(crate) sequence: Sequence,
    pub(crate) target: Target,
    pub(crate) weight: f32,
    pub(crate) source: String,
}

/// The pairs that can be trained on, in order.
fn samples(
    tokenizer: &PairTokenizer,
    examples: &[PairExample],
    max_tokens: usize,
) -> Result<Vec<PairSample>> {
    let sample = |example: &PairExample| {
        if example.premise.trim().is_empty() || example.hypothesis.trim().is_empty() {
            return Ok(None);
        }
        if !(example.weight.is_finite() && example.weight >= 0.0) {
            let what = format!("the weight of a pair of {}", example.source);
            return Err(Error::invalid(what, format!("{} is no weight: give 0 or more", example.weight)));
        }
        let statement = tokenizer.ids(&example.hypothesis)?;
        let Some(room) = max_tokens.checked_sub(tokenizer.special_tokens() + statement.len()) else {
            return Ok(None);
        };
        if room < LEAST_EVIDENCE {
            return Ok(None);
        }
        let evidence = tokenizer.ids(&example.premise)?;
        let evidence = evidence.get(..room).unwrap_or(&evidence);
        Ok(Some(PairSample {
            sequence: tokenizer.join(evidence, &statement),
            target: example.target,
            weight: example.weight,
            source: example.source.clone(),
        }))
    };
    let samples: Vec<Option<PairSample>> = examples.par_iter().map(sample).collect::<Result<_>>()?;
    Ok(samples.into_iter().flatten().collect())
}
