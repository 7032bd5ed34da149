//! The SHA-256 of a file of weights, computed once.
//!
//! Hashing 90 MB takes longer than everything else that opening an encoder does, so the digest is kept in a small file
//! beside the weights, with the size and the time of change that it belongs to.

use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use counterproof_core::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::temporary_in;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    sha256: String,
    bytes: u64,
    modified_ns: u64,
}

/// The SHA-256 of the file in lower-case hexadecimal, kept beside it for the next time.
///
/// # Errors
/// The file cannot be read.
pub fn file_sha256(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| Error::io("reading", path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".sha256.json");
    let beside = path.with_file_name(name);
    let modified_ns = modified_ns(&metadata);
    if let Some(kept) =
        std::fs::read(&beside).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok())
        && kept.bytes == metadata.len()
        && Some(kept.modified_ns) == modified_ns
        && kept.sha256.len() == 64
    {
        return Ok(kept.sha256);
    }
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
    let sha256: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(modified_ns) = modified_ns {
        // A folder that cannot be written to only costs the time again at the next opening.
        let _ = keep(&beside, &Kept { sha256: sha256.clone(), bytes: metadata.len(), modified_ns });
    }
    Ok(sha256)
}

fn modified_ns(metadata: &Metadata) -> Option<u64> {
    let age = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(age.as_nanos()).ok()
}

fn keep(beside: &Path, kept: &Kept) -> std::io::Result<()> {
    let folder = beside.parent().unwrap_or(Path::new("."));
    let mut file = temporary_in(folder)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.persist(beside)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_kept_until_the_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("weights");
        std::fs::write(&path, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(file_sha256(&path).unwrap(), abc);

        let beside = dir.path().join("weights.sha256.json");
        let mut kept: Kept = serde_json::from_slice(&std::fs::read(&beside).unwrap()).unwrap();
        kept.sha256 = "0".repeat(64);
        std::fs::write(&beside, serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_eq!(file_sha256(&path).unwrap(), kept.sha256, "the kept digest is used");

        std::fs::write(&path, "abcd").unwrap();
        assert_eq!(
            file_sha256(&path).unwrap(),
            "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589",
            "another size: computed anew"
        );
        std::fs::write(&beside, "{torn").unwrap();
        assert!(file_sha256(&path).unwrap().starts_with("88d4266f"));
    }
}
