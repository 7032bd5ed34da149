//! The small models that this project trained itself: a verifier and a reader, each an adapter of one to two
//! megabytes on the base encoder all-MiniLM-L6-v2. They are part of the library; the base encoder is not, and is fetched with
//! `counterproof models pull all-MiniLM-L6-v2`.
//!
//! What they were trained on, how well they do and what they get wrong stands in their model cards, in the folder
//! `adapters` of the repository.

use std::path::Path;
use std::sync::Arc;

use counterproof_core::Result;
use counterproof_encoders::adapter::Adapter;
use counterproof_encoders::{BertReader, BertVerifier, EncoderOptions};
use counterproof_methods::answers::AnswersCalibration;
use counterproof_methods::check::Calibrator;
use counterproof_methods::repair::{EncoderGate, GateCalibration};

static VERIFIER: &[u8] = include_bytes!("../../../adapters/verifier/adapter.safetensors");
static READER: &[u8] = include_bytes!("../../../adapters/reader/adapter.safetensors");
static CALIBRATION: &str = include_str!("../../../adapters/gate/calibration.json");
static ANSWERS_CALIBRATION: &str = include_str!("../../../adapters/answers/calibration.json");
static CHECK_CALIBRATION: &str = include_str!("../../../adapters/check/calibration.json");

/// The verifier, over the base encoder in the folder `base`.
///
/// # Errors
/// The folder does not hold the base encoder that the adapter belongs to.
pub fn verifier(base: impl AsRef<Path>) -> Result<BertVerifier> {
    let adapter = Adapter::from_bytes(VERIFIER, "the verifier's adapter")?;
    BertVerifier::with_adapter(base, &adapter, &named("counterproof-verifier"))
}

/// The reader, over the base encoder in the folder `base`.
///
/// # Errors
/// As [`verifier`].
pub fn reader(base: impl AsRef<Path>) -> Result<BertReader> {
    let adapter = Adapter::from_bytes(READER, "the reader's adapter")?;
    BertReader::with_adapter(base, &adapter, &named("counterproof-reader"))
}

/// The gate of `repair` that needs no language model: both, with the calibration that belongs to them.
///
/// # Errors
/// As [`verifier`].
pub fn encoder_gate(base: impl AsRef<Path>) -> Result<EncoderGate> {
    let base = base.as_ref();
    let calibration = GateCalibration::from_json(CALIBRATION, "the gate's calibration")?;
    Ok(EncoderGate::new(Arc::new(reader(base)?), Arc::new(verifier(base)?), calibration))
}

/// How sure `check` is of verdicts by [`verifier`], without a language model or with one.
///
/// # Errors
/// None for the file that is part of the library.
pub fn check_calibrator() -> Result<Calibrator> {
    Calibrator::from_json(CHECK_CALIBRATION, "the calibration of check")
}

/// How `answers` weighs what [`reader`] and [`verifier`] find.
///
/// # Errors
/// None for the file that is part of the library.
pub fn answers_calibration() -> Result<AnswersCalibration> {
    AnswersCalibration::from_json(ANSWERS_CALIBRATION, "the calibration of answers")
}

fn named(name: &str) -> EncoderOptions {
    EncoderOptions { name: Some(name.to_owned()), ..EncoderOptions::default() }
}
