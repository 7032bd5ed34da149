//! Matrix products in single precision, for the widest vectors that the processor has.
//!
//! The products of an encoder are always `rows x depth` activations with a right-hand side that can be laid out
//! beforehand, and are followed at once by a bias, a residual and a non-linearity. A kernel for exactly that keeps
//! its sums in registers over the whole depth and finishes each number before it is first stored. The layout follows
//! Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34(3), 2008).

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};

/// Rows of a tile: with two vectors a row its sums fill twelve of the sixteen registers that AVX2 has.
const TILE_ROWS: usize = 6;

/// Rows of the left side that are swept before the next panel: their numbers stay in the second-level cache.
const BLOCK_ROWS: usize = 16 * TILE_ROWS;

/// The columns of a panel on this processor: two vectors.
pub(super) fn panel_columns() -> usize {
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

/// The right side of a product, `depth x columns`, as panels of [`panel_columns`] columns: a panel's numbers stand
/// row after row. The last panel is filled up with zeros.
#[derive(Default)]
pub(super) struct Panels {
    data: Vec<f32>,
    depth: usize,
    columns: usize,
}

impl Panels {
    /// Makes room for a matrix, all zeros.
    pub(super) fn zeros(depth: usize, columns: usize) -> Self {
        let mut panels = Self::default();
        panels.reset(depth, columns);
        panels
    }

    /// Sets column `c`.
    pub(super) fn set_column(&mut self, c: usize, column: impl Iterator<Item = f32>) {
        let width = panel_columns();
        let panel = self.data.get_mut(c / width * width * self.depth..).unwrap_or_default();
        for (place, x) in panel.iter_mut().skip(c % width).step_by(width).zip(column.take(self.depth)) {
            *place = x;
        }
    }

    /// Lays out the matrix whose column `c` is `column(c)`, each with `depth` numbers.
    pub(super) fn lay_columns<'a>(
        &mut self,
        depth: usize,
        columns: impl ExactSizeIterator<Item = &'a [f32]>,
    ) {
        self.reset(depth, columns.len());
        for (c, column) in columns.enumerate() {
            self.set_column(c, column.iter().copied());
        }
    }

    /// Lays out the matrix with these rows, each with `columns` numbers.
    pub(super) fn lay_rows<'a>(&mut self, columns: usize, rows: impl ExactSizeIterator<Item = &'a [f32]>) {
        let depth = rows.len();
        let width = self.reset(depth, columns);
        for (r, row) in rows.enumerate() {
            for (panel, part) in self.data.chunks_exact_mut(width * depth).zip(row.chunks(width)) {
                if let Some(place) = panel.get_mut(r * width..r * width + part.len()) {
                    place.copy_from_slice(part);
                }
            }
        }
    }

    fn reset(&mut self, depth: usize, columns: usize) -> usize {
        let width = panel_columns();
        self.data.clear();
        self.data.resize(columns.div_ceil(width) * width * depth, 0.0);
        (self.depth, self.columns) = (depth, columns);
        width
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }
}

/// Rows of numbers that stand `stride` apart in `data`, from its start.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
    pub(super) count: usize,
}

/// `out = f(x * panels + bias [+ out])`.
pub(super) struct Product<'a, F> {
    pub(super) x: Rows<'a>,
    pub(super) panels: &'a Panels,
    /// One number a column, filled up to whole panels as [`padded`] does; none adds nothing.
    pub(super) bias: Option<&'a [f32]>,
    pub(super) out: &'a mut [f32],
    /// How far apart the rows of `out` stand.
    pub(super) out_stride: usize,
    /// Whether what stands in `out` is added.
    pub(super) accumulate: bool,
    pub(super) f: F,
}

/// `bias` with zeros up to a whole number of panels.
pub(super) fn padded(mut bias: Vec<f32>) -> Vec<f32> {
    bias.resize(bias.len().next_multiple_of(panel_columns()), 0.0);
    bias
}

/// Leaves numbers as they are.
pub(super) struct Identity;

impl SimdUnaryOp<f32> for Identity {
    #[inline(always)]
    fn eval<I: Isa>(&self, _: I, x: I::F32) -> I::F32 {
        x
    }
}

impl<F: SimdUnaryOp<f32>> SimdOp for Product<'_, F> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Self { x, panels, bias, out, out_stride, accumulate, f } = self;
        let (depth, columns, rows) = (panels.depth, panels.columns, x.count);
        if rows == 0 || columns == 0 {
            return;
        }
        let width = 2 * isa.f32().len();
        // These bounds make every pointer below fall inside its slice.
        assert!((rows - 1) * x.stride + depth <= x.data.len());
        assert!((rows - 1) * out_stride + columns <= out.len());
        assert!(columns <= out_stride || rows == 1);
        assert_eq!(panels.data.len(), columns.div_ceil(width) * width * depth);
        assert!(bias.is_none_or(|bias| bias.len() == columns.div_ceil(width) * width));

        for first in (0..rows).step_by(BLOCK_ROWS) {
            let end = (first + BLOCK_ROWS).min(rows);
            for (p, column) in (0..columns).step_by(width).enumerate() {
                for row in (first..end).step_by(TILE_ROWS) {
                    // SAFETY: `row < rows`, `column < columns` and `p` counts the panels, so by the assertions above
                    // all four offsets are inside their slices.
                    let tile = unsafe {
                        Tile {
                            x: x.data.as_ptr().add(row * x.stride),
                            x_stride: x.stride,
                            panel: panels.data.as_ptr().add(p * width * depth),
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
                            1 => tile.run::<I, F, 1>(isa, &f),
                            2 => tile.run::<I, F, 2>(isa, &f),
                            3 => tile.run::<I, F, 3>(isa, &f),
                            4 => tile.run::<I, F, 4>(isa, &f),
                            5 => tile.run::<I, F, 5>(isa, &f),
                            _ => tile.run::<I, F, TILE_ROWS>(isa, &f),
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
    /// With `width` two vectors: `x` has `ROWS` rows of `depth` numbers, `x_stride` apart; `panel` has
    /// `depth * width` numbers; `bias`, if given, has `width`; `out` has `ROWS` rows of `columns <= width` numbers,
    /// `out_stride` apart, that nobody else looks at.
    #[inline(always)]
    unsafe fn run<I: Isa, F: SimdUnaryOp<f32>, const ROWS: usize>(&self, isa: I, f: &F) {
        let ops = isa.f32();
        let lanes = ops.len();
        let mut sums = [[ops.zero(); 2]; ROWS];
        let mut panel = self.panel;
        for k in 0..self.depth {
            // SAFETY: `k < depth`; the panel advances by `width` for each `k`.
            unsafe {
                let b = [ops.load_ptr(panel), ops.load_ptr(panel.add(lanes))];
                for (r, sums) in sums.iter_mut().enumerate() {
                    let a = ops.splat(*self.x.add(r * self.x_stride + k));
                    sums[0] = ops.mul_add(a, b[0], sums[0]);
                    sums[1] = ops.mul_add(a, b[1], sums[1]);
                }
                panel = panel.add(2 * lanes);
            }
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are exact in single precision, so that any order of summing gives the same result.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 17) as f32 - 8.0).collect()
    }

    #[test]
    fn products_of_every_small_shape_are_exact() {
        for rows in [1, 2, 5, 6, 7, 13, 97, 101] {
            for columns in [1, 3, 8, 15, 16, 17, 33] {
                for depth in [1, 2, 7, 32] {
                    let (x, w) = (numbers(rows * depth, 1), numbers(columns * depth, 2));
                    let (bias, old) = (numbers(columns, 3), numbers(rows * (columns + 2), 4));
                    let mut by_columns = Panels::default();
                    by_columns.lay_columns(depth, w.chunks_exact(depth));
                    let transposed: Vec<f32> = (0..depth)
                        .flat_map(|k| (0..columns).map(move |c| (k, c)))
                        .map(|(k, c)| w[c * depth + k])
                        .collect();
                    let mut by_rows = Panels::default();
                    by_rows.lay_rows(columns, transposed.chunks_exact(columns));
                    for panels in [by_columns, by_rows] {
                        let mut out = old.clone();
                        let bias_padded = padded(bias.clone());
                        Product {
                            x: Rows { data: &x, stride: depth, count: rows },
                            panels: &panels,
                            bias: Some(&bias_padded),
                            out: &mut out,
                            out_stride: columns + 2,
                            accumulate: true,
                            f: Identity,
                        }
                        .dispatch();
                        for r in 0..rows {
                            for c in 0..columns + 2 {
                                let place = r * (columns + 2) + c;
                                let product: f32 = if c < columns {
                                    bias[c]
                                        + (0..depth).map(|k| x[r * depth + k] * w[c * depth + k]).sum::<f32>()
                                } else {
                                    0.0
                                };
                                assert_eq!(
                                    out[place],
                                    old[place] + product,
                                    "{rows}x{depth}x{columns} at {r},{c}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
