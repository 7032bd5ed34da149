//! Fields that a model was found to refuse.

use serde_json::Value;

use crate::http::{Failure, error_message};

/// What is left out of requests to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    pub(super) no_schema: bool,
    pub(super) no_temperature: bool,
    pub(super) no_top_p: bool,
    pub(super) no_seed: bool,
    pub(super) no_stop: bool,
    pub(super) no_logprobs: bool,
    /// The limit of tokens goes by its newer name, `max_completion_tokens`.
    pub(super) new_limit: bool,
}

impl Quirks {
    /// How many quirks there are: so often can a request be sent again.
    pub(super) const COUNT: usize = 7;

    /// What both leave out.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            no_schema: self.no_schema || other.no_schema,
            no_temperature: self.no_temperature || other.no_temperature,
            no_top_p: self.no_top_p || other.no_top_p,
            no_seed: self.no_seed || other.no_seed,
            no_stop: self.no_stop || other.no_stop,
            no_logprobs: self.no_logprobs || other.no_logprobs,
            new_limit: self.new_limit || other.new_limit,
        }
    }

    /// What to leave out besides, after a request made under these quirks was refused; `None` when the refusal is not
    /// about a field that can be left out, or about one that was left out already.
    pub(super) fn after(self, failure: &Failure) -> Option<Self> {
        // 422 is how servers built on a schema checker say 400; 501 is how some say that a feature is missing.
        if !matches!(failure.status, Some(400 | 422 | 501)) {
            return None;
        }
        let body = failure.body.as_ref()?;
        let names = ["/error/param", "/param", "/error/details/param"]
            .iter()
            .find_map(|p| body.pointer(p).and_then(Value::as_str))
            .unwrap_or_default()
            .to_lowercase();
        let said = error_message(body).unwrap_or_else(|| body.to_string()).to_lowercase();
        let refusal = [
            "unsupported",
            "not support",
            "support",
            "unrecognized",
            "unknown",
            "not allowed",
            "not permitted",
            "invalid",
            "unexpected",
            "extra inputs",
            "forbidden",
            "incompatible",
            "not available",
            "not implemented",
        ]
        .iter()
        .any(|words| said.contains(words));
        let about =
            |field: &str| names.starts_with(field) || (names.is_empty() && refusal && said.contains(field));
        let mut new = self;
        // Most telling names first: a message about one field may mention another as what to use in its place.
        if !self.new_limit && (about("max_tokens") || said.contains("max_completion_tokens' instead")) {
            new.new_limit = true;
        } else if about("response_format") || about("json_schema") || about("guided") || about("grammar") {
            new.no_schema = true;
        } else if about("temperature") {
            new.no_temperature = true;
        } else if about("top_p") {
            new.no_top_p = true;
        } else if about("logprobs") {
            new.no_logprobs = true;
        } else if about("seed") {
            new.no_seed = true;
        } else if about("stop") {
            new.no_stop = true;
        }
        (new != self).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use counterproof_core::Error;
    use serde_json::json;

    use super::*;

    fn refused(status: u16, body: Value) -> Failure {
        Failure { error: Error::failed("test", "refused"), status: Some(status), body: Some(body) }
    }

    fn learnt(body: Value) -> Quirks {
        Quirks::default().after(&refused(400, body)).unwrap()
    }

    #[test]
    fn the_field_that_was_refused_is_found() {
        let message = |text: &str| json!({"error": {"message": text}});
        let limit = learnt(message(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ));
        assert_eq!(limit, Quirks { new_limit: true, ..Quirks::default() });
        let temperature = learnt(json!({"error": {
            "message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
            "param": "temperature", "code": "unsupported_value"}}));
        assert_eq!(temperature, Quirks { no_temperature: true, ..Quirks::default() });
        let schema =
            learnt(message("'response_format' of type 'json_schema' is not supported by this model"));
        assert_eq!(schema, Quirks { no_schema: true, ..Quirks::default() });
        let logprobs =
            learnt(json!({"error": {"message": "You are not allowed to request logprobs from this model."}}));
        assert_eq!(logprobs, Quirks { no_logprobs: true, ..Quirks::default() });
    }

    #[test]
    fn other_refusals_and_repeated_ones_teach_nothing() {
        let long = json!({"error": {"message": "This model's maximum context length is 8192 tokens.", "param": "messages"}});
        assert_eq!(Quirks::default().after(&refused(400, long)), None);
        let body = json!({"error": {"message": "temperature is not supported", "param": "temperature"}});
        assert_eq!(Quirks::default().after(&refused(500, body.clone())), None);
        assert_eq!(Quirks { no_temperature: true, ..Quirks::default() }.after(&refused(400, body)), None);
    }
}
