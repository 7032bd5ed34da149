//! Examples for the reader: questions with the spans that answer them, and with passages that look as if they did.

use std::ops::Range;
use std::sync::Arc;

use counterproof_core::{Passage, Result};
use counterproof_datasets::claims::Evidence;
use counterproof_datasets::collection::SplitShares;
use counterproof_datasets::spans::SpanQuestion;
use counterproof_datasets::{Collection, Key, Split, Splits};

use super::questions::{self, Asked};
use super::row_random;
use super::search::{Search, content_terms, coverage};
use crate::examples::SpanExample;

/// How the examples are made.
#[derive(Debug, Clone, PartialEq)]
pub struct ReaderOptions {
    /// Where chance decides, this decides it.
    pub seed: u64,
    /// What is kept for reports.
    pub shares: SplitShares,
    /// Passages without an answer, found for the question, per training question; a part of one is a probability.
    pub negatives: f32,
    /// Whether Chinese questions are among them.
    pub chinese: bool,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { seed: 1, shares: SplitShares::default(), negatives: 0.35, chinese: false }
    }
}

/// Examples of one set that are kept for a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanSet {
    /// The set.
    pub name: &'static str,
    /// Its examples; each question with a passage that answers it and, where one was found, one that does not.
    pub examples: Vec<SpanExample>,
    /// For each example every answer that counts as right, also where the passage holds none.
    pub golds: Vec<Vec<String>>,
}

/// Everything the reader is trained and judged on.
#[derive(Debug, Clone, PartialEq)]
pub struct ReaderData {
    /// Training.
    pub train: Vec<SpanExample>,
    /// Validation.
    pub validation: Vec<SpanExample>,
    /// What figures are reported on.
    pub report: Vec<SpanSet>,
}

/// Makes the examples.
///
/// # Errors
/// When the passages cannot be indexed.
pub fn build(data: &Collection, options: &ReaderOptions) -> Result<ReaderData> {
    let splits = data.splits(&options.shares);
    let asked: Vec<Asked> = questions::all(data, &splits)
        .into_iter()
        // A span of several hops cannot be told from one passage, and a false passage is read like a true one.
        .filter(|a| a.set != "hotpotqa-adversarial")
        .collect();
    let search = Search::new(data.corpus().chain(asked.iter().map(|a| a.passage.clone())))?;
    let queries: Vec<String> = asked.iter().map(|a| a.question.clone()).collect();
    let found = search.all(&queries, 10)?;
    let mut out = ReaderData { train: Vec::new(), validation: Vec::new(), report: Vec::new() };
    for (row, found) in asked.iter().zip(&found) {
        let mut random =
            row_random(options.seed, &format!("reader\u{1f}{}\u{1f}{}", row.question, row.passage.text));
        let mut examples = vec![example(row, &row.passage.text, disjoint(row), "passage")];
        let wanted = row.split == Split::Report || random.unit() < options.negatives;
        if wanted && let Some(passage) = negative(row, found) {
            examples.push(example(row, &passage.text, Vec::new(), "retrieved"));
        }
        place(&mut out, row, examples);
    }
    if options.chinese {
        chinese(&data.spans_zh, &splits, &mut out);
    }
    row_random(options.seed, "reader").shuffle(&mut out.train);
    Ok(out)
}

fn place(out: &mut ReaderData, row: &Asked, examples: Vec<SpanExample>) {
    match row.split {
        Split::Train => out.train.extend(examples),
        Split::Validation => out.validation.extend(examples),
        Split::Report => {
            let at = out.report.iter().position(|s| s.name == row.set).unwrap_or_else(|| {
                out.report.push(SpanSet { name: row.set, examples: Vec::new(), golds: Vec::new() });
                out.report.len() - 1
            });
            if let Some(set) = out.report.get_mut(at) {
                for example in examples {
                    set.examples.push(example);
                    set.golds.push(row.given.texts().to_vec());
                }
            }
        }
    }
}

fn example(row: &Asked, context: &str, answers: Vec<Range<usize>>, kind: &str) -> SpanExample {
    SpanExample {
        question: row.question.clone(),
        context: context.to_owned(),
        answers,
        group: row.group.as_str().to_owned(),
        source: format!("{}/{kind}", row.set),
    }
}

/// The answers as spans that do not overlap. Annotators marked "Denver" and "the Denver team" for one answer: of those
/// the shortest is taken; of aliases that were looked up, the longest.
fn disjoint(row: &Asked) -> Vec<Range<usize>> {
    let annotated = matches!(row.set, "squad" | "qed" | "multispanqa");
    let mut spans = row.places.clone();
    spans.sort_by_key(|s| if annotated { s.len() as i64 } else { -(s.len() as i64) });
    let mut kept: Vec<Range<usize>> = Vec::new();
    for span in spans {
        if !kept.iter().any(|k| k.start < span.end && span.start < k.end) {
            kept.push(span);
        }
    }
    kept.sort_by_key(|s| s.start);
    kept
}

/// A passage that shares words with the question and holds no answer to it.
fn negative<'a>(row: &Asked, found: &'a [Arc<Passage>]) -> Option<&'a Passage> {
    let needed = content_terms(&row.question);
    let lacks = |text: &str| !row.given.said_in(text) && (0.2..0.9).contains(&coverage(&needed, text));
    found
        .iter()
        .map(Arc::as_ref)
        .filter(|p| p.text != row.passage.text && p.text.split_whitespace().count() >= 12)
        .find(|p| row.is_answered() && lacks(&with_title(p)))
}

fn with_title(passage: &Passage) -> String {
    Evidence { title: passage.title.clone(), text: passage.text.clone() }.with_title()
}

fn chinese(rows: &[SpanQuestion], splits: &Splits, out: &mut ReaderData) {
    for row in rows {
        let group = Key::of(&row.question);
        let example = SpanExample {
            question: row.question.clone(),
            context: row.context.clone(),
            answers: row.answers.first().cloned().into_iter().collect(),
            group: group.as_str().to_owned(),
            source: "zh/passage".into(),
        };
        match splits.of_key(&group) {
            Split::Train => out.train.push(example),
            Split::Validation => out.validation.push(example),
            Split::Report => {}
        }
    }
}
