//! Reading text deterministically: normalisation, sentences, question types, values, overlap. English and Chinese.
//!
//! Everything here is a pure function of its input: no model, no network, the same result on every machine. The
//! validation rules of CounterRefine, the scorers and the candidate search all stand on it, so that a decision can be
//! explained and repeated. English and Chinese have language packs (word lists in [`packs`]); text in any other
//! language is read by the Unicode rules, and [`language::detect`] marks it as such.

pub mod abstention;
pub mod answer;
pub mod claim;
pub mod conflict;
pub mod language;
pub mod listing;
pub mod mention;
pub mod normalise;
pub mod packs;
pub mod question;
pub mod rating;
pub mod sentences;
pub mod statement;
pub mod tokens;
pub mod value;

mod han;
mod scan;
