//! `counterproof demo`: fetches what it needs, builds an index of about 10,000 articles, and puts a list of answers,
//! most of them wrong, to the test. The list holds the right answers too, but only for the count at the end: what is
//! printed is what the engine did.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use counterproof::methods::repair::{Decision, RepairReport, means_the_same};
use counterproof::models::store::{ModelStore, Progress};
use counterproof::retrieval::ListRetriever;
use counterproof::retrieval::index::{EmbeddedIndex, IndexBuilder};
use counterproof::{Embedder, Error, Passage, Question, Result, Retriever};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::{DemoArgs, ModelArgs};
use crate::commands::index::{told, with_progress};
use crate::commands::repair::method;
use crate::context::{BASE_ENCODER, Context};
use crate::error::{Failure, Outcome};
use crate::model::{Model, NO_MODEL};
use crate::progress::Pulling;
use crate::style::{BAD, BOLD, DIM, GOOD, paint};
use crate::{print_json, render};

const LEADS: &str = "wikipedia-leads";
const RECORDED_NOTE: &str = "Going on with what a tiny language model said when it was asked about the small corpus that \
                             is part of the program; searching and deciding are done here and now.";

/// Part of the program, so that the demo runs where nothing can be fetched.
const SMALL_CORPUS: &str = include_str!("../../../../examples/corpus/facts.jsonl");
const QUESTIONS: &str = include_str!("../../../../examples/demo/questions.jsonl");
/// Made by `counterproof demo --small --model gguf:smollm2-135m-instruct --record examples/demo/smollm2.jsonl`.
const RECORDING: &str = include_str!("../../../../examples/demo/smollm2.jsonl");

/// A line of the demo's list.
#[derive(Debug, Deserialize)]
struct Item {
    id: String,
    question: String,
    draft: String,
    /// The right answer, in each form that counts.
    right: Vec<String>,
}

impl Item {
    fn is_right(&self, answer: &str) -> bool {
        self.right.iter().any(|right| means_the_same(answer, right, &[]))
    }
}

/// What became of the answers.
#[derive(Debug, Default)]
struct Tally {
    wrong: u64,
    repaired: u64,
    changed_wrongly: u64,
    right: u64,
    left_alone: u64,
    failed: u64,
}

impl Tally {
    fn count(&mut self, item: &Item, report: Option<&RepairReport>) {
        let right_before = item.is_right(&item.draft);
        if right_before {
            self.right += 1;
        } else {
            self.wrong += 1;
        }
        let Some(report) = report else {
            self.failed += 1;
            return;
        };
        let right_after = item.is_right(&report.answer);
        match (right_before, right_after) {
            (true, true) => self.left_alone += 1,
            (false, true) => self.repaired += 1,
            (false, false) if report.decision == Decision::Revise => self.changed_wrongly += 1,
            _ => {}
        }
    }
}

/// Where the demo looks.
struct Corpus {
    retriever: Arc<dyn Retriever>,
    name: String,
}

pub(crate) async fn run(args: &DemoArgs, context: &Context) -> Outcome {
    let start = Instant::now();
    let items = items(args.limit)?;
    let store = context.store()?;
    let say = |text: &str| {
        if !context.json {
            let _ = writeln!(anstream::stdout().lock(), "{text}");
        }
    };
    let (model, recorded) = match decider(&store, args, context).await? {
        Some(model) => (model, false),
        None => (recorded_model(args, context).await?, true),
    };
    let corpus =
        if args.small || recorded { small_corpus(context)? } else { corpus(&store, context, &say).await? };
    let config = context.config.repair.clone();
    let method = method(corpus.retriever, &model, config, context);
    say(&format!("searching {}; deciding with {}\n", corpus.name, render::plain(model.short_name())));

    let bar = context.display.rows(items.len() as u64, "testing answers");
    let mut tally = Tally::default();
    let mut rows = Vec::with_capacity(items.len());
    for item in &items {
        let question = Question { id: item.id.clone(), text: item.question.clone() };
        let result = method.repair(&question, &item.draft).await;
        tally.count(item, result.as_ref().ok());
        if context.json {
            rows.push(row(item, &result, args.explain));
        } else {
            let text = block(item, &result, args.explain);
            bar.suspend(|| anstream::stdout().lock().write_all(text.as_bytes()))?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    if context.json {
        print_json(&json!({
            "schema": 1,
            "corpus": corpus.name,
            "model": model.name(),
            "rows": rows,
            "tally": {
                "wrong": tally.wrong, "repaired": tally.repaired, "changed_wrongly": tally.changed_wrongly,
                "right": tally.right, "left_alone": tally.left_alone, "failed": tally.failed,
            },
            "wall_ms": (seconds * 1000.0) as u64,
        }))?;
    } else {
        anstream::stdout().lock().write_all(conclusion(&tally, seconds).as_bytes())?;
    }
    if tally.failed == items.len() as u64 && !items.is_empty() {
        return Err(Failure::Error(Error::failed("the demo", "no answer could be tested")));
    }
    Ok(())
}

fn items(limit: Option<usize>) -> Result<Vec<Item>> {
    QUESTIONS
        .lines()
        .take(limit.unwrap_or(usize::MAX))
        .map(|line| serde_json::from_str(line).map_err(|e| Error::failed("reading the demo's list", e)))
        .collect()
}

/// The Wikipedia leads in an index, or what comes nearest to it.
async fn corpus(store: &ModelStore, context: &Context, say: &(dyn Fn(&str) + Sync)) -> Result<Corpus> {
    if let Err(error) = pull(store, LEADS, context).await {
        context.note(&format!("{error}\nGoing on with the small corpus that is part of the program."));
        return small_corpus(context);
    }
    let encoder = match pull(store, BASE_ENCODER, context).await {
        Ok(()) => context.encoder(Some(BASE_ENCODER)).await?,
        Err(error) => {
            context
                .note(&format!("{error}\nGoing on without an encoder: the search finds words, not meaning."));
            None
        }
    };
    let index = leads_index(store, encoder, context, say).await?;
    let name = format!("{} of about 10,000 Wikipedia articles", render::count(index.len(), "passage"));
    Ok(Corpus { retriever: Arc::new(index), name })
}

/// The index of the leads, kept in the store's folder and used again.
async fn leads_index(
    store: &ModelStore,
    encoder: Option<Arc<dyn Embedder>>,
    context: &Context,
    say: &(dyn Fn(&str) + Sync),
) -> Result<EmbeddedIndex> {
    let source = store.single_file(LEADS)?;
    let kind = if encoder.is_some() { "hybrid" } else { "words" };
    let dir: PathBuf = store.root().join("indexes").join(format!("{LEADS}-{kind}"));
    if let Ok(index) = EmbeddedIndex::open(&dir, encoder.clone()) {
        return Ok(index);
    }
    let mut builder = IndexBuilder::new(&dir).overwrite(true);
    if let Some(encoder) = &encoder {
        builder = builder.embedder(Arc::clone(encoder));
    }
    say("building the index; this is done once");
    let report = with_progress(builder, context, async |builder| builder.build(&[source]).await).await?;
    say(&told(&report));
    EmbeddedIndex::open(&dir, encoder)
}

fn small_corpus(context: &Context) -> Result<Corpus> {
    let passages: Vec<Passage> = SMALL_CORPUS
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|e| Error::failed("reading the small corpus", e)))
        .collect::<Result<_>>()?;
    let name = format!("{} that are part of the program", render::count(passages.len() as u64, "passage"));
    Ok(Corpus { retriever: Arc::new(ListRetriever::new(passages, context.limits())?), name })
}

async fn pull(store: &ModelStore, name: &str, context: &Context) -> Result<()> {
    let pulling = Pulling::new(context.display);
    store.pull(&[name], &|progress: Progress<'_>| pulling.report(progress)).await.map(|_| ())
}

/// The model that was named, or reader and verifier; `None` when their base encoder cannot be had.
async fn decider(store: &ModelStore, args: &DemoArgs, context: &Context) -> Result<Option<Model>> {
    if args.choice.model.is_some() {
        return Model::open(&args.choice, context).await.map(Some);
    }
    let here = if args.small {
        store.path(BASE_ENCODER).map(|_| ())
    } else {
        pull(store, BASE_ENCODER, context).await
    };
    if let Err(error) = here {
        context.note(&format!("{error}\n{RECORDED_NOTE}"));
        return Ok(None);
    }
    Model::open(&ModelArgs { model: Some(NO_MODEL.to_owned()), ..args.choice.clone() }, context)
        .await
        .map(Some)
}

/// The tiny model's token scores over the small corpus, as they were recorded.
async fn recorded_model(args: &DemoArgs, context: &Context) -> Result<Model> {
    let io = |e: std::io::Error| Error::io("writing", std::env::temp_dir(), &e);
    let mut file = tempfile::NamedTempFile::new().map_err(io)?;
    file.write_all(RECORDING.as_bytes()).map_err(io)?;
    let choice = ModelArgs {
        model: Some(format!("recorded:{}", file.path().display())),
        record: args.choice.record.clone(),
        no_cache: true,
        veto: false,
    };
    Model::open(&choice, context).await
}

fn row(item: &Item, result: &Result<RepairReport>, explain: bool) -> Value {
    match result {
        Ok(report) => {
            let mut row = report.to_json(explain);
            if let Some(fields) = row.as_object_mut() {
                fields.insert("right".to_owned(), json!(item.right));
                fields.insert("was_right".to_owned(), json!(item.is_right(&item.draft)));
                fields.insert("is_right".to_owned(), json!(item.is_right(&report.answer)));
            }
            row
        }
        Err(error) => {
            json!({ "id": item.id, "question": item.question, "draft": item.draft, "error": error.body() })
        }
    }
}

/// One answer and what became of it.
fn block(item: &Item, result: &Result<RepairReport>, explain: bool) -> String {
    let mut out = format!("{}\n", paint(BOLD, &item.question));
    match result {
        Err(error) => {
            out.push_str(&format!("  {} {}\n", paint(BAD, "failed"), render::plain(&error.to_string())))
        }
        Ok(report) => {
            let sign = |answer: &str| {
                if item.is_right(answer) { paint(GOOD, "✓") } else { paint(BAD, "✗") }
            };
            let change = match report.decision {
                Decision::Keep => format!("{} {} kept", report.draft, sign(&report.draft)),
                Decision::Revise => format!(
                    "{} {} → {} {}",
                    paint(DIM, &report.draft),
                    sign(&report.draft),
                    paint(BOLD, &render::plain(&report.answer)),
                    sign(&report.answer)
                ),
            };
            out.push_str(&format!("  {change}  {}\n", paint(DIM, &format!("({})", report.reason.explain()))));
            for citation in report.citations.iter().take(1) {
                for line in render::evidence(citation, &report.answer).lines() {
                    out.push_str(&format!("  {line}\n"));
                }
            }
            if explain {
                out.push_str(&render::trace(&report.trace));
            }
        }
    }
    out.push('\n');
    out
}

fn conclusion(tally: &Tally, seconds: f64) -> String {
    let mut out = format!(
        "{} of {} wrong answers repaired, {} of {} right ones left alone",
        tally.repaired, tally.wrong, tally.left_alone, tally.right
    );
    if tally.changed_wrongly > 0 {
        out.push_str(&format!("; {} changed to another wrong one", tally.changed_wrongly));
    }
    if tally.failed > 0 {
        out.push_str(&format!("; {} could not be tested", tally.failed));
    }
    format!(
        "{}\n{}\n\nNow your own: counterproof index build FILES --out my.index\n         \
         then: counterproof repair \"QUESTION\" --draft \"ANSWER\" --index my.index\n",
        paint(BOLD, &out),
        paint(DIM, &format!("in {seconds:.0} s, on this machine alone"))
    )
}
