//! What several test files share.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test file uses its own part

use std::sync::Arc;

use counterproof_core::{Embedder, HashEmbedder, Hit, Passage, Retriever};

pub fn passage(id: &str, title: &str, text: &str) -> Passage {
    Passage::new(id, title, text)
}

pub fn embedder() -> Arc<dyn Embedder> {
    Arc::new(HashEmbedder::new(64))
}

pub fn ids(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|h| h.passage.id.to_string()).collect()
}

/// A small corpus in three scripts, with two passages that differ only in their id.
pub fn observatory() -> Vec<Passage> {
    vec![
        passage("obs", "Observatory", "The observatory opened in 1889 on a hill above the town."),
        passage("lab", "Laboratory", "The laboratory opened in 1913. It burned down twice."),
        passage("twin-b", "Bridge", "The bridge was closed for repairs."),
        passage("twin-a", "Bridge", "The bridge was closed for repairs."),
        passage("zh", "图书馆", "图书馆建于一九五二年，藏书三百万册。"),
        passage("num", "Population", "The city counts 4,523,000 people."),
        passage("de", "Straße", "Die Straßenbahn fährt seit 1896 über die Brücke."),
    ]
}

/// Checks the contract that is written on [`Retriever`] for an engine over `corpus`, which must hold at least one passage
/// with a word in it.
pub async fn keeps_the_contract(engine: &dyn Retriever, corpus: &[Passage]) {
    let words = |p: &Passage| format!("{} {}", p.title, p.text);
    let nonsense =
        ["", " \n\t", "\"", "AND OR NOT", "a:b", "(((", "+ - && || ! { } ^ ~ * ? : \\ /", "\0", "🦀"];
    for query in nonsense {
        let hits = engine.search(query, 5).await;
        assert!(hits.is_ok(), "free text is never a syntax error: {query:?} gave {hits:?}");
    }
    assert!(engine.search("  ", 5).await.unwrap().is_empty(), "a blank query matches nothing");

    let mut found_itself = 0;
    for p in corpus {
        let query = words(p);
        assert!(engine.search(&query, 0).await.unwrap().is_empty(), "k = 0 gives none");
        let all = engine.search(&query, corpus.len() + 50).await.unwrap();
        assert!(all.len() <= corpus.len(), "no more hits than passages");
        let mut seen: Vec<String> = ids(&all);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all.len(), "no passage twice for {query:?}");
        for pair in all.windows(2) {
            assert!(pair[0].score >= pair[1].score, "best first for {query:?}");
            if pair[0].score == pair[1].score && pair[0].sparse == pair[1].sparse {
                assert!(pair[0].passage.id < pair[1].passage.id, "equal scores go by id for {query:?}");
            }
        }
        for hit in &all {
            let original = corpus.iter().find(|p| p.id == hit.passage.id).expect("hits come from the corpus");
            assert_eq!(*hit.passage, *original, "the passage is as it was given");
        }
        assert_eq!(
            engine.search(&query, corpus.len() + 50).await.unwrap(),
            all,
            "the same search gives the same list"
        );
        for k in [1, 2] {
            let few = engine.search(&query, k).await.unwrap();
            assert!(few.len() <= k);
        }
        found_itself += usize::from(all.first().is_some_and(|h| words(&h.passage) == query));
    }
    assert!(found_itself * 2 > corpus.len(), "most passages are the best hit for their own words");
    assert!(!engine.identity().is_empty());
}
