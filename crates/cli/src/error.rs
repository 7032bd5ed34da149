//! How errors are told, and which exit code they give.

use std::io::Write;
use std::process::ExitCode;

use counterproof::{Error, ErrorBody};
use serde_json::json;

use crate::style;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error to be told.
    Error(Error),
    /// The reader of our output went away: nobody is left to be told anything.
    OutputClosed,
    /// It has been told already.
    Told(ExitCode),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<std::io::Error> for Failure {
    /// For writing to standard output only; every other file is named in its error.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::Error(Error::io("writing", "standard output", &error))
        }
    }
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Tells the failure and gives the exit code: 1 for what failed, 2 for what was used wrongly.
pub(crate) fn exit(failure: &Failure, json: bool) -> ExitCode {
    match failure {
        Failure::OutputClosed => ExitCode::SUCCESS,
        Failure::Told(code) => *code,
        Failure::Error(error) => {
            tell(&error.body(), json);
            ExitCode::from(if error.is_user() { 2 } else { 1 })
        }
    }
}

/// With `--json` an error is an object on standard output, so that a program has one place to look; otherwise it is a
/// line on standard error.
pub(crate) fn tell(body: &ErrorBody, json: bool) {
    // There is nobody to tell that telling failed.
    let _ = if json {
        writeln!(std::io::stdout().lock(), "{}", json!({ "error": body }))
    } else {
        let (error, reset) = (style::ERROR.render(), style::ERROR.render_reset());
        writeln!(anstream::stderr().lock(), "{error}error:{reset} {}", body.message)
    };
}
