//! The shipped reader, verifier and gate, on the base encoder. Skipped, aloud, where its weights are not at hand.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::sync::Arc;

use counterproof::methods::repair::{Reason, Repair, RepairConfig};
use counterproof::retrieval::ListRetriever;
use counterproof::text::statement::statement;
use counterproof::{Entailment, Limits, Passage, Question, own};

use support::base_encoder;

const TOWER: &str =
    "The Hallberg tower was designed by Anton Reiss and opened on 3 May 1924. It is 118 metres high.";

#[test]
fn the_verifier_tells_numbers_dates_and_negations_apart() {
    let Some(base) = base_encoder() else { return };
    let verifier = own::verifier(base).unwrap();
    let judged = |evidence: &str, claim: &str| verifier.judge_blocking(&[(evidence, claim)]).unwrap()[0].nli;
    for claim in ["The Hallberg tower is 118 metres high.", "The Hallberg tower was opened in 1924."] {
        let nli = judged(TOWER, claim);
        assert!(nli.entail > nli.contradict && nli.entail > nli.neutral, "{claim} {nli:?}");
    }
    for claim in ["The Hallberg tower is 181 metres high.", "The Hallberg tower was opened in 1942."] {
        let nli = judged(TOWER, claim);
        assert!(nli.contradict > nli.entail && nli.contradict > nli.neutral, "{claim} {nli:?}");
    }
    let nli = judged("Frogs live in ponds and eat flies.", "The Hallberg tower is 118 metres high.");
    assert!(nli.neutral > nli.entail && nli.neutral > nli.contradict, "{nli:?}");
    assert!(!verifier.knows_language_of("哈尔贝格塔高一百一十八米。"));
}

#[test]
fn fifty_kilobytes_of_evidence_are_read_to_the_end() {
    let Some(base) = base_encoder() else { return };
    let verifier = own::verifier(base).unwrap();
    let evidence = format!(
        "{} {TOWER}",
        "The valley is known for its apple orchards and its mild winters. ".repeat(800)
    );
    assert!(evidence.len() > 50_000);
    let claim = "The Hallberg tower is 118 metres high.";
    let judged = verifier.judge_blocking(&[(evidence.as_str(), claim)]).unwrap();
    assert!(judged[0].windows > 10, "{}", judged[0].windows);
    assert!(judged[0].nli.entail > judged[0].nli.contradict, "{:?}", judged[0].nli);
}

#[tokio::test]
async fn the_reader_reads_and_the_gate_repairs() {
    let Some(base) = base_encoder() else { return };
    let question = "Who designed the Hallberg tower?";
    let spans = own::reader(&base).unwrap().best_spans(question, &[TOWER], 1).unwrap();
    assert_eq!(spans[0].0[0].span.slice(TOWER), Some("Anton Reiss"));
    assert!(statement(question, "Anton Reiss").ends_with("The answer is Anton Reiss."));

    let passages = [
        Passage::new("t", "Hallberg tower", TOWER),
        Passage::new("v", "Clara Vogt", "Clara Vogt was a painter who drew the Hallberg tower many times."),
    ];
    let retriever = Arc::new(ListRetriever::new(passages, &Limits::default()).unwrap());
    let mut config = RepairConfig::default();
    config.encoder_gate.threshold = Some(0.2);
    let repair = Repair::without_model(retriever, own::encoder_gate(base).unwrap(), config);
    let report = repair.repair(&Question::new(question), "Clara Vogt").await.unwrap();
    assert_eq!((report.answer.as_str(), report.reason), ("Anton Reiss", Reason::Accepted));
    let report = repair.repair(&Question::new(question), "Anton Reiss").await.unwrap();
    assert_eq!(report.answer, "Anton Reiss");
}
