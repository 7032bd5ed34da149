//! BM25 over tantivy's postings, with `k1` and `b` of one's own.
//!
//! tantivy keeps the inverted index: terms, postings, lengths. Its own scorer has `k1 = 1.2` and `b = 0.75` written
//! into its code, which suits whole pages better than passages of a hundred words, so the scoring is done here, over
//! the same postings (see [`max_score`]):
//!
//! ```text
//! score(q, d) = sum over terms t of q:  qtf(t) * idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avg))
//! idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))
//! ```
//!
//! This is the form of Lucene since version 8: without the constant factor `k1 + 1`, which changes no order. Title and text
//! of a passage are one field, in which the title stands twice; lengths are tantivy's, rounded to 256 levels.

pub(crate) mod max_score;
pub(crate) mod memory;
pub(crate) mod top;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use counterproof_core::{Error, InternalError, Result};
use serde::{Deserialize, Serialize};
use tantivy::directory::{MmapDirectory, OwnedBytes};
use tantivy::indexer::SingleSegmentIndexWriter;
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{
    Index, IndexBuilder, IndexSettings, InvertedIndexReader, SegmentReader, TantivyDocument, Term,
};

use crate::analyzer;
use crate::bitmap::Bitmap;
use max_score::{Cursor, ScoreTable};
use top::TopRows;

/// What tantivy reserves at the start; it grows with the segment.
const MEMORY_BUDGET: usize = 64 << 20;

/// How often the words of a title count. Twice finds more than once for claims and for questions alike, see
/// `docs/BENCHMARKS.md`.
const TITLE_WEIGHT: usize = 2;

/// The two parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bm25Params {
    /// How fast a repeated term stops counting.
    pub k1: f32,
    /// How much the length of a passage counts, 0 to 1.
    pub b: f32,
}

impl Default for Bm25Params {
    /// Anserini's values for passages: `k1` 0.9, `b` 0.4.
    fn default() -> Self {
        Self { k1: 0.9, b: 0.4 }
    }
}

impl Bm25Params {
    /// Checks the ranges.
    pub(crate) fn check(self) -> Result<()> {
        if !(self.k1.is_finite() && self.k1 >= 0.0) {
            return Err(Error::invalid("k1", format!("{} is not a number from 0 up", self.k1)));
        }
        if !(0.0..=1.0).contains(&self.b) {
            return Err(Error::invalid("b", format!("{} is not between 0 and 1", self.b)));
        }
        Ok(())
    }
}

fn schema() -> (Schema, Field) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(analyzer::NAME)
        .set_index_option(IndexRecordOption::WithFreqs);
    let words = schema.add_text_field("words", TextOptions::default().set_indexing_options(indexing));
    (schema.build(), words)
}

fn failed(error: &tantivy::TantivyError) -> Error {
    Error::failed("writing the term index", error)
}

/// Writes the postings of one segment; rows are numbered in the order they are added.
pub(crate) struct LexicalWriter {
    writer: SingleSegmentIndexWriter,
    words: Field,
}

impl LexicalWriter {
    pub(crate) fn on_disk(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("creating", folder, &e))?;
        let directory =
            MmapDirectory::open(folder).map_err(|e| Error::failed("opening the term index", e))?;
        let (schema, words) = schema();
        let tokenizers = tantivy::tokenizer::TokenizerManager::new();
        tokenizers.register(analyzer::NAME, analyzer::analyzer());
        let writer = IndexBuilder::new()
            .schema(schema)
            .settings(IndexSettings::default())
            .tokenizers(tokenizers)
            .single_segment_index_writer(directory, MEMORY_BUDGET)
            .map_err(|e| failed(&e))?;
        Ok(Self { writer, words })
    }

    pub(crate) fn add(&mut self, title: &str, text: &str) -> Result<()> {
        let mut document = TantivyDocument::default();
        for _ in 0..TITLE_WEIGHT {
            document.add_text(self.words, title);
        }
        document.add_text(self.words, text);
        self.writer.add_document(document).map_err(|e| failed(&e))
    }

    /// Writes everything out.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.finalize().map(|_| ()).map_err(|e| failed(&e))
    }
}

/// The postings of one segment, open for search.
pub(crate) struct LexicalSegment {
    inverted: Arc<InvertedIndexReader>,
    /// Length of each row, as tantivy's one-byte level.
    lengths: OwnedBytes,
    words: Field,
    rows: u32,
    terms_in_all: u64,
}

impl LexicalSegment {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let damaged = |message: String| {
            Error::from(InternalError::Damaged {
                path: folder.display().to_string(),
                message: format!("{message}; build the index again"),
            })
        };
        let index = Index::open_in_dir(folder).map_err(|e| damaged(e.to_string()))?;
        Self::of_index(&index).map_err(|e| damaged(e.to_string()))
    }

    fn of_index(index: &Index) -> Result<Self> {
        let context = "opening the term index";
        let segments = index.searchable_segments().map_err(|e| Error::failed(context, e))?;
        let [segment] = segments.as_slice() else {
            return Err(Error::failed(context, format!("it has {} segments and not 1", segments.len())));
        };
        let words = index.schema().get_field("words").map_err(|e| Error::failed(context, e))?;
        let reader = SegmentReader::open(segment).map_err(|e| Error::failed(context, e))?;
        let inverted = reader.inverted_index(words).map_err(|e| Error::failed(context, e))?;
        let lengths = reader
            .fieldnorms_readers()
            .get_inner_file()
            .open_read(words)
            .ok_or_else(|| Error::failed(context, "it holds no lengths"))?
            .read_bytes()
            .map_err(|e| Error::failed(context, e))?;
        let terms_in_all = inverted.total_num_tokens();
        Ok(Self { inverted, lengths, words, rows: reader.max_doc(), terms_in_all })
    }

    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }
}

/// One segment as a search sees it.
#[derive(Clone, Copy)]
pub(crate) struct LexicalView<'a> {
    pub(crate) segment: &'a LexicalSegment,
    /// Rows that do not count any more.
    pub(crate) deleted: Option<&'a Bitmap>,
    /// Number of the segment's first row in the whole index.
    pub(crate) first_row: u32,
}

/// The terms of a query that the passages know, with their weights.
struct Weighing<P> {
    /// What a weight is multiplied with before it is rounded. Scores are summed as integers: the order of summation
    /// then cannot matter, so equal passages have equal scores however the search came to them. The scale leaves room
    /// for every term at its greatest, and for rounding up.
    scale: f64,
    /// `qtf * idf` and the postings of each term, by term.
    terms: Vec<(f64, P)>,
}

impl<P> Weighing<P> {
    /// Weighs the terms of `query` among `rows` passages. `look_up` gives a term's document frequency and postings,
    /// `Some(None)` for a term that no passage holds, and `None` to give up.
    fn of_query(
        query: &str,
        rows: u64,
        mut look_up: impl FnMut(&str) -> Option<Option<(u64, P)>>,
    ) -> Option<Self> {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for term in analyzer::terms(query) {
            *counts.entry(term).or_insert(0) += 1;
        }
        let mut terms = Vec::with_capacity(counts.len());
        for (term, times) in &counts {
            if let Some((df, postings)) = look_up(term)? {
                let idf = (1.0 + (rows.saturating_sub(df) as f64 + 0.5) / (df as f64 + 0.5)).ln();
                terms.push((f64::from(*times) * idf, postings));
            }
        }
        let all: f64 = terms.iter().map(|(weight, _)| *weight).sum();
        (all > 0.0).then(|| Self { scale: f64::from(1u32 << 30) / all, terms })
    }
}

/// The best `k` rows for `query` over all segments, with every row that ties with the last of them, in no
/// particular order. Deleted rows still count in `N`, `df` and the average length, as they do in Lucene, until their
/// segment is rewritten.
pub(crate) fn search(
    views: &[LexicalView<'_>],
    query: &str,
    k: usize,
    params: Bm25Params,
) -> Result<Vec<(u32, f64)>> {
    let rows: u64 = views.iter().map(|v| u64::from(v.segment.rows)).sum();
    let terms_in_all: u64 = views.iter().map(|v| v.segment.terms_in_all).sum();
    if k == 0 || rows == 0 || terms_in_all == 0 {
        return Ok(Vec::new());
    }
    let mut failure = None;
    let weighing = Weighing::of_query(query, rows, |term| {
        let infos = views
            .iter()
            .map(|v| v.segment.inverted.get_term_info(&Term::from_field_text(v.segment.words, term)))
            .collect::<std::io::Result<Vec<_>>>();
        let infos: Vec<Option<TermInfo>> = match infos {
            Ok(infos) => infos,
            Err(error) => {
                failure = Some(error);
                return None;
            }
        };
        let df: u64 = infos.iter().flatten().map(|info| u64::from(info.doc_freq)).sum();
        Some((df > 0).then_some((df, infos)))
    });
    let read = |e: std::io::Error| Error::failed("reading the term index", e);
    if let Some(error) = failure {
        return Err(read(error));
    }
    let Some(Weighing { scale, terms }) = weighing else { return Ok(Vec::new()) };
    let table = ScoreTable::new(params, terms_in_all as f64 / rows as f64);
    let mut top = TopRows::new(k);
    for (at, view) in views.iter().enumerate() {
        let mut cursors = Vec::with_capacity(terms.len());
        for (weight, infos) in &terms {
            let Some(info) = infos.get(at).and_then(Option::as_ref) else { continue };
            let postings = view
                .segment
                .inverted
                .read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)
                .map_err(read)?;
            cursors.push(Cursor::new(postings, (weight * scale) as f32));
        }
        let accept = |row| view.deleted.is_none_or(|deleted| !deleted.contains(row));
        max_score::collect(&mut cursors, &view.segment.lengths, &table, view.first_row, accept, &mut top);
    }
    Ok(top.into_rows().into_iter().map(|(row, score)| (row, f64::from(score) / scale)).collect())
}
