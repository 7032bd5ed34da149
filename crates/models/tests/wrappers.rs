//! The policy, the reply cache and recordings, around scripted models.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // Helpers of tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, Continuation, Error, LanguageModel, Message, Price, Result,
    Sampling, ScoreRequest, Script, ScriptedModel, UpstreamError, UpstreamKind,
};
use counterproof_models::cache::{Cached, ReplyCache};
use counterproof_models::policy::{Governed, Policy};
use counterproof_models::recorded::{RecordedModel, Recorder, lines_with_keys};
use proptest::prelude::*;

fn ask(text: &str) -> CompletionRequest {
    CompletionRequest {
        stage: "gate".into(),
        messages: vec![Message::user(text)],
        sampling: Sampling::greedy(20),
        ..CompletionRequest::default()
    }
}

fn upstream(kind: UpstreamKind, retry_after: Option<Duration>) -> Error {
    UpstreamError { service: "test".into(), kind, message: "failed".into(), retry_after }.into()
}

fn quick() -> Policy {
    Policy { backoff_ms: 2, max_backoff_ms: 4, ..Policy::default() }
}

/// A model that fails with the given errors, one a call, and then replies.
fn failing(errors: Vec<Error>) -> Arc<ScriptedModel> {
    let errors = std::sync::Mutex::new(errors.into_iter());
    Arc::new(ScriptedModel::new(move |_| match errors.lock().unwrap().next() {
        Some(error) => Script::Fail(error),
        None => Script::Reply("yes".into()),
    }))
}

/// A model that takes its time, and says how many calls were under way at most.
#[derive(Default)]
struct Slow {
    millis: u64,
    calls: AtomicU32,
    now: AtomicU32,
    most: AtomicU32,
}

#[async_trait]
impl LanguageModel for Slow {
    fn identity(&self) -> &str {
        "slow"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        struct Leave<'a>(&'a AtomicU32);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _leave = Leave(&self.now);
        tokio::time::sleep(Duration::from_millis(self.millis)).await;
        ScriptedModel::new(|r| Script::Reply(r.messages[0].content.clone())).complete(request).await
    }
}

#[tokio::test]
async fn what_is_transient_is_tried_again_and_nothing_else_is() {
    let model =
        failing(vec![upstream(UpstreamKind::Unavailable, None), upstream(UpstreamKind::BadReply, None)]);
    let governed = Governed::new(model.clone(), quick()).unwrap();
    assert_eq!(governed.complete(&ask("a")).await.unwrap().text, "yes");
    assert_eq!(model.requests().len(), 3);

    let model = failing(vec![upstream(UpstreamKind::Refused, None)]);
    let governed = Governed::new(model.clone(), quick()).unwrap();
    assert_eq!(governed.complete(&ask("a")).await.unwrap_err().code(), "upstream_refused");
    assert_eq!(model.requests().len(), 1);

    let model = failing(vec![upstream(UpstreamKind::Connection, None); 9]);
    let governed = Governed::new(model.clone(), Policy { max_attempts: 3, ..quick() }).unwrap();
    assert_eq!(governed.complete(&ask("a")).await.unwrap_err().code(), "upstream_connection");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn retry_after_is_honoured_and_too_long_a_wait_is_refused() {
    let wait = Duration::from_millis(120);
    let model = failing(vec![upstream(UpstreamKind::RateLimited, Some(wait))]);
    let governed = Arc::new(Governed::new(model, quick()).unwrap());
    let start = Instant::now();
    // The other request, which was not refused, keeps quiet as long.
    let first = tokio::spawn({
        let governed = governed.clone();
        async move { governed.complete(&ask("a")).await }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    governed.complete(&ask("b")).await.unwrap();
    assert!(start.elapsed() >= wait, "{:?}", start.elapsed());
    first.await.unwrap().unwrap();

    let model = failing(vec![upstream(UpstreamKind::RateLimited, Some(Duration::from_secs(3600)))]);
    let error = Governed::new(model, quick()).unwrap().complete(&ask("a")).await.unwrap_err();
    assert_eq!(error.body().retry_after_ms, Some(3_600_000));
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let slow = Arc::new(Slow { millis: 5_000, ..Slow::default() });
    let policy = Policy { timeout_s: 0.05, max_attempts: 2, ..quick() };
    let error = Governed::new(slow.clone(), policy).unwrap().complete(&ask("a")).await.unwrap_err();
    assert_eq!(error.code(), "upstream_timeout");
    assert!(error.to_string().contains("timeout_s"), "{error}");
    assert_eq!(slow.calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_allowed() {
    let slow = Arc::new(Slow { millis: 20, ..Slow::default() });
    let governed = Governed::new(slow.clone(), Policy { max_concurrent: 3, ..quick() }).unwrap();
    let requests: Vec<_> = (0..12).map(|i| ask(&i.to_string())).collect();
    futures::future::join_all(requests.iter().map(|r| governed.complete(r))).await;
    assert_eq!((slow.calls.load(Ordering::SeqCst), slow.most.load(Ordering::SeqCst)), (12, 3));
}

#[tokio::test]
async fn the_same_request_in_flight_runs_once_unless_it_is_drawn_at_random() {
    let slow = Arc::new(Slow { millis: 30, ..Slow::default() });
    let governed = Governed::new(slow.clone(), quick()).unwrap();
    let same = ask("a");
    for reply in futures::future::join_all((0..5).map(|_| governed.complete(&same))).await {
        assert_eq!(reply.unwrap().text, "a");
    }
    assert_eq!(slow.calls.load(Ordering::SeqCst), 1);
    let mut random = ask("a");
    random.sampling.temperature = Some(1.0);
    futures::future::join_all((0..5).map(|_| governed.complete(&random))).await;
    assert_eq!(slow.calls.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn requests_in_a_minute_are_held_back() {
    let slow = Arc::new(Slow::default());
    // Ten at once, and then 9 a second... of which one second is waited for.
    let policy = Policy { requests_per_minute: Some(600), ..quick() };
    let governed = Governed::new(slow.clone(), policy).unwrap();
    let requests: Vec<_> = (0..64).map(|i| ask(&i.to_string())).collect();
    let all = futures::future::join_all(requests.iter().map(|r| governed.complete(r)));
    assert!(tokio::time::timeout(Duration::from_millis(150), all).await.is_err());
    let calls = slow.calls.load(Ordering::SeqCst);
    assert!((60..64).contains(&calls), "{calls}");
}

#[tokio::test]
async fn the_budget_holds_and_needs_a_price() {
    let price = Price { input: 0.0, output: 1e6 };
    let model = Arc::new(ScriptedModel::new(|_| Script::Reply("one two".into())));
    let policy = Policy { max_cost_usd: Some(25.0), price: Some(price), ..quick() };
    let governed = Governed::new(model.clone(), policy.clone()).unwrap();
    // Each may cost 20 dollars and costs 2: after three there is no room for a fourth.
    for text in ["a", "b", "c"] {
        governed.complete(&ask(text)).await.unwrap();
    }
    assert_eq!(governed.spent_usd(), Some(6.0));
    let error = governed.complete(&ask("d")).await.unwrap_err();
    assert_eq!(error.code(), "budget");
    assert_eq!(model.requests().len(), 3);
    let error = Governed::new(model, Policy { price: None, ..policy }).unwrap_err();
    assert!(error.to_string().contains("price"), "{error}");
}

#[tokio::test]
async fn a_reply_is_kept_over_runs_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/replies.sqlite");
    let model = Arc::new(
        ScriptedModel::new(|_| Script::Reply("yes".into()))
            .scoring(|r| r.continuations.iter().map(|c| -(c.0.len() as f64)).collect()),
    );
    let scores = ScoreRequest {
        messages: vec![Message::user("q")],
        continuations: vec![Continuation("a".into()), Continuation("bcd".into())],
        ..ScoreRequest::default()
    };
    let mut firsts = Vec::new();
    for round in 0..2 {
        let cached = Cached::new(model.clone(), ReplyCache::open(&file).unwrap());
        let reply = cached.complete(&ask("a")).await.unwrap();
        assert_eq!(reply.cached, round == 1);
        assert!(
            cached.complete(&CompletionRequest { stage: "draft".into(), ..ask("a") }).await.unwrap().cached
        );
        assert!(cached.complete(&ask("b")).await.is_ok());
        firsts.push(cached.score(&scores).await.unwrap());
    }
    assert_eq!(model.requests().len(), 2);
    assert_eq!(firsts[0], firsts[1]);
    assert_eq!(ReplyCache::open(&file).unwrap().len().await.unwrap(), 3);
}

#[tokio::test]
async fn what_is_drawn_at_random_is_kept_only_on_request() {
    let model = Arc::new(ScriptedModel::new(|_| Script::Reply("yes".into())));
    let mut random = ask("a");
    random.sampling = Sampling::default();
    let cache = ReplyCache::in_memory().unwrap();
    let cached = Cached::new(model.clone(), cache.clone());
    cached.complete(&random).await.unwrap();
    cached.complete(&random).await.unwrap();
    assert_eq!((model.requests().len(), cache.is_empty().await.unwrap()), (2, true));
    let keeping = Cached::new(model.clone(), cache).keeping_random();
    keeping.complete(&random).await.unwrap();
    assert!(keeping.complete(&random).await.unwrap().cached);
    assert_eq!(model.requests().len(), 3);
    let seeded = CompletionRequest { sampling: Sampling { seed: Some(1), ..Sampling::default() }, ..random };
    cached.complete(&seeded).await.unwrap();
    assert!(cached.complete(&seeded).await.unwrap().cached);
}

#[tokio::test]
async fn a_reply_is_written_down_although_its_caller_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replies.sqlite");
    let model = Arc::new(ScriptedModel::new(|_| Script::Reply("yes".into())));
    let cached = Cached::new(model.clone(), ReplyCache::open(&file).unwrap());
    let request = ask("a");
    // Another process is writing, so that our write has to wait for it.
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut call = Box::pin(cached.complete(&request));
    while model.requests().is_empty() {
        let gave_up = tokio::time::timeout(Duration::from_millis(5), call.as_mut()).await;
        assert!(gave_up.is_err(), "the write did not wait");
    }
    drop(call);
    other.execute_batch("COMMIT").unwrap();
    let cache = ReplyCache::open(&file).unwrap();
    let start = Instant::now();
    while cache.is_empty().await.unwrap() {
        assert!(start.elapsed() < Duration::from_secs(10), "the reply is lost");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(cached.complete(&request).await.unwrap().cached);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn failures_are_not_kept() {
    let model = failing(vec![upstream(UpstreamKind::Refused, None)]);
    let cached = Cached::new(model, ReplyCache::in_memory().unwrap());
    assert!(cached.complete(&ask("a")).await.is_err());
    assert!(!cached.complete(&ask("a")).await.unwrap().cached);
}

#[tokio::test]
async fn a_damaged_cache_is_set_aside_and_a_foreign_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replies.sqlite");
    std::fs::write(&file, vec![b'x'; 8192]).unwrap();
    let cache = ReplyCache::open(&file).unwrap();
    assert!(cache.is_empty().await.unwrap());
    let aside = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().contains(".damaged-"))
        .count();
    assert_eq!(aside, 1);
    drop(cache);

    let other = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE notes (a); INSERT INTO notes VALUES (1)")
        .unwrap();
    let before = std::fs::read(&other).unwrap();
    let error = ReplyCache::open(&other).unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(std::fs::read(&other).unwrap(), before);

    rusqlite::Connection::open(&file).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let error = ReplyCache::open(&file).unwrap_err();
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_connections_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replies.sqlite");
    let model = Arc::new(ScriptedModel::new(|r| Script::Reply(r.messages[0].content.clone())));
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let (file, model) = (file.clone(), model.clone());
        tasks.push(tokio::spawn(async move {
            let cache = tokio::task::spawn_blocking(move || ReplyCache::open(&file)).await.unwrap().unwrap();
            let cached = Cached::new(model, cache);
            for i in 0..25 {
                // Half of what each asks all ask.
                let text = if i % 2 == 0 { format!("{i}") } else { format!("{writer}/{i}") };
                assert_eq!(cached.complete(&ask(&text)).await.unwrap().text, text);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(ReplyCache::open(&file).unwrap().len().await.unwrap(), 13 + 4 * 12);
}

#[tokio::test]
async fn a_recording_replays_what_was_said_and_names_what_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording.jsonl");
    let count = AtomicU32::new(0);
    let model = Arc::new(
        ScriptedModel::new(move |r| match r.messages[0].content.as_str() {
            "fail" => Script::Fail(upstream(UpstreamKind::RateLimited, Some(Duration::from_secs(2)))),
            text => Script::Reply(format!("{text} {}", count.fetch_add(1, Ordering::SeqCst))),
        })
        .scoring(|r| vec![-1.5; r.continuations.len()]),
    );
    let score = ScoreRequest {
        messages: vec![Message::user("q")],
        continuations: vec![Continuation("a".into())],
        ..ScoreRequest::default()
    };
    let recorder = Recorder::new(model, &file, &[]).unwrap();
    for text in ["a", "a", "b"] {
        recorder.complete(&ask(text)).await.unwrap();
    }
    recorder.complete(&ask("fail")).await.unwrap_err();
    let scores = recorder.score(&score).await.unwrap();

    let replay = RecordedModel::open(&file).unwrap();
    assert_eq!((replay.identity(), replay.len()), ("recorded:scripted", 5));
    assert!(replay.capabilities().score);
    let mut texts = Vec::new();
    for text in ["b", "a", "a", "a"] {
        let request = CompletionRequest { stage: "another".into(), ..ask(text) };
        texts.push(replay.complete(&request).await.unwrap().text);
    }
    assert_eq!(texts, ["b 2", "a 0", "a 1", "a 1"]);
    assert_eq!(replay.score(&score).await.unwrap(), scores);
    let failed = replay.complete(&ask("fail")).await.unwrap_err();
    assert_eq!(
        (failed.code(), failed.retry_after()),
        ("upstream_rate_limited", Some(Duration::from_secs(2)))
    );

    let error = replay.complete(&ask("ab")).await.unwrap_err();
    assert_eq!(error.code(), "not_found");
    let said = error.to_string();
    assert!(said.contains("message 1 from character 2 on: \"b\" for \"\""), "{said}");
    let mut other = ask("a");
    other.sampling.max_tokens = Some(21);
    let said = replay.complete(&other).await.unwrap_err().to_string();
    assert!(said.contains("differs in the sampling"), "{said}");
}

#[tokio::test]
async fn a_key_is_never_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording.jsonl");
    let model = Arc::new(ScriptedModel::new(|_| Script::Reply("yes".into())));
    // PATH stands for a key here: a variable that is set wherever tests run.
    let recorder = Recorder::new(model, &file, &["PATH"]).unwrap();
    recorder.complete(&ask("harmless")).await.unwrap();
    let key = format!("sk-{}", "abcdefghij0123456789");
    let path = std::env::var("PATH").unwrap();
    for text in [format!("my key is {key}"), format!("PATH is {path}")] {
        let error = recorder.complete(&ask(&text)).await.unwrap_err();
        assert!(error.to_string().contains("looks like a key"), "{error}");
        assert!(!error.to_string().contains(&key), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    assert_eq!(lines_with_keys(&file, &["PATH"]).unwrap(), [] as [usize; 0]);
    std::fs::write(&file, format!("{{}}\n{{\"x\": \"{key}\"}}\n")).unwrap();
    assert_eq!(lines_with_keys(&file, &[]).unwrap(), [2]);
}

#[test]
fn a_recording_that_is_damaged_says_in_which_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording.jsonl");
    assert_eq!(RecordedModel::open(&file).unwrap_err().code(), "not_found");
    std::fs::write(&file, "\n").unwrap();
    assert!(RecordedModel::open(&file).unwrap_err().to_string().contains("no exchange"));
    std::fs::write(&file, "\n{\"schema\": 1").unwrap();
    let error = RecordedModel::open(&file).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_reply_comes_out_of_the_cache_as_it_went_in(text in any::<String>(), other in any::<String>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let reply = other.clone();
            let model = Arc::new(ScriptedModel::new(move |_| Script::Reply(reply.clone())));
            let cached = Cached::new(model, ReplyCache::in_memory().unwrap());
            let first = cached.complete(&ask(&text)).await.unwrap();
            let again = cached.complete(&ask(&text)).await.unwrap();
            assert_eq!(again, Completion { cached: true, ..first });
        });
    }
}
