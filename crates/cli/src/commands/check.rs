//! `counterproof check` and `counterproof batch check`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use counterproof::batch::Row;
use counterproof::methods::check::{
    Abstention, Calibrator, Check, CheckConfig, CheckReport, Claim, Proposing, claims_of,
};
use counterproof::retrieval::ListRetriever;
use counterproof::{ByteSpan, Error, Limits, Passage, Result, Retriever, UserError};
use serde_json::{Map, Value, json};

use crate::args::{BatchCheckArgs, CheckArgs, CheckMethodArgs, Decompose, Propose};
use crate::commands::batch;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::model::{Model, verifier};
use crate::{print_json, render};

/// What all claims of one command are checked by; the evidence is each claim's own affair.
struct Checker {
    model: Option<Model>,
    verifier: Arc<dyn counterproof::Entailment>,
    calibrator: Arc<Calibrator>,
    config: CheckConfig,
    limits: Limits,
}

impl Checker {
    async fn open(args: &CheckMethodArgs, context: &Context) -> Result<Self> {
        let config = config(args, context)?;
        let calibrator = Arc::new(calibrator(context)?);
        let model = Model::language(&args.choice, "the verifier", context).await?;
        if model.is_none() {
            let flags = [
                (args.candidates.is_some(), "--candidates"),
                (args.propose.is_some(), "--propose"),
                (args.few_shot, "--few-shot"),
            ];
            for (given, flag) in flags {
                if given {
                    return Err(Error::invalid(
                        flag,
                        "it is about a language model, and --model none asks none",
                    ));
                }
            }
        }
        let verifier = verifier(args.judge.verifier.as_deref(), context).await?;
        Ok(Self { model, verifier, calibrator, config, limits: context.limits().clone() })
    }

    /// Says so where nothing can be promised of what was asked for.
    fn tell_promises(&self, given: bool, context: &Context) {
        if let Err(none) = self.over(None).threshold(1, given) {
            context.note(&format!(
                "what was asked for cannot be promised: {none}. Every verdict is withheld; fit a calibration to claims of your \
                 own with `counterproof train calibrator`"
            ));
        }
    }

    fn over(&self, retriever: Option<Arc<dyn Retriever>>) -> Check {
        let (verifier, mut config) = (Arc::clone(&self.verifier), self.config.clone());
        let check = match &self.model {
            Some(model) => {
                config.price = model.price.or(config.price);
                Check::new(retriever, Arc::clone(&model.model), verifier, config)
            }
            None => Check::without_model(retriever, verifier, config),
        };
        check.with_calibrator(Arc::clone(&self.calibrator)).with_limits(self.limits.clone())
    }

    fn concurrency(&self) -> usize {
        self.model.as_ref().map_or(4, |model| model.concurrency)
    }
}

/// The calibrator that the settings name, else the one that is part of the program.
fn calibrator(context: &Context) -> Result<Calibrator> {
    match &context.config.check_calibration {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|e| Error::io("reading", file, &e))?;
            Calibrator::from_json(&text, &file.display().to_string())
        }
        None => counterproof::own::check_calibrator(),
    }
}

/// The parameters of a check: the settings, then the flags.
fn config(args: &CheckMethodArgs, context: &Context) -> Result<CheckConfig> {
    let mut config = context.config.check.clone();
    if let Some(k) = args.k {
        context.limits().check_k(k)?;
        config.k = k;
    }
    if let Some(candidates) = args.candidates {
        (config.candidates, config.adaptive) = (candidates, false);
    }
    config.few_shot |= args.few_shot;
    if let Some(propose) = args.propose {
        config.proposing = match propose {
            Propose::Auto => Proposing::Auto,
            Propose::Written => Proposing::Written,
            Propose::Scored => Proposing::Scored,
        };
    }
    config.decompose &= args.decompose == Decompose::Auto;
    if args.no_abstention {
        config.abstention = Abstention::Never;
    }
    let shares = [
        ("--threshold", args.threshold, Abstention::Threshold as fn(f64) -> Abstention),
        ("--target-risk", args.target_risk, Abstention::Risk),
        ("--coverage", args.coverage, Abstention::Coverage),
    ];
    for (flag, share, abstention) in shares {
        if let Some(share) = share {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::invalid(flag, format!("{share} is not between 0 and 1")));
            }
            config.abstention = abstention(share);
        }
    }
    for part in &args.ablate {
        config.ablate(part)?;
    }
    config.validate()?;
    Ok(config)
}

pub(crate) async fn run(args: &CheckArgs, context: &Context) -> Outcome {
    let given = given(&args.given, context)?;
    let text = match &args.text {
        Some(file) => Some(document(file, context)?),
        None => None,
    };
    let claim = match &args.claim {
        Some(claim) => {
            let claim = context.text(claim, "claim", context.limits().max_question_bytes)?;
            Claim::new(&claim).admit(context.limits())?;
            claim
        }
        None => String::new(),
    };
    let retriever = match &given {
        Some(_) => None,
        None => Some(context.retriever(&args.method.evidence).await?),
    };
    let opening = Checker::open(&args.method, context);
    let checker = context.display.waiting("loading the models", opening).await?;
    checker.tell_promises(given.is_some(), context);
    let check = checker.over(retriever);
    match text {
        Some(text) => checked_text(&text, &check, given.as_deref(), args.method.explain, context).await,
        None => {
            let claim = Claim::new(claim);
            let work = checked(&check, &claim, given.as_deref());
            let report = context.display.waiting("looking for evidence", work).await?;
            if context.json {
                return print_json(&report.to_json(args.method.explain));
            }
            let out = render::check::report(&report, args.method.explain);
            anstream::stdout().lock().write_all(out.as_bytes())?;
            Ok(())
        }
    }
}

async fn checked(check: &Check, claim: &Claim, given: Option<&[Arc<Passage>]>) -> Result<CheckReport> {
    match given {
        Some(evidence) => check.check_by(claim, evidence).await,
        None => check.check(claim).await,
    }
}

/// The evidence that was typed or lies in files; `None` when there is none.
fn given(texts: &[String], context: &Context) -> Result<Option<Vec<Arc<Passage>>>> {
    if texts.is_empty() {
        return Ok(None);
    }
    let passage = |(number, given): (usize, &String)| -> Result<Arc<Passage>> {
        let (name, text) = match given.strip_prefix('@') {
            Some(file) => (file.to_owned(), document(Path::new(file), context)?),
            None => (String::new(), given.clone()),
        };
        context.limits().check_passage(&text)?;
        // The name of a file tells nothing about the words in it, so it names the passage and is no title.
        let id = if name.is_empty() { format!("evidence-{}", number + 1) } else { name };
        Ok(Arc::new(Passage::new(id, "", text)))
    };
    texts.iter().enumerate().map(passage).collect::<Result<_>>().map(Some)
}

/// The text of a file, or of standard input.
fn document(file: &Path, context: &Context) -> Result<String> {
    let max = context.limits().max_passage_bytes;
    if file == Path::new("-") {
        let text = context.text("-", "text", max)?;
        context.limits().check_passage(&text)?;
        return Ok(text);
    }
    let io = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Error::from(UserError::NotFound {
            what: format!("the file {}", file.display()),
            hint: "name a text file that exists".to_owned(),
        }),
        _ => Error::io("reading", file, &e),
    };
    let size = std::fs::metadata(file).map_err(io)?.len();
    if usize::try_from(size).unwrap_or(usize::MAX) > max {
        let problem = format!("{size} bytes are more than max_passage_bytes = {max}");
        return Err(Error::invalid(file.display().to_string(), problem));
    }
    let bytes = std::fs::read(file).map_err(io)?;
    let text = String::from_utf8(bytes)
        .map_err(|e| Error::invalid(file.display().to_string(), format!("it is not UTF-8 text: {e}")))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// A sentence of a text, and what came of it.
pub(crate) struct CheckedSentence {
    pub(crate) span: ByteSpan,
    /// What was checked, with the name in place of a pronoun.
    pub(crate) claim: Option<String>,
    /// `None` where it states nothing that can be checked.
    pub(crate) report: Option<std::result::Result<CheckReport, Error>>,
}

async fn checked_text(
    text: &str,
    check: &Check,
    given: Option<&[Arc<Passage>]>,
    explain: bool,
    context: &Context,
) -> Outcome {
    let sentences = claims_of(text);
    let claims = sentences.iter().filter(|s| s.claim.is_some()).count();
    if claims == 0 {
        context.note("no sentence of the text states something that evidence could settle");
    }
    let bar = context.display.rows(claims as u64, "checking");
    let mut out: Vec<CheckedSentence> = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let report = match &sentence.claim {
            Some(claim) => {
                let report = checked(check, &Claim::new(claim), given).await;
                bar.inc(1);
                Some(report)
            }
            None => None,
        };
        out.push(CheckedSentence { span: sentence.span, claim: sentence.claim, report });
    }
    bar.finish_and_clear();
    if context.json {
        let sentences: Vec<Value> = out.iter().map(|s| sentence_json(s, text, explain)).collect();
        print_json(&json!({ "schema": 1, "sentences": sentences }))?;
    } else {
        anstream::stdout().lock().write_all(render::check::document(text, &out, explain).as_bytes())?;
    }
    // What is wrong with one sentence is told with it; what was wrong with the machine is a failure.
    let failed = |s: &CheckedSentence| matches!(&s.report, Some(Err(error)) if !error.is_user());
    if out.iter().any(failed) { Err(Failure::Told(ExitCode::FAILURE)) } else { Ok(()) }
}

fn sentence_json(sentence: &CheckedSentence, text: &str, explain: bool) -> Value {
    let mut json = json!({
        "start": sentence.span.start(),
        "end": sentence.span.end(),
        "sentence": sentence.span.slice(text).unwrap_or_default(),
        "checkable": sentence.report.is_some(),
    });
    if let (Some(object), Some(report)) = (json.as_object_mut(), &sentence.report) {
        match report {
            Ok(report) => object.insert("check".to_owned(), report.to_json(explain)),
            Err(error) => object.insert("error".to_owned(), json!(error.body())),
        };
    }
    json
}

/// What one row of a batch needs.
struct Worker {
    checker: Checker,
    shared: Option<Arc<dyn Retriever>>,
    explain: bool,
}

impl Worker {
    async fn work(&self, id: String, mut row: Row) -> Result<Map<String, Value>> {
        let limits = &self.checker.limits;
        let evidence = row.evidence(limits)?;
        let claim = Claim { id, text: row.claim.take().unwrap_or_else(|| std::mem::take(&mut row.question)) };
        let report = match (evidence, row.passages, &self.shared) {
            (Some(evidence), ..) => {
                let evidence: Vec<Arc<Passage>> = evidence.into_iter().map(Arc::new).collect();
                self.checker.over(None).check_by(&claim, &evidence).await?
            }
            (None, Some(passages), _) => {
                let own = Arc::new(ListRetriever::new(passages, limits)?);
                self.checker.over(Some(own)).check(&claim).await?
            }
            (None, None, Some(shared)) => self.checker.over(Some(Arc::clone(shared))).check(&claim).await?,
            (None, None, None) => {
                return Err(Error::invalid(
                    "the row",
                    "it brings no evidence: add a field `evidence` or `passages`, or give --index DIR or --passages FILE",
                ));
            }
        };
        match report.to_json(self.explain) {
            Value::Object(fields) => Ok(fields),
            _ => Err(Error::failed("writing a report", "it is no object")),
        }
    }
}

pub(crate) async fn batch(args: &BatchCheckArgs, context: &Context) -> Outcome {
    let rows = batch::open(&args.rows, context)?;
    let shared = context.retriever_if_named(&args.method.evidence).await?;
    let opening = Checker::open(&args.method, context);
    let checker = context.display.waiting("loading the models", opening).await?;
    let concurrency = checker.concurrency();
    checker.tell_promises(shared.is_none(), context);
    let worker = Arc::new(Worker { checker, shared, explain: args.method.explain });
    let work = |id: String, row: Row| {
        let worker = Arc::clone(&worker);
        async move { worker.work(id, row).await }
    };
    batch::work_through("check", &rows, &args.rows, concurrency, work, context).await
}
