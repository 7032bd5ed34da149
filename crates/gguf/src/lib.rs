//! A GGUF language model in process: no server, no network, no key, pure Rust on the CPU.
//!
//! It answers messages, and it scores given answers, which is what a small model is best at: the choice between a draft
//! and an alternative is read from the probabilities of their tokens instead of from free text. The weights stay
//! quantised in a memory map; the tokenizer and the chat template are those of the file; Llama, Qwen 2, Qwen 3 and
//! Gemma 3 models run on one transformer. A prompt that was read is remembered, so that prompts which begin alike and
//! several continuations of one prompt are paid for once.
//!
//! ```no_run
//! use counterproof_core::{CompletionRequest, LanguageModel, Message, Sampling};
//! use counterproof_gguf::{GgufModel, GgufOptions};
//!
//! # async fn run() -> counterproof_core::Result<()> {
//! let model = GgufModel::open("model.gguf", &GgufOptions::default())?;
//! let request = CompletionRequest {
//!     messages: vec![Message::user("What is the capital of France?")],
//!     sampling: Sampling::greedy(32),
//!     ..CompletionRequest::default()
//! };
//! println!("{}", model.complete(&request).await?.text);
//! # Ok(())
//! # }
//! ```

mod chat;
mod engine;
mod file;
mod model;
mod ops;
mod prompts;
mod reply;
mod sampler;
mod tokenizer;
mod worker;

#[cfg(test)]
mod real_weights_tests;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

pub use worker::GgufModel;

/// How a GGUF model is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgufOptions {
    /// Threads to compute with; by default one for each core the process may use.
    pub threads: Option<usize>,
    /// Tokens that prompt and reply may have together; by default as many as the model was trained for, which is also
    /// the most. Memory for a prompt is taken as it grows.
    pub context_tokens: Option<usize>,
    /// Tokens of a prompt that are read in one pass. More make long prompts faster and take more memory; a request that is
    /// withdrawn stops within a layer of a pass.
    pub prefill_chunk: usize,
    /// How many prompts are remembered.
    pub prompt_caches: usize,
    /// Whether a model that can think before it answers does so. What it thinks goes into
    /// [`counterproof_core::Completion::reasoning`].
    pub thinking: bool,
}

impl Default for GgufOptions {
    fn default() -> Self {
        Self { threads: None, context_tokens: None, prefill_chunk: 256, prompt_caches: 2, thinking: false }
    }
}
