//! The model through its public interface, on tiny models with random weights.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::type_complexity, reason = "tests")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use counterproof_core::{
    CompletionRequest, Continuation, Error, LanguageModel, Message, Sampling, ScoreRequest,
};
use counterproof_gguf::{GgufModel, GgufOptions};
use support::{Builder, Meta, tiny};

fn open(builder: &Builder) -> Result<GgufModel, Error> {
    GgufModel::open(builder.write().path(), &GgufOptions { threads: Some(2), ..GgufOptions::default() })
}

fn ask(text: &str, max_tokens: u32) -> CompletionRequest {
    CompletionRequest {
        messages: vec![Message::user(text)],
        sampling: Sampling { temperature: Some(1.0), seed: Some(3), ..Sampling::greedy(max_tokens) },
        ..CompletionRequest::default()
    }
}

#[tokio::test]
async fn it_says_what_it_can_do_and_answers() {
    let model = open(&tiny("llama")).unwrap();
    assert!(model.identity().starts_with("gguf:llama:tiny llama:"), "{}", model.identity());
    let can = model.capabilities();
    assert!(can.score && can.logprobs && can.local && !can.schema);
    assert_eq!(can.context_tokens, Some(256));
    let reply = model.complete(&ask("Why?", 8)).await.unwrap();
    assert!(reply.usage.tokens_out.0 >= 1 && reply.usage.tokens_out.0 <= 8);
    assert_eq!(reply.model, "tiny llama");
}

#[tokio::test]
async fn requests_from_many_tasks_are_answered_as_if_each_were_alone() {
    let model = Arc::new(open(&tiny("qwen2")).unwrap());
    let score = |model: Arc<GgufModel>, i: u32| async move {
        let request = ScoreRequest {
            messages: vec![Message::user(format!("Question {}", i % 4))],
            continuations: vec![Continuation("the".to_owned()), Continuation("in Paris".to_owned())],
            ..ScoreRequest::default()
        };
        model
            .score(&request)
            .await
            .unwrap()
            .iter()
            .map(counterproof_core::ContinuationScore::total)
            .collect::<Vec<_>>()
    };
    let mut alone = Vec::new();
    for i in 0..4 {
        alone.push(score(Arc::new(open(&tiny("qwen2")).unwrap()), i).await);
    }
    let tasks: Vec<_> = (0..12).map(|i| (i, tokio::spawn(score(Arc::clone(&model), i)))).collect();
    for (i, task) in tasks {
        for (a, b) in task.await.unwrap().iter().zip(&alone[i as usize % 4]) {
            assert!((a - b).abs() < 1e-3);
        }
    }
}

#[tokio::test]
async fn a_dropped_request_makes_way() {
    let model = open(&tiny("llama")).unwrap();
    let long = ask("Tell me everything.", 200);
    for _ in 0..20 {
        let waited = tokio::time::timeout(Duration::from_millis(1), model.complete(&long)).await;
        drop(waited);
    }
    assert!(model.complete(&ask("Why?", 4)).await.is_ok());
}

#[test]
fn every_cut_of_the_file_is_an_error_that_names_it() {
    let whole = tiny("llama").bytes();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.gguf");
    for part in [0, 3, 4, 20, 500, whole.len() / 2, whole.len() - 40] {
        std::fs::write(&path, &whole[..part]).unwrap();
        let error = GgufModel::open(&path, &GgufOptions::default()).unwrap_err();
        assert!(error.to_string().contains("cut.gguf"), "{error}");
        assert!(matches!(error, Error::Internal(_)), "{error:?}");
    }
}

#[test]
fn what_cannot_be_run_is_named_with_what_can() {
    let cases: [(&str, &dyn Fn(&mut Builder), &str); 8] = [
        (
            "an architecture",
            &|b| b.set("general.architecture", Meta::Text("mamba".into())),
            "llama, qwen2, qwen3, gemma3",
        ),
        (
            "a quantisation",
            &|b| b.tensors.iter_mut().find(|t| t.0 == "blk.0.attn_q.weight").unwrap().2 = 23,
            "IQ4_XS",
        ),
        ("no tokenizer", &|b| b.remove("tokenizer.ggml.model"), "carries no tokenizer"),
        ("no vocabulary", &|b| b.remove("tokenizer.ggml.tokens"), "carries no vocabulary"),
        ("another tokenizer", &|b| b.set("tokenizer.ggml.model", Meta::Text("bert".into())), "gpt2"),
        ("other words", &|b| b.set("tokenizer.ggml.pre", Meta::Text("viking".into())), "qwen2"),
        ("a missing tensor", &|b| b.remove("blk.1.ffn_up.weight"), "blk.1.ffn_up.weight is missing"),
        ("experts", &|b| b.set("llama.expert_count", Meta::U32(8)), "mixture of experts"),
    ];
    for (what, change, expected) in cases {
        let mut builder = tiny("llama");
        change(&mut builder);
        let error = open(&builder).unwrap_err();
        assert!(error.to_string().contains(expected), "{what}: {error}");
        assert!(error.to_string().contains(".gguf"), "{what}: {error}");
    }
    let missing = GgufModel::open("no/such/model.gguf", &GgufOptions::default()).unwrap_err();
    assert_eq!(missing.code(), "not_found");
    assert!(missing.to_string().contains("no/such/model.gguf"));
}

#[tokio::test]
async fn weights_that_are_no_numbers_are_reported() {
    let mut builder = tiny("llama");
    let norm = builder.tensors.iter_mut().find(|t| t.0 == "output_norm.weight").unwrap();
    norm.3.fill(0xff);
    let error = open(&builder).unwrap().complete(&ask("Why?", 4)).await.unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let model = open(&tiny("llama")).unwrap();
    assert_eq!(model.complete(&CompletionRequest::default()).await.unwrap_err().code(), "empty_input");
    assert_eq!(model.complete(&ask("Why?", 0)).await.unwrap_err().code(), "invalid_input");
    let request = ScoreRequest { messages: vec![Message::user("a")], ..ScoreRequest::default() };
    assert!(model.score(&request).await.unwrap().is_empty());
}
