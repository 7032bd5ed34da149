//! `counterproof index build` and `counterproof index info`.

use std::io::Write;
use std::path::Path;

use counterproof::retrieval::corpus::ReadOptions;
use counterproof::retrieval::index::{BuildReport, EmbeddedIndex, IndexBuilder};
use counterproof::retrieval::passages::PassageOptions;
use counterproof::{Error, Result, UserError};
use indicatif::ProgressBar;
use serde_json::json;

use crate::args::{IndexBuildArgs, IndexCommand};
use crate::context::{BASE_ENCODER, Context};
use crate::error::{Failure, Outcome};
use crate::{print_json, render};

/// Rows that could not be read, named one by one before they are only counted.
const ERRORS_SHOWN: usize = 10;

pub(crate) async fn run(command: &IndexCommand, context: &Context) -> Outcome {
    match command {
        IndexCommand::Build(args) => build(args, context).await,
        IndexCommand::Info { dir } => info(dir, context),
    }
}

async fn build(args: &IndexBuildArgs, context: &Context) -> Outcome {
    let embedder = context.encoder(args.encoder.as_deref()).await.map_err(|error| match error {
        Error::User(UserError::NotFound { what, hint }) if args.encoder.is_none() => UserError::NotFound {
            what,
            hint: format!("{hint}; or give --encoder none for an index that finds words alone"),
        }
        .into(),
        error => error,
    })?;
    let read = ReadOptions {
        text_field: args.text_field.clone(),
        title_field: args.title_field.clone(),
        id_field: args.id_field.clone(),
        limits: context.limits().clone(),
        ..ReadOptions::default()
    };
    let mut builder = IndexBuilder::new(&args.out)
        .read(read)
        .passages(PassageOptions { words: args.passage_words })
        .overwrite(args.overwrite);
    if let Some(embedder) = embedder {
        builder = builder.embedder(embedder);
    }
    let report = with_progress(builder, context, async |builder| builder.build(&args.sources).await).await?;
    if report.passages == 0 {
        return Err(Failure::Error(Error::invalid("the sources", "they hold no text that could be indexed")));
    }
    if context.json {
        return print_json(&json!({
            "schema": 1,
            "index": args.out,
            "passages": report.passages,
            "documents": report.read.documents,
            "failed": report.read.failed,
            "empty": report.read.empty,
            "duplicates": report.duplicates,
            "conflicts": report.conflicts,
            "errors": report.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "wall_ms": u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX),
        }));
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", told(&report))?;
    for error in report.errors.iter().take(ERRORS_SHOWN) {
        context.note(&render::plain(&error.to_string()));
    }
    writeln!(out, "\nTry it: counterproof search \"WORDS\" --index {}", args.out.display())?;
    Ok(())
}

/// Runs a build under a progress bar with the time left.
pub(crate) async fn with_progress(
    builder: IndexBuilder,
    context: &Context,
    build: impl AsyncFnOnce(IndexBuilder) -> Result<BuildReport>,
) -> Result<BuildReport> {
    let bar = context.display.bytes(0, "indexing");
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    let shown: ProgressBar = bar.clone();
    let builder = builder.on_progress(move |progress| {
        shown.set_length(progress.bytes_total);
        shown.set_position(progress.bytes_read);
        shown.set_prefix(format!("({})", render::count(progress.passages, "passage")));
    });
    let report = build(builder).await;
    bar.finish_and_clear();
    report
}

/// What came of a build, in words.
pub(crate) fn told(report: &BuildReport) -> String {
    let read = &report.read;
    let mut text = format!(
        "indexed {} from {} in {:.1} s",
        render::count(report.passages, "passage"),
        render::count(read.documents, "document"),
        report.elapsed.as_secs_f64()
    );
    let mut note = |n: u64, what: &str| {
        if n > 0 {
            text.push_str(&format!("; {} {what}", render::thousands(n)));
        }
    };
    note(read.failed, "rows could not be read");
    note(read.empty, "rows were empty");
    note(report.duplicates, "passages were there twice");
    note(report.conflicts, "passages had an id that was taken");
    note(read.invalid_utf8, "rows were not wholly UTF-8 and were repaired");
    note(read.nul, "rows held NUL characters, which were removed");
    text
}

fn info(dir: &Path, context: &Context) -> Outcome {
    let index = EmbeddedIndex::open(dir, None)?;
    let info = index.info();
    if context.json {
        return print_json(&json!({
            "schema": 1,
            "index": dir,
            "passages": info.passages,
            "deleted": info.deleted,
            "encoder": info.embedder.as_ref().map(|e| &e.identity),
            "dimension": info.embedder.as_ref().map(|e| e.dimension),
            "k1": info.bm25.k1,
            "b": info.bm25.b,
            "segments": info.segments,
            "bytes": info.bytes,
            "content": info.content,
            "generation": info.generation,
            "format": info.format,
            "written_by": info.written_by,
        }));
    }
    let vectors = match &info.embedder {
        Some(e) => format!("{} numbers each, by {}", e.dimension, e.identity),
        None => format!("none: words alone (build with --encoder {BASE_ENCODER} to find meaning)"),
    };
    let mut out = anstream::stdout().lock();
    writeln!(out, "passages  {}", render::thousands(info.passages))?;
    if info.deleted > 0 {
        writeln!(out, "deleted   {}", render::thousands(info.deleted))?;
    }
    writeln!(out, "vectors   {vectors}")?;
    writeln!(out, "bm25      k1 {}, b {}", info.bm25.k1, info.bm25.b)?;
    writeln!(
        out,
        "on disk   {} in {}",
        render::bytes(info.bytes),
        render::count(info.segments as u64, "segment")
    )?;
    writeln!(out, "content   {}", info.content)?;
    writeln!(out, "format    {}, written by {}", info.format, info.written_by)?;
    Ok(())
}
