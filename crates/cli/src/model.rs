//! From a name to a model that is ready to be asked: under the policy, with the replies kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof::models::cache::{Cached, ReplyCache};
use counterproof::models::policy::{Governed, Policy};
use counterproof::models::recorded::Recorder;
use counterproof::models::spec::{EndpointSettings, ModelSpec};
use counterproof::{Error, LanguageModel, Price, Result, UserError};

use crate::args::ModelArgs;
use crate::context::Context;

/// The model that is taken where none is named and it is here.
pub(crate) const TINY_MODEL: &str = "smollm2-135m-instruct";

/// A model, ready to be asked.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) model: Arc<dyn LanguageModel>,
    /// What it charges, when that is known.
    pub(crate) price: Option<Price>,
    /// How many calls it is good for at the same time.
    pub(crate) concurrency: usize,
}

impl Model {
    /// The model that the flags, the environment or the settings name.
    ///
    /// # Errors
    /// When no model is named, or the one named cannot be had; the message says what can.
    pub(crate) async fn open(args: &ModelArgs, context: &Context) -> Result<Self> {
        let name = match args.model.as_deref().or(context.config.model.as_deref()) {
            Some(name) => name.to_owned(),
            None => usual(context)?,
        };
        let configured = context.config.models.get(&name);
        let spec: ModelSpec = match configured {
            Some(model) => model.spec.parse()?,
            None => name.parse().map_err(|error| with_known_names(error, context))?,
        };
        let settings = configured.map(|m| m.endpoint()).unwrap_or_default();
        let mut policy =
            configured.and_then(|m| m.policy.clone()).unwrap_or_else(|| context.config.policy.clone());
        policy.price = configured.and_then(|m| m.price).or(policy.price);
        let cache = context.config.cache.enabled && !args.no_cache && args.record.is_none();
        Self::build(&spec, &settings, policy, cache, args.record.as_deref(), context).await
    }

    async fn build(
        spec: &ModelSpec,
        settings: &EndpointSettings,
        policy: Policy,
        cache: bool,
        record: Option<&Path>,
        context: &Context,
    ) -> Result<Self> {
        let mut model: Arc<dyn LanguageModel> = match spec {
            ModelSpec::Gguf { path } => gguf(path, context).await?,
            spec => spec.build(settings)?,
        };
        if let Some(record) = record {
            let variables: Vec<&str> = settings.api_key_env.as_deref().into_iter().collect();
            model = Arc::new(Recorder::new(model, record, &variables)?);
        }
        let local = model.capabilities().local;
        let (price, concurrency) = (policy.price, if local { 1 } else { policy.max_concurrent });
        if !local {
            model = Arc::new(Governed::new(model, policy)?);
        }
        if cache && !matches!(spec, ModelSpec::Recorded { .. }) {
            let file = match &context.config.cache.file {
                Some(file) => file.clone(),
                None => context.store()?.root().join("replies.sqlite"),
            };
            let opened = tokio::task::spawn_blocking(move || ReplyCache::open(file)).await;
            let cache = opened.map_err(|e| Error::failed("opening the reply cache", e))??;
            model = Arc::new(Cached::new(model, cache));
        }
        Ok(Self { model, price, concurrency })
    }

    /// Its identity, as it stands in traces.
    pub(crate) fn name(&self) -> &str {
        self.model.identity()
    }

    /// Its name for people: without the digest of its weights.
    pub(crate) fn short_name(&self) -> &str {
        let name = self.name();
        let digest = |tail: &str| tail.len() == 64 && tail.bytes().all(|b| b.is_ascii_hexdigit());
        match name.rsplit_once(':') {
            Some((head, tail)) if digest(tail) => head,
            _ => name,
        }
    }
}

/// The model for a person who named none.
fn usual(context: &Context) -> Result<String> {
    if cfg!(feature = "gguf") && context.store()?.path(TINY_MODEL).is_ok() {
        context
            .note(&format!("no model was named: taking the tiny {TINY_MODEL}; a larger one decides better"));
        return Ok(format!("gguf:{TINY_MODEL}"));
    }
    Err(UserError::NotFound {
        what: "a model to ask".to_owned(),
        hint:
            "give --model openai:NAME, anthropic:NAME, http://HOST/v1#NAME or gguf:FILE, or set `model` in \
               counterproof.toml"
                .to_owned(),
    }
    .into())
}

fn with_known_names(error: Error, context: &Context) -> Error {
    let names: Vec<&str> = context.config.models.keys().map(String::as_str).collect();
    match error {
        Error::User(UserError::Invalid { what, problem }) if !names.is_empty() => {
            Error::invalid(what, format!("{problem}; or a name from the settings: {}", names.join(", ")))
        }
        error => error,
    }
}

/// The file that a GGUF model's name means: a path, or a name of the store.
#[cfg(feature = "gguf")]
fn gguf_file(path: &Path, context: &Context) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let store = context.store()?;
    match path.to_str().filter(|name| store.manifest().get(name).is_ok()) {
        Some(name) => store.single_file(name),
        None => Err(UserError::NotFound {
            what: format!("the model file {}", path.display()),
            hint: "give a .gguf file that exists, or a name of `counterproof models list`".to_owned(),
        }
        .into()),
    }
}

#[cfg(feature = "gguf")]
async fn gguf(path: &Path, context: &Context) -> Result<Arc<dyn LanguageModel>> {
    use counterproof::gguf::{GgufModel, GgufOptions};

    let file: PathBuf = gguf_file(path, context)?;
    let opened = tokio::task::spawn_blocking(move || GgufModel::open(file, &GgufOptions::default())).await;
    Ok(Arc::new(opened.map_err(|e| Error::failed("loading the model", e))??))
}

#[cfg(not(feature = "gguf"))]
async fn gguf(path: &Path, _: &Context) -> Result<Arc<dyn LanguageModel>> {
    ModelSpec::Gguf { path: PathBuf::from(path) }.build(&EndpointSettings::default())
}
