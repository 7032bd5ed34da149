//! The contract of [`Retriever`](counterproof_core::Retriever), held by every engine of this crate and by the
//! in-memory twin of the seam.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{embedder, keeps_the_contract, observatory};
use counterproof_core::{InMemoryRetriever, Limits};
use counterproof_retrieval::ListRetriever;
use counterproof_retrieval::index::{EmbeddedIndex, IndexBuilder, SearchMode, SearchOptions};

/// The index leaves out the second of two passages with the same words.
fn without_twin() -> Vec<counterproof_core::Passage> {
    observatory().into_iter().filter(|p| p.id.as_str() != "twin-a").collect()
}

#[tokio::test]
async fn the_twin_of_the_seam() {
    keeps_the_contract(&InMemoryRetriever::new(observatory()), &observatory()).await;
}

#[tokio::test]
async fn a_list_of_passages() {
    let list = ListRetriever::new(observatory(), &Limits::default()).unwrap();
    keeps_the_contract(&list, &observatory()).await;
}

#[tokio::test]
async fn an_index_without_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    IndexBuilder::new(&dir).build_from(observatory()).await.unwrap();
    let index = EmbeddedIndex::open(&dir, None).unwrap();
    assert_eq!(index.mode(), SearchMode::SparseWithoutVectors);
    assert!(index.mode().note().unwrap().contains("without an embedder"));
    keeps_the_contract(&index, &without_twin()).await;
}

#[tokio::test]
async fn an_index_with_vectors_in_every_mode() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    // Two rows a segment: what holds for one segment holds for several.
    IndexBuilder::new(&dir).embedder(embedder()).segment_rows(2).build_from(observatory()).await.unwrap();
    let index = EmbeddedIndex::open(&dir, Some(embedder())).unwrap();
    assert_eq!(index.info().segments, 3);
    for (alpha, mode) in [
        (0.5, SearchMode::Hybrid),
        (0.9, SearchMode::Hybrid),
        (0.0, SearchMode::DenseByChoice),
        (1.0, SearchMode::SparseByChoice),
    ] {
        let index = index.clone().with_options(SearchOptions { alpha, ..SearchOptions::default() }).unwrap();
        assert_eq!(index.mode(), mode);
        keeps_the_contract(&index, &without_twin()).await;
    }
    let without_embedder = EmbeddedIndex::open(&dir, None).unwrap();
    assert_eq!(without_embedder.mode(), SearchMode::SparseWithoutEmbedder);
    keeps_the_contract(&without_embedder, &without_twin()).await;
}
