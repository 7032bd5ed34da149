//! What a reply depends on, as a key.

use counterproof_core::{
    CompletionRequest, Continuation, Message, OutputSchema, PromptRef, Role, Sampling, ScoreRequest,
};
use sha2::{Digest, Sha256};

/// The version of the key's making. It grows whenever the same parts would give another key, or a part is added that
/// can change a reply, so that old entries are never taken for new ones.
pub const KEY_VERSION: u32 = 1;

/// A digest of everything that can change a reply: the model, the messages, how the reply is drawn, its shape, whether
/// log-probabilities are wanted, the prompt file, and the continuations to be scored. The stage that asks is no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of a request for a reply by the model with this identity.
    pub fn of_completion(model: &str, request: &CompletionRequest) -> Self {
        // Taken apart by name, so that a new field cannot be forgotten here.
        let CompletionRequest { stage: _, messages, sampling, schema, logprobs, prompt } = request;
        let mut parts = Parts::new("complete", model);
        parts.messages(messages);
        parts.sampling(sampling);
        parts.option(schema.as_ref(), |parts, OutputSchema { name, schema }| {
            parts.text(name);
            parts.text(&schema.to_string());
        });
        parts.bytes(&[u8::from(*logprobs)]);
        parts.prompt(prompt.as_ref());
        parts.key()
    }

    /// The key of a request for scores from the model with this identity.
    pub fn of_scores(model: &str, request: &ScoreRequest) -> Self {
        let ScoreRequest { stage: _, messages, continuations, prompt } = request;
        let mut parts = Parts::new("score", model);
        parts.messages(messages);
        parts.number(continuations.len() as u64);
        for Continuation(text) in continuations {
            parts.text(text);
        }
        parts.prompt(prompt.as_ref());
        parts.key()
    }

    /// The 32 bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Parts of a key, each with its length before it, so that no two lists of parts read alike.
struct Parts(Sha256);

impl Parts {
    fn new(kind: &str, model: &str) -> Self {
        let mut parts = Self(Sha256::new());
        parts.text("counterproof reply");
        parts.number(u64::from(KEY_VERSION));
        parts.text(kind);
        parts.text(model);
        parts
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn option<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Self, T)) {
        self.bytes(&[u8::from(value.is_some())]);
        if let Some(value) = value {
            some(self, value);
        }
    }

    fn messages(&mut self, messages: &[Message]) {
        self.number(messages.len() as u64);
        for Message { role, content } in messages {
            self.text(match role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            });
            self.text(content);
        }
    }

    fn sampling(&mut self, sampling: &Sampling) {
        let Sampling { temperature, top_p, seed, max_tokens, stop } = sampling;
        self.option(*temperature, |parts, t| parts.number(u64::from(t.to_bits())));
        self.option(*top_p, |parts, p| parts.number(u64::from(p.to_bits())));
        self.option(*seed, |parts, seed| parts.number(seed));
        self.option(*max_tokens, |parts, max| parts.number(u64::from(max)));
        self.number(stop.len() as u64);
        for text in stop {
            self.text(text);
        }
    }

    fn prompt(&mut self, prompt: Option<&PromptRef>) {
        // The name is for people; the digest says what the file holds.
        self.option(prompt, |parts, PromptRef { name: _, sha256 }| parts.text(sha256.as_str()));
    }

    fn key(self) -> CacheKey {
        CacheKey(self.0.finalize().into())
    }
}

/// Whether asking twice gives the same reply, as far as the model can: the likeliest token each time, or a seed.
pub(crate) fn is_repeatable(sampling: &Sampling) -> bool {
    sampling.temperature == Some(0.0) || sampling.seed.is_some()
}

#[cfg(test)]
mod tests {
    use counterproof_core::sha256_hex;
    use serde_json::json;

    use super::*;

    fn request() -> CompletionRequest {
        CompletionRequest {
            stage: "gate".into(),
            messages: vec![Message::system("s"), Message::user("u")],
            sampling: Sampling::greedy(10),
            ..CompletionRequest::default()
        }
    }

    #[test]
    fn everything_that_can_change_a_reply_changes_the_key() {
        let edit = |change: &dyn Fn(&mut CompletionRequest)| {
            let mut changed = request();
            change(&mut changed);
            CacheKey::of_completion("m", &changed)
        };
        let prompt = |text: &str| Some(PromptRef { name: "p".into(), sha256: sha256_hex(text) });
        let mut keys = vec![
            CacheKey::of_completion("m", &request()),
            CacheKey::of_completion("m2", &request()),
            edit(&|r| r.messages[1].content.push('!')),
            edit(&|r| r.messages[1].role = Role::Assistant),
            // The same letters, cut elsewhere.
            edit(&|r| r.messages = vec![Message::system("su"), Message::user("")]),
            edit(&|r| r.messages.push(Message::user("x"))),
            edit(&|r| r.sampling.temperature = None),
            edit(&|r| r.sampling.temperature = Some(0.5)),
            edit(&|r| r.sampling.top_p = Some(0.5)),
            edit(&|r| r.sampling.seed = Some(0)),
            edit(&|r| r.sampling.max_tokens = Some(11)),
            edit(&|r| r.sampling.stop = vec!["\n".into()]),
            edit(&|r| r.schema = Some(OutputSchema { name: "n".into(), schema: json!({"type": "object"}) })),
            edit(&|r| r.schema = Some(OutputSchema { name: "n".into(), schema: json!({"type": "array"}) })),
            edit(&|r| r.logprobs = true),
            edit(&|r| r.prompt = prompt("a")),
            edit(&|r| r.prompt = prompt("b")),
        ];
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert_eq!(edit(&|r| r.stage = "draft".into()), CacheKey::of_completion("m", &request()));
    }

    #[test]
    fn scores_have_keys_of_their_own() {
        let ask = |continuations: &[&str]| ScoreRequest {
            messages: request().messages,
            continuations: continuations.iter().map(|c| Continuation((*c).to_owned())).collect(),
            ..ScoreRequest::default()
        };
        let key = |continuations: &[&str]| CacheKey::of_scores("m", &ask(continuations));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["a", "b"]), key(&["b", "a"]));
        assert_ne!(key(&[]), CacheKey::of_completion("m", &request()));
        assert_eq!(key(&["a"]), key(&["a"]));
    }

    #[test]
    fn the_key_of_a_known_request_stays() {
        // A change here means that KEY_VERSION has to grow.
        let key = CacheKey::of_completion("m", &request());
        assert_eq!(sha256_hex(key.as_bytes()).as_str().get(..16), Some("b7d276e23cc50b34"));
    }
}
