//! The steps in their order. Everything with a meaning of its own lives in the modules beside this one.

use std::sync::{Arc, OnceLock};

use counterproof_core::{
    Citation, Entailment, Error, Event, LanguageModel, Limits, Passage, Probability, Question, Result,
    Retriever, RuleOutcome, SpanReader,
};
use counterproof_text::question::{QuestionTyper, RuleTyper};
use counterproof_text::statement::statement;

use super::candidates::{Candidate, Merged, Merging};
use super::config::{AnswersConfig, Course, Unparsed, VqMode};
use super::question::questions;
use super::read;
use super::report::{ANSWERS_SCHEMA, Answer, AnswersReport, Decider, RejectReason, Rejected};
use super::verify::{self, By, Case, Said};
use super::weigh::{AnswersCalibration, Evidence};
use crate::ledger::{Ledger, Search};
use crate::pool::Pool;
use crate::prompts::language_of;
use crate::weighing::logit;

const RETRIEVE: &str = "retrieve";
const STAGE: &str = "answers";

/// A candidate that is so sure to be right or wrong by what it was read in needs no further search.
const CLEAR: f64 = 0.02;

/// What reads and judges without a language model.
#[derive(Clone)]
struct Encoders {
    reader: Arc<dyn SpanReader>,
    verifier: Arc<dyn Entailment>,
    calibration: Arc<AnswersCalibration>,
}

/// Finds all answers to questions.
///
/// ```
/// # use std::sync::Arc;
/// # use counterproof_core::{CompletionRequest, InMemoryRetriever, Passage, Question, Script, ScriptedModel};
/// # use counterproof_methods::answers::{Answers, AnswersConfig};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let passages = [
///     Passage::new("p1", "Heat", "Ryoichi Ikegami drew the manga Heat."),
///     Passage::new("p2", "Sanctuary", "Sanctuary is a manga that Ryoichi Ikegami drew."),
/// ];
/// // Reads each passage, writes a question for each candidate, and says yes to all of them.
/// let model = ScriptedModel::new(|request: &CompletionRequest| {
///     let prompt = &request.messages.last().unwrap().content;
///     let title = if prompt.contains("[1] Heat") { "Heat" } else { "Sanctuary" };
///     Script::Reply(if request.stage == "read" { title.into() } else { "Yes".into() })
/// });
/// let all = Answers::by_model(Some(Arc::new(InMemoryRetriever::new(passages))), Arc::new(model), AnswersConfig::default());
/// let report = all.answers(&Question::new("What manga did Ryoichi Ikegami draw?")).await?;
/// let found: Vec<&str> = report.answers.iter().map(|a| a.answer.as_str()).collect();
/// assert_eq!(found, ["Heat", "Sanctuary"]);
/// # Ok::<(), counterproof_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Answers {
    retriever: Option<Arc<dyn Retriever>>,
    encoders: Option<Encoders>,
    model: Option<Arc<dyn LanguageModel>>,
    config: AnswersConfig,
    limits: Limits,
    /// How far the model leans to yes, in each language that it was asked in.
    leans: Arc<[OnceLock<f64>; 2]>,
}

/// What became of a candidate.
enum Outcome {
    Kept(Option<f64>, Decider),
    Out(RejectReason, Option<f64>),
}

impl Answers {
    /// A search by a span reader and a verifier, with the calibration that was fitted to what these two say.
    pub fn by_encoders(
        retriever: Option<Arc<dyn Retriever>>,
        reader: Arc<dyn SpanReader>,
        verifier: Arc<dyn Entailment>,
        calibration: impl Into<Arc<AnswersCalibration>>,
        config: AnswersConfig,
    ) -> Self {
        let encoders = Some(Encoders { reader, verifier, calibration: calibration.into() });
        let leans = Arc::default();
        Self { retriever, encoders, model: None, config, limits: Limits::default(), leans }
    }

    /// A search by a language model alone, in the paper's form.
    pub fn by_model(
        retriever: Option<Arc<dyn Retriever>>,
        model: Arc<dyn LanguageModel>,
        config: AnswersConfig,
    ) -> Self {
        let config = AnswersConfig { course: Course::Faithful, ..config };
        let (limits, leans) = (Limits::default(), Arc::default());
        Self { retriever, encoders: None, model: Some(model), config, limits, leans }
    }

    /// Has a language model asked about the candidates that reader and verifier leave open, or with [`Course::Faithful`]
    /// about everything.
    #[must_use]
    pub fn with_model(self, model: Arc<dyn LanguageModel>) -> Self {
        Self { model: Some(model), leans: Arc::default(), ..self }
    }

    /// The same search over something else; what was found out about the model is kept.
    #[must_use]
    pub fn with_retriever(self, retriever: Option<Arc<dyn Retriever>>) -> Self {
        Self { retriever, ..self }
    }

    /// Replaces the limits on inputs.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The parameters.
    pub fn config(&self) -> &AnswersConfig {
        &self.config
    }

    /// Finds the answers in what a search for the question brings.
    ///
    /// # Errors
    /// The user's (an empty or enormous question, nothing to search, a part that needs a language model), the search's, the
    /// reader's and the verifier's, and the language model's where it answered nothing at all.
    pub async fn answers(&self, question: &Question) -> Result<AnswersReport> {
        self.admit(question)?;
        let mut ledger = self.ledger();
        let pool = match self.config.ablate.parametric_only {
            true => Pool::default(),
            false => self.search(question, &mut ledger).await?,
        };
        self.report(question, &pool, ledger).await
    }

    /// Finds the answers in given passages, all of which are read. Further passages for a candidate are searched for as ever.
    ///
    /// # Errors
    /// As [`answers`](Self::answers), without the first search's; and passages beyond the limits.
    pub async fn answers_in(&self, question: &Question, passages: &[Arc<Passage>]) -> Result<AnswersReport> {
        self.admit(question)?;
        let pool = match self.config.ablate.parametric_only {
            true => Pool::default(),
            false => self.given(passages)?,
        };
        self.report(question, &pool, self.ledger()).await
    }

    /// Every candidate with what reader, verifier and search know of it: for calibrating. With `passages` these are read,
    /// else what a search brings.
    ///
    /// # Errors
    /// As [`answers`](Self::answers).
    pub async fn examine(
        &self,
        question: &Question,
        passages: Option<&[Arc<Passage>]>,
    ) -> Result<Vec<(Candidate, Evidence)>> {
        self.admit(question)?;
        let mut ledger = self.ledger();
        let pool = match passages {
            Some(passages) => self.given(passages)?,
            None => self.search(question, &mut ledger).await?,
        };
        let encoders = self.encoders()?;
        let Merged { candidates, .. } = self.read(question, &pool, &mut ledger).await?;
        let mut cases: Vec<Case<'_>> = candidates.iter().map(|c| Case::new(c, &candidates)).collect();
        let asked = &question.text;
        let mut all: Vec<&mut Case<'_>> = cases.iter_mut().collect();
        self.by_source(asked, &mut all, &pool, encoders, &mut ledger).await?;
        self.by_extra(asked, &mut all, &pool, encoders, &mut ledger).await?;
        Ok(cases.into_iter().map(|case| (case.candidate.clone(), case.evidence)).collect())
    }

    /// Whether what is there is enough for the parameters.
    ///
    /// # Errors
    /// A user's error that names a setting that is wrong, or what needs a language model where there is none.
    pub fn can_answer(&self) -> Result<()> {
        self.config.validate()?;
        let needs =
            |what: &str| Err(Error::invalid(what, "it needs a language model: name one with --model"));
        if self.model.is_none() {
            if self.config.course == Course::Faithful {
                return needs("--faithful");
            }
            if self.config.ablate.parametric_only {
                return needs("--ablate parametric_only");
            }
            if self.config.vq_mode() != VqMode::Fixed {
                return needs("--questions");
            }
        }
        Ok(())
    }

    /// Whether the calibration was fitted to this reader and this verifier; where none takes part it is.
    pub fn is_calibrated_for_this(&self) -> bool {
        self.encoders.as_ref().is_none_or(|e| e.calibration.fitted_for == self.fitted_for())
    }

    /// What a calibration of this search is fitted for: the reader and the verifier.
    pub fn fitted_for(&self) -> String {
        let identities = |e: &Encoders| format!("{} {}", e.reader.identity(), e.verifier.identity());
        self.encoders.as_ref().map(identities).unwrap_or_default()
    }

    fn admit(&self, question: &Question) -> Result<()> {
        self.limits.check_question(&question.text)?;
        self.can_answer()
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(self.config.price).within(self.config.budget_calls)
    }

    fn given(&self, passages: &[Arc<Passage>]) -> Result<Pool> {
        if passages.len() > self.limits.max_passages {
            let problem =
                format!("{} passages; max_passages is {}", passages.len(), self.limits.max_passages);
            return Err(Error::invalid("the passages", problem));
        }
        for passage in passages {
            self.limits.check_passage(&passage.text)?;
        }
        Ok(Pool::given(passages))
    }

    fn encoders(&self) -> Result<&Encoders> {
        let none = || Error::invalid("answers", "there is no span reader and no verifier to work with");
        self.encoders.as_ref().ok_or_else(none)
    }

    async fn search(&self, question: &Question, ledger: &mut Ledger) -> Result<Pool> {
        let Some(retriever) = &self.retriever else {
            return Err(Error::invalid("the question", "there is nothing to search: give passages with it"));
        };
        let query = question.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let search = Search { stage: RETRIEVE, role: (), query, k: self.config.k };
        match ledger.search_all(&**retriever, vec![search]).await.pop() {
            Some(((), found)) => Ok(Pool::found(&found?)),
            None => Ok(Pool::default()),
        }
    }

    /// Stage 1: what the passages say, merged.
    async fn read(&self, question: &Question, pool: &Pool, ledger: &mut Ledger) -> Result<Merged> {
        let (config, asked) = (&self.config, &question.text);
        let wanted = RuleTyper.classify(asked);
        let at_once = config.ablate.concat_reading || config.ablate.parametric_only;
        let mentions = match (&self.model, &self.encoders) {
            (Some(model), _) if at_once => read::at_once(asked, pool, &**model, config, ledger).await?,
            (Some(model), _) if config.course == Course::Faithful => {
                // A third of a budget is left for verdicts: candidates without any are no answers.
                let budget = ledger.calls_left();
                let budget = budget - config.budget_calls.map_or(0, |b| b.div_ceil(3)).min(budget);
                read::by_model(asked, pool, &**model, config, budget, ledger).await?
            }
            _ => {
                let reader = &*self.encoders()?.reader;
                match at_once {
                    true => {
                        let joined = pool.joined(config.max_context_tokens);
                        let found = read::by_reader(asked, wanted, &joined, reader, config, ledger).await?;
                        found.into_iter().map(|m| read::placed(m, pool)).collect()
                    }
                    false => {
                        let mut found = read::by_reader(asked, wanted, pool, reader, config, ledger).await?;
                        let titles = read::by_title(asked, wanted, pool, &found, config);
                        found.extend(titles);
                        found
                    }
                }
            }
        };
        let merging = Merging {
            question: asked,
            wanted,
            alias_merge: config.alias_merge,
            aliases: &config.aliases,
            echo_filter: !config.ablate.no_echo_filter,
        };
        Ok(merging.merge(mentions))
    }

    async fn report(&self, question: &Question, pool: &Pool, mut ledger: Ledger) -> Result<AnswersReport> {
        let ledger = &mut ledger;
        let Merged { mut candidates, echoes } = self.read(question, pool, ledger).await?;
        let reject = |c: &Candidate, reason, confidence: Option<f64>| Rejected {
            answer: c.surface.clone(),
            reason,
            confidence: confidence.map(Probability::clamped),
            support: c.support,
        };
        let mut rejected: Vec<Rejected> =
            echoes.iter().map(|c| reject(c, RejectReason::Echo, None)).collect();
        let most = self.config.max_candidates.unwrap_or(usize::MAX);
        let over = candidates.split_off(most.min(candidates.len()));
        rejected.extend(over.iter().map(|c| reject(c, RejectReason::OverBudget, None)));
        ledger
            .trace
            .note(STAGE, format!("{} candidates in {} passages", candidates.len(), pool.entries().len()));

        let mut cases: Vec<Case<'_>> = candidates.iter().map(|c| Case::new(c, &candidates)).collect();
        let outcomes = self.verified(&question.text, &mut cases, pool, ledger).await?;
        let mut answers: Vec<Answer> = Vec::new();
        for (case, outcome) in cases.iter().zip(outcomes) {
            let candidate = case.candidate;
            let (passed, told) = match &outcome {
                Outcome::Kept(p, decider) => (true, format!("kept by {decider:?}{}", sureness(*p))),
                Outcome::Out(reason, p) => (false, format!("{}{}", reason.explain(), sureness(*p))),
            };
            let outcome_of = if passed { RuleOutcome::Passed } else { RuleOutcome::Failed };
            ledger.trace.rule(STAGE, "verified", outcome_of, format!("\"{}\": {told}", candidate.surface));
            match outcome {
                Outcome::Kept(p, decided_by) => answers.push(Answer {
                    answer: candidate.surface.clone(),
                    confidence: p.map(Probability::clamped),
                    support: candidate.support,
                    decided_by,
                    verified_by: if decided_by == Decider::Model {
                        case.questions.clone()
                    } else {
                        Vec::new()
                    },
                    citations: citations(candidate, pool, &question.text, self.config.max_source),
                }),
                Outcome::Out(reason, p) => rejected.push(reject(candidate, reason, p)),
            }
        }
        // By confidence; the sort is stable, so candidates without one stay in their order.
        let sure = |a: &Answer| a.confidence.map_or(0.0, Probability::get);
        answers.sort_by(|a, b| sure(b).total_cmp(&sure(a)));
        ledger.trace.push(Event::Decision {
            stage: STAGE.to_owned(),
            decision: format!("{} answers", answers.len()),
            reason: format!("{} candidates rejected", rejected.len()),
        });
        let ledger = std::mem::take(ledger);
        Ok(AnswersReport {
            schema: ANSWERS_SCHEMA,
            id: question.id.clone(),
            question: question.text.clone(),
            answers,
            rejected,
            passages: pool.entries().len(),
            cost: ledger.cost,
            trace: ledger.trace,
        })
    }

    /// Stage 2: which candidates are right.
    async fn verified(
        &self,
        question: &str,
        cases: &mut [Case<'_>],
        pool: &Pool,
        ledger: &mut Ledger,
    ) -> Result<Vec<Outcome>> {
        let config = &self.config;
        if let Some(least) = config.support_threshold {
            let by_support = |case: &Case<'_>| match case.candidate.support >= least {
                true => Outcome::Kept(None, Decider::Support),
                false => Outcome::Out(RejectReason::TooLittleSupport, None),
            };
            return Ok(cases.iter().map(by_support).collect());
        }
        if config.ablate.no_verification || config.ablate.parametric_only {
            return Ok(cases.iter().map(|_| Outcome::Kept(None, Decider::Nobody)).collect());
        }
        match (&self.model, config.course) {
            (Some(model), Course::Faithful) => self.faithful(question, cases, pool, &**model, ledger).await,
            _ => self.cascade(question, cases, pool, ledger).await,
        }
    }

    /// The paper's form: a question, a search and a verdict for every candidate.
    async fn faithful(
        &self,
        question: &str,
        cases: &mut [Case<'_>],
        pool: &Pool,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<Vec<Outcome>> {
        // Questions and verdicts; what cannot be paid for is not begun.
        let each = match self.config.vq_mode() {
            VqMode::PerConstraint => 1 + self.config.max_constraints,
            VqMode::PerCandidate => 2,
            VqMode::Template | VqMode::Fixed => 1,
        };
        let affordable = ledger.calls_left().div_ceil(each).min(cases.len());
        let (paid, unpaid) = cases.split_at_mut(affordable);
        self.ask_questions(question, paid, Some(model), ledger).await?;
        let mut searched: Vec<&mut Case<'_>> = paid.iter_mut().collect();
        self.search_extra(question, &mut searched, pool, ledger).await;
        let mut outcomes = Vec::with_capacity(paid.len() + unpaid.len());
        let lean = if paid.is_empty() { 0.0 } else { self.lean(question, model, ledger).await };
        let mut failures: Vec<Error> = Vec::new();
        for case in paid.iter() {
            if ledger.calls_left() == 0 {
                outcomes.push(Outcome::Out(RejectReason::OverBudget, None));
                continue;
            }
            outcomes.push(match verify::ask(question, case, pool, model, lean, &self.config, ledger).await {
                Ok(said) => self.outcome(said, None),
                Err(_) if ledger.calls_left() == 0 => Outcome::Out(RejectReason::OverBudget, None),
                Err(error) => {
                    failures.push(error);
                    Outcome::Out(RejectReason::Failed, None)
                }
            });
        }
        let all_failed = failures.len() == paid.len();
        if let Some(error) = failures.pop().filter(|_| all_failed) {
            return Err(error);
        }
        outcomes.extend(unpaid.iter().map(|_| Outcome::Out(RejectReason::OverBudget, None)));
        Ok(outcomes)
    }

    /// The cheap things first: reading, then the verifier by the source passages, then by further ones; a language model, where
    /// there is one, is asked about what is still open.
    async fn cascade(
        &self,
        question: &str,
        cases: &mut [Case<'_>],
        pool: &Pool,
        ledger: &mut Ledger,
    ) -> Result<Vec<Outcome>> {
        let encoders = self.encoders()?;
        let calibration = &encoders.calibration;
        if !encoders.verifier.knows_language_of(question) {
            let why = "the verifier was not trained on the question's language: what it says is a guess";
            ledger.trace.note(STAGE, why.to_owned());
        }
        let mut all: Vec<&mut Case<'_>> = cases.iter_mut().collect();
        self.by_source(question, &mut all, pool, encoders, ledger).await?;
        let is_open = |case: &&mut Case<'_>| {
            let p = calibration.probability(&case.evidence);
            (CLEAR..=1.0 - CLEAR).contains(&p)
        };
        let mut open: Vec<&mut Case<'_>> = cases.iter_mut().filter(is_open).collect();
        self.by_extra(question, &mut open, pool, encoders, ledger).await?;

        let probabilities: Vec<f64> =
            cases.iter().map(|case| calibration.probability(&case.evidence)).collect();
        let threshold = self.threshold();
        let mut outcomes: Vec<Outcome> = probabilities
            .iter()
            .map(|p| match *p >= threshold {
                true => Outcome::Kept(Some(*p), Decider::Verifier),
                false => Outcome::Out(RejectReason::NotEstablished, Some(*p)),
            })
            .collect();
        if let Some(model) = &self.model {
            self.settle(question, cases, &probabilities, &mut outcomes, pool, &**model, ledger).await?;
        }
        Ok(outcomes)
    }

    /// Has the model decide about the cases between the thresholds, those nearest to the threshold first.
    #[allow(clippy::too_many_arguments)] // One step of the cascade, with all that is known so far.
    async fn settle(
        &self,
        question: &str,
        cases: &mut [Case<'_>],
        probabilities: &[f64],
        outcomes: &mut [Outcome],
        pool: &Pool,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<()> {
        let calibration = &self.encoders()?.calibration;
        // A threshold of one's own takes the calibration's band with it.
        let moved = self.threshold() - calibration.threshold;
        let (low, high) =
            self.config.unsure.unwrap_or((calibration.unsure.0 + moved, calibration.unsure.1 + moved));
        let threshold = self.threshold();
        let mut unsure: Vec<(usize, f64)> = probabilities
            .iter()
            .enumerate()
            .filter(|(_, p)| (low..=high).contains(*p))
            .map(|(at, p)| (at, (p - threshold).abs()))
            .collect();
        unsure.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut unsure: Vec<usize> = unsure.into_iter().map(|(at, _)| at).collect();
        if ledger.calls_left() < unsure.len() {
            let told = "the budget of calls is less than the open candidates: where it ends the verifier's verdicts stand";
            ledger.trace.note(STAGE, told.to_owned());
            unsure.truncate(ledger.calls_left());
        }
        if unsure.is_empty() {
            return Ok(());
        }
        let told = format!("{} of {} candidates are left to the language model", unsure.len(), cases.len());
        ledger.trace.note(STAGE, told);
        let asked: Vec<&str> =
            unsure.iter().filter_map(|at| cases.get(*at)).map(|c| c.candidate.surface.as_str()).collect();
        let written = questions(question, &asked, Some(model), &self.config, ledger).await?;
        for (at, questions) in unsure.iter().zip(written) {
            if let Some(case) = cases.get_mut(*at) {
                case.questions = questions;
            }
        }
        let one_by_one = verify::scores(model) || self.config.vq_mode() == VqMode::PerConstraint;
        let most = if one_by_one { 1 } else { self.config.group };
        let lean = self.lean(question, model, ledger).await;
        let (mut rest, mut answered, mut failure) = (unsure.as_slice(), false, None);
        while !rest.is_empty() && ledger.calls_left() > 0 {
            let own: Vec<&Case<'_>> = rest.iter().filter_map(|at| cases.get(*at)).collect();
            let size = verify::fitting(&own, most, pool, &self.config).max(1);
            let (group, after) = rest.split_at(size.min(rest.len()));
            rest = after;
            let own = own.get(..group.len()).unwrap_or(&own);
            let said = match own {
                [one] => verify::ask(question, one, pool, model, lean, &self.config, ledger)
                    .await
                    .map(|said| vec![said]),
                several => verify::ask_together(question, several, pool, model, &self.config, ledger).await,
            };
            match said {
                Ok(said) => {
                    answered = true;
                    for (at, said) in group.iter().zip(said) {
                        // What the model could not settle stays as the verifier has it.
                        if let (Some(outcome), Some(p)) = (outcomes.get_mut(*at), probabilities.get(*at))
                            && said != Said::Unparsed
                        {
                            *outcome = self.outcome(said, Some(*p));
                        }
                    }
                }
                Err(error) => failure = Some(error),
            }
        }
        // A model that never answers is an error; one that fails now and then is not.
        match failure {
            Some(error) if !answered && ledger.calls_left() > 0 => Err(error),
            _ => Ok(()),
        }
    }

    /// What follows from the model's verdict on a candidate; `p` is what reader and verifier make of it.
    fn outcome(&self, said: Said, p: Option<f64>) -> Outcome {
        let kept = |p| Outcome::Kept(p, Decider::Model);
        let out = |p| Outcome::Out(RejectReason::NotEstablished, p);
        match said {
            // The model's word moves the probability to its side of the threshold, and tells no more of it.
            Said::Yes => kept(p.map(|p| p.max(self.threshold()))),
            Said::No => out(p.map(|p| p.min(self.threshold()))),
            Said::Probably(yes) => match p {
                // Two witnesses: each speaks by how far it is above or below its own threshold.
                Some(p) => {
                    let threshold = self.threshold();
                    let odds = logit(p) - logit(threshold) + logit(yes) - logit(self.config.theta);
                    let joint = 1.0 / (1.0 + (-(odds + logit(threshold))).exp());
                    if odds >= 0.0 { kept(Some(joint)) } else { out(Some(joint)) }
                }
                None if yes >= self.config.theta => kept(Some(yes)),
                None => out(Some(yes)),
            },
            Said::Unparsed if self.config.unparsed == Unparsed::Keep => kept(p),
            Said::Unparsed => Outcome::Out(RejectReason::Unparsed, p),
        }
    }

    /// How far the model leans to yes, asked once. A model that fails here will be seen to fail at its first verdict.
    async fn lean(&self, question: &str, model: &dyn LanguageModel, ledger: &mut Ledger) -> f64 {
        if !verify::scores(model) {
            return 0.0;
        }
        let [english, chinese] = &*self.leans;
        let known = if language_of(question) == "zh" { chinese } else { english };
        if let Some(lean) = known.get() {
            return *lean;
        }
        match verify::lean(question, model, ledger).await {
            Ok(lean) => *known.get_or_init(|| lean),
            Err(_) => 0.0,
        }
    }

    fn threshold(&self) -> f64 {
        let fitted = self.encoders.as_ref().map_or(0.5, |e| e.calibration.threshold);
        self.config.threshold.unwrap_or(fitted)
    }

    async fn ask_questions(
        &self,
        question: &str,
        cases: &mut [Case<'_>],
        model: Option<&dyn LanguageModel>,
        ledger: &mut Ledger,
    ) -> Result<()> {
        let surfaces: Vec<&str> = cases.iter().map(|c| c.candidate.surface.as_str()).collect();
        let written = questions(question, &surfaces, model, &self.config, ledger).await?;
        for (case, questions) in cases.iter_mut().zip(written) {
            case.questions = questions;
        }
        Ok(())
    }

    async fn search_extra(
        &self,
        question: &str,
        cases: &mut [&mut Case<'_>],
        pool: &Pool,
        ledger: &mut Ledger,
    ) {
        if let Some(retriever) = &self.retriever {
            verify::search(question, cases, pool, &**retriever, &self.config, ledger).await;
        }
    }

    async fn by_source(
        &self,
        question: &str,
        cases: &mut [&mut Case<'_>],
        pool: &Pool,
        encoders: &Encoders,
        ledger: &mut Ledger,
    ) -> Result<()> {
        let verifier = &*encoders.verifier;
        verify::judge(question, cases, By::Sources, pool, verifier, &self.config, ledger).await
    }

    async fn by_extra(
        &self,
        question: &str,
        cases: &mut [&mut Case<'_>],
        pool: &Pool,
        encoders: &Encoders,
        ledger: &mut Ledger,
    ) -> Result<()> {
        self.search_extra(question, cases, pool, ledger).await;
        let verifier = &*encoders.verifier;
        verify::judge(question, cases, By::Extra, pool, verifier, &self.config, ledger).await
    }
}

fn sureness(p: Option<f64>) -> String {
    p.map_or_else(String::new, |p| format!(" ({p:.2})"))
}

/// The sentences that a candidate rests on, of each passage one, the surest first.
fn citations(candidate: &Candidate, pool: &Pool, question: &str, most: usize) -> Vec<Citation> {
    let stated = statement(question, &candidate.surface);
    let cite = |m: &super::candidates::Mention| -> Option<Citation> {
        let entry = pool.get(m.passage?)?;
        let sentence = verify::sentence_of(entry, m.span, &stated, &candidate.surface)?;
        Citation::new(&entry.passage, sentence)
    };
    candidate.sources().into_iter().filter_map(cite).take(most).collect()
}
