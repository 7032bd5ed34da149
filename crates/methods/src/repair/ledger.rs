//! Every search and model call goes through here, so that none is made without standing in the trace and in the cost.

use std::time::Instant;

use counterproof_core::{
    Completion, CompletionRequest, ContinuationScore, Cost, Event, Hit, LanguageModel, Price, Result,
    Retriever, Score, ScoreRequest, StageCost, Tokens, Trace, TracedHit, Usage,
};
use futures::future::join_all;

use super::query::QueryRole;

/// What was done so far, and what it cost.
#[derive(Debug, Default)]
pub struct Ledger {
    /// What happened.
    pub trace: Trace,
    /// What it cost.
    pub cost: Cost,
    price: Option<Price>,
}

/// A search to be made.
pub(super) struct Search {
    pub(super) stage: &'static str,
    pub(super) role: QueryRole,
    pub(super) query: String,
    pub(super) k: usize,
}

impl Ledger {
    /// An empty ledger for a model with this price.
    pub fn new(price: Option<Price>) -> Self {
        Self { price, ..Self::default() }
    }

    /// Makes the searches at the same time and notes them in their order. A failed one is noted and does not stop
    /// the others.
    pub(super) async fn search_all(
        &mut self,
        retriever: &dyn Retriever,
        searches: Vec<Search>,
    ) -> Vec<(QueryRole, Result<Vec<Hit>>)> {
        let done = join_all(searches.into_iter().map(|search| async move {
            let start = Instant::now();
            let found = retriever.search(&search.query, search.k).await;
            (search, found, elapsed_ms(start))
        }))
        .await;
        done.into_iter()
            .map(|(search, found, wall_ms)| {
                self.cost.add(search.stage, StageCost { searches: 1, wall_ms, ..StageCost::default() });
                self.trace.push(Event::Search {
                    stage: search.stage.to_owned(),
                    query: search.query,
                    k: search.k,
                    hits: found.as_deref().unwrap_or_default().iter().map(TracedHit::from).collect(),
                    error: found.as_ref().err().map(counterproof_core::Error::body),
                    wall_ms,
                });
                (search.role, found)
            })
            .collect()
    }

    /// Asks for a reply.
    ///
    /// # Errors
    /// The model's, noted before it is passed on.
    pub async fn complete(
        &mut self,
        model: &dyn LanguageModel,
        request: CompletionRequest,
    ) -> Result<Completion> {
        let start = Instant::now();
        let reply = model.complete(&request).await;
        let wall_ms = elapsed_ms(start);
        let usage = reply.as_ref().map(|r| r.usage).unwrap_or_default();
        let cached = reply.as_ref().is_ok_and(|r| r.cached);
        self.cost.add(&request.stage, self.call_cost(usage, cached, wall_ms));
        self.trace.push(Event::Reply {
            stage: request.stage,
            model: model.identity().to_owned(),
            prompt: request.prompt,
            messages: request.messages,
            reply: reply.as_ref().ok().map(|r| r.text.clone()),
            finish: reply.as_ref().ok().map(|r| r.finish),
            usage,
            cached,
            error: reply.as_ref().err().map(counterproof_core::Error::body),
            wall_ms,
        });
        reply
    }

    /// Asks for scores of given continuations; the trace keeps the mean log-probability of each.
    ///
    /// # Errors
    /// The model's, noted before it is passed on.
    pub async fn score(
        &mut self,
        model: &dyn LanguageModel,
        request: ScoreRequest,
    ) -> Result<Vec<ContinuationScore>> {
        let start = Instant::now();
        let scores = model.score(&request).await;
        let wall_ms = elapsed_ms(start);
        let tokens = scores.iter().flatten().map(|s| s.tokens.len() as u64).sum();
        let usage = Usage { tokens_in: Tokens(tokens), tokens_out: Tokens(0) };
        self.cost.add(&request.stage, self.call_cost(usage, false, wall_ms));
        match &scores {
            Ok(scores) => self.trace.push(Event::Scores {
                stage: request.stage,
                model: model.identity().to_owned(),
                scores: request
                    .continuations
                    .into_iter()
                    .zip(scores)
                    .map(|(c, s)| (c.0, Score::new(s.mean())))
                    .collect(),
                wall_ms,
            }),
            Err(error) => self.trace.note(&request.stage, format!("scoring failed: {error}")),
        }
        scores
    }

    fn call_cost(&self, usage: Usage, cached: bool, wall_ms: u64) -> StageCost {
        StageCost {
            model_calls: 1,
            cached_calls: u64::from(cached),
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            searches: 0,
            wall_ms,
            usd: self.price.map(|p| if cached { 0.0 } else { p.of(usage) }),
        }
    }
}

pub(super) fn elapsed_ms(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
