//! The embedded hybrid index: BM25 and vectors over passages, in one folder, without a server.
//!
//! ```text
//! DIR/manifest.json              what belongs to the index, replaced in one step by every change
//! DIR/write.lock                 one writer at a time
//! DIR/segments/<name>/passages.bin   the words
//!                     postings/      tantivy's inverted index
//!                     vectors.bin    the vectors, when there is an embedder
//!                     deleted-<n>    rows that were deleted
//! ```
//!
//! Everything is read through memory maps, so that opening costs the same for a thousand passages and for millions,
//! and what is not searched is not in memory.

mod build;
mod content;
mod manifest;
mod segment;
mod texts;
mod update;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{
    Embedder, Error, Hit, Limits, Passage, PassageId, Result, Retriever, Score, sha256_hex,
};

pub use self::build::{BuildProgress, BuildReport, IndexBuilder};
pub use self::manifest::EmbedderInfo;
pub use self::update::AddReport;

use self::manifest::{Manifest, SEGMENTS};
use self::segment::Segment;
use crate::bm25::{self, Bm25Params, LexicalView};
use crate::fusion::{FusionOptions, fuse_by};
use crate::rank::best_by_id;
use crate::vectors::{self, ShortList, VectorView};

/// How an index is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// The weight of BM25 against the embedding, 0 to 1. At 1 nothing is embedded, at 0 no terms are matched.
    pub alpha: f64,
    /// How many hits of BM25 go into the fusion (at least as many as are asked for).
    pub n_sparse: usize,
    /// How many hits of the vector search go into the fusion (at least as many as are asked for).
    pub n_dense: usize,
    /// BM25's `k1`, in place of the one the index was built with.
    pub k1: Option<f32>,
    /// BM25's `b`, in place of the one the index was built with.
    pub b: Option<f32>,
    /// Whether the only hit of a list counts 1 in the fusion; see [`FusionOptions::single_hit_one`].
    pub single_hit_one: bool,
}

impl Default for SearchOptions {
    /// The values of R2VC's specification: alpha 0.5, 100 hits of each kind.
    fn default() -> Self {
        Self { alpha: 0.5, n_sparse: 100, n_dense: 100, k1: None, b: None, single_hit_one: false }
    }
}

impl SearchOptions {
    fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Error::invalid("alpha", format!("{} is not between 0 and 1", self.alpha)));
        }
        Ok(())
    }
}

/// Which searches an index makes, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// BM25 and vectors.
    Hybrid,
    /// BM25 alone: the options give the vectors no weight.
    SparseByChoice,
    /// Vectors alone: the options give BM25 no weight.
    DenseByChoice,
    /// BM25 alone: the index was built without an embedder.
    SparseWithoutVectors,
    /// BM25 alone: no embedder was given for the query.
    SparseWithoutEmbedder,
}

impl SearchMode {
    /// What a person should know of it, when it is not the whole search.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Hybrid | Self::SparseByChoice | Self::DenseByChoice => None,
            Self::SparseWithoutVectors => Some(
                "the index was built without an embedder: only passages that share words with the query are found",
            ),
            Self::SparseWithoutEmbedder => {
                Some("no embedder was given: only passages that share words with the query are found")
            }
        }
    }
}

/// What is known of an index without searching it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexInfo {
    /// Passages that can be found.
    pub passages: u64,
    /// Passages that were deleted and still take up room.
    pub deleted: u64,
    /// Which embedder made the vectors, when there are some.
    pub embedder: Option<EmbedderInfo>,
    /// BM25's parameters.
    pub bm25: Bm25Params,
    /// Segments.
    pub segments: usize,
    /// Bytes on disk.
    pub bytes: u64,
    /// Names the content: equal for equal sets of passages, whatever their order.
    pub content: String,
    /// Grows with every change.
    pub generation: u64,
    /// The version of the program that wrote it.
    pub written_by: String,
    /// The version of the folder's form.
    pub format: u32,
}

/// An index folder, open for search. Clones share everything but their options.
#[derive(Clone)]
pub struct EmbeddedIndex {
    folder: PathBuf,
    snapshot: Arc<Snapshot>,
    embedder: Option<Arc<dyn Embedder>>,
    options: SearchOptions,
    limits: Limits,
    identity: String,
}

impl std::fmt::Debug for EmbeddedIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedIndex")
            .field("folder", &self.folder)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// What an index holds at one moment.
struct Snapshot {
    manifest: Manifest,
    segments: Vec<Segment>,
}

impl Snapshot {
    /// Opens what the manifest names. A writer may sweep away the files of a manifest while they are being opened; there is
    /// a newer manifest then.
    fn open(folder: &Path) -> Result<Self> {
        let mut manifest = Manifest::read(folder)?;
        loop {
            let generation = manifest.generation;
            let opened = Self::of(folder, manifest);
            if opened.is_ok() {
                return opened;
            }
            manifest = Manifest::read(folder)?;
            if manifest.generation == generation {
                return opened;
            }
        }
    }

    fn of(folder: &Path, manifest: Manifest) -> Result<Self> {
        let segments_folder = folder.join(SEGMENTS);
        let dimension = manifest.embedder.as_ref().map(|e| e.dimension);
        let mut segments = Vec::with_capacity(manifest.segments.len());
        let mut first_row = 0u32;
        for info in &manifest.segments {
            segments.push(Segment::open(&segments_folder, info, dimension, first_row)?);
            first_row = first_row.checked_add(info.rows).ok_or_else(|| {
                Error::invalid(format!("index {}", folder.display()), "it holds over four billion passages")
            })?;
        }
        Ok(Self { manifest, segments })
    }

    /// The segment of a row, and the row's number in it.
    fn locate(&self, row: u32) -> Option<(&Segment, usize)> {
        let at = self.segments.partition_point(|s| s.first_row <= row).checked_sub(1)?;
        let segment = self.segments.get(at)?;
        Some((segment, (row - segment.first_row) as usize))
    }

    fn id(&self, row: u32) -> &str {
        // A record that cannot be read is told when the passage itself is.
        self.locate(row).and_then(|(segment, row)| segment.texts.id(row).ok()).unwrap_or_default()
    }

    fn passage(&self, row: u32) -> Result<Passage> {
        let (segment, row) = self
            .locate(row)
            .ok_or_else(|| Error::failed("reading a hit", format!("no segment has row {row}")))?;
        segment.texts.passage(row)
    }

    fn find(&self, id: &PassageId) -> Option<(usize, u32)> {
        self.segments.iter().enumerate().find_map(|(at, segment)| {
            segment.texts.find(id).into_iter().find(|row| segment.is_live(*row)).map(|row| (at, row))
        })
    }

    fn sparse(&self, query: &str, n: usize, options: &SearchOptions) -> Result<Vec<(u32, f64)>> {
        let stored = self.manifest.bm25;
        let params = Bm25Params { k1: options.k1.unwrap_or(stored.k1), b: options.b.unwrap_or(stored.b) };
        params.check()?;
        let views: Vec<LexicalView<'_>> = self
            .segments
            .iter()
            .map(|s| LexicalView { segment: &s.lexical, deleted: s.deleted.as_ref(), first_row: s.first_row })
            .collect();
        let rows = bm25::search(&views, query, n, params)?;
        Ok(best_by_id(rows, n, |row| self.id(row)))
    }

    fn vector_views(&self) -> Vec<VectorView<'_>> {
        self.segments
            .iter()
            .filter_map(|s| {
                Some(VectorView {
                    vectors: s.vectors.as_ref()?,
                    deleted: s.deleted.as_ref(),
                    first_row: s.first_row,
                })
            })
            .collect()
    }

    fn dense(&self, vector: &[f32], n: usize) -> Result<Vec<(u32, f64)>> {
        self.check_vector(vector)?;
        let rows = vectors::search(&self.vector_views(), vector, n, ShortList::default());
        Ok(best_by_id(rows, n, |row| self.id(row)))
    }

    fn check_vector(&self, vector: &[f32]) -> Result<()> {
        let expected = self.manifest.embedder.as_ref().map_or(0, |e| e.dimension);
        if vector.len() == expected && vector.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let problem = format!("{} numbers where {expected} finite ones are needed", vector.len());
        Err(Error::failed("searching by a vector", problem))
    }

    /// The best `k` of what the two searches found; `None` is a search that was not made.
    fn hits(
        &self,
        sparse: Option<Vec<(u32, f64)>>,
        dense: Option<Vec<(u32, f64)>>,
        k: usize,
        options: &SearchOptions,
    ) -> Result<Vec<Hit>> {
        let score = |value: &f64| Score::new(*value);
        let ranked: Vec<(u32, Score, Option<Score>, Option<Score>)> = match (sparse, dense) {
            (Some(sparse), Some(dense)) => {
                let fusion = FusionOptions { alpha: options.alpha, single_hit_one: options.single_hit_one };
                fuse_by(&sparse, &dense, &fusion, |a, b| self.id(*a).cmp(self.id(*b)))
                    .into_iter()
                    .take(k)
                    .map(|f| {
                        (f.id, score(&f.score), f.sparse.as_ref().map(score), f.dense.as_ref().map(score))
                    })
                    .collect()
            }
            (Some(sparse), None) => {
                sparse.into_iter().take(k).map(|(row, s)| (row, score(&s), Some(score(&s)), None)).collect()
            }
            (None, Some(dense)) => {
                dense.into_iter().take(k).map(|(row, s)| (row, score(&s), None, Some(score(&s)))).collect()
            }
            (None, None) => Vec::new(),
        };
        ranked
            .into_iter()
            .map(|(row, score, sparse, dense)| {
                Ok(Hit { passage: Arc::new(self.passage(row)?), score, sparse, dense })
            })
            .collect()
    }
}

impl EmbeddedIndex {
    /// Opens the index in `folder`. Without an embedder, or when the index holds no vectors, it searches by BM25 alone,
    /// and [`mode`](Self::mode) says so.
    ///
    /// # Errors
    /// When there is no whole index in the folder, when it has another version or is damaged, or when its vectors were
    /// made by another embedder than the one given.
    pub fn open(folder: impl Into<PathBuf>, embedder: Option<Arc<dyn Embedder>>) -> Result<Self> {
        let folder = folder.into();
        let snapshot = Arc::new(guarded(|| Snapshot::open(&folder))??);
        if let (Some(made_by), Some(given)) = (&snapshot.manifest.embedder, &embedder)
            && (made_by.identity != given.identity() || made_by.dimension != given.dimension())
        {
            return Err(Error::invalid(
                format!("index {}", folder.display()),
                format!(
                    "its vectors were made by {}, which {} does not understand; choose that embedder or build \
                         the index again",
                    made_by.identity,
                    given.identity()
                ),
            ));
        }
        let mut index = Self {
            folder,
            snapshot,
            embedder,
            options: SearchOptions::default(),
            limits: Limits::default(),
            identity: String::new(),
        };
        index.name();
        Ok(index)
    }

    /// The same index, searched with `options` from here on.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn with_options(mut self, options: SearchOptions) -> Result<Self> {
        options.check()?;
        self.options = options;
        self.name();
        Ok(self)
    }

    /// The same index, with other bounds on what may be asked.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How it is searched.
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many passages can be found.
    pub fn len(&self) -> u64 {
        self.snapshot.manifest.passages
    }

    /// Whether there is nothing to be found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which searches it makes.
    pub fn mode(&self) -> SearchMode {
        self.mode_for(&self.options, self.embedder.is_some())
    }

    fn mode_for(&self, options: &SearchOptions, can_embed: bool) -> SearchMode {
        if options.alpha >= 1.0 {
            SearchMode::SparseByChoice
        } else if self.snapshot.manifest.embedder.is_none() {
            SearchMode::SparseWithoutVectors
        } else if !can_embed {
            SearchMode::SparseWithoutEmbedder
        } else if options.alpha <= 0.0 {
            SearchMode::DenseByChoice
        } else {
            SearchMode::Hybrid
        }
    }

    /// What is known of the index without searching it.
    pub fn info(&self) -> IndexInfo {
        let manifest = &self.snapshot.manifest;
        IndexInfo {
            passages: manifest.passages,
            deleted: manifest.segments.iter().map(|s| u64::from(s.deleted)).sum(),
            embedder: manifest.embedder.clone(),
            bm25: manifest.bm25,
            segments: manifest.segments.len(),
            bytes: manifest.segments.iter().flat_map(|s| &s.files).map(|(_, bytes)| bytes).sum(),
            content: manifest.content.to_string(),
            generation: manifest.generation,
            written_by: manifest.written_by.clone(),
            format: manifest.format,
        }
    }

    /// The passage called `id`, if it is there.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn get(&self, id: &PassageId) -> Result<Option<Passage>> {
        let Some((at, row)) = self.snapshot.find(id) else { return Ok(None) };
        self.snapshot.segments.get(at).map(|s| s.texts.passage(row as usize)).transpose()
    }

    /// The passage in place `row` of the index, counted from 0 over its segments; `None` behind the last, or when it was
    /// deleted. For walking through all of them.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn passage_at(&self, row: u32) -> Result<Option<Passage>> {
        match self.snapshot.locate(row) {
            Some((segment, at)) if at < segment.texts.rows() && segment.is_live(at as u32) => {
                segment.texts.passage(at).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The engine's own part of a search, on the caller's thread: `vector` is the embedding of the query, or `None` to
    /// search by BM25 alone.
    ///
    /// # Errors
    /// When an option or the vector makes no sense, or the index is damaged.
    pub fn search_with_vector(
        &self,
        query: &str,
        vector: Option<&[f32]>,
        k: usize,
        options: &SearchOptions,
    ) -> Result<Vec<Hit>> {
        options.check()?;
        self.limits.check_k(k)?;
        if k == 0 || query.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mode = self.mode_for(options, vector.is_some());
        let snapshot = &self.snapshot;
        let sparse = (mode != SearchMode::DenseByChoice)
            .then(|| snapshot.sparse(query, options.n_sparse.max(k), options))
            .transpose()?;
        let dense = match vector {
            Some(vector) if matches!(mode, SearchMode::Hybrid | SearchMode::DenseByChoice) => {
                Some(snapshot.dense(vector, options.n_dense.max(k))?)
            }
            _ => None,
        };
        snapshot.hits(sparse, dense, k, options)
    }

    /// BM25 alone, as ids and scores, on the caller's thread: for measuring.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn search_sparse(&self, query: &str, n: usize) -> Result<Vec<(PassageId, f64)>> {
        let rows = self.snapshot.sparse(query, n, &self.options)?;
        Ok(rows.into_iter().map(|(row, score)| (PassageId::new(self.snapshot.id(row)), score)).collect())
    }

    /// The vector search alone, as ids and dot products, on the caller's thread: for measuring. `exact` compares with
    /// every vector in the form in which it is stored.
    ///
    /// # Errors
    /// When the vector makes no sense.
    pub fn search_dense(&self, vector: &[f32], n: usize, exact: bool) -> Result<Vec<(PassageId, f64)>> {
        let rows = if exact {
            self.snapshot.check_vector(vector)?;
            let rows = vectors::search_exhaustively(&self.snapshot.vector_views(), vector, n);
            best_by_id(rows, n, |row| self.snapshot.id(row))
        } else {
            self.snapshot.dense(vector, n)?
        };
        Ok(rows.into_iter().map(|(row, score)| (PassageId::new(self.snapshot.id(row)), score)).collect())
    }

    /// As [`Retriever::search`], with options of its own.
    ///
    /// # Errors
    /// As for [`Retriever::search`].
    pub async fn search_with(&self, query: &str, k: usize, options: &SearchOptions) -> Result<Vec<Hit>> {
        options.check()?;
        self.limits.check_k(k)?;
        if k == 0 || query.trim().is_empty() || self.is_empty() {
            return Ok(Vec::new());
        }
        let mode = self.mode_for(options, self.embedder.is_some());
        let sparse = async {
            if mode == SearchMode::DenseByChoice {
                return Ok(None);
            }
            let (snapshot, query, options) = (Arc::clone(&self.snapshot), query.to_owned(), options.clone());
            on_cpu(move || snapshot.sparse(&query, options.n_sparse.max(k), &options)).await.map(Some)
        };
        let dense = async {
            let embedder = match &self.embedder {
                Some(embedder) if matches!(mode, SearchMode::Hybrid | SearchMode::DenseByChoice) => embedder,
                _ => return Ok(None),
            };
            let vectors = embedder.embed(&[query]).await?;
            let Some(vector) = vectors.into_iter().next() else {
                return Err(Error::failed("embedding the query", "the embedder gave no vector"));
            };
            let (snapshot, n) = (Arc::clone(&self.snapshot), options.n_dense.max(k));
            on_cpu(move || snapshot.dense(&vector, n)).await.map(Some)
        };
        let (sparse, dense) = tokio::try_join!(sparse, dense)?;
        let (snapshot, options) = (Arc::clone(&self.snapshot), options.clone());
        on_cpu(move || snapshot.hits(sparse, dense, k, &options)).await
    }

    /// Takes up what another process has written since.
    ///
    /// # Errors
    /// As for [`EmbeddedIndex::open`].
    pub fn reload(&mut self) -> Result<()> {
        self.snapshot = Arc::new(guarded(|| Snapshot::open(&self.folder))??);
        self.name();
        Ok(())
    }

    /// Works out the identity: all that can change a result.
    fn name(&mut self) {
        let manifest = &self.snapshot.manifest;
        let embedder = manifest.embedder.as_ref().map(|e| e.identity.as_str());
        // Deleted rows still count in the statistics of BM25.
        let deleted: u32 = manifest.segments.iter().map(|s| s.deleted).sum();
        let all = format!(
            "{} {} {} {} {deleted} {embedder:?} {:?} {:?} {:?}",
            manifest.format,
            manifest.analyzer,
            manifest.content,
            manifest.passages,
            manifest.bm25,
            self.options,
            self.mode(),
        );
        self.identity = format!("embedded:{}", sha256_hex(all));
    }
}

#[async_trait]
impl Retriever for EmbeddedIndex {
    fn identity(&self) -> &str {
        &self.identity
    }

    async fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        self.search_with(query, k, &self.options).await
    }
}

/// Runs work on the threads for computing, so that the caller's runtime goes on meanwhile.
pub(crate) async fn on_cpu<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (send, receive) = tokio::sync::oneshot::channel();
    rayon::spawn(move || {
        // A receiver that is gone was cancelled.
        let _ = send.send(guarded(work).and_then(|result| result));
    });
    receive.await.map_err(|_| Error::failed("searching the index", "the search was broken off"))?
}

/// Turns a panic of the code that reads the index into an error: bytes that were changed behind our back can lead to one
/// inside tantivy, and must not bring down a server.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let words = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Error::failed("reading the index", format!("it may be damaged: {words}; build it again"))
    })
}
