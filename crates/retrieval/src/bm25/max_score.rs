//! Scoring the postings of one segment: MaxScore (Turtle and Flood, 1995), a window of rows at a time.
//!
//! Terms are sorted by the most they can add. As soon as the best `k` rows are known to some extent, the terms that
//! together cannot lift a row over the threshold are not *essential*: a row that holds none but those need not be
//! looked at. The postings of the essential terms are added up, block by block, in a window of consecutive rows; only for
//! the rows that then still can win are the other terms, the frequent ones, looked up by skipping.

use tantivy::TERMINATED;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::BlockSegmentPostings;

use super::Bm25Params;
use super::top::TopRows;

/// Rows of a window. Its sums fit into the first-level cache.
const WINDOW: usize = 4096;

/// Term frequencies up to here have their scores in the table.
const TABLE_FREQUENCIES: usize = 8;

/// `tf / (tf + k1 * (1 - b + b * length / average))`, for small frequencies by length level.
pub(crate) struct ScoreTable {
    /// `k1 * (1 - b + b * length / average)` by length level.
    offsets: [f32; 256],
    /// By frequency (from 1) and length level.
    shares: Box<[[f32; 256]; TABLE_FREQUENCIES]>,
}

impl ScoreTable {
    pub(crate) fn new(params: Bm25Params, average: f64) -> Self {
        let mut offsets = [0f32; 256];
        for (level, offset) in (0u8..=255).zip(&mut offsets) {
            let length = FieldNormReader::id_to_fieldnorm(level) as f32 / average as f32;
            *offset = params.k1 * (1.0 - params.b + params.b * length);
        }
        let mut shares = Box::new([[0f32; 256]; TABLE_FREQUENCIES]);
        for (frequency, row) in (1u16..).zip(shares.iter_mut()) {
            let frequency = f32::from(frequency);
            for (share, offset) in row.iter_mut().zip(&offsets) {
                *share = frequency / (frequency + offset);
            }
        }
        Self { offsets, shares }
    }

    #[inline]
    pub(super) fn share(&self, frequency: u32, level: u8) -> f32 {
        match self.shares.get((frequency as usize).wrapping_sub(1)) {
            Some(row) => row.get(usize::from(level)).copied().unwrap_or(0.0),
            None => {
                let frequency = frequency as f32;
                let offset = self.offsets.get(usize::from(level)).copied().unwrap_or(0.0);
                if frequency > 0.0 { frequency / (frequency + offset) } else { 0.0 }
            }
        }
    }
}

/// What a term adds to a row, in units of the integer scores. Every row that holds the term gets at least one unit, so
/// that a row with a score is a row with a term.
#[inline]
pub(super) fn contribution(weight: f32, share: f32) -> u32 {
    (weight * share) as u32 + 1
}

/// A term of the query and where the reading of its postings stands.
pub(crate) struct Cursor {
    postings: BlockSegmentPostings,
    /// Place in the block.
    at: usize,
    /// Weight of the term, in units of the integer scores.
    weight: f32,
    /// The most that the term can add to a row.
    bound: u32,
}

impl Cursor {
    pub(crate) fn new(postings: BlockSegmentPostings, weight: f32) -> Self {
        Self { postings, at: 0, weight, bound: (weight as u32).saturating_add(1) }
    }

    fn row(&self) -> u32 {
        self.postings.docs().get(self.at).copied().unwrap_or(TERMINATED)
    }

    /// What the term adds to `row`; later calls must not ask for an earlier row.
    fn probe(&mut self, row: u32, lengths: &[u8], table: &ScoreTable) -> u32 {
        if self.row() < row {
            self.at = self.postings.seek(row);
        }
        if self.row() != row {
            return 0;
        }
        let frequency = self.postings.freqs().get(self.at).copied().unwrap_or(0);
        let level = lengths.get(row as usize).copied().unwrap_or(0);
        contribution(self.weight, table.share(frequency, level))
    }

    /// Adds the term to the sums of the rows from `first` up to the end of the window.
    fn add_window(&mut self, first: u32, sums: &mut [u32; WINDOW], lengths: &[u8], table: &ScoreTable) {
        let end = first.saturating_add(WINDOW as u32);
        if self.row() < first {
            self.at = self.postings.seek(first);
        }
        loop {
            let rows = self.postings.docs().get(self.at..).unwrap_or_default();
            if rows.is_empty() {
                return;
            }
            let inside = if rows.last().is_some_and(|last| *last < end) {
                rows.len()
            } else {
                rows.partition_point(|row| *row < end)
            };
            let frequencies = self.postings.freqs().get(self.at..).unwrap_or_default();
            for (row, frequency) in rows.iter().take(inside).zip(frequencies) {
                let level = lengths.get(*row as usize).copied().unwrap_or(0);
                if let Some(sum) = sums.get_mut(row.wrapping_sub(first) as usize) {
                    *sum += contribution(self.weight, table.share(*frequency, level));
                }
            }
            if inside < rows.len() {
                self.at += inside;
                return;
            }
            self.postings.advance();
            self.at = 0;
        }
    }
}

/// Offers every row that can be among the best to `top`. `accept` says whether a row counts, `first_row` is added
/// to its number.
pub(crate) fn collect(
    cursors: &mut [Cursor],
    lengths: &[u8],
    table: &ScoreTable,
    first_row: u32,
    accept: impl Fn(u32) -> bool,
    top: &mut TopRows,
) {
    cursors.sort_by_key(|cursor| cursor.bound);
    let mut sums = Box::new([0u32; WINDOW]);
    // Terms before this place are not essential; `unessential` is what they can add together.
    let mut essential = 0usize;
    let mut unessential = 0u32;
    loop {
        let threshold = top.threshold();
        while let Some(cursor) = cursors.get(essential) {
            let more = unessential.saturating_add(cursor.bound);
            if more >= threshold {
                break;
            }
            unessential = more;
            essential += 1;
        }
        let Some((frequent, rare)) = cursors.split_at_mut_checked(essential) else { return };
        let first = rare.iter().map(Cursor::row).min().unwrap_or(TERMINATED);
        if first == TERMINATED {
            return;
        }
        for cursor in rare.iter_mut() {
            if cursor.row() < first.saturating_add(WINDOW as u32) {
                cursor.add_window(first, &mut sums, lengths, table);
            }
        }
        for (row, sum) in (first..).zip(sums.iter_mut()) {
            if *sum == 0 {
                continue;
            }
            let mut score = std::mem::take(sum);
            let mut rest = unessential;
            if score.saturating_add(rest) < top.threshold() || !accept(row) {
                continue;
            }
            for cursor in frequent.iter_mut().rev() {
                if score.saturating_add(rest) < top.threshold() {
                    break;
                }
                rest = rest.saturating_sub(cursor.bound);
                score += cursor.probe(row, lengths, table);
            }
            top.offer(first_row.saturating_add(row), score);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_term_is_the_formula() {
        let params = Bm25Params { k1: 0.9, b: 0.4 };
        let table = ScoreTable::new(params, 20.0);
        for (frequency, level) in [(1u32, 10u8), (3, 40), (7, 0), (8, 255), (900, 30)] {
            let length = FieldNormReader::id_to_fieldnorm(level) as f32;
            let tf = frequency as f32;
            let expected = tf / (tf + 0.9 * (0.6 + 0.4 * length / 20.0));
            assert!((table.share(frequency, level) - expected).abs() < 1e-6, "{frequency} {level}");
        }
    }

    #[test]
    fn ties_with_the_last_place_are_kept() {
        let mut top = TopRows::new(2);
        for (row, score) in [(0, 5), (1, 9), (2, 5), (3, 1), (4, 5)] {
            top.offer(row, score);
        }
        let mut rows = top.into_rows();
        rows.sort_unstable();
        assert_eq!(rows, [(0, 5), (1, 9), (2, 5), (4, 5)]);
    }
}
