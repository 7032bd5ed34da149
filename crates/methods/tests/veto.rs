//! A verifier's veto behind a language model's gate.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{
    Entailment, Event, InMemoryRetriever, Nli, Passage, Question, Result, ScriptedModel, UpstreamError,
    UpstreamKind,
};
use counterproof_methods::repair::{Decision, Reason, Repair, RepairConfig};

const TEXT: &str = "The laboratory was founded in 1913. It moved to the river in 1950.";

/// Says the same of every pair, or fails.
struct Says(Option<[f64; 3]>);

#[async_trait]
impl Entailment for Says {
    fn identity(&self) -> &str {
        "says"
    }
    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        let Some([e, n, c]) = self.0 else {
            let message = "busy".to_owned();
            let service = "verifier".to_owned();
            return Err(UpstreamError {
                service,
                kind: UpstreamKind::Unavailable,
                message,
                retry_after: None,
            }
            .into());
        };
        assert!(
            pairs.iter().all(|(evidence, _)| evidence.starts_with("Laboratory. The laboratory was founded"))
        );
        assert!(pairs.iter().all(|(_, statement)| statement.ends_with("The answer is 1950.")), "{pairs:?}");
        Ok(pairs.iter().map(|_| Nli::from_weights(e, n, c)).collect())
    }
}

async fn repaired(verifier: Says, config: RepairConfig) -> counterproof_methods::repair::RepairReport {
    let passages = [Passage::new("p1", "Laboratory", TEXT)];
    let reply = "DECISION: REVISE\nANSWER: 1950\nEVIDENCE: It moved to the river in 1950.";
    let model = ScriptedModel::by_stage([("gate", reply)]);
    let repair = Repair::new(Arc::new(InMemoryRetriever::new(passages)), Arc::new(model), config);
    let question = Question::new("In what year was the laboratory founded?");
    repair.with_veto(Arc::new(verifier)).repair(&question, "1913").await.unwrap()
}

#[tokio::test]
async fn a_revision_that_its_evidence_contradicts_does_not_stand() {
    let report = repaired(Says(Some([0.1, 0.2, 0.7])), RepairConfig::default()).await;
    assert_eq!(
        (report.answer.as_str(), report.decision, report.reason),
        ("1913", Decision::Keep, Reason::Vetoed)
    );
    assert_eq!(report.citations[0].quote, "The laboratory was founded in 1913.");
    assert!(report.trace.events.iter().any(|e| matches!(e, Event::Judged { stage, .. } if stage == "veto")));
    assert_eq!("vetoed".parse::<Reason>().unwrap(), Reason::Vetoed);
}

#[tokio::test]
async fn one_that_the_verifier_does_not_deny_stands_unless_more_is_asked() {
    let report = repaired(Says(Some([0.3, 0.5, 0.2])), RepairConfig::default()).await;
    assert_eq!((report.answer.as_str(), report.reason), ("1950", Reason::Accepted));
    let mut strict = RepairConfig::default();
    strict.veto.entailed = 0.5;
    let report = repaired(Says(Some([0.3, 0.5, 0.2])), strict).await;
    assert_eq!(report.reason, Reason::Vetoed);
}

#[tokio::test]
async fn a_verifier_that_fails_changes_nothing() {
    let report = repaired(Says(None), RepairConfig::default()).await;
    assert_eq!((report.answer.as_str(), report.reason), ("1913", Reason::GateFailed));
}
