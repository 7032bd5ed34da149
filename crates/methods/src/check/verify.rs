//! What the verifier makes of the evidence (R2VC, 2.3): every sentence is judged under its title, and what several pieces
//! say together is one piece more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use counterproof_core::{ByteSpan, Entailment, Nli, PassageId, Result, Verdict};
use counterproof_text::claim::{About, Name, is_about, subject};
use counterproof_text::normalise::squad;
use counterproof_text::statement::{joined_premise, premise};
use counterproof_text::tokens::content_tokens;

use super::config::{CheckConfig, Joining, Scoring};
use crate::ledger::{Ledger, Stated};
use crate::pool::{Entry, Pool};

pub(super) const STAGE: &str = "verify";

/// Passages of which a sentence is judged at most, however many are given.
const MOST_PASSAGES: usize = 128;

/// By how much support and refutation may differ for "not enough evidence" where labels are scored by their difference.
const UNDECIDED: f64 = 0.2;

/// A sentence of the pool and what the verifier says of the claim by it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    /// The passage, by its place in the pool.
    pub(super) passage: usize,
    /// The sentence in its text.
    pub(super) span: ByteSpan,
    /// The judgement.
    pub(super) nli: Nli,
}

/// Support and refutation, and what follows for each label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scores {
    /// What the evidence entails, `s`.
    pub(super) support: f64,
    /// What it contradicts, `r`.
    pub(super) refutation: f64,
}

impl Scores {
    /// The verifier's score of a label, `v`.
    pub(super) fn of(self, verdict: Verdict, scoring: Scoring) -> f64 {
        let Self { support: s, refutation: r } = self;
        match (scoring, verdict) {
            (Scoring::Product, Verdict::Supported) => s * (1.0 - r),
            (Scoring::Product, Verdict::Refuted) => r * (1.0 - s),
            (Scoring::Product, Verdict::NotEnoughEvidence) => 1.0 - s.max(r),
            (Scoring::EntailMinusContradict, Verdict::Supported) => s - r,
            (Scoring::EntailMinusContradict, Verdict::Refuted) => r - s,
            (Scoring::EntailMinusContradict, Verdict::NotEnoughEvidence) => UNDECIDED - (s - r).abs(),
        }
    }

    /// Joins judgements; nothing was judged: nothing is settled.
    pub(super) fn join(judged: &[Nli], joining: Joining) -> Self {
        let over = |of: fn(&Nli) -> f64| match joining {
            Joining::Max => judged.iter().map(of).fold(0.0, f64::max),
            Joining::Mean => judged.iter().map(of).sum::<f64>() / judged.len().max(1) as f64,
        };
        Self { support: over(|nli| nli.entail.get()), refutation: over(|nli| nli.contradict.get()) }
    }
}

/// Keeps evidence about somebody else from deciding: the source's main failure.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Who or what the claim is about; `None` where it names nobody, or the guard is off.
    name: Option<Name>,
    /// For each passage of the pool whether it is about somebody else.
    pub(super) passages: Vec<bool>,
}

impl Guard {
    /// Looks at every passage. One whose title the claim names besides its subject may speak of both: "Wolfgang Pauli named
    /// the neutrino" may rest on the page of the neutrino. One without a title may be about anybody, since its text often
    /// says no more than "the film", unless it names a namesake.
    pub(super) fn new(claim: &str, pool: &Pool) -> Self {
        let Some(name) = subject(claim) else { return Self::default() };
        let claimed = format!(" {} ", squad(claim));
        let foreign = |entry: &Entry| {
            let title = &entry.passage.title;
            if title.is_empty() {
                return is_namesake(&name, &entry.passage.text);
            }
            !claimed.contains(&format!(" {} ", squad(title)))
                && is_about(&name, title, &entry.passage.text) == About::No
        };
        let passages = pool.entries().iter().map(foreign).collect();
        Self { name: Some(name), passages }
    }

    /// Whose claim it is, as the claim writes it.
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().map_or("", Name::as_str)
    }

    /// Whether a sentence of a page about somebody else speaks of that somebody by a name like the claim's: the page of
    /// Pierre Curie tells of Marie Curie too, but where *he* was born says nothing of her.
    fn silences(&self, entry: &Entry, span: ByteSpan) -> bool {
        let Some(name) = &self.name else { return false };
        let title = &entry.passage.title;
        !title.is_empty()
            && is_about(name, title, "") != About::Yes
            && span.slice(&entry.passage.text).is_some_and(|sentence| is_namesake(name, sentence))
    }
}

/// Whether a text names somebody or something with a part of the name, and never the whole.
fn is_namesake(name: &Name, text: &str) -> bool {
    let words: HashSet<String> = content_tokens(text).into_iter().collect();
    content_tokens(name.as_str()).iter().any(|w| words.contains(w)) && is_about(name, "", text) == About::No
}

/// The verifier at work on one claim; what it has judged is not judged again.
pub(super) struct Bench<'a> {
    pub(super) claim: &'a str,
    pub(super) pool: &'a Pool,
    verifier: &'a Arc<dyn Entailment>,
    config: &'a CheckConfig,
    /// Tells what is about somebody else: nothing follows from that.
    guard: Guard,
    sentences: HashMap<usize, Vec<Piece>>,
    joined: HashMap<Vec<(usize, usize)>, Nli>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        claim: &'a str,
        pool: &'a Pool,
        verifier: &'a Arc<dyn Entailment>,
        guard: Guard,
        config: &'a CheckConfig,
    ) -> Self {
        Self { claim, pool, verifier, config, guard, sentences: HashMap::new(), joined: HashMap::new() }
    }

    /// Whether a passage is about somebody else.
    pub(super) fn is_foreign(&self, passage: usize) -> bool {
        self.guard.passages.get(passage).copied().unwrap_or(false)
    }

    /// The passages that a model was shown and that are not about somebody else.
    pub(super) fn shown(&self) -> Vec<usize> {
        let all = 0..self.pool.entries().len().min(self.config.k_prompt);
        all.filter(|at| !self.is_foreign(*at)).collect()
    }

    /// Judges the sentences of passages that were not judged yet: of each the one that shares most with the claim, and
    /// `max_sentences` of all of them, those that share most.
    ///
    /// # Errors
    /// The verifier's.
    pub(super) async fn judge(&mut self, passages: &[usize], ledger: &mut Ledger) -> Result<()> {
        let mut places: Vec<(usize, ByteSpan)> = Vec::new();
        let mut texts: Vec<(PassageId, String)> = Vec::new();
        for (at, span) in self.most_alike(passages) {
            let Some(entry) = self.pool.get(at) else { continue };
            let Some(text) = span.slice(&entry.passage.text) else { continue };
            places.push((at, span));
            texts.push((entry.passage.id.clone(), premise(&entry.passage.title, text)));
        }
        let stated: Vec<Stated<'_>> = texts
            .iter()
            .map(|(name, premise)| Stated {
                name: name.clone(),
                premise,
                statement: self.claim,
                told: self.claim,
            })
            .collect();
        if stated.is_empty() {
            return Ok(());
        }
        let judged = ledger.judge(STAGE, &**self.verifier, &stated).await?;
        for ((passage, span), nli) in places.into_iter().zip(judged) {
            self.sentences.entry(passage).or_default().push(Piece { passage, span, nli });
        }
        Ok(())
    }

    /// Which sentences of these passages to judge, in the order of the pool.
    fn most_alike(&self, passages: &[usize]) -> Vec<(usize, ByteSpan)> {
        let mut found: Vec<(bool, usize, usize, ByteSpan)> = Vec::new();
        let mut seen: HashSet<usize> = self.sentences.keys().copied().collect();
        for at in passages.iter().copied().filter(|at| !self.is_foreign(*at)) {
            let Some(entry) = self.pool.get(at).filter(|_| seen.insert(at)) else { continue };
            let own = self.alike(entry);
            let best = own.iter().map(|(shared, _)| *shared).max();
            let first = own.iter().position(|(shared, _)| Some(*shared) == best);
            found.extend(own.into_iter().enumerate().map(|(i, (n, span))| (Some(i) == first, at, n, span)));
        }
        found.sort_by_key(|(best, _, shared, _)| (!best, std::cmp::Reverse(*shared)));
        let firsts = found.iter().filter(|(best, ..)| *best).count();
        found.truncate(self.config.max_sentences.max(firsts.min(MOST_PASSAGES)));
        found.sort_by_key(|(_, at, _, span)| (*at, *span));
        found.into_iter().map(|(_, at, _, span)| (at, span)).collect()
    }

    /// The sentences of a passage that may speak of the claim, with how many of its words each has, or its title.
    fn alike(&self, entry: &Entry) -> Vec<(usize, ByteSpan)> {
        let claimed: HashSet<String> = content_tokens(self.claim).into_iter().collect();
        let title: HashSet<String> = content_tokens(&entry.passage.title).into_iter().collect();
        let shared = |span: &ByteSpan| {
            let words: HashSet<String> =
                content_tokens(span.slice(&entry.passage.text).unwrap_or_default()).into_iter().collect();
            claimed.iter().filter(|w| words.contains(*w) || title.contains(*w)).count()
        };
        let speaks = |span: &&ByteSpan| !self.guard.silences(entry, **span);
        entry.sentences.iter().filter(speaks).map(|s| (shared(s), *s)).collect()
    }

    /// The sentence of each of these passages that shares most with the claim, not judged.
    pub(super) fn unjudged(&self, passages: &[usize]) -> Vec<Piece> {
        let best = |passage: &usize| {
            let own = self.alike(self.pool.get(*passage)?);
            let (_, span) =
                own.into_iter().max_by_key(|(shared, span)| (*shared, std::cmp::Reverse(*span)))?;
            Some(Piece { passage: *passage, span, nli: Nli::NEUTRAL })
        };
        passages.iter().filter_map(best).collect()
    }

    /// What the sentences of a passage say. Nothing where it is about somebody else.
    pub(super) fn pieces(&self, passage: usize) -> &[Piece] {
        self.sentences.get(&passage).map_or(&[], Vec::as_slice)
    }

    /// Every piece that was judged, in the order of the pool.
    pub(super) fn all(&self) -> Vec<Piece> {
        (0..self.pool.entries().len()).flat_map(|at| self.pieces(at).iter().copied()).collect()
    }

    /// What pieces say together, read as one text in the order of the pool. `None` for less than two.
    ///
    /// # Errors
    /// The verifier's.
    pub(super) async fn together(&mut self, pieces: &[Piece], ledger: &mut Ledger) -> Result<Option<Nli>> {
        if pieces.len() < 2 || self.config.ablate.no_joined_evidence {
            return Ok(None);
        }
        let mut key: Vec<(usize, usize)> = pieces.iter().map(|p| (p.passage, p.span.start())).collect();
        key.sort_unstable();
        key.dedup();
        if let Some(known) = self.joined.get(&key) {
            return Ok(Some(*known));
        }
        let text = |(at, start): &(usize, usize)| -> Option<(&'a str, &'a str)> {
            let entry: &'a Entry = self.pool.get(*at)?;
            let span = entry.sentences.iter().find(|s| s.start() == *start)?;
            Some((entry.passage.title.as_str(), span.slice(&entry.passage.text)?))
        };
        let premise = joined_premise(key.iter().filter_map(text));
        let name = PassageId::new(format!("{} pieces together", key.len()));
        let stated = Stated { name, premise: &premise, statement: self.claim, told: self.claim };
        let judged = ledger.judge(STAGE, &**self.verifier, &[stated]).await?;
        let nli = judged.first().copied().unwrap_or(Nli::NEUTRAL);
        self.joined.insert(key, nli);
        Ok(Some(nli))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_scored_as_the_paper_does() {
        let scores = Scores { support: 0.8, refutation: 0.1 };
        let of = |verdict| scores.of(verdict, Scoring::Product);
        assert!((of(Verdict::Supported) - 0.72).abs() < 1e-12);
        assert!((of(Verdict::Refuted) - 0.02).abs() < 1e-12);
        assert!((of(Verdict::NotEnoughEvidence) - 0.2).abs() < 1e-12);
        let other = |verdict| scores.of(verdict, Scoring::EntailMinusContradict);
        assert!(other(Verdict::Supported) > other(Verdict::NotEnoughEvidence));
    }

    #[test]
    fn the_strongest_piece_counts_or_the_mean() {
        let judged = [Nli::from_weights(0.9, 0.1, 0.0), Nli::from_weights(0.1, 0.5, 0.4)];
        let most = Scores::join(&judged, Joining::Max);
        assert!((most.support - 0.9).abs() < 1e-9 && (most.refutation - 0.4).abs() < 1e-9);
        let mean = Scores::join(&judged, Joining::Mean);
        assert!((mean.support - 0.5).abs() < 1e-9 && (mean.refutation - 0.2).abs() < 1e-9);
        assert_eq!(Scores::join(&[], Joining::Mean), Scores { support: 0.0, refutation: 0.0 });
    }
}
