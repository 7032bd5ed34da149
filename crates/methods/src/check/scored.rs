//! Candidates of a small local model: nothing that it writes is read.
//!
//! A model of a few hundred million parameters seldom writes a usable verdict, but it does tell how likely each label is
//! behind a passage and a claim. So every passage that would be shown is shown by itself, the labels are scored as the end
//! of one prompt, and candidates are drawn from what the model then gives each label. A model leans to one label whatever it
//! reads; what it gives the labels where there is nothing to read is taken off (contextual calibration; Zhao et al. 2021,
//! "Calibrate Before Use").

use counterproof_core::{Continuation, Error, LanguageModel, Result, ScoreRequest, Verdict};
use counterproof_models::prompts::Rendered;

use super::CheckConfig;
use super::candidates::{Candidate, STAGE};
use super::prompts;
use super::select::LABELS;
use crate::ledger::Ledger;
use crate::pool::Pool;

/// What stands in for a claim and for evidence where there is nothing to read.
const NOTHING: &str = "N/A";

/// The probabilities that a model gives [`LABELS`].
pub(super) type Shares = [f64; 3];

/// What the model gives the labels whatever it reads, in nats; differences between labels are all that counts.
///
/// # Errors
/// The model's.
pub(super) async fn lean(claim: &str, model: &dyn LanguageModel, ledger: &mut Ledger) -> Result<Shares> {
    scores(prompts::label(NOTHING, &[("", NOTHING)], claim)?, model, ledger).await
}

/// The candidates, as many as asked for, spread evenly over the passages that are shown.
///
/// # Errors
/// The model's.
pub(super) async fn candidates(
    claim: &str,
    pool: &Pool,
    lean: Shares,
    model: &dyn LanguageModel,
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Candidate>> {
    let shown = pool.shown(config.k_prompt, config.max_passage_tokens);
    let mut by_passage: Vec<(usize, Shares)> = Vec::with_capacity(shown.len());
    let mut failure = None;
    // No more passages than candidates: each is to have one.
    for (passage, (title, text)) in shown.iter().enumerate().take(config.candidates) {
        match scores(prompts::label(claim, &[(title, text)], claim)?, model, ledger).await {
            Ok(scores) => by_passage.push((passage, shares(scores, lean, f64::from(config.temperature)))),
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if by_passage.is_empty() => Err(error),
        _ => Ok(drawn(&by_passage, config.candidates)),
    }
}

async fn scores(
    (rendered, ends): (Rendered, [&'static str; 3]),
    model: &dyn LanguageModel,
    ledger: &mut Ledger,
) -> Result<Shares> {
    let request = ScoreRequest {
        stage: STAGE.to_owned(),
        messages: rendered.messages,
        continuations: ends.map(|end| Continuation(end.to_owned())).to_vec(),
        prompt: Some(rendered.prompt),
    };
    let scored = ledger.score(model, request).await?;
    match scored.as_slice() {
        [yes, no, untold] => Ok([yes.total(), no.total(), untold.total()]),
        _ => Err(Error::failed("scoring labels", "there are not three scores")),
    }
}

/// Probabilities from log-probabilities, less what the model leans to, flattened by a temperature.
fn shares(scores: Shares, lean: Shares, temperature: f64) -> Shares {
    let mut weights = scores;
    for (weight, lean) in weights.iter_mut().zip(lean) {
        *weight = (*weight - lean) / temperature.max(1e-3);
    }
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = weights.map(|w| (w - top).exp());
    let sum: f64 = weights.iter().sum();
    weights.map(|w| w / sum)
}

/// Draws labels at evenly spaced places of each passage's distribution, from the likeliest on: each label as often as its
/// probability asks for, without chance.
fn drawn(by_passage: &[(usize, Shares)], n: usize) -> Vec<Candidate> {
    let rounds = n.div_ceil(by_passage.len().max(1));
    let draws = (0..rounds).flat_map(|round| by_passage.iter().map(move |drawn| (round, drawn)));
    draws
        .take(n)
        .enumerate()
        .map(|(ix, (round, (passage, shares)))| {
            let mut order = [0, 1, 2];
            order.sort_by(|a, b| share(shares, *b).total_cmp(&share(shares, *a)));
            let place = round as f64 / rounds as f64;
            let mut below = 0.0;
            let at = order.into_iter().find(|at| {
                below += share(shares, *at);
                place < below
            });
            // Rounding may leave the last place above the sum.
            let at = at.unwrap_or(order[0]);
            let verdict = LABELS.get(at).copied().unwrap_or(Verdict::NotEnoughEvidence);
            Candidate {
                ix,
                verdict: Some(verdict),
                citations: if verdict == Verdict::NotEnoughEvidence { Vec::new() } else { vec![*passage] },
                dropped: 0,
                self_confidence: Some(share(shares, at)),
                mean_logprob: Some(share(shares, at).max(f64::MIN_POSITIVE).ln()),
                invalid: None,
            }
        })
        .collect()
}

fn share(shares: &Shares, at: usize) -> f64 {
    shares.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_drawn_as_often_as_they_are_likely() {
        let all = drawn(&[(0, [0.5, 0.25, 0.25])], 8);
        let of = |verdict| all.iter().filter(|c| c.verdict == Some(verdict)).count();
        assert_eq!(LABELS.map(of), [4, 2, 2]);
        assert!(all.iter().all(|c| c.is_valid() && c.citations.len() <= 1));
        assert_eq!(all[0].verdict, Some(Verdict::Supported), "the likeliest comes first");
        assert!(drawn(&[], 8).is_empty());
    }

    #[test]
    fn every_passage_is_asked_in_turn() {
        let all = drawn(&[(0, [1.0, 0.0, 0.0]), (1, [0.0, 1.0, 0.0]), (2, [0.0, 0.0, 1.0])], 4);
        let said: Vec<_> = all.iter().map(|c| (c.verdict, c.citations.as_slice())).collect();
        assert_eq!(said[0], (Some(Verdict::Supported), &[0][..]));
        assert_eq!(said[1], (Some(Verdict::Refuted), &[1][..]));
        assert_eq!(said[2], (Some(Verdict::NotEnoughEvidence), &[][..]));
        assert_eq!(said[3], said[0]);
    }

    #[test]
    fn what_a_model_leans_to_anyway_does_not_count() {
        let leaning = shares([-1.0, -3.0, -3.0], [-1.0, -3.0, -3.0], 0.8);
        assert!(leaning.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-9), "{leaning:?}");
        let told = shares([-1.0, -1.0, -3.0], [-1.0, -3.0, -3.0], 1.0);
        assert!(told[1] > told[0] && (told.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
