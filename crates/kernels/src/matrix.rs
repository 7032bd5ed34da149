//! Matrix products whose right side has been laid out for the kernel.
//!
//! The products of an encoder are followed at once by a bias, a residual and a non-linearity. A kernel for exactly that
//! keeps its sums in registers over the whole depth and finishes each number before it is first stored. The layout
//! follows Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34(3), 2008). The left
//! side may be read as its transpose, which is what the gradient of a weight needs.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_vecmath::{ApproxGelu, Gelu};

use crate::wide;

/// Rows of a tile: with two vectors a row its sums fill twelve of the sixteen registers that AVX2 has.
const TILE_ROWS: usize = 6;

/// Rows of the left side that are swept before the next panel: their numbers stay in the second-level cache.
const BLOCK_ROWS: usize = 16 * TILE_ROWS;

/// Steps along the depth that are written out one after another.
const UNROLLED: usize = 4;

/// The columns of a panel on this processor: two vectors.
pub fn panel_columns() -> usize {
    struct Columns;
    impl SimdOp for Columns {
        type Output = usize;
        #[inline(always)]
        fn eval<I: Isa>(self, isa: I) -> usize {
            2 * isa.f32().len()
        }
    }
    Columns.dispatch()
}

/// Numbers in a cache line.
const LINE: usize = 16;

/// The right side of a product, `depth x columns`, as panels of [`panel_columns`] columns: a panel's numbers stand
/// row after row. The last panel is filled up with zeros.
#[derive(Debug, Clone, Default)]
pub struct Panels {
    /// The panels, after as many unused numbers as bring them to the start of a cache line.
    data: Vec<f32>,
    unused: usize,
    depth: usize,
    columns: usize,
}

impl Panels {
    /// No matrix yet: room is made when one is laid out.
    pub const fn empty() -> Self {
        Self { data: Vec::new(), unused: 0, depth: 0, columns: 0 }
    }

    /// Lays out the matrix whose column `c` is `scale * column(c)`, each with `depth` numbers.
    pub fn lay_columns<'a>(
        &mut self,
        depth: usize,
        scale: f32,
        columns: impl ExactSizeIterator<Item = &'a [f32]>,
    ) {
        let width = self.reset(depth, columns.len());
        for (c, column) in columns.enumerate() {
            let start = c / width * width * depth;
            let panel = self.numbers_mut().get_mut(start..).unwrap_or_default();
            for (place, x) in panel.iter_mut().skip(c % width).step_by(width).zip(column.iter().take(depth)) {
                *place = scale * x;
            }
        }
    }

    /// Lays out the transpose of the `rows x depth` matrix that stands row after row in `matrix`: the right side of
    /// `x * W^T`.
    pub fn lay_transposed(&mut self, matrix: &[f32], depth: usize) {
        let rows = matrix.len() / depth.max(1);
        let width = self.reset(depth, rows);
        let strips = matrix.chunks(width * depth.max(1));
        for (panel, strip) in self.numbers_mut().chunks_exact_mut((width * depth).max(1)).zip(strips) {
            for (c, row) in strip.chunks_exact(depth.max(1)).enumerate() {
                for (place, x) in panel.iter_mut().skip(c).step_by(width).zip(row) {
                    *place = *x;
                }
            }
        }
    }

    /// Lays out the matrix with these rows, each with `columns` numbers, times `scale`.
    pub fn lay_rows<'a>(
        &mut self,
        columns: usize,
        scale: f32,
        rows: impl ExactSizeIterator<Item = &'a [f32]>,
    ) {
        let depth = rows.len();
        let width = self.reset(depth, columns);
        let numbers = self.numbers_mut();
        wide(
            #[inline(always)]
            || {
                for (r, mut row) in rows.enumerate() {
                    let mut at = r * width;
                    while !row.is_empty() {
                        let (part, rest) = row.split_at(width.min(row.len()));
                        let place = numbers.get_mut(at..at + part.len()).unwrap_or_default();
                        for (place, x) in place.iter_mut().zip(part) {
                            *place = scale * x;
                        }
                        row = rest;
                        at += width * depth;
                    }
                }
            },
        );
    }

    /// Makes room for a matrix, whose every number has to be set afterwards.
    fn reset(&mut self, depth: usize, columns: usize) -> usize {
        let width = panel_columns();
        let count = columns.div_ceil(width) * width * depth;
        self.data.resize(count + LINE, 0.0);
        self.unused = self.data.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
        self.data.truncate(self.unused + count);
        (self.depth, self.columns) = (depth, columns);
        // What was there before is overwritten by the columns that are real.
        if !columns.is_multiple_of(width) {
            let last = columns / width * width * depth;
            self.numbers_mut().get_mut(last..).unwrap_or_default().fill(0.0);
        }
        width
    }

    fn numbers(&self) -> &[f32] {
        self.data.get(self.unused..).unwrap_or_default()
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        self.data.get_mut(self.unused..).unwrap_or_default()
    }

    /// Columns of the matrix, those that fill up the last panel not counted.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows of the matrix: numbers that each sum runs over.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

/// The left side of a product.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    data: &'a [f32],
    stride: usize,
    rows: usize,
    transposed: bool,
}

impl<'a> Left<'a> {
    /// `count` rows that stand `stride` apart in `data`, from its start.
    pub fn rows(data: &'a [f32], stride: usize, count: usize) -> Self {
        Self { data, stride, rows: count, transposed: false }
    }

    /// The transpose of rows that stand `stride` apart in `data`, from its start: its rows are the first `count`
    /// columns of `data`.
    pub fn columns(data: &'a [f32], stride: usize, count: usize) -> Self {
        Self { data, stride, rows: count, transposed: true }
    }
}

/// What is done to each number of a product before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Keep,
    /// `x * Phi(x)` with the Gaussian distribution function.
    Gelu,
    /// GELU approximated by a hyperbolic tangent.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
}

/// `out = then(x * panels + bias [+ out])`.
pub struct Product<'a> {
    /// The left side.
    pub x: Left<'a>,
    /// The right side; its depth is the left side's.
    pub panels: &'a Panels,
    /// One number a column, filled up to whole panels as [`padded`] does; none adds nothing.
    pub bias: Option<&'a [f32]>,
    /// Takes the result.
    pub out: &'a mut [f32],
    /// How far apart the rows of `out` stand.
    pub out_stride: usize,
    /// Whether what stands in `out` is added.
    pub accumulate: bool,
    /// What is done to each number at the end.
    pub then: Then,
}

impl Product<'_> {
    /// Computes the product on this thread.
    ///
    /// # Panics
    /// If a slice is too short for the shapes that are given with it.
    pub fn run(self) {
        match (self.x.transposed, self.then) {
            (false, Then::Keep) => Run::<_, false> { product: self, f: Identity }.dispatch(),
            (false, Then::Gelu) => Run::<_, false> { product: self, f: Gelu {} }.dispatch(),
            (false, Then::GeluTanh) => Run::<_, false> { product: self, f: ApproxGelu {} }.dispatch(),
            (false, Then::Relu) => Run::<_, false> { product: self, f: Relu }.dispatch(),
            (true, Then::Keep) => Run::<_, true> { product: self, f: Identity }.dispatch(),
            (true, Then::Gelu) => Run::<_, true> { product: self, f: Gelu {} }.dispatch(),
            (true, Then::GeluTanh) => Run::<_, true> { product: self, f: ApproxGelu {} }.dispatch(),
            (true, Then::Relu) => Run::<_, true> { product: self, f: Relu }.dispatch(),
        }
    }
}

/// `bias` with zeros up to a whole number of panels.
pub fn padded(mut bias: Vec<f32>) -> Vec<f32> {
    bias.resize(bias.len().next_multiple_of(panel_columns()), 0.0);
    bias
}

/// Leaves numbers as they are.
struct Identity;

impl SimdUnaryOp<f32> for Identity {
    #[inline(always)]
    fn eval<I: Isa>(&self, _: I, x: I::F32) -> I::F32 {
        x
    }
}

/// `max(x, 0)`.
struct Relu;

impl SimdUnaryOp<f32> for Relu {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        ops.max(x, ops.zero())
    }
}

/// A product whose last step and whose left side's order are known when it is compiled.
struct Run<'a, F, const TRANSPOSED: bool> {
    product: Product<'a>,
    f: F,
}

impl<F: SimdUnaryOp<f32>, const TRANSPOSED: bool> SimdOp for Run<'_, F, TRANSPOSED> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Self { product: Product { x, panels, bias, out, out_stride, accumulate, .. }, f } = self;
        let (depth, columns, rows) = (panels.depth, panels.columns, x.rows);
        if rows == 0 || columns == 0 {
            return;
        }
        let width = 2 * isa.f32().len();
        // These bounds make every pointer below fall inside its slice.
        if TRANSPOSED {
            assert!(depth == 0 || (depth - 1) * x.stride + rows <= x.data.len());
        } else {
            assert!((rows - 1) * x.stride + depth <= x.data.len());
        }
        assert!((rows - 1) * out_stride + columns <= out.len());
        assert!(columns <= out_stride || rows == 1);
        let numbers = panels.numbers();
        assert_eq!(numbers.len(), columns.div_ceil(width) * width * depth);
        assert!(bias.is_none_or(|bias| bias.len() == columns.div_ceil(width) * width));
        let first_of = |row: usize| if TRANSPOSED { row } else { row * x.stride };

        for first in (0..rows).step_by(BLOCK_ROWS) {
            let end = (first + BLOCK_ROWS).min(rows);
            for (p, column) in (0..columns).step_by(width).enumerate() {
                for row in (first..end).step_by(TILE_ROWS) {
                    // SAFETY: `row < rows`, `column < columns` and `p` counts the panels, so by the assertions above
                    // all four offsets are inside their slices.
                    let tile = unsafe {
                        Tile {
                            x: x.data.as_ptr().wrapping_add(first_of(row)),
                            x_stride: x.stride,
                            panel: numbers.as_ptr().add(p * width * depth),
                            depth,
                            bias: bias.map(|bias| bias.as_ptr().add(column)),
                            out: out.as_mut_ptr().add(row * out_stride + column),
                            out_stride,
                            columns: (columns - column).min(width),
                            accumulate,
                        }
                    };
                    // SAFETY: the tile takes `end - row` rows, at most six, all before `rows`; see `Tile::run`.
                    unsafe {
                        match end - row {
                            1 => tile.run::<I, F, TRANSPOSED, 1>(isa, &f),
                            2 => tile.run::<I, F, TRANSPOSED, 2>(isa, &f),
                            3 => tile.run::<I, F, TRANSPOSED, 3>(isa, &f),
                            4 => tile.run::<I, F, TRANSPOSED, 4>(isa, &f),
                            5 => tile.run::<I, F, TRANSPOSED, 5>(isa, &f),
                            _ => tile.run::<I, F, TRANSPOSED, TILE_ROWS>(isa, &f),
                        }
                    }
                }
            }
        }
    }
}

/// A few rows by one panel.
struct Tile {
    x: *const f32,
    x_stride: usize,
    panel: *const f32,
    depth: usize,
    bias: Option<*const f32>,
    out: *mut f32,
    out_stride: usize,
    /// Columns of the panel that are real: all but in the last panel.
    columns: usize,
    accumulate: bool,
}

impl Tile {
    /// Computes `ROWS` rows.
    ///
    /// # Safety
    /// With `width` two vectors: `x` has `ROWS` rows of `depth` numbers, `x_stride` apart, or where it is
    /// transposed `depth` rows of `ROWS` numbers; `panel` has
    /// `depth * width` numbers; `bias`, if given, has `width`; `out` has `ROWS` rows of `columns <= width` numbers,
    /// `out_stride` apart, that nobody else looks at.
    #[inline(always)]
    unsafe fn run<I: Isa, F: SimdUnaryOp<f32>, const TRANSPOSED: bool, const ROWS: usize>(
        &self,
        isa: I,
        f: &F,
    ) {
        let ops = isa.f32();
        let lanes = ops.len();
        let mut sums = [[ops.zero(); 2]; ROWS];
        // The left side by two pointers, three rows apart: all of a step's addresses are then a pointer, a multiple of the
        // stride that an instruction can hold, and a constant, so that nothing but arithmetic is left to do.
        let (apart, forward) = if TRANSPOSED { (3, self.x_stride) } else { (3 * self.x_stride, 1) };
        let mut x = [self.x, self.x.wrapping_add(apart)];
        let mut panel = self.panel;
        for _ in 0..self.depth / UNROLLED {
            // SAFETY: both sides have `depth` steps, and each of these goes forward one.
            unsafe {
                sums = self.step::<I, TRANSPOSED, ROWS>(isa, sums, x, panel, 0);
                sums = self.step::<I, TRANSPOSED, ROWS>(isa, sums, x, panel, 1);
                sums = self.step::<I, TRANSPOSED, ROWS>(isa, sums, x, panel, 2);
                sums = self.step::<I, TRANSPOSED, ROWS>(isa, sums, x, panel, 3);
            }
            x = x.map(|x| x.wrapping_add(UNROLLED * forward));
            panel = panel.wrapping_add(2 * lanes * UNROLLED);
        }
        for k in 0..self.depth % UNROLLED {
            // SAFETY: as above.
            sums = unsafe { self.step::<I, TRANSPOSED, ROWS>(isa, sums, x, panel, k) };
        }
        // The last step finds its row when it runs, and an array that is looked up so lives in memory: a copy takes that on
        // itself and leaves the sums to the registers.
        let mut finished = [[ops.zero(); 2]; ROWS];
        for (finished, sums) in finished.iter_mut().zip(sums) {
            *finished = sums;
        }
        // SAFETY: the caller's.
        unsafe { self.finish(isa, f, finished) };
    }

    /// Stores finished sums.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn finish<I: Isa, F: SimdUnaryOp<f32>, const ROWS: usize>(
        &self,
        isa: I,
        f: &F,
        sums: [[I::F32; 2]; ROWS],
    ) {
        let ops = isa.f32();
        let lanes = ops.len();
        for (r, sums) in sums.iter().enumerate() {
            for (half, &sum) in sums.iter().enumerate() {
                let start = half * lanes;
                let columns = self.columns.saturating_sub(start).min(lanes);
                let mask = ops.first_n_mask(columns);
                // SAFETY: row `r < ROWS`; lanes beyond `columns` are neither read nor written; `bias` is padded. An
                // offset past the last column is not touched, as its mask is empty.
                unsafe {
                    let out = self.out.wrapping_add(r * self.out_stride + start);
                    let mut y = sum;
                    if let Some(bias) = self.bias {
                        y = ops.add(y, ops.load_ptr(bias.add(start)));
                    }
                    if columns == lanes {
                        if self.accumulate {
                            y = ops.add(y, ops.load_ptr(out));
                        }
                        ops.store_ptr(f.eval(isa, y), out);
                    } else {
                        if self.accumulate {
                            y = ops.add(y, ops.load_ptr_mask(out, mask));
                        }
                        ops.store_ptr_mask(f.eval(isa, y), out, mask);
                    }
                }
            }
        }
    }

    /// Adds the products of one step along the depth to `sums`, which are handed on by value so that they stay in
    /// registers.
    ///
    /// # Safety
    /// `panel` has the two vectors of step `k`; `x` points to the first and the fourth of `ROWS` rows that have step `k`.
    #[inline(always)]
    unsafe fn step<I: Isa, const TRANSPOSED: bool, const ROWS: usize>(
        &self,
        isa: I,
        mut sums: [[I::F32; 2]; ROWS],
        x: [*const f32; 2],
        panel: *const f32,
        k: usize,
    ) -> [[I::F32; 2]; ROWS] {
        let ops = isa.f32();
        let lanes = ops.len();
        // SAFETY: the caller's.
        unsafe {
            let panel = panel.add(2 * lanes * k);
            let b = [ops.load_ptr(panel), ops.load_ptr(panel.add(lanes))];
            for (r, sums) in sums.iter_mut().enumerate() {
                let (x, r) = (if r < 3 { x[0] } else { x[1] }, r % 3);
                let place = if TRANSPOSED { k * self.x_stride + r } else { r * self.x_stride + k };
                let a = ops.splat(*x.add(place));
                sums[0] = ops.mul_add(a, b[0], sums[0]);
                sums[1] = ops.mul_add(a, b[1], sums[1]);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    /// Numbers that are exact in single precision, so that any order of summing gives the same result.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 17) as f32 - 8.0).collect()
    }

    fn transposed(matrix: &[f32], columns: usize) -> Vec<f32> {
        let rows = matrix.len() / columns;
        (0..matrix.len()).map(|i| matrix[i % rows * columns + i / rows]).collect()
    }

    #[test]
    fn products_of_every_small_shape_are_exact() {
        // Laid out again and again: nothing of a larger matrix may be left in a smaller one.
        let mut layouts = [const { Panels::empty() }; 3];
        for rows in [1, 2, 5, 6, 7, 13, 97, 101] {
            for columns in [1, 3, 8, 15, 16, 17, 33] {
                for depth in [1, 2, 7, 32] {
                    check(rows, columns, depth, &mut layouts);
                }
            }
        }
    }

    fn check(rows: usize, columns: usize, depth: usize, layouts: &mut [Panels; 3]) {
        let (x, w) = (numbers(rows * depth, 1), numbers(columns * depth, 2));
        let (bias, old) = (padded(numbers(columns, 3)), numbers(rows * (columns + 2), 4));
        let (x_columns, w_rows) = (transposed(&x, depth), transposed(&w, depth));
        layouts[0].lay_columns(depth, 2.0, w.chunks_exact(depth));
        layouts[1].lay_rows(columns, 2.0, w_rows.chunks_exact(columns));
        let doubled: Vec<f32> = w.iter().map(|w| 2.0 * w).collect();
        layouts[2].lay_transposed(&doubled, depth);
        for panels in layouts {
            for left in [Left::rows(&x, depth, rows), Left::columns(&x_columns, rows, rows)] {
                let mut out = old.clone();
                Product {
                    x: left,
                    panels,
                    bias: Some(&bias),
                    out: &mut out,
                    out_stride: columns + 2,
                    accumulate: true,
                    then: Then::Keep,
                }
                .run();
                for (place, (out, old)) in out.iter().zip(&old).enumerate() {
                    let (r, c) = (place / (columns + 2), place % (columns + 2));
                    let sum = || (0..depth).map(|k| x[r * depth + k] * w[c * depth + k]).sum::<f32>();
                    let product = if c < columns { bias[c] + 2.0 * sum() } else { 0.0 };
                    assert_eq!(*out, old + product, "{rows}x{depth}x{columns} at {r},{c}");
                }
            }
        }
    }
}
