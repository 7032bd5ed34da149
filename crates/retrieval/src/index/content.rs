//! What names the content of an index: a digest that does not depend on the order of the passages, so that additions
//! and deletions can keep it up without reading the rest.

use std::fmt;

use counterproof_core::{Passage, PassageId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The first eight bytes of the SHA-256 of an id.
pub(crate) fn id_key(id: &PassageId) -> u64 {
    let digest = Sha256::digest(id.as_str().as_bytes());
    digest.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The sum of the SHA-256 digests of the passages, as four numbers of 64 bits that wrap around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ContentDigest([u64; 4]);

impl ContentDigest {
    /// The digest of one passage.
    pub(crate) fn of(passage: &Passage) -> Self {
        let mut hasher = Sha256::new();
        let parts =
            [passage.id.as_str(), &passage.title, passage.url.as_deref().unwrap_or(""), &passage.text];
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let digest = hasher.finalize();
        let (words, _) = digest.as_chunks::<8>();
        let mut sum = [0; 4];
        for (lane, word) in sum.iter_mut().zip(words) {
            *lane = u64::from_le_bytes(*word);
        }
        Self(sum)
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (lane, more) in self.0.iter_mut().zip(other.0) {
            *lane = lane.wrapping_add(more);
        }
    }

    pub(crate) fn remove(&mut self, other: Self) {
        for (lane, less) in self.0.iter_mut().zip(other.0) {
            *lane = lane.wrapping_sub(less);
        }
    }
}

/// What two passages with the same words share, whatever they are called.
pub(crate) fn words_key(passage: &Passage) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update((passage.title.len() as u64).to_le_bytes());
    hasher.update(passage.title.as_bytes());
    hasher.update(passage.text.as_bytes());
    hasher.finalize().first_chunk::<16>().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|lane| write!(f, "{lane:016x}"))
    }
}

impl From<ContentDigest> for String {
    fn from(digest: ContentDigest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for ContentDigest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut lanes = [0; 4];
        for (i, lane) in lanes.iter_mut().enumerate() {
            let hex = text.get(i * 16..(i + 1) * 16).ok_or("a content digest has 64 digits")?;
            *lane = u64::from_str_radix(hex, 16).map_err(|_| "a content digest is hexadecimal")?;
        }
        Ok(Self(lanes))
    }
}
