//! What several test files need.

use std::path::PathBuf;

use counterproof::models::store::ModelStore;

/// The folder of the base encoder; `None`, said aloud, where its weights are not at hand.
pub(crate) fn base_encoder() -> Option<PathBuf> {
    let dir = match std::env::var_os("COUNTERPROOF_MODEL_DIR") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => ModelStore::open().and_then(|store| store.path("all-MiniLM-L6-v2")).ok(),
    };
    let dir = dir.filter(|dir| dir.join("model.safetensors").is_file());
    if dir.is_none() {
        println!(
            "skipped: needs the weights of all-MiniLM-L6-v2 (counterproof models pull all-MiniLM-L6-v2)"
        );
    }
    dir
}
