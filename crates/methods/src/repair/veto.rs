//! A verifier's veto on what a language model proposes: a revision whose own evidence contradicts it does not stand.

use std::sync::Arc;

use counterproof_core::{Entailment, Question, Result, RuleOutcome};
use counterproof_text::sentences::with_neighbours;
use counterproof_text::statement::statement;
use serde::{Deserialize, Serialize};

use super::Pool;
use super::locate::Located;
use crate::ledger::{Ledger, Stated};

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
    let Some(evidence) = with_neighbours(&passage.text, located.span.start()) else { return Ok(true) };
    let evidence =
        if passage.title.is_empty() { evidence.to_owned() } else { format!("{}. {evidence}", passage.title) };
    let claim = statement(&question.text, answer);
    let stated = Stated { name: passage.id.clone(), premise: &evidence, statement: &claim, told: answer };
    let judged = ledger.judge(STAGE, &**verifier, &[stated]).await?;
    let Some(nli) = judged.first().copied() else { return Ok(true) };
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
