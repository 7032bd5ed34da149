//! What calls cost: counted by stage as they are made, and estimated before any is made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Cost, LanguageModel, Message, Price,
    Result, ScoreRequest, StageCost, Tokens, Usage,
};
use serde::{Deserialize, Serialize};

/// Tokens that `text` has by rule of thumb: one for four bytes of alphabetic writing, one for each Chinese, Japanese
/// or Korean character. It is an estimate; only the model's own tokenizer counts exactly.
pub fn estimate_tokens(text: &str) -> Tokens {
    let mut cjk = 0u64;
    let mut other = 0u64;
    for c in text.chars() {
        match c {
            '\u{2e80}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}'
            | '\u{20000}'..='\u{3134f}' => cjk += 1,
            _ => other += c.len_utf8() as u64,
        }
    }
    Tokens(cjk + other.div_ceil(4))
}

/// Tokens of a conversation by rule of thumb, with a few for the marks between its messages.
pub fn estimate_messages(messages: &[Message]) -> Tokens {
    const PER_MESSAGE: u64 = 4;
    messages.iter().fold(Tokens(0), |sum, m| sum + estimate_tokens(&m.content) + Tokens(PER_MESSAGE))
}

/// The reply to a request that sets no limit, as estimates take it.
pub(crate) const ASSUMED_REPLY: u64 = 512;

/// Tokens that a request may use: those of its prompt, and its limit (or 512) of reply.
pub fn estimate_request(request: &CompletionRequest) -> Usage {
    Usage {
        tokens_in: estimate_messages(&request.messages),
        tokens_out: Tokens(request.sampling.max_tokens.map_or(ASSUMED_REPLY, u64::from)),
    }
}

/// What work would cost that has not been done: for `--dry-run`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Always true: the figures are by rule of thumb, not by the model's tokenizer.
    pub estimated: bool,
    /// Calls to a model.
    pub model_calls: u64,
    /// Tokens of all prompts.
    pub tokens_in: Tokens,
    /// Tokens of all replies, if each is as long as it may be.
    pub tokens_out: Tokens,
    /// US dollars at most, when the price of the model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Calls by stage.
    pub stages: BTreeMap<String, u64>,
}

impl Estimate {
    /// Estimates these requests.
    pub fn of<'r>(requests: impl IntoIterator<Item = &'r CompletionRequest>, price: Option<Price>) -> Self {
        let mut estimate = Self { estimated: true, usd: price.map(|_| 0.0), ..Self::default() };
        for request in requests {
            estimate.add(&request.stage, 1, estimate_request(request), price);
        }
        estimate
    }

    /// Adds `calls` calls of a stage, each with this usage.
    pub fn add(&mut self, stage: &str, calls: u64, each: Usage, price: Option<Price>) {
        self.estimated = true;
        self.model_calls += calls;
        self.tokens_in += Tokens(each.tokens_in.0.saturating_mul(calls));
        self.tokens_out += Tokens(each.tokens_out.0.saturating_mul(calls));
        *self.stages.entry(stage.to_owned()).or_default() += calls;
        if let Some(price) = price {
            *self.usd.get_or_insert(0.0) += price.of(each) * calls as f64;
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an estimate: {} model calls, about {} tokens of prompts, up to {} tokens of replies",
            self.model_calls, self.tokens_in.0, self.tokens_out.0
        )?;
        match self.usd {
            Some(usd) => write!(f, ", at most about ${usd:.2}"),
            None => write!(f, ", price unknown"),
        }
    }
}

/// What was spent so far, by stage.
#[derive(Debug, Default)]
pub struct Ledger {
    cost: Mutex<Cost>,
}

impl Ledger {
    /// A ledger with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The costs so far.
    pub fn cost(&self) -> Cost {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what a stage cost.
    pub fn add(&self, stage: &str, cost: StageCost) {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).add(stage, cost);
    }
}

/// The cost of one call, as it stands in [`Cost`]: what came from a cache costs nothing, and what has no known price
/// has no known cost.
pub fn call_cost(usage: Usage, cached: bool, wall: Duration, price: Option<Price>) -> StageCost {
    StageCost {
        model_calls: 1,
        cached_calls: u64::from(cached),
        tokens_in: usage.tokens_in,
        tokens_out: usage.tokens_out,
        searches: 0,
        wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        usd: price.map(|price| if cached { 0.0 } else { price.of(usage) }),
    }
}

/// A model whose calls are written into a ledger. It belongs outermost, so that it sees which replies were cached.
#[derive(Debug)]
pub struct Metered<M: ?Sized> {
    price: Option<Price>,
    ledger: Arc<Ledger>,
    inner: Arc<M>,
}

impl<M: LanguageModel + ?Sized> Metered<M> {
    /// Counts the calls of `inner` in `ledger`, at `price` where it is known.
    pub fn new(inner: Arc<M>, ledger: Arc<Ledger>, price: Option<Price>) -> Self {
        Self { price, ledger, inner }
    }
}

#[async_trait]
impl<M: LanguageModel + ?Sized> LanguageModel for Metered<M> {
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let start = Instant::now();
        let result = self.inner.complete(request).await;
        if let Ok(reply) = &result {
            let cost = call_cost(reply.usage, reply.cached, start.elapsed(), self.price);
            self.ledger.add(&request.stage, cost);
        } else {
            // A call that failed was made all the same; what it used nobody says.
            self.ledger.add(&request.stage, call_cost(Usage::default(), false, start.elapsed(), None));
        }
        result
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let start = Instant::now();
        let result = self.inner.score(request).await;
        let usage = result.as_ref().map_or_else(|_| Usage::default(), |scores| score_usage(request, scores));
        self.ledger.add(&request.stage, call_cost(usage, false, start.elapsed(), None));
        result
    }
}

/// Tokens that scoring read: the prompt (estimated) once, and every continuation; it writes none.
pub(crate) fn score_usage(request: &ScoreRequest, scores: &[ContinuationScore]) -> Usage {
    let read: u64 = scores.iter().map(|s| s.tokens.len() as u64).sum();
    Usage { tokens_in: estimate_messages(&request.messages) + Tokens(read), tokens_out: Tokens(0) }
}

#[cfg(test)]
mod tests {
    use counterproof_core::{Sampling, ScriptedModel};

    use super::*;

    #[test]
    fn tokens_are_estimated_for_both_writings() {
        assert_eq!(estimate_tokens(""), Tokens(0));
        assert_eq!(estimate_tokens("the observatory opened in 1913"), Tokens(8));
        assert_eq!(estimate_tokens("天文台于一九一三年开放"), Tokens(11));
    }

    #[test]
    fn an_estimate_says_that_it_is_one_and_never_makes_up_a_price() {
        let request = CompletionRequest {
            stage: "gate".into(),
            messages: vec![Message::user("x".repeat(384))],
            sampling: Sampling::greedy(50),
            ..CompletionRequest::default()
        };
        let price = Price { input: 1.0, output: 10.0 };
        let known = Estimate::of([&request, &request], Some(price));
        assert_eq!((known.model_calls, known.tokens_in, known.tokens_out), (2, Tokens(200), Tokens(100)));
        assert!((known.usd.unwrap() - 0.0012).abs() < 1e-12);
        let unknown = Estimate::of([&request], None);
        assert_eq!(unknown.usd, None);
        assert!(unknown.to_string().starts_with("an estimate: 1 model calls"), "{unknown}");
        assert!(unknown.to_string().ends_with("price unknown"));
    }

    #[tokio::test]
    async fn calls_are_counted_by_stage() {
        let ledger = Arc::new(Ledger::new());
        let model = Arc::new(ScriptedModel::by_stage([("draft", "one two")]));
        let metered = Metered::new(model, ledger.clone(), Some(Price { input: 1e6, output: 1e6 }));
        let ask = |stage: &str| CompletionRequest {
            stage: stage.to_owned(),
            messages: vec![Message::user("a b c")],
            ..CompletionRequest::default()
        };
        metered.complete(&ask("draft")).await.unwrap();
        assert!(metered.complete(&ask("gate")).await.is_err());
        let cost = ledger.cost();
        assert_eq!(cost.total.model_calls, 2);
        assert_eq!((cost.stages["draft"].tokens_in, cost.stages["draft"].tokens_out), (Tokens(3), Tokens(2)));
        assert_eq!(cost.stages["draft"].usd, Some(5.0));
        assert_eq!(cost.stages["gate"].usd, None);
    }
}
