//! What a run tells while it goes on and when it has ended.

use std::time::Duration;

use counterproof_encoders::adapter::Adapter;
use serde::{Deserialize, Serialize};

/// Where a run stands; told after every step.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The name of the stage.
    pub stage: String,
    /// Optimiser steps done.
    pub step: u64,
    /// How far the run is, from 0 to 1.
    pub fraction: f64,
    /// Examples seen, repeats counted.
    pub examples: u64,
    /// Tokens seen.
    pub tokens: u64,
    /// The loss, a moving mean over about fifty steps.
    pub loss: f64,
    /// The learning rate of the step.
    pub learning_rate: f64,
    /// The norm of the step's gradient before it was cut.
    pub gradient_norm: f64,
    /// Examples a second since this process began the run, validation included.
    pub examples_per_second: f64,
    /// Tokens a second, likewise.
    pub tokens_per_second: f64,
    /// Time taken so far, earlier processes included.
    pub elapsed: Duration,
    /// Time that the rest will take at this speed.
    pub left: Duration,
    /// The validation, where this step was followed by one.
    pub validation: Option<Evaluation>,
}

/// How good the weights are on examples that are not trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The step after which it was made.
    pub step: u64,
    /// Examples.
    pub examples: usize,
    /// The mean loss, without label smoothing.
    pub loss: f64,
    /// What runs are compared by, higher is better: macro-F1 for the verifier, token F1 for the reader.
    pub score: f64,
    /// Other figures by name.
    pub figures: Vec<(String, f64)>,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Optimiser steps.
    pub steps: u64,
    /// Examples seen, repeats counted.
    pub examples: u64,
    /// Tokens seen.
    pub tokens: u64,
    /// Numbers that were trained.
    pub parameters: usize,
    /// Time taken in seconds, over all processes that worked on it.
    pub seconds: f64,
    /// Examples that were left out, as their statement or question fills the window.
    pub left_out: usize,
    /// Whether it ended before its plan was done, as validation got no better.
    pub stopped_early: bool,
    /// Every validation.
    pub validations: Vec<Evaluation>,
    /// The step of the weights that were kept.
    pub kept_step: u64,
}

/// A trained adapter and how it came about.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The adapter; its metadata hold the configuration and the summary.
    pub adapter: Adapter,
    /// What the run did.
    pub summary: Summary,
}
