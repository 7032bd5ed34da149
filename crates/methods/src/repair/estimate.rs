//! What a repair will cost, told before anything is asked (`--dry-run`).

use counterproof_core::{Question, Tokens};
use serde::Serialize;

use super::{Repair, queries};

/// An estimate of the work ahead. Tokens are estimated from the length of passages, so they are a rough size, not a
/// bill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Questions.
    pub questions: u64,
    /// Searches.
    pub searches: u64,
    /// Calls to the model.
    pub model_calls: u64,
    /// Tokens of all prompts, about.
    pub tokens_in: Tokens,
    /// Tokens of all replies, at most about.
    pub tokens_out: Tokens,
}

/// Tokens of a passage of about 100 words with its title, and of a prompt's fixed words.
const PASSAGE_TOKENS: u64 = 150;
const PROMPT_TOKENS: u64 = 250;
const REPLY_TOKENS: u64 = 60;

impl Repair {
    /// Estimates the cost of questions, each with its draft where one is given (`repair`) or without (`ask`).
    pub fn estimate<'a>(&self, rows: impl IntoIterator<Item = (&'a Question, Option<&'a str>)>) -> Estimate {
        let config = self.config();
        let rounds = config.rounds.max(1) as u64;
        let mut sum = Estimate::default();
        for (question, draft) in rows {
            let question_type = self.question_type(question);
            // Without a draft, one that is not an abstention is the dearer and the likelier case.
            let sent =
                queries(&question.text, draft.unwrap_or("a draft"), question_type, config).len() as u64;
            let draft_calls = u64::from(draft.is_none());
            let pool = (config.k_b as u64 + (sent - 1) * config.k_r as u64).min(config.max_pool as u64);
            let gate_calls = self.gate().calls() * rounds;
            sum.questions += 1;
            sum.searches += sent * rounds;
            sum.model_calls += draft_calls + gate_calls;
            sum.tokens_in += Tokens(
                draft_calls * (PROMPT_TOKENS + config.k_b as u64 * PASSAGE_TOKENS)
                    + gate_calls * (PROMPT_TOKENS + pool * PASSAGE_TOKENS),
            );
            sum.tokens_out += Tokens((draft_calls + gate_calls) * REPLY_TOKENS);
        }
        sum
    }
}
