//! Readers of published data sets, in the format each is published in, with honest splits.
//!
//! Training and reports read the same rows, so both read them here: [`read`] turns a file into typed rows and keeps
//! what it could not read, [`split`] decides by the claim or question what may be trained on, and [`Collection`] holds
//! every set of a folder together, because sets share claims and a split is only honest across all of them. Texts that
//! were published as tokens are given back as prose ([`detokenise`]): models meet prose.

pub mod claims;
pub mod collection;
pub mod detokenise;
pub mod pairs;
pub mod passages;
pub mod questions;
pub mod read;
pub mod spans;
pub mod split;

pub use collection::Collection;
pub use read::{BadRow, Place, Row, Rows};
pub use split::{Key, Split, Splits};
