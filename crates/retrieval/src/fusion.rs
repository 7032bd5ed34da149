//! Joining a term-matching and an embedding search into one ranking.
//!
//! The scores of two engines live on scales of their own. Each list is therefore spread over 0 to 1 by its own least
//! and greatest score, and the two are added with a weight (R2VC, section 2.1 of its specification):
//!
//! ```text
//! r~(e) = (r(e) - min) / (max - min + eps)          over the list that the engine returned
//! fused(e) = alpha * r~sparse(e) + (1 - alpha) * r~dense(e)
//! ```
//!
//! A passage that one engine did not return has 0 there, and so has the last of each list: the formula does not tell
//! them apart, and neither does this code. For the same reason a list whose scores are all equal counts for nothing.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use tracing::debug;

/// Keeps the denominator above zero.
const EPSILON: f64 = 1e-9;

/// How two rankings are joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionOptions {
    /// The weight of the term-matching list, 0 to 1; the embedding list has the rest.
    pub alpha: f64,
    /// Whether the only hit of a list counts 1 there; by the formula it counts 0.
    pub single_hit_one: bool,
}

impl Default for FusionOptions {
    fn default() -> Self {
        Self { alpha: 0.5, single_hit_one: false }
    }
}

/// A passage in the joined ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused<Id> {
    /// The passage.
    pub id: Id,
    /// Its raw score in the term-matching list, if it is there.
    pub sparse: Option<f64>,
    /// Its raw score in the embedding list, if it is there.
    pub dense: Option<f64>,
    /// Its normalised score in the term-matching list; 0 when it is not there.
    pub sparse_normalised: f64,
    /// Its normalised score in the embedding list; 0 when it is not there.
    pub dense_normalised: f64,
    /// What ranks it.
    pub score: f64,
}

/// Joins two lists of `(id, raw score)`. The result is ordered by the fused score, then by the higher normalised
/// term-matching score, then by id. An id that a list holds twice counts with its first place.
pub fn fuse<Id>(sparse: &[(Id, f64)], dense: &[(Id, f64)], options: &FusionOptions) -> Vec<Fused<Id>>
where
    Id: Clone + Eq + Hash + Ord,
{
    let mut fused = fuse_by(sparse, dense, options, |a, b| a.cmp(b));
    fused.shrink_to_fit();
    fused
}

/// As [`fuse`], for ids whose order is not their own: `tie` orders the passages that both scores leave equal.
pub fn fuse_by<Id>(
    sparse: &[(Id, f64)],
    dense: &[(Id, f64)],
    options: &FusionOptions,
    mut tie: impl FnMut(&Id, &Id) -> Ordering,
) -> Vec<Fused<Id>>
where
    Id: Clone + Eq + Hash,
{
    let mut places: HashMap<Id, usize> = HashMap::with_capacity(sparse.len() + dense.len());
    let mut joined: Vec<Fused<Id>> = Vec::with_capacity(sparse.len() + dense.len());
    for (is_sparse, list) in [(true, sparse), (false, dense)] {
        let normalise = normaliser(list, options.single_hit_one, if is_sparse { "sparse" } else { "dense" });
        for (id, raw) in list {
            let place = *places.entry(id.clone()).or_insert_with(|| {
                joined.push(Fused {
                    id: id.clone(),
                    sparse: None,
                    dense: None,
                    sparse_normalised: 0.0,
                    dense_normalised: 0.0,
                    score: 0.0,
                });
                joined.len() - 1
            });
            let Some(entry) = joined.get_mut(place) else { continue };
            let (seen, normalised) = if is_sparse {
                (&mut entry.sparse, &mut entry.sparse_normalised)
            } else {
                (&mut entry.dense, &mut entry.dense_normalised)
            };
            if seen.is_none() {
                *seen = Some(*raw);
                *normalised = normalise(*raw);
            }
        }
    }
    for entry in &mut joined {
        entry.score =
            options.alpha * entry.sparse_normalised + (1.0 - options.alpha) * entry.dense_normalised;
    }
    joined.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| b.sparse_normalised.total_cmp(&a.sparse_normalised))
            .then_with(|| tie(&a.id, &b.id))
    });
    joined
}

fn normaliser<Id>(list: &[(Id, f64)], single_hit_one: bool, engine: &str) -> impl Fn(f64) -> f64 {
    let scores = || list.iter().map(|(_, score)| *score).filter(|s| s.is_finite());
    let least = scores().fold(f64::INFINITY, f64::min);
    let greatest = scores().fold(f64::NEG_INFINITY, f64::max);
    let alone = single_hit_one && list.len() == 1;
    if list.len() > 1 && least == greatest {
        debug!(engine, hits = list.len(), "all scores are equal, so this list does not count in the fusion");
    }
    move |score| {
        if alone {
            1.0
        } else if score.is_finite() {
            (score - least) / (greatest - least + EPSILON)
        } else {
            0.0
        }
    }
}
