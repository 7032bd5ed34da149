//! counterproof puts an answer to the test before anyone relies on it: it looks for evidence *against* the answer,
//! and keeps it or repairs it, with the evidence quoted.
//!
//! This crate is what a Rust user depends on. It re-exports the types and seams of `counterproof-core` at its root,
//! and every other part as a module:
//!
//! ```
//! use std::sync::Arc;
//!
//! use counterproof::methods::repair::{Repair, RepairConfig};
//! use counterproof::retrieval::ListRetriever;
//! use counterproof::{Limits, Passage, Question, ScriptedModel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> counterproof::Result<()> {
//! let passage = Passage::new("p1", "Eiffel Tower", "The Eiffel Tower opened on 31 March 1889.");
//! let evidence = ListRetriever::new([passage], &Limits::default())?;
//! // Any model will do: `models::OpenAiModel`, `models::AnthropicModel`, `gguf::GgufModel`; this one has a script.
//! let reply = "DECISION: REVISE\nANSWER: 1889\nEVIDENCE: The Eiffel Tower opened on 31 March 1889.";
//! let model = ScriptedModel::by_stage([("gate", reply)]);
//! let repair = Repair::new(Arc::new(evidence), Arc::new(model), RepairConfig::default());
//! let report = repair.repair(&Question::new("In what year did the Eiffel Tower open?"), "1887").await?;
//! assert_eq!(report.answer, "1889");
//! println!("{}, because: \"{}\"", report.answer, report.citations[0].quote);
//! # Ok(())
//! # }
//! ```

pub mod own;

pub use counterproof_core::*;

pub use counterproof_batch as batch;
pub use counterproof_datasets as datasets;
pub use counterproof_encoders as encoders;
pub use counterproof_evaluation as evaluation;
#[cfg(feature = "gguf")]
pub use counterproof_gguf as gguf;
pub use counterproof_methods as methods;
pub use counterproof_models as models;
pub use counterproof_retrieval as retrieval;
pub use counterproof_text as text;
pub use counterproof_training as training;

/// The README's example is compiled and run like the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
