//! What a repair says in the end.

use counterproof_core::{Citation, Cost, Probability, QuestionType, Trace};
use serde::{Deserialize, Serialize};

use super::{Decision, Reason};

/// The version of [`RepairReport`]'s JSON form.
pub const REPAIR_SCHEMA: u32 = 1;

/// The outcome of a repair, with the evidence it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepairReport {
    /// The version of this form: [`REPAIR_SCHEMA`].
    pub schema: u32,
    /// The question's id in a batch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The question.
    pub question: String,
    /// The answer that was put to the test.
    pub draft: String,
    /// The answer to rely on: the draft byte for byte, or the revision.
    pub answer: String,
    /// Whether the draft was kept.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
    /// The kind of answer the question asks for.
    pub question_type: QuestionType,
    /// The share of the model's probability that fell to `answer` among the draft and its alternatives, where the
    /// gate works with scores. It orders decisions; it is not calibrated.
    pub confidence: Option<Probability>,
    /// The words the decision rests on. A kept draft cites the passage that holds it, when one does.
    pub citations: Vec<Citation>,
    /// What it cost.
    pub cost: Cost,
    /// How it came about.
    #[serde(default)]
    pub trace: Trace,
}

impl RepairReport {
    /// The report as one JSON object; the trace is left out unless `explain`.
    pub fn to_json(&self, explain: bool) -> serde_json::Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if !explain && let Some(object) = json.as_object_mut() {
            object.remove("trace");
        }
        json
    }
}
