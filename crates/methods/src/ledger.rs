//! Every search and model call goes through here, so that none is made without standing in the trace and in the cost.

use std::time::{Duration, Instant};

use counterproof_core::{
    AnswerSpan, Completion, CompletionRequest, ContinuationScore, Cost, Entailment, Error, Event, Hit,
    LanguageModel, Nli, Passage, PassageId, Price, Reading, Result, Retriever, Score, ScoreRequest,
    SpanReader, StageCost, Tokens, Trace, TracedHit, Usage,
};
use counterproof_models::usage::call_cost;
use futures::future::join_all;

/// The best spans of a reading that a trace keeps.
const TRACED_SPANS: usize = 8;

/// What was done so far, and what it cost.
#[derive(Debug, Default)]
pub struct Ledger {
    /// What happened.
    pub trace: Trace,
    /// What it cost.
    pub cost: Cost,
    price: Option<Price>,
    /// Calls of a language model at most; what goes beyond is refused.
    budget: Option<u64>,
}

/// A search to be made, for a purpose that the caller knows by `role`.
pub(crate) struct Search<Role> {
    pub(crate) stage: &'static str,
    pub(crate) role: Role,
    pub(crate) query: String,
    pub(crate) k: usize,
}

/// A statement to be judged by a premise.
pub(crate) struct Stated<'a> {
    /// What the premise is called in the trace.
    pub(crate) name: PassageId,
    pub(crate) premise: &'a str,
    pub(crate) statement: &'a str,
    /// The statement as the trace tells it.
    pub(crate) told: &'a str,
}

impl Ledger {
    /// An empty ledger for a model with this price.
    pub fn new(price: Option<Price>) -> Self {
        Self { price, ..Self::default() }
    }

    /// The same with calls of a language model limited.
    pub(crate) fn within(self, calls: Option<usize>) -> Self {
        Self { budget: calls.map(|n| u64::try_from(n).unwrap_or(u64::MAX)), ..self }
    }

    /// How many calls may still be made.
    pub(crate) fn calls_left(&self) -> usize {
        let left = self.budget.map_or(u64::MAX, |budget| budget.saturating_sub(self.cost.total.model_calls));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    fn spent() -> Error {
        Error::invalid("the budget of calls", "it is spent")
    }

    /// Makes the searches at the same time and notes them in their order. A failed one is noted and does not stop
    /// the others.
    pub(crate) async fn search_all<Role>(
        &mut self,
        retriever: &dyn Retriever,
        searches: Vec<Search<Role>>,
    ) -> Vec<(Role, Result<Vec<Hit>>)> {
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
        if self.calls_left() == 0 {
            return Err(Self::spent());
        }
        let start = Instant::now();
        let reply = model.complete(&request).await;
        self.replied(model, request, reply, elapsed_ms(start))
    }

    /// Asks for replies at the same time and notes them in their order.
    pub(crate) async fn complete_all(
        &mut self,
        model: &dyn LanguageModel,
        requests: Vec<CompletionRequest>,
    ) -> Vec<Result<Completion>> {
        let mut requests = requests;
        let refused = requests.split_off(self.calls_left().min(requests.len()));
        let done = join_all(requests.into_iter().map(|request| async move {
            let start = Instant::now();
            let reply = model.complete(&request).await;
            (request, reply, elapsed_ms(start))
        }))
        .await;
        done.into_iter()
            .map(|(request, reply, wall_ms)| self.replied(model, request, reply, wall_ms))
            .chain(refused.iter().map(|_| Err(Self::spent())))
            .collect()
    }

    /// Notes a reply.
    fn replied(
        &mut self,
        model: &dyn LanguageModel,
        request: CompletionRequest,
        reply: Result<Completion>,
        wall_ms: u64,
    ) -> Result<Completion> {
        let usage = reply.as_ref().map(|r| r.usage).unwrap_or_default();
        let cached = reply.as_ref().is_ok_and(|r| r.cached);
        self.cost.add(&request.stage, call_cost(usage, cached, Duration::from_millis(wall_ms), self.price));
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

    /// Has passages read for a question; the trace keeps the best spans, by how many nats they beat "no answer here".
    ///
    /// # Errors
    /// The reader's.
    pub(crate) async fn read(
        &mut self,
        stage: &str,
        reader: &dyn SpanReader,
        question: &str,
        passages: &[&Passage],
    ) -> Result<Vec<Reading>> {
        let start = Instant::now();
        let texts: Vec<&str> = passages.iter().map(|p| p.text.as_str()).collect();
        let readings = reader.read(question, &texts).await?;
        let wall_ms = elapsed_ms(start);
        let mut spans: Vec<(PassageId, String, Score)> = Vec::new();
        for (reading, passage) in readings.iter().zip(passages) {
            let of = |s: &AnswerSpan| {
                Some((passage.id.clone(), s.span.slice(&passage.text)?.to_owned(), reading.margin(s)))
            };
            spans.extend(reading.spans.iter().filter_map(of));
        }
        spans.sort_by(|a, b| b.2.get().total_cmp(&a.2.get()));
        spans.truncate(TRACED_SPANS);
        self.cost.add(stage, StageCost { wall_ms, ..StageCost::default() });
        let model = reader.identity().to_owned();
        self.trace.push(Event::Read { stage: stage.to_owned(), model, spans, wall_ms });
        Ok(readings)
    }

    /// Has statements judged by premises, each of which a name stands for in the trace.
    ///
    /// # Errors
    /// The verifier's.
    pub(crate) async fn judge(
        &mut self,
        stage: &str,
        verifier: &dyn Entailment,
        pairs: &[Stated<'_>],
    ) -> Result<Vec<Nli>> {
        let start = Instant::now();
        let texts: Vec<(&str, &str)> = pairs.iter().map(|p| (p.premise, p.statement)).collect();
        let judged = verifier.judge(&texts).await?;
        let wall_ms = elapsed_ms(start);
        self.cost.add(stage, StageCost { wall_ms, ..StageCost::default() });
        self.trace.push(Event::Judged {
            stage: stage.to_owned(),
            model: verifier.identity().to_owned(),
            judged: pairs
                .iter()
                .zip(&judged)
                .map(|(pair, nli)| (pair.name.clone(), pair.told.to_owned(), *nli))
                .collect(),
            wall_ms,
        });
        Ok(judged)
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
        if self.calls_left() == 0 {
            return Err(Self::spent());
        }
        let start = Instant::now();
        let scores = model.score(&request).await;
        let wall_ms = elapsed_ms(start);
        let tokens = scores.iter().flatten().map(|s| s.tokens.len() as u64).sum();
        let usage = Usage { tokens_in: Tokens(tokens), tokens_out: Tokens(0) };
        self.cost.add(&request.stage, call_cost(usage, false, Duration::from_millis(wall_ms), self.price));
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
}

pub(crate) fn elapsed_ms(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
