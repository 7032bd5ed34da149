//! Chat completions as they go over the wire.

use counterproof_core::{
    Completion, CompletionRequest, FinishReason, OutputSchema, Role, TokenLogprob, Tokens, Usage,
};
use serde_json::{Map, Value, json};

use super::quirks::Quirks;
use crate::reply::split_reasoning;
use crate::usage::{estimate_messages, estimate_tokens};

/// The body of a request.
pub(super) fn request(model: &str, request: &CompletionRequest, quirks: Quirks) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    let messages: Vec<Value> = request
        .messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({"role": role, "content": message.content})
        })
        .collect();
    body.insert("messages".to_owned(), json!(messages));
    let sampling = &request.sampling;
    let mut put = |name: &str, value: Option<Value>, refused: bool| {
        if let Some(value) = value.filter(|_| !refused) {
            body.insert(name.to_owned(), value);
        }
    };
    put("temperature", sampling.temperature.map(decimal), quirks.no_temperature);
    put("top_p", sampling.top_p.map(decimal), quirks.no_top_p);
    put("seed", sampling.seed.map(|s| json!(s)), quirks.no_seed);
    let limit = if quirks.new_limit { "max_completion_tokens" } else { "max_tokens" };
    put(limit, sampling.max_tokens.map(|n| json!(n)), false);
    put("stop", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)), quirks.no_stop);
    put("logprobs", request.logprobs.then(|| json!(true)), quirks.no_logprobs);
    put("response_format", request.schema.as_ref().map(response_format), quirks.no_schema);
    Value::Object(body)
}

/// A number as it was written: 0.7, not the nearest `f32` to it in all its digits.
pub(crate) fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, |n| json!(n))
}

fn response_format(OutputSchema { name, schema }: &OutputSchema) -> Value {
    json!({
        "type": "json_schema",
        "json_schema": {"name": name, "schema": schema, "strict": is_strict(schema)},
    })
}

/// Whether a schema is one that OpenAI holds a model to strictly: every object closed, every property required.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = match map.get("properties").and_then(Value::as_object) {
                None => map.get("type").and_then(Value::as_str) != Some("object"),
                Some(properties) => {
                    let required = map.get("required").and_then(Value::as_array);
                    let names =
                        |k: &String| required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(k)));
                    map.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(names)
                }
            };
            closed && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// The reply in a body; an error says what is missing from it.
pub(super) fn completion(body: Value, request: &CompletionRequest) -> Result<Completion, String> {
    let choice = body.pointer("/choices/0").ok_or("the reply has no choices")?;
    let message = choice.get("message").ok_or("the reply has no message")?;
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|r| !r.is_empty());
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        _ if refusal.is_some() => FinishReason::Filtered,
        Some("stop" | "end_turn" | "eos" | "stop_sequence" | "tool_calls" | "function_call") => {
            FinishReason::Stop
        }
        Some("length" | "max_tokens" | "model_length") => FinishReason::Length,
        Some("content_filter" | "safety") => FinishReason::Filtered,
        _ => FinishReason::Other,
    };
    let content = text_of(message.get("content").unwrap_or(&Value::Null));
    let (inline, text) = split_reasoning(&content);
    let text = match refusal {
        Some(refusal) if text.is_empty() => refusal,
        _ => text,
    };
    if text.trim().is_empty() && !matches!(finish, FinishReason::Length | FinishReason::Filtered) {
        return Err("the reply is empty".to_owned());
    }
    let apart = ["reasoning_content", "reasoning"].iter().find_map(|k| message.get(*k)).map(text_of);
    let reasoning = apart.filter(|r| !r.trim().is_empty()).or_else(|| inline.map(str::to_owned));
    let tokens = choice.pointer("/logprobs/content").and_then(Value::as_array).filter(|_| request.logprobs);
    let tokens = tokens.map(|tokens| tokens.iter().filter_map(token).collect::<Vec<_>>());
    let count = |name: &str| body.pointer(&format!("/usage/{name}")).and_then(Value::as_u64).map(Tokens);
    let usage = Usage {
        tokens_in: count("prompt_tokens").unwrap_or_else(|| estimate_messages(&request.messages)),
        tokens_out: count("completion_tokens").unwrap_or_else(|| estimate_tokens(&content)),
    };
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    Ok(Completion {
        text: text.to_owned(),
        reasoning,
        usage,
        finish,
        tokens: tokens.filter(|t| !t.is_empty()),
        model: model.to_owned(),
        cached: false,
    })
}

fn token(value: &Value) -> Option<TokenLogprob> {
    let token = value.get("token")?.as_str()?.to_owned();
    Some(TokenLogprob { token, logprob: value.get("logprob")?.as_f64()? })
}

/// Content as one text, whether it is a string, a list of parts, or an object with a text.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        Value::Object(part) => {
            let of = |key: &str| part.get(key).filter(|v| v.is_string() || v.is_array()).map(text_of);
            match part.get("type").and_then(Value::as_str) {
                Some("thinking" | "reasoning" | "image_url") => String::new(),
                _ => of("text").or_else(|| of("content")).unwrap_or_default(),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use counterproof_core::{Message, Sampling};

    use super::*;

    fn ask() -> CompletionRequest {
        CompletionRequest {
            messages: vec![Message::system("s"), Message::user("u")],
            sampling: Sampling {
                temperature: Some(0.7),
                seed: Some(3),
                stop: vec!["\n".into()],
                ..Sampling::greedy(9)
            },
            schema: Some(OutputSchema { name: "gate".into(), schema: json!({"type": "object"}) }),
            logprobs: true,
            ..CompletionRequest::default()
        }
    }

    #[test]
    fn a_field_that_is_not_set_or_was_refused_is_left_out() {
        let body = request("m", &ask(), Quirks::default());
        assert_eq!(
            body,
            json!({
                "model": "m",
                "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
                "temperature": 0.7, "seed": 3, "max_tokens": 9, "stop": ["\n"], "logprobs": true,
                "response_format": {"type": "json_schema",
                    "json_schema": {"name": "gate", "schema": {"type": "object"}, "strict": false}},
            })
        );
        let quirks = Quirks {
            no_schema: true,
            no_temperature: true,
            no_top_p: true,
            no_seed: true,
            no_stop: true,
            no_logprobs: true,
            new_limit: true,
        };
        let bare = request("m", &ask(), quirks);
        assert_eq!(
            bare.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["model", "messages", "max_completion_tokens"]
        );
        let least = request("m", &CompletionRequest::default(), Quirks::default());
        assert_eq!(least, json!({"model": "m", "messages": []}));
    }

    #[test]
    fn only_a_closed_schema_is_strict() {
        let inner = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": false});
        let list = json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&list));
        for path in ["/required", "/properties/a/items/required"] {
            let mut open = list.clone();
            *open.pointer_mut(path).unwrap() = json!([]);
            assert!(!is_strict(&open), "{path}");
        }
    }

    #[test]
    fn replies_are_read_in_every_shape() {
        let reply = |message: Value| {
            completion(
                json!({"choices": [{"message": message, "finish_reason": "stop"}], "model": "m-1"}),
                &ask(),
            )
        };
        for content in [
            json!("KEEP"),
            json!([{"type": "text", "text": "KEEP"}]),
            json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "KEEP"}]),
        ] {
            let read = reply(json!({"content": content})).unwrap();
            assert_eq!((read.text.as_str(), read.model.as_str()), ("KEEP", "m-1"));
        }
        let inline = reply(json!({"content": "<think>REVISE?</think>KEEP"})).unwrap();
        assert_eq!((inline.text.as_str(), inline.reasoning.as_deref()), ("KEEP", Some("REVISE?")));
        for key in ["reasoning_content", "reasoning"] {
            let apart = reply(json!({"content": "KEEP", key: "REVISE?"})).unwrap();
            assert_eq!((apart.text.as_str(), apart.reasoning.as_deref()), ("KEEP", Some("REVISE?")));
        }
        let refused = reply(json!({"content": null, "refusal": "I cannot."})).unwrap();
        assert_eq!((refused.text.as_str(), refused.finish), ("I cannot.", FinishReason::Filtered));
        assert!(reply(json!({"content": null})).unwrap_err().contains("empty"));
        assert!(reply(json!({"content": "<think>only</think>"})).unwrap_err().contains("empty"));
        assert!(completion(json!({"choices": []}), &ask()).is_err());
    }

    #[test]
    fn usage_log_probabilities_and_the_end_are_read() {
        let body = json!({
            "choices": [{"message": {"content": "a b"}, "finish_reason": "length",
                "logprobs": {"content": [{"token": "a", "logprob": -0.5}, {"token": " b", "logprob": -1.0}]}}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 2},
        });
        let read = completion(body.clone(), &ask()).unwrap();
        assert_eq!(read.usage, Usage { tokens_in: Tokens(12), tokens_out: Tokens(2) });
        assert_eq!(read.finish, FinishReason::Length);
        assert_eq!(read.tokens.unwrap()[1], TokenLogprob { token: " b".into(), logprob: -1.0 });
        let unasked = completion(body, &CompletionRequest { logprobs: false, ..ask() }).unwrap();
        assert_eq!(unasked.tokens, None);
        let cut = json!({"choices": [{"message": {"content": "", "reasoning": "long"}, "finish_reason": "length"}]});
        let cut = completion(cut, &ask()).unwrap();
        assert_eq!((cut.text.as_str(), cut.finish), ("", FinishReason::Length));
        assert!(cut.usage.tokens_in.0 > 0);
    }
}
