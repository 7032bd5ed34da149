//! How sure `check` is, fitted to claims whose truth is known.

use std::io::Write;
use std::sync::Arc;

use counterproof::methods::check::{Calibrator, CalibratorKind, Check, Claim, verdict_of};
use counterproof::{Error, Passage, Result, Retriever};
use serde::Deserialize;
use serde_json::json;

use super::{Given, file_name, read_rows, retriever, save};
use crate::args::CalibratorArgs;
use crate::context::Context;
use crate::error::Outcome;
use crate::model::verifier;
use crate::print_json;

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

/// Fits how sure a check is.
pub(super) async fn fit(args: &CalibratorArgs, lines: &[&str], context: &Context) -> Outcome {
    let shared = context.retriever_if_named(&args.evidence).await?;
    let verifier = context.display.waiting("loading the verifier", verifier(None, context)).await?;
    let config = context.config.check.clone();
    let over = |retriever| {
        let check = Check::without_model(retriever, Arc::clone(&verifier), config.clone());
        check.with_limits(context.limits().clone())
    };
    let read = async |line: &str| claim_row(line, shared.clone(), &over, context).await;
    let (rows, failed) = read_rows(args, lines, "checking claims", read, context).await?;
    let told = format!("{} claims of {}", rows.len(), file_name(args));
    let fitted = Calibrator::fit(&rows, CalibratorKind::Lean, told)?.fitted_for(over(None).fitted_for());
    save(&fitted, args)?;
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
