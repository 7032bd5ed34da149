//! `counterproof.toml`. Environment variables go before it, and flags before those.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use counterproof::methods::answers::AnswersConfig;
use counterproof::methods::check::CheckConfig;
use counterproof::methods::repair::RepairConfig;
use counterproof::models::policy::Policy;
use counterproof::models::spec::EndpointSettings;
use counterproof::{Error, Limits, Price, Result, UserError};
use serde::Deserialize;

/// The file that is read where none is named.
const USUAL_NAME: &str = "counterproof.toml";

/// Everything that can be set. `examples/counterproof.toml` shows each key.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The model: one of `models`, or anything `--model` takes.
    pub(crate) model: Option<String>,
    /// The index to search.
    pub(crate) index: Option<PathBuf>,
    /// The encoder the index was built with.
    pub(crate) encoder: Option<String>,
    /// The weight of words against meaning.
    pub(crate) alpha: Option<f64>,
    /// BM25: how fast a repeated word stops counting.
    pub(crate) k1: Option<f32>,
    /// BM25: how much the length of a passage counts.
    pub(crate) b: Option<f32>,
    /// How `--model none` weighs reader and verifier: a file of `counterproof train calibrator`.
    pub(crate) calibration: Option<PathBuf>,
    /// How sure `check` is: a file of `counterproof train calibrator`.
    pub(crate) check_calibration: Option<PathBuf>,
    /// How `answers` weighs reader and verifier: a file of `counterproof train calibrator`.
    pub(crate) answers_calibration: Option<PathBuf>,
    /// What judges claims by evidence: what `--verifier` takes.
    pub(crate) verifier: Option<String>,
    /// Models by names of one's own.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// How models are asked: retries, limits, budget.
    pub(crate) policy: Policy,
    /// Replies that are kept.
    pub(crate) cache: CacheConfig,
    /// The parameters of `repair`.
    pub(crate) repair: RepairConfig,
    /// The parameters of `check`.
    pub(crate) check: CheckConfig,
    /// The parameters of `answers`.
    pub(crate) answers: AnswersConfig,
    /// Bounds on every input.
    pub(crate) limits: Limits,
}

/// A model by a name of one's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelConfig {
    /// What `--model` would take: `openai:NAME`, `anthropic:NAME`, `http://HOST/v1#NAME`, `gguf:FILE`.
    pub(crate) spec: String,
    /// The address of the server, for an `openai:` or `anthropic:` model that is served elsewhere.
    base_url: Option<String>,
    /// The environment variable that holds the key. The key itself never stands in this file.
    api_key_env: Option<String>,
    /// Tokens that prompt and reply may have together.
    context_tokens: Option<u32>,
    /// Seconds that one request may take at the very most.
    hard_timeout_s: Option<u64>,
    /// What it charges, in US dollars a million tokens.
    pub(crate) price: Option<Price>,
    /// How it is asked, in place of the policy for all.
    pub(crate) policy: Option<Policy>,
}

impl ModelConfig {
    /// What the spec does not say about the endpoint.
    pub(crate) fn endpoint(&self) -> EndpointSettings {
        EndpointSettings {
            base_url: self.base_url.clone(),
            api_key_env: self.api_key_env.clone(),
            context_tokens: self.context_tokens,
            hard_timeout_s: self.hard_timeout_s,
        }
    }
}

/// Replies that are kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CacheConfig {
    /// Whether replies are kept and used again.
    pub(crate) enabled: bool,
    /// Where they are kept, in place of the store's folder.
    pub(crate) file: Option<PathBuf>,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { enabled: true, file: None }
    }
}

impl Config {
    /// Reads `path`, or the usual file of the current folder if there is one.
    ///
    /// # Errors
    /// When the file that was named is not there, or says something that is not understood; a key that is unknown is
    /// answered with the nearest one.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self> {
        let (path, named) = match path {
            Some(path) => (path, true),
            None => (Path::new(USUAL_NAME), false),
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !named => return Ok(Self::default()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(UserError::NotFound {
                    what: format!("the settings {}", path.display()),
                    hint: "name a file that exists, or leave --config out".to_owned(),
                }
                .into());
            }
            Err(e) => return Err(Error::io("reading", path, &e)),
        };
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut config: Self = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
            let place = match line {
                Some(line) => format!("{}, line {line}", path.display()),
                None => path.display().to_string(),
            };
            Error::invalid(place, explain(e.message()))
        })?;
        // Paths in the file are meant from where the file lies.
        let folder = path.parent().unwrap_or(Path::new(""));
        let Self { index, calibration, check_calibration, answers_calibration, cache, .. } = &mut config;
        for path in [index, calibration, check_calibration, answers_calibration, &mut cache.file]
            .into_iter()
            .flatten()
        {
            *path = folder.join(&*path);
        }
        if let Some(alpha) = config.alpha.filter(|a| !(0.0..=1.0).contains(a)) {
            return Err(Error::invalid(
                path.display().to_string(),
                format!("alpha = {alpha} is not between 0 and 1"),
            ));
        }
        Ok(config)
    }
}

/// Puts an error of the parser into words, and names the known key that is nearest to an unknown one.
fn explain(message: &str) -> String {
    let message = message.trim();
    let Some(rest) = message.strip_prefix("unknown field ") else { return message.to_owned() };
    let mut names = rest.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next() else { return message.to_owned() };
    let known: Vec<&str> = names.collect();
    let nearest = known
        .iter()
        .map(|name| (likeness(unknown, name), *name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, name)) => format!("there is no key {unknown}; did you mean {name}?"),
        None => format!("there is no key {unknown} here; the keys are {}", known.join(", ")),
    }
}

/// How alike two keys are, from 0 to 1. Jaro-Winkler sees a slip in a long name, the edit distance one in a short name.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b).max(strsim::normalized_damerau_levenshtein(a, b) + 0.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, Path::new("counterproof.toml")).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest_one() {
        assert_eq!(
            error("modle = \"x\""),
            "counterproof.toml, line 1: there is no key modle; did you mean model?"
        );
        let told = error("[models.gpt]\nspec = \"openai:gpt-5\"\nbase-url = \"x\"");
        assert_eq!(told, "counterproof.toml, line 3: there is no key base-url; did you mean base_url?");
        assert!(error("[repair]\nkr = 3").contains("did you mean k_r?"));
        assert!(error("colour = 1").contains("the keys are model, index"));
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_by_its_line() {
        assert!(error("\n\nalpha = \"half\"").starts_with("counterproof.toml, line 3: "));
        assert!(error("alpha = 2.0").contains("between 0 and 1"));
    }

    #[test]
    fn the_documented_example_is_read_whole() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/counterproof.toml");
        let config = Config::load(Some(Path::new(example))).unwrap();
        assert!(!config.models.is_empty());
        assert!(config.index.unwrap().ends_with("wiki.index"));
    }

    #[test]
    fn every_key_of_the_example_that_is_commented_out_is_one_that_is_known() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/counterproof.toml");
        let text = std::fs::read_to_string(example).unwrap();
        let all: String =
            text.lines().map(|line| format!("{}\n", line.strip_prefix("#: ").unwrap_or(line))).collect();
        assert!(all.len() < text.len(), "some keys are commented out");
        Config::parse(&all, Path::new(example)).unwrap();
    }
}
