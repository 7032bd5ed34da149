//! Whole runs on a tiny encoder: learning, repeating, being killed and taken up again.

// A failed expectation is what these are for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use counterproof_encoders::{BertReader, BertVerifier, EncoderOptions};

use crate::config::{Amount, Stage, TrainConfig, Trainable};
use crate::examples::{Label, PairExample, SpanExample, Target};
use crate::progress::{Outcome, Progress};
use crate::testing::tiny_base;
use crate::{fit_fusion, fit_rules_model, train_reader, train_verifier};

fn pair(premise: &str, hypothesis: &str, target: Target) -> PairExample {
    PairExample {
        premise: premise.to_owned(),
        hypothesis: hypothesis.to_owned(),
        target,
        weight: 1.0,
        group: hypothesis.to_owned(),
        source: "tiny".to_owned(),
    }
}

/// Every place, event and year; a year that differs contradicts, another place is neutral.
fn pairs() -> Vec<PairExample> {
    let mut pairs = Vec::new();
    for place in ["observatory", "museum"] {
        for event in ["opened", "closed"] {
            for year in ["1889", "1912"] {
                let premise = format!("the {place} {event} in {year}");
                for asked in ["observatory", "museum"] {
                    for said in ["1889", "1912"] {
                        let target = match (asked == place, said == year) {
                            (false, _) => Target::Is(Label::Neutral),
                            (true, true) => Target::Is(Label::Entailment),
                            (true, false) if event == "closed" => Target::NotEntailed,
                            (true, false) => Target::Is(Label::Contradiction),
                        };
                        pairs.push(pair(&premise, &format!("the {asked} {event} in {said}"), target));
                    }
                }
            }
        }
    }
    pairs
}

fn config() -> TrainConfig {
    TrainConfig {
        seed: 4,
        max_tokens: 24,
        tokens_per_step: 160,
        groups: 2,
        learning_rate: 1e-2,
        dropout: 0.0,
        head_dropout: 0.0,
        trainable: Trainable { rank: 4, ..Trainable::default() },
        ..TrainConfig::default()
    }
}

fn train(base: &Path, config: &TrainConfig, passes: f64, progress: &mut dyn FnMut(&Progress)) -> Outcome {
    let examples = pairs();
    let first = &examples[..examples.len() / 2];
    let stages = [
        Stage { name: "first".to_owned(), examples: first, amount: Amount::Passes(passes / 2.0) },
        Stage { name: "all".to_owned(), examples: &examples, amount: Amount::Passes(passes) },
    ];
    train_verifier(base, &stages, &examples, config, progress).unwrap()
}

#[test]
fn a_tiny_data_set_is_learnt_by_heart_and_the_adapter_knows_it() {
    let base = tiny_base();
    let mut losses = Vec::new();
    // To tell equal words from unequal ones a tiny random encoder has to move as a whole.
    let trainable = Trainable { rank: 0, whole_layers: vec![0, 1], ..Trainable::default() };
    let config = TrainConfig { trainable, learning_rate: 3e-3, ..config() };
    let outcome = train(base.path(), &config, 500.0, &mut |told| losses.push(told.loss));
    let last = outcome.summary.validations.last().unwrap();
    assert!(last.score > 0.99, "{last:?}");
    assert!(losses[losses.len() - 1] < 0.4 * losses[0], "{} {}", losses[0], losses[losses.len() - 1]);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("verifier.safetensors");
    outcome.adapter.save(&path).unwrap();
    let verifier = BertVerifier::open(base.path(), &path, &EncoderOptions::default()).unwrap();
    let examples = pairs();
    let texts: Vec<(&str, &str)> =
        examples.iter().map(|e| (e.premise.as_str(), e.hypothesis.as_str())).collect();
    let judged = verifier.judge_blocking(&texts).unwrap();
    let right = examples.iter().zip(&judged).filter(|(example, judged)| {
        let (e, n, c) = (judged.nli.entail, judged.nli.neutral, judged.nli.contradict);
        match example.target {
            Target::Is(Label::Entailment) => e > n && e > c,
            Target::Is(Label::Neutral) => n > e && n > c,
            Target::Is(Label::Contradiction) => c > e && c > n,
            Target::NotEntailed => e < n || e < c,
        }
    });
    assert!(right.count() + 1 >= examples.len());
}

#[test]
fn a_run_is_the_seed_s_whatever_the_threads() {
    let base = tiny_base();
    let with = |threads, seed| {
        let config =
            TrainConfig { threads: Some(threads), seed, dropout: 0.1, head_dropout: 0.1, ..config() };
        let mut outcome = train(base.path(), &config, 4.0, &mut |_| {});
        outcome.adapter.metadata.training = serde_json::Value::Null;
        outcome.adapter
    };
    let one = with(1, 4);
    assert_eq!(one, with(2, 4));
    assert_ne!(one, with(1, 5));
}

/// The raw numbers of a checkpoint file, without its header.
fn numbers(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

#[test]
fn a_run_that_is_killed_and_taken_up_again_ends_with_the_same_bits() {
    let base = tiny_base();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| TrainConfig {
        dropout: 0.1,
        head_dropout: 0.1,
        validate_every: 3,
        checkpoint: Some(dir.path().join(name)),
        checkpoint_minutes: 0.0,
        ..config()
    };
    let mut whole_steps = 0;
    let whole = train(base.path(), &at("whole"), 6.0, &mut |told| whole_steps = told.step);
    for killed_at in [1, 7, whole_steps - 1] {
        let name = format!("killed-{killed_at}");
        let killed = catch_unwind(AssertUnwindSafe(|| {
            train(base.path(), &at(&name), 6.0, &mut |told| assert!(told.step < killed_at, "killed"));
        }));
        assert!(killed.is_err());
        let mut first = None;
        let taken_up = train(base.path(), &at(&name), 6.0, &mut |told| {
            first.get_or_insert(told.step);
        });
        assert_eq!(first, Some(killed_at + 1));
        assert_eq!(numbers(&dir.path().join("whole")), numbers(&dir.path().join(&name)));
        assert_eq!(taken_up.adapter.digest(), whole.adapter.digest());
        assert_eq!(taken_up.summary.validations, whole.summary.validations);
    }
    // A finished run is not run again; one with another seed is another run.
    let mut told = 0;
    let again = train(base.path(), &at("whole"), 6.0, &mut |_| told += 1);
    assert_eq!((told, again.adapter.digest()), (0, whole.adapter.digest()));
    let examples = pairs();
    let stages = [Stage { name: "all".to_owned(), examples: &examples, amount: Amount::Passes(1.0) }];
    let other = TrainConfig { seed: 5, ..at("whole") };
    let error = train_verifier(base.path(), &stages, &[], &other, &mut |_| {}).unwrap_err();
    assert_eq!(error.code(), "invalid_input", "{error}");
}

#[test]
fn time_that_is_up_ends_the_run_and_every_stage_has_its_share() {
    let base = tiny_base();
    let config = TrainConfig { max_minutes: Some(1.0 / 60.0), ..config() };
    let mut told: Vec<Progress> = Vec::new();
    let outcome = train(base.path(), &config, 1e5, &mut |progress| told.push(progress.clone()));
    assert!((0.9..2.0).contains(&outcome.summary.seconds), "{}", outcome.summary.seconds);
    let first = told.iter().filter(|progress| progress.stage == "first").count();
    let second = told.iter().filter(|progress| progress.stage == "all").count();
    assert!(first > 0 && second > first, "{first} {second}");
    let last_step = &told[told.len() - 2];
    assert!(last_step.learning_rate < 0.1 * config.learning_rate, "{last_step:?}");
}

#[test]
fn validation_that_gets_no_better_ends_the_run_and_the_best_weights_are_kept() {
    let base = tiny_base();
    let config = TrainConfig { learning_rate: 1e-9, validate_every: 2, patience: Some(3), ..config() };
    let outcome = train(base.path(), &config, 50.0, &mut |_| {});
    assert!(outcome.summary.stopped_early);
    assert_eq!((outcome.summary.steps, outcome.summary.kept_step), (8, 2));
}

#[test]
fn what_cannot_be_trained_on_is_left_out_or_named() {
    let base = tiny_base();
    let is = Target::Is(Label::Neutral);
    let long = "the ".repeat(40);
    let examples =
        [pair("it opened", "it opened", is), pair(" ", "it opened", is), pair("it opened", &long, is)];
    let stages = [Stage { name: "all".to_owned(), examples: &examples, amount: Amount::Passes(1.0) }];
    let outcome = train_verifier(base.path(), &stages, &[], &config(), &mut |_| {}).unwrap();
    assert_eq!((outcome.summary.left_out, outcome.summary.examples), (2, 1));

    let none = [Stage { name: "all".to_owned(), examples: &examples[1..], amount: Amount::Passes(1.0) }];
    let error = train_verifier(base.path(), &none, &[], &config(), &mut |_| {}).unwrap_err();
    assert_eq!(error.code(), "invalid_input", "{error}");

    let wrong = [PairExample { weight: f32::NAN, ..pair("it", "it", is) }];
    let wrong = [Stage { name: "all".to_owned(), examples: &wrong, amount: Amount::Passes(1.0) }];
    let error = train_verifier(base.path(), &wrong, &[], &config(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("tiny"), "{error}");
}

/// Who saw the comet, and when: answers are the name or the year; a question about the museum has none.
fn spans() -> Vec<SpanExample> {
    let mut examples = Vec::new();
    for name in ["ada", "bela"] {
        for year in ["1889", "1912"] {
            let context = format!("a comet was seen by {name} in {year}");
            let at = |answer: &str| context.find(answer).map(|start| start..start + answer.len());
            for (question, answer) in
                [("seen by", at(name)), ("when was it seen", at(year)), ("museum", None)]
            {
                examples.push(SpanExample {
                    question: question.to_owned(),
                    context: context.clone(),
                    answers: answer.into_iter().collect(),
                    group: question.to_owned(),
                    source: "tiny".to_owned(),
                });
            }
        }
    }
    examples
}

#[test]
fn a_tiny_reader_learns_where_answers_are_and_where_there_is_none() {
    let base = tiny_base();
    let examples = spans();
    let stages = [Stage { name: "all".to_owned(), examples: &examples, amount: Amount::Passes(150.0) }];
    let outcome = train_reader(base.path(), &stages, &examples, &config(), &mut |_| {}).unwrap();
    assert!(outcome.summary.validations.last().unwrap().score > 0.99, "{:?}", outcome.summary.validations);
    let reader = BertReader::with_adapter(base.path(), &outcome.adapter, &EncoderOptions::default()).unwrap();
    for example in &examples {
        let read = reader.best_spans(&example.question, &[&example.context], 3).unwrap();
        let (spans, _) = &read[0];
        match example.answers.first() {
            Some(answer) => {
                assert!(spans[0].margin > 0.0, "{example:?} {spans:?}");
                assert_eq!(spans[0].span.range(), *answer, "{example:?}");
            }
            None => assert!(spans[0].margin < 0.0, "{example:?} {spans:?}"),
        }
    }
}

#[test]
fn a_verifier_can_begin_with_what_a_reader_learnt() {
    let base = tiny_base();
    let dir = tempfile::tempdir().unwrap();
    let examples = spans();
    let stages = [Stage { name: "all".to_owned(), examples: &examples, amount: Amount::Passes(5.0) }];
    let reader = train_reader(base.path(), &stages, &[], &config(), &mut |_| {}).unwrap().adapter;
    let start = dir.path().join("reader.safetensors");
    reader.save(&start).unwrap();

    // One step that is too small to change a number in 16 bit.
    let still = TrainConfig { learning_rate: 1e-12, start: Some(start.clone()), ..config() };
    let verifier = train(base.path(), &still, 1.0, &mut |_| {}).adapter;
    let shared: Vec<&str> = reader.names().filter(|name| !name.starts_with("head.")).collect();
    assert!(shared.iter().any(|name| name.ends_with("lora_A")), "{shared:?}");
    for name in shared {
        let shape = reader.shape(name).unwrap();
        assert_eq!(verifier.tensor(name, shape).unwrap(), reader.tensor(name, shape).unwrap(), "{name}");
    }
    assert!(verifier.metadata.training.get("start").is_some_and(serde_json::Value::is_string));

    let other = Trainable { rank: 8, ..still.trainable.clone() };
    let other = TrainConfig { trainable: other, ..still };
    let pairs = pairs();
    let stages = [Stage { name: "all".to_owned(), examples: &pairs, amount: Amount::Passes(1.0) }];
    let error = train_verifier(base.path(), &stages, &[], &other, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("rank"), "{error}");
}

#[test]
fn a_layer_over_the_rules_tells_years_apart_where_the_encoder_cannot() {
    let base = tiny_base();
    let outcome = train(base.path(), &config(), 1.0, &mut |_| {});
    let verifier =
        BertVerifier::with_adapter(base.path(), &outcome.adapter, &EncoderOptions::default()).unwrap();
    let seen = |year: u32| format!("The comet was seen in {year}.");
    let museum = "A museum has rooms full of old maps.";
    let examples: Vec<PairExample> = (1801..1861)
        .map(|year| match year % 3 {
            0 => pair(&seen(year), &seen(year), Target::Is(Label::Entailment)),
            1 => pair(&seen(year + 100), &seen(year), Target::Is(Label::Contradiction)),
            _ => pair(museum, &seen(year), Target::Is(Label::Neutral)),
        })
        .collect();
    let (fitted_on, rest) = examples.split_at(45);
    let rules = fit_rules_model(&[(fitted_on, 1.0), (&[], 1.0)], 7);
    let fusion = fit_fusion(&verifier, rules.clone(), &[(fitted_on, 1.0), (&[], 1.0)]).unwrap();
    fusion.check("the layer").unwrap();
    let texts: Vec<(&str, &str)> = rest.iter().map(|e| (e.premise.as_str(), e.hypothesis.as_str())).collect();
    for (example, logits) in rest.iter().zip(verifier.logits(&texts).unwrap()) {
        let [entailed, neutral, contradicted] = fusion.judge(logits, &example.premise, &example.hypothesis);
        let label = match example.target {
            Target::Is(Label::Entailment) => entailed,
            Target::Is(Label::Neutral) => neutral,
            _ => contradicted,
        };
        assert!(label > 0.6, "{example:?} {entailed} {neutral} {contradicted}");
    }
    let of_one_kind: Vec<PairExample> = fitted_on.iter().filter(|e| e.premise == museum).cloned().collect();
    assert!(fit_fusion(&verifier, rules, &[(&of_one_kind, 1.0)]).unwrap_err().is_user());
}
