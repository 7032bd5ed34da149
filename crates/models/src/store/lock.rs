//! One pull of a model at a time, also between processes. The operating system drops the lock of a process that dies.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use counterproof_core::{Error, Result};

use super::progress::{FileReporter, Phase};

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(super) struct PullLock(#[allow(dead_code, reason = "held for its lock")] File);

impl PullLock {
    /// Waits for the lock on the model in `dir`.
    pub(super) async fn acquire(dir: &Path, report: FileReporter<'_>) -> Result<Self> {
        let path = dir.join(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| Error::io("opening", &path, &e))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => {
                    report.at(Phase::Waiting, 0, None);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(TryLockError::Error(e)) => return Err(Error::io("locking", &path, &e)),
            }
        }
    }
}
