//! The best rows seen so far, and every row that ties with the last of them.
//!
//! Ties are kept because they are settled by passage id, which a row number does not tell; the caller settles them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) struct TopRows {
    k: usize,
    /// The `k` best scores.
    best: BinaryHeap<Reverse<u32>>,
    rows: Vec<(u32, u32)>,
    tidy_at: usize,
}

impl TopRows {
    /// Room for the best `k` rows (at least one).
    pub(crate) fn new(k: usize) -> Self {
        let k = k.max(1);
        let tidy_at = k.saturating_mul(4).max(1024);
        Self { k, best: BinaryHeap::with_capacity(k.min(1 << 16)), rows: Vec::new(), tidy_at }
    }

    /// The least score that still counts.
    pub(crate) fn threshold(&self) -> u32 {
        if self.best.len() < self.k { 1 } else { self.best.peek().map_or(1, |least| least.0) }
    }

    pub(crate) fn offer(&mut self, row: u32, score: u32) {
        if score < self.threshold() {
            return;
        }
        if self.best.len() < self.k {
            self.best.push(Reverse(score));
        } else if let Some(mut least) = self.best.peek_mut()
            && score > least.0
        {
            *least = Reverse(score);
        }
        self.rows.push((row, score));
        if self.rows.len() >= self.tidy_at {
            let threshold = self.threshold();
            self.rows.retain(|(_, score)| *score >= threshold);
            self.tidy_at = self.tidy_at.max(self.rows.len().saturating_mul(2));
        }
    }

    /// The rows and their scores, in no particular order.
    pub(crate) fn into_rows(mut self) -> Vec<(u32, u32)> {
        let threshold = self.threshold();
        self.rows.retain(|(_, score)| *score >= threshold);
        self.rows
    }
}
