//! Postings of a few passages in memory: for evidence that comes with a question, where setting up tantivy's writer
//! and its files would cost many times what the search does.
//!
//! Scores are those that an index on disk over the same passages gives: the same terms, length levels, weights and
//! integer sums.

use std::collections::HashMap;

use tantivy::fieldnorm::FieldNormReader;

use super::max_score::{ScoreTable, contribution};
use super::top::TopRows;
use super::{Bm25Params, TITLE_WEIGHT, Weighing};
use crate::analyzer::Analysis;

/// An inverted index that is built passage by passage.
#[derive(Default)]
pub(crate) struct MemoryPostings {
    /// By term, the rows that hold it, rising, and how often each does.
    postings: HashMap<String, Vec<(u32, u32)>>,
    /// Length of each row, as tantivy's one-byte level.
    lengths: Vec<u8>,
    terms_in_all: u64,
}

impl MemoryPostings {
    /// Adds the next row.
    pub(crate) fn add(&mut self, analysis: &mut Analysis, title: &str, text: &str) {
        let Ok(row) = u32::try_from(self.lengths.len()) else { return };
        let mut length = 0u32;
        for (part, times) in [(title, TITLE_WEIGHT as u32), (text, 1)] {
            analysis.each_term(part, |term| {
                length = length.saturating_add(times);
                let rows = match self.postings.get_mut(term) {
                    Some(rows) => rows,
                    None => self.postings.entry(term.to_owned()).or_default(),
                };
                match rows.last_mut() {
                    Some((last, frequency)) if *last == row => *frequency += times,
                    _ => rows.push((row, times)),
                }
            });
        }
        self.lengths.push(FieldNormReader::fieldnorm_to_id(length));
        self.terms_in_all += u64::from(length);
    }

    /// As [`search`](super::search).
    pub(crate) fn search(&self, query: &str, k: usize, params: Bm25Params) -> Vec<(u32, f64)> {
        let rows = self.lengths.len();
        if k == 0 || self.terms_in_all == 0 {
            return Vec::new();
        }
        let weighing = Weighing::of_query(query, rows as u64, |term| {
            Some(
                self.postings.get(term).filter(|rows| !rows.is_empty()).map(|rows| (rows.len() as u64, rows)),
            )
        });
        let Some(Weighing { scale, terms }) = weighing else { return Vec::new() };
        let table = ScoreTable::new(params, self.terms_in_all as f64 / rows as f64);
        let mut sums = vec![0u32; rows];
        for (weight, postings) in terms {
            for (row, frequency) in postings {
                let level = self.lengths.get(*row as usize).copied().unwrap_or(0);
                if let Some(sum) = sums.get_mut(*row as usize) {
                    *sum += contribution((weight * scale) as f32, table.share(*frequency, level));
                }
            }
        }
        let mut top = TopRows::new(k);
        for (row, sum) in (0u32..).zip(sums) {
            if sum > 0 {
                top.offer(row, sum);
            }
        }
        top.into_rows().into_iter().map(|(row, score)| (row, f64::from(score) / scale)).collect()
    }
}
