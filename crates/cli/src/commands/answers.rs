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
    model: Option<Model>,
    encoders: Option<Encoders>,
    config: AnswersConfig,
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
        let encoders = match config.course {
            Course::Faithful if model.is_some() => None,
            _ => Some(Encoders::open(args, context).await?),
        };
        Ok(Self { model, encoders, config, limits: context.limits().clone() })
    }

    pub(crate) fn over(&self, retriever: Option<Arc<dyn Retriever>>) -> Result<Answers> {
        let config = self.config.clone();
        let answers = match (&self.encoders, &self.model) {
            (Some(Encoders { reader, verifier, calibration }), model) => {
                let (reader, verifier) = (Arc::clone(reader), Arc::clone(verifier));
                let answers =
                    Answers::by_encoders(retriever, reader, verifier, Arc::clone(calibration), config);
                match model {
                    Some(model) => answers.with_model(Arc::clone(&model.model)),
                    None => answers,
                }
            }
            (None, Some(model)) => Answers::by_model(retriever, Arc::clone(&model.model), config),
            (None, None) => return Err(Error::failed("answers", "neither encoders nor a model are there")),
        };
        Ok(answers.with_limits(self.limits.clone()))
    }

    fn concurrency(&self) -> usize {
        self.model.as_ref().map_or(2, |model| model.concurrency)
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
            verifier: verifier(args.verifier.as_deref(), context).await?,
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
    let retriever = context.retriever(&args.method.evidence).await?;
    let opening = Finder::open(&args.method, context);
    let finder = context.display.waiting("loading the models", opening).await?;
    let answers = finder.over(Some(retriever))?;
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
pub(crate) async fn over_own(
    finder: &Finder,
    question: &Question,
    passages: Vec<Passage>,
) -> Result<AnswersReport> {
    let own: Arc<dyn Retriever> = Arc::new(ListRetriever::new(passages.clone(), &finder.limits)?);
    let answers = finder.over(Some(own))?;
    if passages.len() > finder.config.k {
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
            (None, Some(shared)) => self.finder.over(Some(Arc::clone(shared)))?.answers(&question).await?,
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
    let concurrency = finder.concurrency();
    let worker = Arc::new(Worker { finder, shared, explain: args.method.explain });
    let work = |id: String, row: Row| {
        let worker = Arc::clone(&worker);
        async move { worker.work(id, row).await }
    };
    batch::work_through("answers", &rows, &args.rows, concurrency, work, context).await
}
