//! What every command works with: the settings, the store, and where evidence comes from.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof::encoders::{BertEmbedder, EncoderOptions};
use counterproof::models::store::ModelStore;
use counterproof::retrieval::ListRetriever;
use counterproof::retrieval::corpus::{self, ReadOptions};
use counterproof::retrieval::index::{EmbeddedIndex, SearchOptions};
use counterproof::retrieval::passages::{PassageOptions, split};
use counterproof::{Embedder, Error, Limits, Passage, Result, Retriever, UserError};

use crate::args::{EvidenceArgs, GlobalArgs};
use crate::config::Config;
use crate::progress::Display;
use crate::style;

/// The encoder of the project: small, and enough to find what is meant in other words.
pub(crate) const BASE_ENCODER: &str = "all-MiniLM-L6-v2";

/// The bar that separates words from no words: an index is then searched by BM25 alone.
const NO_ENCODER: &str = "none";

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) display: Display,
    pub(crate) json: bool,
    quiet: bool,
}

impl Context {
    pub(crate) fn new(global: &GlobalArgs) -> Result<Self> {
        Ok(Self {
            config: Config::load(global.config.as_deref())?,
            display: Display::new(global.quiet),
            json: global.json,
            quiet: global.quiet,
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(crate) fn store(&self) -> Result<ModelStore> {
        ModelStore::open()
    }

    /// Tells a person something beside the result.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(
                anstream::stderr().lock(),
                "{}",
                style::paint(style::NOTE, &format!("note: {text}"))
            );
        }
    }

    /// A text that was typed, or read from standard input where `-` was.
    pub(crate) fn text(&self, typed: &str, what: &'static str, max: usize) -> Result<String> {
        if typed != "-" {
            return Ok(typed.to_owned());
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(16);
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|e| Error::io("reading", "standard input", &e))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            Error::invalid(what, format!("it is not UTF-8 at byte {}", e.utf8_error().valid_up_to()))
        })?;
        if text.contains('\0') {
            return Err(Error::invalid(what, "it holds a NUL character"));
        }
        Ok(text.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}').to_owned())
    }

    /// The encoder called `name`, if there is to be one.
    ///
    /// # Errors
    /// When it is not there, or cannot be run.
    pub(crate) async fn encoder(&self, name: Option<&str>) -> Result<Option<Arc<dyn Embedder>>> {
        let name = name.or(self.config.encoder.as_deref()).unwrap_or(BASE_ENCODER);
        if name == NO_ENCODER {
            return Ok(None);
        }
        let (dir, options) = if Path::new(name).join("config.json").is_file() {
            (PathBuf::from(name), EncoderOptions::default())
        } else {
            let options = EncoderOptions { name: Some(name.to_owned()), ..EncoderOptions::default() };
            (self.store()?.path(name)?, options)
        };
        let opened = tokio::task::spawn_blocking(move || BertEmbedder::open(dir, &options)).await;
        let embedder = opened.map_err(|e| Error::failed("loading the encoder", e))??;
        Ok(Some(Arc::new(embedder)))
    }

    /// The index in `dir`, with its encoder where it has one and that is here.
    pub(crate) async fn index(&self, dir: &Path, evidence: &EvidenceArgs) -> Result<EmbeddedIndex> {
        let alpha = evidence.alpha.or(self.config.alpha).unwrap_or(SearchOptions::default().alpha);
        let words_alone = EmbeddedIndex::open(dir, None)?;
        let embedder = if words_alone.info().embedder.is_some() && alpha < 1.0 {
            match self.encoder(evidence.encoder.as_deref()).await {
                Ok(embedder) => embedder,
                // An encoder that was asked for by name must be there; the usual one is a help.
                Err(Error::User(UserError::NotFound { hint, .. })) if evidence.encoder.is_none() => {
                    self.note(&format!("the encoder of the index is not here: {hint}"));
                    None
                }
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        let index = match embedder {
            Some(embedder) => EmbeddedIndex::open(dir, Some(embedder))?,
            None => words_alone,
        };
        let index = index
            .with_options(SearchOptions {
                alpha,
                k1: evidence.k1.or(self.config.k1),
                b: evidence.b.or(self.config.b),
                ..SearchOptions::default()
            })?
            .with_limits(self.limits().clone());
        if let Some(note) = index.mode().note() {
            self.note(note);
        }
        Ok(index)
    }

    /// Where evidence is looked for: the passages or the index that was named.
    pub(crate) async fn retriever(&self, evidence: &EvidenceArgs) -> Result<Arc<dyn Retriever>> {
        if let Some(file) = &evidence.passages {
            return Ok(Arc::new(self.passages(file).await?));
        }
        match evidence.index.as_ref().or(self.config.index.as_ref()) {
            Some(dir) => Ok(Arc::new(self.index(dir, evidence).await?)),
            None => Err(UserError::NotFound {
                what: "evidence to test the answer on".to_owned(),
                hint: "give --index DIR (made by `counterproof index build SOURCE... --out DIR`) or --passages FILE"
                    .to_owned(),
            }
            .into()),
        }
    }

    /// As [`retriever`](Self::retriever), where evidence was named at all.
    pub(crate) async fn retriever_if_named(
        &self,
        evidence: &EvidenceArgs,
    ) -> Result<Option<Arc<dyn Retriever>>> {
        match (&evidence.index, &evidence.passages, &self.config.index) {
            (None, None, None) => Ok(None),
            _ => Ok(Some(self.retriever(evidence).await?)),
        }
    }

    async fn passages(&self, file: &Path) -> Result<ListRetriever> {
        let spooled = if file == Path::new("-") { Some(spool_stdin()?) } else { None };
        let path = spooled.as_ref().map_or(file, tempfile::NamedTempFile::path).to_owned();
        let limits = self.limits().clone();
        let read = tokio::task::spawn_blocking(move || {
            let options = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
            let mut documents = corpus::open(&path, &options)?;
            let mut passages: Vec<Passage> = Vec::new();
            let mut errors = Vec::new();
            for document in documents.by_ref() {
                match document {
                    Ok(document) => passages.extend(split(&document, &PassageOptions::default())),
                    Err(error) => errors.push(error.to_string()),
                }
            }
            Ok::<_, Error>((ListRetriever::new(passages, &limits)?, errors))
        });
        let (list, errors) = read.await.map_err(|e| Error::failed("reading passages", e))??;
        for error in errors.iter().take(10) {
            self.note(error);
        }
        if errors.len() > 10 {
            self.note(&format!("{} more rows could not be read", errors.len() - 10));
        }
        if list.passages().is_empty() {
            return Err(Error::invalid(format!("passages {}", file.display()), "the file holds no passage"));
        }
        Ok(list)
    }
}

/// Standard input as a file of JSON lines, since readers may go over a file twice.
pub(crate) fn spool_stdin() -> Result<tempfile::NamedTempFile> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Error::invalid("-", "standard input is a terminal: pipe a file into it, or name a file"));
    }
    let io = |e: std::io::Error| Error::io("reading", "standard input", &e);
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().map_err(io)?;
    std::io::copy(&mut stdin.lock(), &mut file).map_err(io)?;
    file.flush().map_err(io)?;
    Ok(file)
}
