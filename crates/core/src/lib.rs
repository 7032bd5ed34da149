//! What every part of counterproof speaks: questions, passages, citations, verdicts, traces, errors, and the five
//! seams through which evidence and models are reached.
//!
//! This crate does no I/O and brings no async runtime, so that a method can be read, tested and embedded without any
//! particular engine or vendor. Each seam is a small trait whose contract is written on it, with an in-memory twin
//! beside it that tests and examples use in place of the real thing:
//!
//! | seam | asks | twin |
//! |---|---|---|
//! | [`Retriever`] | which passages speak about this? | [`InMemoryRetriever`] |
//! | [`LanguageModel`] | what does the model reply, or prefer? | [`ScriptedModel`] |
//! | [`Entailment`] | does this text support that statement? | [`LexicalEntailment`] |
//! | [`Embedder`] | where does this text lie in meaning? | [`HashEmbedder`] |
//! | [`SpanReader`] | which words of this passage answer the question? | [`ScriptedReader`] |

mod citation;
mod cost;
mod embedder;
mod entailment;
mod error;
mod hash;
mod language_model;
mod limits;
mod no_model;
mod passage;
mod question;
mod reader;
mod retriever;
mod score;
mod scripted;
mod span;
mod trace;
mod verdict;

pub use citation::{Citation, CitationError};
pub use cost::{Cost, Price, StageCost, Tokens, Usage};
pub use embedder::{Embedder, HashEmbedder};
pub use entailment::{Entailment, LexicalEntailment, Nli, nli_order};
pub use error::{Error, ErrorBody, InternalError, Result, UpstreamError, UpstreamKind, UserError};
pub use hash::{Sha256Hex, sha256_hex};
pub use language_model::{
    Capabilities, Completion, CompletionRequest, Continuation, ContinuationScore, FinishReason,
    LanguageModel, Message, OutputSchema, PromptRef, Role, Sampling, ScoreRequest, TokenLogprob,
};
pub use limits::Limits;
pub use no_model::NoModel;
pub use passage::{Passage, PassageId};
pub use question::{Question, QuestionType};
pub use reader::{AnswerSpan, Reading, ScriptedReader, SpanReader};
pub use retriever::{Hit, InMemoryRetriever, Retriever};
pub use score::{Probability, Score};
pub use scripted::{Script, ScriptedModel};
pub use span::ByteSpan;
pub use trace::{Event, RuleOutcome, TRACE_SCHEMA, Trace, TracedHit};
pub use verdict::Verdict;
