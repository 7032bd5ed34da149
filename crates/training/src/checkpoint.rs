//! The state of a run in a file, so that a run that was killed goes on where it was.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use counterproof_core::{Error, InternalError, Result};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use crate::progress::Evaluation;

/// The field of the safetensors header that holds the state as JSON.
const FIELD: &str = "counterproof.checkpoint";

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Tells configuration and data apart from others.
    pub(crate) fingerprint: String,
    /// Optimiser steps done.
    pub(crate) step: u64,
    /// The stage that the next step belongs to, and its place in it.
    pub(crate) stage: usize,
    pub(crate) place: usize,
    pub(crate) examples: u64,
    pub(crate) tokens: u64,
    /// Time taken so far.
    pub(crate) seconds: f64,
    /// The moving mean of the loss.
    pub(crate) loss: Option<f64>,
    pub(crate) validations: Vec<Evaluation>,
    /// Validations since the best one.
    pub(crate) without_gain: usize,
    /// The step and score of the best validation.
    pub(crate) best: Option<(u64, f64)>,
    pub(crate) stopped_early: bool,
    /// Whether nothing is left to do.
    pub(crate) finished: bool,
}

/// A state with the numbers that belong to it, all laid out like the parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) state: State,
    pub(crate) values: Vec<f32>,
    pub(crate) first: Vec<f32>,
    pub(crate) second: Vec<f32>,
    /// The parameters of the best validation; empty before there is one.
    pub(crate) best: Vec<f32>,
}

/// Writes a checkpoint, whole or not at all.
pub(crate) fn save(path: &Path, state: &State, numbers: [(&str, &[f32]); 4]) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::failed("writing a checkpoint", error);
    let header = serde_json::to_string(state).map_err(|error| failed(&error))?;
    let bytes: Vec<(&str, Vec<u8>)> = numbers
        .iter()
        .map(|(name, numbers)| (*name, numbers.iter().flat_map(|x| x.to_le_bytes()).collect()))
        .collect();
    let views = bytes.iter().map(|(name, bytes)| {
        TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes).map(|view| (*name, view))
    });
    let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
    let info = HashMap::from([(FIELD.to_owned(), header)]);
    let data = safetensors::serialize(views, Some(info)).map_err(|error| failed(&error))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let io = |error: std::io::Error| Error::io("writing", path, &error);
    std::fs::create_dir_all(folder).map_err(io)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    file.write_all(&data).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    file.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

/// Reads the checkpoint at `path`, if there is one, which must belong to the run with this fingerprint.
pub(crate) fn load(path: &Path, fingerprint: &str, parameters: usize) -> Result<Option<Checkpoint>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("reading", path, &error)),
    };
    let damaged = |message: String| -> Error {
        let message = format!("{message}; delete it to begin again");
        InternalError::Damaged { path: path.display().to_string(), message }.into()
    };
    let (_, info) = SafeTensors::read_metadata(&bytes).map_err(|error| damaged(error.to_string()))?;
    let header = info.metadata().as_ref().and_then(|fields| fields.get(FIELD));
    let header = header.ok_or_else(|| damaged("not a checkpoint of a training run".to_owned()))?;
    let state: State = serde_json::from_str(header).map_err(|error| damaged(error.to_string()))?;
    if state.fingerprint != fingerprint {
        return Err(Error::invalid(
            format!("the checkpoint {}", path.display()),
            "it belongs to a run with another configuration or other data: name another file, or delete it",
        ));
    }
    let file = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let numbers = |name: &str| -> Result<Vec<f32>> {
        let view = file.tensor(name).map_err(|error| damaged(error.to_string()))?;
        let numbers: Vec<f32> =
            view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if numbers.len() == parameters || (name == "best" && numbers.is_empty()) {
            Ok(numbers)
        } else {
            Err(damaged(format!("`{name}` holds {} numbers, not {parameters}", numbers.len())))
        }
    };
    Ok(Some(Checkpoint {
        values: numbers("values")?,
        first: numbers("first")?,
        second: numbers("second")?,
        best: numbers("best")?,
        state,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_comes_back_and_a_foreign_or_torn_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/state.safetensors");
        assert_eq!(load(&path, "a", 2).unwrap(), None);
        let state = State { fingerprint: "a".to_owned(), step: 7, loss: Some(0.1), ..State::default() };
        let numbers: [(&str, &[f32]); 4] =
            [("values", &[1.0, 2.0]), ("first", &[3.0, 4.0]), ("second", &[5.0, 6.0]), ("best", &[])];
        save(&path, &state, numbers).unwrap();
        let read = load(&path, "a", 2).unwrap().unwrap();
        assert_eq!((read.state, read.values, read.second), (state, vec![1.0, 2.0], vec![5.0, 6.0]));
        assert_eq!(load(&path, "b", 2).unwrap_err().code(), "invalid_input");
        assert_eq!(load(&path, "a", 3).unwrap_err().code(), "damaged");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, whole.get(..whole.len() - 3).unwrap()).unwrap();
        assert_eq!(load(&path, "a", 2).unwrap_err().code(), "damaged");
    }
}
