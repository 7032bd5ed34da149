//! The names by which a user says which model to ask.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use counterproof_core::{Error, LanguageModel, Result, UserError};
use serde::{Deserialize, Serialize};

use crate::anthropic::{AnthropicConfig, AnthropicModel};
use crate::openai::{OpenAiConfig, OpenAiModel};
use crate::recorded::RecordedModel;
use crate::secrets::{Secret, redact};

/// Which model is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModelSpec {
    /// `openai:NAME`: a model of OpenAI's, or of the endpoint that `OPENAI_BASE_URL` names.
    OpenAi {
        /// The model's name.
        model: String,
    },
    /// `anthropic:NAME`: a model of Anthropic's.
    Anthropic {
        /// The model's name.
        model: String,
    },
    /// `http://HOST/v1#NAME`: a model at an OpenAI-compatible endpoint.
    Endpoint {
        /// The endpoint up to and without `/chat/completions`.
        base_url: String,
        /// The model's name.
        model: String,
    },
    /// `gguf:PATH`: a GGUF file, run in this process; also the name of one in the model store.
    Gguf {
        /// The file, or the name in the store.
        path: PathBuf,
    },
    /// `recorded:FILE`: the replies of a recording.
    Recorded {
        /// The file.
        path: PathBuf,
    },
    /// `none`: no language model, encoders only.
    None,
}

impl FromStr for ModelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let wrong = |problem: &str| {
            Error::invalid(
                format!("model {:?}", redact(text, None)),
                format!(
                    "{problem}; write openai:NAME, anthropic:NAME, http://HOST/v1#NAME, gguf:PATH, recorded:FILE or none"
                ),
            )
        };
        if text == "none" {
            return Ok(Self::None);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let (base_url, model) =
                text.split_once('#').ok_or_else(|| wrong("the name of the model is missing"))?;
            if model.trim().is_empty() {
                return Err(wrong("the name of the model is missing"));
            }
            return Ok(Self::Endpoint { base_url: check_url(base_url)?, model: model.trim().to_owned() });
        }
        let (kind, rest) = text.split_once(':').ok_or_else(|| wrong("it says not where the model is"))?;
        let rest = rest.trim();
        if rest.is_empty() {
            return Err(wrong("there is nothing after the colon"));
        }
        match kind {
            "openai" => Ok(Self::OpenAi { model: rest.to_owned() }),
            "anthropic" => Ok(Self::Anthropic { model: rest.to_owned() }),
            "gguf" => Ok(Self::Gguf { path: PathBuf::from(rest) }),
            "recorded" => Ok(Self::Recorded { path: PathBuf::from(rest) }),
            _ => Err(wrong("there is no such kind of model")),
        }
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenAi { model } => write!(f, "openai:{model}"),
            Self::Anthropic { model } => write!(f, "anthropic:{model}"),
            Self::Endpoint { base_url, model } => write!(f, "{base_url}#{model}"),
            Self::Gguf { path } => write!(f, "gguf:{}", path.display()),
            Self::Recorded { path } => write!(f, "recorded:{}", path.display()),
            Self::None => f.write_str("none"),
        }
    }
}

/// What a name does not say about an endpoint: from the configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndpointSettings {
    /// The base URL, in place of the provider's own or of `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL`.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, in place of `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`. An endpoint
    /// that is named by its URL is sent a key only when this is set.
    pub api_key_env: Option<String>,
    /// Tokens that prompt and reply may have together.
    pub context_tokens: Option<u32>,
    /// Seconds that one request may take at the very most; the policy's time-out is the usual one.
    pub hard_timeout_s: Option<u64>,
}

impl EndpointSettings {
    /// The key in the variable that is configured, with the variable's name.
    fn key(&self) -> Result<Option<(Secret, String)>> {
        let Some(variable) = &self.api_key_env else { return Ok(None) };
        match Secret::from_env(variable) {
            Some(secret) => Ok(Some((secret, variable.clone()))),
            None => Err(UserError::Credentials {
                service: "the configuration".to_owned(),
                hint: format!("api_key_env names {variable}, which is not set"),
            }
            .into()),
        }
    }

    fn timeout(&self, default: Duration) -> Duration {
        self.hard_timeout_s.map_or(default, Duration::from_secs)
    }
}

impl ModelSpec {
    /// The model, for every kind that needs no more than a network or a file of text. A GGUF model is loaded by its own
    /// crate.
    ///
    /// # Errors
    /// A key is missing, a URL or file cannot be used, or the kind is `gguf` or `none`.
    pub fn build(&self, settings: &EndpointSettings) -> Result<Arc<dyn LanguageModel>> {
        match self {
            Self::OpenAi { model } => {
                let mut config = OpenAiConfig::from_env(model);
                if let Some(base_url) = &settings.base_url {
                    config.base_url = base_url.clone();
                }
                Self::open_ai(config, settings)
            }
            Self::Endpoint { base_url, model } => Self::open_ai(OpenAiConfig::at(base_url, model), settings),
            Self::Anthropic { model } => {
                let mut config = AnthropicConfig::from_env(model);
                if let Some(base_url) = &settings.base_url {
                    config.base_url = base_url.clone();
                }
                if let Some((key, variable)) = settings.key()? {
                    (config.key, config.key_variable) = (Some(key), variable);
                }
                config.timeout = settings.timeout(config.timeout);
                Ok(Arc::new(AnthropicModel::new(config)?))
            }
            Self::Recorded { path } => Ok(Arc::new(RecordedModel::open(path)?)),
            Self::Gguf { path } => Err(UserError::Unsupported {
                who: "this build".to_owned(),
                what: format!("run {}: build it with the feature gguf", path.display()),
            }
            .into()),
            Self::None => Err(UserError::Unsupported {
                who: "model \"none\"".to_owned(),
                what: "reply: name a language model".to_owned(),
            }
            .into()),
        }
    }

    fn open_ai(mut config: OpenAiConfig, settings: &EndpointSettings) -> Result<Arc<dyn LanguageModel>> {
        if let Some((key, variable)) = settings.key()? {
            (config.key, config.key_variable) = (Some(key), variable);
        }
        config.context_tokens = settings.context_tokens;
        config.timeout = settings.timeout(config.timeout);
        Ok(Arc::new(OpenAiModel::new(config)?))
    }
}

/// A base URL without its trailing slashes, and without the path of the call where somebody wrote that too.
pub(crate) fn check_url(url: &str) -> Result<String> {
    let url = url.trim();
    let parsed =
        reqwest::Url::parse(url).ok().filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
    if parsed.is_none() {
        let what = format!("base URL {:?}", redact(url, None));
        return Err(Error::invalid(what, "write it with scheme and host, such as http://localhost:11434/v1"));
    }
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix("/chat/completions").or_else(|| url.strip_suffix("/messages")).unwrap_or(url);
    Ok(url.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_name_is_read_and_written() {
        for text in [
            "openai:gpt-5",
            "openai:ft:gpt-4o:org::id",
            "anthropic:claude-sonnet-4-6",
            "http://localhost:11434/v1#qwen3",
            "https://example.org:8443/api/v1#org/model:7b",
            "gguf:models/qwen.gguf",
            "gguf:smollm2-135m",
            "recorded:tests/gate.jsonl",
            "none",
        ] {
            let spec: ModelSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let spec: ModelSpec = " http://localhost:11434/v1/#qwen3 ".parse().unwrap();
        assert_eq!(
            spec,
            ModelSpec::Endpoint { base_url: "http://localhost:11434/v1".into(), model: "qwen3".into() }
        );
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_forms() {
        for text in
            ["", "gpt-5", "openai:", "mistral:x", "http://localhost:11434/v1", "http://#m", "https://h/v1# "]
        {
            let error = text.parse::<ModelSpec>().unwrap_err();
            assert!(error.is_user(), "{text}");
        }
        let error = "gpt-5".parse::<ModelSpec>().unwrap_err().to_string();
        assert!(error.contains("openai:NAME"), "{error}");
        let error = "https://me:hunter2@h/v1".parse::<ModelSpec>().unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn what_cannot_be_built_says_why() {
        let build = |text: &str, settings: &EndpointSettings| {
            text.parse::<ModelSpec>()
                .unwrap()
                .build(settings)
                .err()
                .map(|e| e.to_string())
                .unwrap_or_default()
        };
        let none = EndpointSettings::default();
        assert!(build("gguf:x.gguf", &none).contains("feature gguf"));
        assert!(build("none", &none).contains("name a language model"));
        let unset = EndpointSettings { api_key_env: Some("COUNTERPROOF_NO_SUCH_KEY".into()), ..none.clone() };
        assert!(build("http://localhost:1/v1#m", &unset).contains("COUNTERPROOF_NO_SUCH_KEY"));
        assert_eq!(build("http://localhost:1/v1#m", &none), "");
    }
}
