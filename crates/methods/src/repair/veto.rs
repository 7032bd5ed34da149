//! A verifier's veto on what a language model proposes: a revision whose own evidence contradicts it does not stand.

use std::sync::Arc;
use std::time::Instant;

use counterproof_core::{Entailment, Event, Question, Result, RuleOutcome, StageCost};
use counterproof_text::sentences::sentences;
use counterproof_text::statement::statement;
use serde::{Deserialize, Serialize};

use super::Pool;
use super::ledger::{Ledger, elapsed_ms};
use super::locate::Located;

const STAGE: &str = "veto";

/// When a revision is vetoed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VetoConfig {
    /// The probability that the evidence contradicts the new answer, from which on it does not stand.
    pub contradicted: f64,
    /// The probability that the evidence entails the new answer, below which it does not stand.
    pub entailed: f64,
}

impl Default for VetoConfig {
    fn default() -> Self {
        Self { contradicted: 0.5, entailed: 0.0 }
    }
}

/// Whether the verifier lets a revision stand that passed the rules.
///
/// # Errors
/// The verifier's.
pub(super) async fn stands(
    verifier: &Arc<dyn Entailment>,
    config: &VetoConfig,
    question: &Question,
    answer: &str,
    (pool, located): (&Pool, &Located),
    ledger: &mut Ledger,
) -> Result<bool> {
    let Some(passage) = pool.get(located.passage) else { return Ok(true) };
    let Some(evidence) = around(&passage.text, located.span.start()) else { return Ok(true) };
    let evidence =
        if passage.title.is_empty() { evidence.to_owned() } else { format!("{}. {evidence}", passage.title) };
    let start = Instant::now();
    let judged = verifier.judge(&[(evidence.as_str(), statement(&question.text, answer).as_str())]).await?;
    let wall_ms = elapsed_ms(start);
    ledger.cost.add(STAGE, StageCost { wall_ms, ..StageCost::default() });
    let Some(nli) = judged.first().copied() else { return Ok(true) };
    ledger.trace.push(Event::Judged {
        stage: STAGE.to_owned(),
        model: verifier.identity().to_owned(),
        judged: vec![(passage.id.clone(), answer.to_owned(), nli)],
        wall_ms,
    });
    let stands = nli.contradict.get() < config.contradicted && nli.entail.get() >= config.entailed;
    ledger.trace.rule(
        STAGE,
        "verifier",
        if stands { RuleOutcome::Passed } else { RuleOutcome::Failed },
        format!(
            "its evidence entails \"{answer}\" with probability {:.2} and contradicts it with {:.2}",
            nli.entail.get(),
            nli.contradict.get()
        ),
    );
    Ok(stands)
}

/// The sentence at a byte with its neighbours.
pub(super) fn around(text: &str, at: usize) -> Option<&str> {
    let all = sentences(text);
    let at = all.iter().position(|s| at < s.end())?;
    let first = all.get(at.saturating_sub(1))?.start();
    let last = all.get((at + 1).min(all.len() - 1))?.end();
    Some(text.get(first..last)?.trim())
}
