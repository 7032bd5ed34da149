//! `counterproof train calibrator`: fits how reader and verifier are weighed to questions whose answers are known, or how sure
//! `check` is to claims whose truth is known.

mod answers;
mod check;
mod gate;

use std::sync::Arc;

use counterproof::retrieval::ListRetriever;
use counterproof::{Error, Passage, Result, Retriever};
use serde::{Deserialize, Serialize};

use crate::args::CalibratorArgs;
use crate::context::Context;
use crate::error::Outcome;

/// A passage that a row brings.
#[derive(Debug, Deserialize)]
struct Given {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    title: String,
    text: String,
}

/// The passages that a row brings.
fn passages(given: Vec<Given>) -> Vec<Passage> {
    let passage =
        |(i, p): (usize, Given)| Passage::new(p.id.unwrap_or_else(|| format!("p{}", i + 1)), p.title, p.text);
    given.into_iter().enumerate().map(passage).collect()
}

/// A search of the passages that a row brings, if it does.
fn retriever(given: Option<Vec<Given>>, context: &Context) -> Result<Option<Arc<dyn Retriever>>> {
    let Some(given) = given else { return Ok(None) };
    Ok(Some(Arc::new(ListRetriever::new(passages(given), context.limits())?)))
}

/// Fits what the rows are for: claims make a calibrator of `check`, questions with a draft one of the encoder gate, and
/// questions without one a calibration of `answers`.
pub(crate) async fn run(args: &CalibratorArgs, context: &Context) -> Outcome {
    let text = std::fs::read_to_string(&args.input).map_err(|e| Error::io("reading", &args.input, &e))?;
    let text = text.trim_start_matches('\u{feff}');
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let first: Option<serde_json::Value> = lines.first().and_then(|line| serde_json::from_str(line).ok());
    let has = |field: &str| first.as_ref().is_some_and(|row| row.get(field).is_some());
    if has("claim") || has("statement") {
        check::fit(args, &lines, context).await
    } else if has("question") && !has("draft") {
        answers::fit(args, &lines, context).await
    } else {
        gate::fit(args, &lines, context).await
    }
}

/// What `read` makes of each row, and how many rows it could not use: what is wrong with a row is told, and the others count.
///
/// # Errors
/// What is not a row's fault.
async fn read_rows<Row>(
    args: &CalibratorArgs,
    lines: &[&str],
    doing: &'static str,
    read: impl AsyncFn(&str) -> Result<Row>,
    context: &Context,
) -> Result<(Vec<Row>, u64)> {
    let bar = context.display.rows(lines.len() as u64, doing);
    let (mut rows, mut failed) = (Vec::with_capacity(lines.len()), 0);
    for (number, line) in lines.iter().enumerate() {
        bar.inc(1);
        match read(line).await {
            Ok(row) => rows.push(row),
            Err(error) if error.is_user() => {
                failed += 1;
                context.note(&format!("{} row {}: {error}", args.input.display(), number + 1));
            }
            Err(error) => return Err(error),
        }
    }
    bar.finish_and_clear();
    Ok((rows, failed))
}

/// Writes what was fitted.
fn save(fitted: &impl Serialize, args: &CalibratorArgs) -> Result<()> {
    let json =
        serde_json::to_string_pretty(&fitted).map_err(|e| Error::failed("writing the calibration", e))?;
    std::fs::write(&args.out, json + "\n").map_err(|e| Error::io("writing", &args.out, &e))?;
    Ok(())
}

/// The name of the rows' file, for the calibration to tell.
fn file_name(args: &CalibratorArgs) -> String {
    args.input.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}
