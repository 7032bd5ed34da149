//! The gate for small local models: nothing the model writes is read.
//!
//! A model of a few hundred million parameters answers KEEP to every free-form prompt or copies the form, but it does
//! know which of two given answers goes better with a piece of evidence. So the alternatives of the asked type are
//! taken from the pool by rule, and the model scores the draft and each of them as the end of one and the same
//! prompt: the mean log-probability of an answer's tokens, so that long names are not at a disadvantage.

use async_trait::async_trait;
use counterproof_core::{Continuation, LanguageModel, Probability, Result, RuleOutcome, ScoreRequest};
use counterproof_models::prompts::Rendered;

use serde::Serialize;

use super::alternatives::{EvidenceSentence, Gathered, gather};
use super::{Gate, GateCase, Ruling};
use crate::ledger::Ledger;
use crate::repair::locate::EvidenceRef;
use crate::repair::prompts;
use crate::repair::rules::Proposal;
use crate::repair::{RepairConfig, ScoreGateConfig};

const STAGE: &str = "gate";

/// One of the answers between which the model's scores decide.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The answer.
    pub answer: String,
    /// The sentence that holds it; `None` for a draft that the pool does not hold.
    pub sentence: Option<EvidenceSentence>,
    /// How many passages hold it.
    pub passages: usize,
    /// Log-probability of the answer after the question and the evidence.
    pub given_evidence: f64,
    /// How many tokens it has.
    pub tokens: usize,
}

/// The draft and its alternatives with their scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contest {
    /// The draft.
    pub draft: Candidate,
    /// The alternatives, the most relevant first.
    pub alternatives: Vec<Candidate>,
}

impl Candidate {
    /// How far the evidence speaks for this answer: its log-probability given the evidence, a token on average.
    fn support(&self) -> f64 {
        self.given_evidence / self.tokens.max(1) as f64
    }

    /// How much of what the question asks its sentence speaks of; nothing, where no passage holds the answer.
    fn relevance(&self) -> f64 {
        self.sentence.map_or(0.0, |s| s.relevance)
    }
}

impl Contest {
    /// The place of the alternative that beats the draft, if one does.
    pub fn winner(&self, config: &ScoreGateConfig) -> Option<usize> {
        let weighed = |c: &Candidate| c.support() + config.relevance_weight * c.relevance();
        let (ix, best) = self
            .alternatives
            .iter()
            .enumerate()
            .filter(|(_, a)| a.relevance() >= config.min_relevance && a.support() >= config.min_support)
            .max_by(|(i, a), (j, b)| weighed(a).total_cmp(&weighed(b)).then_with(|| j.cmp(i)))?;
        (weighed(best) - weighed(&self.draft) > config.margin).then_some(ix)
    }

    /// The share of probability that falls to the draft (`None`) or to the alternative at a place.
    pub fn share(&self, of: Option<usize>) -> Probability {
        let top = self.alternatives.iter().fold(self.draft.support(), |m, a| m.max(a.support()));
        let weight = |c: &Candidate| (c.support() - top).exp();
        let sum = weight(&self.draft) + self.alternatives.iter().map(weight).sum::<f64>();
        let own = match of {
            None => weight(&self.draft),
            Some(ix) => self.alternatives.get(ix).map(weight).unwrap_or_default(),
        };
        Probability::clamped(own / sum)
    }
}

/// Decides by the model's scores for the draft and for the alternatives that the pool holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScoreGate;

impl ScoreGate {
    /// Gathers the alternatives and has the model score them; `None` when the pool offers none.
    ///
    /// # Errors
    /// The model's.
    pub async fn contest(
        &self,
        case: &GateCase<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<Option<Contest>> {
        let mut gathered = gather(case);
        gathered.alternatives.truncate(case.config.score_gate.max_alternatives);
        if gathered.alternatives.is_empty() || case.draft.trim().is_empty() {
            return Ok(None);
        }
        let evidence = evidence_lines(case, &gathered);
        let continuations: Vec<Continuation> = std::iter::once(case.draft.trim())
            .chain(gathered.alternatives.iter().map(|a| a.answer.as_str()))
            .map(|answer| Continuation(format!(" {answer}")))
            .collect();
        let prompt = prompts::score(&case.question.text, &evidence)?;
        let scores = ledger.score(model, request(prompt, continuations)).await?;
        let mut scores = scores.iter();
        let mut candidate = |answer: &str, sentence: Option<EvidenceSentence>, passages: usize| {
            let score = scores.next()?;
            Some(Candidate {
                answer: answer.to_owned(),
                sentence,
                passages,
                given_evidence: score.total(),
                tokens: score.tokens.len(),
            })
        };
        let draft = candidate(case.draft.trim(), gathered.draft, gathered.draft_passages);
        let alternatives = gathered
            .alternatives
            .iter()
            .filter_map(|a| candidate(&a.answer, Some(a.sentence), a.passages))
            .collect();
        Ok(draft.map(|draft| Contest { draft, alternatives }))
    }

    /// The ruling that the scores come to; each comparison is noted in the trace.
    pub fn decide(contest: &Contest, config: &RepairConfig, ledger: &mut Ledger) -> Ruling {
        let winner = contest.winner(&config.score_gate);
        for (ix, alternative) in contest.alternatives.iter().enumerate() {
            let outcome = if winner == Some(ix) { RuleOutcome::Passed } else { RuleOutcome::Failed };
            ledger.trace.rule(
                STAGE,
                "beats_draft",
                outcome,
                format!(
                    "\"{}\" {:.2} at relevance {:.2}, against the draft {:.2} at {:.2}; margin {}",
                    alternative.answer,
                    alternative.support(),
                    alternative.relevance(),
                    contest.draft.support(),
                    contest.draft.relevance(),
                    config.score_gate.margin,
                ),
            );
        }
        let confidence = Some(contest.share(winner));
        let revision =
            winner.and_then(|ix| contest.alternatives.get(ix)).and_then(|a| Some((a, a.sentence?)));
        match revision {
            None => Ruling::Keep { confidence },
            Some((alternative, sentence)) => Ruling::Revise {
                proposal: Proposal {
                    answer: alternative.answer.clone(),
                    evidence: EvidenceRef::Span { passage: sentence.passage, span: sentence.span },
                },
                confidence,
            },
        }
    }
}

#[async_trait]
impl Gate for ScoreGate {
    async fn rule(
        &self,
        case: &GateCase<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<Ruling> {
        let Some(contest) = self.contest(case, model, ledger).await? else {
            return Ok(Ruling::NoAlternative);
        };
        Ok(Self::decide(&contest, case.config, ledger))
    }

    fn calls(&self) -> u64 {
        1
    }
}

fn request(rendered: Rendered, continuations: Vec<Continuation>) -> ScoreRequest {
    ScoreRequest {
        stage: STAGE.to_owned(),
        messages: rendered.messages,
        continuations,
        prompt: Some(rendered.prompt),
    }
}

/// The sentences that hold the draft and the alternatives, in the pool's order, each under its title.
fn evidence_lines(case: &GateCase<'_>, gathered: &Gathered) -> Vec<(String, String)> {
    let mut chosen: Vec<EvidenceSentence> = gathered.draft.into_iter().collect();
    for alternative in &gathered.alternatives {
        if chosen.len() >= case.config.score_gate.max_sentences {
            break;
        }
        let known = chosen
            .iter()
            .any(|c| c.passage == alternative.sentence.passage && c.span == alternative.sentence.span);
        if !known {
            chosen.push(alternative.sentence);
        }
    }
    chosen.sort_by_key(|s| (s.passage, s.span));
    chosen
        .into_iter()
        .filter_map(|s| {
            let passage = case.pool.get(s.passage)?;
            Some((passage.title.clone(), s.span.slice(&passage.text)?.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(answer: &str, score: f64, relevance: f64) -> Candidate {
        let span = counterproof_core::ByteSpan::new(0, 1).unwrap();
        Candidate {
            answer: answer.to_owned(),
            sentence: Some(EvidenceSentence { passage: 0, span, relevance }),
            passages: 1,
            given_evidence: score,
            tokens: 1,
        }
    }

    #[test]
    fn an_alternative_must_beat_the_draft_by_the_margin_and_be_relevant() {
        let config = ScoreGateConfig {
            margin: 1.0,
            min_support: -1.0,
            min_relevance: 0.5,
            ..ScoreGateConfig::default()
        };
        let contest = |alternatives| Contest { draft: candidate("1912", -3.0, 0.9), alternatives };
        let close =
            Contest { draft: candidate("1912", -1.0, 0.9), alternatives: vec![candidate("1913", -0.5, 0.9)] };
        assert_eq!(close.winner(&config), None);
        let clear = contest(vec![candidate("1920", -2.9, 0.9), candidate("1913", -0.5, 0.9)]);
        assert_eq!(clear.winner(&config), Some(1));
        assert!(clear.share(Some(1)) > clear.share(None));
        let beside_the_point = contest(vec![candidate("1913", -0.5, 0.1)]);
        assert_eq!(beside_the_point.winner(&config), None);
        let doubtful =
            Contest { draft: candidate("1912", -9.0, 0.9), alternatives: vec![candidate("1913", -3.0, 0.9)] };
        assert_eq!(doubtful.winner(&config), None, "it has little support of its own");
        let aside =
            Contest { draft: candidate("1912", -0.6, 0.0), alternatives: vec![candidate("1913", -0.5, 0.9)] };
        assert_eq!(aside.winner(&config), Some(0), "the draft stands in a sentence beside the point");
    }
}
