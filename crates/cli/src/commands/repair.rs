//! `counterproof ask` and `counterproof repair`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use counterproof::methods::repair::{GateKind, Reason, Repair, RepairConfig, RepairReport};
use counterproof::{Error, ErrorBody, Event, Question, Result, Retriever};
use serde_json::json;

use crate::args::{AskArgs, Gate, MethodArgs, RepairArgs};
use crate::context::Context;
use crate::error::{Failure, Outcome, tell};
use crate::model::Model;
use crate::{print_json, render};

/// The parameters of a repair: the settings, then the flags.
pub(crate) fn config(args: &MethodArgs, model: &Model, context: &Context) -> Result<RepairConfig> {
    let mut config = context.config.repair.clone();
    if let Some(k) = args.k {
        context.limits().check_k(k)?;
        (config.k_b, config.k_r) = (k, k);
    }
    if let Some(gate) = args.gate {
        config.gate = match gate {
            Gate::Auto => GateKind::Auto,
            Gate::Text => GateKind::Text,
            Gate::Score => GateKind::Score,
        };
    }
    config.encoder_gate.max_harm = args.max_harm.or(config.encoder_gate.max_harm);
    if let Some(harm) = config.encoder_gate.max_harm.filter(|h| !(0.0..=1.0).contains(h)) {
        return Err(Error::invalid("--max-harm", format!("{harm} is not a share between 0 and 1")));
    }
    match &model.encoders {
        None if args.max_harm.is_some() => {
            return Err(Error::invalid("--max-harm", "it is about --model none; a language model was named"));
        }
        Some(_) if args.gate.is_some() => {
            return Err(Error::invalid("--gate", "it is about a language model, and --model none asks none"));
        }
        Some(gate) => {
            let (least, asked) = (gate.calibration().least_harm(), config.encoder_gate.max_harm);
            if let Some(harm) = asked.filter(|harm| *harm < least) {
                context.note(&format!(
                    "a harm of {harm} is less than the calibration can promise with 95 % confidence ({least:.3}): every \
                     answer is kept; fit it to more questions with `counterproof train calibrator`"
                ));
            }
        }
        None => {}
    }
    for part in &args.ablate {
        config.ablate(part)?;
    }
    config.price = model.price.or(config.price);
    Ok(config)
}

/// The method over one retriever.
pub(crate) fn method(
    retriever: Arc<dyn Retriever>,
    model: &Model,
    config: RepairConfig,
    context: &Context,
) -> Repair {
    over(retriever, model, config).with_limits(context.limits().clone())
}

/// The method over one retriever, by the language model or by the encoders.
pub(crate) fn over(retriever: Arc<dyn Retriever>, model: &Model, config: RepairConfig) -> Repair {
    match &model.encoders {
        Some(gate) => Repair::without_model(retriever, gate.clone(), config),
        None => {
            let repair = Repair::new(retriever, Arc::clone(&model.model), config);
            match &model.veto {
                Some(verifier) => repair.with_veto(Arc::clone(verifier)),
                None => repair,
            }
        }
    }
}

pub(crate) async fn ask(args: &AskArgs, context: &Context) -> Outcome {
    let question = context.text(&args.question, "question", context.limits().max_question_bytes)?;
    one(&question, None, &args.method, context).await
}

pub(crate) async fn repair(args: &RepairArgs, context: &Context) -> Outcome {
    let question = context.text(&args.question, "question", context.limits().max_question_bytes)?;
    let draft = context.text(&args.draft, "draft", context.limits().max_draft_bytes)?;
    one(&question, Some(&draft), &args.method, context).await
}

async fn one(question: &str, draft: Option<&str>, args: &MethodArgs, context: &Context) -> Outcome {
    context.limits().check_question(question)?;
    if let Some(draft) = draft {
        context.limits().check_draft(draft)?;
    }
    let question = Question::new(question);
    let retriever = context.retriever(&args.evidence).await?;
    let model = context.display.waiting("loading the model", Model::open(&args.choice, context)).await?;
    let config = config(args, &model, context)?;
    let method = method(retriever, &model, config, context);
    if args.dry_run {
        return estimate(&method, [(&question, draft)], &model, context);
    }
    let work = async {
        match draft {
            Some(draft) => method.repair(&question, draft).await,
            None => method.ask(&question).await,
        }
    };
    let report = context.display.waiting("looking for evidence against the answer", work).await?;
    print(&report, args.explain, context)
}

fn print(report: &RepairReport, explain: bool, context: &Context) -> Outcome {
    if context.json {
        print_json(&report.to_json(explain))?;
    } else {
        anstream::stdout().lock().write_all(render::report(report, explain).as_bytes())?;
    }
    match failure(report) {
        None => Ok(()),
        // Whoever relies on the exit code must not take an answer for tested that was not.
        Some(error) => {
            tell(&error, false);
            Err(Failure::Told(ExitCode::FAILURE))
        }
    }
}

/// What kept an answer from being tested, when something did.
pub(crate) fn failure(report: &RepairReport) -> Option<ErrorBody> {
    if !matches!(report.reason, Reason::GateFailed | Reason::RetrievalFailed) {
        return None;
    }
    let told = report.trace.events.iter().rev().find_map(|event| match event {
        Event::Reply { error, .. } | Event::Search { error, .. } => error.clone(),
        _ => None,
    });
    let noted = report.trace.events.iter().rev().find_map(|event| match event {
        Event::Note { text, .. } => Some(text.as_str()),
        _ => None,
    });
    Some(told.unwrap_or_else(|| {
        Error::failed("testing the answer", noted.unwrap_or(report.reason.explain())).body()
    }))
}

/// Tells what rows would cost.
pub(crate) fn estimate<'a>(
    method: &Repair,
    rows: impl IntoIterator<Item = (&'a Question, Option<&'a str>)>,
    model: &Model,
    context: &Context,
) -> Outcome {
    let estimate = method.estimate(rows);
    let usage = counterproof::Usage { tokens_in: estimate.tokens_in, tokens_out: estimate.tokens_out };
    let usd = model.price.map(|price| price.of(usage));
    if context.json {
        return print_json(&json!({ "schema": 1, "dry_run": true, "estimate": estimate, "usd": usd }));
    }
    anstream::stdout().lock().write_all(render::estimate(&estimate, usd).as_bytes())?;
    Ok(())
}
