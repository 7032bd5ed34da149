//! Without a language model: the shipped reader and verifier decide. Skipped, aloud, where the base encoder is not at
//! hand.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{Program, Run};

/// A program with the base encoder and passages about a tower.
fn program() -> Option<Program> {
    let program = Program::with_encoder()?;
    program.file(
        "tower.jsonl",
        r#"{"id":"t","title":"Hallberg tower","text":"The Hallberg tower was designed by Anton Reiss and opened in 1924."}
{"id":"v","title":"Clara Vogt","text":"Clara Vogt was a painter who drew the Hallberg tower many times."}
"#,
    );
    Some(program)
}

fn repair(program: &Program, question: &str, draft: &str, more: &[&str]) -> Run {
    let args = ["repair", question, "--draft", draft, "--passages", "tower.jsonl", "--json", "--explain"];
    program.run(&[&args[..], more].concat())
}

#[test]
fn flags_about_a_language_model_are_refused_without_one_and_the_other_way_round() {
    let program = Program::new();
    program.file("p.jsonl", r#"{"id":"a","text":"It opened in 1913."}"#);
    for (more, flag) in [
        (vec!["--model", "none", "--veto"], "--veto"),
        (vec!["--model", "none", "--record", "r.jsonl"], "--record"),
        (vec!["--model", "http://127.0.0.1:9/v1#m", "--max-harm", "0.1"], "--max-harm"),
    ] {
        let args =
            [vec!["repair", "When did it open?", "--draft", "1912", "--passages", "p.jsonl"], more].concat();
        let run = program.run(&args);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.err.contains(flag), "{run:?}");
    }
    let run = program.run(&["demo", "--small", "--model", "none", "--record", "r.jsonl"]);
    assert!(run.code == Some(2) && run.err.contains("--record"), "{run:?}");
}

#[test]
fn reader_and_verifier_decide_where_no_model_is_named() {
    let Some(program) = program() else { return };
    let run = repair(&program, "Who designed the Hallberg tower?", "Anton Reiss", &[]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("--model none"), "it says who decides: {run:?}");
    let report = run.json();
    assert_eq!(report["answer"], "Anton Reiss");
    let trace = report["trace"].to_string();
    assert!(trace.contains("counterproof-reader") && trace.contains("counterproof-verifier"), "{trace}");
    let run = repair(&program, "Who designed the Hallberg tower?", "Anton Reiss", &["--gate", "text"]);
    assert!(run.code == Some(2) && run.out.contains("--gate"), "{run:?}");
}

#[test]
fn a_harm_that_cannot_be_promised_is_told() {
    let Some(program) = program() else { return };
    let run = repair(&program, "Who designed the Hallberg tower?", "Clara Vogt", &["--max-harm", "0.000001"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("95 % confidence"), "{run:?}");
    assert_eq!(run.json()["answer"], "Clara Vogt");
}

#[test]
fn another_language_is_marked() {
    let Some(program) = program() else { return };
    let run = repair(&program, "谁设计了哈尔贝格塔？", "克拉拉·福格特", &[]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let report = run.json();
    // Where nothing could take the draft's place no verifier is asked.
    let asked = report["trace"].to_string().contains("counterproof-verifier");
    assert_eq!(
        report["trace"].to_string().contains("was not trained on the question's language"),
        asked,
        "{report}"
    );
}

#[test]
fn a_calibration_of_one_s_own_is_fitted_and_used() {
    let Some(program) = program() else { return };
    let row = |i: u32| {
        let (year, other) = (1800 + i, 1900 + i);
        let draft = if i.is_multiple_of(2) { year } else { other };
        let text = format!("Mill number {i} was built in {year}. It was sold in {other}.");
        serde_json::json!({
            "question": format!("In what year was mill number {i} built?"), "draft": draft.to_string(),
            "answers": [year.to_string()], "passages": [{"title": "Mills", "text": text}],
        })
    };
    let mut rows: Vec<String> = (1..=24).map(|i| row(i).to_string()).collect();
    rows.push("{torn".to_owned());
    program.file("known.jsonl", rows.join("\n"));
    let run = program.run(&["train", "calibrator", "--input", "known.jsonl", "--out", "own.json", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = run.json();
    assert_eq!((&told["rows"], &told["failed"], &told["right_drafts"]), (&24.into(), &1.into(), &12.into()));
    assert!(run.err.contains("line 25"), "{run:?}");

    program.file("counterproof.toml", "calibration = \"own.json\"\n");
    let run = repair(&program, "Who designed the Hallberg tower?", "Anton Reiss", &[]);
    assert_eq!(run.code, Some(0), "{run:?}");
    program.file("own.json", "{}");
    let run = repair(&program, "Who designed the Hallberg tower?", "Anton Reiss", &[]);
    assert!(run.code == Some(2) && run.out.contains("own.json"), "{run:?}");
}
