//! From a name to a model that is ready to be asked: under the policy, with the replies kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof::encoders::{BertVerifier, EncoderOptions};
use counterproof::methods::repair::{EncoderGate, GateCalibration};
use counterproof::models::cache::{Cached, ReplyCache};
use counterproof::models::policy::{Governed, Policy};
use counterproof::models::recorded::Recorder;
use counterproof::models::spec::{EndpointSettings, ModelSpec};
use counterproof::models::tei::{TeiConfig, TeiVerifier};
use counterproof::{Entailment, Error, LanguageModel, NoModel, Price, Result, SpanReader, UserError};

use crate::args::ModelArgs;
use crate::context::{BASE_ENCODER, Context};

/// The name that stands for no language model: encoders decide.
pub(crate) const NO_MODEL: &str = "none";

/// The name of the verifier that is part of the program.
const OWN_VERIFIER: &str = "own";

/// A model, ready to be asked.
#[derive(Clone)]
pub(crate) struct Model {
    /// The language model; [`NoModel`] where encoders take its place.
    pub(crate) model: Arc<dyn LanguageModel>,
    /// The reader and the verifier, where there is no language model.
    pub(crate) encoders: Option<EncoderGate>,
    /// Vetoes what the language model proposes.
    pub(crate) veto: Option<Arc<dyn Entailment>>,
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
        let what = "a reader and a verifier";
        let Some(name) = chosen(args, what, context)? else {
            if args.veto {
                return Err(asks_none("--veto"));
            }
            return Self::encoders(context).await;
        };
        let built = Self::named(&name, args, context).await?;
        let veto: Option<Arc<dyn Entailment>> =
            if args.veto { Some(verifier(None, context).await?) } else { None };
        Ok(Self { veto, ..built })
    }

    /// The language model that is named; `None` for `none`, or where none is named and `what` can do without.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) async fn language(args: &ModelArgs, what: &str, context: &Context) -> Result<Option<Self>> {
        if args.veto {
            return Err(Error::invalid("--veto", "it is about repair: here the verifier always takes part"));
        }
        match chosen(args, what, context)? {
            Some(name) => Self::named(&name, args, context).await.map(Some),
            None => Ok(None),
        }
    }

    /// The language model called `name`.
    async fn named(name: &str, args: &ModelArgs, context: &Context) -> Result<Self> {
        let configured = context.config.models.get(name);
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
        Ok(Self { model, encoders: None, veto: None, price, concurrency })
    }

    /// The reader and the verifier of the project, over the base encoder.
    pub(crate) async fn encoders(context: &Context) -> Result<Self> {
        let base = context.store()?.path(BASE_ENCODER)?;
        let opened = tokio::task::spawn_blocking(move || counterproof::own::encoder_gate(base)).await;
        let mut gate = opened.map_err(|e| Error::failed("loading the reader and the verifier", e))??;
        if let Some(file) = &context.config.calibration {
            let text = std::fs::read_to_string(file).map_err(|e| Error::io("reading", file, &e))?;
            gate = gate.with_calibration(GateCalibration::from_json(&text, &file.display().to_string())?);
        }
        Ok(Self { model: Arc::new(NoModel), encoders: Some(gate), veto: None, price: None, concurrency: 1 })
    }

    /// Its identity, as it stands in traces.
    pub(crate) fn name(&self) -> &str {
        self.model.identity()
    }

    /// Its name for people: without the digest of its weights.
    pub(crate) fn short_name(&self) -> &str {
        if self.encoders.is_some() {
            return "a reader and a verifier of the size of an encoder, without a language model";
        }
        let name = self.name();
        let digest = |tail: &str| tail.len() == 64 && tail.bytes().all(|b| b.is_ascii_hexdigit());
        match name.rsplit_once(':') {
            Some((head, tail)) if digest(tail) => head,
            _ => name,
        }
    }
}

/// What judges statements by evidence: the one called `name`, else the settings', else our own.
///
/// # Errors
/// When it is not there or cannot be run.
pub(crate) async fn verifier(name: Option<&str>, context: &Context) -> Result<Arc<dyn Entailment>> {
    let name = name.or(context.config.verifier.as_deref()).unwrap_or(OWN_VERIFIER);
    if let Some(url) = name.strip_prefix("tei:") {
        return Ok(Arc::new(TeiVerifier::new(TeiConfig::at(url))?));
    }
    let own = name == OWN_VERIFIER;
    let dir = if own { context.store()?.path(BASE_ENCODER)? } else { PathBuf::from(name) };
    if !own && !dir.join("config.json").is_file() {
        return Err(UserError::NotFound {
            what: format!("the verifier {name}"),
            hint: "give own, a folder with config.json, tokenizer.json and model.safetensors, or tei:http://HOST".to_owned(),
        }
        .into());
    }
    let open = move || match own {
        true => counterproof::own::verifier(dir),
        false => BertVerifier::open_classifier(dir, &EncoderOptions::default()),
    };
    let opened = tokio::task::spawn_blocking(open).await;
    Ok(Arc::new(opened.map_err(|e| Error::failed("loading the verifier", e))??))
}

/// The reader that is part of the program.
///
/// # Errors
/// When the base encoder is not there.
pub(crate) async fn reader(context: &Context) -> Result<Arc<dyn SpanReader>> {
    let base = context.store()?.path(BASE_ENCODER)?;
    let opened = tokio::task::spawn_blocking(move || counterproof::own::reader(base)).await;
    Ok(Arc::new(opened.map_err(|e| Error::failed("loading the reader", e))??))
}

/// The name of the model that is to be asked; `None` for no language model, where `what` decides.
fn chosen(args: &ModelArgs, what: &str, context: &Context) -> Result<Option<String>> {
    let name = args.model.as_deref().or(context.config.model.as_deref());
    if let Some(name) = name.filter(|name| *name != NO_MODEL) {
        return Ok(Some(name.to_owned()));
    }
    if args.record.is_some() {
        return Err(asks_none("--record"));
    }
    if name.is_none() {
        if context.store()?.path(BASE_ENCODER).is_err() {
            return Err(UserError::NotFound {
                what: "a model to ask".to_owned(),
                hint: format!(
                    "fetch the base encoder (`counterproof models pull {BASE_ENCODER}`) to decide without a language model, or \
                     give --model openai:NAME, anthropic:NAME, http://HOST/v1#NAME or gguf:FILE, or set `model` in \
                     counterproof.toml"
                ),
            }
            .into());
        }
        context.note(&format!("no model was named: deciding with --model none, by {what} alone"));
    }
    Ok(None)
}

fn asks_none(flag: &str) -> Error {
    Error::invalid(flag, "it is about a language model, and --model none asks none")
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
