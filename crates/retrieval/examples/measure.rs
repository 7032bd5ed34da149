//! Measures the embedded index on a real corpus and prints every figure as a ratio of the same run.
//!
//! ```text
//! measure build DIR PASSAGES [VECTORS]     an index over PASSAGES (jsonl), with vectors from the folder VECTORS
//! measure recall DIR CLAIMS                BM25 recall@k by scorer and parameters: of the gold pages of FEVER claims, or of passages
//!                                          that hold an answer for questions (rows with `answers`)
//! measure speed DIR CLAIMS [VECTORS]       BM25 against tantivy's own scorer, and the engine's work in a hybrid search
//! measure vectors VECTORS                  recall of the vector search against exact search
//! measure cold DIR QUERY                   opening and the first search, with the memory it takes
//! ```
//!
//! VECTORS holds `vectors.f32` (rows of 384 numbers), `order.txt` (the line of PASSAGES, from 0, that each row embeds),
//! `queries.f32` and `queries.json`. Passages without a vector of their own get one near that of another passage.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs)]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use counterproof_core::{Embedder, Passage, Result};
use counterproof_retrieval::index::{EmbeddedIndex, IndexBuilder, SearchOptions};
use counterproof_retrieval::{Bm25Params, corpus, query_terms};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;

const DIMENSION: usize = 384;

fn main() {
    let started = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["build", dir, passages] => build(Path::new(dir), passages, None),
        ["build", dir, passages, vectors] => build(Path::new(dir), passages, Some(Path::new(vectors))),
        ["recall", dir, claims] => recall(Path::new(dir), claims),
        ["speed", dir, claims] => speed(Path::new(dir), claims, None),
        ["speed", dir, claims, vectors] => speed(Path::new(dir), claims, Some(Path::new(vectors))),
        ["vectors", vectors] => vector_recall(Path::new(vectors)),
        ["cold", dir, query] => cold(Path::new(dir), query, started),
        _ => eprintln!("see the head of crates/retrieval/examples/measure.rs"),
    }
}

/// Gives vectors that were computed before.
struct Computed {
    by_text: HashMap<String, Vec<f32>>,
}

#[async_trait]
impl Embedder for Computed {
    fn identity(&self) -> &str {
        "computed"
    }
    fn dimension(&self) -> usize {
        DIMENSION
    }
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|t| self.by_text.get(*t).expect("a vector for every text").clone()).collect())
    }
}

fn rows_of(path: &Path) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    numbers.chunks_exact(DIMENSION).map(<[f32]>::to_vec).collect()
}

fn unit(mut v: Vec<f32>) -> Vec<f32> {
    let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    v.iter_mut().for_each(|x| *x /= norm);
    v
}

/// A repeatable stream of numbers in -1..1 (SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// A vector for each of `n` passages: its own where there is one, else one about as far from another as neighbours are.
fn fill(vectors: &Path, n: usize) -> (Vec<Vec<f32>>, usize) {
    let own = rows_of(&vectors.join("vectors.f32"));
    let order: Vec<usize> = std::fs::read_to_string(vectors.join("order.txt"))
        .unwrap()
        .lines()
        .map(|l| l.parse().unwrap())
        .collect();
    let mut all: Vec<Option<Vec<f32>>> = vec![None; n];
    for (line, vector) in order.iter().zip(&own) {
        all[*line] = Some(vector.clone());
    }
    let mut noise = Noise(7);
    let mut next = 0;
    let filled = all
        .into_iter()
        .map(|v| {
            v.unwrap_or_else(|| {
                next = (next + 1) % own.len();
                // A cosine of about 0.7 to the vector it is made from.
                unit(own[next].iter().map(|x| x + noise.next() * 0.09).collect())
            })
        })
        .collect();
    (filled, own.len())
}

fn build(dir: &Path, passages: &str, vectors: Option<&Path>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut builder = IndexBuilder::new(dir).overwrite(true);
    if let Some(folder) = vectors {
        let documents = corpus::open(passages, &corpus::ReadOptions::default()).unwrap();
        let list: Vec<Passage> = documents
            .map(|d| d.unwrap())
            .flat_map(|d| {
                let whole = counterproof_retrieval::passages::PassageOptions { words: usize::MAX >> 8 };
                counterproof_retrieval::passages::split(&d, &whole)
            })
            .collect();
        let (filled, own) = fill(folder, list.len());
        println!("{} passages, {own} with vectors of their own", list.len());
        let text = |p: &Passage| {
            if p.title.is_empty() { p.text.clone() } else { format!("{}. {}", p.title, p.text) }
        };
        let by_text = list.iter().zip(filled).map(|(p, v)| (text(p), v)).collect();
        builder = builder.embedder(Arc::new(Computed { by_text }));
        let report = runtime.block_on(builder.build_from(list)).unwrap();
        println!("built {} passages in {:.1?}", report.passages, report.elapsed);
    } else {
        let report = runtime.block_on(builder.build(&[PathBuf::from(passages)])).unwrap();
        println!("built {} passages in {:.1?}", report.passages, report.elapsed);
    }
}

struct Claim {
    text: String,
    pages: HashSet<String>,
    answers: Vec<String>,
}

impl Claim {
    /// Whether a passage (title and text in lower case) is what was looked for.
    fn is_met_by(&self, (title, text): &(String, String)) -> bool {
        self.pages.contains(title) || self.answers.iter().any(|answer| text.contains(answer.as_str()))
    }
}

fn claims(path: &str) -> Vec<Claim> {
    let name = |page: &str| {
        let page = page.replace('_', " ").replace("-LRB-", "(").replace("-RRB-", ")").replace("-COLON-", ":");
        page.to_lowercase()
    };
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let sets = row["evidence"].as_array().cloned().unwrap_or_default();
            let sentences = sets.iter().filter_map(|set| set.as_array()).flatten();
            let pages = sentences.filter_map(|s| s.get(2)?.as_str().map(name)).collect();
            let answers = row["answers"].as_array().cloned().unwrap_or_default();
            let answers = answers.iter().filter_map(|a| Some(a.as_str()?.to_lowercase()));
            let text = row["question"].as_str().unwrap().to_owned();
            Claim { text, pages, answers: answers.filter(|a| a.len() > 3).collect() }
        })
        .collect()
}

/// tantivy asked directly: a disjunction of the query's terms, its own scorer, its own collector.
struct Direct {
    searcher: tantivy::Searcher,
    field: tantivy::schema::Field,
}

impl Direct {
    fn open(dir: &Path) -> Self {
        let mut segments = std::fs::read_dir(dir.join("segments")).unwrap();
        let folder = segments.next().unwrap().unwrap().path().join("postings");
        assert!(segments.next().is_none(), "measured on one segment");
        let index = tantivy::Index::open_in_dir(folder).unwrap();
        let field = index.schema().get_field("words").unwrap();
        let reader = index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual);
        let reader: tantivy::IndexReader = reader.try_into().unwrap();
        Self { searcher: reader.searcher(), field }
    }

    fn search(&self, query: &str, n: usize) -> Vec<(f32, tantivy::DocAddress)> {
        let terms = query_terms(query).into_iter().map(|term| {
            let term = tantivy::Term::from_field_text(self.field, &term);
            let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
            (Occur::Should, query)
        });
        let query = BooleanQuery::new(terms.collect());
        self.searcher.search(&query, &TopDocs::with_limit(n).order_by_score()).unwrap()
    }
}

/// The index and, by row, title and text of its passages in lower case.
fn passages(dir: &Path) -> (EmbeddedIndex, Vec<(String, String)>) {
    let index = EmbeddedIndex::open(dir, None).unwrap();
    let all = (0..u32::try_from(index.len()).unwrap())
        .map(|row| index.passage_at(row).unwrap().unwrap())
        .map(|p| (p.title.to_lowercase(), p.text.to_lowercase()))
        .collect();
    (index, all)
}

fn recall(dir: &Path, path: &str) {
    let (index, passages) = passages(dir);
    let claims: Vec<Claim> =
        claims(path).into_iter().filter(|c| passages.iter().any(|p| c.is_met_by(p))).collect();
    println!("{} queries that the corpus of {} passages can meet", claims.len(), index.len());
    println!("{:28} recall@1  recall@5  recall@10  recall@100", "scorer");
    // For each query the rank of the first hit that meets it.
    let row = |name: &str, ranks: &[Option<usize>]| {
        let at = |k| ranks.iter().flatten().filter(|rank| **rank < k).count() as f64 / ranks.len() as f64;
        println!("{name:28} {:8.4}  {:8.4}  {:9.4}  {:10.4}", at(1), at(5), at(10), at(100));
    };
    let direct = Direct::open(dir);
    let rank = |c: &Claim| {
        direct.search(&c.text, 100).iter().position(|(_, doc)| c.is_met_by(&passages[doc.doc_id as usize]))
    };
    row("tantivy (k1 1.2, b 0.75)", &claims.iter().map(rank).collect::<Vec<_>>());
    for (k1, b) in [(1.2, 0.75), (0.9, 0.4), (0.9, 0.3), (0.6, 0.4), (1.2, 0.4), (0.9, 0.6)] {
        let options = SearchOptions { k1: Some(k1), b: Some(b), alpha: 1.0, ..SearchOptions::default() };
        let rank = |c: &Claim| {
            let hits = index.search_with_vector(&c.text, None, 100, &options).unwrap();
            hits.iter()
                .position(|h| c.is_met_by(&(h.passage.title.to_lowercase(), h.passage.text.to_lowercase())))
        };
        let default = if Bm25Params::default() == (Bm25Params { k1, b }) { ", default" } else { "" };
        row(&format!("own (k1 {k1}, b {b}{default})"), &claims.iter().map(rank).collect::<Vec<_>>());
    }
}

fn best_of<T>(rounds: usize, mut f: impl FnMut() -> T) -> Duration {
    (0..rounds)
        .map(|_| {
            let started = Instant::now();
            std::hint::black_box(f());
            started.elapsed()
        })
        .min()
        .unwrap()
}

fn quantile(times: &mut [Duration], q: f64) -> f64 {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * q) as usize].as_secs_f64() * 1e3
}

fn speed(dir: &Path, path: &str, vectors: Option<&Path>) {
    let index = EmbeddedIndex::open(dir, None).unwrap();
    let direct = Direct::open(dir);
    let claims = claims(path);
    let queries: Vec<&str> = claims.iter().step_by(claims.len() / 300).map(|c| c.text.as_str()).collect();
    for n in [10, 100] {
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for query in &queries {
            own.push(best_of(7, || index.search_sparse(query, n).unwrap()));
            theirs.push(best_of(7, || direct.search(query, n)));
        }
        let sum = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
        println!(
            "BM25, {} claims, {n} hits: own p50 {:.3} ms, tantivy p50 {:.3} ms, ratio of the sums {:.2}",
            queries.len(),
            quantile(&mut own, 0.5),
            quantile(&mut theirs, 0.5),
            sum(&own) / sum(&theirs),
        );
    }
    let Some(folder) = vectors else { return };
    let options = SearchOptions::default();
    let texts: Vec<String> =
        serde_json::from_slice(&std::fs::read(folder.join("queries.json")).unwrap()).unwrap();
    let rows = rows_of(&folder.join("queries.f32"));
    let (mut all, mut dense) = (Vec::new(), Vec::new());
    for (text, vector) in texts.iter().zip(&rows) {
        all.push(best_of(5, || index.search_with_vector(text, Some(vector), 10, &options).unwrap()));
        dense.push(best_of(5, || index.search_dense(vector, 100, false).unwrap()));
    }
    println!(
        "hybrid, {} queries: engine p50 {:.3} ms, p99 {:.3} ms; vectors alone p50 {:.3} ms",
        all.len(),
        quantile(&mut all, 0.5),
        quantile(&mut all, 0.99),
        quantile(&mut dense, 0.5),
    );
}

fn vector_recall(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let queries = rows_of(&folder.join("queries.f32"));
    let own = rows_of(&folder.join("vectors.f32"));
    for (what, rows) in
        [("real", own.clone()), ("filled up to 65,469", fill(folder, 65_469.max(own.len())).0)]
    {
        let passages: Vec<Passage> =
            (0..rows.len()).map(|i| Passage::new(i.to_string(), "", format!("p{i}"))).collect();
        let by_text = rows.iter().enumerate().map(|(i, v)| (format!("p{i}"), v.clone())).collect();
        let embedder: Arc<dyn Embedder> = Arc::new(Computed { by_text });
        let dir = std::env::temp_dir().join(format!("counterproof-measure-{}", std::process::id()));
        let builder = IndexBuilder::new(&dir).overwrite(true).embedder(Arc::clone(&embedder));
        runtime.block_on(builder.build_from(passages)).unwrap();
        let index = EmbeddedIndex::open(&dir, Some(embedder)).unwrap();
        let mut hits = [0usize; 3];
        let mut times = Vec::new();
        for query in &queries {
            let mut exact: Vec<(f32, usize)> = rows
                .iter()
                .enumerate()
                .map(|(i, row)| (row.iter().zip(query).map(|(a, b)| a * b).sum(), i))
                .collect();
            exact.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let started = Instant::now();
            let found = index.search_dense(query, 100, false).unwrap();
            times.push(started.elapsed());
            let found: Vec<usize> = found.iter().map(|(id, _)| id.as_str().parse().unwrap()).collect();
            for (slot, k) in [1usize, 10, 100].into_iter().enumerate() {
                let best: HashSet<usize> = exact[..k].iter().map(|e| e.1).collect();
                hits[slot] += found.iter().take(k).filter(|i| best.contains(i)).count();
            }
        }
        let share = |slot: usize, k: usize| hits[slot] as f64 / (k * queries.len()) as f64;
        println!(
            "{} vectors ({what}), {} queries: recall@1 {:.4}, @10 {:.4}, @100 {:.4}; p50 {:.3} ms",
            rows.len(),
            queries.len(),
            share(0, 1),
            share(1, 10),
            share(2, 100),
            quantile(&mut times, 0.5)
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

fn cold(dir: &Path, query: &str, started: Instant) {
    let opened = Instant::now();
    let index = EmbeddedIndex::open(dir, None).unwrap();
    let open = opened.elapsed();
    let vector = unit((0..DIMENSION).map(|i| ((i * 37 % 101) as f32) - 50.0).collect());
    let vector = index.info().embedder.is_some().then_some(vector);
    let hits = index.search_with_vector(query, vector.as_deref(), 5, &SearchOptions::default()).unwrap();
    let all = started.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("memory unknown").to_owned();
    println!("opened in {open:.1?}, {} hits after {all:.1?} since the start; {memory}", hits.len());
}
