//! Where the store lies and whom it asks.

use std::path::PathBuf;

use counterproof_core::{Result, UserError};
use etcetera::BaseStrategy;

use super::hub::HubSettings;
use crate::secrets::Secret;

/// Where the store lies and whom it asks.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// The folder of the store.
    pub root: PathBuf,
    /// The model hub.
    pub hub: HubSettings,
    /// The Python program whose pip fetches packages.
    pub python: String,
}

impl StoreSettings {
    /// As the environment says: `COUNTERPROOF_HOME` (else `counterproof` in the user's cache folder), `HF_ENDPOINT`,
    /// `HF_TOKEN`, `HF_HUB_CACHE` or `HF_HOME`, `HF_HUB_OFFLINE`.
    ///
    /// # Errors
    /// When there is neither `COUNTERPROOF_HOME` nor a home folder.
    pub fn from_env() -> Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let text = |name: &str| variable(name).and_then(|v| v.into_string().ok());
        let base = etcetera::choose_base_strategy().ok();
        let cache = base.as_ref().map(|b| b.cache_dir());
        let root = match (variable("COUNTERPROOF_HOME"), &cache) {
            (Some(home), _) => PathBuf::from(home),
            (None, Some(cache)) => cache.join("counterproof"),
            (None, None) => {
                return Err(UserError::NotFound {
                    what: "a folder for models".to_owned(),
                    hint: "there is no home folder; set COUNTERPROOF_HOME to a folder that can be written"
                        .to_owned(),
                }
                .into());
            }
        };
        let hub_cache = variable("HF_HUB_CACHE")
            .map(PathBuf::from)
            .or_else(|| variable("HF_HOME").map(|home| PathBuf::from(home).join("hub")))
            .or_else(|| cache.map(|cache| cache.join("huggingface").join("hub")));
        let hub = HubSettings {
            endpoint: text("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned()),
            token: Secret::from_env("HF_TOKEN"),
            cache: hub_cache,
            offline: text("HF_HUB_OFFLINE")
                .is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "1" | "on" | "yes" | "true")),
        };
        let python = text("COUNTERPROOF_PYTHON").unwrap_or_else(|| "python3".to_owned());
        Ok(Self { root, hub, python })
    }
}
