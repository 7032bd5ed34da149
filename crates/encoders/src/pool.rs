//! The threads that encoders compute on, apart from those of the async runtime.

use counterproof_core::{Error, Result};
use tokio::sync::oneshot;

/// How an encoder is loaded and run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncoderOptions {
    /// The model's name in its identity; the name of its folder if not given.
    pub name: Option<String>,
    /// Tokens of a text that are read, special tokens included; the rest is cut off. If not given, what the model's
    /// `sentence_bert_config.json` says, else 256; never more than the model has positions for.
    pub max_tokens: Option<usize>,
    /// Threads that compute; every core if not given or zero.
    pub threads: Option<usize>,
}

/// A pool of threads for arithmetic.
pub(crate) struct Pool(rayon::ThreadPool);

/// Tells a job under way that nobody waits for it any more.
pub(crate) trait Cancelled: Sync {
    fn cancelled(&self) -> bool;
}

/// A job that is always waited for.
pub(crate) struct Never;

impl Cancelled for Never {
    fn cancelled(&self) -> bool {
        false
    }
}

impl<T: Send> Cancelled for oneshot::Sender<T> {
    fn cancelled(&self) -> bool {
        self.is_closed()
    }
}

impl Pool {
    pub(crate) fn new(threads: Option<usize>) -> Result<Self> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .thread_name(|i| format!("encoder-{i}"))
            // A job that panics drops its sender, which whoever waits for it sees; rayon would end the process.
            .panic_handler(|_| tracing::error!("a job of the encoder panicked"))
            .build()
            .map(Self)
            .map_err(|error| Error::failed("starting the encoder's threads", error))
    }

    pub(crate) fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs `job` on the pool and waits for it, blocking this thread.
    pub(crate) fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        self.0.install(job)
    }

    /// Runs `job` on the pool. Dropping the future tells the job to stop at its next chance.
    pub(crate) async fn spawn<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Cancelled) -> Result<T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.0.spawn(move || {
            let result = job(&sender);
            // The receiver is gone if the future was dropped: nobody wants the result.
            let _ = sender.send(result);
        });
        receiver.await.unwrap_or_else(|_| Err(Error::failed("encoding", "the computation was abandoned")))
    }
}
