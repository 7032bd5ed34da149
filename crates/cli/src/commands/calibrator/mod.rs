//! `counterproof train calibrator`: fits how the gate without a language model weighs reader and verifier to questions
//! whose answers are known, or how sure `check` is to claims whose truth is known.

use std::io::Write;
use std::sync::Arc;

use counterproof::methods::check::{Calibrator, CalibratorKind, Check, Claim, verdict_of};
use counterproof::methods::repair::{CalibrationRow, GateCalibration, Repair, means_the_same};
use counterproof::retrieval::ListRetriever;
use counterproof::{Error, Passage, Question, Result, Retriever};
use serde::Deserialize;
use serde_json::json;

use crate::args::CalibratorArgs;
use crate::context::Context;
use crate::error::Outcome;
use crate::model::{Model, verifier};
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
}

/// A search of the passages that a row brings, if it does.
fn retriever(given: Option<Vec<Given>>, context: &Context) -> Result<Option<Arc<dyn Retriever>>> {
    let Some(given) = given else { return Ok(None) };
    let passages = given
        .into_iter()
        .enumerate()
        .map(|(i, p)| Passage::new(p.id.unwrap_or_else(|| format!("p{}", i + 1)), p.title, p.text));
    Ok(Some(Arc::new(ListRetriever::new(passages, context.limits())?)))
}

/// A claim whose truth is known.
#[derive(Debug, Deserialize)]
struct ClaimRow {
    #[serde(alias = "statement")]
    claim: String,
    #[serde(alias = "label")]
    verdict: String,
    /// Claims of one group share text; a claim without one is a group by itself.
    #[serde(default)]
    group: Option<String>,
    #[serde(default, alias = "evidence_text")]
    evidence: Option<serde_json::Value>,
    #[serde(default)]
    passages: Option<Vec<Given>>,
}

/// Fits what the rows are for: claims make a calibrator of `check`, questions one of the encoder gate.
pub(crate) async fn run(args: &CalibratorArgs, context: &Context) -> Outcome {
    let text = std::fs::read_to_string(&args.input).map_err(|e| Error::io("reading", &args.input, &e))?;
    let text = text.trim_start_matches('\u{feff}');
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let first: Option<serde_json::Value> = lines.first().and_then(|line| serde_json::from_str(line).ok());
    let is_claim = |row: &serde_json::Value| row.get("claim").is_some() || row.get("statement").is_some();
    match first.is_some_and(|row| is_claim(&row)) {
        true => of_check(args, &lines, context).await,
        false => of_gate(args, &lines, context).await,
    }
}

/// Fits how sure a check is.
async fn of_check(args: &CalibratorArgs, lines: &[&str], context: &Context) -> Outcome {
    let shared = context.retriever_if_named(&args.evidence).await?;
    let verifier = context.display.waiting("loading the verifier", verifier(None, context)).await?;
    let config = context.config.check.clone();
    let over = |retriever| {
        let check = Check::without_model(retriever, Arc::clone(&verifier), config.clone());
        check.with_limits(context.limits().clone())
    };
    let bar = context.display.rows(lines.len() as u64, "checking claims");
    let (mut rows, mut failed) = (Vec::new(), 0u64);
    for (number, line) in lines.iter().enumerate() {
        bar.inc(1);
        match claim_row(line, shared.clone(), &over, context).await {
            Ok(row) => rows.push(row),
            Err(error) if error.is_user() => {
                failed += 1;
                context.note(&format!("{} row {}: {error}", args.input.display(), number + 1));
            }
            Err(error) => return Err(error.into()),
        }
    }
    bar.finish_and_clear();
    let name = args.input.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let told = format!("{} claims of {name}", rows.len());
    let fitted = Calibrator::fit(&rows, CalibratorKind::Lean, told)?.fitted_for(over(None).fitted_for());
    let json =
        serde_json::to_string_pretty(&fitted).map_err(|e| Error::failed("writing the calibration", e))?;
    std::fs::write(&args.out, json + "\n").map_err(|e| Error::io("writing", &args.out, &e))?;
    let right = rows.iter().filter(|r| r.right).count();
    let held = fitted.held().len();
    if context.json {
        return print_json(&json!({
            "schema": 1, "calibration": args.out, "rows": rows.len(), "failed": failed, "right": right, "held": held,
        }));
    }
    writeln!(
        anstream::stdout().lock(),
        "{right} of {} verdicts were right; fitted to one half of the claims, and one claim of each group of the other half \
         is held back for thresholds ({held})\nwritten to {}; use it with `check_calibration = \"{}\"` in counterproof.toml",
        rows.len(),
        args.out.display(),
        args.out.display()
    )?;
    Ok(())
}

/// The verdict on the claim of one row, beside its truth.
async fn claim_row(
    line: &str,
    shared: Option<Arc<dyn Retriever>>,
    over: &impl Fn(Option<Arc<dyn Retriever>>) -> Check,
    context: &Context,
) -> Result<counterproof::methods::check::CalibrationRow> {
    let known: ClaimRow = serde_json::from_str(line)
        .map_err(|e| Error::invalid("the row", format!("it cannot be read: {e}")))?;
    let truth = verdict_of(&known.verdict).ok_or_else(|| {
        let problem = format!("{} is none; write supported, refuted or not_enough_evidence", known.verdict);
        Error::invalid("verdict", problem)
    })?;
    let evidence = counterproof::batch::evidence(known.evidence.as_ref(), context.limits())?;
    let evidence: Option<Vec<Arc<Passage>>> =
        evidence.map(|passages| passages.into_iter().map(Arc::new).collect());
    let own = retriever(known.passages, context)?.or(shared);
    let group = known.group.unwrap_or_else(|| known.claim.clone());
    over(own).calibration_row(&Claim::new(known.claim), evidence.as_deref(), truth, group).await
}

/// Fits the weights and the threshold of the encoder gate.
async fn of_gate(args: &CalibratorArgs, lines: &[&str], context: &Context) -> Outcome {
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
