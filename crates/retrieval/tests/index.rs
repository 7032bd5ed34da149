//! The index on disk: building, searching, changing.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{embedder, ids, observatory, passage};
use counterproof_core::{Hit, Limits, Passage, PassageId, Retriever};
use counterproof_retrieval::ListRetriever;
use counterproof_retrieval::index::{BuildReport, EmbeddedIndex, IndexBuilder, SearchOptions};
use proptest::prelude::*;

async fn build(dir: &Path, passages: Vec<Passage>) -> BuildReport {
    IndexBuilder::new(dir).embedder(embedder()).build_from(passages).await.unwrap()
}

fn open(dir: &Path) -> EmbeddedIndex {
    EmbeddedIndex::open(dir, Some(embedder())).unwrap()
}

async fn found(index: &EmbeddedIndex, query: &str) -> Vec<String> {
    let lexical = SearchOptions { alpha: 1.0, ..SearchOptions::default() };
    ids(&index.search_with(query, 10, &lexical).await.unwrap())
}

#[tokio::test]
async fn words_are_found_in_any_script_and_form() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let index = open(&dir);
    for (query, id) in [
        ("When did the OBSERVATORIES open?", "obs"),
        ("图书馆什么时候建的", "zh"),
        ("馆", "zh"),
        ("4523000", "num"),
        ("strassenbahn bruecke über die BRÜCKE", "de"),
        ("Strasse", "de"),
        ("Laboratory", "lab"),
    ] {
        assert_eq!(found(&index, query).await.first().map(String::as_str), Some(id), "{query}");
    }
    assert!(found(&index, "zzz qqq").await.is_empty());
}

#[tokio::test]
async fn an_index_survives_being_closed_with_every_field() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    let with_url = Passage { url: Some("http://x".into()), ..passage("u", "", "words \u{301} and 🦀") };
    build(&dir, vec![with_url.clone(), passage("v", "T", "other words")]).await;
    let index = open(&dir);
    assert_eq!(index.get(&PassageId::new("u")).unwrap(), Some(with_url));
    assert_eq!(index.get(&PassageId::new("w")).unwrap(), None);
    let info = index.info();
    assert_eq!((info.passages, info.deleted, info.segments, info.format), (2, 0, 1, 1));
    assert_eq!(info.embedder.unwrap().identity, embedder().identity());
    assert!(info.bytes > 500);
}

#[tokio::test]
async fn passages_that_are_there_already_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    let report = build(
        &dir,
        vec![
            passage("a", "T", "one"),
            passage("a", "T", "one"),
            passage("b", "T", "one"),
            passage("a", "T", "two"),
            passage("c", "U", "one"),
        ],
    )
    .await;
    assert_eq!((report.passages, report.duplicates, report.conflicts), (2, 2, 1));
    assert!(report.errors[0].problem.contains("id a is used twice"), "{:?}", report.errors);
    assert_eq!(open(&dir).get(&PassageId::new("a")).unwrap().unwrap().text, "one");
}

#[tokio::test]
async fn r27_few_passages_empty_passages_unknown_words() {
    let folder = tempfile::tempdir().unwrap();
    let two = folder.path().join("two");
    build(&two, vec![passage("a", "", "red fox"), passage("b", "", "red hen")]).await;
    let hits = open(&two).search("red", 10).await.unwrap();
    assert_eq!(hits.len(), 2, "k = 10 on two snippets gives two");

    for texts in [vec![], vec![""], vec!["", " ", "\u{3000}"]] {
        let dir = folder.path().join(format!("empty{}", texts.len()));
        let passages: Vec<Passage> =
            texts.iter().enumerate().map(|(i, text)| passage(&i.to_string(), "", text)).collect();
        let list = ListRetriever::new(passages.clone(), &Limits::default()).unwrap();
        assert!(list.search("anything", 10).await.unwrap().is_empty());
        IndexBuilder::new(&dir).build_from(passages).await.unwrap();
        let index = EmbeddedIndex::open(&dir, None).unwrap();
        assert!(index.search("anything", 10).await.unwrap().is_empty());
        assert_eq!(index.len(), texts.len() as u64);
    }
    assert!(found(&open(&two), "unicorn").await.is_empty(), "unknown words find nothing by BM25");
    assert!(open(&two).search("unicorn", 10).await.is_ok());
}

#[tokio::test]
async fn a_list_and_an_index_rank_alike() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    let passages: Vec<Passage> = (0..300)
        .map(|i| {
            passage(
                &format!("p{i:03}"),
                "",
                &format!("word{} common text number {} unique{i}", i % 7, i % 11),
            )
        })
        .collect();
    build(&dir, passages.clone()).await;
    let several = folder.path().join("several");
    IndexBuilder::new(&several).segment_rows(64).build_from(passages.clone()).await.unwrap();
    let list = ListRetriever::new(passages, &Limits::default()).unwrap();
    let (one, several) =
        (EmbeddedIndex::open(&dir, None).unwrap(), EmbeddedIndex::open(&several, None).unwrap());
    assert_eq!(several.info().segments, 5);
    for query in ["word3 number", "common", "word1 word2 text", "number number number word6"] {
        let expected = list.search(query, 40).await.unwrap();
        let scored =
            |hits: Vec<Hit>| hits.iter().map(|h| (h.passage.id.clone(), h.score)).collect::<Vec<_>>();
        assert_eq!(scored(one.search(query, 40).await.unwrap()), scored(expected.clone()), "{query}");
        assert_eq!(
            scored(several.search(query, 40).await.unwrap()),
            scored(expected),
            "{query}, in segments"
        );
    }
}

#[tokio::test]
async fn additions_and_deletions_are_found_at_once_and_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let mut index = open(&dir);
    let before = index.identity().to_owned();
    let content = index.info().content;

    let report = index
        .add(vec![
            passage("new", "Lighthouse", "The lighthouse was lit in 1901."),
            passage("obs", "Observatory", "Other words."),
            passage("lab", "Laboratory", "The laboratory opened in 1913. It burned down twice."),
        ])
        .await
        .unwrap();
    assert_eq!((report.added, report.duplicates, report.conflicts), (1, 1, vec![PassageId::new("obs")]));
    assert_ne!(index.identity(), before, "the identity changes with the content");
    assert_eq!(found(&index, "lighthouse").await, ["new"]);
    assert_eq!(index.search("lighthouse", 1).await.unwrap()[0].passage.id.as_str(), "new");

    assert_eq!(index.delete([&PassageId::new("new"), &PassageId::new("absent")]).unwrap(), 1);
    assert!(found(&index, "lighthouse").await.is_empty());
    assert_eq!(index.info().content, content, "the content is what it was");
    let hits = index.search("lighthouse", 50).await.unwrap();
    assert!(!ids(&hits).contains(&"new".to_owned()), "nor do the vectors find it");

    // An id can come back with other words.
    index.add(vec![passage("new", "Windmill", "The windmill turned until 1950.")]).await.unwrap();
    assert_eq!(found(&open(&dir), "windmill").await, ["new"]);
    assert_eq!(index.get(&PassageId::new("new")).unwrap().unwrap().title, "Windmill");
    index.delete([&PassageId::new("new")]).unwrap();
    assert!(found(&open(&dir), "windmill").await.is_empty());
    assert_eq!(index.delete([&PassageId::new("new")]).unwrap(), 0);

    index.compact().await.unwrap();
    assert_eq!((index.info().deleted, index.info().segments, index.len()), (0, 1, 6));
    assert_eq!(open(&dir).info().content, content);
    assert_eq!(found(&index, "observatory").await, ["obs"]);
}

#[tokio::test]
async fn many_small_additions_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let mut index = open(&dir);
    for i in 0..20 {
        index.add(vec![passage(&format!("n{i}"), "", &format!("item number {i} thing{i}"))]).await.unwrap();
    }
    assert_eq!(index.len(), 26);
    assert!(index.info().segments < 9, "{}", index.info().segments);
    for i in 0..20 {
        assert_eq!(found(&index, &format!("thing{i}")).await, [format!("n{i}")]);
    }
    let folders = std::fs::read_dir(dir.join("segments")).unwrap().count();
    assert_eq!(folders, index.info().segments, "nothing is left lying about");
}

#[tokio::test]
async fn two_handles_see_each_others_changes() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let (mut one, mut two) = (open(&dir), open(&dir));
    one.add(vec![passage("x", "", "xylophone")]).await.unwrap();
    assert!(found(&two, "xylophone").await.is_empty(), "an open index is what it was when it was opened");
    two.add(vec![passage("y", "", "yacht")]).await.unwrap();
    assert_eq!(found(&two, "xylophone").await, ["x"], "a writer builds on what others wrote");
    one.reload().unwrap();
    assert_eq!((found(&one, "yacht").await, one.len()), (vec!["y".to_owned()], 8));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn searches_run_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let index = Arc::new(open(&dir));
    let expected = index.search("opened in 1889", 5).await.unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let index = Arc::clone(&index);
            tokio::spawn(async move { index.search("opened in 1889", 5).await.unwrap() })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), expected);
    }
}

#[tokio::test]
async fn the_engine_itself_can_be_asked_with_a_vector() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let index = open(&dir);
    let query = "observatory opened on a hill";
    let vector = embedder().embed(&[query]).await.unwrap().remove(0);
    let options = SearchOptions::default();
    assert_eq!(
        index.search_with_vector(query, Some(&vector), 5, &options).unwrap(),
        index.search(query, 5).await.unwrap()
    );
    let hits = index.search_with_vector(query, None, 5, &options).unwrap();
    assert!(hits.iter().all(|h| h.dense.is_none() && h.sparse == Some(h.score)));
    assert!(index.search_with_vector(query, Some(&vector[1..]), 5, &options).is_err());
    let nan = vec![f32::NAN; 64];
    assert!(index.search_with_vector(query, Some(&nan), 5, &options).is_err());
}

#[tokio::test]
async fn options_are_checked_and_named_in_the_identity() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir, observatory()).await;
    let index = open(&dir);
    let other =
        index.clone().with_options(SearchOptions { k1: Some(1.2), ..SearchOptions::default() }).unwrap();
    assert_ne!(index.identity(), other.identity());
    assert_eq!(index.identity(), open(&dir).identity());
    for bad in [
        SearchOptions { alpha: 1.5, ..SearchOptions::default() },
        SearchOptions { alpha: f64::NAN, ..SearchOptions::default() },
    ] {
        assert_eq!(index.clone().with_options(bad).unwrap_err().code(), "invalid_input");
    }
    let bad = SearchOptions { b: Some(2.0), ..SearchOptions::default() };
    assert!(index.search_with("word", 5, &bad).await.is_err());
    assert!(index.search("word", 1_000_000).await.unwrap_err().to_string().contains("max_k"));
}

#[tokio::test]
async fn a_build_reads_sources_and_tells_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, source) = (folder.path().join("ix"), folder.path().join("c.jsonl"));
    let rows: String =
        (0..1000).map(|i| format!("{{\"id\": \"d{i}\", \"text\": \"row {i} of many\"}}\n")).collect();
    std::fs::write(&source, rows + "not json\n").unwrap();
    let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&calls);
    let report = IndexBuilder::new(&dir)
        .embedder(embedder())
        .on_progress(move |p| seen.lock().unwrap().push(*p))
        .build(&[source])
        .await
        .unwrap();
    assert_eq!((report.passages, report.read.documents, report.read.failed), (1000, 1000, 1));
    assert_eq!(report.errors[0].line, Some(1001));
    let calls = calls.lock().unwrap();
    assert!(calls.len() >= 4);
    let last = calls.last().unwrap();
    assert_eq!((last.passages, last.bytes_read), (1000, last.bytes_total));
    assert!(calls.windows(2).all(|w| w[0].passages < w[1].passages));
}

/// BM25 as it is written down, without any of the shortcuts.
fn bm25_by_hand(passages: &[Passage], query: &[u32], k1: f64, b: f64) -> Vec<(String, f64)> {
    let words: Vec<Vec<&str>> = passages.iter().map(|p| p.text.split(' ').collect()).collect();
    let n = words.len() as f64;
    let average = words.iter().map(Vec::len).sum::<usize>() as f64 / n;
    let mut scores: Vec<(String, f64)> = Vec::new();
    for (p, words) in passages.iter().zip(&words) {
        let mut score = 0.0;
        for term in query {
            let term = format!("w{term}");
            let tf = words.iter().filter(|w| **w == term).count() as f64;
            let df = passages.iter().filter(|p| p.text.split(' ').any(|w| w == term)).count() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            score += idf * tf / (tf + k1 * (1.0 - b + b * words_len(words.len()) / average));
        }
        if score > 0.0 {
            scores.push((p.id.to_string(), score));
        }
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    scores
}

/// Lengths up to 40 are stored exactly; the test uses no longer ones.
fn words_len(n: usize) -> f64 {
    assert!(n <= 40);
    n as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_ranking_is_bm25_whatever_is_skipped(
        docs in proptest::collection::vec(proptest::collection::vec(0u32..30, 1..40), 1..600),
        query in proptest::collection::vec(0u32..32, 1..8),
        k in 1usize..20,
        k1 in 0.1f32..2.0,
        b in 0.0f32..=1.0,
    ) {
        // Squaring makes some words frequent and others rare, so that the search has something to skip.
        let word = |n: &u32| format!("w{}", n * n / 30);
        let passages: Vec<Passage> = docs.iter().enumerate()
            .map(|(i, d)| passage(&format!("p{i:04}"), "", &d.iter().map(word).collect::<Vec<_>>().join(" ")))
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("ix");
        // Every passage is kept: those with the same words are told apart by their title, which has no word.
        let titled = passages.iter().enumerate()
            .map(|(i, p)| Passage { title: "-".repeat(i), ..p.clone() }).collect::<Vec<_>>();
        runtime.block_on(IndexBuilder::new(&dir).segment_rows(200).build_from(titled)).unwrap();
        let index = EmbeddedIndex::open(&dir, None).unwrap();
        let options = SearchOptions { k1: Some(k1), b: Some(b), n_sparse: k, ..SearchOptions::default() };
        let text = query.iter().map(|q| format!("w{q}")).collect::<Vec<_>>().join(" ");
        let hits = index.search_with_vector(&text, None, k, &options).unwrap();
        let expected = bm25_by_hand(&passages, &query, f64::from(k1), f64::from(b));
        prop_assert_eq!(hits.len(), expected.len().min(k));
        for (hit, (_, score)) in hits.iter().zip(&expected) {
            prop_assert!((hit.score.get() - score).abs() < 1e-5, "{} {}", hit.score.get(), score);
            let own = expected.iter().find(|(id, _)| *id == hit.passage.id.to_string()).unwrap().1;
            prop_assert!((hit.score.get() - own).abs() < 1e-5);
        }
    }
}
