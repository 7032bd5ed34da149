//! Exchanges with a model, written down once and replayed ever after: tests and demonstrations that need no key.
//!
//! A recording is a file of JSON lines, one exchange each. What is replayed depends on what the model was sent, not on
//! the stage that asked or the name of the prompt. A line that holds a key is never written.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Error, ErrorBody, InternalError,
    LanguageModel, Result, ScoreRequest, UpstreamError, UpstreamKind, UserError,
};
use serde::{Deserialize, Serialize};

use crate::cache::CacheKey;
use crate::secrets::{Secret, holds_key};

/// The version of a line's form.
const SCHEMA: u32 = 1;

/// One exchange, as a line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exchange {
    schema: u32,
    model: String,
    capabilities: Capabilities,
    #[serde(flatten)]
    call: Call,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // Nearly all of them are the large one.
enum Call {
    Complete {
        request: CompletionRequest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<Completion>,
    },
    Score {
        request: ScoreRequest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scores: Option<Vec<ContinuationScore>>,
    },
}

/// What was sent, as a key: not which stage sent it, nor from which file.
fn sent(request: &CompletionRequest) -> CacheKey {
    CacheKey::of_completion("", &CompletionRequest { prompt: None, ..request.clone() })
}

fn sent_for_scores(request: &ScoreRequest) -> CacheKey {
    CacheKey::of_scores("", &ScoreRequest { prompt: None, ..request.clone() })
}

/// A model whose exchanges are written down.
#[derive(Debug)]
pub struct Recorder<M: ?Sized> {
    path: PathBuf,
    file: Arc<Mutex<File>>,
    secrets: Vec<Secret>,
    inner: Arc<M>,
}

impl<M: LanguageModel + ?Sized> Recorder<M> {
    /// Writes every exchange with `inner` to the end of the file at `path`. Besides whatever looks like a key, the
    /// values of the environment variables `key_variables` are kept out of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(inner: Arc<M>, path: impl AsRef<Path>, key_variables: &[&str]) -> Result<Self> {
        let path = path.as_ref();
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut secrets: Vec<Secret> = key_variables.iter().filter_map(|v| Secret::from_env(v)).collect();
        secrets.extend(
            ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN"].iter().filter_map(|v| Secret::from_env(v)),
        );
        Ok(Self {
            file: Arc::new(Mutex::new(file.map_err(|e| Error::io("writing", path, &e))?)),
            path: path.to_owned(),
            secrets,
            inner,
        })
    }

    async fn write(&self, call: Call, error: Option<&Error>) -> Result<()> {
        let exchange = Exchange {
            schema: SCHEMA,
            model: self.inner.identity().to_owned(),
            capabilities: self.inner.capabilities(),
            call,
            error: error.map(Error::body),
        };
        let mut line =
            serde_json::to_string(&exchange).map_err(|e| Error::failed("writing an exchange as JSON", e))?;
        if holds_key(&line) || self.secrets.iter().any(|s| s.stands_in(&line)) {
            return Err(Error::invalid(
                format!("recording {}", self.path.display()),
                "an exchange holds something that looks like a key: it was not written; take the key out of the input",
            ));
        }
        line.push('\n');
        let (file, path) = (Arc::clone(&self.file), self.path.clone());
        let written = tokio::task::spawn_blocking(move || {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(line.as_bytes()).map_err(|e| Error::io("writing", &path, &e))
        });
        written.await.map_err(|e| Error::failed("writing a recording", e))?
    }
}

#[async_trait]
impl<M: LanguageModel + ?Sized> LanguageModel for Recorder<M> {
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let result = self.inner.complete(request).await;
        let call = Call::Complete { request: request.clone(), reply: result.as_ref().ok().cloned() };
        self.write(call, result.as_ref().err()).await?;
        result
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let result = self.inner.score(request).await;
        let call = Call::Score { request: request.clone(), scores: result.as_ref().ok().cloned() };
        self.write(call, result.as_ref().err()).await?;
        result
    }
}

/// Looks for keys in a recording: whatever looks like one, and the values of these environment variables. The numbers
/// of the lines that hold one.
///
/// # Errors
/// The file cannot be read.
pub fn lines_with_keys(path: impl AsRef<Path>, key_variables: &[&str]) -> Result<Vec<usize>> {
    let path = path.as_ref();
    let secrets: Vec<Secret> = key_variables.iter().filter_map(|v| Secret::from_env(v)).collect();
    let file = File::open(path).map_err(|e| Error::io("reading", path, &e))?;
    let mut found = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| Error::io("reading", path, &e))?;
        if holds_key(&line) || secrets.iter().any(|s| s.stands_in(&line)) {
            found.push(number + 1);
        }
    }
    Ok(found)
}

/// A model that replies as it was recorded.
///
/// A request that was recorded several times gets its replies in their order, the last one again and again.
#[derive(Debug)]
pub struct RecordedModel {
    path: PathBuf,
    identity: String,
    capabilities: Capabilities,
    exchanges: Vec<Exchange>,
    /// Which exchanges answer a request, and how many of them were used.
    by_request: Mutex<HashMap<CacheKey, VecDeque<usize>>>,
}

impl RecordedModel {
    /// Reads a recording.
    ///
    /// # Errors
    /// The file is not there, holds no exchange, or has a line that is none: the error names it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::from(UserError::NotFound {
                what: format!("the recording {}", path.display()),
                hint: "record one first".to_owned(),
            }),
            _ => Error::io("reading", path, &e),
        })?;
        let mut exchanges: Vec<Exchange> = Vec::new();
        let mut by_request: HashMap<CacheKey, VecDeque<usize>> = HashMap::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let damaged = |message: String| {
                Error::from(InternalError::Damaged {
                    path: format!("{}, line {}", path.display(), number + 1),
                    message,
                })
            };
            let exchange: Exchange =
                serde_json::from_str(line).map_err(|e| damaged(format!("no exchange: {e}")))?;
            if exchange.schema != SCHEMA {
                return Err(damaged(format!(
                    "it has schema {}, this program reads {SCHEMA}",
                    exchange.schema
                )));
            }
            let key = match &exchange.call {
                Call::Complete { request, .. } => sent(request),
                Call::Score { request, .. } => sent_for_scores(request),
            };
            by_request.entry(key).or_default().push_back(exchanges.len());
            exchanges.push(exchange);
        }
        let Some(first) = exchanges.first() else {
            let what = format!("the recording {}", path.display());
            return Err(Error::invalid(what, "it holds no exchange: record again"));
        };
        Ok(Self {
            path: path.to_owned(),
            identity: format!("recorded:{}", first.model),
            capabilities: Capabilities { local: true, ..first.capabilities },
            exchanges,
            by_request: Mutex::new(by_request),
        })
    }

    /// How many exchanges the recording holds.
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether it holds none; never so for a recording that was opened.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    fn next(&self, key: CacheKey) -> Option<&Exchange> {
        let mut by_request = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = by_request.get_mut(&key)?;
        let index = if queue.len() > 1 { queue.pop_front()? } else { *queue.front()? };
        self.exchanges.get(index)
    }

    fn unknown(&self, stage: &str, difference: Option<String>) -> Error {
        let difference = difference.unwrap_or_else(|| "no exchange of this kind was recorded".to_owned());
        UserError::NotFound {
            what: format!("a recorded reply for the stage {stage:?} in {}", self.path.display()),
            hint: format!("{difference}; record again"),
        }
        .into()
    }
}

#[async_trait]
impl LanguageModel for RecordedModel {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        match self.next(sent(request)) {
            Some(Exchange { call: Call::Complete { reply: Some(reply), .. }, .. }) => Ok(reply.clone()),
            Some(Exchange { error: Some(error), .. }) => Err(replayed(&self.identity, error)),
            _ => {
                let nearest = self.exchanges.iter().filter_map(|e| match &e.call {
                    Call::Complete { request: other, .. } => Some(differences(request, other)),
                    Call::Score { .. } => None,
                });
                Err(self.unknown(&request.stage, nearest.min_by_key(|d| d.0).map(|d| d.1)))
            }
        }
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        match self.next(sent_for_scores(request)) {
            Some(Exchange { call: Call::Score { scores: Some(scores), .. }, .. }) => Ok(scores.clone()),
            Some(Exchange { error: Some(error), .. }) => Err(replayed(&self.identity, error)),
            _ => {
                let nearest = self.exchanges.iter().filter_map(|e| match &e.call {
                    Call::Score { request: other, .. } => {
                        let (mut far, mut said) = message_differences(&request.messages, &other.messages);
                        if request.continuations != other.continuations {
                            far += 1;
                            said.push("the continuations".to_owned());
                        }
                        Some((far, format!("the nearest differs in {}", said.join(", "))))
                    }
                    Call::Complete { .. } => None,
                });
                Err(self.unknown(&request.stage, nearest.min_by_key(|d| d.0).map(|d| d.1)))
            }
        }
    }
}

/// How far two requests are apart, and in what.
fn differences(asked: &CompletionRequest, recorded: &CompletionRequest) -> (usize, String) {
    let (mut far, mut said) = message_differences(&asked.messages, &recorded.messages);
    for (differs, what) in [
        (asked.sampling != recorded.sampling, "the sampling"),
        (asked.schema != recorded.schema, "the schema"),
        (asked.logprobs != recorded.logprobs, "whether log-probabilities are wanted"),
    ] {
        if differs {
            far += 1;
            said.push(what.to_owned());
        }
    }
    (far, format!("the nearest differs in {}", said.join(", ")))
}

fn message_differences(
    asked: &[counterproof_core::Message],
    recorded: &[counterproof_core::Message],
) -> (usize, Vec<String>) {
    let mut said = Vec::new();
    let mut far = 0;
    if asked.len() != recorded.len() {
        far += 1000;
        said.push(format!("the number of messages: {} for {}", asked.len(), recorded.len()));
    }
    for (i, (a, b)) in asked.iter().zip(recorded).enumerate() {
        if a == b {
            continue;
        }
        let same = a.content.chars().zip(b.content.chars()).take_while(|(x, y)| x == y).count();
        let longest = a.content.chars().count().max(b.content.chars().count());
        // Messages that part late are nearer than those that part at once.
        far += 10 + 90 * (longest - same) / longest.max(1);
        let from = |text: &str| text.chars().skip(same).take(30).collect::<String>();
        said.push(format!(
            "message {} from character {} on: {:?} for {:?}",
            i + 1,
            same + 1,
            from(&a.content),
            from(&b.content)
        ));
    }
    (far, said)
}

/// A failure as it was recorded.
fn replayed(service: &str, error: &ErrorBody) -> Error {
    let kind = match error.code.as_str() {
        "upstream_rate_limited" => UpstreamKind::RateLimited,
        "upstream_unavailable" => UpstreamKind::Unavailable,
        "upstream_timeout" => UpstreamKind::Timeout,
        "upstream_connection" => UpstreamKind::Connection,
        "upstream_bad_reply" => UpstreamKind::BadReply,
        _ => UpstreamKind::Refused,
    };
    UpstreamError {
        service: service.to_owned(),
        kind,
        message: error.message.clone(),
        retry_after: error.retry_after_ms.map(std::time::Duration::from_millis),
    }
    .into()
}
