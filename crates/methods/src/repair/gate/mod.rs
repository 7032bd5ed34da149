//! The gate (CounterRefine, step 5): keeps the draft unless the pool speaks strongly for another answer.
//!
//! There are three, behind one trait. Capable models write their decision ([`TextGate`]). Small local models answer
//! KEEP to everything, or copy the form; of them only scores are read ([`ScoreGate`]). Without any language model a reader and a verifier of the size of an
//! encoder decide ([`EncoderGate`]). Whatever a gate proposes has
//! still to pass the same deterministic rules.

mod alternatives;
mod calibration;
mod encoder;
mod score;
mod text;

use async_trait::async_trait;
use counterproof_core::{LanguageModel, Probability, Question, QuestionType, Result};

pub(crate) use alternatives::holds;
pub use alternatives::{Alternative, EvidenceSentence, Gathered, gather};
pub use calibration::{CalibrationRow, FEATURES, GateCalibration};
pub use encoder::{Comparison, EncoderGate, Judged};
pub use score::{Candidate, Contest, ScoreGate};
pub use text::TextGate;

use super::rules::Proposal;
use super::{Pool, RepairConfig};
use crate::ledger::Ledger;

/// What a gate reads.
pub struct GateCase<'a> {
    /// The question.
    pub question: &'a Question,
    /// The kind of answer it asks for.
    pub question_type: QuestionType,
    /// The answer put to the test.
    pub draft: &'a str,
    /// The passages found.
    pub pool: &'a Pool,
    /// Parameters.
    pub config: &'a RepairConfig,
}

/// What a gate says.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    /// The draft stays: nothing speaks strongly enough against it.
    Keep {
        /// Share of the model's probability that the draft holds, where there are scores.
        confidence: Option<Probability>,
    },
    /// The draft stays: there was nothing to compare it with.
    NoAlternative,
    /// Another answer is proposed.
    Revise {
        /// The answer and its evidence.
        proposal: Proposal,
        /// Share of the model's probability that it holds, where there are scores.
        confidence: Option<Probability>,
    },
    /// The model's reply could not be read. The draft stays.
    Malformed {
        /// What was wrong with it.
        why: String,
    },
}

/// Decides whether the pool speaks strongly enough against a draft.
///
/// Contract: the answer proposed and its evidence are data for the rules and decide nothing by themselves; an error
/// is a failure of the model. Every call is made through the ledger.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Rules on one draft.
    async fn rule(
        &self,
        case: &GateCase<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<Ruling>;

    /// How many calls to the model a ruling takes, for estimates.
    fn calls(&self) -> u64;
}
