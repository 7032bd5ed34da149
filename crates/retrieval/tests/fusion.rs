//! Fusion is the formula of R2VC's specification, section 2.1, and nothing else.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;

use counterproof_retrieval::fusion::{Fused, FusionOptions, fuse};
use proptest::prelude::*;

fn options(alpha: f64) -> FusionOptions {
    FusionOptions { alpha, ..FusionOptions::default() }
}

fn order<'a>(fused: &[Fused<&'a str>]) -> Vec<&'a str> {
    fused.iter().map(|f| f.id).collect()
}

#[test]
fn the_example_of_the_specification() {
    let sparse = [("a", 10.0), ("b", 5.0), ("c", 0.0)];
    let dense = [("b", 0.9), ("d", 0.5)];
    let fused = fuse(&sparse, &dense, &options(0.5));
    assert_eq!(order(&fused), ["b", "a", "c", "d"]);
    let scores: Vec<f64> = fused.iter().map(|f| f.score).collect();
    for (score, expected) in scores.iter().zip([0.75, 0.5, 0.0, 0.0]) {
        assert!((score - expected).abs() < 1e-6, "{scores:?}");
    }
    assert_eq!((fused[3].sparse, fused[3].dense), (None, Some(0.5)), "raw scores are kept");
}

#[test]
fn alpha_one_is_the_sparse_order_and_alpha_zero_the_dense_one() {
    let sparse = [("a", 3.0), ("b", 2.0), ("c", 1.0)];
    let dense = [("c", 0.9), ("b", 0.8), ("a", 0.1)];
    assert_eq!(order(&fuse(&sparse, &dense, &options(1.0))), ["a", "b", "c"]);
    assert_eq!(order(&fuse(&sparse, &dense, &options(0.0))), ["c", "b", "a"]);
}

#[test]
fn a_list_of_equal_scores_counts_for_nothing() {
    let fused = fuse(&[("a", 7.0), ("b", 7.0)], &[("b", 0.9), ("c", 0.1)], &options(0.5));
    assert_eq!(order(&fused), ["b", "a", "c"]);
    assert_eq!((fused[0].sparse_normalised, fused[1].score), (0.0, 0.0));
}

#[test]
fn a_single_hit_counts_nothing_unless_it_is_said_to_count_one() {
    let (sparse, dense) = ([("a", 12.0)], [("b", 0.9), ("c", 0.5)]);
    assert_eq!(fuse(&sparse, &dense, &options(0.5)).iter().find(|f| f.id == "a").unwrap().score, 0.0);
    let one = FusionOptions { alpha: 0.5, single_hit_one: true };
    let fused = fuse(&sparse, &dense, &one);
    assert_eq!(fused.iter().find(|f| f.id == "a").unwrap().score, 0.5);
    assert_eq!(order(&fused), ["a", "b", "c"], "the tie of a and b goes to the higher sparse score");
}

#[test]
fn empty_lists() {
    assert!(fuse::<&str>(&[], &[], &options(0.5)).is_empty());
    assert_eq!(order(&fuse(&[], &[("b", 0.2), ("a", 0.9)], &options(0.5))), ["a", "b"]);
}

fn list() -> impl Strategy<Value = Vec<(u8, f64)>> {
    proptest::collection::hash_map(0u8..40, -1e6f64..1e6, 0..30).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn every_passage_has_the_score_of_the_formula(sparse in list(), dense in list(), alpha in 0.0f64..=1.0) {
        let normalised = |list: &[(u8, f64)]| -> HashMap<u8, f64> {
            let min = list.iter().map(|x| x.1).fold(f64::INFINITY, f64::min);
            let max = list.iter().map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
            list.iter().map(|(id, r)| (*id, (r - min) / (max - min + 1e-9))).collect()
        };
        let (s, d) = (normalised(&sparse), normalised(&dense));
        let fused = fuse(&sparse, &dense, &options(alpha));
        let ids: std::collections::HashSet<u8> = s.keys().chain(d.keys()).copied().collect();
        prop_assert_eq!(fused.len(), ids.len());
        for f in &fused {
            let get = |m: &HashMap<u8, f64>| m.get(&f.id).copied().unwrap_or(0.0);
            prop_assert!((f.score - (alpha * get(&s) + (1.0 - alpha) * get(&d))).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&f.score));
        }
        for pair in fused.windows(2) {
            let key = |f: &Fused<u8>| (f.score, f.sparse_normalised);
            prop_assert!(key(&pair[0]) >= key(&pair[1]));
            if key(&pair[0]) == key(&pair[1]) {
                prop_assert!(pair[0].id < pair[1].id);
            }
        }
    }

    #[test]
    fn the_order_of_the_lists_does_not_matter(sparse in list(), dense in list()) {
        let reversed = |list: &[(u8, f64)]| list.iter().rev().copied().collect::<Vec<_>>();
        prop_assert_eq!(
            fuse(&sparse, &dense, &options(0.3)),
            fuse(&reversed(&sparse), &reversed(&dense), &options(0.3))
        );
    }
}
