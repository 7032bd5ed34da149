//! Finding evidence: corpus readers, passages, the embedded hybrid index, fusion.
//!
//! From files to hits in four steps, each a module of its own:
//!
//! 1. [`corpus`] reads whatever files people have into documents, one row at a time;
//! 2. [`passages`] cuts documents into passages of about a hundred words;
//! 3. [`index`] keeps them in a folder, with an inverted index for BM25 and, where there is an embedder, vectors;
//! 4. [`fusion`] joins the two rankings of a search into one.
//!
//! ```no_run
//! use counterproof_core::Retriever as _;
//! use counterproof_retrieval::index::{EmbeddedIndex, IndexBuilder};
//!
//! # async fn example() -> counterproof_core::Result<()> {
//! let report = IndexBuilder::new("wiki.index").build(&["articles.jsonl".into()]).await?;
//! println!("{} passages, {} rows could not be read", report.passages, report.read.failed);
//! let index = EmbeddedIndex::open("wiki.index", None)?;
//! for hit in index.search("Who designed the tower?", 5).await? {
//!     println!("{} {}", hit.score.get(), hit.passage.title);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A few passages given with a question need no folder: see [`ListRetriever`].

mod analyzer;
mod bitmap;
mod bm25;
pub mod corpus;
pub mod fusion;
pub mod index;
mod list;
pub mod passages;
mod rank;
mod vectors;

pub use analyzer::terms as query_terms;
pub use bm25::Bm25Params;
pub use list::ListRetriever;
