//! Errors, split by whose fault they are: the user's, an upstream's, or ours. The split decides everything that
//! follows: the exit code, the HTTP status, and whether it is worth trying again.

use std::time::Duration;

use serde::Serialize;

/// The result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Something about the request has to change before it can succeed.
    #[error(transparent)]
    User(#[from] UserError),
    /// A service that was asked did not answer as it should.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// Our own fault, or the machine's: a full disk, a damaged file, a bug.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// What the user can put right.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// A text that must say something is blank.
    #[error("the {what} is empty")]
    Empty {
        /// Which text.
        what: &'static str,
    },
    /// An input is over its limit.
    #[error("the {what} has size {size}, over the limit {limit} = {max}")]
    TooLarge {
        /// Which input.
        what: &'static str,
        /// The name of the limit in the configuration.
        limit: &'static str,
        /// The size that was given.
        size: usize,
        /// The greatest size allowed.
        max: usize,
    },
    /// A value that makes no sense, with what would.
    #[error("{what}: {problem}")]
    Invalid {
        /// Which value: a flag, a field, a file and line.
        what: String,
        /// What is wrong with it and what to do.
        problem: String,
    },
    /// A file, index, model or other thing that is named but not there.
    #[error("{what} was not found: {hint}")]
    NotFound {
        /// What is missing.
        what: String,
        /// Where it was looked for and how to get it.
        hint: String,
    },
    /// The model or engine cannot do what was asked of it.
    #[error("{who} cannot {what}")]
    Unsupported {
        /// The model or engine.
        who: String,
        /// What it was asked to do.
        what: String,
    },
    /// A credential is missing or was refused. The text never holds the credential.
    #[error("{service} refused the credentials: {hint}")]
    Credentials {
        /// The service.
        service: String,
        /// Which variable to set.
        hint: String,
    },
    /// A spending limit that the user set has been reached.
    #[error("the budget {limit} is used up: {detail}")]
    Budget {
        /// The name of the limit.
        limit: &'static str,
        /// What was spent.
        detail: String,
    },
}

/// What kind of failure an upstream showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpstreamKind {
    /// It asked for fewer requests (HTTP 429).
    RateLimited,
    /// It is overloaded or broken for now (HTTP 5xx).
    Unavailable,
    /// It did not answer in time.
    Timeout,
    /// The connection could not be made, or broke.
    Connection,
    /// It answered with something that is not what its interface promises: half a body, HTML, nothing.
    BadReply,
    /// It understood the request and refused it (HTTP 4xx other than 401, 403, 429).
    Refused,
}

/// A service that was asked did not answer as it should.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{service}: {message}")]
pub struct UpstreamError {
    /// Which service, by the name the user gave it; never with a credential.
    pub service: String,
    /// What kind of failure it was.
    pub kind: UpstreamKind,
    /// What happened, in words; at most a short, cleaned piece of the reply.
    pub message: String,
    /// How long the service asked to be left alone.
    pub retry_after: Option<Duration>,
}

impl UpstreamError {
    /// Whether the same request may succeed later. This is the one place where that is decided.
    pub fn is_transient(&self) -> bool {
        match self.kind {
            UpstreamKind::RateLimited
            | UpstreamKind::Unavailable
            | UpstreamKind::Timeout
            | UpstreamKind::Connection
            | UpstreamKind::BadReply => true,
            UpstreamKind::Refused => false,
        }
    }
}

/// Our own fault, or the machine's.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InternalError {
    /// Reading or writing failed.
    #[error("{action} {path}: {message}")]
    Io {
        /// What was being done: "reading", "writing".
        action: &'static str,
        /// The file or folder.
        path: String,
        /// The operating system's words.
        message: String,
    },
    /// A file of ours does not hold what it should.
    #[error("{path} is damaged: {message}")]
    Damaged {
        /// The file or folder.
        path: String,
        /// What is wrong and how to mend it.
        message: String,
    },
    /// A computation failed.
    #[error("{context}: {message}")]
    Failed {
        /// What was being done.
        context: &'static str,
        /// What went wrong.
        message: String,
    },
}

impl Error {
    /// A stable code for programs: it does not change when the words of the message do.
    pub fn code(&self) -> &'static str {
        match self {
            Self::User(UserError::Empty { .. }) => "empty_input",
            Self::User(UserError::TooLarge { .. }) => "too_large",
            Self::User(UserError::Invalid { .. }) => "invalid_input",
            Self::User(UserError::NotFound { .. }) => "not_found",
            Self::User(UserError::Unsupported { .. }) => "unsupported",
            Self::User(UserError::Credentials { .. }) => "credentials",
            Self::User(UserError::Budget { .. }) => "budget",
            Self::Upstream(e) => match e.kind {
                UpstreamKind::RateLimited => "upstream_rate_limited",
                UpstreamKind::Unavailable => "upstream_unavailable",
                UpstreamKind::Timeout => "upstream_timeout",
                UpstreamKind::Connection => "upstream_connection",
                UpstreamKind::BadReply => "upstream_bad_reply",
                UpstreamKind::Refused => "upstream_refused",
            },
            Self::Internal(InternalError::Io { .. }) => "io",
            Self::Internal(InternalError::Damaged { .. }) => "damaged",
            Self::Internal(InternalError::Failed { .. }) => "internal",
        }
    }

    /// How long to wait before trying again, when an upstream said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Upstream(e) => e.retry_after,
            _ => None,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Upstream(e) if e.is_transient())
    }

    /// Whether the user has to change something.
    pub fn is_user(&self) -> bool {
        matches!(self, Self::User(_))
    }

    /// An I/O failure with what was being done to which file.
    pub fn io(action: &'static str, path: impl AsRef<std::path::Path>, error: &std::io::Error) -> Self {
        InternalError::Io { action, path: path.as_ref().display().to_string(), message: error.to_string() }
            .into()
    }

    /// A user's error about one value.
    pub fn invalid(what: impl Into<String>, problem: impl Into<String>) -> Self {
        UserError::Invalid { what: what.into(), problem: problem.into() }.into()
    }

    /// A failure of ours, in context.
    pub fn failed(context: &'static str, message: impl std::fmt::Display) -> Self {
        InternalError::Failed { context, message: message.to_string() }.into()
    }

    /// The error as it stands in JSON output.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            code: self.code().to_owned(),
            message: self.to_string(),
            retry_after_ms: self.retry_after().map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

/// An error in JSON: `{"code": ..., "message": ..., "retry_after_ms": ...}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ErrorBody {
    /// Stable code; see [`Error::code`].
    pub code: String,
    /// What happened, for a person.
    pub message: String,
    /// Milliseconds to wait before another try, when the upstream said so.
    pub retry_after_ms: Option<u64>,
}
