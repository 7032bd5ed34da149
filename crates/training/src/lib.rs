//! Training the small models: LoRA on the base encoder for the verifier and the reader, on the processor alone.
//!
//! [`train_verifier`] and [`train_reader`] turn examples into an [`Adapter`](counterproof_encoders::adapter::Adapter),
//! which [`counterproof_encoders`] runs. Forward and backward pass are written by hand over the kernels of inference
//! and over packed sequences, without padding; a run is fixed by its data, its configuration and its seed, can be killed
//! and taken up again, and can be given the minutes that it may take.

mod calibration;
mod checkpoint;
mod config;
pub mod data;
pub mod examples;
mod fit;
#[cfg(test)]
mod gradient_tests;
mod model;
mod net;
mod optimiser;
mod plan;
mod progress;
mod random;
mod reader;
pub mod recipe;
mod rules_model;
#[cfg(test)]
mod run_tests;
mod task;
#[cfg(test)]
mod testing;
mod verifier;

pub use calibration::{fit_calibration, fit_fusion, negative_log_likelihood};
pub use config::{Amount, Decay, ReaderLoss, Stage, TrainConfig, Trainable, VerifierLoss};
pub use progress::{Evaluation, Outcome, Progress, Summary};
pub use reader::train_reader;
pub use rules_model::fit_rules_model;
pub use verifier::train_verifier;
