//! The model as the rest of the engine sees it. Requests wait in a queue and are worked off one at a time by a thread of
//! the model's own, which computes on a pool of its own: neither an async runtime nor other work is held up.

use std::path::Path;
use std::sync::mpsc;

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Error, InternalError, LanguageModel,
    Result, ScoreRequest,
};
use tokio::sync::oneshot;

use crate::GgufOptions;
use crate::engine::Engine;
use crate::file::GgufFile;
use crate::model::Stop;

enum Job {
    Complete(CompletionRequest, oneshot::Sender<Result<Completion>>),
    Score(ScoreRequest, oneshot::Sender<Result<Vec<ContinuationScore>>>),
}

/// A language model in a GGUF file, run in this process.
///
/// Requests are worked off one at a time, in the order they come. A request whose future is dropped is not begun, or
/// stops within a layer of the pass under way. Structured output is not offered: a schema is ignored. Without a
/// temperature the likeliest token is taken each time; with one, the same seed draws the same tokens. Probabilities of
/// tokens are those of the model itself, before temperature and `top_p`.
#[derive(Debug)]
pub struct GgufModel {
    identity: String,
    context_tokens: u32,
    jobs: mpsc::Sender<Job>,
}

impl GgufModel {
    /// Opens a model. Reads the vocabulary and maps the weights, which takes some tenths of a second: call it where
    /// blocking is allowed.
    ///
    /// # Errors
    /// A file that is missing, damaged or cut off, an architecture, quantisation or tokenizer that is not supported: the
    /// message names the file and what is supported.
    pub fn open(path: impl AsRef<Path>, options: &GgufOptions) -> Result<Self> {
        let file = GgufFile::open(path.as_ref())?;
        let mut engine = Engine::load(&file, options)?;
        let identity = format!("gguf:{}:{}:{}", engine.architecture(), engine.name(), file.fingerprint());
        let context_tokens = u32::try_from(engine.context()).unwrap_or(u32::MAX);
        let threads = options
            .threads
            .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
            .unwrap_or(1)
            .max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("gguf-{i}"))
            .build()
            .map_err(|e| Error::failed("GGUF model", format!("no threads could be started: {e}")))?;
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("gguf".to_owned())
            .spawn(move || {
                // The loop ends when the last handle to the model is gone.
                while let Ok(job) = queue.recv() {
                    pool.install(|| run(&mut engine, job));
                }
            })
            .map_err(|e| Error::failed("GGUF model", format!("no thread could be started: {e}")))?;
        tracing::debug!(model = %identity, threads, "opened a GGUF model");
        Ok(Self { identity, context_tokens, jobs })
    }

    async fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T>>) -> Job) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let gone = || InternalError::Failed {
            context: "GGUF model",
            message: "its thread has ended after a failure; open the model again".to_owned(),
        };
        self.jobs.send(job(sender)).map_err(|_| gone())?;
        receiver.await.map_err(|_| gone())?
    }
}

fn run(engine: &mut Engine, job: Job) {
    match job {
        Job::Complete(request, reply) if !reply.is_closed() => {
            let result = engine.complete(&request, &Waiting(&reply));
            let _ = reply.send(result);
        }
        Job::Score(request, reply) if !reply.is_closed() => {
            let result = engine.score(&request, &Waiting(&reply));
            let _ = reply.send(result);
        }
        _ => {}
    }
}

/// Whether somebody still waits for the answer.
struct Waiting<'a, T>(&'a oneshot::Sender<T>);

impl<T> Stop for Waiting<'_, T> {
    fn stopped(&self) -> bool {
        self.0.is_closed()
    }
}

#[async_trait]
impl LanguageModel for GgufModel {
    /// The architecture, the model's own name, and a digest of its header and of samples of every tensor, so that other
    /// weights never share a cache key.
    fn identity(&self) -> &str {
        &self.identity
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            schema: false,
            logprobs: true,
            score: true,
            local: true,
            context_tokens: Some(self.context_tokens),
        }
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        self.ask(|reply| Job::Complete(request.clone(), reply)).await
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        self.ask(|reply| Job::Score(request.clone(), reply)).await
    }
}
