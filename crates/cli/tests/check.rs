//! `counterproof check` as a person and a program use it. What needs the verifier is skipped, aloud, where the base
//! encoder is not at hand.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{Program, Run, lines};

const BRIDGE: &str = "The Hallberg bridge was opened to traffic on 3 May 1924.";

fn check(program: &Program, claim: &str, more: &[&str]) -> Run {
    program.run(&[&["check", claim, "--model", "none"], more].concat())
}

#[test]
fn what_is_no_claim_is_a_wrong_use() {
    let program = Program::new();
    for (claim, says) in [
        ("", "the claim is empty"),
        ("When was the bridge opened?", "it is a question"),
        (&"x".repeat(100_000), "max_question_bytes"),
    ] {
        let run = check(&program, claim, &["--evidence", BRIDGE]);
        assert!(run.code == Some(2) && run.err.contains(says), "{run:?}");
    }
    let run = check(&program, "The bridge opened in 1924.", &[]);
    assert!(run.code == Some(2) && run.err.contains("--passages"), "{run:?}");
    let both = ["--threshold", "0.5", "--coverage", "0.5", "--evidence", BRIDGE];
    assert_eq!(check(&program, "The bridge opened in 1924.", &both).code, Some(2));
    for (flag, value) in [
        ("--threshold", "1.5"),
        ("--target-risk", "-1"),
        ("--ablate", "nothing"),
        ("--candidates", "1000000"),
    ] {
        let run = check(
            &program,
            "The bridge opened in 1924.",
            &[&format!("{flag}={value}"), "--evidence", BRIDGE],
        );
        assert!(run.code == Some(2) && run.err.contains(flag.trim_start_matches('-')), "{run:?}");
    }
    let run = check(&program, "It opened in 1924.", &["--evidence", "@missing.txt"]);
    assert!(run.code == Some(2) && run.err.contains("missing.txt"), "{run:?}");
    let run = check(&program, "It opened in 1924.", &["--verifier", "nowhere", "--evidence", BRIDGE]);
    assert!(run.code == Some(2) && run.err.contains("nowhere"), "{run:?}");
}

#[test]
fn a_verdict_quotes_what_it_rests_on() {
    let Some(program) = Program::with_encoder() else { return };
    for (claim, verdict, stance) in [
        ("The Hallberg bridge was opened on 3 May 1924.", "supported", "supports"),
        ("The Hallberg bridge was opened on 3 May 1931.", "refuted", "refutes"),
    ] {
        let run = check(&program, claim, &["--evidence", BRIDGE, "--json"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let report = run.json();
        assert_eq!(report["verdict"], verdict, "{report}");
        assert_eq!(report["citations"][0]["quote"], BRIDGE);
        assert_eq!(report["citations"][0]["stance"], stance);
        let told = check(&program, claim, &["--evidence", BRIDGE, "--no-abstention"]);
        assert!(told.out.contains(verdict) && told.out.contains("3 May 1924"), "{told:?}");
    }
    let run = check(&program, "The mill ground flour.", &["--evidence", BRIDGE, "--json"]);
    assert_eq!(run.json()["verdict"], "not_enough_evidence", "{run:?}");
}

#[test]
fn odd_evidence_gives_no_verdict_and_no_crash() {
    let Some(program) = Program::with_encoder() else { return };
    program.file("long.txt", "The mill ground flour for the town. ".repeat(1500));
    for evidence in ["yes", "not enough information", "@long.txt", "<b>bridge</b>", "🌉"] {
        let run =
            check(&program, "The Hallberg bridge was opened in 1924.", &["--evidence", evidence, "--json"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(run.json()["verdict"], "not_enough_evidence", "{evidence}: {run:?}");
    }
    let run = check(&program, "桥梁于1924年通车。", &["--evidence", "桥梁于1924年通车。", "--json"]);
    let report = run.json();
    assert_eq!(
        (&report["abstained"], &report["reason"]),
        (&true.into(), &"unknown_language".into()),
        "{report}"
    );
}

#[test]
fn a_text_is_checked_sentence_by_sentence() {
    let Some(program) = Program::with_encoder() else { return };
    program.file(
        "article.txt",
        "The Hallberg bridge was opened in 1924. It was opened in 1931. Who would have thought that?",
    );
    let args = ["check", "--text", "article.txt", "--evidence", BRIDGE, "--model", "none"];
    let run = program.run(&[&args[..], &["--json"]].concat());
    let sentences = run.json()["sentences"].as_array().unwrap().clone();
    let checkable: Vec<bool> = sentences.iter().map(|s| s["checkable"].as_bool().unwrap()).collect();
    assert_eq!(checkable, [true, true, false], "{run:?}");
    assert_eq!(sentences[1]["check"]["claim"], "Hallberg was opened in 1931.");
    assert_eq!(sentences[1]["start"], 40);
    let run = program.run(&args);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("checked as: Hallberg was opened in 1931."), "{run:?}");
    let tally = run.out.trim_end().lines().last().unwrap();
    let counted: u64 = tally.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok()).sum();
    assert_eq!(counted, 2, "each claim is counted once: {tally}");
}

#[test]
fn rows_are_checked_by_their_own_evidence_or_passages() {
    let Some(program) = Program::with_encoder() else { return };
    let rows = [
        serde_json::json!({"id": "a", "claim": "The Hallberg bridge was opened on 3 May 1924.", "evidence": BRIDGE}),
        serde_json::json!({"id": "b", "claim": "The Hallberg bridge was opened on 3 May 1931.",
            "passages": [{"title": "Hallberg bridge", "text": BRIDGE}]}),
        serde_json::json!({"id": "c", "claim": "The Hallberg bridge was opened on 3 May 1924."}),
        serde_json::json!({"id": "d", "claim": "Is it?", "evidence": [BRIDGE]}),
    ];
    program.file("claims.jsonl", rows.map(|r| r.to_string()).join("\n"));
    let args = ["batch", "check", "--input", "claims.jsonl", "--output", "out.jsonl", "--model", "none"];
    let run = program.run(&args);
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut out = lines(&program.path("out.jsonl"));
    out.sort_by_key(|row| row["id"].as_str().unwrap().to_owned());
    assert_eq!((&out[0]["verdict"], &out[1]["verdict"]), (&"supported".into(), &"refuted".into()), "{out:?}");
    assert!(out[2]["error"]["message"].as_str().unwrap().contains("evidence"), "{out:?}");
    assert!(out[3]["error"]["message"].as_str().unwrap().contains("question"), "{out:?}");
    assert_eq!(program.run(&[&args[..], &["--resume"]].concat()).code, Some(0));
}

#[test]
fn a_calibration_of_one_s_own_is_fitted_and_used() {
    let Some(program) = Program::with_encoder() else { return };
    let row = |i: u32| {
        let (year, claimed) = (1900 + i, 1900 + i + i % 2);
        let verdict = if i.is_multiple_of(2) { "supported" } else { "refuted" };
        serde_json::json!({
            "claim": format!("Mill number {i} was built in {claimed}."), "verdict": verdict,
            "evidence": format!("Mill number {i} was built in {year}."), "group": format!("mill {}", i / 2),
        })
    };
    let mut rows: Vec<String> = (1..=24).map(|i| row(i).to_string()).collect();
    rows.push(r#"{"claim": "It opened in 1924.", "verdict": "perhaps", "evidence": "x"}"#.to_owned());
    program.file("known.jsonl", rows.join("\n"));
    let run = program.run(&["train", "calibrator", "--input", "known.jsonl", "--out", "own.json", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!((&run.json()["rows"], &run.json()["failed"]), (&24.into(), &1.into()), "{run:?}");
    program.file("counterproof.toml", "check_calibration = \"own.json\"\n");
    let promised = check(
        &program,
        "The bridge opened in 1924.",
        &["--evidence", BRIDGE, "--target-risk", "0.01", "--json"],
    );
    assert!(
        promised.err.contains("cannot be promised") && !promised.err.contains("18446744073709551615"),
        "{promised:?}"
    );
    assert_eq!(promised.json()["reason"], "no_promise");
    program.file("own.json", "{}");
    let run = check(&program, "The bridge opened in 1924.", &["--evidence", BRIDGE]);
    assert!(run.code == Some(2) && run.err.contains("own.json"), "{run:?}");
}
