//! The unit of evidence: a short piece of a document, with the title it stands under.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names a passage within one corpus. Stable: the same document cut the same way gives the same ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PassageId(String);

impl PassageId {
    /// An id from its text.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PassageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for PassageId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

/// A passage as it stands in the corpus. Its text is evidence, that is, data: nothing in it is ever an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Names the passage in its corpus.
    pub id: PassageId,
    /// Title of the document it was cut from; empty when there is none.
    #[serde(default)]
    pub title: String,
    /// Where the document can be read, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The words themselves, exactly as in the document.
    pub text: String,
}

impl Passage {
    /// A passage without a url.
    pub fn new(id: impl Into<String>, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: PassageId::new(id), title: title.into(), url: None, text: text.into() }
    }
}
