//! What the makers of examples promise, over a handful of rows.

use std::collections::HashSet;

use counterproof_core::Passage;
use counterproof_datasets::Collection;
use counterproof_datasets::claims::{Evidence, FeverClaim, Verdict};
use counterproof_datasets::collection::SplitShares;
use counterproof_datasets::pairs::{NliLabel, NliPair};
use counterproof_datasets::passages::CorpusPassage;
use counterproof_datasets::questions::NqOracleQuestion;
use counterproof_datasets::spans::SpanQuestion;
use counterproof_text::statement::{parts, statement};

use super::reader::{self, ReaderOptions};
use super::verifier::{self, VerifierData, VerifierOptions};
use crate::examples::{Label, PairExample, Target};

const LAB: &str = "The laboratory was founded by Marie Curie in 1909. Paul Langevin joined it in 1913. It moved to Lyon, where \
                   Irene Weber led it from 1921 on. The garden behind the house is open to everybody.";

fn span(question: &str, answer: &str) -> SpanQuestion {
    let start = LAB.find(answer).unwrap();
    SpanQuestion {
        question: question.into(),
        context: LAB.into(),
        answers: std::iter::once(start..start + answer.len()).collect(),
        source: "squad11_dev".into(),
        licence: String::new(),
    }
}

fn collection() -> Collection {
    let fever = |n: usize, verdict| FeverClaim {
        id: n.to_string(),
        claim: format!("The house number {n} was built in 19{:02}.", n % 100),
        verdict,
        evidence: if verdict == Verdict::NotEnough {
            Vec::new()
        } else {
            vec![vec![Evidence {
                title: format!("House {n}"),
                text: format!("The house number {n} was built in 19{:02} by the town.", n % 100),
            }]]
        },
        unsorted: Vec::new(),
    };
    let verdicts = [Verdict::Supported, Verdict::Refuted, Verdict::NotEnough];
    Collection {
        nli_pairs: vec![NliPair {
            premise: "A dog runs.".into(),
            hypothesis: "An animal moves around.".into(),
            label: NliLabel::NotEntailment,
            source: "begin_dev".into(),
            licence: String::new(),
        }],
        fever: (0..60).map(|n| fever(n, verdicts[n % 3])).collect(),
        spans_en: vec![
            span("Who founded the laboratory?", "Marie Curie"),
            span("When was the laboratory founded?", "1909"),
            span("Who led it in Lyon?", "Irene Weber"),
        ],
        nq_oracle: (0..20)
            .map(|n| NqOracleQuestion {
                question: format!("who built bridge number {n}"),
                answers: vec!["Anna Smith".into()],
                passage: Evidence {
                    title: format!("Bridge {n}"),
                    text: format!("Bridge number {n} was built by Anna Smith. Tom Jones painted it in 1930."),
                },
            })
            .collect(),
        passages: vec![
            CorpusPassage(Passage::new(
                "1",
                "Houses",
                "The house beside the river was built by nobody knows whom, and its number was lost.",
            )),
            CorpusPassage(Passage::new(
                "2",
                "Laboratories",
                "A laboratory is a room; many were founded by towns.",
            )),
        ],
        ..Collection::default()
    }
}

fn options() -> VerifierOptions {
    VerifierOptions {
        shares: SplitShares { fever: 12, ..SplitShares::default() },
        ..VerifierOptions::default()
    }
}

fn made() -> VerifierData {
    verifier::build(&collection(), &options()).unwrap()
}

fn train(data: &VerifierData) -> Vec<&PairExample> {
    data.train.iter().flat_map(|p| &p.examples).collect()
}

#[test]
fn the_same_data_and_seed_give_the_same_examples() {
    assert_eq!(made(), made());
    let other = verifier::build(&collection(), &VerifierOptions { seed: 2, ..options() }).unwrap();
    assert_ne!(made().train, other.train);
}

#[test]
fn nothing_that_is_reported_is_trained_on() {
    let data = made();
    let seen: HashSet<&str> = train(&data).iter().map(|e| e.group.as_str()).collect();
    let mut reported = 0;
    for example in data.report.iter().flat_map(|p| &p.examples) {
        assert!(!seen.contains(example.group.as_str()), "{example:?}");
        reported += 1;
    }
    assert!(reported > 12, "{reported}");
    let fever: HashSet<&str> = data
        .report
        .iter()
        .filter(|p| p.name == "fever")
        .flat_map(|p| &p.examples)
        .map(|e| e.group.as_str())
        .collect();
    assert_eq!(fever.len(), 12);
}

#[test]
fn right_and_wrong_answers_stand_over_the_same_words() {
    let data = made();
    let all = train(&data);
    let founded: Vec<&&PairExample> = all
        .iter()
        .filter(|e| e.hypothesis.starts_with("Who founded the laboratory?") && e.source.starts_with("squad"))
        .collect();
    let gold = founded.iter().find(|e| e.source == "squad/gold").unwrap();
    assert_eq!(gold.hypothesis, statement("Who founded the laboratory?", "Marie Curie"));
    assert_eq!(gold.target, Target::Is(Label::Entailment));
    let wrong: Vec<&str> = founded
        .iter()
        .filter(|e| e.source == "squad/same-passage")
        .map(|e| {
            assert_eq!((e.target, &e.premise), (Target::Is(Label::Contradiction), &gold.premise));
            parts(&e.hypothesis).unwrap().answer
        })
        .collect();
    assert!(wrong.contains(&"Paul Langevin"), "{wrong:?}");
    for example in &all {
        if example.target == Target::Is(Label::Neutral) && example.source.ends_with("same-topic") {
            assert!(!example.premise.contains(parts(&example.hypothesis).unwrap().answer), "{example:?}");
        }
    }
}

#[test]
fn a_twin_stands_beside_its_source_and_differs_from_it() {
    let data = made();
    let twins = data.train.iter().find(|p| p.name == "twins").unwrap();
    let sources: HashSet<&str> =
        twins.examples.iter().filter(|e| e.source == "twin/source").map(|e| e.group.as_str()).collect();
    let changed: Vec<&PairExample> = twins
        .examples
        .iter()
        .filter(|e| e.source.ends_with("-statement") || e.source.ends_with("-evidence"))
        .collect();
    assert!(!changed.is_empty());
    for twin in changed {
        assert!(sources.contains(twin.group.as_str()), "{twin:?}");
        let beside = twins.examples.iter().filter(|e| e.source == "twin/source" && e.group == twin.group);
        assert!(beside.into_iter().all(|s| (&s.premise, &s.hypothesis) != (&twin.premise, &twin.hypothesis)));
    }
}

#[test]
fn two_way_rows_stay_two_way() {
    let data = made();
    let sides = data.train.iter().chain(&data.validation);
    let general: Vec<&PairExample> =
        sides.filter(|p| p.name == "general").flat_map(|p| &p.examples).collect();
    assert_eq!(general.len(), 1);
    assert_eq!(general[0].target, Target::NotEntailed);
}

#[test]
fn the_reader_sees_spans_and_passages_without_any() {
    let data =
        reader::build(&collection(), &ReaderOptions { negatives: 1.0, ..ReaderOptions::default() }).unwrap();
    let spans = data.train.iter().chain(&data.validation).filter(|e| e.source == "squad/passage");
    let found: Vec<&str> = spans.map(|e| &e.context[e.answers[0].clone()]).collect();
    assert!(found.contains(&"Marie Curie") && found.contains(&"1909"), "{found:?}");
    let report = data.report.iter().find(|s| s.name == "nq").unwrap();
    assert_eq!(report.examples.len(), report.golds.len());
    for example in data.train.iter().filter(|e| e.source.ends_with("/retrieved")) {
        assert!(example.answers.is_empty() && !example.context.contains("Anna Smith"), "{example:?}");
    }
    let trained: HashSet<&str> = data.train.iter().map(|e| e.group.as_str()).collect();
    assert!(report.examples.iter().all(|e| !trained.contains(e.group.as_str())));
}
