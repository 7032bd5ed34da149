//! `counterproof answers` and `counterproof batch answers`.

use std::io::Write;
use std::sync::Arc;

use counterproof::batch::Row;
use counterproof::methods::answers::{
    Answers, AnswersCalibration, AnswersConfig, AnswersReport, Course, VqMode,
};
use counterproof::retrieval::ListRetriever;
use counterproof::{Entailment, Error, Limits, Passage, Question, Result, Retriever, SpanReader};
use serde_json::{Map, Value};

use crate::args::{AnswersArgs, AnswersMethodArgs, BatchAnswersArgs, Questions};
use crate::commands::batch;
use crate::context::{BASE_ENCODER, Context};
use crate::error::Outcome;
use crate::model::{Model, reader, verifier};
use crate::{print_json, render};

/// What all questions of one command are answered by.
pub(crate) struct Finder {
    /// Over nothing yet: each question says what is searched for it.
    answers: Answers,
    concurrency: usize,
    k: usize,
    limits: Limits,
}

struct Encoders {
    reader: Arc<dyn SpanReader>,
    verifier: Arc<dyn Entailment>,
    calibration: Arc<AnswersCalibration>,
}

impl Finder {
    pub(crate) async fn open(args: &AnswersMethodArgs, context: &Context) -> Result<Self> {
        let mut config = config(args, context)?;
        let model = Model::language(&args.choice, "a reader and a verifier", context).await?;
        if let Some(model) = &model {
            config.price = model.price.or(config.price);
            if config.course == Course::Cascade && context.store()?.path(BASE_ENCODER).is_err() {
                context.note(&format!(
                    "the base encoder is not here, so the model reads and judges everything; `counterproof models pull \
                     {BASE_ENCODER}` makes it far cheaper"
                ));
                config.course = Course::Faithful;
            }
        }
        let (limits, k) = (context.limits().clone(), config.k);
        let concurrency = model.as_ref().map_or(2, |model| model.concurrency);
        let answers = match (model, config.course) {
            (Some(model), Course::Faithful) => Answers::by_model(None, model.model, config),
            (model, _) => {
                let Encoders { reader, verifier, calibration } = Encoders::open(args, context).await?;
                let answers = Answers::by_encoders(None, reader, verifier, calibration, config);
                match model {
                    Some(model) => answers.with_model(model.model),
                    None => answers,
                }
            }
        };
        answers.can_answer()?;
        if !answers.is_calibrated_for_this() {
            context.note(
                "the calibration was fitted to another reader or verifier: confidences and what is kept are a guess; fit one with \
                 `counterproof train calibrator`",
            );
        }
        Ok(Self { answers: answers.with_limits(limits.clone()), concurrency, k, limits })
    }

    fn over(&self, retriever: Option<Arc<dyn Retriever>>) -> Answers {
        self.answers.clone().with_retriever(retriever)
    }
}

impl Encoders {
    async fn open(args: &AnswersMethodArgs, context: &Context) -> Result<Self> {
        let calibration = match &context.config.answers_calibration {
            Some(file) => {
                let text = std::fs::read_to_string(file).map_err(|e| Error::io("reading", file, &e))?;
                AnswersCalibration::from_json(&text, &file.display().to_string())?
            }
            None => counterproof::own::answers_calibration()?,
        };
        Ok(Self {
            reader: reader(context).await?,
            verifier: verifier(args.judge.verifier.as_deref(), context).await?,
            calibration: Arc::new(calibration),
        })
    }
}

/// The parameters: the settings, then the flags.
fn config(args: &AnswersMethodArgs, context: &Context) -> Result<AnswersConfig> {
    let mut config = context.config.answers.clone();
    for (given, place) in [(args.k, &mut config.k), (args.k_verify, &mut config.k_verify)] {
        if let Some(k) = given {
            if k > 0 {
                context.limits().check_k(k)?;
            }
            *place = k;
        }
    }
    if args.faithful {
        config.course = Course::Faithful;
    }
    if let Some(questions) = args.questions {
        config.questions = Some(match questions {
            Questions::Fixed => VqMode::Fixed,
            Questions::Template => VqMode::Template,
            Questions::PerCandidate => VqMode::PerCandidate,
            Questions::PerConstraint => VqMode::PerConstraint,
        });
    }
    config.threshold = args.threshold.or(config.threshold);
    config.support_threshold = args.support.or(config.support_threshold);
    config.max_candidates = args.max_candidates.or(config.max_candidates);
    config.budget_calls = args.budget_calls.or(config.budget_calls);
    for part in &args.ablate {
        config.ablate(part)?;
    }
    config.validate()?;
    Ok(config)
}

pub(crate) async fn run(args: &AnswersArgs, context: &Context) -> Outcome {
    let question = context.text(&args.question, "question", context.limits().max_question_bytes)?;
    context.limits().check_question(&question)?;
    // What a model remembers is searched for nowhere.
    let from_memory = args.method.ablate.iter().any(|part| part.replace('-', "_") == "parametric_only");
    let retriever = match from_memory {
        true => None,
        false => Some(context.retriever(&args.method.evidence).await?),
    };
    let opening = Finder::open(&args.method, context);
    let finder = context.display.waiting("loading the models", opening).await?;
    let answers = finder.over(retriever);
    let question = Question::new(question);
    let report = context.display.waiting("looking for answers", answers.answers(&question)).await?;
    if context.json {
        return print_json(&report.to_json(args.method.explain));
    }
    let out = render::answers::report(&report, args.method.explain);
    anstream::stdout().lock().write_all(out.as_bytes())?;
    Ok(())
}

/// Passages that come with a question are all read, if they are no more than would be read of a search.
async fn over_own(finder: &Finder, question: &Question, passages: Vec<Passage>) -> Result<AnswersReport> {
    let own: Arc<dyn Retriever> = Arc::new(ListRetriever::new(passages.clone(), &finder.limits)?);
    let answers = finder.over(Some(own));
    if passages.len() > finder.k {
        return answers.answers(question).await;
    }
    let passages: Vec<Arc<Passage>> = passages.into_iter().map(Arc::new).collect();
    answers.answers_in(question, &passages).await
}

/// What one row of a batch needs.
struct Worker {
    finder: Finder,
    shared: Option<Arc<dyn Retriever>>,
    explain: bool,
}

impl Worker {
    async fn work(&self, id: String, mut row: Row) -> Result<Map<String, Value>> {
        let evidence = row.evidence(&self.finder.limits)?;
        let question = Question { id, text: std::mem::take(&mut row.question) };
        let report = match (evidence.or(row.passages), &self.shared) {
            (Some(passages), _) => over_own(&self.finder, &question, passages).await?,
            (None, Some(shared)) => self.finder.over(Some(Arc::clone(shared))).answers(&question).await?,
            (None, None) => {
                return Err(Error::invalid(
                    "the row",
                    "it brings no passages: add a field `passages`, or give --index DIR or --passages FILE",
                ));
            }
        };
        match report.to_json(self.explain) {
            Value::Object(fields) => Ok(fields),
            _ => Err(Error::failed("writing a report", "it is no object")),
        }
    }
}

pub(crate) async fn batch(args: &BatchAnswersArgs, context: &Context) -> Outcome {
    let rows = batch::open(&args.rows, context)?;
    let shared = context.retriever_if_named(&args.method.evidence).await?;
    let opening = Finder::open(&args.method, context);
    let finder = context.display.waiting("loading the models", opening).await?;
    let concurrency = finder.concurrency;
    let worker = Arc::new(Worker { finder, shared, explain: args.method.explain });
    let work = |id: String, row: Row| {
        let worker = Arc::clone(&worker);
        async move { worker.work(id, row).await }
    };
    batch::work_through("answers", &rows, &args.rows, concurrency, work, context).await
}
