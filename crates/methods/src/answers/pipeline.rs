//! The steps in their order. Everything with a meaning of its own lives in the modules beside this one.

use std::sync::{Arc, OnceLock};

use counterproof_core::{
    Citation, Entailment, Error, Event, LanguageModel, Limits, Passage, Probability, Question, Result,
    Retriever, RuleOutcome, SpanReader,
};
use counterproof_text::question::{QuestionTyper, RuleTyper};
use counterproof_text::statement::statement;

use super::candidates::{Candidate, Merged, Merging};
use super::config::{AnswersConfig, Course, VqMode};
use super::decide::Outcome;
use super::read;
use super::report::{ANSWERS_SCHEMA, Answer, AnswersReport, Decider, RejectReason, Rejected};
use super::verify::{self, By, Case};
use super::weigh::{AnswersCalibration, Evidence};
use crate::ledger::{Ledger, Search};
use crate::pool::Pool;

const RETRIEVE: &str = "retrieve";
pub(super) const STAGE: &str = "answers";

/// What reads and judges without a language model.
#[derive(Clone)]
pub(super) struct Encoders {
    reader: Arc<dyn SpanReader>,
    pub(super) verifier: Arc<dyn Entailment>,
    pub(super) calibration: Arc<AnswersCalibration>,
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
    pub(super) retriever: Option<Arc<dyn Retriever>>,
    pub(super) encoders: Option<Encoders>,
    pub(super) model: Option<Arc<dyn LanguageModel>>,
    pub(super) config: AnswersConfig,
    limits: Limits,
    /// How far the model leans to yes, in each language that it was asked in.
    pub(super) leans: Arc<[OnceLock<f64>; 2]>,
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
        self.judge(asked, &mut all, By::Sources, &pool, encoders, &mut ledger).await?;
        self.judge(asked, &mut all, By::Extra, &pool, encoders, &mut ledger).await?;
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

    pub(super) fn encoders(&self) -> Result<&Encoders> {
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
                    verified_by: match decided_by {
                        Decider::Model => case.questions.clone(),
                        _ => Vec::new(),
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
