//! Multi-head self-attention within one text (Vaswani et al., arXiv:1706.03762), forwards and backwards.

use std::ops::Range;

use counterproof_kernels::matrix::{Left, Panels, Product, Then};
use counterproof_kernels::softmax::{softmax_rows, softmax_rows_backward};

/// The arithmetic of attention and the room it needs.
#[derive(Debug, Default)]
pub(super) struct Attention {
    panels: Panels,
    scores: Vec<f32>,
}

/// The shape of an attention block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) count: usize,
    pub(super) size: usize,
}

impl Heads {
    fn hidden(self) -> usize {
        self.count * self.size
    }

    /// The rows `rows` of head `head` in `data`, whose rows hold `kinds` times the hidden size; `kind` is 0 for queries
    /// (or contexts), 1 for keys, 2 for values.
    fn rows<'a>(
        self,
        data: &'a [f32],
        kinds: usize,
        kind: usize,
        head: usize,
        rows: &Range<usize>,
    ) -> impl ExactSizeIterator<Item = &'a [f32]> + use<'a> {
        let (stride, offset) = (kinds * self.hidden(), kind * self.hidden() + head * self.size);
        let size = self.size;
        rows.clone().map(move |row| {
            let start = row * stride + offset;
            data.get(start..start + size).unwrap_or_default()
        })
    }

    /// Where the first number of these rows stands.
    fn start(self, kinds: usize, kind: usize, head: usize, rows: &Range<usize>) -> usize {
        rows.start * kinds * self.hidden() + kind * self.hidden() + head * self.size
    }

    /// What the scores are multiplied by.
    fn scale(self) -> f32 {
        1.0 / (self.size as f32).sqrt()
    }
}

impl Attention {
    /// Lets the tokens `rows` look at each other: reads their queries, keys and values (`tokens x 3 hidden`), keeps the
    /// shares that each token gives to each (`heads x rows x rows`) and writes the contexts (`tokens x hidden`).
    pub(super) fn forward(
        &mut self,
        heads: Heads,
        rows: Range<usize>,
        qkv: &[f32],
        shares: &mut [f32],
        context: &mut [f32],
    ) {
        let (length, hidden) = (rows.len(), heads.hidden());
        for (head, shares) in shares.chunks_exact_mut((length * length).max(1)).enumerate() {
            self.panels.lay_columns(heads.size, heads.scale(), heads.rows(qkv, 3, 1, head, &rows));
            let queries = qkv.get(heads.start(3, 0, head, &rows)..).unwrap_or_default();
            product(Left::rows(queries, 3 * hidden, length), &self.panels, shares, length);
            softmax_rows(shares, length);
            self.panels.lay_rows(heads.size, 1.0, heads.rows(qkv, 3, 2, head, &rows));
            let out = context.get_mut(heads.start(1, 0, head, &rows)..).unwrap_or_default();
            product(Left::rows(shares, length, length), &self.panels, out, hidden);
        }
    }

    /// From the gradients of the contexts, those of queries, keys and values.
    pub(super) fn backward(
        &mut self,
        heads: Heads,
        rows: Range<usize>,
        qkv: &[f32],
        shares: &[f32],
        d_context: &[f32],
        d_qkv: &mut [f32],
    ) {
        let (length, hidden) = (rows.len(), heads.hidden());
        self.scores.resize(length * length, 0.0);
        for (head, shares) in shares.chunks_exact((length * length).max(1)).enumerate() {
            let place = |kind| heads.start(3, kind, head, &rows)..;
            let contexts = d_context.get(heads.start(1, 0, head, &rows)..).unwrap_or_default();

            // Values: the shares, transposed, times the gradients of the contexts.
            self.panels.lay_rows(heads.size, 1.0, heads.rows(d_context, 1, 0, head, &rows));
            let out = d_qkv.get_mut(place(2)).unwrap_or_default();
            product(Left::columns(shares, length, length), &self.panels, out, 3 * hidden);

            // Scores.
            self.panels.lay_columns(heads.size, 1.0, heads.rows(qkv, 3, 2, head, &rows));
            product(Left::rows(contexts, hidden, length), &self.panels, &mut self.scores, length);
            softmax_rows_backward(shares, &mut self.scores, length);

            // Queries and keys.
            self.panels.lay_rows(heads.size, heads.scale(), heads.rows(qkv, 3, 1, head, &rows));
            let out = d_qkv.get_mut(place(0)).unwrap_or_default();
            product(Left::rows(&self.scores, length, length), &self.panels, out, 3 * hidden);
            self.panels.lay_rows(heads.size, heads.scale(), heads.rows(qkv, 3, 0, head, &rows));
            let out = d_qkv.get_mut(place(1)).unwrap_or_default();
            product(Left::columns(&self.scores, length, length), &self.panels, out, 3 * hidden);
        }
    }
}

/// `out = x * panels`, rows of `out` standing `stride` apart.
fn product(x: Left<'_>, panels: &Panels, out: &mut [f32], stride: usize) {
    Product { x, panels, bias: None, out, out_stride: stride, accumulate: false, then: Then::Keep }.run();
}
