//! Files of a model hub: from the hub's own cache on this machine when another program has fetched them already,
//! otherwise over HTTPS, going on where an interrupted transfer stopped.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use counterproof_core::{Error, Result, UpstreamError, UpstreamKind, UserError};
use futures::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use crate::http::{client_builder, retry_after};
use crate::secrets::Secret;

use super::manifest::HubFile;
use super::progress::{FileReporter, Phase};

/// How long a hub may take to accept a connection. Short, since there is another source to turn to.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a hub may take to begin its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a transfer may stand still.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Tries in a row that bring no byte before the hub is given up.
const MAX_FRUITLESS_TRIES: u32 = 4;
/// Redirects that are followed: the hub sends large files to its storage.
const MAX_REDIRECTS: usize = 5;

/// Which hub, and as whom.
#[derive(Debug, Clone)]
pub struct HubSettings {
    /// The address of the hub (`HF_ENDPOINT`).
    pub endpoint: String,
    /// A credential for it (`HF_TOKEN`).
    pub token: Option<Secret>,
    /// The hub's own cache on this machine (`HF_HUB_CACHE`, else `hub` under `HF_HOME`), used in place.
    pub cache: Option<PathBuf>,
    /// Whether the hub must not be asked (`HF_HUB_OFFLINE`).
    pub offline: bool,
}

/// What is known of a file before it is asked for.
pub(super) struct Expected<'a> {
    pub(super) sha256: Option<&'a str>,
    pub(super) size: Option<u64>,
}

/// Beside a partial file: what it is a part of.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PartOf {
    url: String,
    tag: Option<String>,
}

pub(super) struct Hub {
    settings: HubSettings,
    client: Client,
}

impl Hub {
    pub(super) fn new(settings: &HubSettings) -> Result<Self> {
        let client = client_builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            // Followed by hand: the digest of a large file stands in the first answer only, and the credential must
            // not go to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| Error::failed("setting up HTTPS", e))?;
        Ok(Self { settings: settings.clone(), client })
    }

    /// The file in the hub's cache on this machine, if it is there.
    pub(super) fn cached(&self, file: &HubFile) -> Option<PathBuf> {
        let repo = self.settings.cache.as_ref()?.join(format!("models--{}", file.repo.replace('/', "--")));
        let reference = std::fs::read_to_string(repo.join("refs").join(&file.revision));
        let commit = reference.as_deref().map_or(file.revision.as_str(), str::trim);
        let path = repo.join("snapshots").join(commit).join(&file.file);
        path.is_file().then_some(path)
    }

    /// Fetches the file into `part`, going on from what `part` holds already.
    pub(super) async fn fetch(
        &self,
        file: &HubFile,
        expected: &Expected<'_>,
        part: &Path,
        report: FileReporter<'_>,
    ) -> Result<()> {
        if self.settings.offline {
            return Err(refused("HF_HUB_OFFLINE is set"));
        }
        let endpoint = self.settings.endpoint.trim_end_matches('/');
        let url = format!("{endpoint}/{}/resolve/{}/{}", file.repo, file.revision, file.file);
        let url = Url::parse(&url)
            .map_err(|e| Error::invalid("HF_ENDPOINT", format!("{:?}: {e}", self.settings.endpoint)))?;
        let mut fruitless = 0;
        loop {
            let before = size_of(part);
            let error = match self.attempt(&url, expected, part, report).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            fruitless = if size_of(part) > before { 0 } else { fruitless + 1 };
            // A hub that cannot be reached at all is left at once: there is no transfer to save.
            let unreachable = size_of(part) == 0
                && matches!(&error, Error::Upstream(e) if
                    matches!(e.kind, UpstreamKind::Connection | UpstreamKind::Timeout));
            if !error.is_transient() || unreachable || fruitless >= MAX_FRUITLESS_TRIES {
                return Err(error);
            }
            let pause = error.retry_after().unwrap_or(Duration::from_millis(500 << fruitless));
            tracing::info!("{error}; trying again in {:.1} s", pause.as_secs_f32());
            tokio::time::sleep(pause.min(Duration::from_secs(30))).await;
        }
    }

    async fn attempt(
        &self,
        url: &Url,
        expected: &Expected<'_>,
        part: &Path,
        report: FileReporter<'_>,
    ) -> Result<()> {
        let part_of = sidecar(part);
        let earlier: Option<PartOf> =
            std::fs::read(&part_of).ok().and_then(|json| serde_json::from_slice(&json).ok());
        let mut offset = match &earlier {
            Some(earlier) if earlier.url == url.as_str() => size_of(part),
            _ => 0,
        };
        let tag_before = earlier.and_then(|e| e.tag);
        report.at(Phase::Hub, offset, expected.size);
        let (response, linked) = self.get(url, offset, tag_before.as_deref()).await?;
        self.compare(&linked, expected)?;

        let status = response.status();
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            discard(part);
            return Err(bad_reply("the partial file did not fit; starting again"));
        }
        let tag = linked.tag.clone();
        match status {
            StatusCode::PARTIAL_CONTENT if starts_at(&response, offset) && tag == tag_before => {}
            StatusCode::PARTIAL_CONTENT => {
                discard(part);
                return Err(bad_reply("the file has changed since the partial transfer; starting again"));
            }
            _ => offset = 0,
        }
        let total = response.content_length().map(|n| n + offset).or(linked.size).or(expected.size);
        let note = serde_json::to_vec(&PartOf { url: url.to_string(), tag })
            .map_err(|e| Error::failed("model store", e))?;
        std::fs::write(&part_of, note).map_err(|e| Error::io("writing", &part_of, &e))?;
        receive(response, part, offset, total, report).await
    }

    /// Asks for the file from `offset` on, following redirects; the answer, and what the hub says of the whole file.
    async fn get(&self, url: &Url, offset: u64, tag: Option<&str>) -> Result<(Response, Linked)> {
        let mut linked = Linked::default();
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.client.get(at.clone());
            if let (Some(token), true) = (&self.settings.token, same_host(&at, url)) {
                request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
            }
            if offset > 0 {
                request = request.header(RANGE, format!("bytes={offset}-"));
                if let (Some(tag), true) = (tag, same_host(&at, url)) {
                    request = request.header(IF_RANGE, format!("\"{tag}\""));
                }
            }
            let response = tokio::time::timeout(ANSWER_TIMEOUT, request.send())
                .await
                .map_err(|_| upstream(UpstreamKind::Timeout, "no answer in time"))?
                .map_err(|e| transport(&e))?;
            linked.learn(&response);
            let status = response.status();
            if !status.is_redirection() {
                return check_status(response, self.settings.token.is_some()).map(|r| (r, linked));
            }
            let location = response.headers().get(LOCATION).and_then(|v| v.to_str().ok());
            at = location
                .and_then(|l| at.join(l).ok())
                .ok_or_else(|| bad_reply("a redirect that leads nowhere"))?;
        }
        Err(bad_reply("too many redirects"))
    }

    /// Whether what the hub offers can be the file that is meant: told before it is transferred.
    fn compare(&self, linked: &Linked, expected: &Expected<'_>) -> Result<()> {
        let digest = linked.tag.as_deref().filter(|t| t.len() == 64);
        if let (Some(offered), Some(meant)) = (digest, expected.sha256)
            && offered != meant
        {
            return Err(refused(format!("the hub's file has sha256 {offered} in place of {meant}")));
        }
        if let (Some(offered), Some(meant)) = (linked.size, expected.size)
            && offered != meant
        {
            return Err(refused(format!("the hub's file has {offered} bytes in place of {meant}")));
        }
        Ok(())
    }
}

/// What the hub says of a file in its first answer: the tag of a large file is its SHA-256.
#[derive(Debug, Default)]
struct Linked {
    tag: Option<String>,
    size: Option<u64>,
}

impl Linked {
    fn learn(&mut self, response: &Response) {
        let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
        let bare = |tag: &str| tag.trim_start_matches("W/").trim_matches('"').to_owned();
        if self.tag.is_none() {
            self.tag = header("x-linked-etag").or_else(|| header(ETAG.as_str())).map(bare);
        }
        if self.size.is_none() {
            self.size = header("x-linked-size").and_then(|s| s.parse().ok());
        }
    }
}

async fn receive(
    response: Response,
    part: &Path,
    offset: u64,
    total: Option<u64>,
    report: FileReporter<'_>,
) -> Result<()> {
    let io = |e: std::io::Error| Error::io("writing", part, &e);
    let file = tokio::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .append(offset > 0)
        .truncate(offset == 0)
        .open(part)
        .await
        .map_err(io)?;
    let mut file = tokio::io::BufWriter::with_capacity(1 << 20, file);
    let mut done = offset;
    let mut body = response.bytes_stream();
    let outcome = loop {
        match body.next().await {
            None => break Ok(()),
            Some(Err(error)) => break Err(transport(&error)),
            Some(Ok(bytes)) => {
                file.write_all(&bytes).await.map_err(io)?;
                done += bytes.len() as u64;
                report.at(Phase::Hub, done, total);
            }
        }
    };
    // Also after a break, so that the next try goes on from here.
    file.flush().await.map_err(io)?;
    outcome?;
    if total.is_some_and(|total| done < total) {
        return Err(upstream(UpstreamKind::Connection, "the transfer ended early"));
    }
    Ok(())
}

fn check_status(response: Response, has_token: bool) -> Result<Response> {
    let status = response.status();
    if matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE) {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/html") {
            return Err(refused("it answered with a web page in place of the file"));
        }
        return Ok(response);
    }
    let retry_after = retry_after(response.headers(), SystemTime::now());
    Err(match status.as_u16() {
        401 | 403 => UserError::Credentials {
            service: "the hub".to_owned(),
            hint: if has_token {
                "the token in HF_TOKEN may not read this file".to_owned()
            } else {
                "set HF_TOKEN to a token that may read this file".to_owned()
            },
        }
        .into(),
        429 => limited(UpstreamKind::RateLimited, status, retry_after),
        500..=599 => limited(UpstreamKind::Unavailable, status, retry_after),
        _ => refused(format!("it answered {status}")),
    })
}

fn starts_at(response: &Response, offset: u64) -> bool {
    response
        .headers()
        .get(CONTENT_RANGE)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|v| v.starts_with(&format!("bytes {offset}-")))
}

fn same_host(a: &Url, b: &Url) -> bool {
    (a.scheme(), a.host(), a.port_or_known_default()) == (b.scheme(), b.host(), b.port_or_known_default())
}

pub(super) fn sidecar(part: &Path) -> PathBuf {
    let mut name = part.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Removes a partial file and its note.
pub(super) fn discard(part: &Path) {
    let _ = std::fs::remove_file(part);
    let _ = std::fs::remove_file(sidecar(part));
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

fn transport(error: &reqwest::Error) -> Error {
    let kind = if error.is_timeout() { UpstreamKind::Timeout } else { UpstreamKind::Connection };
    // The innermost cause says what happened; the address is left out, since it may hold a signature.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    upstream(kind, cause.to_string())
}

fn limited(kind: UpstreamKind, status: StatusCode, retry_after: Option<Duration>) -> Error {
    let message = format!("it answered {status}");
    UpstreamError { service: "the hub".to_owned(), kind, message, retry_after }.into()
}

fn upstream(kind: UpstreamKind, message: impl Into<String>) -> Error {
    UpstreamError { service: "the hub".to_owned(), kind, message: message.into(), retry_after: None }.into()
}

fn bad_reply(message: &str) -> Error {
    upstream(UpstreamKind::BadReply, message)
}

fn refused(message: impl Into<String>) -> Error {
    upstream(UpstreamKind::Refused, message)
}
