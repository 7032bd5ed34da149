//! Claims: the facts that one states, the entity it is about, and which sentences are claims at all.
//!
//! A claim is checked fact by fact, against passages about its subject: a passage about somebody else with the same
//! surname neither supports nor refutes it. Everything here prefers silence to a wrong reading: a claim that is hard to
//! split stays whole, and a passage without a name is neither about the subject nor about another.

mod about;
mod checkable;
mod chinese;
mod facts;
mod subject;
mod verbs;
mod words;

pub use about::{About, is_about};
pub use checkable::{checkable, is_question};
pub use facts::facts;
pub use subject::{Name, subject};

#[cfg(test)]
mod tests;
