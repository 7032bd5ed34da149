//! Matrices that lie quantised in the memory map of the file, and products with them.
//!
//! A product with few vectors reads each row of weights once: the row is made into plain numbers in the first-level
//! cache and multiplied with every vector. A product with many vectors makes plain numbers of a tile of rows that fits
//! the second-level cache and gives it to a matrix multiplication, so that the work of unpacking is shared by all
//! vectors. Neither holds more plain weights than a tile a thread.

use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;
use rayon::prelude::*;

use super::quant::{Quantization, dequantize};
use super::simd::SharedOut;
use super::vector::dot;

/// From this many vectors on, a tile goes to the matrix multiplication. Measured with Qwen2.5 0.5B (AVX2).
const TILE_FROM: usize = 6;
/// Plain numbers in a tile: 256 KiB.
const TILE_ELEMENTS: usize = 64 * 1024;
/// Weights in a piece of work for one thread when there are few vectors.
const PIECE_ELEMENTS: usize = 64 * 1024;

/// Below this many multiplications the work is done at once: to wake another thread would take longer.
const PARALLEL_FROM: usize = 256 * 1024;

/// A matrix in the file.
#[derive(Clone)]
pub(crate) struct Matrix {
    map: Arc<Mmap>,
    range: Range<usize>,
    quantization: Quantization,
    rows: usize,
    columns: usize,
    row_bytes: usize,
}

impl Matrix {
    /// The matrix in the bytes `range` of the map, which hold `rows` times `columns` numbers.
    pub(crate) fn new(
        map: Arc<Mmap>,
        range: Range<usize>,
        quantization: Quantization,
        rows: usize,
        columns: usize,
    ) -> Self {
        let row_bytes = columns / quantization.block_elements() * quantization.block_bytes();
        Self { map, range, quantization, rows, columns, row_bytes }
    }

    /// Rows `rows` as plain numbers.
    fn read(&self, rows: Range<usize>, out: &mut [f32]) {
        let start = self.range.start + rows.start * self.row_bytes;
        let end = self.range.start + rows.end * self.row_bytes;
        dequantize(self.quantization, self.map.get(start..end).unwrap_or_default(), out);
    }

    /// Row `row` as plain numbers.
    pub(crate) fn row(&self, row: usize, out: &mut [f32]) {
        self.read(row..row + 1, out);
    }
}

/// The products of several matrices with the same `count` vectors, `x`, one after the other in memory. For each matrix,
/// `count` vectors of as many numbers as it has rows. Runs on the threads of the rayon pool it is called in.
pub(crate) fn multiply<const N: usize>(matrices: [&Matrix; N], x: &[f32], count: usize) -> [Vec<f32>; N] {
    let mut results = matrices.map(|m| vec![0f32; m.rows * count]);
    let few = count < TILE_FROM;
    let mut pieces = Vec::new();
    for (matrix, result) in matrices.iter().zip(&mut results) {
        let elements = if few { PIECE_ELEMENTS } else { TILE_ELEMENTS };
        let step = (elements / matrix.columns.max(1)).clamp(8, 256);
        let out = SharedOut::new(result);
        for start in (0..matrix.rows).step_by(step) {
            pieces.push((*matrix, out, start..matrix.rows.min(start + step)));
        }
    }
    let run = |scratch: &mut Vec<f32>, (matrix, out, rows): (&Matrix, SharedOut<'_>, Range<usize>)| {
        if few {
            multiply_few(matrix, x, count, out, rows, scratch);
        } else {
            multiply_many(matrix, x, count, out, rows, scratch);
        }
    };
    let work: usize = matrices.iter().map(|m| m.rows * m.columns * count).sum();
    if work < PARALLEL_FROM {
        let mut scratch = Vec::new();
        pieces.into_iter().for_each(|piece| run(&mut scratch, piece));
    } else {
        pieces.into_par_iter().with_max_len(1).for_each_init(Vec::new, run);
    }
    results
}

fn multiply_few(
    matrix: &Matrix,
    x: &[f32],
    count: usize,
    out: SharedOut<'_>,
    rows: Range<usize>,
    scratch: &mut Vec<f32>,
) {
    scratch.resize(matrix.columns, 0.0);
    for row in rows {
        matrix.row(row, scratch);
        for (i, x) in x.chunks_exact(matrix.columns).take(count).enumerate() {
            // SAFETY: pieces of work have distinct rows, so each number is written by one thread.
            if let [o] = unsafe { out.span(i * matrix.rows + row, 1) } {
                *o = dot(scratch, x);
            }
        }
    }
}

fn multiply_many(
    matrix: &Matrix,
    x: &[f32],
    count: usize,
    out: SharedOut<'_>,
    rows: Range<usize>,
    scratch: &mut Vec<f32>,
) {
    scratch.resize(matrix.columns * rows.len(), 0.0);
    matrix.read(rows.clone(), scratch);
    let weights =
        Strided { data: scratch, rows: rows.len(), columns: matrix.columns, stride: matrix.columns };
    let vectors = Strided { data: x, rows: count, columns: matrix.columns, stride: matrix.columns };
    // SAFETY: pieces of work have distinct rows of the matrix, which are distinct columns of the result.
    unsafe { gemm_f32(vectors, weights, true, out, rows.start, matrix.rows, false) };
}

/// A view of numbers as a matrix: row `i` begins at `i * stride`.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) stride: usize,
}

impl Strided<'_> {
    fn fits(&self) -> bool {
        self.rows == 0 || self.columns == 0 || (self.rows - 1) * self.stride + self.columns <= self.data.len()
    }
}

/// `a * b`, or `a * b` with `b` transposed, into the matrix whose row `i` begins at `at + i * stride` of `out`; added
/// to what is there when `accumulate` is set. One thread.
///
/// # Safety
/// No other thread may use the numbers of that matrix at the same time.
pub(crate) unsafe fn gemm_f32(
    a: Strided<'_>,
    b: Strided<'_>,
    transpose_b: bool,
    out: SharedOut<'_>,
    at: usize,
    stride: usize,
    accumulate: bool,
) {
    let (m, k) = (a.rows, a.columns);
    let (b_k, n) = if transpose_b { (b.columns, b.rows) } else { (b.rows, b.columns) };
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.fits() && b.fits() && k == b_k, "matrices do not fit: {m} x {k} and {b_k} x {n}");
    let (b_column, b_row) = if transpose_b { (b.stride, 1) } else { (1, b.stride) };
    let target = out.pointer(at, (m - 1) * stride + n);
    // SAFETY: `a` and `b` lie within their slices by `fits`, the result lies within `out` by the check in `pointer`,
    // and by this function's contract nobody else uses it meanwhile.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            target,
            1,
            stride as isize,
            accumulate,
            a.data.as_ptr(),
            1,
            a.stride as isize,
            b.data.as_ptr(),
            b_column as isize,
            b_row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
