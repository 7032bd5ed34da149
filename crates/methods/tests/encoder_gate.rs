//! `repair` without a language model: a reader and a verifier decide, and the same rules hold.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{
    Entailment, Event, InMemoryRetriever, Nli, Passage, Question, Result, ScriptedReader, SpanReader,
};
use counterproof_methods::repair::{
    CalibrationRow, Decision, EncoderGate, FEATURES, GateCalibration, Reason, Repair, RepairConfig, Rule,
};

const QUESTION: &str = "In what year was the laboratory founded?";

/// A verifier that believes the answers that stand in the premise, and denies any other where a year stands.
struct Literal;

#[async_trait]
impl Entailment for Literal {
    fn identity(&self) -> &str {
        "literal"
    }
    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        let judge = |(premise, hypothesis): &(&str, &str)| {
            let answer = hypothesis.rsplit(' ').next().unwrap_or_default().trim_end_matches('.');
            if premise.contains(answer) {
                Nli::from_weights(0.9, 0.07, 0.03)
            } else {
                Nli::from_weights(0.03, 0.17, 0.8)
            }
        };
        Ok(pairs.iter().map(judge).collect())
    }
}

/// Counts support for the alternative, and denial of the draft by the alternative's evidence.
fn calibration() -> GateCalibration {
    let mut weights = vec![0.0; FEATURES.len()];
    weights[2] = 1.0;
    weights[5] = 1.0;
    GateCalibration {
        schema: 1,
        fitted_on: "nothing: weights of a test".to_owned(),
        features: FEATURES.map(str::to_owned).to_vec(),
        weights,
        bias: -2.0,
        threshold: 0.5,
        right_drafts: vec![0.1; 400],
    }
}

fn repair(text: &str, reader: ScriptedReader) -> Repair {
    let passages = [Passage::new("p1", "Laboratory", text)];
    let gate = EncoderGate::new(Arc::new(reader), Arc::new(Literal), calibration());
    Repair::without_model(Arc::new(InMemoryRetriever::new(passages)), gate, RepairConfig::default())
}

#[tokio::test]
async fn what_the_reader_reads_and_the_verifier_backs_replaces_the_draft() {
    let reader = ScriptedReader::default().answering(QUESTION, "1913");
    let repair = repair("The laboratory was founded in 1913. It moved in 1950.", reader);
    let report = repair.repair(&Question::new(QUESTION), "1912").await.unwrap();
    assert_eq!((report.answer.as_str(), report.reason), ("1913", Reason::Accepted));
    assert_eq!(report.citations[0].quote, "The laboratory was founded in 1913.");
    assert!(report.confidence.unwrap().get() > 0.5);
    let judged = report.trace.events.iter().any(|e| matches!(e, Event::Judged { .. }));
    let read = report.trace.events.iter().any(|e| matches!(e, Event::Read { .. }));
    assert!(judged && read, "{:?}", report.trace);
    assert_eq!(report.cost.total.model_calls, 0);
}

#[tokio::test]
async fn a_draft_that_the_evidence_gives_stays() {
    let reader = ScriptedReader::default().answering(QUESTION, "1913");
    let repair = repair("The laboratory was founded in 1913. It moved in 1950.", reader);
    let report = repair.repair(&Question::new(QUESTION), "1913").await.unwrap();
    // 1950 stands in the same window, and this verifier believes whatever stands there; but the draft does too.
    assert_eq!((report.answer.as_str(), report.decision), ("1913", Decision::Keep));
}

#[tokio::test]
async fn words_of_another_kind_are_no_alternative() {
    let reader = ScriptedReader::default().answering(QUESTION, "the river");
    let repair = repair("The laboratory stands by the river.", reader);
    let report = repair.repair(&Question::new(QUESTION), "1912").await.unwrap();
    assert_eq!((report.answer.as_str(), report.reason), ("1912", Reason::NoAlternative));
}

#[tokio::test]
async fn what_the_reader_reads_has_still_to_pass_the_rules() {
    let question = "Who founded the laboratory?";
    let long = "a circle of friends from the town and the villages around it who had waited for years";
    let reader = ScriptedReader::default().answering(question, long);
    let repair = repair(&format!("The laboratory was founded by {long}."), reader);
    let report = repair.repair(&Question::new(question), "Anne Miller").await.unwrap();
    assert_eq!(report.answer, "Anne Miller");
    assert_eq!(report.reason, Reason::Rejected(Rule::EntityTooLong), "{:?}", report.trace);
}

#[tokio::test]
async fn without_a_model_the_reader_drafts() {
    let reader = ScriptedReader::default().answering(QUESTION, "1913");
    let report =
        repair("The laboratory was founded in 1913.", reader).ask(&Question::new(QUESTION)).await.unwrap();
    assert_eq!(report.draft, "1913");
    assert_eq!(report.cost.total.model_calls, 0);
}

#[tokio::test]
async fn a_comparison_can_be_had_without_a_decision() {
    let reader: Arc<dyn SpanReader> = Arc::new(ScriptedReader::default().answering(QUESTION, "1913"));
    let gate = EncoderGate::new(reader, Arc::new(Literal), calibration());
    let passages = [Passage::new("p1", "Laboratory", "The laboratory was founded in 1913.")];
    let retriever = Arc::new(InMemoryRetriever::new(passages));
    let repair = Repair::without_model(retriever, gate.clone(), RepairConfig::default());
    let comparison = repair.compare(&gate, &Question::new(QUESTION), "1912").await.unwrap().unwrap();
    let right: Vec<bool> = comparison.alternatives.iter().map(|a| a.answer == "1913").collect();
    assert_eq!(right, [true]);
    let row = CalibrationRow { draft_right: false, alternatives: vec![(comparison.features[0], true)] };
    assert!(row.alternatives[0].0[2] > 0.0, "the verifier backs it");
}
