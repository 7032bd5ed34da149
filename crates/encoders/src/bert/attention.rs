//! Multi-head self-attention within one text (Vaswani et al., arXiv:1706.03762).

use std::ops::Range;

use rten_simd::SimdOp;
use rten_vecmath::Softmax;

use super::kernel::{Identity, Panels, Product, Rows};

/// Queries whose scores are held at a time: they stay in the processor's cache however long the text is.
const QUERIES: usize = 48;

/// The arithmetic of attention and the room it needs.
pub(super) struct Attention {
    heads: usize,
    head_size: usize,
    keys: Panels,
    values: Panels,
    scores: Vec<f32>,
}

impl Attention {
    pub(super) fn new(heads: usize, head_size: usize) -> Self {
        let (keys, values) = (Panels::default(), Panels::default());
        Self { heads, head_size, keys, values, scores: Vec::new() }
    }

    /// Lets the tokens `rows` look at each other: reads their queries, keys and values (`tokens x 3 hidden`, the
    /// queries scaled) and writes their contexts (`tokens x hidden`).
    pub(super) fn attend(&mut self, qkv: &[f32], context: &mut [f32], rows: Range<usize>) {
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
            self.keys.lay_columns(size, places(1));
            self.values.lay_rows(size, places(2));
            for first in rows.clone().step_by(QUERIES) {
                let count = QUERIES.min(rows.end - first);
                Product {
                    x: Rows { data: part(first, head * size), stride, count },
                    panels: &self.keys,
                    bias: None,
                    out: &mut self.scores,
                    out_stride: length,
                    accumulate: false,
                    f: Identity,
                }
                .dispatch();
                for scores in self.scores.chunks_exact_mut(length).take(count) {
                    Softmax::new_mut(scores).dispatch();
                }
                Product {
                    x: Rows { data: &self.scores, stride: length, count },
                    panels: &self.values,
                    bias: None,
                    out: context.get_mut(first * hidden + head * size..).unwrap_or_default(),
                    out_stride: hidden,
                    accumulate: false,
                    f: Identity,
                }
                .dispatch();
            }
        }
    }
}
