//! The seam to evidence.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Passage, Result, Score};

/// A passage that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The passage. Shared, because pools and traces point at the same ones.
    pub passage: Arc<Passage>,
    /// The score that ranked it. Scores of two searches cannot be compared.
    pub score: Score,
    /// The term-matching (BM25) score that went into `score`, where the engine has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Score>,
    /// The embedding similarity that went into `score`, where the engine has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense: Option<Score>,
}

impl Hit {
    /// A hit with one score only.
    pub fn new(passage: Arc<Passage>, score: Score) -> Self {
        Self { passage, score, sparse: None, dense: None }
    }
}

/// Finds passages that speak about a query.
///
/// Contract of every implementation:
/// * `query` is free text in any language and never a syntax error; a query that matches nothing gives an empty list;
/// * at most `k` hits come back, best first, no passage twice; `k` larger than the corpus gives what there is, and
///   `k == 0` gives none;
/// * equal scores are ordered by passage id, so that the same search over the same corpus gives the same list;
/// * an engine that is away is an [`UpstreamError`](crate::UpstreamError), never an empty list.
#[async_trait]
pub trait Retriever: Send + Sync {
    /// Names the engine and the state of its corpus, for traces and cache keys: it changes when results may change.
    fn identity(&self) -> &str;

    /// The best `k` passages for `query`.
    async fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>>;
}

/// A few passages in memory, ranked by how many of the query's words they hold, rare words counting more.
///
/// Words are runs of letters and digits, lower-cased; a CJK character is a word of its own. For tests, examples and
/// a handful of given passages; the embedded index of `counterproof-retrieval` is the engine for everything else.
#[derive(Debug, Clone)]
pub struct InMemoryRetriever {
    passages: Vec<Arc<Passage>>,
    words: Vec<HashSet<String>>,
    document_frequency: BTreeMap<String, usize>,
    identity: String,
}

impl InMemoryRetriever {
    /// A retriever over `passages`.
    pub fn new(passages: impl IntoIterator<Item = Passage>) -> Self {
        let passages: Vec<Arc<Passage>> = passages.into_iter().map(Arc::new).collect();
        let words: Vec<HashSet<String>> = passages
            .iter()
            .map(|p| words_of(&format!("{} {}", p.title, p.text)).into_iter().collect())
            .collect();
        let mut document_frequency = BTreeMap::new();
        for word in words.iter().flatten() {
            *document_frequency.entry(word.clone()).or_insert(0) += 1;
        }
        let mut all = String::new();
        for passage in &passages {
            all.push_str(passage.id.as_str());
            all.push('\0');
            all.push_str(&passage.text);
            all.push('\0');
        }
        let identity = format!("memory:{}", crate::sha256_hex(all));
        Self { passages, words, document_frequency, identity }
    }

    /// The passages, in the order they were given.
    pub fn passages(&self) -> &[Arc<Passage>] {
        &self.passages
    }
}

#[async_trait]
impl Retriever for InMemoryRetriever {
    fn identity(&self) -> &str {
        &self.identity
    }

    async fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        let query: HashSet<String> = words_of(query).into_iter().collect();
        let n = self.passages.len() as f64;
        let weight = |word: &String| {
            let df = self.document_frequency.get(word).copied().unwrap_or(0) as f64;
            (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
        };
        let mut hits: Vec<Hit> = self
            .passages
            .iter()
            .zip(&self.words)
            .filter_map(|(passage, words)| {
                let mut shared: Vec<&String> = query.iter().filter(|w| words.contains(*w)).collect();
                shared.sort_unstable(); // one order of summation, so that the score is the same every time
                let score: f64 = shared.into_iter().map(weight).sum();
                (score > 0.0).then(|| Hit::new(Arc::clone(passage), Score::new(score)))
            })
            .collect();
        hits.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.passage.id.cmp(&b.passage.id)));
        hits.truncate(k);
        Ok(hits)
    }
}

/// Runs of letters and digits, lower-cased; each CJK ideograph alone.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        let ideograph =
            matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if c.is_alphanumeric() && !ideograph {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if ideograph {
            words.push(c.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> InMemoryRetriever {
        InMemoryRetriever::new([
            Passage::new("b", "Observatory", "The observatory opened in 1889 on a hill."),
            Passage::new("a", "Laboratory", "The laboratory opened in 1913."),
            Passage::new("c", "", ""),
            Passage::new("d", "图书馆", "图书馆建于一九五二年。"),
        ])
    }

    #[tokio::test]
    async fn the_contract_holds_for_the_twin() {
        let r = corpus();
        let ids = |hits: Vec<Hit>| hits.iter().map(|h| h.passage.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(r.search("when did the observatory open?", 10).await.unwrap()), ["b", "a"]);
        assert_eq!(ids(r.search("OPENED", 10).await.unwrap()), ["a", "b"], "a tie goes by id");
        assert_eq!(ids(r.search("图书馆", 10).await.unwrap()), ["d"]);
        assert!(r.search("opened", 0).await.unwrap().is_empty());
        assert!(r.search("zzz \"( AND", 10).await.unwrap().is_empty());
    }
}
