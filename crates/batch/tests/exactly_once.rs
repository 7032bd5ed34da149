//! Every row exactly once: through crashes, retries, edits of the input and failures of single rows.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use counterproof_batch::{BatchOptions, BatchSummary, Input, InputFormat, Resume, Row, Sink, Stop, run};
use counterproof_core::{Error, Limits, UpstreamError, UpstreamKind, UserError};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn options() -> BatchOptions {
    BatchOptions { verb: "echo".into(), concurrency: 4, limit: None }
}

fn echo(row: &Row) -> Map<String, Value> {
    json!({ "schema": 1, "question": row.question }).as_object().unwrap().clone()
}

/// Runs a batch whose work is to echo the question; `fail` decides which questions fail.
async fn echo_batch(
    dir: &Path,
    resume: Resume,
    fail: impl Fn(&str) -> Option<Error> + Send + Sync + 'static,
) -> Result<BatchSummary, Error> {
    let input = Input::new(dir.join("in.jsonl"), InputFormat::JsonLines, Limits::default());
    let sink = Sink::open(dir.join("out.jsonl"), resume)?;
    let fail = Arc::new(fail);
    let work = move |_id: String, row: Row| {
        let fail = Arc::clone(&fail);
        async move {
            // Later rows finish first.
            tokio::time::sleep(Duration::from_micros(2000 / (1 + row.question.len() as u64))).await;
            match fail(&row.question) {
                Some(error) => Err(error),
                None => Ok(echo(&row)),
            }
        }
    };
    run(&input, sink, &options(), work, std::future::pending(), |_| ()).await
}

fn write_input(dir: &Path, rows: usize) {
    let text: String =
        (0..rows).map(|i| format!("{{\"id\": \"r{i}\", \"question\": \"q{}\"}}\n", "?".repeat(i))).collect();
    std::fs::write(dir.join("in.jsonl"), text).unwrap();
}

fn output(dir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("out.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(rows: &[Value]) -> Vec<u64> {
    rows.iter().map(|r| r["row"].as_u64().unwrap()).collect()
}

fn unavailable() -> Error {
    UpstreamError {
        service: "mock".into(),
        kind: UpstreamKind::Unavailable,
        message: "busy".into(),
        retry_after: None,
    }
    .into()
}

#[tokio::test]
async fn the_output_ends_in_the_order_of_the_input() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 20);
    let summary = echo_batch(dir.path(), Resume::No, |_| None).await.unwrap();
    assert_eq!((summary.rows, summary.done, summary.failed), (20, 20, 0));
    let rows = output(dir.path());
    assert_eq!(numbers(&rows), (1..=20).collect::<Vec<_>>());
    assert_eq!(rows[3]["id"], "r3");
}

#[tokio::test]
async fn an_output_that_exists_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 2);
    echo_batch(dir.path(), Resume::No, |_| None).await.unwrap();
    let error = echo_batch(dir.path(), Resume::No, |_| None).await.unwrap_err();
    assert!(error.to_string().contains("--resume"), "{error}");
    assert_eq!(output(dir.path()).len(), 2);
}

#[tokio::test]
async fn a_transient_failure_is_tried_again_and_another_one_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 6);
    let fail = |q: &str| match q {
        "q?" => Some(unavailable()),
        "q??" => Some(Error::invalid("question", "no good")),
        _ => None,
    };
    let summary = echo_batch(dir.path(), Resume::No, fail).await.unwrap();
    assert_eq!(summary.failed, 2);
    assert_eq!(output(dir.path())[1]["error"]["code"], "upstream_unavailable");

    let summary = echo_batch(dir.path(), Resume::Continue, |_| None).await.unwrap();
    assert_eq!((summary.earlier, summary.done, summary.failed), (5, 1, 1));
    let summary = echo_batch(dir.path(), Resume::RetryFailed, |_| None).await.unwrap();
    assert_eq!((summary.earlier, summary.done, summary.failed), (5, 1, 0));
    assert_eq!(numbers(&output(dir.path())), [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_changed_input_is_noticed_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 3);
    echo_batch(dir.path(), Resume::No, |_| None).await.unwrap();
    std::fs::write(dir.path().join("in.jsonl"), "{\"question\": \"another\"}\n").unwrap();
    let error = echo_batch(dir.path(), Resume::Continue, |_| panic!("no work is begun")).await.unwrap_err();
    assert!(error.to_string().contains("row 1"), "{error}");

    // Rows that were added are no change of those that are done.
    write_input(dir.path(), 5);
    let summary = echo_batch(dir.path(), Resume::Continue, |_| None).await.unwrap();
    assert_eq!((summary.earlier, summary.done), (3, 2));
    // Rows that were taken away are.
    write_input(dir.path(), 4);
    assert!(echo_batch(dir.path(), Resume::Continue, |_| None).await.is_err());
}

#[tokio::test]
async fn refused_credentials_stop_the_run_and_leave_the_rest_to_resume() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 50);
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let refuse = move |_: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(UserError::Credentials { service: "mock".into(), hint: "set KEY".into() }.into())
    };
    let summary = echo_batch(dir.path(), Resume::No, refuse).await.unwrap();
    assert!(matches!(summary.stopped, Some(Stop::Error(_))));
    assert!(calls.load(Ordering::Relaxed) <= 4, "only the rows under way met the error");
    let summary = echo_batch(dir.path(), Resume::Continue, |_| None).await.unwrap();
    assert_eq!((summary.done, summary.failed), (50, 0));
}

#[tokio::test]
async fn a_panic_costs_its_row_only() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 5);
    let summary =
        echo_batch(dir.path(), Resume::No, |q| if q == "q??" { panic!("bug") } else { None }).await.unwrap();
    assert_eq!((summary.done, summary.failed), (5, 1));
    assert_eq!(output(dir.path())[2]["error"]["code"], "internal");
}

#[tokio::test]
async fn asked_to_stop_it_writes_what_is_under_way() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 100);
    let input = Input::new(dir.path().join("in.jsonl"), InputFormat::JsonLines, Limits::default());
    let sink = Sink::open(dir.path().join("out.jsonl"), Resume::No).unwrap();
    let begun = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&begun);
    let work = move |_id: String, row: Row| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(echo(&row))
        }
    };
    let stop = tokio::time::sleep(Duration::from_millis(50));
    let summary = run(&input, sink, &options(), work, stop, |_| ()).await.unwrap();
    assert!(matches!(summary.stopped, Some(Stop::Asked)));
    assert!(summary.done < 100);
    assert_eq!(summary.done, begun.load(Ordering::Relaxed));
    assert_eq!(output(dir.path()).len() as u64, summary.done);
}

#[tokio::test]
async fn two_runs_do_not_write_one_output() {
    let dir = tempfile::tempdir().unwrap();
    let first = Sink::open(dir.path().join("out.jsonl"), Resume::Continue).unwrap();
    let error = Sink::open(dir.path().join("out.jsonl"), Resume::Continue).unwrap_err();
    assert!(error.to_string().contains("another run"), "{error}");
    drop(first);
    Sink::open(dir.path().join("out.jsonl"), Resume::Continue).unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_output_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    write_input(dir.path(), 1);
    for notes in ["my notes\nand more\n", "my notes"] {
        std::fs::write(dir.path().join("out.jsonl"), notes).unwrap();
        let error = echo_batch(dir.path(), Resume::Continue, |_| None).await.unwrap_err();
        assert!(error.to_string().contains("no row of a batch run"), "{error}");
        assert_eq!(std::fs::read_to_string(dir.path().join("out.jsonl")).unwrap(), notes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A process killed in the middle of a write leaves some beginning of what it would have written.
    #[test]
    fn any_beginning_of_an_output_can_be_resumed(cut in 0.0f64..1.0) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let dir = tempfile::tempdir().unwrap();
            write_input(dir.path(), 12);
            echo_batch(dir.path(), Resume::No, |q| (q == "q???").then(unavailable)).await.unwrap();
            let path = dir.path().join("out.jsonl");
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, &whole[..(whole.len() as f64 * cut) as usize]).unwrap();
            echo_batch(dir.path(), Resume::Continue, |_| None).await.unwrap();
            let rows = output(dir.path());
            assert_eq!(numbers(&rows), (1..=12).collect::<Vec<_>>());
            assert!(rows.iter().all(|r| r.get("error").is_none()));
        });
    }
}
