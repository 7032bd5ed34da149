//! Which verdict the evidence gives: the verifier's choice among the candidates of a language model, or, without one,
//! among three that the evidence itself makes (R2VC, 2.2 and 2.3).

use std::cmp::Ordering;
use std::collections::HashSet;

use counterproof_core::{Nli, Result, Verdict};
use counterproof_text::tokens::normal_tokens;

use super::candidates::Candidate;
use super::config::CheckConfig;
use super::features::Features;
use super::verify::{Bench, Piece, Scores};
use crate::ledger::Ledger;
use crate::repair::holds;

/// The labels, in the order in which ties are settled.
pub(super) const LABELS: [Verdict; 3] = [Verdict::Supported, Verdict::Refuted, Verdict::NotEnoughEvidence];

/// Passages that "not enough evidence" is judged by.
const TOP: usize = 3;

/// Pieces that are judged together where evidence was searched for: the most telling ones.
const TELLING: usize = 3;

/// Sentences that are cited at most without a language model.
const MOST_CITED: usize = 6;

/// A sentence with less probability for a model's verdict does not bear on it.
const BEARS: f64 = 0.05;

/// By how much support and refutation may differ in a conflict that no verdict survives.
const EVEN: f64 = 0.2;

/// The score of "not enough evidence" where nothing could be judged: there is nothing to be sure of.
const NOTHING: f64 = 0.5;

/// Evidence that was given is judged as a whole up to this many sentences.
const WHOLE: usize = 16;

/// A verdict with what it rests on.
#[derive(Debug, Clone)]
pub(super) struct Selected {
    pub(super) verdict: Verdict,
    /// The pieces cited, the best first; none for "not enough evidence".
    pub(super) cited: Vec<Piece>,
    /// The piece that speaks most for the claim and the one that speaks most against it, where both do.
    pub(super) conflict: Option<(Piece, Piece)>,
    /// Whether these two are about as strong, so that nothing is settled.
    pub(super) even: bool,
    /// Whether the verifier could not be asked.
    pub(super) unverified: bool,
    /// What the confidence is made of.
    pub(super) features: Features,
}

/// The probability that a judgement gives to a label's side.
fn side(nli: &Nli, verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Supported => nli.entail.get(),
        Verdict::Refuted => nli.contradict.get(),
        Verdict::NotEnoughEvidence => nli.neutral.get(),
    }
}

fn opposite(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Supported => Verdict::Refuted,
        Verdict::Refuted => Verdict::Supported,
        Verdict::NotEnoughEvidence => Verdict::NotEnoughEvidence,
    }
}

fn most(pieces: &[Piece], verdict: Verdict) -> Option<Piece> {
    let by = |a: &&Piece, b: &&Piece| {
        side(&a.nli, verdict).total_cmp(&side(&b.nli, verdict)).then_with(|| b.passage.cmp(&a.passage))
    };
    pieces.iter().max_by(by).copied()
}

/// The verdict by the evidence alone. `given` says that the evidence was given, not searched for: it is then judged as a
/// whole too.
///
/// # Errors
/// The verifier's.
pub(super) async fn by_evidence(
    bench: &mut Bench<'_>,
    given: bool,
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<Selected> {
    let passages: Vec<usize> = (0..bench.pool.entries().len()).collect();
    bench.judge(&passages, ledger).await?;
    let mut pieces = bench.all();
    // A passage that says the claim word for word does not contradict it in its next sentence, whatever the verifier makes
    // of that.
    let spoken = |at: usize| bench.pool.get(at).is_some_and(|e| holds(&e.passage.text, bench.claim));
    let said: Vec<usize> = passages.iter().copied().filter(|at| spoken(*at)).collect();
    pieces.retain(|p| !said.contains(&p.passage) || p.nli.entail.get() >= p.nli.contradict.get());
    let sentences: usize = bench.pool.entries().iter().map(|e| e.sentences.len()).sum();
    let as_whole = given && sentences <= WHOLE;
    let joined = if as_whole {
        bench.together(&pieces, ledger).await?
    } else {
        bench.together(&telling(&pieces), ledger).await?
    };
    let judged: Vec<Nli> = pieces.iter().map(|p| p.nli).collect();
    let whole = joined.filter(|_| as_whole).or_else(|| only(given, &judged));
    // Two passages that contradict one another are not averaged away by reading them as one text; sentences of one
    // passage belong together, and what one of them seems to say alone counts less than what they say.
    let at_odds = conflict(&pieces, config).is_some();
    let (scores, by_label) = match whole.filter(|_| !at_odds) {
        // One judgement of all the evidence is a distribution over the labels as it is.
        Some(nli) => (Scores::join(&[nli], config.joining), LABELS.map(|label| (label, side(&nli, label)))),
        None => {
            let scores = Scores::join(&judged, config.joining);
            (scores, LABELS.map(|label| (label, scores.of(label, config.scoring))))
        }
    };
    let (verdict, v, margin) = best_label(by_label);
    let cited = match verdict {
        Verdict::NotEnoughEvidence => Vec::new(),
        _ => enough(bench, &pieces, verdict, config, ledger).await?,
    };
    let generation = Features::default();
    Ok(selected(bench, Chosen { verdict, scores, v, margin, cited, joined, generation }, config))
}

/// The pieces that say most, whichever way, in the order of the pool.
fn telling(pieces: &[Piece]) -> Vec<Piece> {
    let mut chosen = pieces.to_vec();
    chosen.sort_by(|a, b| a.nli.neutral.get().total_cmp(&b.nli.neutral.get()));
    chosen.truncate(TELLING);
    chosen
}

/// The judgement by evidence that was given and is a single sentence.
fn only(given: bool, judged: &[Nli]) -> Option<Nli> {
    match judged {
        [one] if given => Some(*one),
        _ => None,
    }
}

/// The label with the greatest score, that score, and by how much it beats the next.
fn best_label(mut by_label: [(Verdict, f64); 3]) -> (Verdict, f64, f64) {
    by_label.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(verdict, v), (_, second), _] = by_label;
    (verdict, v, v - second)
}

/// The smallest set of pieces that is enough for a verdict: the one that says most, and where none says it alone, as many
/// of those that speak for it as say it together. A piece that rather says the opposite is none of them.
///
/// # Errors
/// The verifier's.
async fn enough(
    bench: &mut Bench<'_>,
    pieces: &[Piece],
    verdict: Verdict,
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Piece>> {
    let speaks = |p: &&Piece| side(&p.nli, verdict) >= side(&p.nli, opposite(verdict));
    let mut ordered: Vec<Piece> = pieces.iter().filter(speaks).copied().collect();
    if ordered.is_empty() {
        // Only all of it together says so.
        ordered = pieces.to_vec();
    }
    ordered.sort_by(|a, b| side(&b.nli, verdict).total_cmp(&side(&a.nli, verdict)));
    let alone = ordered.first().is_some_and(|p| side(&p.nli, verdict) >= 0.5);
    if config.ablate.no_pruning {
        ordered.truncate(MOST_CITED);
        return Ok(ordered);
    }
    if alone {
        ordered.truncate(1);
        return Ok(ordered);
    }
    ordered.truncate(MOST_CITED);
    for size in 2..ordered.len() {
        let some = ordered.get(..size).unwrap_or_default();
        let said = bench.together(some, ledger).await?;
        if said.is_some_and(|nli| side(&nli, verdict) >= 0.5) {
            ordered.truncate(size);
            break;
        }
    }
    Ok(ordered)
}

/// The piece that speaks most for the claim and the one of another passage that speaks most against it, where both do.
fn conflict(pieces: &[Piece], config: &CheckConfig) -> Option<(Piece, Piece)> {
    most(pieces, Verdict::Supported).zip(most(pieces, Verdict::Refuted)).filter(|(yes, no)| {
        yes.nli.entail.get() >= config.conflict
            && no.nli.contradict.get() >= config.conflict
            && yes.passage != no.passage
    })
}

/// What the verifier makes of a candidate.
struct Scored<'a> {
    candidate: &'a Candidate,
    verdict: Verdict,
    scores: Scores,
    joined: Option<Nli>,
    v: f64,
    votes: f64,
    fused: f64,
}

/// The verdict that the verifier chooses among a model's candidates; `None` when none can be used.
///
/// # Errors
/// The verifier's.
pub(super) async fn by_candidates(
    bench: &mut Bench<'_>,
    candidates: &[Candidate],
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<Option<Selected>> {
    let usable: Vec<(&Candidate, Verdict)> =
        candidates.iter().filter(|c| c.is_valid()).filter_map(|c| Some((c, c.verdict?))).collect();
    if usable.is_empty() {
        return Ok(None);
    }
    let shown = bench.shown();
    bench.judge(&shown, ledger).await?;
    let votes = |verdict| usable.iter().filter(|(_, v)| *v == verdict).count() as f64 / usable.len() as f64;
    let mut all: Vec<Scored<'_>> = Vec::with_capacity(usable.len());
    for (candidate, verdict) in usable.iter().copied() {
        let passages: Vec<usize> = match verdict {
            Verdict::NotEnoughEvidence => shown.iter().copied().take(TOP).collect(),
            _ => candidate.citations.clone(),
        };
        let (scores, joined) = scored(bench, &passages, config, ledger).await?;
        let votes = votes(verdict);
        let fused = |at: &usize| bench.pool.get(*at).and_then(|e| e.fused).unwrap_or(0.0);
        // Where all that was shown is about somebody else, nothing was judged.
        let own = if shown.is_empty() { NOTHING } else { scores.of(verdict, config.scoring) };
        let v = own + config.vote_weight * votes;
        let fused = candidate.citations.iter().map(fused).sum();
        all.push(Scored { candidate, verdict, scores, joined, v, votes, fused });
    }
    let chosen = if config.ablate.first_sample {
        all.first()
    } else if config.ablate.no_selection {
        // The first of the majority's candidates.
        let most = all.iter().map(|s| s.votes).fold(0.0, f64::max);
        all.iter().find(|s| s.votes >= most)
    } else {
        all.iter().max_by(|a, b| preferred(a, b))
    };
    let Some(chosen) = chosen else { return Ok(None) };
    // Of each label the best score: that of its candidates, else what the chosen evidence gives it.
    let of_label = |label: Verdict| {
        let own = all.iter().filter(|s| s.verdict == label).map(|s| s.v).max_by(f64::total_cmp);
        own.unwrap_or_else(|| chosen.scores.of(label, config.scoring))
    };
    let second =
        LABELS.iter().filter(|l| **l != chosen.verdict).map(|l| of_label(*l)).fold(f64::MIN, f64::max);
    let (verdict, v, votes) = (chosen.verdict, chosen.v, chosen.votes);
    let kept = pruned(bench, chosen, config, ledger).await?;
    // What bears on the claim in no way, or rather the other way, is no citation of the verdict.
    let as_proposed = config.ablate.no_selection || config.ablate.first_sample;
    let bears = |p: &Piece| {
        let own = side(&p.nli, verdict);
        as_proposed || own >= BEARS && own >= side(&p.nli, opposite(verdict))
    };
    let pieces: Vec<Piece> =
        kept.iter().filter_map(|at| most(bench.pieces(*at), verdict)).filter(bears).collect();
    let generation = Features {
        vote_share: Some(votes),
        label_entropy: Some(entropy(
            LABELS
                .map(|label| usable.iter().filter(|(_, v)| *v == label).count() as f64 / usable.len() as f64),
        )),
        invalid_share: Some(1.0 - usable.len() as f64 / candidates.len() as f64),
        mean_logprob: chosen.candidate.mean_logprob,
        logprob_deviation: deviation(all.iter().filter(|s| s.verdict == verdict).map(|s| s.candidate)),
        self_confidence: chosen.candidate.self_confidence,
        ..Features::default()
    };
    let (scores, joined, margin) = (chosen.scores, chosen.joined, v - second);
    let parts = Chosen { verdict, scores, v, margin, cited: pieces, joined, generation };
    Ok(Some(selected(bench, parts, config)))
}

/// By how much another label could still beat the verdict, by citing any passage that was shown; nothing or less when
/// more candidates cannot change it. Evidence that only says something when put together is left out of this bound.
pub(super) fn headroom(bench: &Bench<'_>, selected: &Selected, config: &CheckConfig) -> f64 {
    if config.vote_weight > 0.0 || config.ablate.no_selection {
        return f64::INFINITY;
    }
    let shown = bench.shown();
    let best = |label: Verdict| match label {
        Verdict::NotEnoughEvidence => {
            let judged: Vec<Nli> =
                shown.iter().take(TOP).flat_map(|at| bench.pieces(*at)).map(|p| p.nli).collect();
            Scores::join(&judged, config.joining).of(label, config.scoring)
        }
        _ => shown
            .iter()
            .map(|at| {
                let judged: Vec<Nli> = bench.pieces(*at).iter().map(|p| p.nli).collect();
                Scores::join(&judged, config.joining).of(label, config.scoring)
            })
            .fold(f64::MIN, f64::max),
    };
    let others = LABELS.iter().filter(|label| **label != selected.verdict);
    others.map(|label| best(*label) - selected.features.score).fold(f64::MIN, f64::max)
}

/// Whether `b` is preferred to `a` (R2VC, 2.3: score, votes, fused scores, fewer citations, the earlier).
fn preferred(a: &Scored<'_>, b: &Scored<'_>) -> Ordering {
    a.v.total_cmp(&b.v)
        .then_with(|| a.votes.total_cmp(&b.votes))
        .then_with(|| a.fused.total_cmp(&b.fused))
        .then_with(|| b.candidate.citations.len().cmp(&a.candidate.citations.len()))
        .then_with(|| b.candidate.ix.cmp(&a.candidate.ix))
}

/// What passages say of the claim, each by itself and all together.
async fn scored(
    bench: &mut Bench<'_>,
    passages: &[usize],
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<(Scores, Option<Nli>)> {
    let pieces: Vec<Piece> = passages.iter().flat_map(|at| bench.pieces(*at).iter().copied()).collect();
    let joined = bench.together(&pieces, ledger).await?;
    let judged: Vec<Nli> = pieces.iter().map(|p| p.nli).chain(joined).collect();
    Ok((Scores::join(&judged, config.joining), joined))
}

/// The citations of a candidate without those that it does not need.
async fn pruned(
    bench: &mut Bench<'_>,
    chosen: &Scored<'_>,
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<Vec<usize>> {
    let mut kept: Vec<usize> = match chosen.verdict {
        Verdict::NotEnoughEvidence => return Ok(Vec::new()),
        _ => chosen.candidate.citations.clone(),
    };
    let votes = config.vote_weight * chosen.votes;
    let mut at = kept.len();
    // From the last cited: what a model names first matters most to it.
    while at > 0 && kept.len() > 1 && !config.ablate.no_pruning {
        at -= 1;
        let mut rest = kept.clone();
        rest.remove(at);
        let (scores, _) = scored(bench, &rest, config, ledger).await?;
        if scores.of(chosen.verdict, config.scoring) + votes >= chosen.v - config.prune {
            kept = rest;
        }
    }
    Ok(kept)
}

struct Chosen {
    verdict: Verdict,
    scores: Scores,
    v: f64,
    margin: f64,
    cited: Vec<Piece>,
    joined: Option<Nli>,
    /// What is known of the candidates.
    generation: Features,
}

/// A verdict with its numbers. A decisive one for which nothing can be cited is none.
fn selected(bench: &Bench<'_>, chosen: Chosen, config: &CheckConfig) -> Selected {
    let Chosen { verdict, scores, v, margin, cited, joined, generation } = chosen;
    let all = bench.all();
    let conflict = conflict(&all, config);
    let even =
        conflict.is_some_and(|(yes, no)| (yes.nli.entail.get() - no.nli.contradict.get()).abs() < EVEN);
    let none = all.is_empty();
    let (verdict, v, cited) = match (none, even || cited.is_empty()) {
        (true, _) => (Verdict::NotEnoughEvidence, NOTHING, Vec::new()),
        (false, true) => {
            let nothing = Verdict::NotEnoughEvidence;
            let judged: Vec<Nli> = all.iter().map(|p| p.nli).collect();
            let over_all = Scores::join(&judged, config.joining);
            let v = if verdict == nothing { v } else { over_all.of(nothing, config.scoring) };
            (nothing, v, Vec::new())
        }
        (false, false) => (verdict, v, cited),
    };
    let agreeing = (0..bench.pool.entries().len())
        .filter(|at| bench.pieces(*at).iter().any(|p| side(&p.nli, verdict) >= 0.5))
        .count();
    let ranked: Vec<Option<f64>> = bench.pool.entries().iter().map(|e| e.fused).take(2).collect();
    let fused = |rank: usize| ranked.get(rank).copied().flatten();
    let evidence = held_text(bench, &cited);
    let features = Features {
        score: v,
        support: scores.support,
        refutation: scores.refutation,
        margin,
        joined_support: joined.map(|nli| nli.entail.get()),
        joined_refutation: joined.map(|nli| nli.contradict.get()),
        agreeing_passages: agreeing as f64,
        citations: cited.len() as f64,
        top_score: fused(0),
        score_gap: fused(0).zip(fused(1)).map(|(first, second)| first - second),
        entity_overlap: held_share(&names_of(bench.claim), &evidence),
        missing_numbers: lacking(&numbers_of(bench.claim), &evidence),
        claim_words: bench.claim.split_whitespace().count() as f64,
        verdict: Some(verdict),
        ..generation
    };
    Selected { verdict, cited, conflict, even, unverified: false, features }
}

/// The words of the passages cited, or of the best passage where none is.
fn held_text(bench: &Bench<'_>, cited: &[Piece]) -> HashSet<String> {
    let mut passages: Vec<usize> = cited.iter().map(|p| p.passage).collect();
    if passages.is_empty() {
        passages.push(0);
    }
    let texts = passages.iter().filter_map(|at| bench.pool.get(*at)).map(|e| &e.passage);
    texts.flat_map(|p| normal_tokens(&p.title).into_iter().chain(normal_tokens(&p.text))).collect()
}

/// The words of a claim that begin with a capital, but for its first, which always does.
fn names_of(claim: &str) -> Vec<String> {
    let capital = |w: &&str| w.chars().next().is_some_and(char::is_uppercase);
    let words: Vec<&str> = claim.split_whitespace().skip(1).filter(capital).collect();
    words.iter().flat_map(|w| normal_tokens(w)).collect()
}

fn numbers_of(claim: &str) -> Vec<String> {
    normal_tokens(claim).into_iter().filter(|t| t.chars().any(|c| c.is_ascii_digit())).collect()
}

fn held_share(words: &[String], held: &HashSet<String>) -> Option<f64> {
    let hits = words.iter().filter(|w| held.contains(*w)).count();
    (!words.is_empty()).then(|| hits as f64 / words.len() as f64)
}

fn lacking(words: &[String], held: &HashSet<String>) -> Option<f64> {
    (!words.is_empty()).then(|| words.iter().filter(|w| !held.contains(*w)).count() as f64)
}

pub(super) fn entropy(shares: [f64; 3]) -> f64 {
    shares.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// The standard deviation of the candidates' mean log-probabilities; `None` for less than two.
fn deviation<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Option<f64> {
    let known: Vec<f64> = candidates.filter_map(|c| c.mean_logprob).collect();
    if known.len() < 2 {
        return None;
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    Some((known.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / known.len() as f64).sqrt())
}
