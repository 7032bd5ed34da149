//! counterproof puts an answer to the test before anyone relies on it: it looks for evidence *against* the answer,
//! and keeps it or repairs it, with the evidence quoted.
//!
//! This crate is what a Rust user depends on. It re-exports the types and seams of `counterproof-core` at its root,
//! and every other part as a module.

pub use counterproof_core::*;

pub use counterproof_encoders as encoders;
pub use counterproof_evaluation as evaluation;
#[cfg(feature = "gguf")]
pub use counterproof_gguf as gguf;
pub use counterproof_methods as methods;
pub use counterproof_models as models;
pub use counterproof_retrieval as retrieval;
pub use counterproof_text as text;
