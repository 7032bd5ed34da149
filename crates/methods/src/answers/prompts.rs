//! The prompts of this method: files beside this one, each in English and in Chinese, chosen by the language of the
//! question.

use counterproof_core::Result;
use counterproof_models::prompts::{Rendered, Value};

use crate::prompts::{Loaded, fill, prompt_set};

static READ: Loaded = prompt_set!("answers", "read");
static READ_ALL: Loaded = prompt_set!("answers", "read_all");
static CLOSED_BOOK: Loaded = prompt_set!("answers", "closed_book");
static QUESTION: Loaded = prompt_set!("answers", "question");
static CONSTRAINTS: Loaded = prompt_set!("answers", "constraints");
static TEMPLATE: Loaded = prompt_set!("answers", "template");
static VERDICT: Loaded = prompt_set!("answers", "verdict");
static GROUP: Loaded = prompt_set!("answers", "group");

/// Titles and texts of passages.
pub(super) type Shown<'a> = [(&'a str, &'a str)];

/// Asks for the answers that one passage holds.
pub(super) fn read(question: &str, passage: (&str, &str)) -> Result<Rendered> {
    let slots = [("question", Value::Line(question)), ("passages", Value::Passages(&[passage]))];
    fill(&READ, question, &slots)
}

/// Asks for the answers that several passages hold.
pub(super) fn read_all(question: &str, passages: &Shown<'_>) -> Result<Rendered> {
    let slots = [("question", Value::Line(question)), ("passages", Value::Passages(passages))];
    fill(&READ_ALL, question, &slots)
}

/// Asks for the answers that the model remembers.
pub(super) fn closed_book(question: &str) -> Result<Rendered> {
    fill(&CLOSED_BOOK, question, &[("question", Value::Line(question))])
}

/// Asks for the verification question of a candidate.
pub(super) fn question(question: &str, answer: &str) -> Result<Rendered> {
    fill(&QUESTION, question, &[("question", Value::Line(question)), ("answer", Value::Line(answer))])
}

/// Asks for a verification question for each condition, `count` at most.
pub(super) fn constraints(question: &str, answer: &str, count: usize) -> Result<Rendered> {
    let count = count.to_string();
    let slots = [
        ("question", Value::Line(question)),
        ("answer", Value::Line(answer)),
        ("count", Value::Plain(&count)),
    ];
    fill(&CONSTRAINTS, question, &slots)
}

/// Asks for a pattern of verification questions.
pub(super) fn template(question: &str) -> Result<Rendered> {
    fill(&TEMPLATE, question, &[("question", Value::Line(question))])
}

/// Asks whether a candidate is right.
pub(super) fn verdict(
    question: &str,
    answer: &str,
    verification: &str,
    source: &Shown<'_>,
    extra: &Shown<'_>,
) -> Result<Rendered> {
    let slots = [
        ("question", Value::Line(question)),
        ("answer", Value::Line(answer)),
        ("verification", Value::Line(verification)),
        ("source", Value::Passages(source)),
        ("extra", Value::Passages(extra)),
    ];
    fill(&VERDICT, question, &slots)
}

/// Asks which of several candidates, each with the question that it is verified by, are right.
pub(super) fn group(question: &str, candidates: &Shown<'_>, passages: &Shown<'_>) -> Result<Rendered> {
    let slots = [
        ("question", Value::Line(question)),
        ("candidates", Value::Passages(candidates)),
        ("passages", Value::Passages(passages)),
    ];
    fill(&GROUP, question, &slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_can_be_filled_in_both_languages() {
        for asked in ["Who wrote it?", "谁写的？"] {
            let shown = [("Page", "It was written by Anne.")];
            let all = [
                read(asked, shown[0]).unwrap(),
                read_all(asked, &shown).unwrap(),
                closed_book(asked).unwrap(),
                question(asked, "Anne").unwrap(),
                constraints(asked, "Anne", 3).unwrap(),
                template(asked).unwrap(),
                verdict(asked, "Anne", "Did Anne write it?", &shown, &[]).unwrap(),
                group(asked, &[("Anne", "Did Anne write it?")], &shown).unwrap(),
            ];
            for rendered in all {
                let last = &rendered.messages.last().unwrap().content;
                assert!(last.contains(asked) && !last.contains("{{"), "{last}");
            }
        }
    }
}
