//! One policy for every model: how often it is tried again, how long it may take, how much it may be asked at once and
//! in a minute, and what it may cost.
//!
//! Whether a failure is worth another try is said by the error itself ([`Error::is_transient`]); nothing here looks at
//! status codes.

mod limiter;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Error, LanguageModel, Price, Result,
    ScoreRequest, Tokens, UpstreamError, UpstreamKind, Usage, UserError,
};
use rand::Rng;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::cache::{CacheKey, is_repeatable};
use crate::once_map::OnceMap;
use crate::usage::{estimate_messages, estimate_request, estimate_tokens, score_usage};
use limiter::Limiter;

/// How a model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// How often a call is made at most, the first time included.
    pub max_attempts: u32,
    /// Milliseconds that the first wait between two tries is drawn from: it is uniform from zero to this, and the bound
    /// doubles with each further try ("full jitter").
    pub backoff_ms: u64,
    /// Milliseconds that such a bound never exceeds.
    pub max_backoff_ms: u64,
    /// Seconds that a service may ask us to wait. If it asks for longer, the call fails at once and says for how long.
    pub max_retry_after_s: u64,
    /// Seconds that one try may take.
    pub timeout_s: f64,
    /// Calls under way at the same time.
    pub max_concurrent: usize,
    /// Calls begun in any minute, retries included.
    pub requests_per_minute: Option<u32>,
    /// Tokens of prompts and replies in any minute, estimated before a call and put right after it.
    pub tokens_per_minute: Option<u64>,
    /// US dollars that may be spent in all. It needs the price of the model.
    pub max_cost_usd: Option<f64>,
    /// The price of the model, where it is known.
    pub price: Option<Price>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            backoff_ms: 500,
            max_backoff_ms: 30_000,
            max_retry_after_s: 120,
            timeout_s: 120.0,
            max_concurrent: 16,
            requests_per_minute: None,
            tokens_per_minute: None,
            max_cost_usd: None,
            price: None,
        }
    }
}

impl Policy {
    fn check(&self) -> Result<()> {
        let wrong = |what: &str, problem: &str| Err(Error::invalid(what, problem));
        if self.max_attempts == 0 {
            return wrong("max_attempts", "at least 1 call has to be made");
        }
        if self.max_concurrent == 0 || self.max_concurrent > Semaphore::MAX_PERMITS {
            return wrong("max_concurrent", "at least 1 call has to be under way");
        }
        if !(self.timeout_s > 0.0 && Duration::try_from_secs_f64(self.timeout_s).is_ok()) {
            return wrong("timeout_s", "give a number of seconds above 0");
        }
        if self.requests_per_minute == Some(0) || self.tokens_per_minute == Some(0) {
            return wrong("requests_per_minute, tokens_per_minute", "at least 1, or leave them out");
        }
        match self.max_cost_usd {
            Some(_) if self.price.is_none() => {
                wrong("max_cost_usd", "the price of the model is not known: set price.input and price.output")
            }
            Some(usd) if usd.is_nan() || usd < 0.0 => wrong("max_cost_usd", "give a number of US dollars"),
            _ => Ok(()),
        }
    }

    fn timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.timeout_s).unwrap_or(Duration::MAX)
    }

    /// The wait after the `failed`-th try (from one) that failed with this error; `None` when there is no use in it.
    fn wait(&self, failed: u32, error: &Error) -> Option<Duration> {
        if !error.is_transient() || failed >= self.max_attempts {
            return None;
        }
        let bound = self.backoff_ms.saturating_mul(1 << (failed - 1).min(20)).min(self.max_backoff_ms);
        let jitter = Duration::from_millis(rand::rng().random_range(0..=bound));
        match error.retry_after() {
            Some(asked) if asked > Duration::from_secs(self.max_retry_after_s) => None,
            Some(asked) => Some(asked + jitter),
            None => Some(jitter),
        }
    }
}

/// A model that is asked under a [`Policy`].
///
/// The same repeatable request in flight runs once: whoever asks it meanwhile gets the same reply. Requests that are
/// drawn at random without a seed each run on their own.
#[derive(Debug)]
pub struct Governed<M: ?Sized> {
    policy: Policy,
    slots: Semaphore,
    requests: Option<Limiter>,
    tokens: Option<Limiter>,
    /// Until when the service asked everybody to wait.
    quiet_until: Mutex<Option<Instant>>,
    spent: Mutex<f64>,
    completions: OnceMap<CacheKey, Result<Completion>>,
    scores: OnceMap<CacheKey, Result<Vec<ContinuationScore>>>,
    inner: Arc<M>,
}

impl<M: LanguageModel + ?Sized> Governed<M> {
    /// Puts `inner` under `policy`.
    ///
    /// # Errors
    /// A value of the policy makes no sense, or there is a cost limit but no price.
    pub fn new(inner: Arc<M>, policy: Policy) -> Result<Self> {
        policy.check()?;
        Ok(Self {
            slots: Semaphore::new(policy.max_concurrent),
            requests: policy.requests_per_minute.map(|n| Limiter::new(f64::from(n))),
            tokens: policy.tokens_per_minute.map(|n| Limiter::new(n as f64)),
            quiet_until: Mutex::new(None),
            spent: Mutex::new(0.0),
            completions: OnceMap::new(),
            scores: OnceMap::new(),
            policy,
            inner,
        })
    }

    /// US dollars spent so far, when the price is known.
    pub fn spent_usd(&self) -> Option<f64> {
        self.policy.price.map(|_| *self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a call until it succeeds, or there is no use in another try.
    async fn call<T, F: Future<Output = Result<T>> + Send>(
        &self,
        stage: &str,
        estimate: Usage,
        call: impl Fn() -> F + Send + Sync,
        used: impl Fn(&T) -> Usage + Send + Sync,
    ) -> Result<T>
    where
        T: Send,
    {
        let mut failed = 0;
        loop {
            let error = match self.attempt(estimate, &call, &used).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            failed += 1;
            let Some(wait) = self.policy.wait(failed, &error) else { return Err(error) };
            tracing::warn!(
                model = self.inner.identity(), stage, failed, wait_ms = wait.as_millis() as u64, %error,
                "a call failed and is tried again"
            );
            if let Some(asked) = error.retry_after() {
                self.be_quiet(asked);
            }
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt<T, F: Future<Output = Result<T>> + Send>(
        &self,
        estimate: Usage,
        call: &(impl Fn() -> F + Send + Sync),
        used: &(impl Fn(&T) -> Usage + Send + Sync),
    ) -> Result<T>
    where
        T: Send,
    {
        let _slot = self.slots.acquire().await.map_err(|e| Error::failed("waiting for a turn", e))?;
        let mut request = match &self.requests {
            Some(limiter) => Some(limiter.reserve(1.0).await),
            None => None,
        };
        let amount = (estimate.tokens_in + estimate.tokens_out).0 as f64;
        let mut tokens = match &self.tokens {
            Some(limiter) => Some(limiter.reserve(amount).await),
            None => None,
        };
        self.until_quiet_is_over().await;
        let mut budget = self.reserve_budget(estimate)?;
        request.iter_mut().for_each(limiter::Reserved::spend);
        tokens.iter_mut().for_each(limiter::Reserved::spend);
        let limit = self.policy.timeout();
        let reply = match tokio::time::timeout(limit, call()).await {
            Ok(reply) => reply?,
            Err(_) => {
                let error = UpstreamError {
                    service: self.inner.identity().to_owned(),
                    kind: UpstreamKind::Timeout,
                    message: format!("no reply within {} s (timeout_s)", self.policy.timeout_s),
                    retry_after: None,
                };
                return Err(error.into());
            }
        };
        let usage = used(&reply);
        if let Some(tokens) = tokens {
            tokens.settle((usage.tokens_in + usage.tokens_out).0 as f64);
        }
        budget.spent = self.policy.price.map_or(0.0, |price| price.of(usage));
        Ok(reply)
    }

    fn be_quiet(&self, asked: Duration) {
        let until = Instant::now() + asked;
        let mut quiet = self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        *quiet = Some(quiet.map_or(until, |other| other.max(until)));
    }

    async fn until_quiet_is_over(&self) {
        let until = *self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
    }

    /// Sets aside what a call may cost, so that calls under way together keep within the budget.
    fn reserve_budget(&self, estimate: Usage) -> Result<Budget<'_>> {
        let reserved = self.policy.price.map_or(0.0, |price| price.of(estimate));
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limit) = self.policy.max_cost_usd.filter(|limit| *spent + reserved > *limit) {
            let detail = format!(
                "${:.4} of ${limit:.4} are spent or under way and the next call may cost ${reserved:.4}; raise max_cost_usd to go on",
                *spent
            );
            return Err(UserError::Budget { limit: "max_cost_usd", detail }.into());
        }
        *spent += reserved;
        Ok(Budget { total: &self.spent, reserved, spent: 0.0 })
    }
}

/// What was set aside for a call. In the end only what was spent counts.
struct Budget<'g> {
    total: &'g Mutex<f64>,
    reserved: f64,
    spent: f64,
}

impl Drop for Budget<'_> {
    fn drop(&mut self) {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        *total = (*total - self.reserved + self.spent).max(0.0);
    }
}

#[async_trait]
impl<M: LanguageModel + ?Sized> LanguageModel for Governed<M> {
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let estimate = estimate_request(request);
        let run =
            || self.call(&request.stage, estimate, || self.inner.complete(request), |reply| reply.usage);
        if !is_repeatable(&request.sampling) {
            return run().await;
        }
        let key = CacheKey::of_completion(self.inner.identity(), request);
        self.completions.run(&key, run).await
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let texts: u64 = request.continuations.iter().map(|c| estimate_tokens(&c.0).0).sum();
        let estimate =
            Usage { tokens_in: estimate_messages(&request.messages) + Tokens(texts), tokens_out: Tokens(0) };
        let key = CacheKey::of_scores(self.inner.identity(), request);
        let run = || {
            self.call(
                &request.stage,
                estimate,
                || self.inner.score(request),
                |scores| score_usage(request, scores),
            )
        };
        self.scores.run(&key, run).await
    }
}
