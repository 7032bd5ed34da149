//! Attention of new tokens to the cached ones and to one another.

use rayon::prelude::*;

use super::config::{Config, Rope, RopePairs};
use crate::ops::{SharedOut, Strided, add_scaled, dot, gemm_f32, scale, softmax};

/// Rows of scores that are worked on at once; it bounds the memory for long contexts.
const ROWS: usize = 64;
/// Below this many rows the products are made one by one.
const GEMM_FROM: usize = 4;

/// Below this many multiplications one thread does it all: to wake another would take longer.
const PARALLEL_FROM: usize = 256 * 1024;

/// Tokens that follow the cached ones directly: rows `start..start + len` of the new ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Cosine and sine of each pair's angle for a run of positions.
pub(super) struct Turns {
    pairs: RopePairs,
    count: usize,
    values: Vec<(f32, f32)>,
}

impl Turns {
    pub(super) fn new(rope: &Rope, positions: impl Iterator<Item = usize>) -> Self {
        let values = positions
            .flat_map(|p| rope.frequencies.iter().map(move |f| (f64::from(*f) * p as f64).sin_cos()))
            .map(|(sin, cos)| (cos as f32, sin as f32))
            .collect();
        Self { pairs: rope.pairs, count: rope.frequencies.len(), values }
    }

    /// Turns the heads, each of `head_dim` numbers, of the vectors in `x`, one a position.
    pub(super) fn apply(&self, x: &mut [f32], width: usize, head_dim: usize) {
        for (vector, turns) in x.chunks_exact_mut(width).zip(self.values.chunks_exact(self.count)) {
            for head in vector.chunks_exact_mut(head_dim) {
                match self.pairs {
                    RopePairs::Neighbours => {
                        for (pair, (cos, sin)) in head.as_chunks_mut::<2>().0.iter_mut().zip(turns) {
                            let [a, b] = *pair;
                            *pair = [a * cos - b * sin, a * sin + b * cos];
                        }
                    }
                    RopePairs::Halves => {
                        let (first, second) = head.split_at_mut(self.count);
                        for ((a, b), (cos, sin)) in first.iter_mut().zip(second).zip(turns) {
                            (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                        }
                    }
                }
            }
        }
    }
}

/// Attention of the queries `q` (a vector of all heads for each new token) to `keys` and `values`, which hold the
/// `cached` tokens and after them the new ones. Each span sees the cached tokens and its own up to itself.
pub(super) fn attend(
    config: &Config,
    q: &[f32],
    keys: &[f32],
    values: &[f32],
    cached: usize,
    spans: &[Span],
    window: Option<usize>,
) -> Vec<f32> {
    let width = config.heads * config.head_dim;
    let mut result = vec![0f32; q.len()];
    let out = SharedOut::new(&mut result);
    let mut work = Vec::new();
    for span in spans {
        for first in (0..span.len).step_by(ROWS) {
            for head in 0..config.heads {
                work.push(Task { span: *span, first, rows: (span.len - first).min(ROWS), head });
            }
        }
    }
    let shared = Shared { config, q, keys, values, cached, window, width, out };
    let multiplications = q.len() * (cached + spans.iter().map(|s| s.len).max().unwrap_or(0));
    if multiplications < PARALLEL_FROM {
        let mut scores = Vec::new();
        work.into_iter().for_each(|task| shared.run(task, &mut scores));
    } else {
        work.into_par_iter().with_max_len(4).for_each_init(Vec::new, |scores, task| shared.run(task, scores));
    }
    result
}

#[derive(Clone, Copy)]
struct Task {
    span: Span,
    /// The first row within the span.
    first: usize,
    rows: usize,
    head: usize,
}

struct Shared<'a> {
    config: &'a Config,
    q: &'a [f32],
    keys: &'a [f32],
    values: &'a [f32],
    cached: usize,
    window: Option<usize>,
    width: usize,
    out: SharedOut<'a>,
}

impl Shared<'_> {
    /// The part of keys or values that a head looks at: `tokens` tokens from token `from` on.
    fn part<'b>(&self, all: &'b [f32], head: usize, from: usize, tokens: usize) -> Strided<'b> {
        let dim = self.config.head_dim;
        let kv_width = self.config.kv_width();
        let kv_head = head / (self.config.heads / self.config.kv_heads);
        let data = all.get(from * kv_width + kv_head * dim..).unwrap_or_default();
        Strided { data, rows: tokens, columns: dim, stride: kv_width }
    }

    fn run(&self, task: Task, scores: &mut Vec<f32>) {
        let dim = self.config.head_dim;
        let row = task.span.start + task.first;
        let at = row * self.width + task.head * dim;
        let queries = Strided {
            data: self.q.get(at..).unwrap_or_default(),
            rows: task.rows,
            columns: dim,
            stride: self.width,
        };
        // A windowed layer can leave out what no row of this task sees.
        let position = self.cached + task.first;
        let from = self.window.map_or(0, |w| (position + 1).saturating_sub(w)).min(self.cached);
        let before = self.cached - from;
        let own = task.first + task.rows;
        let parts = [(from, before, 0), (self.cached + task.span.start, own, before)];
        let total = before + own;
        scores.clear();
        scores.resize(task.rows * total, 0.0);
        for (start, tokens, column) in parts {
            let keys = self.part(self.keys, task.head, start, tokens);
            products(queries, keys, scores, column, total);
        }
        for (i, row) in scores.chunks_exact_mut(total).enumerate() {
            let seen = before + task.first + i + 1;
            let hidden = self.window.map_or(0, |w| (from + seen).saturating_sub(w)).saturating_sub(from);
            let (visible, future) = row.split_at_mut(seen.min(total));
            future.fill(0.0);
            let (past, visible) = visible.split_at_mut(hidden.min(seen));
            past.fill(0.0);
            scale(visible, self.config.attention_scale);
            softmax(visible);
        }
        for (start, tokens, column) in parts {
            let values = self.part(self.values, task.head, start, tokens);
            self.weighted_sums(scores, column, total, values, task.rows, at);
        }
    }

    /// Adds the values, weighted by `rows` rows of scores, to the result from `at` on.
    fn weighted_sums(
        &self,
        scores: &[f32],
        column: usize,
        total: usize,
        values: Strided<'_>,
        rows: usize,
        at: usize,
    ) {
        if values.rows == 0 {
            return;
        }
        if rows >= GEMM_FROM {
            let data = scores.get(column..).unwrap_or_default();
            let weights = Strided { data, rows, columns: values.rows, stride: total };
            // SAFETY: tasks have distinct rows or heads, so each number is written by one thread.
            unsafe { gemm_f32(weights, values, false, self.out, at, self.width, true) };
            return;
        }
        for (i, row) in scores.chunks_exact(total).enumerate() {
            // SAFETY: as above.
            let out = unsafe { self.out.span(at + i * self.width, self.config.head_dim) };
            for (weight, value) in
                row.iter().skip(column).zip(values.data.chunks(values.stride)).take(values.rows)
            {
                add_scaled(out, *weight, value.get(..values.columns).unwrap_or(value));
            }
        }
    }
}

/// The product of each query with each key, into columns `column..` of rows of length `total`.
fn products(queries: Strided<'_>, keys: Strided<'_>, scores: &mut [f32], column: usize, total: usize) {
    if keys.rows == 0 {
        return;
    }
    if queries.rows >= GEMM_FROM {
        let out = SharedOut::new(scores);
        // SAFETY: `scores` is this thread's alone.
        unsafe { gemm_f32(queries, keys, true, out, column, total, false) };
        return;
    }
    for (query, row) in queries.data.chunks(queries.stride).zip(scores.chunks_exact_mut(total)) {
        let query = query.get(..queries.columns).unwrap_or(query);
        for (score, key) in row.iter_mut().skip(column).zip(keys.data.chunks(keys.stride)).take(keys.rows) {
            *score = dot(query, key.get(..keys.columns).unwrap_or(key));
        }
    }
}
