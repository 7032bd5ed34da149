//! The in-memory twin of a language model.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Error, FinishReason, LanguageModel,
    Result, ScoreRequest, TokenLogprob, Tokens, Usage,
};

/// What a [`ScriptedModel`] does when it is asked.
#[derive(Debug, Clone)]
pub enum Script {
    /// Replies with these words.
    Reply(String),
    /// Fails.
    Fail(Error),
}

type Responder = dyn Fn(&CompletionRequest) -> Script + Send + Sync;
type Scorer = dyn Fn(&ScoreRequest) -> Vec<f64> + Send + Sync;

/// A model that says what it was told to say, and remembers what it was asked. For tests and examples.
pub struct ScriptedModel {
    responder: Box<Responder>,
    scorer: Option<Box<Scorer>>,
    requests: Mutex<Vec<CompletionRequest>>,
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel").finish_non_exhaustive()
    }
}

impl ScriptedModel {
    /// A model that answers every request by `respond`.
    pub fn new(respond: impl Fn(&CompletionRequest) -> Script + Send + Sync + 'static) -> Self {
        Self { responder: Box::new(respond), scorer: None, requests: Mutex::new(Vec::new()) }
    }

    /// A model that gives these replies by stage: the first pair whose stage is the request's. A stage that is not
    /// named is a failure.
    pub fn by_stage<const N: usize>(replies: [(&str, &str); N]) -> Self {
        let replies = replies.map(|(stage, reply)| (stage.to_owned(), reply.to_owned()));
        Self::new(move |request| match replies.iter().find(|(stage, _)| *stage == request.stage) {
            Some((_, reply)) => Script::Reply(reply.clone()),
            None => {
                Script::Fail(Error::failed("scripted model", format!("no reply for stage {}", request.stage)))
            }
        })
    }

    /// Lets the model score continuations: `score` gives one mean log-probability for each.
    #[must_use]
    pub fn scoring(mut self, score: impl Fn(&ScoreRequest) -> Vec<f64> + Send + Sync + 'static) -> Self {
        self.scorer = Some(Box::new(score));
        self
    }

    /// Every request for a reply so far, in order.
    pub fn requests(&self) -> Vec<CompletionRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn identity(&self) -> &str {
        "scripted"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { score: self.scorer.is_some(), local: true, ..Capabilities::default() }
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        match (self.responder)(request) {
            Script::Fail(error) => Err(error),
            Script::Reply(text) => {
                let words = |s: &str| Tokens(s.split_whitespace().count() as u64);
                Ok(Completion {
                    usage: Usage {
                        tokens_in: Tokens(request.messages.iter().map(|m| words(&m.content).0).sum()),
                        tokens_out: words(&text),
                    },
                    text,
                    reasoning: None,
                    finish: FinishReason::Stop,
                    tokens: None,
                    model: "scripted".to_owned(),
                    cached: false,
                })
            }
        }
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let Some(scorer) = &self.scorer else {
            return Err(Error::failed("scripted model", "no scores were scripted"));
        };
        Ok(request
            .continuations
            .iter()
            .zip(scorer(request))
            .map(|(c, logprob)| ContinuationScore {
                tokens: vec![TokenLogprob { token: c.0.clone(), logprob }],
            })
            .collect())
    }
}
