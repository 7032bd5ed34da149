//! How `answers` weighs reader and verifier, fitted to questions all of whose answers are known.

use std::io::Write;
use std::sync::Arc;

use counterproof::methods::answers::{
    Answers, AnswersAblations, AnswersCalibration, AnswersConfig, CalibrationRow, Candidate, Course,
};
use counterproof::methods::repair::means_the_same;
use counterproof::{Error, Passage, Question, Result, Retriever};
use serde::Deserialize;
use serde_json::json;

use super::{Given, file_name, passages, read_rows, retriever, save};
use crate::args::CalibratorArgs;
use crate::context::Context;
use crate::error::Outcome;
use crate::model::{reader, verifier};
use crate::print_json;

/// A question all of whose answers are known.
#[derive(Debug, Deserialize)]
struct Row {
    question: String,
    /// Every right answer, by itself or with its other names.
    answers: Vec<Names>,
    #[serde(default)]
    passages: Option<Vec<Given>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Names {
    fn hold(&self, answer: &str) -> bool {
        let all = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        };
        all.iter().any(|name| means_the_same(name, answer, &[]))
    }
}

/// Fits the weights and the thresholds.
pub(super) async fn fit(args: &CalibratorArgs, lines: &[&str], context: &Context) -> Outcome {
    let shared = context.retriever_if_named(&args.evidence).await?;
    // What is fitted is reader and verifier; the candidates that a language model would be asked about are judged by them too.
    let config = AnswersConfig {
        course: Course::Cascade,
        questions: None,
        ablate: AnswersAblations::default(),
        ..context.config.answers.clone()
    };
    let calibration = Arc::new(counterproof::own::answers_calibration()?);
    let (reader, verifier) = (reader(context).await?, verifier(None, context).await?);
    let over = |retriever| {
        let (reader, verifier) = (Arc::clone(&reader), Arc::clone(&verifier));
        Answers::by_encoders(retriever, reader, verifier, Arc::clone(&calibration), config.clone())
            .with_limits(context.limits().clone())
    };
    let read = async |line: &str| row(line, shared.clone(), &over, &config, context).await;
    let (rows, failed) = read_rows(args, lines, "finding answers", read, context).await?;
    let fitted = AnswersCalibration::fit(&rows, format!("{} questions of {}", rows.len(), file_name(args)))?;
    let fitted = fitted.fitted_for(over(None).fitted_for());
    save(&fitted, args)?;
    let candidates = rows.iter().map(|r| r.candidates.len()).sum::<usize>();
    let right = rows.iter().flat_map(|r| &r.candidates).filter(|(_, names)| names.is_some()).count();
    if context.json {
        return print_json(&json!({
            "schema": 1, "calibration": args.out, "rows": rows.len(), "failed": failed, "candidates": candidates,
            "right": right, "threshold": fitted.threshold, "unsure": fitted.unsure,
        }));
    }
    writeln!(
        anstream::stdout().lock(),
        "{right} of {candidates} candidates were right; candidates are kept from probability {:.2}\nwritten to {}; use it with \
         `answers_calibration = \"{}\"` in counterproof.toml",
        fitted.threshold,
        args.out.display(),
        args.out.display()
    )?;
    Ok(())
}

async fn row(
    line: &str,
    shared: Option<Arc<dyn Retriever>>,
    over: &impl Fn(Option<Arc<dyn Retriever>>) -> Answers,
    config: &AnswersConfig,
    context: &Context,
) -> Result<CalibrationRow> {
    let mut known: Row = serde_json::from_str(line)
        .map_err(|e| Error::invalid("the row", format!("it cannot be read: {e}")))?;
    let question = Question::new(&known.question);
    let examined = match known.passages.take() {
        // As `answers` does: what comes with a question is read whole, if it is not too much.
        Some(given) if given.len() <= config.k => {
            let own: Vec<Passage> = passages(given);
            let listed = counterproof::retrieval::ListRetriever::new(own.clone(), context.limits())?;
            let own: Vec<Arc<Passage>> = own.into_iter().map(Arc::new).collect();
            over(Some(Arc::new(listed))).examine(&question, Some(&own)).await?
        }
        given => over(retriever(given, context)?.or(shared)).examine(&question, None).await?,
    };
    let names = |c: &Candidate| known.answers.iter().position(|names| names.hold(&c.surface));
    Ok(CalibrationRow {
        candidates: examined.iter().map(|(c, evidence)| (*evidence, names(c))).collect(),
        answers: known.answers.len(),
    })
}
