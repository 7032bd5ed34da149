//! Asking models, whoever runs them, in one way.
//!
//! A model is named ([`spec`]), built ([`openai`], [`anthropic`], [`recorded`]), put under one policy of retries, limits
//! and budgets ([`policy`]), its replies kept ([`cache`]) and counted ([`usage`]), each by a wrapper that is itself a
//! [`LanguageModel`](counterproof_core::LanguageModel):
//!
//! ```text
//! Metered( Cached( Governed( OpenAiModel )))
//! ```
//!
//! What is said to a model comes from prompt files ([`prompts`]), and what it replies is read by one parser ([`reply`]).
//! Weights that run on this machine come from the [`store`].

pub mod anthropic;
pub mod cache;
pub mod http;
pub mod once_map;
pub mod openai;
pub mod policy;
pub mod prompts;
pub mod recorded;
pub mod reply;
pub mod secrets;
pub mod spec;
pub mod store;
pub mod tei;
pub mod usage;
