//! The verdict where the verifier cannot be asked: the majority's among a model's candidates, marked as not verified (R2VC, 7).

use counterproof_core::Verdict;

use super::candidates::Candidate;
use super::features::Features;
use super::select::{LABELS, Selected, entropy};
use super::verify::Bench;

/// The majority's verdict, by the first candidate that gives it; `None` when none can be used.
pub(super) fn by_votes(bench: &Bench<'_>, candidates: &[Candidate]) -> Option<Selected> {
    let usable: Vec<(&Candidate, Verdict)> =
        candidates.iter().filter(|c| c.is_valid()).filter_map(|c| Some((c, c.verdict?))).collect();
    let share = |label: Verdict| {
        usable.iter().filter(|(_, v)| *v == label).count() as f64 / usable.len().max(1) as f64
    };
    let most = LABELS.map(share).into_iter().fold(0.0, f64::max);
    let (candidate, verdict) = usable.iter().copied().find(|(_, verdict)| share(*verdict) >= most)?;
    let cited = bench.unjudged(&candidate.citations);
    // A decisive verdict for which nothing can be quoted is none, and nobody voted for that.
    let (verdict, most) = match verdict {
        Verdict::NotEnoughEvidence => (verdict, most),
        _ if cited.is_empty() => (Verdict::NotEnoughEvidence, share(Verdict::NotEnoughEvidence)),
        decisive => (decisive, most),
    };
    let second = LABELS.into_iter().filter(|l| *l != verdict).map(share).fold(0.0, f64::max);
    let features = Features {
        score: most,
        margin: most - second,
        citations: cited.len() as f64,
        vote_share: Some(most),
        label_entropy: Some(entropy(LABELS.map(share))),
        invalid_share: Some(1.0 - usable.len() as f64 / candidates.len() as f64),
        self_confidence: candidate.self_confidence,
        claim_words: bench.claim.split_whitespace().count() as f64,
        verdict: Some(verdict),
        ..Features::default()
    };
    Some(Selected { verdict, cited, conflict: None, even: false, unverified: true, features })
}
