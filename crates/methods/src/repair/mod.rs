//! `repair`: puts a short answer to the test and repairs it, after CounterRefine (arXiv 2603.16091).
//!
//! The draft itself becomes a query, so that what speaks against it is looked for on purpose. A gate then keeps the
//! draft or proposes another answer, and a proposal has to pass twelve deterministic rules before it is accepted.
//! Whatever happens, the answer that comes out is the draft byte for byte, or a revision that passed the rules.
//!
//! The way of one question: [`queries`] -> [`Pool`] -> a [`Gate`] -> [`Rule`]s -> normalisation -> [`RepairReport`].

mod config;
mod draft;
mod estimate;
mod gate;
mod locate;
mod normal;
mod pipeline;
mod pool;
mod prompts;
mod query;
mod reason;
mod report;
mod rules;
mod veto;

pub use crate::ledger::Ledger;
pub use config::{Ablations, EncoderGateConfig, GateKind, RepairConfig, ScoreGateConfig};
pub use estimate::Estimate;
pub(crate) use gate::holds;
pub use gate::{
    Alternative, CalibrationRow, Candidate, Comparison, Contest, EncoderGate, EvidenceSentence, FEATURES,
    Gate, GateCalibration, GateCase, Gathered, Judged, Ruling, ScoreGate, TextGate, gather,
};
pub use locate::{EvidenceRef, Located, best_sentence, locate};
pub use normal::normalise;
pub use pipeline::Repair;
pub use pool::{Pool, PoolPassage};
pub use query::{QueryRole, queries};
pub use reason::{Decision, Reason, Rule};
pub use report::{REPAIR_SCHEMA, RepairReport};
pub(crate) use rules::word_count;
pub use rules::{Accepted, Case, Proposal, means_the_same, validate};
pub use veto::VetoConfig;
