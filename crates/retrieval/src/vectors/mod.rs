//! Nearest vectors, without a graph.
//!
//! A search has two steps. The first estimates every dot product from a code of one bit a dimension; the second
//! computes the dot products of a short list from vectors of one byte a dimension. Codes are 48 bytes for a vector of
//! 384, so that a scan of 65,000 reads 3 MB; there is nothing to build, to tune or to mend after a deletion, and a
//! segment is written in one stream. See [`codes`] for the estimate, [`file`] for the form on disk.

pub(crate) mod codes;
pub(crate) mod file;
mod kernel;

use rayon::prelude::*;

use crate::bitmap::Bitmap;
use codes::Query;
use file::VectorFile;

/// Vectors that one task scans before it is worth another thread.
const ROWS_PER_TASK: usize = 1 << 16;

/// Vectors whose estimates are computed in one go.
const BLOCK: usize = 512;

/// How long the short list is, as a multiple of the hits asked for, and at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortList {
    pub(crate) factor: usize,
    pub(crate) least: usize,
}

impl Default for ShortList {
    /// Chosen by measuring: recall@10 and recall@100 of the embedding search over a Wikipedia corpus, see
    /// `docs/BENCHMARKS.md`.
    fn default() -> Self {
        Self { factor: 8, least: 400 }
    }
}

/// One segment as a search sees it.
#[derive(Clone, Copy)]
pub(crate) struct VectorView<'a> {
    pub(crate) vectors: &'a VectorFile,
    /// Rows that do not count any more.
    pub(crate) deleted: Option<&'a Bitmap>,
    /// Number of the segment's first row in the whole index.
    pub(crate) first_row: u32,
}

/// The best `k` rows and every row that ties with the last of them, with their dot products, best first.
pub(crate) fn search(
    views: &[VectorView<'_>],
    query: &[f32],
    k: usize,
    short_list: ShortList,
) -> Vec<(u32, f64)> {
    if k == 0 {
        return Vec::new();
    }
    let wanted = k.saturating_mul(short_list.factor).max(short_list.least);
    let queries: Vec<Query> = views.iter().map(|view| Query::new(query, view.vectors.mean())).collect();
    let tasks: Vec<(&VectorView<'_>, &Query, usize, usize)> = views
        .iter()
        .zip(&queries)
        .flat_map(|(view, query)| {
            let rows = view.vectors.rows();
            (0..rows)
                .step_by(ROWS_PER_TASK)
                .map(move |from| (view, query, from, rows.min(from.saturating_add(ROWS_PER_TASK))))
        })
        .collect();
    let scan = |(view, query, from, to): &(&VectorView<'_>, &Query, usize, usize)| {
        scan_rows(view, query, *from, *to, wanted)
    };
    let mut candidates: Vec<Candidate> = match tasks.as_slice() {
        [task] => scan(task),
        _ => tasks.par_iter().flat_map_iter(scan).collect(),
    };
    keep_best(&mut candidates, wanted);
    // Neighbouring rows share pages and cache lines.
    candidates.sort_unstable_by_key(|candidate| candidate.row);
    let query = kernel::WideQuery::new(query);
    let mut scored: Vec<(u32, f64)> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let at = views.partition_point(|view| view.first_row <= candidate.row).saturating_sub(1);
        let Some(view) = views.get(at) else { continue };
        let Some((bytes, scale)) = view.vectors.row((candidate.row - view.first_row) as usize) else {
            continue;
        };
        scored
            .push((candidate.row, f64::from(query.dot(bytes)) * f64::from(scale) * f64::from(query.scale())));
    }
    scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if let Some(last) = scored.get(k - 1).map(|(_, score)| *score) {
        scored.truncate(scored.partition_point(|(_, score)| *score >= last));
    }
    scored
}

/// The exact ranking by the vectors as they are stored: what the two steps are measured against.
pub(crate) fn search_exhaustively(views: &[VectorView<'_>], query: &[f32], k: usize) -> Vec<(u32, f64)> {
    search(views, query, k, ShortList { factor: 1, least: usize::MAX })
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    row: u32,
    estimate: f32,
}

fn scan_rows(view: &VectorView<'_>, query: &Query, from: usize, to: usize, wanted: usize) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::new();
    let mut threshold = f32::NEG_INFINITY;
    let mut estimates = [0f32; BLOCK];
    let room = wanted.saturating_mul(2).max(1024);
    for start in (from..to).step_by(BLOCK) {
        let rows = BLOCK.min(to - start);
        let Some(estimates) = estimates.get_mut(..rows) else { break };
        query.estimate(view.vectors, start, estimates);
        for (row, estimate) in (start as u32..).zip(estimates.iter()) {
            if *estimate > threshold && view.deleted.is_none_or(|deleted| !deleted.contains(row)) {
                best.push(Candidate { row: view.first_row.saturating_add(row), estimate: *estimate });
            }
        }
        if best.len() >= room {
            keep_best(&mut best, wanted);
            threshold = best.iter().map(|c| c.estimate).fold(f32::INFINITY, f32::min);
        }
    }
    keep_best(&mut best, wanted);
    best
}

fn keep_best(candidates: &mut Vec<Candidate>, wanted: usize) {
    if candidates.len() > wanted {
        let order = |a: &Candidate, b: &Candidate| b.estimate.total_cmp(&a.estimate).then(a.row.cmp(&b.row));
        candidates.select_nth_unstable_by(wanted, order);
        candidates.truncate(wanted);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use file::VectorWriter;

    /// Unit vectors in loose groups, away from the origin, as sentence encoders make them.
    fn vectors(n: usize, dimension: usize, seed: u64) -> Vec<Vec<f32>> {
        let mut state = seed;
        let mut noise = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        let centres: Vec<Vec<f32>> = (0..20).map(|_| (0..dimension).map(|_| noise()).collect()).collect();
        (0..n)
            .map(|i| {
                let centre = &centres[i % centres.len()];
                let v: Vec<f32> = centre.iter().map(|c| 0.3 + c + noise()).collect();
                let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
                v.iter().map(|x| x / norm).collect()
            })
            .collect()
    }

    fn file_of(vectors: &[Vec<f32>]) -> (tempfile::TempDir, VectorFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v");
        let mut writer = VectorWriter::create(&path, vectors[0].len()).unwrap();
        for v in vectors {
            writer.add(v).unwrap();
        }
        writer.finish().unwrap();
        let file = VectorFile::open(&path, vectors[0].len()).unwrap();
        (folder, file)
    }

    fn exact(vectors: &[Vec<f32>], query: &[f32], k: usize) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = (0u32..)
            .zip(vectors)
            .map(|(i, v)| (i, v.iter().zip(query).map(|(a, b)| f64::from(a * b)).sum()))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(k);
        all
    }

    #[test]
    fn nearly_all_of_the_nearest_are_found_at_any_dimension() {
        for dimension in [30, 100, 384, 768] {
            let rows = vectors(3000, dimension, 1);
            let (_folder, file) = file_of(&rows);
            let view = VectorView { vectors: &file, deleted: None, first_row: 0 };
            let mut hits = 0;
            let queries = vectors(40, dimension, 2);
            for query in &queries {
                let best: HashSet<u32> = exact(&rows, query, 10).iter().map(|x| x.0).collect();
                let found = search(&[view], query, 10, ShortList::default());
                assert!(found.len() >= 10);
                for (row, score) in found.iter().take(10) {
                    hits += usize::from(best.contains(row));
                    let real: f32 = rows[*row as usize].iter().zip(query).map(|(a, b)| a * b).sum();
                    assert!((score - f64::from(real)).abs() < 0.01, "{score} {real}");
                }
            }
            let recall = hits as f64 / (10 * queries.len()) as f64;
            assert!(recall >= 0.95, "{recall} at {dimension} dimensions");
        }
    }

    #[test]
    fn segments_and_deletions_change_nothing_else() {
        let rows = vectors(1500, 64, 3);
        let (_a, whole) = file_of(&rows);
        let (_b, first) = file_of(&rows[..700]);
        let (_c, second) = file_of(&rows[700..]);
        let whole = VectorView { vectors: &whole, deleted: None, first_row: 0 };
        let mut deleted = Bitmap::default();
        let parts = |deleted| {
            [
                VectorView { vectors: &first, deleted: None, first_row: 0 },
                VectorView { vectors: &second, deleted, first_row: 700 },
            ]
        };
        for query in &vectors(10, 64, 4) {
            let expected = search_exhaustively(&[whole], query, 5);
            assert_eq!(search_exhaustively(&parts(None), query, 5), expected);
            for (row, _) in expected.iter().filter(|x| x.0 >= 700) {
                deleted.insert(row - 700);
            }
        }
        assert!(deleted.len() > 0);
        for query in &vectors(10, 64, 4) {
            let found = search(&parts(Some(&deleted)), query, 50, ShortList::default());
            assert!(found.len() >= 50);
            assert!(found.iter().all(|(row, _)| *row < 700 || !deleted.contains(row - 700)));
        }
    }

    #[test]
    fn equal_vectors_tie_and_none_is_lost() {
        let rows = vec![vec![0.6f32, 0.8]; 30];
        let (_folder, file) = file_of(&rows);
        let view = VectorView { vectors: &file, deleted: None, first_row: 0 };
        assert_eq!(search(&[view], &[1.0, 0.0], 3, ShortList::default()).len(), 30);
        assert!(search(&[view], &[1.0, 0.0], 0, ShortList::default()).is_empty());
        assert_eq!(search(&[view], &[0.0, 0.0], 3, ShortList::default()).len(), 30);
        assert!(search(&[], &[1.0, 0.0], 3, ShortList::default()).is_empty());
    }

    #[test]
    fn a_file_that_is_not_whole_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v");
        let mut writer = VectorWriter::create(&path, 8).unwrap();
        assert!(writer.add(&[0.1; 7]).is_err());
        assert!(writer.add(&[f32::NAN; 8]).is_err());
        writer.add(&[0.1; 8]).unwrap();
        drop(writer); // never finished
        assert!(VectorFile::open(&path, 8).is_err());
        let mut writer = VectorWriter::create(&path, 8).unwrap();
        writer.add(&[0.1; 8]).unwrap();
        writer.finish().unwrap();
        assert!(VectorFile::open(&path, 8).is_ok());
        assert!(VectorFile::open(&path, 9).is_err(), "another dimension");
        assert!(VectorWriter::create(&path, 0).is_err() && VectorWriter::create(&path, 100_000).is_err());
    }
}
