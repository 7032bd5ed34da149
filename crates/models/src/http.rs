//! One way to post JSON to a model's endpoint and to say what went wrong.

use std::time::{Duration, SystemTime};

use counterproof_core::{Error, Result, UpstreamError, UpstreamKind, UserError};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use crate::secrets::{Secret, redact};

/// The longest body that is read: a reply beyond it is none.
const MAX_BODY: usize = 64 << 20;

/// A client for HTTP over TLS by `rustls` with `ring`, honouring the proxy of the environment.
///
/// # Errors
/// The client cannot be set up, as when the system has no certificates.
pub fn client_builder() -> reqwest::ClientBuilder {
    // Another part of the process may have chosen a provider before; either serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("counterproof/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .tcp_nodelay(true)
}

/// An endpoint that takes and gives JSON.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    client: reqwest::Client,
    /// The name by which errors speak of it.
    service: String,
    headers: HeaderMap,
    secret: Option<Secret>,
    /// Where its key is looked for, for the hint of an error.
    key_hint: String,
}

/// Why a request failed, with what the endpoint said.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) status: Option<u16>,
    /// The body of the answer, when it was JSON.
    pub(crate) body: Option<Value>,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

impl Endpoint {
    /// An endpoint named `service` that is sent `key`, if there is one, as the header `name: prefix + key`.
    pub(crate) fn new(
        service: &str,
        key: Option<Secret>,
        (header, prefix): (&'static str, &str),
        key_hint: &str,
        timeout: Duration,
    ) -> Result<Self> {
        let mut headers = HeaderMap::new();
        if let Some(secret) = &key {
            let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose())).map_err(|_| {
                Error::from(UserError::Credentials {
                    service: service.to_owned(),
                    hint: format!("the key has characters that no key has; look at {key_hint}"),
                })
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let client = client_builder()
            .timeout(timeout)
            .build()
            .map_err(|e| Error::failed("setting up the HTTP client", chain(&e)))?;
        Ok(Self { client, service: service.to_owned(), headers, secret: key, key_hint: key_hint.to_owned() })
    }

    /// Adds a header to every request.
    pub(crate) fn header(&mut self, name: &'static str, value: &'static str) {
        self.headers.insert(name, HeaderValue::from_static(value));
    }

    /// Sends `body` and gives the JSON that comes back.
    pub(crate) async fn post(&self, url: &str, body: &Value) -> Result<Value, Failure> {
        let sent = self.client.post(url).headers(self.headers.clone()).json(body).send().await;
        let mut response = sent.map_err(|e| self.broken(&e, "sending the request"))?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if bytes.len() + chunk.len() <= MAX_BODY => bytes.extend_from_slice(&chunk),
                Ok(Some(_)) => {
                    let message = format!("the reply is larger than {MAX_BODY} bytes");
                    return Err(self.failure(UpstreamKind::Refused, message, None, Some(status), None));
                }
                Ok(None) => break,
                // What a server has said with an error status is known even if the rest of it is lost.
                Err(_) if status >= 400 => break,
                Err(e) if e.is_timeout() => return Err(self.broken(&e, "reading the reply")),
                Err(e) => {
                    let message = format!("the reply broke off after {} bytes: {}", bytes.len(), chain(&e));
                    return Err(self.failure(UpstreamKind::BadReply, message, None, Some(status), None));
                }
            }
        }
        let json = serde_json::from_slice::<Value>(&bytes);
        if !(200..300).contains(&status) {
            return Err(self.refused(status, &bytes, json.ok(), retry_after));
        }
        match json {
            Ok(value) => match said_error(&value) {
                Some(code) => Err(self.refused(code, &bytes, Some(value), retry_after)),
                None => Ok(value),
            },
            Err(e) => {
                let message = if bytes.iter().all(u8::is_ascii_whitespace) {
                    "an empty reply".to_owned()
                } else if looks_like_html(&bytes) {
                    format!("a web page instead of JSON ({}); check the base URL", page_title(&bytes))
                } else if e.is_eof() {
                    format!("half a reply: its JSON ends after {} bytes", bytes.len())
                } else {
                    format!("a reply that is not JSON: {}", self.clean(&String::from_utf8_lossy(&bytes)))
                };
                Err(self.failure(UpstreamKind::BadReply, message, None, Some(status), None))
            }
        }
    }

    /// A reply that came but is not what the interface promises.
    pub(crate) fn bad_reply(&self, message: &str) -> Error {
        self.failure(UpstreamKind::BadReply, self.clean(message), None, None, None).error
    }

    fn refused(
        &self,
        status: u16,
        bytes: &[u8],
        body: Option<Value>,
        retry_after: Option<Duration>,
    ) -> Failure {
        let said = match &body {
            Some(body) => error_message(body).unwrap_or_else(|| body.to_string()),
            None if looks_like_html(bytes) => format!("a web page ({})", page_title(bytes)),
            None => String::from_utf8_lossy(bytes).into_owned(),
        };
        let said = self.clean(&said);
        let message =
            if said.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {said}") };
        if matches!(status, 401 | 403) {
            let what = if self.secret.is_some() { "check the key in" } else { "set" };
            let hint = format!("{what} {} (HTTP {status})", self.key_hint);
            let error = UserError::Credentials { service: self.service.clone(), hint }.into();
            return Failure { error, status: Some(status), body };
        }
        let kind = match status {
            // A quota that is used up is not given back by waiting.
            429 if body.as_ref().is_some_and(out_of_quota) => UpstreamKind::Refused,
            429 => UpstreamKind::RateLimited,
            408 => UpstreamKind::Timeout,
            500.. => UpstreamKind::Unavailable,
            400..500 => UpstreamKind::Refused,
            _ => UpstreamKind::BadReply,
        };
        self.failure(kind, message, retry_after, Some(status), body)
    }

    fn broken(&self, error: &reqwest::Error, doing: &str) -> Failure {
        let kind = if error.is_timeout() { UpstreamKind::Timeout } else { UpstreamKind::Connection };
        let what = match kind {
            UpstreamKind::Timeout => "no answer in time",
            _ if error.is_connect() => "no connection",
            _ => "the connection broke",
        };
        let message = format!("{what} while {doing}: {}", self.clean(&chain(error)));
        self.failure(kind, message, None, None, None)
    }

    fn failure(
        &self,
        kind: UpstreamKind,
        message: String,
        retry_after: Option<Duration>,
        status: Option<u16>,
        body: Option<Value>,
    ) -> Failure {
        let error = UpstreamError { service: self.service.clone(), kind, message, retry_after };
        Failure { error: error.into(), status, body }
    }

    /// A short piece of what an endpoint said, on one line and without keys.
    fn clean(&self, text: &str) -> String {
        const LONGEST: usize = 300;
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = redact(&line, self.secret.as_ref()).chars().filter(|c| !c.is_control()).collect();
        match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}

/// An error with its causes, without the URL, which may hold a password.
fn chain(error: &reqwest::Error) -> String {
    let mut said = String::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if !said.is_empty() {
            said.push_str(": ");
        }
        said.push_str(&inner.to_string());
        cause = inner.source();
    }
    if said.is_empty() { "unknown cause".to_owned() } else { said }
}

/// How long the endpoint asks to be left alone: `retry-after-ms`, or `Retry-After` as seconds or as an HTTP date
/// (RFC 9110, 10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    let seconds = |s: f64| Duration::try_from_secs_f64(s).ok();
    if let Some(millis) = text("retry-after-ms").and_then(|t| t.parse::<f64>().ok()) {
        return seconds(millis / 1000.0);
    }
    let value = text("retry-after")?;
    match value.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => {
            let date = httpdate::parse_http_date(value).ok()?;
            Some(date.duration_since(now).unwrap_or(Duration::ZERO))
        }
    }
}

/// The words of an error body, in the shapes that servers use.
pub(crate) fn error_message(body: &Value) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    };
    let one = |value: &Value| {
        text(value)
            .or_else(|| value.get("message").and_then(text))
            .or_else(|| value.get("msg").and_then(text))
            .or_else(|| value.pointer("/error/message").and_then(text))
    };
    for key in ["error", "errors", "message", "detail", "msg"] {
        match body.get(key) {
            Some(Value::Array(items)) => {
                let all: Vec<String> = items.iter().filter_map(one).collect();
                if !all.is_empty() {
                    return Some(all.join("; "));
                }
            }
            Some(value) => {
                if let Some(message) = one(value) {
                    return Some(message);
                }
            }
            None => {}
        }
    }
    body.as_array().and_then(|items| items.first()).and_then(error_message)
}

/// Some servers answer 200 with an error inside: the status that it stands for.
fn said_error(body: &Value) -> Option<u16> {
    let error = body.get("error").filter(|e| !e.is_null())?;
    if body.get("choices").is_some() || body.get("content").is_some() {
        return None;
    }
    let code = error.get("code").or_else(|| error.get("status")).or_else(|| body.get("code"));
    let number = code.and_then(|c| c.as_u64().or_else(|| c.as_str().and_then(|s| s.parse().ok())));
    Some(number.and_then(|n| u16::try_from(n).ok()).filter(|n| (400..600).contains(n)).unwrap_or(500))
}

fn out_of_quota(body: &Value) -> bool {
    ["/error/code", "/error/type", "/code"].iter().any(|p| {
        matches!(
            body.pointer(p).and_then(Value::as_str),
            Some("insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active")
        )
    })
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(bytes.get(..bytes.len().min(256)).unwrap_or_default()).to_lowercase();
    let head = head.trim_start();
    head.starts_with("<!doctype")
        || head.starts_with("<html")
        || head.starts_with("<head")
        || head.starts_with("<?xml")
}

fn page_title(bytes: &[u8]) -> String {
    let page = String::from_utf8_lossy(bytes);
    let title =
        page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).map(|(t, _)| t.trim());
    format!("{:?}", title.unwrap_or("no title").chars().take(80).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let read = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            retry_after(&headers, now)
        };
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(read("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(read("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        // 1,000,000,000 seconds after the epoch is Sun, 09 Sep 2001 01:46:40 GMT.
        assert_eq!(read("retry-after", "Sun, 09 Sep 2001 01:47:00 GMT"), Some(Duration::from_secs(20)));
        assert_eq!(read("retry-after", "Sun, 09 Sep 2001 01:00:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["soon", "-3", "NaN", "1e300"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn the_message_of_an_error_is_found_in_every_shape() {
        for body in [
            json!({"error": {"message": "too long", "type": "x"}}),
            json!({"error": "too long"}),
            json!({"message": "too long"}),
            json!({"detail": "too long"}),
            json!({"detail": [{"loc": ["body"], "msg": "too long"}]}),
            json!({"errors": [{"message": "too long"}]}),
            json!([{"error": {"message": "too long"}}]),
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}),
        ] {
            assert_eq!(error_message(&body).as_deref(), Some("too long"), "{body}");
        }
        assert_eq!(error_message(&json!({"a": 1})), None);
    }
}
