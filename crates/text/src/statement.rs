//! A question with an answer as one statement, which a verifier can judge.
//!
//! `repair`, `answers` and `probe` ask whether a passage says that the answer to a question is so and so. Entailment
//! judges statements, so the two are put together, by one template everywhere: the verifier was trained on it.

use crate::han::has_han;

const JOINT: &str = "? The answer is ";
const JOINT_ZH: &str = "？答案是";

/// The statement that `answer` answers `question`: `Who wrote it? The answer is Anne.`, `谁写的？答案是安妮。`
pub fn statement(question: &str, answer: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '?' | '？' | '.' | '。' | '!' | '！');
    let question = question.trim_start().trim_end_matches(is_end);
    let answer = answer.trim();
    if has_han(question) {
        let answer = answer.trim_end_matches('。');
        return format!("{question}{JOINT_ZH}{answer}。");
    }
    let stop = if answer.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{question}{JOINT}{answer}{stop}")
}

/// Evidence as a verifier reads it: `Title. text`, or the text alone where there is no title or the text begins with
/// it. The verifier was trained on this form.
pub fn premise(title: &str, text: &str) -> String {
    let starts = text.get(..title.len()).is_some_and(|head| head.eq_ignore_ascii_case(title));
    if title.is_empty() || starts {
        return text.to_owned();
    }
    let stop = if title.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{title}{stop} {text}")
}

/// Pieces of evidence, each `(title, text)`, as one [`premise`]: a title only where it changes, blank pieces left out.
pub fn joined_premise<'a>(pieces: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    let mut last = None;
    for (title, text) in pieces.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        if last == Some(title) {
            out.push_str(text);
        } else {
            out.push_str(&premise(title, text));
        }
        last = Some(title);
    }
    out
}

/// A statement taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The question, with its question mark.
    pub question: &'a str,
    /// The answer, without the final full stop.
    pub answer: &'a str,
}

/// The question and the answer of a [`statement`]; `None` for any other text.
pub fn parts(statement: &str) -> Option<Parts<'_>> {
    let (joint, mark) =
        [JOINT, JOINT_ZH].into_iter().find_map(|j| Some((j, statement.rfind(j)?))).map(|(j, at)| {
            // The question keeps its mark.
            (j, at + j.chars().next().map_or(0, char::len_utf8))
        })?;
    let question = statement.get(..mark)?;
    let rest = statement.get(mark..)?;
    let answer = rest.strip_prefix(joint.trim_start_matches(['?', '？']))?;
    let answer = answer.strip_suffix(['.', '。']).unwrap_or(answer).trim();
    (!answer.is_empty() && question.chars().any(char::is_alphanumeric)).then_some(Parts { question, answer })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_template_for_every_question() {
        assert_eq!(statement("who wrote it", "Anne"), "who wrote it? The answer is Anne.");
        assert_eq!(
            statement(" Who wrote it?? ", "Samuel L. Jackson Jr."),
            "Who wrote it? The answer is Samuel L. Jackson Jr."
        );
        assert_eq!(statement("Name the author.", "Anne "), "Name the author? The answer is Anne.");
        assert_eq!(statement("谁写了它？", "安妮"), "谁写了它？答案是安妮。");
    }

    #[test]
    fn a_statement_comes_apart_again() {
        let made = statement("Who said \"Why? The answer is no\"", "Anne");
        assert_eq!(
            parts(&made),
            Some(Parts { question: "Who said \"Why? The answer is no\"?", answer: "Anne" })
        );
        assert_eq!(parts("谁写了它？答案是安妮。"), Some(Parts { question: "谁写了它？", answer: "安妮" }));
        for other in
            ["The answer is Anne.", "Anne wrote it.", "? The answer is x.", "", "Who? The answer is ."]
        {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn parts_undo_statements(question in "[a-z]{1,8}( [a-z]{1,8}){0,4}", answer in "[A-Za-z0-9]{1,9}( [a-z0-9]{1,8}){0,3}") {
            let made = statement(&question, &answer);
            let found = parts(&made).unwrap();
            prop_assert_eq!(found.question, format!("{question}?"));
            prop_assert_eq!(found.answer, answer);
        }
    }
}
