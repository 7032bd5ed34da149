//! `batch`: what rows may hold, what becomes of those that fail, and how failures are counted.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use support::{LABORATORY, MockModel, Program, lines};

fn batch<'a>(spec: &'a str, input: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["batch", "repair", "--input", input, "--output", "out.jsonl", "--model", spec];
    args.extend(more);
    args
}

#[test]
fn a_csv_row_with_too_few_fields_is_named_by_its_line_and_the_rest_goes_on() {
    let program = Program::new();
    let model = MockModel::revising(Duration::ZERO);
    program.file("passages.jsonl", LABORATORY);
    program.file(
        "in.csv",
        "\u{feff}id,question,draft\r\na,In what year was the laboratory founded?,1912\r\nb,short\r\n\
         c,\"In what year, exactly, was the laboratory founded?\",1912\r\n",
    );
    let spec = model.spec();
    let run = program.run(&batch(&spec, "in.csv", &["--passages", "passages.jsonl", "--json"]));
    assert_eq!(run.code, Some(0), "{run:?}");
    let summary = run.json();
    assert_eq!((summary["rows"].as_u64(), summary["failed"].as_u64()), (Some(3), Some(1)));
    let rows = lines(&program.path("out.jsonl"));
    assert_eq!(rows[0]["answer"], "1913");
    assert_eq!(rows[1]["error"]["code"], "invalid_input");
    assert_eq!(rows[1]["error"]["message"], "line 3: it has 2 fields where the header has 3");
    assert_eq!((&rows[2]["id"], &rows[2]["answer"]), (&"c".into(), &"1913".into()));
}

#[test]
fn rows_that_bring_their_passages_are_searched_within_those() {
    let program = Program::new();
    let model = MockModel::revising(Duration::ZERO);
    program.file(
        "in.jsonl",
        r#"{"question": "In what year was the laboratory founded?", "llm_answer": "1912", "ctxs": [{"title": "Lab", "text": "The laboratory was founded in 1913."}]}
{"question": "In what year was the laboratory founded?", "draft": "1912", "passages": ["Nothing is said here of years."]}
{"question": "In what year was the laboratory founded?", "draft": "1912"}
{"question": "In what year was the laboratory founded?", "passages": ["The laboratory was founded in 1913."]}
"#,
    );
    let spec = model.spec();
    let run = program.run(&batch(&spec, "in.jsonl", &[]));
    assert_eq!(run.code, Some(0), "{run:?}");
    let rows = lines(&program.path("out.jsonl"));
    assert_eq!(rows[0]["answer"], "1913");
    assert_eq!(rows[0]["citations"][0]["quote"], "The laboratory was founded in 1913");
    assert_eq!((&rows[1]["answer"], &rows[1]["reason"]), (&"1912".into(), &"evidence_not_in_pool".into()));
    assert!(rows[2]["error"]["message"].as_str().unwrap().contains("--passages"), "{}", rows[2]);
    assert!(rows[3]["error"]["message"].as_str().unwrap().contains("no draft"), "{}", rows[3]);
}

#[test]
fn the_key_never_reaches_the_output() {
    let program = Program::new();
    let model = MockModel::start(Duration::ZERO, |_| Err(401));
    program.file("passages.jsonl", LABORATORY);
    program.file(
        "in.jsonl",
        "{\"question\": \"In what year was the laboratory founded?\", \"draft\": \"1912\"}\n",
    );
    let config = format!(
        "[models.m]\nspec = \"openai:mock\"\nbase_url = \"http://{}/v1\"\napi_key_env = \"THE_KEY\"\n",
        model.address
    );
    program.file("counterproof.toml", config);
    let output = program
        .command(&batch("m", "in.jsonl", &["--passages", "passages.jsonl", "-vv"]))
        .env("THE_KEY", "sk-0123456789abcdefsecret")
        .output()
        .unwrap();
    let run = support::Run::from(output);
    assert_eq!(run.code, Some(1), "a refused key stops the run: {run:?}");
    assert!(run.err.contains("THE_KEY") && run.err.contains("--resume"), "{run:?}");
    let written = std::fs::read_to_string(program.path("out.jsonl")).unwrap();
    assert!(!format!("{run:?}{written}").contains("0123456789abcdef"), "{run:?}");
}

#[test]
fn a_row_that_could_not_be_tested_keeps_its_draft_counts_as_failed_and_is_tried_again() {
    let program = Program::new();
    program.file("passages.jsonl", LABORATORY);
    program.file("counterproof.toml", "[policy]\nmax_attempts = 1\n");
    program.file(
        "in.jsonl",
        "{\"question\": \"In what year was the laboratory founded?\", \"draft\": \"1912\"}\n",
    );
    let broken = MockModel::start(Duration::ZERO, |_| Err(503)).spec();
    let run = program.run(&batch(&broken, "in.jsonl", &["--passages", "passages.jsonl", "--json"]));
    assert_eq!((run.code, run.json()["failed"].as_u64()), (Some(1), Some(1)), "{run:?}");
    let row = &lines(&program.path("out.jsonl"))[0];
    assert_eq!((&row["answer"], &row["reason"]), (&"1912".into(), &"gate_failed".into()));
    assert_eq!(row["error"]["code"], "upstream_unavailable");

    let well = MockModel::revising(Duration::ZERO).spec();
    let run = program.run(&batch(&well, "in.jsonl", &["--passages", "passages.jsonl", "--json", "--resume"]));
    assert_eq!((run.code, run.json()["failed"].as_u64()), (Some(0), Some(0)), "{run:?}");
    let rows = lines(&program.path("out.jsonl"));
    assert_eq!((rows.len(), &rows[0]["answer"]), (1, &"1913".into()));
}

#[test]
fn a_dry_run_asks_nothing_and_writes_nothing() {
    let program = Program::new();
    let model = MockModel::revising(Duration::ZERO);
    program.file("passages.jsonl", LABORATORY);
    program.file(
        "in.jsonl",
        "{\"question\": \"In what year was the laboratory founded?\", \"draft\": \"1912\"}\nnot json\n",
    );
    let spec = model.spec();
    let run =
        program.run(&batch(&spec, "in.jsonl", &["--passages", "passages.jsonl", "--dry-run", "--json"]));
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = run.json();
    assert_eq!((&told["estimate"]["questions"], &told["estimate"]["model_calls"]), (&1.into(), &1.into()));
    assert!(run.err.contains("1 row cannot be read"), "{run:?}");
    assert_eq!(model.calls(), 0);
    assert!(!program.path("out.jsonl").exists());
}

#[test]
fn standard_input_can_be_the_input() {
    let program = Program::new();
    let model = MockModel::revising(Duration::ZERO);
    program.file("passages.jsonl", LABORATORY);
    let spec = model.spec();
    let run = program.run_with(
        &batch(&spec, "-", &["--passages", "passages.jsonl"]),
        b"{\"question\": \"In what year was the laboratory founded?\", \"draft\": \"1912\"}\n",
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(lines(&program.path("out.jsonl"))[0]["answer"], "1913");
}
