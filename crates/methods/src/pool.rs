//! The passages that a claim is judged by or a question is answered from.

use std::collections::HashSet;
use std::sync::Arc;

use counterproof_core::{ByteSpan, Hit, Passage};
use counterproof_text::sentences::sentences;
use counterproof_text::statement::joined_premise;

/// A passage of the pool.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) passage: Arc<Passage>,
    /// Its fused score (R2VC, 2.1), where a search with words and meaning found it.
    pub(crate) fused: Option<f64>,
    /// Its sentences.
    pub(crate) sentences: Vec<ByteSpan>,
}

/// Passages in the order of their rank, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    entries: Vec<Entry>,
}

impl Pool {
    /// What a search found.
    pub(crate) fn found(hits: &[Hit]) -> Self {
        // A hybrid search gives every hit a fused score; what one of the two missed counts zero in it.
        let hybrid = hits.iter().any(|h| h.sparse.is_some()) && hits.iter().any(|h| h.dense.is_some());
        let fused = |hit: &Hit| hybrid.then(|| hit.score.get());
        Self::of(hits.iter().map(|hit| (Arc::clone(&hit.passage), fused(hit))))
    }

    /// Passages that were given.
    pub(crate) fn given(passages: &[Arc<Passage>]) -> Self {
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

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// The best passages as one text, each under its title, up to about `max_tokens` words.
    pub(crate) fn joined(&self, max_tokens: usize) -> Self {
        let mut words = 0;
        let fits = |entry: &&Entry| {
            let before = words;
            words += entry.passage.text.split_whitespace().count();
            before == 0 || words <= max_tokens
        };
        let entries: Vec<&Entry> = self.entries.iter().take_while(fits).collect();
        let pieces = entries.iter().map(|e| (e.passage.title.as_str(), e.passage.text.as_str()));
        let text = joined_premise(pieces);
        Self::given(&[Arc::new(Passage::new("all passages", "", text))])
    }

    /// Title and text of a passage, cut to `max_tokens` words from the sentence before the place `at` on, if it is longer.
    pub(crate) fn shown_at(&self, place: usize, at: usize, max_tokens: usize) -> Option<(String, String)> {
        let entry = self.get(place)?;
        let text = &entry.passage.text;
        let fits =
            text.split_whitespace().nth(max_tokens).is_none() && text.len() <= max_tokens.saturating_mul(12);
        let sentence = entry.sentences.iter().position(|s| at < s.end()).unwrap_or(0);
        let start = entry.sentences.get(sentence.saturating_sub(1)).map_or(0, |s| s.start());
        let text = if fits { text } else { text.get(start..).unwrap_or_default() };
        Some((entry.passage.title.clone(), cut(text, max_tokens)))
    }

    /// Titles and texts of the best `k`, each text cut to `max_tokens` words (or twelve times as many characters, for texts
    /// without spaces).
    pub(crate) fn shown(&self, k: usize, max_tokens: usize) -> Vec<(String, String)> {
        self.entries
            .iter()
            .take(k)
            .map(|entry| (entry.passage.title.clone(), cut(&entry.passage.text, max_tokens)))
            .collect()
    }
}

/// A text cut to so many words, or twelve times as many characters.
fn cut(text: &str, max_tokens: usize) -> String {
    let words = text.split_whitespace().take(max_tokens).collect::<Vec<_>>().join(" ");
    words.chars().take(max_tokens.saturating_mul(12)).collect()
}

/// A text without what spacing and case make different. Punctuation stays: 1.5 is not 15.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
