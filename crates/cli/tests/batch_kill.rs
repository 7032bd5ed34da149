//! `kill -9` in the middle of `batch` at any moment, then `--resume`: every row exactly once, none lost, none doubled,
//! the file never torn.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

mod support;

use std::process::Stdio;
use std::time::Duration;

use support::{LABORATORY, MockModel, Program, lines};

const ROWS: usize = 120;

fn input() -> String {
    (0..ROWS)
        .map(|i| format!("{{\"id\": \"q{i}\", \"question\": \"In what year was laboratory {i} founded?\", \"draft\": \"1912\"}}\n"))
        .collect()
}

/// Moments in milliseconds after the start, spread by a fixed generator so that a failure can be repeated.
fn moments() -> impl Iterator<Item = u64> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        20 + state % 400
    })
}

#[test]
fn every_row_stands_in_the_output_once_however_often_the_run_is_killed() {
    let program = Program::new();
    let model = MockModel::revising(Duration::from_millis(15));
    program.file("passages.jsonl", LABORATORY);
    program.file("in.jsonl", input());
    let spec = model.spec();
    let args = [
        "batch",
        "repair",
        "--input",
        "in.jsonl",
        "--output",
        "out.jsonl",
        "--resume",
        "--passages",
        "passages.jsonl",
        "--model",
        &spec,
        "--concurrency",
        "3",
    ];
    let output = program.path("out.jsonl");
    let mut kills = 0;
    let mut grown = 0;
    for moment in moments().take(400) {
        let mut child = program
            .command(&args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = std::time::Instant::now() + Duration::from_millis(moment + grown * 40);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if std::time::Instant::now() >= deadline {
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if let Some(status) = status {
            assert!(status.success());
            break;
        }
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        kills += 1;
        // On a slow machine a run must be let live longer before it gets anywhere.
        let done = std::fs::read(&output).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count());
        grown = if done * 10 < kills * 3 { grown + 1 } else { grown };
    }
    assert!(kills >= 3, "the run was killed {kills} times only");

    let rows = lines(&output);
    let numbers: Vec<u64> = rows.iter().map(|r| r["row"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=ROWS as u64).collect::<Vec<_>>());
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["id"], format!("q{i}"));
        assert_eq!(row["answer"], "1913", "{row}");
    }
    // A reply that was received and written was not paid for again: at most the calls under way at each kill were.
    assert!(model.calls() <= (ROWS + 3 * kills) as u64, "{} calls, {kills} kills", model.calls());
}

#[test]
fn interrupted_by_ctrl_c_it_writes_what_was_paid_for_and_says_how_to_go_on() {
    let program = Program::new();
    let model = MockModel::revising(Duration::from_millis(60));
    program.file("passages.jsonl", LABORATORY);
    program.file("in.jsonl", input());
    let spec = model.spec();
    let args = [
        "batch",
        "repair",
        "--input",
        "in.jsonl",
        "--output",
        "out.jsonl",
        "--passages",
        "passages.jsonl",
        "--model",
        &spec,
        "--concurrency",
        "2",
    ];
    let child = program
        .command(&args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while model.calls() < 5 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let run = support::Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("--resume"), "{run:?}");
    assert_eq!(
        lines(&program.path("out.jsonl")).len() as u64,
        model.calls(),
        "each call that was made is a row"
    );

    let resumed = program.run(&[&args[..], &["--resume"]].concat());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(lines(&program.path("out.jsonl")).len(), ROWS);
    assert_eq!(model.calls(), ROWS as u64);
}
