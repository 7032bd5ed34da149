//! The order of hits: by score, and by passage id where scores are equal.

use std::cmp::Ordering;

/// The best `n` of `rows`, best first; rows of equal score in the order of their ids.
pub(crate) fn best_by_id<'a>(
    mut rows: Vec<(u32, f64)>,
    n: usize,
    id: impl Fn(u32) -> &'a str,
) -> Vec<(u32, f64)> {
    let order = |a: &(u32, f64), b: &(u32, f64)| -> Ordering {
        b.1.total_cmp(&a.1).then_with(|| id(a.0).cmp(id(b.0)))
    };
    if n < rows.len() {
        rows.select_nth_unstable_by(n, order);
        rows.truncate(n);
    }
    rows.sort_unstable_by(order);
    rows
}
