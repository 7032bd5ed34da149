//! `check`: does the evidence support a claim, refute it, or settle nothing, and how sure is that? After R2VC
//! (arXiv 2609.11955).
//!
//! A search finds passages, a language model proposes verdicts with citations, a verifier chooses among them by what the
//! cited passages say, and a light model tells how probably the choice is right. Without a language model the evidence
//! itself makes the candidates. A verdict that is not sure enough is withheld, which is something else than "not enough
//! evidence". A decisive verdict always quotes a passage, and none rests on a passage about somebody else.
//!
//! The way of one claim: its facts -> passages -> [`Candidate`]s -> the verifier's choice -> [`Calibrator`] ->
//! [`CheckReport`].

mod calibrator;
mod candidates;
mod config;
mod document;
mod features;
mod pipeline;
mod prompts;
mod propose;
mod report;
mod scored;
mod select;
mod verify;
mod votes;

pub use calibrator::{CalibrationRow, Calibrator, CalibratorKind, Held, LEAN, NoPromise};
pub use candidates::{Candidate, verdict_of};
pub use config::{Abstention, CheckAblations, CheckConfig, Joining, Proposing, Scoring};
pub use document::{Sentence, claims_of};
pub use features::{FEATURES, Features};
pub use pipeline::{Check, Claim};
pub use report::{AbstainReason, CHECK_SCHEMA, CheckReport, Cited, PartReport, Stance};
