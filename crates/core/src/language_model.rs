//! The seam to language models.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Sha256Hex, Usage, UserError};

/// Who speaks a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The request.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

impl Message {
    /// Standing instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// The request.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// Something the model said before.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// How a reply is drawn. A field that is `None` is left out of the request, because some models refuse it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// 0 takes the likeliest token each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Draws only from the likeliest tokens that together hold this much probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// Makes drawing repeatable where the model can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Tokens of reply at most. `None` leaves it to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The reply ends before any of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl Sampling {
    /// The likeliest token each time, `max_tokens` at most.
    pub fn greedy(max_tokens: u32) -> Self {
        Self { temperature: Some(0.0), max_tokens: Some(max_tokens), ..Self::default() }
    }
}

/// The shape that a structured reply must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// A short name (letters, digits, `_`, `-`).
    pub name: String,
    /// JSON Schema of the reply. A model that cannot be held to it is given the prompt alone.
    pub schema: serde_json::Value,
}

/// Which prompt file a request was made from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PromptRef {
    /// Name and version of the file, such as `repair/gate.en@1`.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: Sha256Hex,
}

/// A request for a reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// The stage of the method that asks (`draft`, `gate`, ...): cost is counted by it. Not part of cache keys.
    pub stage: String,
    /// The conversation. A last message by the assistant is a beginning that the reply goes on from, where the model
    /// can do that.
    pub messages: Vec<Message>,
    /// How the reply is drawn.
    pub sampling: Sampling,
    /// The shape the reply must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<OutputSchema>,
    /// Whether log-probabilities of the reply's tokens are wanted.
    pub logprobs: bool,
    /// The prompt file the messages were made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptRef>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done, or met a stop text.
    Stop,
    /// It was cut off at the limit of tokens.
    Length,
    /// The provider withheld it.
    Filtered,
    /// The provider gave another reason or none.
    Other,
}

/// A token with the probability it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The token's text.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The words of the reply, without the reasoning.
    pub text: String,
    /// What the model reasoned before, where it is given apart. For traces only: never read as an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tokens used.
    pub usage: Usage,
    /// Why the reply ended.
    pub finish: FinishReason,
    /// Tokens of the reply with their log-probabilities, when asked for and available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<TokenLogprob>>,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// Whether the reply came from the cache.
    #[serde(default)]
    pub cached: bool,
}

/// One text that may follow a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Continuation(pub String);

/// A request to score given continuations of one prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreRequest {
    /// The stage of the method that asks.
    pub stage: String,
    /// The conversation up to the model's turn. A last message by the assistant is the beginning of that turn; the
    /// continuations are appended to it as they are (a space that should separate them belongs to one or the other).
    pub messages: Vec<Message>,
    /// The texts to score, each on its own after the same prompt.
    pub continuations: Vec<Continuation>,
    /// The prompt file the messages were made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptRef>,
}

/// How likely a model holds a continuation to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContinuationScore {
    /// The continuation's tokens with their log-probabilities given all that stands before them. Never empty for a
    /// continuation that holds a token.
    pub tokens: Vec<TokenLogprob>,
}

impl ContinuationScore {
    /// Log-probability of the whole continuation: the sum over its tokens.
    pub fn total(&self) -> f64 {
        self.tokens.iter().map(|t| t.logprob).sum()
    }

    /// Mean log-probability a token, by which continuations of different length can be compared; negative infinity
    /// when there is no token.
    pub fn mean(&self) -> f64 {
        if self.tokens.is_empty() { f64::NEG_INFINITY } else { self.total() / self.tokens.len() as f64 }
    }
}

/// What a model can do, as far as is known before asking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capabilities {
    /// Can be held to a JSON schema.
    pub schema: bool,
    /// Gives log-probabilities of the tokens of its reply.
    pub logprobs: bool,
    /// Scores given continuations ([`LanguageModel::score`]).
    pub score: bool,
    /// Runs in this process: no network, no price, and no use in many calls at once.
    pub local: bool,
    /// Tokens that prompt and reply may have together, when known.
    pub context_tokens: Option<u32>,
}

impl Capabilities {
    /// Whether given texts are better scored than written by the model: a small local one seldom writes what it makes of a
    /// passage, but tells how likely it holds an answer or a label.
    pub fn is_best_scored(&self) -> bool {
        self.local && self.score
    }
}

/// Replies to messages, and scores given replies.
///
/// Contract: a reply that was cut off says so in its [`FinishReason`]; a reply that is no reply (half a body, HTML,
/// nothing) is an error, never an empty text passed off as one. Errors say whether they are worth another try; an
/// implementation does not try again by itself, since that is decided in one place for all.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Names the model, its provider and, for local files, its weights: part of every cache key.
    fn identity(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// The reply to a request.
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion>;

    /// Scores continuations of a prompt: one score a continuation, in the order given.
    ///
    /// # Errors
    /// A model without [`Capabilities::score`] answers [`UserError::Unsupported`].
    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let _ = request;
        Err(Error::from(UserError::Unsupported {
            who: self.identity().to_owned(),
            what: "score given answers: it does not give token probabilities of a prompt".to_owned(),
        }))
    }
}
