//! The draft (CounterRefine, step 1): the answer that plain retrieval-augmented generation gives.

use counterproof_core::{CompletionRequest, LanguageModel, Question, Result, Sampling};
use counterproof_text::answer::clean_answer;

use super::{Pool, RepairConfig, prompts};
use crate::ledger::Ledger;

/// The stage name of the draft in traces and costs.
pub(super) const STAGE: &str = "draft";

/// Tokens that a short answer may take.
const MAX_ANSWER_TOKENS: u32 = 64;

/// Asks for the shortest answer to `question` over `pool`. `stage` names who asks.
///
/// # Errors
/// The model's.
pub(super) async fn answer_over(
    stage: &str,
    question: &Question,
    pool: &Pool,
    model: &dyn LanguageModel,
    config: &RepairConfig,
    ledger: &mut Ledger,
) -> Result<String> {
    let rendered = prompts::draft(&question.text, pool, config.max_passage_tokens)?;
    let request = CompletionRequest {
        stage: stage.to_owned(),
        messages: rendered.messages,
        sampling: Sampling::greedy(MAX_ANSWER_TOKENS),
        prompt: Some(rendered.prompt),
        ..CompletionRequest::default()
    };
    let reply = ledger.complete(model, request).await?;
    Ok(clean_answer(&reply.text))
}
