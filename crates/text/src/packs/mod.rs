//! Language packs: the word lists that the rules read, as plain tables, so that a language is added or corrected
//! without touching a rule.

pub mod chinese;
pub mod english;
pub mod names;
pub mod units;
