//! Passages that share words with a text: where evidence that is on the topic and settles nothing comes from.

use std::collections::HashSet;
use std::sync::Arc;

use counterproof_core::{Limits, Passage, Result, Retriever as _};
use counterproof_datasets::claims::Evidence;
use counterproof_retrieval::{ListRetriever, query_terms};
use counterproof_text::packs::english::STOP_WORDS;
use futures::executor::block_on;

/// BM25 over passages held in memory.
pub(super) struct Search {
    list: ListRetriever,
}

impl Search {
    /// An index over `texts`; equal ones count once.
    pub(super) fn new(texts: impl IntoIterator<Item = Evidence>) -> Result<Self> {
        let mut seen: HashSet<String> = HashSet::new();
        let kept = texts.into_iter().filter(|e| !e.text.trim().is_empty() && seen.insert(e.text.clone()));
        let passages: Vec<Passage> =
            kept.enumerate().map(|(at, e)| Passage::new(at.to_string(), e.title, e.text)).collect();
        let limits = Limits { max_passages: usize::MAX, ..Limits::default() };
        Ok(Self { list: ListRetriever::new(passages, &limits)? })
    }

    /// The `k` best passages for each query, in the order of the queries.
    pub(super) fn all(&self, queries: &[String], k: usize) -> Result<Vec<Vec<Arc<Passage>>>> {
        // On a thread of its own: on a thread of an async runtime the runtime's budget for one task would be used up, and
        // waiting here would never give it back.
        let searching = std::thread::scope(|scope| scope.spawn(|| self.search_all(queries, k)).join());
        searching.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn search_all(&self, queries: &[String], k: usize) -> Result<Vec<Vec<Arc<Passage>>>> {
        // The index searches on the worker threads; asking for several at once keeps all of them busy.
        const AT_ONCE: usize = 64;
        let mut out = Vec::with_capacity(queries.len());
        for chunk in queries.chunks(AT_ONCE) {
            for hits in block_on(futures::future::join_all(chunk.iter().map(|q| self.list.search(q, k)))) {
                out.push(hits?.into_iter().map(|hit| hit.passage).collect());
            }
        }
        Ok(out)
    }
}

/// The stems of a text's content words.
pub(super) fn content_terms(text: &str) -> HashSet<String> {
    const ASKING: [&str; 14] = [
        "what", "when", "where", "why", "how", "whom", "whose", "many", "much", "the", "a", "an", "there",
        "you",
    ];
    let terms = query_terms(text).into_iter();
    terms
        .filter(|t| !STOP_WORDS.contains(&t.as_str()) && !ASKING.contains(&t.as_str()) && t != "doe")
        .collect()
}

/// The share of `wanted` that `text` holds, in 0..=1; 0 when nothing is wanted.
pub(super) fn coverage(wanted: &HashSet<String>, text: &str) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    let held: HashSet<String> = query_terms(text).into_iter().collect();
    wanted.intersection(&held).count() as f64 / wanted.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_come_back_in_order() {
        let texts = ["The tower is in Paris.", "Frogs swim in ponds.", "The tower is in Paris."];
        let search = Search::new(texts.map(|t| Evidence { title: String::new(), text: t.into() })).unwrap();
        let found = search.all(&["frogs".into(), "tower of Paris".into(), "quark".into()], 3).unwrap();
        let texts: Vec<Vec<&str>> =
            found.iter().map(|hits| hits.iter().map(|p| p.text.as_str()).collect()).collect();
        assert_eq!(texts, [vec!["Frogs swim in ponds."], vec!["The tower is in Paris."], vec![]]);
    }

    #[tokio::test]
    async fn many_searches_end_on_the_thread_of_a_runtime_too() {
        let texts = ["The tower is in Paris.", "Frogs swim in ponds."];
        let search = Search::new(texts.map(|t| Evidence { title: String::new(), text: t.into() })).unwrap();
        let queries = vec!["frogs".to_owned(); 500];
        assert!(search.all(&queries, 1).unwrap().iter().all(|hits| hits.len() == 1));
    }

    #[test]
    fn coverage_is_by_stem_and_content() {
        let wanted = content_terms("Who directed the films of Boso?");
        assert_eq!(coverage(&wanted, "Boso's film"), 2.0 / 3.0);
        assert_eq!(coverage(&content_terms("the of who"), "anything"), 0.0);
    }
}
