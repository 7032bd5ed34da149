//! Files inside Python packages. pip fetches them, so that the user's own index, proxy and certificates hold; a wheel
//! is a zip archive, and nothing in it is installed or run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use counterproof_core::{Error, Result, UpstreamError, UpstreamKind, UserError};
use tokio::process::Command;

use crate::secrets::redact;

use super::progress::{FileReporter, Phase};
use super::verify::copy;

/// How often the growth of a download is looked at.
const WATCH_EVERY: Duration = Duration::from_millis(250);

/// Fetches the wheel of `requirement` into the empty folder `dir`.
pub(super) async fn download(
    python: &str,
    requirement: &str,
    dir: &Path,
    total: Option<u64>,
    report: FileReporter<'_>,
) -> Result<PathBuf> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io("creating", dir, &e))?;
    report.at(Phase::Package, 0, total);
    let child = Command::new(python)
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"])
        .args(["--no-input", "--disable-pip-version-check", "--progress-bar=off"])
        .args([requirement, "-d"])
        .arg(dir)
        // Where pip keeps what it is receiving, so that its growth can be seen and nothing is left behind.
        .env("TMPDIR", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| UserError::NotFound {
            what: format!("the program {python:?}"),
            hint: format!("it is needed to fetch Python packages with pip: {e}"),
        })?;
    let mut output = std::pin::pin!(child.wait_with_output());
    let mut ticks = tokio::time::interval(WATCH_EVERY);
    let output = loop {
        tokio::select! {
            output = &mut output => break output.map_err(|e| Error::failed("running pip", e))?,
            _ = ticks.tick() => report.at(Phase::Package, size_below(dir), total),
        }
    };
    if !output.status.success() {
        return Err(failure(requirement, &String::from_utf8_lossy(&output.stderr)));
    }
    wheel_in(dir).ok_or_else(|| failure(requirement, "it brought no wheel"))
}

/// Appends a member of a wheel to `to`; `counter` grows by the bytes written.
pub(super) fn extract(wheel: &Path, member: &str, to: &mut File, counter: &AtomicU64) -> Result<()> {
    let damaged = |e: &dyn std::fmt::Display| {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        bad_reply(name, format!("cannot read {member} from it: {e}"))
    };
    let archive = File::open(wheel).map_err(|e| Error::io("reading", wheel, &e))?;
    let mut archive = zip::ZipArchive::new(archive).map_err(|e| damaged(&e))?;
    let mut entry = archive.by_name(member).map_err(|e| damaged(&e))?;
    copy(&mut entry, to, counter).map_err(|e| damaged(&e))
}

fn wheel_in(dir: &Path) -> Option<PathBuf> {
    std::fs::read_dir(dir)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
}

fn size_below(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let meta = entry.metadata().ok()?;
            Some(if meta.is_dir() { size_below(&entry.path()) } else { meta.len() })
        })
        .sum()
}

fn failure(requirement: &str, stderr: &str) -> Error {
    let errors: Vec<&str> = stderr.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let last = errors.iter().rev().find(|l| l.starts_with("ERROR")).or(errors.last());
    let message = redact(last.copied().unwrap_or("pip failed without a word"), None);
    bad_reply(requirement.to_owned(), format!("pip could not fetch it: {message}"))
}

fn bad_reply(service: String, message: String) -> Error {
    UpstreamError { service, kind: UpstreamKind::BadReply, message, retry_after: None }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_pip_is_told_without_the_password_of_its_index() {
        let stderr = "Looking in indexes: https://u:secret@index.test/simple\n\
                      ERROR: No matching distribution at https://me:hunter2@index.test/simple for x==1\n";
        let error = failure("x==1", stderr).to_string();
        assert!(
            error.contains("No matching distribution at https://[key]@index.test/simple for x==1"),
            "{error}"
        );
        assert!(!error.contains("hunter2") && !error.contains("secret"), "{error}");
    }
}
