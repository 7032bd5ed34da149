//! What a person and a program are shown.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use support::{LABORATORY, MockModel, Program};

const QUESTION: &str = "In what year was the laboratory founded?";

/// Runs with times and ports taken out, since they differ from run to run.
macro_rules! stable {
    ($run:block) => {
        insta::with_settings!({ filters => vec![
            (r"[\d.]+ ms", "[N] ms"),
            (r"\d+\.\d s", "[N] s"),
            (r#""wall_ms":[\d.]+"#, r#""wall_ms":0"#),
            (r"127\.0\.0\.1:\d+", "[ADDRESS]"),
            (r"list:[0-9a-f]{64}", "list:[DIGEST]"),
            (r"[0-9a-f]{64}", "[SHA-256]"),
        ] }, $run);
    };
}

fn program() -> Program {
    let program = Program::new();
    program.file("passages.jsonl", LABORATORY);
    program
}

fn repair(program: &Program, model: &MockModel, draft: &str, more: &[&str]) -> String {
    let spec = model.spec();
    let args = ["repair", QUESTION, "--draft", draft, "--passages", "passages.jsonl", "--model", &spec];
    let run = program.run(&[&args[..], more].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.err, "");
    run.out
}

#[test]
fn help_of_every_command() {
    let program = Program::new();
    for command in [
        "",
        "demo",
        "index",
        "index build",
        "index info",
        "search",
        "ask",
        "repair",
        "batch",
        "batch ask",
        "batch repair",
        "check",
        "batch check",
        "train calibrator",
        "models",
        "models list",
        "models pull",
        "completions",
    ] {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let run = program.run(&args);
        assert_eq!(run.code, Some(0));
        insta::assert_snapshot!(format!("help {command}").trim().replace(' ', "_"), run.out);
    }
}

#[test]
fn a_repaired_answer() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    stable!({ insta::assert_snapshot!(repair(&program, &model, "1912", &[])) });
}

#[test]
fn a_repaired_answer_as_json() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    stable!({ insta::assert_snapshot!(repair(&program, &model, "1912", &["--json"])) });
}

#[test]
fn a_repaired_answer_explained() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    stable!({ insta::assert_snapshot!(repair(&program, &model, "1912", &["--explain"])) });
}

#[test]
fn a_kept_answer() {
    let program = program();
    let model =
        MockModel::start(Duration::ZERO, |_| Ok("DECISION: KEEP\nANSWER: 1913\nEVIDENCE: NONE".into()));
    stable!({ insta::assert_snapshot!(repair(&program, &model, "1913", &[])) });
}

#[test]
fn a_trace_comes_only_when_it_is_asked_for() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    let json = |more: &[&str]| -> serde_json::Value {
        serde_json::from_str(&repair(&program, &model, "1912", &[&["--json"], more].concat())).unwrap()
    };
    assert!(json(&[]).get("trace").is_none());
    assert!(json(&["--explain"])["trace"]["events"].as_array().is_some_and(|e| !e.is_empty()));
}

#[test]
fn a_dry_run() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    stable!({ insta::assert_snapshot!(repair(&program, &model, "1912", &["--dry-run"])) });
    assert_eq!(model.calls(), 0);
}

#[test]
fn passages_that_were_found() {
    let program = program();
    let run =
        program.run(&["search", "the laboratory by the river", "--passages", "passages.jsonl", "-k", "2"]);
    stable!({ insta::assert_snapshot!(run.out) });
    let run = program.run(&[
        "search",
        "the laboratory by the river",
        "--passages",
        "passages.jsonl",
        "-k",
        "2",
        "--json",
    ]);
    stable!({ insta::assert_snapshot!(run.out) });
}

#[test]
fn the_same_request_is_not_paid_for_twice() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    let first = repair(&program, &model, "1912", &["--json"]);
    let second = repair(&program, &model, "1912", &["--json"]);
    assert_eq!(model.calls(), 1);
    let cached =
        |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap()["cost"]["cached_calls"].clone();
    assert_eq!((cached(&first), cached(&second)), (0.into(), 1.into()));
}

#[test]
fn models_are_listed_with_what_is_here() {
    let program = Program::new();
    let run = program.run(&["models", "list", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let list = run.json();
    let names: Vec<&str> =
        list["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(&names[..3], ["all-MiniLM-L6-v2", "smollm2-135m-instruct", "wikipedia-leads"]);
    assert!(list["models"].as_array().unwrap().iter().all(|m| m["presence"] == "missing"));
    let run = program.run(&["models", "list"]);
    insta::with_settings!({ filters => vec![(r"in /.*", "in [HOME]")] }, { insta::assert_snapshot!(run.out) });
}

#[test]
fn settings_name_the_model_and_flags_go_before_them() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    program.file(
        "counterproof.toml",
        format!(
            "model = \"house\"\n[models.house]\nspec = \"{}\"\nprice = {{ input = 1000.0, output = 0.0 }}\n",
            model.spec()
        ),
    );
    let run = program.run(&["repair", QUESTION, "--draft", "1912", "--passages", "passages.jsonl", "--json"]);
    assert_eq!(run.json()["answer"], "1913", "{run:?}");
    assert_eq!(run.json()["cost"]["usd"], 0.1);
    let run = program.run(&[
        "repair",
        QUESTION,
        "--draft",
        "1912",
        "--passages",
        "passages.jsonl",
        "--model",
        "horse",
    ]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.err.contains("house"), "the models of the settings are named: {run:?}");
    let run = program.run(&["repair", QUESTION, "--draft", "1912", "--config", "other.toml"]);
    assert_eq!(run.code, Some(2));
}

#[test]
fn a_recording_gives_the_same_decision_without_the_server() {
    let (program, model) = (program(), MockModel::revising(Duration::ZERO));
    let decision = |json: &str| {
        let mut json: serde_json::Value = serde_json::from_str(json).unwrap();
        json.as_object_mut().unwrap().remove("cost");
        json
    };
    let asked = repair(&program, &model, "1912", &["--json", "--record", "gate.jsonl"]);
    assert_eq!(model.calls(), 1);
    let args = ["repair", QUESTION, "--draft", "1912", "--passages", "passages.jsonl", "--json"];
    let replayed = program.run(&[&args[..], &["--model", "recorded:gate.jsonl"]].concat());
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert_eq!(decision(&replayed.out), decision(&asked));
    assert_eq!(model.calls(), 1);
}
