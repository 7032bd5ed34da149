//! Multi-head self-attention within one text.

use std::ops::Range;

use counterproof_core::{Error, Result};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::SimdOp;
use rten_tensor::Matrix;
use rten_vecmath::Softmax;

/// The arithmetic of attention and the room it needs.
pub(crate) struct Attention {
    gemm: GemmExecutor,
    heads: usize,
    head_size: usize,
    scores: Vec<f32>,
    values: Vec<f32>,
}

impl Attention {
    pub(crate) fn new(heads: usize, head_size: usize) -> Self {
        Self { gemm: GemmExecutor::new(), heads, head_size, scores: Vec::new(), values: Vec::new() }
    }

    /// Lets the tokens `rows` look at each other: reads their queries, keys and values (`tokens x 3 hidden`, the
    /// queries scaled) and writes their contexts (`tokens x hidden`).
    pub(crate) fn attend(&mut self, qkv: &[f32], context: &mut [f32], rows: Range<usize>) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| Error::failed("attending", error);
        let (hidden, size, length) = (self.heads * self.head_size, self.head_size, rows.len());
        if length == 0 {
            return Ok(());
        }
        self.scores.resize(length * length, 0.0);
        self.values.resize(length * size, 0.0);
        let strides = [3 * hidden, 1];
        for head in 0..self.heads {
            let part = |which: usize| {
                let start = rows.start * 3 * hidden + which * hidden + head * size;
                let data = qkv.get(start..start + (length - 1) * 3 * hidden + size).unwrap_or_default();
                Matrix::from_data_with_strides([length, size], data, strides).map_err(|e| failed(&e))
            };
            let (query, key, value) = (part(0)?, part(1)?, part(2)?);
            self.gemm
                .gemm(
                    &mut self.scores,
                    GemmInputA::Unpacked(query),
                    GemmInputB::Unpacked(key.transposed()),
                    GemmOptions::default(),
                )
                .map_err(|e| failed(&e))?;
            for row in self.scores.chunks_exact_mut(length) {
                Softmax::new_mut(row).dispatch();
            }
            let scores = Matrix::from_data([length, length], self.scores.as_slice());
            self.gemm
                .gemm(
                    &mut self.values,
                    GemmInputA::Unpacked(scores),
                    GemmInputB::Unpacked(value),
                    GemmOptions::default(),
                )
                .map_err(|e| failed(&e))?;
            let out = context.chunks_exact_mut(hidden).skip(rows.start);
            for (out, values) in out.zip(self.values.chunks_exact(size)) {
                if let Some(out) = out.get_mut(head * size..(head + 1) * size) {
                    out.copy_from_slice(values);
                }
            }
        }
        Ok(())
    }
}
