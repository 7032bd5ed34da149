//! `counterproof train calibrator`: fits how the gate without a language model weighs reader and verifier to questions
//! whose answers are known.

use std::io::Write;
use std::sync::Arc;

use counterproof::methods::repair::{CalibrationRow, GateCalibration, Repair, means_the_same};
use counterproof::retrieval::ListRetriever;
use counterproof::{Error, Passage, Question, Result, Retriever};
use serde::Deserialize;
use serde_json::json;

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

/// A passage that a row brings.
#[derive(Debug, Deserialize)]
struct Given {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    title: String,
    text: String,
}

impl Row {
    fn is_right(&self, answer: &str) -> bool {
        self.answers.iter().any(|right| means_the_same(answer, right, &[]))
    }

    fn retriever(&mut self, context: &Context) -> Result<Option<Arc<dyn Retriever>>> {
        let Some(given) = self.passages.take() else { return Ok(None) };
        let passages = given
            .into_iter()
            .enumerate()
            .map(|(i, p)| Passage::new(p.id.unwrap_or_else(|| format!("p{}", i + 1)), p.title, p.text));
        Ok(Some(Arc::new(ListRetriever::new(passages, context.limits())?)))
    }
}

/// Fits the weights and the threshold of the encoder gate.
pub(crate) async fn run(args: &CalibratorArgs, context: &Context) -> Outcome {
    let text = std::fs::read_to_string(&args.input).map_err(|e| Error::io("reading", &args.input, &e))?;
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let shared = match (&args.evidence.index, &args.evidence.passages, &context.config.index) {
        (None, None, None) => None,
        _ => Some(context.retriever(&args.evidence).await?),
    };
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
        let retriever = row.retriever(context)?.or_else(|| shared.clone()).ok_or_else(|| {
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
    let name = args.input.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let fitted = GateCalibration::fit(&rows, format!("{} rows of {name}", rows.len()))?;
    let json =
        serde_json::to_string_pretty(&fitted).map_err(|e| Error::failed("writing the calibration", e))?;
    std::fs::write(&args.out, json + "\n").map_err(|e| Error::io("writing", &args.out, &e))?;
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
