//! Candidates, asked for until more of them cannot change the verdict, and the choice among them.

use counterproof_core::{Error, LanguageModel, Result, Verdict};

use super::candidates::{self, Candidate, ROUND};
use super::config::Proposing;
use super::pipeline::Check;
use super::scored;
use super::select::{Selected, by_candidates, headroom};
use super::verify::Bench;
use super::votes::by_votes;
use crate::ledger::Ledger;

/// The confidence is settled when a round of candidates moves it by less.
const SETTLED: f64 = 0.02;

/// A confidence is not settled while some passage speaks for another label by so much more.
const OUTWEIGHS: f64 = 0.2;

impl Check {
    /// The verdict among the candidates of the language model; `None` when none can be used.
    ///
    /// # Errors
    /// The model's where it answered nothing, and the user's part in the verifier's.
    pub(super) async fn proposed(
        &self,
        bench: &mut Bench<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<Option<Selected>> {
        let by_score = match self.config().proposing {
            Proposing::Scored => true,
            Proposing::Written => false,
            Proposing::Auto => model.capabilities().is_best_scored(),
        };
        let (all, chosen) = match by_score {
            true => self.scored(bench, model, ledger).await?,
            false => self.written(bench, model, ledger).await?,
        };
        let unusable = all.iter().filter(|c| !c.is_valid()).count();
        ledger
            .trace
            .note(candidates::STAGE, format!("{} candidates, {unusable} of them not usable", all.len()));
        for candidate in &all {
            ledger.trace.note(candidates::STAGE, candidate.told());
        }
        if chosen.is_none() {
            let told = "no candidate can be used: the verdict is the verifier's alone";
            ledger.trace.note(candidates::STAGE, told.to_owned());
        }
        Ok(chosen)
    }

    async fn scored(
        &self,
        bench: &mut Bench<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<(Vec<Candidate>, Option<Selected>)> {
        let config = self.config();
        let lean = scored::lean(bench.claim, model, ledger).await?;
        let mut all = scored::candidates(bench.claim, bench.pool, lean, model, config, ledger).await?;
        all.iter_mut().for_each(|candidate| without_foreign(candidate, bench));
        let chosen = self.choice(bench, &all, ledger).await?;
        Ok((all, chosen))
    }

    /// Candidates that the model writes, in rounds.
    async fn written(
        &self,
        bench: &mut Bench<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<(Vec<Candidate>, Option<Selected>)> {
        let config = self.config();
        let most = if config.ablate.first_sample { 1 } else { config.candidates };
        let mut all: Vec<Candidate> = Vec::new();
        let mut last: Option<(Verdict, f64)> = None;
        loop {
            let size = if config.adaptive { ROUND } else { most };
            let range = all.len()..(all.len() + size).min(most);
            let asked = candidates::sample(bench.claim, bench.pool, range.clone(), model, config, ledger);
            let mut new = match asked.await {
                Ok(new) => new,
                // What was answered before counts; only a model that never answers is an error.
                Err(error) if all.iter().any(Candidate::is_valid) => {
                    all.extend(range.map(|ix| Candidate::invalid(ix, format!("no reply: {error}"))));
                    ledger.trace.note(candidates::STAGE, format!("a round failed: {error}"));
                    let chosen = self.choice(bench, &all, ledger).await?;
                    return Ok((all, chosen));
                }
                Err(error) => return Err(error),
            };
            new.iter_mut().for_each(|candidate| without_foreign(candidate, bench));
            all.append(&mut new);
            let chosen = self.choice(bench, &all, ledger).await?;
            let now = chosen.as_ref().map(|s| (s.verdict, self.confidence(&s.features)));
            let settled = match (last, now) {
                (Some((before, was)), Some((verdict, is))) => before == verdict && (was - is).abs() < SETTLED,
                _ => false,
            };
            let room = chosen.as_ref().map_or(f64::INFINITY, |s| match s.unverified {
                // More votes can always turn a majority.
                true => f64::INFINITY,
                false => headroom(bench, s, config),
            });
            if all.len() >= most || room <= 0.0 || settled && room < OUTWEIGHS {
                return Ok((all, chosen));
            }
            last = now;
        }
    }

    /// The verifier's choice among candidates, and where the verifier cannot be asked, theirs.
    async fn choice(
        &self,
        bench: &mut Bench<'_>,
        all: &[Candidate],
        ledger: &mut Ledger,
    ) -> Result<Option<Selected>> {
        match by_candidates(bench, all, self.config(), ledger).await {
            Err(error @ (Error::Upstream(_) | Error::Internal(_))) => {
                let Some(voted) = by_votes(bench, all) else { return Err(error) };
                let told = format!("the verifier failed, so votes decide: {error}");
                ledger.trace.note(super::verify::STAGE, told);
                Ok(Some(voted))
            }
            chosen => chosen,
        }
    }
}

/// A candidate without citations of passages about somebody else; where no other is left it cannot be selected.
fn without_foreign(candidate: &mut Candidate, bench: &Bench<'_>) {
    let before = candidate.citations.len();
    candidate.citations.retain(|at| !bench.is_foreign(*at));
    let decisive = candidate.verdict != Some(Verdict::NotEnoughEvidence);
    if before > 0 && candidate.citations.is_empty() && decisive && candidate.invalid.is_none() {
        candidate.invalid = Some("what it cites is about somebody else".to_owned());
    }
}
