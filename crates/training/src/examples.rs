//! What the trainer learns from.

use std::ops::Range;

/// How a premise bears on a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// The premise makes the hypothesis true.
    Entailment,
    /// The premise does not settle it.
    Neutral,
    /// The premise makes it false.
    Contradiction,
}

/// What is known of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// One of three classes.
    Is(Label),
    /// Not entailed: from a source that does not tell neutral from contradicted. The loss is that of the two classes
    /// together.
    NotEntailed,
}

/// A pair for the verifier.
#[derive(Debug, Clone, PartialEq)]
pub struct PairExample {
    /// The evidence.
    pub premise: String,
    /// The statement.
    pub hypothesis: String,
    /// What is known of it.
    pub target: Target,
    /// How much its loss counts; 1 is usual.
    pub weight: f32,
    /// The claim or question it stems from: rows with the same key never fall on two sides of a split.
    pub group: String,
    /// The data set, and after a slash the kind of row, such as `nq/same-passage`.
    pub source: String,
}

/// An example for the reader.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanExample {
    /// The question.
    pub question: String,
    /// The passage.
    pub context: String,
    /// Where the answers lie in `context`, in bytes on character bounds; none where it holds no answer.
    pub answers: Vec<Range<usize>>,
    /// The question's key: rows with the same key never fall on two sides of a split.
    pub group: String,
    /// The data set, and after a slash the kind of row.
    pub source: String,
}
