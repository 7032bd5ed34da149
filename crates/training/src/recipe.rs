//! How the shipped adapters are trained: which examples in which order, and with what settings.
//!
//! The verifier learns entailment in general first, from short pairs, which is cheap and carries over to claims; then
//! claims, questions with answers and twins, with some general pairs among them so that they are not forgotten. The
//! reader sees all its sets in one stage.

use std::path::Path;

use counterproof_core::Result;
use counterproof_encoders::{BertVerifier, EncoderOptions, Fusion};
use counterproof_text::language::Language;

use crate::calibration::fit_fusion;
use crate::config::{Amount, Stage, TrainConfig};
use crate::data::reader::ReaderData;
use crate::data::verifier::{Part, VerifierData};
use crate::examples::{PairExample, SpanExample};
use crate::progress::{Outcome, Progress};
use crate::random::{Random, mix};
use crate::rules_model::fit_rules_model;
use crate::{train_reader, train_verifier};

/// Passes over the general pairs in the first stage.
const GENERAL_PASSES: f64 = 0.4;

/// Passes over the mixed examples in the second.
const MIXED_PASSES: f64 = 1.0;

/// Share of the general pairs that are mixed into the second stage.
const GENERAL_IN_MIX: f64 = 0.15;

/// Validation examples at most: they are judged several times a run.
const VALIDATION: usize = 1500;

/// How much the parts of the validation side count where the layer over the rules is fitted.
const FUSION_SHARES: [(&str, f64); 4] =
    [("claims", 0.35), ("questions", 0.35), ("twins", 0.15), ("general", 0.15)];

/// The settings that the shipped verifier is trained with.
pub fn verifier_config() -> TrainConfig {
    TrainConfig { tokens_per_step: 1024, validate_every: 2000, ..TrainConfig::default() }
}

/// The settings that the shipped reader is trained with.
pub fn reader_config() -> TrainConfig {
    TrainConfig { max_tokens: 256, tokens_per_step: 1536, validate_every: 2000, ..TrainConfig::default() }
}

/// Trains a verifier as the shipped one is trained.
///
/// # Errors
/// As [`train_verifier`].
pub fn verifier(
    base: &Path,
    data: &VerifierData,
    config: &TrainConfig,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome> {
    let general = named(&data.train, &["general"]);
    let mut mixed = named(&data.train, &["claims", "questions", "twins"]);
    mixed.extend(thinned(general.clone(), GENERAL_IN_MIX, config.seed));
    let stages = [
        Stage { name: "general".to_owned(), examples: &general, amount: Amount::Passes(GENERAL_PASSES) },
        Stage { name: "mixed".to_owned(), examples: &mixed, amount: Amount::Passes(MIXED_PASSES) },
    ];
    let validation = named(&data.validation, &["claims", "questions", "twins", "general"]);
    let share = VALIDATION as f64 / validation.len().max(1) as f64;
    let validation = thinned(validation, share, config.seed);
    let mut outcome = train_verifier(base, &stages, &validation, config, progress)?;
    let trained = BertVerifier::with_adapter(base, &outcome.adapter, &EncoderOptions::default())?;
    outcome.adapter.metadata.languages = english();
    outcome.adapter.metadata.calibration.fusion = Some(fit_rules(&trained, data, config.seed)?);
    Ok(outcome)
}

/// Fits the layer over the rules as the shipped one is fitted: its network to the training side, the layer itself to the
/// validation side.
///
/// # Errors
/// As [`fit_fusion`].
pub fn fit_rules(verifier: &BertVerifier, data: &VerifierData, seed: u64) -> Result<Fusion> {
    let shared = |side: &[Part]| FUSION_SHARES.map(|(name, share)| (named(side, &[name]), share));
    let (train, validation) = (shared(&data.train), shared(&data.validation));
    let rules = fit_rules_model(&slices(&train), seed);
    fit_fusion(verifier, rules, &slices(&validation))
}

fn slices(parts: &[(Vec<PairExample>, f64)]) -> Vec<(&[PairExample], f64)> {
    parts.iter().map(|(rows, share)| (rows.as_slice(), *share)).collect()
}

fn named(parts: &[Part], wanted: &[&str]) -> Vec<PairExample> {
    parts.iter().filter(|p| wanted.contains(&p.name)).flat_map(|p| p.examples.clone()).collect()
}

/// Trains a reader as the shipped one is trained.
///
/// # Errors
/// As [`train_reader`].
pub fn reader(
    base: &Path,
    data: &ReaderData,
    config: &TrainConfig,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome> {
    let stages = [Stage { name: "spans".to_owned(), examples: &data.train, amount: Amount::Passes(2.0) }];
    let share = VALIDATION as f64 / data.validation.len().max(1) as f64;
    let validation: Vec<SpanExample> = thinned(data.validation.clone(), share, config.seed);
    let mut outcome = train_reader(base, &stages, &validation, config, progress)?;
    outcome.adapter.metadata.languages = english();
    Ok(outcome)
}

/// The language of everything that the recipes train on.
fn english() -> Vec<String> {
    vec![Language::English.as_str().to_owned()]
}

/// About `share` of `list`, drawn by chance.
fn thinned<T>(list: Vec<T>, share: f64, seed: u64) -> Vec<T> {
    let mut random = Random::new(mix(seed, 0x7468_696e));
    let bound = (share.clamp(0.0, 1.0) * 1e6) as usize;
    list.into_iter().filter(|_| random.below(1_000_000) < bound).collect()
}
