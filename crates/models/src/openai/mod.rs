//! Any endpoint that speaks OpenAI's chat completions: OpenAI itself, vLLM, Ollama, the llama.cpp server, and most
//! gateways.
//!
//! What such servers accept differs. The first time one refuses a field that can be done without (a temperature, a
//! JSON schema, `max_tokens` under its old name, ...) the request is sent once more without it, and the model is not
//! sent it again. That is no retry of a failure: nothing was answered yet, and a refused field fails for ever.
//!
//! Scores of given continuations ([`LanguageModel::score`]) are not offered: an endpoint of this kind does not show
//! where in the templated prompt a continuation begins, so that any figure would be a guess.

mod quirks;
mod wire;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use counterproof_core::{Capabilities, Completion, CompletionRequest, LanguageModel, Result};

use crate::http::{Endpoint, Failure};
use crate::secrets::{Secret, redact};
pub(crate) use wire::decimal;

use quirks::Quirks;

/// Where OpenAI itself answers.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// How to reach a model.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// The model's name at the endpoint.
    pub model: String,
    /// The endpoint up to and without `/chat/completions`.
    pub base_url: String,
    /// The key, if the endpoint wants one.
    pub key: Option<Secret>,
    /// The name of the variable that the key comes from, for messages.
    pub key_variable: String,
    /// How long one request may take at the very most, whatever the policy says.
    pub timeout: Duration,
    /// Tokens that prompt and reply may have together, when known.
    pub context_tokens: Option<u32>,
}

impl OpenAiConfig {
    /// `model` at OpenAI, or at `OPENAI_BASE_URL` where that is set, with the key in `OPENAI_API_KEY`.
    pub fn from_env(model: &str) -> Self {
        let base_url = std::env::var("OPENAI_BASE_URL").ok().filter(|url| !url.trim().is_empty());
        Self {
            model: model.to_owned(),
            base_url: base_url.unwrap_or_else(|| OPENAI_BASE_URL.to_owned()),
            key: Secret::from_env("OPENAI_API_KEY"),
            key_variable: "OPENAI_API_KEY".to_owned(),
            timeout: Duration::from_secs(600),
            context_tokens: None,
        }
    }

    /// `model` at another endpoint, without a key: a key for one service is not sent to another.
    pub fn at(base_url: &str, model: &str) -> Self {
        Self {
            model: model.to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            key_variable: "the variable that api_key_env names".to_owned(),
            timeout: Duration::from_secs(600),
            context_tokens: None,
        }
    }
}

/// A model behind an OpenAI-compatible endpoint.
#[derive(Debug)]
pub struct OpenAiModel {
    identity: String,
    model: String,
    url: String,
    endpoint: Endpoint,
    context_tokens: Option<u32>,
    quirks: Mutex<Quirks>,
}

impl OpenAiModel {
    /// A model at an endpoint. Nothing is sent yet.
    ///
    /// # Errors
    /// The base URL or the key cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Self> {
        let base = crate::spec::check_url(&config.base_url)?;
        let identity = if base == OPENAI_BASE_URL {
            format!("openai:{}", config.model)
        } else {
            format!("{}#{}", redact(&base, config.key.as_ref()), config.model)
        };
        let header = ("authorization", "Bearer ");
        Ok(Self {
            endpoint: Endpoint::new(&identity, config.key, header, &config.key_variable, config.timeout)?,
            url: format!("{base}/chat/completions"),
            identity,
            model: config.model,
            context_tokens: config.context_tokens,
            quirks: Mutex::new(Quirks::default()),
        })
    }

    fn quirks(&self) -> Quirks {
        *self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a field that was refused. Whether the request can be sent again without it.
    fn learn(&self, sent: Quirks, failure: &Failure) -> bool {
        let Some(learnt) = sent.after(failure) else { return false };
        let mut quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        let new = quirks.and(learnt);
        if new != *quirks {
            tracing::warn!(
                model = %self.identity, refused = %failure.error,
                "the model refuses a field of the request: it is left out from now on"
            );
        }
        *quirks = new;
        true
    }
}

#[async_trait]
impl LanguageModel for OpenAiModel {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn capabilities(&self) -> Capabilities {
        let quirks = self.quirks();
        Capabilities {
            schema: !quirks.no_schema,
            logprobs: !quirks.no_logprobs,
            score: false,
            local: false,
            context_tokens: self.context_tokens,
        }
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let mut tries = Quirks::COUNT;
        loop {
            let quirks = self.quirks();
            let body = wire::request(&self.model, request, quirks);
            match self.endpoint.post(&self.url, &body).await {
                Ok(reply) => {
                    return wire::completion(reply, request)
                        .map_err(|problem| self.endpoint.bad_reply(&problem));
                }
                Err(failure) if tries > 0 && self.learn(quirks, &failure) => tries -= 1,
                Err(failure) => return Err(failure.into()),
            }
        }
    }
}
