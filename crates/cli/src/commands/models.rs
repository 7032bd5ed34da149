//! `counterproof models list` and `counterproof models pull`.

use std::io::Write;

use counterproof::models::store::{ModelStatus, Presence};
use serde_json::json;

use crate::args::ModelsCommand;
use crate::context::{BASE_ENCODER, Context};
use crate::error::Outcome;
use crate::progress::Pulling;
use crate::style::{BOLD, DIM, GOOD, paint};
use crate::{print_json, render};

/// What the demo works with, and a good start for anybody.
pub(crate) const STARTERS: &[&str] = &[BASE_ENCODER, "smollm2-135m-instruct", "wikipedia-leads"];

pub(crate) async fn run(command: &ModelsCommand, context: &Context) -> Outcome {
    match command {
        ModelsCommand::List => list(context),
        ModelsCommand::Pull { names } => pull(names, context).await,
    }
}

fn list(context: &Context) -> Outcome {
    let store = context.store()?;
    let models = store.list();
    if context.json {
        let models: Vec<_> = models
            .iter()
            .map(|m| {
                json!({
                    "name": m.entry.name,
                    "role": m.entry.role,
                    "summary": m.entry.summary,
                    "licence": m.entry.licence,
                    "bytes": m.entry.size(),
                    "feature": m.entry.feature,
                    "measurements_only": m.entry.measurements_only,
                    "presence": presence(m.presence),
                    "dir": m.dir,
                })
            })
            .collect();
        return print_json(&json!({ "schema": 1, "root": store.root(), "models": models }));
    }
    let mut out = anstream::stdout().lock();
    for model in &models {
        writeln!(out, "{}", line(model))?;
    }
    writeln!(out, "\nin {}", store.root().display())?;
    writeln!(out, "fetch with: counterproof models pull NAME...")?;
    Ok(())
}

fn line(model: &ModelStatus) -> String {
    let entry = &model.entry;
    let state = match model.presence {
        Presence::Ready => paint(GOOD, "here      "),
        Presence::Unchecked => "unchecked ".to_owned(),
        Presence::Partial => "partly    ".to_owned(),
        Presence::Missing => paint(DIM, "–         "),
    };
    let size = entry.size().map_or("      ?".to_owned(), |s| format!("{:>7}", render::bytes(s)));
    let mut text = format!("{state}{}{size}  {}", paint(BOLD, &format!("{:<28}", entry.name)), entry.summary);
    let mut tail = entry.licence.clone();
    if let Some(feature) = &entry.feature {
        tail.push_str(&format!("; needs the feature {feature}"));
    }
    text.push_str(&paint(DIM, &format!("  [{tail}]")));
    text
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Ready => "ready",
        Presence::Unchecked => "unchecked",
        Presence::Partial => "partial",
        Presence::Missing => "missing",
    }
}

async fn pull(names: &[String], context: &Context) -> Outcome {
    let store = context.store()?;
    let names: Vec<&str> =
        if names.is_empty() { STARTERS.to_vec() } else { names.iter().map(String::as_str).collect() };
    let pulling = Pulling::new(context.display);
    let dirs = store.pull(&names, &|progress| pulling.report(progress)).await?;
    if context.json {
        let models: Vec<_> =
            names.iter().zip(&dirs).map(|(name, dir)| json!({ "name": name, "dir": dir })).collect();
        return print_json(&json!({ "schema": 1, "models": models }));
    }
    let mut out = anstream::stdout().lock();
    for (name, dir) in names.iter().zip(&dirs) {
        writeln!(out, "{} {name}  {}", paint(GOOD, "✓"), paint(DIM, &dir.display().to_string()))?;
    }
    Ok(())
}
