//! What the small models learn from: examples made from published sets, each with a known label.
//!
//! [`verifier`] makes pairs of evidence and statement, [`reader`] makes questions with spans. Both are pure functions of
//! the [`Collection`](counterproof_datasets::Collection) and a seed: the same data gives the same examples in the same
//! order. What is kept for reports never becomes a training example, by claim and by question across all sets.

mod answers;
mod claims;
pub mod drafts;
mod general;
mod question_pairs;
mod questions;
pub mod reader;
mod search;
#[cfg(test)]
mod tests;
mod twins;
pub mod verifier;
mod windows;

use counterproof_datasets::Key;

use crate::examples::{Label, PairExample, Target};
use crate::random::{Random, mix};

/// Random numbers for one row: independent of the other rows, so that a row's examples stay when others come or go.
fn row_random(seed: u64, row: &str) -> Random {
    // FNV-1a: the standard library's hashers promise no stable value.
    let hash = row.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Random::new(mix(seed, hash))
}

/// A pair with a label of three.
fn pair(
    premise: impl Into<String>,
    hypothesis: impl Into<String>,
    label: Label,
    group: &Key,
    source: impl Into<String>,
) -> PairExample {
    PairExample {
        premise: premise.into(),
        hypothesis: hypothesis.into(),
        target: Target::Is(label),
        weight: 1.0,
        group: group.as_str().to_owned(),
        source: source.into(),
    }
}

/// One of `list`, or `None` of an empty one.
fn pick<'a, T>(random: &mut Random, list: &'a [T]) -> Option<&'a T> {
    list.get(random.below(list.len()))
}
