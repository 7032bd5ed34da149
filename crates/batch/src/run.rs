//! The run itself: rows go to the workers under one limit, and come back into the output.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;

use counterproof_core::{Error, ErrorBody, Result};
use futures::FutureExt;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::{Input, InputRow, Row, Sink};

/// How a batch runs.
#[derive(Debug, Clone)]
pub struct BatchOptions {
    /// What is done with the rows ("repair"): part of each row's digest, so that runs of different verbs do not mix.
    pub verb: String,
    /// Rows worked on at the same time.
    pub concurrency: usize,
    /// Rows of the input that are looked at, from its beginning; `None` for all.
    pub limit: Option<u64>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchProgress {
    /// Rows to be worked on in this run.
    pub total: u64,
    /// Rows finished in this run, failed ones included.
    pub done: u64,
    /// Those of them that failed.
    pub failed: u64,
}

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct BatchSummary {
    /// Rows of the input.
    pub rows: u64,
    /// Rows that an earlier run had finished.
    pub earlier: u64,
    /// Rows finished in this run, failed ones included.
    pub done: u64,
    /// Failed rows in the whole output.
    pub failed: u64,
    /// Why the run stopped before the last row; `None` when it did not.
    pub stopped: Option<Stop>,
}

/// Why a run stopped early. What was finished is written, and the rest can be resumed.
#[derive(Debug, Clone)]
pub enum Stop {
    /// It was asked to.
    Asked,
    /// An error that every further row would meet: refused credentials, a budget used up.
    Error(ErrorBody),
}

/// What names a row in the output.
struct Key {
    number: u64,
    id: String,
    digest: String,
}

type Finished = (Key, Result<Map<String, Value>>);

/// Works on every row of `input` that `sink` does not hold yet, and writes what comes of it.
///
/// `work` gives the fields of a row's result. A result may hold an `error` of its own (an [`ErrorBody`]) beside what
/// could be done: such a row counts as failed too. Its futures run as tasks of the current runtime, at most
/// `options.concurrency` at a time. When `stop` completes no further row is begun, and the ones under way are waited
/// for and written. Dropping the future abandons the rows under way; what was finished stands in the output.
///
/// # Errors
/// When the input cannot be read, has been changed since the output was begun, or the output cannot be written. A
/// row that fails is no error: it is a row of the output.
pub async fn run<F, W>(
    input: &Input,
    mut sink: Sink,
    options: &BatchOptions,
    work: W,
    stop: impl Future<Output = ()>,
    mut progress: impl FnMut(BatchProgress),
) -> Result<BatchSummary>
where
    W: Fn(String, Row) -> F,
    F: Future<Output = Result<Map<String, Value>>> + Send + 'static,
{
    let limit = options.limit.unwrap_or(u64::MAX);
    let rows = || -> Result<_> {
        let verb = options.verb.clone();
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(input.rows()?.take(take).map(move |row| row.map(|row| with_verb(row, &verb))))
    };
    let mut summary = BatchSummary { earlier: sink.len(), ..BatchSummary::default() };
    // A first pass, so that a changed input is noticed before anything is paid for, and the end is in sight.
    let mut found = 0;
    for row in rows()? {
        let row = row?;
        summary.rows += 1;
        found += u64::from(sink.has(row.number, &row.digest)?);
    }
    if found != sink.len() && options.limit.is_none() {
        return Err(sink.changed("it has lost rows"));
    }
    let mut state = BatchProgress { total: summary.rows - found, ..BatchProgress::default() };
    progress(state);

    let mut stop = pin!(stop);
    let mut rows = rows()?;
    let mut exhausted = false;
    let mut tasks: JoinSet<Finished> = JoinSet::new();
    loop {
        while !exhausted && summary.stopped.is_none() && tasks.len() < options.concurrency.max(1) {
            match rows.next() {
                None => exhausted = true,
                Some(row) => {
                    let row = row?;
                    if !sink.has(row.number, &row.digest)? {
                        begin(row, &work, &mut tasks);
                    }
                }
            }
        }
        let finished = tokio::select! {
            biased;
            finished = tasks.join_next() => finished,
            () = &mut stop, if summary.stopped.is_none() => {
                summary.stopped = Some(Stop::Asked);
                continue;
            }
        };
        let Some(finished) = finished else { break };
        let (row, result) = match finished {
            Ok(finished) => finished,
            Err(e) => return Err(Error::failed("working on a row", e)),
        };
        let line = line(&row, result);
        let failure = line.get("error").and_then(|e| ErrorBody::deserialize(e).ok());
        if let Some(failure) = failure.as_ref().filter(|f| concerns_every_row(f)) {
            summary.stopped = Some(Stop::Error(failure.clone()));
            continue;
        }
        state.done += 1;
        state.failed += u64::from(failure.is_some());
        sink.write(row.number, &row.digest, &line)?;
        progress(state);
    }
    summary.done = state.done;
    summary.failed = sink.failed();
    sink.finish()?;
    Ok(summary)
}

fn begin<F, W>(row: InputRow, work: &W, tasks: &mut JoinSet<Finished>)
where
    W: Fn(String, Row) -> F,
    F: Future<Output = Result<Map<String, Value>>> + Send + 'static,
{
    let InputRow { number, id, digest, content } = row;
    let key = Key { number, id, digest };
    match content {
        Err(error) => {
            tasks.spawn(async move { (key, Err(error)) });
        }
        Ok(content) => {
            let future = work(key.id.clone(), content);
            tasks.spawn(async move {
                // A panic costs its row and not the run.
                let result = AssertUnwindSafe(future).catch_unwind().await;
                let panicked = || Error::failed("working on a row", "it panicked; please report this");
                (key, result.unwrap_or_else(|_| Err(panicked())))
            });
        }
    }
}

fn line(row: &Key, result: Result<Map<String, Value>>) -> Value {
    let mut line = Map::new();
    line.insert("row".to_owned(), row.number.into());
    line.insert("input".to_owned(), row.digest.clone().into());
    if !row.id.is_empty() {
        line.insert("id".to_owned(), row.id.clone().into());
    }
    match result {
        Ok(fields) => line.extend(fields.into_iter().filter(|(name, _)| name != "id")),
        Err(error) => {
            line.insert("error".to_owned(), json!(error.body()));
        }
    }
    Value::Object(line)
}

/// Whether going on makes no sense: told by the error's stable code.
fn concerns_every_row(error: &ErrorBody) -> bool {
    matches!(error.code.as_str(), "credentials" | "budget")
}

fn with_verb(mut row: InputRow, verb: &str) -> InputRow {
    let digest = counterproof_core::sha256_hex(format!("{verb}\0{}", row.digest));
    row.digest = digest.as_str().chars().take(16).collect();
    row
}
