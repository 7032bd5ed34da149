//! How the gate without a language model weighs reader and verifier, fitted to questions whose answers are known.

use std::io::Write;

use counterproof::methods::repair::{CalibrationRow, GateCalibration, Repair, means_the_same};
use counterproof::{Error, Question};
use serde::Deserialize;
use serde_json::json;

use super::{Given, file_name, retriever, save};
use crate::args::CalibratorArgs;
use crate::context::Context;
use crate::error::Outcome;
use crate::model::Model;
use crate::print_json;

/// A question with a known answer.
#[derive(Debug, Deserialize)]
struct Row {
    question: String,
    draft: String,
    /// Every right answer, in each form that counts.
    answers: Vec<String>,
    #[serde(default)]
    passages: Option<Vec<Given>>,
}

impl Row {
    fn is_right(&self, answer: &str) -> bool {
        self.answers.iter().any(|right| means_the_same(answer, right, &[]))
    }
}

/// Fits the weights and the threshold of the encoder gate.
pub(super) async fn fit(args: &CalibratorArgs, lines: &[&str], context: &Context) -> Outcome {
    let shared = context.retriever_if_named(&args.evidence).await?;
    let model = context.display.waiting("loading the models", Model::encoders(context)).await?;
    let Some(gate) = model.encoders else {
        return Err(Error::failed("loading the reader and the verifier", "they are not there").into());
    };
    let bar = context.display.rows(lines.len() as u64, "comparing answers");
    let mut rows: Vec<CalibrationRow> = Vec::with_capacity(lines.len());
    let mut failed = 0u64;
    for (number, line) in lines.iter().enumerate() {
        bar.inc(1);
        let read: std::result::Result<Row, _> = serde_json::from_str(line);
        let mut row = match read {
            Ok(row) => row,
            Err(error) => {
                failed += 1;
                context.note(&format!("{} line {}: {error}", args.input.display(), number + 1));
                continue;
            }
        };
        let retriever =
            retriever(row.passages.take(), context)?.or_else(|| shared.clone()).ok_or_else(|| {
                Error::invalid(
                    format!("{} line {}", args.input.display(), number + 1),
                    "it brings no passages: add a field `passages`, or give --index DIR or --passages FILE",
                )
            })?;
        let repair = Repair::without_model(retriever, gate.clone(), context.config.repair.clone());
        let comparison = repair.compare(&gate, &Question::new(&row.question), &row.draft).await?;
        let alternatives = comparison.map(|c| {
            c.alternatives.iter().zip(&c.features).map(|(a, f)| (*f, row.is_right(&a.answer))).collect()
        });
        rows.push(CalibrationRow {
            draft_right: row.is_right(&row.draft),
            alternatives: alternatives.unwrap_or_default(),
        });
    }
    bar.finish_and_clear();
    let fitted = GateCalibration::fit(&rows, format!("{} rows of {}", rows.len(), file_name(args)))?;
    save(&fitted, args)?;
    let right = rows.iter().filter(|r| r.draft_right).count();
    if context.json {
        return print_json(&json!({
            "schema": 1, "calibration": args.out, "rows": rows.len(), "failed": failed, "right_drafts": right,
            "threshold": fitted.threshold,
        }));
    }
    writeln!(
        anstream::stdout().lock(),
        "fitted to {} rows ({right} with a right draft); an alternative is taken from probability {:.2}\nwritten to {}; \
         use it with `calibration = \"{}\"` in counterproof.toml",
        rows.len(),
        fitted.threshold,
        args.out.display(),
        args.out.display()
    )?;
    Ok(())
}
