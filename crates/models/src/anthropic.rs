//! Anthropic's messages API.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, FinishReason, LanguageModel, OutputSchema, Result, Role,
    Tokens, Usage,
};
use serde_json::{Map, Value, json};

use crate::http::{Endpoint, Failure, error_message};
use crate::secrets::{Secret, redact};
use crate::usage::{estimate_messages, estimate_tokens};

/// Where Anthropic answers.
pub const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com";

/// The version of the interface that is spoken.
const API_VERSION: &str = "2023-06-01";

/// The interface wants a limit of reply; this one is sent when the request has none.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// How to reach a model.
#[derive(Debug, Clone)]
pub struct AnthropicConfig {
    /// The model's name.
    pub model: String,
    /// The endpoint up to and without `/v1/messages`.
    pub base_url: String,
    /// The key.
    pub key: Option<Secret>,
    /// The name of the variable that the key comes from, for messages.
    pub key_variable: String,
    /// How long one request may take at the very most, whatever the policy says.
    pub timeout: Duration,
}

impl AnthropicConfig {
    /// `model` at Anthropic, or at `ANTHROPIC_BASE_URL` where that is set, with the key in `ANTHROPIC_API_KEY`.
    pub fn from_env(model: &str) -> Self {
        let base_url = std::env::var("ANTHROPIC_BASE_URL").ok().filter(|url| !url.trim().is_empty());
        Self {
            model: model.to_owned(),
            base_url: base_url.unwrap_or_else(|| ANTHROPIC_BASE_URL.to_owned()),
            key: Secret::from_env("ANTHROPIC_API_KEY"),
            key_variable: "ANTHROPIC_API_KEY".to_owned(),
            timeout: Duration::from_secs(600),
        }
    }
}

/// A model of Anthropic's.
///
/// A schema is kept to through a tool that the model has to use; its input is the reply. A last message by the
/// assistant is the beginning of the reply, unless a schema is asked for or the model takes none.
#[derive(Debug)]
pub struct AnthropicModel {
    identity: String,
    model: String,
    url: String,
    endpoint: Endpoint,
    /// What the model was found to refuse.
    no_temperature: AtomicBool,
    no_prefill: AtomicBool,
}

impl AnthropicModel {
    /// A model. Nothing is sent yet.
    ///
    /// # Errors
    /// The base URL or the key cannot be used.
    pub fn new(config: AnthropicConfig) -> Result<Self> {
        let base = crate::spec::check_url(&config.base_url)?;
        let base = base.strip_suffix("/v1").unwrap_or(&base);
        let identity = if base == ANTHROPIC_BASE_URL {
            format!("anthropic:{}", config.model)
        } else {
            format!("anthropic:{} at {}", config.model, redact(base, config.key.as_ref()))
        };
        let mut endpoint =
            Endpoint::new(&identity, config.key, ("x-api-key", ""), &config.key_variable, config.timeout)?;
        endpoint.header("anthropic-version", API_VERSION);
        Ok(Self {
            endpoint,
            url: format!("{base}/v1/messages"),
            identity,
            model: config.model,
            no_temperature: AtomicBool::new(false),
            no_prefill: AtomicBool::new(false),
        })
    }

    fn request(&self, request: &CompletionRequest) -> Value {
        let mut system: Vec<&str> = Vec::new();
        // Messages of the same speaker in a row are one: the interface takes turns.
        let mut turns: Vec<(&str, String)> = Vec::new();
        for message in &request.messages {
            let role = match message.role {
                Role::System => {
                    system.push(&message.content);
                    continue;
                }
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            match turns.last_mut() {
                Some((last, content)) if *last == role => {
                    content.push_str("\n\n");
                    content.push_str(&message.content);
                }
                _ => turns.push((role, message.content.clone())),
            }
        }
        if let Some((_, beginning)) = turns.pop_if(|(role, _)| *role == "assistant") {
            // A beginning that ends in white space is refused, and the words that follow bring their own.
            let beginning = beginning.trim_end();
            let refused = self.no_prefill.load(Ordering::Relaxed) || request.schema.is_some();
            if !refused && !beginning.is_empty() {
                turns.push(("assistant", beginning.to_owned()));
            }
        }
        let sampling = &request.sampling;
        let mut body = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                body.insert(name.to_owned(), value);
            }
        };
        put("model", Some(json!(self.model)));
        put("max_tokens", Some(json!(sampling.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))));
        put("system", (!system.is_empty()).then(|| json!(system.join("\n\n"))));
        let messages: Vec<Value> =
            turns.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        put("messages", Some(json!(messages)));
        if !self.no_temperature.load(Ordering::Relaxed) {
            put("temperature", sampling.temperature.map(crate::openai::decimal));
            // Newer models take one of the two only.
            put(
                "top_p",
                sampling.top_p.filter(|_| sampling.temperature.is_none()).map(crate::openai::decimal),
            );
        }
        put("stop_sequences", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)));
        if let Some(OutputSchema { name, schema }) = &request.schema {
            let tool = json!({"name": name, "description": "Gives the reply.", "input_schema": schema});
            put("tools", Some(json!([tool])));
            put("tool_choice", Some(json!({"type": "tool", "name": name})));
        }
        Value::Object(body)
    }

    /// Notes what was refused. Whether the request can be sent again without it.
    fn learn(&self, failure: &Failure) -> bool {
        let Some(body) = failure.body.as_ref().filter(|_| failure.status == Some(400)) else { return false };
        let said = error_message(body).unwrap_or_default().to_lowercase();
        let quirk = if said.contains("temperature") || said.contains("top_p") {
            &self.no_temperature
        } else if said.contains("prefill") || said.contains("must end with a user message") {
            &self.no_prefill
        } else {
            return false;
        };
        let new = !quirk.swap(true, Ordering::Relaxed);
        if new {
            tracing::warn!(
                model = %self.identity, refused = %failure.error,
                "the model refuses a part of the request: it is left out from now on"
            );
        }
        new
    }
}

#[async_trait]
impl LanguageModel for AnthropicModel {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { schema: true, ..Capabilities::default() }
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        loop {
            let body = self.request(request);
            match self.endpoint.post(&self.url, &body).await {
                Ok(reply) => {
                    return completion(&reply, request).map_err(|problem| self.endpoint.bad_reply(&problem));
                }
                // Each part is given up once, so this ends. A call that met the refusal while another learnt from it
                // is sent again too, since its body has changed.
                Err(failure)
                    if self.learn(&failure)
                        || (failure.status == Some(400) && body != self.request(request)) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
    }
}

/// The reply in a body; an error says what is missing from it.
fn completion(body: &Value, request: &CompletionRequest) -> Result<Completion, String> {
    let blocks = body.get("content").and_then(Value::as_array).ok_or("the reply has no content")?;
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut structured = None;
    for block in blocks {
        let of = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match of("type") {
            "text" => text.push_str(of("text")),
            "thinking" => reasoning.push_str(of("thinking")),
            "tool_use" => structured = block.get("input"),
            _ => {}
        }
    }
    if let Some(input) = structured.filter(|_| request.schema.is_some()) {
        text = input.to_string();
    }
    let finish = match body.get("stop_reason").and_then(Value::as_str) {
        Some("end_turn" | "stop_sequence" | "tool_use") => FinishReason::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::Filtered,
        _ => FinishReason::Other,
    };
    if text.trim().is_empty() && !matches!(finish, FinishReason::Length | FinishReason::Filtered) {
        return Err("the reply is empty".to_owned());
    }
    let count = |name: &str| body.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
    let read = count("input_tokens").map(|own| {
        // What was read from or written to the provider's own cache was part of the prompt.
        own + count("cache_creation_input_tokens").unwrap_or(0)
            + count("cache_read_input_tokens").unwrap_or(0)
    });
    Ok(Completion {
        usage: Usage {
            tokens_in: read.map_or_else(|| estimate_messages(&request.messages), Tokens),
            tokens_out: count("output_tokens").map_or_else(|| estimate_tokens(&text), Tokens),
        },
        text,
        reasoning: (!reasoning.trim().is_empty()).then_some(reasoning),
        finish,
        tokens: None,
        model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        cached: false,
    })
}

#[cfg(test)]
mod tests {
    use counterproof_core::{Message, Sampling};

    use super::*;

    fn model() -> AnthropicModel {
        let config = AnthropicConfig {
            model: "m".into(),
            base_url: ANTHROPIC_BASE_URL.into(),
            key: None,
            key_variable: "ANTHROPIC_API_KEY".into(),
            timeout: Duration::from_secs(1),
        };
        AnthropicModel::new(config).unwrap()
    }

    fn ask() -> CompletionRequest {
        CompletionRequest {
            messages: vec![
                Message::system("s"),
                Message::user("u"),
                Message::user("v"),
                Message::assistant("DECISION: "),
            ],
            sampling: Sampling { top_p: Some(0.5), stop: vec!["END".into()], ..Sampling::greedy(9) },
            ..CompletionRequest::default()
        }
    }

    #[test]
    fn the_system_prompt_stands_apart_and_the_reply_is_begun() {
        assert_eq!(
            model().request(&ask()),
            json!({
                "model": "m", "max_tokens": 9, "system": "s",
                "messages": [{"role": "user", "content": "u\n\nv"}, {"role": "assistant", "content": "DECISION:"}],
                "temperature": 0.0, "stop_sequences": ["END"],
            })
        );
    }

    #[test]
    fn a_schema_becomes_a_tool_that_must_be_used() {
        let schema = json!({"type": "object"});
        let request = CompletionRequest {
            schema: Some(OutputSchema { name: "gate".into(), schema: schema.clone() }),
            ..ask()
        };
        let body = model().request(&request);
        assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "gate"}));
        assert_eq!(body["tools"][0]["input_schema"], schema);
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
        let reply = json!({
            "content": [{"type": "text", "text": "Let me see."}, {"type": "tool_use", "name": "gate", "input": {"decision": "KEEP"}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 10},
        });
        let read = completion(&reply, &request).unwrap();
        assert_eq!(read.text, r#"{"decision":"KEEP"}"#);
        assert_eq!(read.usage, Usage { tokens_in: Tokens(15), tokens_out: Tokens(2) });
    }

    #[test]
    fn thinking_is_not_the_reply() {
        let reply = json!({
            "content": [{"type": "thinking", "thinking": "REVISE?"}, {"type": "text", "text": "KE"}, {"type": "text", "text": "EP"}],
            "stop_reason": "max_tokens", "model": "m-1",
        });
        let read = completion(&reply, &ask()).unwrap();
        assert_eq!((read.text.as_str(), read.reasoning.as_deref()), ("KEEP", Some("REVISE?")));
        assert_eq!((read.finish, read.model.as_str()), (FinishReason::Length, "m-1"));
        assert!(completion(&json!({"content": [], "stop_reason": "end_turn"}), &ask()).is_err());
    }
}
