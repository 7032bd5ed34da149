//! `counterproof batch ask` and `counterproof batch repair`, and what every batch does with its rows.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use counterproof::batch::{BatchOptions, BatchSummary, Input, InputFormat, Resume, Row, Sink, Stop};
use counterproof::methods::repair::{Repair, RepairConfig};
use counterproof::retrieval::ListRetriever;
use counterproof::{Error, Limits, Question, Result, Retriever};
use serde_json::{Map, Value, json};

use crate::args::{BatchArgs, BatchFileArgs};
use crate::commands::repair;
use crate::context::{Context, spool_stdin};
use crate::error::{Failure, Outcome, tell};
use crate::model::Model;
use crate::{print_json, render};

pub(crate) async fn run(verb: &'static str, args: &BatchArgs, context: &Context) -> Outcome {
    let file = open(&args.rows, context)?;
    // Rows may all bring their passages; then neither an index nor a list is needed.
    let retriever = context.retriever_if_named(&args.method.evidence).await?;
    let model =
        context.display.waiting("loading the model", Model::open(&args.method.choice, context)).await?;
    let worker = Worker {
        config: repair::config(&args.method, &model, context)?,
        retriever,
        limits: context.limits().clone(),
        explain: args.method.explain,
        ask: verb == "ask",
        model: model.clone(),
    };
    if args.method.dry_run {
        return dry_run(&file.input, &worker, args.rows.limit, context);
    }
    let worker = Arc::new(worker);
    let work = |id: String, row: Row| {
        let worker = Arc::clone(&worker);
        async move { worker.work(id, row).await }
    };
    work_through(verb, &file, &args.rows, model.concurrency, work, context).await
}

/// The rows of a file, or of standard input.
pub(crate) struct Rows {
    input: Input,
    /// Holds what came by standard input, for as long as it is read.
    _spooled: Option<tempfile::NamedTempFile>,
}

pub(crate) fn open(args: &BatchFileArgs, context: &Context) -> Result<Rows> {
    let spooled = if args.input == Path::new("-") { Some(spool_stdin()?) } else { None };
    let path = spooled.as_ref().map_or(args.input.as_path(), tempfile::NamedTempFile::path);
    let input = Input::new(path, InputFormat::of(path), context.limits().clone());
    Ok(Rows { input, _spooled: spooled })
}

/// Has `work` done on every row, each exactly once, and tells how it went.
pub(crate) async fn work_through<Work, Doing>(
    verb: &'static str,
    rows: &Rows,
    args: &BatchFileArgs,
    concurrency: usize,
    work: Work,
    context: &Context,
) -> Outcome
where
    Work: Fn(String, Row) -> Doing,
    Doing: Future<Output = Result<Map<String, Value>>> + Send + 'static,
{
    let resume = match (args.resume, args.retry_failed) {
        (_, true) => Resume::RetryFailed,
        (true, false) => Resume::Continue,
        (false, false) => Resume::No,
    };
    let sink = Sink::open(&args.output, resume)?;
    let options = BatchOptions {
        verb: verb.to_owned(),
        concurrency: args.concurrency.map_or(concurrency, usize::from),
        limit: args.limit,
    };
    let bar = context.display.rows(0, verb);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    let run = counterproof::batch::run(&rows.input, sink, &options, work, interrupted(), |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        if progress.failed > 0 {
            bar.set_prefix(format!("({} failed)", progress.failed));
        }
    });
    let summary = run.await;
    bar.finish_and_clear();
    conclude(&summary?, args, context)
}

/// What one row needs.
struct Worker {
    config: RepairConfig,
    retriever: Option<Arc<dyn Retriever>>,
    model: Model,
    limits: Limits,
    explain: bool,
    ask: bool,
}

impl Worker {
    fn method(&self, row: &mut Row) -> Result<Repair> {
        let retriever: Arc<dyn Retriever> = match (row.passages.take(), &self.retriever) {
            (Some(passages), _) => Arc::new(ListRetriever::new(passages, &self.limits)?),
            (None, Some(shared)) => Arc::clone(shared),
            (None, None) => {
                return Err(Error::invalid(
                    "the row",
                    "it brings no passages: add a field `passages`, or give --index DIR or --passages FILE",
                ));
            }
        };
        Ok(repair::over(retriever, &self.model, self.config.clone()).with_limits(self.limits.clone()))
    }

    async fn work(&self, id: String, mut row: Row) -> Result<Map<String, Value>> {
        if row.question.is_empty() {
            return Err(Error::invalid("the row", "it holds a claim and no question: use `batch check`"));
        }
        let method = self.method(&mut row)?;
        let question = Question { id, text: row.question };
        let report = if self.ask {
            method.ask(&question).await?
        } else {
            let draft = row.draft.ok_or_else(|| {
                Error::invalid("the row", "it holds no draft: add a field `draft`, or use `batch ask`")
            })?;
            method.repair(&question, &draft).await?
        };
        let failure = repair::failure(&report);
        match report.to_json(self.explain) {
            Value::Object(mut fields) => {
                // The draft stands, but untested: the row counts as failed, and is tried again with --resume.
                if let Some(error) = failure {
                    fields.insert("error".to_owned(), json!(error));
                }
                Ok(fields)
            }
            _ => Err(Error::failed("writing a report", "it is no object")),
        }
    }
}

fn dry_run(input: &Input, worker: &Worker, limit: Option<u64>, context: &Context) -> Outcome {
    let take = limit.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    let mut unreadable = 0u64;
    for row in input.rows()?.take(take) {
        match row?.content {
            Ok(row) => rows.push((Question::new(row.question), row.draft.filter(|_| !worker.ask))),
            Err(_) => unreadable += 1,
        }
    }
    if unreadable > 0 {
        context.note(&format!("{} cannot be read and would fail", render::count(unreadable, "row")));
    }
    // An estimate asks no retriever: any will do.
    let nothing = Arc::new(ListRetriever::new([], &worker.limits)?);
    let method = repair::over(nothing, &worker.model, worker.config.clone());
    repair::estimate(&method, rows.iter().map(|(q, d)| (q, d.as_deref())), &worker.model, context)
}

/// Completes when the person presses Ctrl-C; a second time ends the program at once.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(1);
        }
    });
}

fn conclude(summary: &BatchSummary, args: &BatchFileArgs, context: &Context) -> Outcome {
    let stopped = summary.stopped.is_some();
    if context.json {
        print_json(&json!({
            "schema": 1,
            "output": args.output,
            "rows": summary.rows,
            "earlier": summary.earlier,
            "done": summary.done,
            "failed": summary.failed,
            "complete": !stopped,
        }))?;
    } else {
        let mut told = format!("{} done", render::count(summary.done, "row"));
        if summary.earlier > 0 {
            told.push_str(&format!(", {} from before", render::thousands(summary.earlier)));
        }
        if summary.failed > 0 {
            told.push_str(&format!(", {} failed (each has an `error`)", render::thousands(summary.failed)));
        }
        writeln!(anstream::stdout().lock(), "{told}: {}", args.output.display())?;
    }
    match &summary.stopped {
        None if summary.rows > 0 && summary.failed == summary.rows => Err(Failure::Told(ExitCode::FAILURE)),
        None => Ok(()),
        Some(stop) => {
            if let Stop::Error(error) = stop {
                tell(error, false);
            }
            let left = summary.rows.saturating_sub(summary.earlier + summary.done);
            context.note(&format!(
                "stopped with {} left; nothing that was done is lost: run the same command with --resume to go on",
                render::count(left, "row")
            ));
            Err(Failure::Told(ExitCode::FAILURE))
        }
    }
}
