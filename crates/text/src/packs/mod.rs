//! Language packs: the word lists that the rules read, as plain tables, so that a language is added or corrected
//! without touching a rule.

// The tables are kept many words a line, which rustfmt would turn into one word a line.
#[rustfmt::skip]
pub mod chinese;
#[rustfmt::skip]
pub mod english;
#[rustfmt::skip]
pub mod names;
#[rustfmt::skip]
pub mod nouns;
#[rustfmt::skip]
pub mod polarity;
pub mod units;
#[rustfmt::skip]
pub mod verbs;
