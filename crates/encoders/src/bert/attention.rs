//! Multi-head self-attention within one text (Vaswani et al., arXiv:1706.03762).

use std::ops::Range;

use counterproof_kernels::matrix::{Left, Panels, Product, Then};
use counterproof_kernels::softmax::softmax_rows;

use super::relative::{Positions, Room};

/// Queries whose scores are held at a time: they stay in the processor's cache however long the text is.
const QUERIES: usize = 48;

/// The arithmetic of attention and the room it needs.
pub(super) struct Attention {
    heads: usize,
    head_size: usize,
    keys: Panels,
    values: Panels,
    scores: Vec<f32>,
    by_position: Room,
}

impl Attention {
    pub(super) fn new(heads: usize, head_size: usize) -> Self {
        let (keys, values) = (Panels::empty(), Panels::empty());
        Self { heads, head_size, keys, values, scores: Vec::new(), by_position: Room::default() }
    }

    /// Lets the tokens `rows` look at each other: reads their queries, keys and values (`tokens x 3 hidden`, the
    /// queries scaled) and writes their contexts (`tokens x hidden`). With `positions` the scores are of content and of
    /// relative positions.
    pub(super) fn attend(
        &mut self,
        qkv: &[f32],
        context: &mut [f32],
        rows: Range<usize>,
        positions: Option<&Positions>,
    ) {
        let (size, length) = (self.head_size, rows.len());
        let hidden = self.heads * size;
        let stride = 3 * hidden;
        self.scores.resize(QUERIES.min(length) * length, 0.0);
        // The part of every token's numbers that starts at `offset`, up to the end of the data.
        let part = |row: usize, offset: usize| qkv.get(row * stride + offset..).unwrap_or_default();
        for head in 0..self.heads {
            let places = |which: usize| {
                let offset = which * hidden + head * size;
                rows.clone().map(move |row| part(row, offset).get(..size).unwrap_or_default())
            };
            self.keys.lay_columns(size, 1.0, places(1));
            self.values.lay_rows(size, 1.0, places(2));
            if let Some(positions) = positions {
                let both = [part(rows.start, head * size), part(rows.start, hidden + head * size)];
                positions.prepare(head, length, stride, both, &mut self.by_position);
            }
            for first in rows.clone().step_by(QUERIES) {
                let count = QUERIES.min(rows.end - first);
                Product {
                    x: Left::rows(part(first, head * size), stride, count),
                    panels: &self.keys,
                    bias: None,
                    out: &mut self.scores,
                    out_stride: length,
                    accumulate: false,
                    then: Then::Keep,
                }
                .run();
                if let Some(positions) = positions {
                    let queries = first - rows.start..first - rows.start + count;
                    positions.add(&mut self.scores, length, queries, &self.by_position);
                }
                softmax_rows(self.scores.get_mut(..count * length).unwrap_or_default(), length);
                Product {
                    x: Left::rows(&self.scores, length, count),
                    panels: &self.values,
                    bias: None,
                    out: context.get_mut(first * hidden + head * size..).unwrap_or_default(),
                    out_stride: hidden,
                    accumulate: false,
                    then: Then::Keep,
                }
                .run();
            }
        }
    }
}
