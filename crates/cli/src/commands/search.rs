//! `counterproof search`.

use std::io::Write;
use std::time::Instant;

use serde_json::json;

use crate::args::SearchArgs;
use crate::context::Context;
use crate::error::Outcome;
use crate::{print_json, render};

pub(crate) async fn run(args: &SearchArgs, context: &Context) -> Outcome {
    let query = context.text(&args.query, "query", context.limits().max_question_bytes)?;
    context.limits().check_question(&query)?;
    context.limits().check_k(args.k)?;
    let retriever = context.retriever(&args.evidence).await?;
    let start = Instant::now();
    let hits = context.display.waiting("searching", retriever.search(&query, args.k)).await?;
    let wall_ms = start.elapsed().as_secs_f64() * 1000.0;
    if context.json {
        return print_json(&json!({
            "schema": 1,
            "query": query,
            "k": args.k,
            "retriever": retriever.identity(),
            "hits": hits,
            "wall_ms": (wall_ms * 1000.0).round() / 1000.0,
        }));
    }
    let mut out = anstream::stdout().lock();
    out.write_all(render::hits(&hits, &query).as_bytes())?;
    writeln!(
        out,
        "\n{}",
        crate::style::paint(
            crate::style::DIM,
            &format!("{} in {wall_ms:.1} ms", render::count(hits.len() as u64, "passage"))
        )
    )?;
    Ok(())
}
