//! Stage 2: which candidates are right. The cheap things first, or the paper's form.

use counterproof_core::{Error, LanguageModel, Result};

use super::config::{Course, Unparsed, VqMode};
use super::pipeline::{Answers, Encoders, STAGE};
use super::question::questions;
use super::report::{Decider, RejectReason};
use super::verify::{self, By, Case, Said};
use crate::ledger::Ledger;
use crate::pool::Pool;
use crate::prompts::language_of;
use crate::weighing::logit;

/// A candidate that is so sure to be right or wrong by what it was read in needs no further search.
const CLEAR: f64 = 0.02;

/// What became of a candidate.
pub(super) enum Outcome {
    Kept(Option<f64>, Decider),
    Out(RejectReason, Option<f64>),
}

impl Answers {
    /// Stage 2: which candidates are right.
    pub(super) async fn verified(
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
        let mut asked: Vec<&mut Case<'_>> = paid.iter_mut().collect();
        self.ask_questions(question, &mut asked, model, ledger).await?;
        self.search_extra(question, &mut asked, pool, ledger).await;
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
        self.judge(question, &mut all, By::Sources, pool, encoders, ledger).await?;
        let is_open = |case: &&mut Case<'_>| {
            let p = calibration.probability(&case.evidence);
            (CLEAR..=1.0 - CLEAR).contains(&p)
        };
        let mut open: Vec<&mut Case<'_>> = cases.iter_mut().filter(is_open).collect();
        self.judge(question, &mut open, By::Extra, pool, encoders, ledger).await?;

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
        let is_unsure = |(at, _): &(usize, &mut Case<'_>)| unsure.contains(at);
        let mut open: Vec<&mut Case<'_>> =
            cases.iter_mut().enumerate().filter(is_unsure).map(|(_, case)| case).collect();
        self.ask_questions(question, &mut open, model, ledger).await?;
        let one_by_one =
            model.capabilities().is_best_scored() || self.config.vq_mode() == VqMode::PerConstraint;
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
        if !model.capabilities().is_best_scored() {
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
        cases: &mut [&mut Case<'_>],
        model: &dyn LanguageModel,
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

    /// Has the verifier judge by the passages that the cases were read in, or by further ones, which are searched for.
    pub(super) async fn judge(
        &self,
        question: &str,
        cases: &mut [&mut Case<'_>],
        by: By,
        pool: &Pool,
        encoders: &Encoders,
        ledger: &mut Ledger,
    ) -> Result<()> {
        if by == By::Extra {
            self.search_extra(question, cases, pool, ledger).await;
        }
        verify::judge(question, cases, by, pool, &*encoders.verifier, &self.config, ledger).await
    }
}
