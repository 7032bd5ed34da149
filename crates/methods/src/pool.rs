//! The passages that a claim is judged by.

use std::collections::HashSet;
use std::sync::Arc;

use counterproof_core::{ByteSpan, Hit, Passage};
use counterproof_text::sentences::sentences;

/// A passage of the pool.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) passage: Arc<Passage>,
    /// Its fused score (R2VC, 2.1), where a search with words and meaning found it.
    pub(super) fused: Option<f64>,
    /// Its sentences.
    pub(super) sentences: Vec<ByteSpan>,
}

/// Passages in the order of their rank, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool {
    entries: Vec<Entry>,
}

impl Pool {
    /// What a search found.
    pub(super) fn found(hits: &[Hit]) -> Self {
        // A hybrid search gives every hit a fused score; what one of the two missed counts zero in it.
        let hybrid = hits.iter().any(|h| h.sparse.is_some()) && hits.iter().any(|h| h.dense.is_some());
        let fused = |hit: &Hit| hybrid.then(|| hit.score.get());
        Self::of(hits.iter().map(|hit| (Arc::clone(&hit.passage), fused(hit))))
    }

    /// Passages that were given.
    pub(super) fn given(passages: &[Arc<Passage>]) -> Self {
        Self::of(passages.iter().map(|passage| (Arc::clone(passage), None)))
    }

    /// Passages that say the same in the same words, whatever their spacing and case, count once, and blank ones not at all.
    fn of(passages: impl Iterator<Item = (Arc<Passage>, Option<f64>)>) -> Self {
        let mut seen: HashSet<(String, String)> = HashSet::new();
        let entries = passages
            .filter(|(passage, _)| !passage.text.trim().is_empty())
            .filter(|(passage, _)| seen.insert((folded(&passage.title), folded(&passage.text))))
            .map(|(passage, fused)| Entry { sentences: sentences(&passage.text), passage, fused });
        Self { entries: entries.collect() }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// Titles and texts of the best `k`, each text cut to `max_tokens` words (or twelve times as many characters, for texts
    /// without spaces).
    pub(super) fn shown(&self, k: usize, max_tokens: usize) -> Vec<(String, String)> {
        self.entries
            .iter()
            .take(k)
            .map(|entry| {
                let words = entry.passage.text.split_whitespace().take(max_tokens);
                let text = words.collect::<Vec<_>>().join(" ");
                (entry.passage.title.clone(), text.chars().take(max_tokens.saturating_mul(12)).collect())
            })
            .collect()
    }
}

/// A text without what spacing and case make different. Punctuation stays: 1.5 is not 15.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
