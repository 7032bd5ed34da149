//! Cutting many sequences into batches that are computed together.

use counterproof_core::{Error, Result};
use rayon::prelude::*;

use crate::pool::Cancelled;
use crate::tokens::Sequence;

/// Tokens that are computed together: enough that reading the weights costs little beside the arithmetic, few enough
/// that the hidden states stay in the processor's cache.
const TOKENS_PER_BATCH: usize = 512;

/// A sequence and its place among all.
pub(crate) type Placed<'a> = (usize, &'a Sequence);

/// Cuts sequences into batches, longest first: those of a batch are alike in length, so that little is padded where a
/// graph needs padding, and the last batches to be computed are small ones.
pub(crate) fn batches(sequences: &[Sequence], threads: usize) -> Vec<Vec<Placed<'_>>> {
    let mut order: Vec<Placed<'_>> = sequences.iter().enumerate().collect();
    order.sort_by_key(|(_, sequence)| std::cmp::Reverse(sequence.len()));
    let tokens: usize = sequences.iter().map(Sequence::len).sum();
    let most = tokens.div_ceil(threads.max(1)).min(TOKENS_PER_BATCH);
    let mut batches: Vec<Vec<Placed<'_>>> = Vec::new();
    let mut room = 0;
    for (place, sequence) in order {
        match batches.last_mut() {
            Some(batch) if sequence.len() <= room => {
                batch.push((place, sequence));
                room -= sequence.len();
            }
            _ => {
                batches.push(vec![(place, sequence)]);
                room = most.saturating_sub(sequence.len());
            }
        }
    }
    batches
}

/// Computes something of each sequence, a batch at a time, and gives the results in the order of the sequences. Runs on
/// a thread of the pool; batches run at the same time if `together`.
pub(crate) fn compute<T: Send>(
    sequences: &[Sequence],
    threads: usize,
    together: bool,
    cancelled: &dyn Cancelled,
    of: impl Fn(&[&Sequence]) -> Result<Vec<T>> + Sync,
) -> Result<Vec<T>> {
    let batches = batches(sequences, threads);
    let compute = |placed: &Vec<Placed<'_>>| {
        if cancelled.cancelled() {
            return Err(Error::failed("encoding", "nobody waits for the result any more"));
        }
        let batch: Vec<&Sequence> = placed.iter().map(|&(_, sequence)| sequence).collect();
        let places = placed.iter().map(|&(place, _)| place);
        Ok(places.zip(of(&batch)?).collect::<Vec<_>>())
    };
    let results: Vec<Vec<(usize, T)>> = if together {
        batches.par_iter().map(compute).collect::<Result<_>>()?
    } else {
        batches.iter().map(compute).collect::<Result<_>>()?
    };
    let mut results: Vec<(usize, T)> = results.into_iter().flatten().collect();
    results.sort_by_key(|&(place, _)| place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}
