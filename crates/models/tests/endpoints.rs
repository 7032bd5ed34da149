//! Endpoints that behave, and endpoints that do not: what each gives, and that no key is ever in an error.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // Helpers of tests.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use counterproof_core::{
    CompletionRequest, Entailment, Error, FinishReason, LanguageModel, Message, OutputSchema, Sampling,
    UpstreamKind,
};
use counterproof_models::anthropic::{AnthropicConfig, AnthropicModel};
use counterproof_models::openai::{OpenAiConfig, OpenAiModel};
use counterproof_models::secrets::Secret;
use counterproof_models::tei::{TeiConfig, TeiVerifier};
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const KEY: &str = "a-test-key-000000";

fn open_ai(base: &str) -> OpenAiModel {
    let mut config = OpenAiConfig::at(&format!("{base}/v1"), "m");
    config.key = Secret::new(KEY);
    config.timeout = Duration::from_secs(2);
    OpenAiModel::new(config).unwrap()
}

fn anthropic(base: &str) -> AnthropicModel {
    AnthropicModel::new(AnthropicConfig {
        model: "m".into(),
        base_url: base.to_owned(),
        key: Secret::new(KEY),
        key_variable: "ANTHROPIC_API_KEY".into(),
        timeout: Duration::from_secs(2),
    })
    .unwrap()
}

fn ask() -> CompletionRequest {
    CompletionRequest {
        stage: "gate".into(),
        messages: vec![Message::user("Is it so?")],
        sampling: Sampling::greedy(20),
        schema: Some(OutputSchema { name: "gate".into(), schema: json!({"type": "object"}) }),
        ..CompletionRequest::default()
    }
}

fn reply(text: &str) -> Value {
    json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
           "usage": {"prompt_tokens": 7, "completion_tokens": 1}, "model": "m-2026"})
}

#[tokio::test]
async fn a_reply_comes_back_and_the_key_goes_in_its_header() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .respond_with(ResponseTemplate::new(200).set_body_json(reply("yes")))
        .expect(1)
        .mount(&server)
        .await;
    let completion = open_ai(&server.uri()).complete(&ask()).await.unwrap();
    assert_eq!((completion.text.as_str(), completion.model.as_str()), ("yes", "m-2026"));
    assert_eq!((completion.finish, completion.usage.tokens_in.0), (FinishReason::Stop, 7));
    assert!(!completion.cached);

    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("x-api-key", KEY))
        .and(header("anthropic-version", "2023-06-01"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({
            "content": [{"type": "tool_use", "name": "gate", "input": {"decision": "KEEP"}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 7, "output_tokens": 2}})))
        .mount(&server)
        .await;
    let completion = anthropic(&server.uri()).complete(&ask()).await.unwrap();
    assert_eq!(completion.text, r#"{"decision":"KEEP"}"#);
}

#[tokio::test]
async fn what_a_model_refuses_is_left_out_and_remembered() {
    let server = MockServer::start().await;
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = requests.clone();
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| {
            counter.fetch_add(1, Ordering::SeqCst);
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let refuse = |message: &str, param: Option<&str>| {
                ResponseTemplate::new(400)
                    .set_body_json(json!({"error": {"message": message, "param": param}}))
            };
            if body.get("max_tokens").is_some() {
                let message = "Unsupported parameter: 'max_tokens' is not supported with this model. \
                               Use 'max_completion_tokens' instead.";
                return refuse(message, Some("max_tokens"));
            }
            if body.get("temperature").is_some() {
                return refuse("Unsupported value: 'temperature' does not support 0 with this model.", None);
            }
            if body.get("response_format").is_some() {
                return refuse("response_format json_schema is not supported", None);
            }
            assert_eq!(body["max_completion_tokens"], 20);
            ResponseTemplate::new(200).set_body_json(reply("yes"))
        })
        .mount(&server)
        .await;
    let model = open_ai(&server.uri());
    assert!(model.capabilities().schema);
    assert_eq!(model.complete(&ask()).await.unwrap().text, "yes");
    assert_eq!(requests.load(Ordering::SeqCst), 4);
    assert!(!model.capabilities().schema);
    model.complete(&ask()).await.unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn a_request_that_is_wrong_is_not_sent_again() {
    let server = MockServer::start().await;
    let body = json!({"error": {"message": "This model's maximum context length is 8 tokens.", "param": "messages"}});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(400).set_body_json(body))
        .expect(1)
        .mount(&server)
        .await;
    let error = open_ai(&server.uri()).complete(&ask()).await.unwrap_err();
    assert_eq!(error.code(), "upstream_refused");
    assert!(error.to_string().contains("maximum context length"), "{error}");
    assert!(!error.is_transient());
}

/// What each model says to one answer of the server.
async fn errors(answer: ResponseTemplate) -> Vec<Error> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    vec![
        open_ai(&server.uri()).complete(&ask()).await.unwrap_err(),
        anthropic(&server.uri()).complete(&ask()).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn every_refusal_is_told_apart() {
    let said = |text: &str| json!({"error": {"message": text, "type": "x"}});
    let page = "<html><head><title>502 Bad Gateway</title></head></html>";
    let cases: Vec<(ResponseTemplate, &str, bool, &str)> = vec![
        (
            ResponseTemplate::new(429).insert_header("retry-after", "3").set_body_json(said("slow down")),
            "upstream_rate_limited",
            true,
            "slow down",
        ),
        (
            ResponseTemplate::new(429)
                .set_body_json(json!({"error": {"message": "no money", "code": "insufficient_quota"}})),
            "upstream_refused",
            false,
            "no money",
        ),
        (ResponseTemplate::new(500).set_body_string("oops"), "upstream_unavailable", true, "oops"),
        (
            ResponseTemplate::new(529).set_body_json(said("Overloaded")),
            "upstream_unavailable",
            true,
            "Overloaded",
        ),
        (ResponseTemplate::new(502).set_body_string(page), "upstream_unavailable", true, "502 Bad Gateway"),
        (ResponseTemplate::new(200).set_body_string(page), "upstream_bad_reply", true, "web page"),
        (ResponseTemplate::new(200).set_body_string(""), "upstream_bad_reply", true, "empty reply"),
        (
            ResponseTemplate::new(200).set_body_string(r#"{"choices": [{"mess"#),
            "upstream_bad_reply",
            true,
            "half a reply",
        ),
        (
            ResponseTemplate::new(200).set_body_json(json!({"choices": [], "content": []})),
            "upstream_bad_reply",
            true,
            "",
        ),
        (
            ResponseTemplate::new(200).set_body_json(json!({"error": {"code": 503, "message": "busy"}})),
            "upstream_unavailable",
            true,
            "busy",
        ),
        (
            ResponseTemplate::new(404).set_body_json(said("no such model")),
            "upstream_refused",
            false,
            "no such model",
        ),
    ];
    for (answer, code, transient, words) in cases {
        for error in errors(answer).await {
            assert_eq!((error.code(), error.is_transient()), (code, transient), "{error}");
            assert!(error.to_string().contains(words), "{error}");
            let wait = (code == "upstream_rate_limited").then_some(Duration::from_secs(3));
            assert_eq!(error.retry_after(), wait, "{error}");
        }
    }
}

#[tokio::test]
async fn a_key_is_in_no_error_even_when_the_server_repeats_it() {
    for status in [400, 401, 403, 500, 200] {
        let echo = format!("You sent Bearer {KEY} and sk-{}.", "abcdefghij0123456789");
        let body = json!({"error": {"message": echo}});
        for error in errors(ResponseTemplate::new(status).set_body_json(body)).await {
            let said = format!("{error} {error:?}");
            assert!(!said.contains(KEY) && !said.contains("abcdefghij"), "{said}");
        }
    }
    for error in errors(ResponseTemplate::new(401)).await {
        assert_eq!(error.code(), "credentials");
        assert!(!error.is_transient());
    }
    let model = open_ai("http://127.0.0.1:9");
    assert!(!format!("{model:?}").contains(KEY), "{model:?}");
}

/// A server that reads a request and then does what it is told with the connection.
fn server(behave: impl Fn(&mut std::net::TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            while !seen.windows(4).any(|w| w == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(n) if n > 0 => seen.extend_from_slice(&buffer[..n]),
                    _ => break,
                }
            }
            behave(&mut stream);
        }
    });
    format!("http://{address}")
}

fn kind(error: &Error) -> UpstreamKind {
    match error {
        Error::Upstream(e) => e.kind,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn half_a_body_is_a_bad_reply() {
    let base = server(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\": [");
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    let error = open_ai(&base).complete(&ask()).await.unwrap_err();
    assert_eq!(kind(&error), UpstreamKind::BadReply, "{error}");
    assert!(error.to_string().contains("broke off after 13 bytes"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_or_drips_runs_into_the_time_out() {
    let silent = server(|_| std::thread::sleep(Duration::from_secs(30)));
    let dripping = server(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n");
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    for base in [silent, dripping] {
        let mut config = OpenAiConfig::at(&base, "m");
        config.timeout = Duration::from_millis(300);
        let error = OpenAiModel::new(config).unwrap().complete(&ask()).await.unwrap_err();
        assert_eq!(kind(&error), UpstreamKind::Timeout, "{error}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn a_refused_connection_and_one_that_breaks_are_connection_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let broken = server(|stream| {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    for base in [refused, broken] {
        let error = open_ai(&base).complete(&ask()).await.unwrap_err();
        assert_eq!(kind(&error), UpstreamKind::Connection, "{error}");
    }
}

#[tokio::test]
async fn scores_of_given_answers_are_refused_rather_than_guessed() {
    let error = open_ai("http://127.0.0.1:9").score(&Default::default()).await.unwrap_err();
    assert_eq!(error.code(), "unsupported");
}

/// What a text-embeddings-inference server says, whatever it is asked: "1898" contradicts, anything else entails.
fn predictions(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let row = |pair: &Value| {
        let against = pair[0].as_str().unwrap().contains("1898");
        let (entailment, contradiction) = if against { (0.1, 0.8) } else { (0.7, 0.2) };
        json!([{"label": "contradiction", "score": contradiction}, {"label": "NEUTRAL", "score": 0.1},
               {"label": "Entailment", "score": entailment}])
    };
    let rows: Vec<Value> = body["inputs"].as_array().unwrap().iter().map(row).collect();
    ResponseTemplate::new(200).set_body_json(rows)
}

fn tei(base: &str) -> TeiVerifier {
    let config = TeiConfig { key: Secret::new(KEY), timeout: Duration::from_secs(2), ..TeiConfig::at(base) };
    TeiVerifier::new(config).unwrap()
}

#[tokio::test]
async fn a_classifier_on_a_server_judges_pairs_in_batches_and_windows() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/predict"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .respond_with(predictions)
        .mount(&server)
        .await;
    let verifier = tei(&server.uri());
    let said = "It opened in 1889.";
    let long = format!("{} It opened in 1898.", "It stands on a hill by the river. ".repeat(80));
    let mut pairs = vec![(said, said), ("It opened in 1898.", said), ("", said), (long.as_str(), said)];
    let others: Vec<String> = (0..40).map(|i| format!("Room {i} is closed.")).collect();
    pairs.extend(others.iter().map(|other| (other.as_str(), said)));
    pairs.push((said, said));
    let judged = verifier.judge(&pairs).await.unwrap();
    assert_eq!(judged.len(), pairs.len());
    assert!((judged[0].entail.get() - 0.7).abs() < 1e-9 && judged[0] == judged[pairs.len() - 1]);
    assert!((judged[1].contradict.get() - 0.8).abs() < 1e-9);
    assert_eq!(judged[2].neutral.get(), 1.0);
    assert!(
        judged[3].contradict > judged[3].neutral && judged[3].entail < judged[0].entail,
        "{:?}",
        judged[3]
    );
    let sent = server.received_requests().await.unwrap();
    let sizes: Vec<usize> =
        sent.iter().map(|r| r.body_json::<Value>().unwrap()["inputs"].as_array().unwrap().len()).collect();
    // The equal pair and the repeated windows are sent once.
    assert!(sizes.iter().all(|n| *n <= 32) && sizes.iter().sum::<usize>() < 50, "{sizes:?}");
    assert!(verifier.judge(&[(said, " ")]).await.unwrap_err().is_user());
}

#[tokio::test]
async fn a_server_with_another_model_is_named_and_no_key_is_told() {
    let server = MockServer::start().await;
    let other = json!([[{"label": "LABEL_0", "score": 0.4}, {"label": "LABEL_1", "score": 0.6}]]);
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_json(other))
        .mount(&server)
        .await;
    let error = tei(&server.uri()).judge(&[("a", "b")]).await.unwrap_err();
    assert!(error.is_user() && error.to_string().contains("LABEL_0"), "{error}");

    for reply in [json!({"error": "busy"}), json!([]), json!([[{"score": 1.0}]]), json!([[]])] {
        let server = MockServer::start().await;
        let reply = ResponseTemplate::new(200).set_body_json(reply);
        Mock::given(method("POST")).respond_with(reply).mount(&server).await;
        let error = tei(&server.uri()).judge(&[("a", "b")]).await.unwrap_err();
        assert!(!error.to_string().contains(KEY), "{error}");
    }
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(429)
        .insert_header("retry-after", "3")
        .set_body_json(json!({"error": "overloaded"}));
    Mock::given(method("POST")).respond_with(busy).mount(&server).await;
    match tei(&server.uri()).judge(&[("a", "b")]).await.unwrap_err() {
        Error::Upstream(error) => assert_eq!(error.retry_after, Some(Duration::from_secs(3))),
        error => panic!("{error}"),
    }
}
