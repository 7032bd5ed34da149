//! Verification questions: what must be true of a candidate, as a question of its own.

use counterproof_core::{LanguageModel, Result};
use counterproof_models::reply::split_reasoning;
use counterproof_text::answer::clean_answer;
use counterproof_text::normalise::squad;

use super::config::{AnswersConfig, VqMode};
use super::prompts;
use super::read::request;
use crate::ledger::Ledger;
use crate::prompts::language_of;

const STAGE: &str = "verification_question";

/// Tokens that a question may take.
const MAX_TOKENS: u32 = 96;

/// Where the candidate stands in a pattern.
const SLOT: &str = "[X]";

/// The form that needs no model.
pub(super) fn fixed(question: &str, answer: &str) -> String {
    let question = question.trim();
    if language_of(question) == "zh" {
        return format!("“{answer}”是“{question}”的正确答案吗？");
    }
    format!("Is \"{answer}\" a correct answer to: \"{question}\"?")
}

/// For each candidate the questions it is verified by, at least one. A reply that cannot be used is replaced by the fixed
/// form.
///
/// # Errors
/// The model's, where it answered none of the requests.
pub(super) async fn questions(
    question: &str,
    candidates: &[&str],
    model: &dyn LanguageModel,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Vec<String>>> {
    let all_fixed = || candidates.iter().map(|answer| vec![fixed(question, answer)]).collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let one_each = |many: bool| {
        let requests = candidates.iter().map(|answer| {
            let rendered = match many {
                true => prompts::constraints(question, answer, config.max_constraints)?,
                false => prompts::question(question, answer)?,
            };
            Ok(request(STAGE, rendered, MAX_TOKENS * if many { 3 } else { 1 }))
        });
        requests.collect::<Result<Vec<_>>>()
    };
    match config.vq_mode() {
        VqMode::Fixed => Ok(all_fixed()),
        VqMode::Template => {
            // A model that fails here is seen to fail at its first verdict.
            let reply =
                ledger.complete(model, request(STAGE, prompts::template(question)?, MAX_TOKENS)).await;
            let text = reply.map(|r| r.text).unwrap_or_default();
            let pattern = first_question(&text).filter(|pattern| pattern.contains(SLOT));
            if pattern.is_none() {
                let told = format!("the pattern lacks {SLOT}: the fixed form takes its place");
                ledger.trace.note(STAGE, told);
            }
            let filled = |answer: &&str| match &pattern {
                Some(pattern) => pattern.replace(SLOT, answer),
                None => fixed(question, answer),
            };
            Ok(candidates.iter().map(|answer| vec![filled(answer)]).collect())
        }
        mode @ (VqMode::PerCandidate | VqMode::PerConstraint) => {
            let many = mode == VqMode::PerConstraint;
            let replies = ledger.complete_all(model, one_each(many)?).await;
            if let Some(Err(error)) = replies.first()
                && replies.iter().all(Result::is_err)
            {
                return Err(error.clone());
            }
            let most = if many { config.max_constraints } else { 1 };
            let read = |(reply, answer): (Result<counterproof_core::Completion>, &&str)| {
                let text = reply.map(|r| r.text).unwrap_or_default();
                let own: Vec<String> = questions_in(&text).filter(|q| names(q, answer)).take(most).collect();
                if own.is_empty() { vec![fixed(question, answer)] } else { own }
            };
            Ok(replies.into_iter().zip(candidates).map(read).collect())
        }
    }
}

/// Whether a question names a candidate.
fn names(question: &str, answer: &str) -> bool {
    if language_of(question) == "zh" {
        return question.contains(answer.trim());
    }
    let (question, answer) = (
        squad(&question.replace("'s", "").replace("’s", "")),
        squad(&answer.replace("'s", "").replace("’s", "")),
    );
    !answer.is_empty() && format!(" {question} ").contains(&format!(" {answer} "))
}

fn first_question(text: &str) -> Option<String> {
    questions_in(text).next()
}

/// The lines of a reply that are questions.
fn questions_in(text: &str) -> impl Iterator<Item = String> {
    let (_, text) = split_reasoning(text);
    let bullet = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
        clean_answer(line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')')))
    };
    text.lines().map(bullet).filter(|line| line.ends_with(['?', '？'])).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use counterproof_core::{CompletionRequest, Script, ScriptedModel};

    use super::*;

    async fn asked(mode: VqMode, reply: &'static str) -> (Vec<Vec<String>>, usize) {
        let model = ScriptedModel::new(move |_: &CompletionRequest| Script::Reply(reply.to_owned()));
        let config = AnswersConfig { questions: Some(mode), ..AnswersConfig::default() };
        let mut ledger = Ledger::new(None);
        let got = questions("Who drew it?", &["Ann", "Bob"], &model, &config, &mut ledger);
        (got.await.unwrap(), model.requests().len())
    }

    #[tokio::test]
    async fn a_question_that_does_not_name_the_candidate_is_replaced() {
        let (all, calls) = asked(VqMode::PerCandidate, "Did Ann draw it?").await;
        assert_eq!(all[0], ["Did Ann draw it?"]);
        assert_eq!(all[1], ["Is \"Bob\" a correct answer to: \"Who drew it?\"?"]);
        assert_eq!(calls, 2);
    }

    #[tokio::test]
    async fn a_pattern_is_asked_for_once_and_filled_in() {
        let (all, calls) = asked(VqMode::Template, "Did [X] draw it?").await;
        assert_eq!(
            (all, calls),
            (vec![vec!["Did Ann draw it?".to_owned()], vec!["Did Bob draw it?".to_owned()]], 1)
        );
        let (all, _) = asked(VqMode::Template, "Did somebody draw it?").await;
        assert_eq!(all[1], ["Is \"Bob\" a correct answer to: \"Who drew it?\"?"]);
    }

    #[tokio::test]
    async fn each_condition_has_its_question() {
        let (all, _) =
            asked(VqMode::PerConstraint, "1. Did Ann draw it?\n2. Is Ann alive?\nThat is all.").await;
        assert_eq!(all[0], ["Did Ann draw it?", "Is Ann alive?"]);
        let (_, calls) = asked(VqMode::Fixed, "").await;
        assert_eq!(calls, 0);
    }
}
