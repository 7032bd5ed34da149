//! `counterproof train`: trains the small models, with one command each.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use counterproof::training::data::{reader, verifier};
use counterproof::training::{Outcome as Trained, Progress, TrainConfig, recipe};
use counterproof::{Error, Result, UserError};
use serde_json::json;

use crate::args::{TrainArgs, TrainCommand};
use crate::context::{BASE_ENCODER, Context};
use crate::error::Outcome;
use crate::print_json;

/// Between two lines of progress.
const LINE_EVERY: Duration = Duration::from_secs(60);

pub(crate) async fn run(command: &TrainCommand, context: &Context) -> Outcome {
    match command {
        TrainCommand::Verifier(args) => train("verifier", args, context).await,
        TrainCommand::Reader(args) => train("reader", args, context).await,
        TrainCommand::Calibrator(args) => super::calibrator::run(args, context).await,
    }
}

/// Trains with the recipe of the shipped adapter. A run that was broken off goes on from its checkpoint.
async fn train(kind: &'static str, args: &TrainArgs, context: &Context) -> Outcome {
    let base = context.store()?.path(BASE_ENCODER)?;
    let recipe = if kind == "verifier" { recipe::verifier_config() } else { recipe::reader_config() };
    let config = TrainConfig {
        seed: args.seed.unwrap_or(recipe.seed),
        max_minutes: args.minutes,
        start: args.start.clone(),
        checkpoint: Some(checkpoint_of(args)),
        ..recipe
    };
    let going_on = config.checkpoint.as_deref().is_some_and(Path::is_file);
    if going_on {
        context.note("going on from the checkpoint beside the output");
    }
    let (data, out) = (args.data.clone(), args.out.clone());
    let bar = context.display.bar(1000, kind, "{msg} {wide_bar} {percent} % {prefix}");
    let shown = bar.clone();
    let display = context.display;
    let work = move || -> Result<Trained> {
        let collection = counterproof::datasets::Collection::read(&data)?;
        if collection.sources.is_empty() {
            return Err(UserError::NotFound {
                what: format!("the data sets in {}", data.display()),
                hint: "give the folder that holds them with --data; the model card in adapters/ names them"
                    .to_owned(),
            }
            .into());
        }
        // Where no bar is drawn a line a minute says that it goes on.
        let mut told = Duration::ZERO;
        let mut tell = |p: &Progress| {
            if (p.elapsed >= told + LINE_EVERY || p.validation.is_some()) && display.speaks_in_lines() {
                told = p.elapsed;
                let score =
                    p.validation.as_ref().map_or(String::new(), |v| format!(", score {:.3}", v.score));
                display.line(&format!(
                    "{kind}: {:.0} %, {} step {}, loss {:.3}{score}, {:.0} examples/s, {} left",
                    100.0 * p.fraction,
                    p.stage,
                    p.step,
                    p.loss,
                    p.examples_per_second,
                    indicatif::HumanDuration(p.left)
                ));
            }
            shown.set_position((p.fraction * 1000.0) as u64);
            shown.set_prefix(format!(
                "{} loss {:.3}, {:.0} examples/s, {} left",
                p.stage,
                p.loss,
                p.examples_per_second,
                indicatif::HumanDuration(p.left)
            ));
            if let Some(v) = &p.validation {
                tracing::info!(step = v.step, score = v.score, loss = v.loss, "validation");
            }
        };
        let outcome = if kind == "verifier" {
            let made = verifier::build(&collection, &verifier::VerifierOptions::default())?;
            recipe::verifier(&base, &made, &config, &mut tell)?
        } else {
            let made = reader::build(&collection, &reader::ReaderOptions::default())?;
            recipe::reader(&base, &made, &config, &mut tell)?
        };
        outcome.adapter.save(&out)?;
        Ok(outcome)
    };
    let trained = tokio::task::spawn_blocking(work).await.map_err(|e| Error::failed("training", e))?;
    bar.finish_and_clear();
    let summary = trained?.summary;
    if let Some(last) = summary.validations.last()
        && !context.json
    {
        writeln!(
            anstream::stdout().lock(),
            "{} examples in {:.0} min; on {} that were not trained on: score {:.3}",
            summary.examples,
            summary.seconds / 60.0,
            last.examples,
            last.score
        )?;
    }
    if context.json {
        return print_json(&json!({ "schema": 1, "adapter": args.out, "summary": summary }));
    }
    writeln!(anstream::stdout().lock(), "written to {}", args.out.display())?;
    Ok(())
}

fn checkpoint_of(args: &TrainArgs) -> PathBuf {
    args.checkpoint.clone().unwrap_or_else(|| {
        let mut name = args.out.clone().into_os_string();
        name.push(".checkpoint");
        PathBuf::from(name)
    })
}
