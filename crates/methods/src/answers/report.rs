//! What a search for all answers says in the end.

use counterproof_core::{Citation, Cost, Probability, Trace};
use serde::{Deserialize, Serialize};

/// The version of [`AnswersReport`]'s JSON form.
pub const ANSWERS_SCHEMA: u32 = 1;

/// Who decided about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The verifier, with the calibration that weighs what reader and verifier found.
    Verifier,
    /// The language model.
    Model,
    /// The number of passages that say so.
    Support,
    /// Nobody: nothing was verified.
    Nobody,
}

/// An answer, with the evidence it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The answer.
    pub answer: String,
    /// The probability that it is right; `null` where nothing tells one, such as a model that says only yes.
    pub confidence: Option<Probability>,
    /// How many passages say so.
    pub support: usize,
    /// Who decided.
    pub decided_by: Decider,
    /// The questions that it was verified by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified_by: Vec<String>,
    /// Words that say so, the best first.
    pub citations: Vec<Citation>,
}

/// Why a candidate is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The passages do not establish it.
    NotEstablished,
    /// The question names it itself.
    Echo,
    /// Too few passages say so.
    TooLittleSupport,
    /// The verdict could not be read, even when it was asked for again.
    Unparsed,
    /// Asking about it failed.
    Failed,
    /// A limit of candidates or calls was reached before its turn.
    OverBudget,
}

impl RejectReason {
    /// The reason in words.
    pub fn explain(self) -> &'static str {
        match self {
            Self::NotEstablished => "the passages do not establish it",
            Self::Echo => "the question names it itself",
            Self::TooLittleSupport => "too few passages say so",
            Self::Unparsed => "the model's verdict could not be read",
            Self::Failed => "asking about it failed",
            Self::OverBudget => "not verified: over the limit of candidates or calls",
        }
    }
}

/// A candidate that is no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// The candidate.
    pub answer: String,
    /// Why it is none.
    pub reason: RejectReason,
    /// The probability that it is right all the same, where something tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Probability>,
    /// How many passages say so.
    pub support: usize,
}

/// The answers to one question, those first that are most likely right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswersReport {
    /// The version of this form: [`ANSWERS_SCHEMA`].
    pub schema: u32,
    /// The question's id in a batch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The question.
    pub question: String,
    /// The answers.
    pub answers: Vec<Answer>,
    /// The candidates that are none.
    pub rejected: Vec<Rejected>,
    /// Passages that were read.
    pub passages: usize,
    /// What it cost.
    pub cost: Cost,
    /// How it came about.
    #[serde(default)]
    pub trace: Trace,
}

impl AnswersReport {
    /// The report as one JSON object; the trace is left out unless `explain`.
    pub fn to_json(&self, explain: bool) -> serde_json::Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if !explain && let Some(object) = json.as_object_mut() {
            object.remove("trace");
        }
        json
    }
}
