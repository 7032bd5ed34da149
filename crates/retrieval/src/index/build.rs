//! Building an index: reading, embedding and writing side by side.
//!
//! A thread reads and cuts documents, the caller's task has them embedded, another thread writes segments. Bounded
//! channels hold them together, so that memory does not grow with the corpus; when the build is cancelled the channels
//! close, the threads end, and no manifest is written.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterproof_core::{Embedder, Error, Passage, Result};
use futures::{StreamExt, stream};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::content::{ContentDigest, id_key, words_key};
use super::guarded;
use super::manifest::{EmbedderInfo, MANIFEST, Manifest, SEGMENTS, WriteLock, sync_folder};
use super::segment::SegmentWriter;
use crate::bm25::Bm25Params;
use crate::corpus::{self, Progress, ReadOptions, ReadReport, RowError};
use crate::passages::{PassageOptions, split};

/// Passages of a full segment. More make a search visit fewer segments; fewer make building need less memory.
const SEGMENT_ROWS: u32 = 1 << 17;

/// Passages that are embedded and written together.
const BATCH: usize = 256;

/// Batches that are being embedded at a time: one more than one, so that the embedder never waits for the disk.
const EMBEDDING: usize = 2;

/// Batches that wait between two stages.
const WAITING: usize = 4;

/// Row errors that a report keeps; the others are counted.
const ERRORS_KEPT: usize = 100;

/// How far a build has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BuildProgress {
    /// Bytes of the sources read so far. Reading runs only a few batches ahead of the rest, so that this is also the share
    /// of the work that is done.
    pub bytes_read: u64,
    /// Bytes of the sources in all; 0 when that is not known.
    pub bytes_total: u64,
    /// Passages embedded and handed to the writer so far.
    pub passages: u64,
}

/// What came of a build.
#[derive(Debug, Clone, Default)]
pub struct BuildReport {
    /// Passages in the index.
    pub passages: u64,
    /// What became of the rows of the sources.
    pub read: ReadReport,
    /// Passages left out because another one has the same title and text.
    pub duplicates: u64,
    /// Passages left out because another one with other words has the same id.
    pub conflicts: u64,
    /// The first rows that could not be read, and the first conflicts.
    pub errors: Vec<RowError>,
    /// How long it took.
    pub elapsed: Duration,
}

type OnProgress = dyn Fn(&BuildProgress) + Send + Sync;

/// Builds an index in a folder.
///
/// A build that fails, or is broken off in any way, leaves the folder as it was: an index that stood there is still
/// whole and still found, until the new one takes its place in one step.
pub struct IndexBuilder {
    folder: PathBuf,
    embedder: Option<Arc<dyn Embedder>>,
    bm25: Bm25Params,
    passages: PassageOptions,
    read: ReadOptions,
    overwrite: bool,
    segment_rows: u32,
    on_progress: Option<Box<OnProgress>>,
}

impl std::fmt::Debug for IndexBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexBuilder").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl IndexBuilder {
    /// A builder of an index in `folder`, which is made if it is not there. Without an embedder the index holds no vectors.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            embedder: None,
            bm25: Bm25Params::default(),
            passages: PassageOptions::default(),
            read: ReadOptions::default(),
            overwrite: false,
            segment_rows: SEGMENT_ROWS,
            on_progress: None,
        }
    }

    /// Makes vectors with `embedder`.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// The parameters of BM25 that searches use unless they bring their own.
    #[must_use]
    pub fn bm25(mut self, params: Bm25Params) -> Self {
        self.bm25 = params;
        self
    }

    /// How documents are cut.
    #[must_use]
    pub fn passages(mut self, options: PassageOptions) -> Self {
        self.passages = options;
        self
    }

    /// How the sources are read.
    #[must_use]
    pub fn read(mut self, options: ReadOptions) -> Self {
        self.read = options;
        self
    }

    /// Whether an index that is in the folder already may be replaced.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Passages of a full segment, 131,072 unless set.
    #[must_use]
    pub fn segment_rows(mut self, rows: u32) -> Self {
        self.segment_rows = rows.max(1);
        self
    }

    /// Calls `f` after every batch.
    #[must_use]
    pub fn on_progress(mut self, f: impl Fn(&BuildProgress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Box::new(f));
        self
    }

    /// Reads the sources (files or folders, see [`corpus::open`]), cuts them into passages and builds the index.
    ///
    /// # Errors
    /// When a source cannot be opened, when the folder holds something that may not be replaced, when the embedder
    /// fails, or when the disk does. Rows that cannot be read are in the report.
    pub async fn build(self, sources: &[PathBuf]) -> Result<BuildReport> {
        let mut opened = Vec::with_capacity(sources.len());
        for source in sources {
            opened.push(corpus::open(source, &self.read)?);
        }
        let progress: Vec<Progress> = opened.iter().map(corpus::Documents::progress).collect();
        let options = self.passages;
        self.run(progress, move |reader| {
            for mut documents in opened {
                for row in documents.by_ref() {
                    let going_on = match row {
                        Ok(document) => {
                            split(&document, &options).into_iter().all(|passage| reader.take(passage))
                        }
                        Err(error) => {
                            reader.error(error);
                            true
                        }
                    };
                    if !going_on {
                        return;
                    }
                }
                reader.report.read = sum(reader.report.read, documents.report());
            }
        })
        .await
    }

    /// Builds the index from passages as they are.
    ///
    /// # Errors
    /// As for [`IndexBuilder::build`].
    pub async fn build_from<I>(self, passages: I) -> Result<BuildReport>
    where
        I: IntoIterator<Item = Passage> + Send + 'static,
    {
        self.run(Vec::new(), move |reader| {
            for passage in passages {
                if !reader.take(passage) {
                    return;
                }
            }
        })
        .await
    }

    async fn run(
        self,
        progress: Vec<Progress>,
        read: impl FnOnce(&mut Reader) + Send + 'static,
    ) -> Result<BuildReport> {
        let started = Instant::now();
        self.bm25.check()?;
        let (lock, manifest) = self.prepare()?;
        let segments = self.folder.join(SEGMENTS);

        let (to_embedding, batches) = channel(WAITING);
        let reading = spawn(move || {
            let mut reader = Reader::new(to_embedding);
            read(&mut reader);
            reader.flush();
            Ok(reader.report)
        })?;
        let (to_writing, ready) = channel(WAITING);
        let (folder, rows) = (self.folder.clone(), self.segment_rows);
        let writing = spawn(move || {
            let _lock = lock;
            let generation = manifest.generation;
            let result = write(&folder, &segments, manifest, rows, ready);
            if result.is_err() {
                discard(&segments, generation);
            }
            result
        })?;

        let embedder = self.embedder.clone();
        let batches = stream::unfold(batches, |mut batches: Receiver<Vec<Passage>>| async move {
            batches.recv().await.map(|batch| (batch, batches))
        });
        let mut embedded = std::pin::pin!(
            batches
                .map(|batch| {
                    let embedder = embedder.clone();
                    async move {
                        let vectors = match &embedder {
                            Some(embedder) => Some(embed(embedder.as_ref(), &batch).await?),
                            None => None,
                        };
                        Ok::<_, Error>((batch, vectors))
                    }
                })
                .buffered(EMBEDDING)
        );
        let mut so_far = BuildProgress::default();
        let mut failure = None;
        while let Some(batch) = embedded.next().await {
            let (passages, vectors) = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            };
            so_far.passages += passages.len() as u64;
            if to_writing.send(ToWriter::Batch(passages, vectors)).await.is_err() {
                break; // The writer has failed; it says why below.
            }
            if let Some(on_progress) = &self.on_progress {
                so_far.bytes_read = progress.iter().map(Progress::bytes_read).sum();
                so_far.bytes_total = progress.iter().map(Progress::bytes_total).sum();
                on_progress(&so_far);
            }
        }
        let finished = failure.is_none();
        if finished {
            let _ = to_writing.send(ToWriter::Finish).await;
        }
        drop(to_writing);
        let written =
            writing.await.map_err(|_| Error::failed("building the index", "the writer ended early"))?;
        if let Some(error) = failure {
            return Err(error);
        }
        let passages = written?;
        let report =
            reading.await.map_err(|_| Error::failed("building the index", "the reader ended early"))??;
        Ok(BuildReport { passages, elapsed: started.elapsed(), ..report })
    }

    /// Checks that the folder may be written to, takes the right to, and gives the manifest to start from.
    fn prepare(&self) -> Result<(WriteLock, Manifest)> {
        let folder = &self.folder;
        fs::create_dir_all(folder).map_err(|e| Error::io("creating", folder, &e))?;
        let what = format!("index folder {}", folder.display());
        let is_index = folder.join(MANIFEST).exists();
        let has_segments = folder.join(SEGMENTS).is_dir();
        if is_index && !self.overwrite {
            return Err(Error::invalid(
                what,
                "it holds an index already; name another folder, or say that it may be replaced (--force)",
            ));
        }
        let reading = |e: std::io::Error| Error::io("reading", folder, &e);
        if !is_index && !has_segments && fs::read_dir(folder).map_err(reading)?.next().is_some() {
            return Err(Error::invalid(what, "it is not empty and holds no index; name a new folder"));
        }
        let lock = WriteLock::take(folder)?;
        let segments = folder.join(SEGMENTS);
        fs::create_dir_all(&segments).map_err(|e| Error::io("creating", &segments, &e))?;
        let embedder = self
            .embedder
            .as_ref()
            .map(|e| EmbedderInfo { identity: e.identity().to_owned(), dimension: e.dimension() });
        let mut manifest = Manifest::new(self.bm25, embedder);
        manifest.generation = next_generation(folder);
        Ok((lock, manifest))
    }
}

/// A generation that no manifest and no segment, finished or not, has used.
pub(super) fn next_generation(folder: &Path) -> u64 {
    let used = fs::read_dir(folder.join(SEGMENTS))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.split_once('-')?.0.parse::<u64>().ok());
    let written = Manifest::read(folder).map_or(0, |manifest| manifest.generation);
    used.max().unwrap_or(0).max(written) + 1
}

/// Removes what a generation that failed has written, which frees the disk that may just have filled.
pub(super) fn discard(segments: &Path, generation: u64) {
    let prefix = format!("{generation}-");
    for entry in fs::read_dir(segments).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// What is embedded of a passage: its title and its words.
pub(super) async fn embed(embedder: &dyn Embedder, passages: &[Passage]) -> Result<Vec<Vec<f32>>> {
    let texts: Vec<String> = passages
        .iter()
        .map(|p| if p.title.is_empty() { p.text.clone() } else { format!("{}. {}", p.title, p.text) })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts).await?;
    if vectors.len() != passages.len() {
        let problem =
            format!("{} gave {} vectors for {}", embedder.identity(), vectors.len(), passages.len());
        return Err(Error::failed("embedding passages", problem));
    }
    Ok(vectors)
}

fn sum(a: ReadReport, b: ReadReport) -> ReadReport {
    ReadReport {
        documents: a.documents + b.documents,
        failed: a.failed + b.failed,
        empty: a.empty + b.empty,
        invalid_utf8: a.invalid_utf8 + b.invalid_utf8,
        nul: a.nul + b.nul,
    }
}

/// Collects passages into batches and leaves out what was there before.
struct Reader {
    to: Sender<Vec<Passage>>,
    batch: Vec<Passage>,
    /// What the words of each id were.
    ids: HashMap<u64, u128>,
    words: HashSet<u128>,
    report: BuildReport,
}

impl Reader {
    fn new(to: Sender<Vec<Passage>>) -> Self {
        Self {
            to,
            batch: Vec::with_capacity(BATCH),
            ids: HashMap::new(),
            words: HashSet::new(),
            report: BuildReport::default(),
        }
    }

    fn error(&mut self, error: RowError) {
        if self.report.errors.len() < ERRORS_KEPT {
            self.report.errors.push(error);
        }
    }

    /// Takes a passage; false when nobody is waiting for it any more.
    fn take(&mut self, passage: Passage) -> bool {
        let words = words_key(&passage);
        match self.ids.entry(id_key(&passage.id)) {
            std::collections::hash_map::Entry::Occupied(seen) => {
                if *seen.get() == words {
                    self.report.duplicates += 1;
                } else {
                    self.report.conflicts += 1;
                    let problem =
                        format!("id {} is used twice, with other words; the first stays", passage.id);
                    self.error(RowError { path: PathBuf::new(), line: None, problem });
                }
                return true;
            }
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(words);
            }
        }
        if !self.words.insert(words) {
            self.report.duplicates += 1;
            return true;
        }
        self.batch.push(passage);
        self.batch.len() < BATCH || self.flush()
    }

    fn flush(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.to.blocking_send(batch).is_ok()
    }
}

enum ToWriter {
    Batch(Vec<Passage>, Option<Vec<Vec<f32>>>),
    /// Everything has come: without it the writer commits nothing.
    Finish,
}

fn write(
    folder: &Path,
    segments: &Path,
    mut manifest: Manifest,
    segment_rows: u32,
    mut ready: Receiver<ToWriter>,
) -> Result<u64> {
    let dimension = manifest.embedder.as_ref().map(|e| e.dimension);
    let mut open: Option<SegmentWriter> = None;
    let mut finished = false;
    while let Some(message) = ready.blocking_recv() {
        let ToWriter::Batch(passages, vectors) = message else {
            finished = true;
            break;
        };
        let mut vectors = vectors.map(Vec::into_iter);
        for passage in passages {
            let writer = match &mut open {
                Some(writer) => writer,
                None => {
                    let name = format!("{}-{}", manifest.generation, manifest.segments.len());
                    open.insert(SegmentWriter::create(segments, &name, dimension)?)
                }
            };
            let vector = vectors.as_mut().and_then(Iterator::next);
            writer.add(&passage, vector.as_deref())?;
            manifest.passages += 1;
            manifest.content.add(ContentDigest::of(&passage));
            if writer.rows() >= segment_rows
                && let Some(full) = open.take()
            {
                manifest.segments.push(full.finish()?);
            }
        }
    }
    if !finished {
        return Err(Error::failed("building the index", "it was broken off before its end"));
    }
    if let Some(last) = open {
        manifest.segments.push(last.finish()?);
    }
    sync_folder(segments).map_err(|e| Error::io("writing", segments, &e))?;
    manifest.commit(folder)?;
    manifest.sweep(folder);
    Ok(manifest.passages)
}

/// Runs `work` on a thread of its own; a panic there is an error here.
pub(super) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<tokio::sync::oneshot::Receiver<Result<T>>> {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("counterproof-index".to_owned())
        .spawn(move || {
            // Nobody to tell means that the build was cancelled.
            let _ = send.send(guarded(work).and_then(|result| result));
        })
        .map_err(|e| Error::failed("building the index", e))?;
    Ok(receive)
}
