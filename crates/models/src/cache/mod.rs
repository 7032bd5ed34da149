//! Replies that were paid for once are kept: a table in SQLite, from the digest of everything that can change a reply
//! to the reply.
//!
//! Several processes may use one file at once. A reply is written down before it is handed over, also when the caller
//! is gone by then. A file that is damaged is set aside with a warning, and a new one begun: it is a cache.

mod key;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use counterproof_core::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Error, InternalError, LanguageModel,
    Result, ScoreRequest,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use key::is_repeatable;
pub use key::{CacheKey, KEY_VERSION};

/// The version of the tables, kept in the file's `user_version`.
const FILE_VERSION: i64 = 1;

/// Marks the file as a reply cache ("cpRC").
const APPLICATION_ID: i64 = 0x6370_5243;

/// How long one process waits for another that is writing.
const BUSY: Duration = Duration::from_secs(20);

/// A file of replies.
#[derive(Debug, Clone)]
pub struct ReplyCache {
    path: Arc<PathBuf>,
    connection: Arc<Mutex<Connection>>,
}

impl ReplyCache {
    /// Opens the cache in the file at `path`, which is made when it is not there. A file that is damaged is renamed to
    /// `NAME.damaged-SECONDS` with a warning, and a new one begun.
    ///
    /// # Errors
    /// The folder cannot be made or written, or the file is a database of something else or of a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| Error::io("making the folder", folder, &e))?;
        }
        let connection = match connect(path) {
            Err(e) if is_damage(&e) => {
                let aside = set_aside(path)?;
                tracing::warn!(
                    file = %path.display(), aside = %aside.display(), error = %e,
                    "the reply cache is damaged: it was set aside and a new one begun"
                );
                connect(path)
            }
            other => other,
        };
        let connection = connection.map_err(|e| failed(path, &e))?;
        check_version(path, &connection)?;
        Ok(Self { path: Arc::new(path.to_owned()), connection: Arc::new(Mutex::new(connection)) })
    }

    /// A cache that lives as long as the value does. For tests and for runs that must leave no trace.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn in_memory() -> Result<Self> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory().and_then(|c| prepare(&c).map(|()| c));
        let connection = connection.map_err(|e| failed(path, &e))?;
        Ok(Self { path: Arc::new(path.to_owned()), connection: Arc::new(Mutex::new(connection)) })
    }

    /// How many replies are kept.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn len(&self) -> Result<u64> {
        self.run(|c| c.query_row("SELECT count(*) FROM replies", [], |row| row.get::<_, i64>(0)))
            .await
            .map(|n| u64::try_from(n).unwrap_or(0))
    }

    /// Whether no reply is kept.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.len().await? == 0)
    }

    async fn get<T: DeserializeOwned + Send + 'static>(&self, key: CacheKey) -> Result<Option<T>> {
        let text: Option<String> = self
            .run(move |c| {
                c.prepare_cached("SELECT reply FROM replies WHERE key = ?1")?
                    .query_row([key.as_bytes().as_slice()], |row| row.get(0))
                    .optional()
            })
            .await?;
        Ok(text.and_then(|text| match serde_json::from_str(&text) {
            Ok(reply) => Some(reply),
            Err(error) => {
                tracing::warn!(file = %self.path.display(), %error, "an entry of the reply cache cannot be read: asking again");
                None
            }
        }))
    }

    async fn put(&self, key: CacheKey, model: &str, reply: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(reply).map_err(|e| Error::failed("writing a reply as JSON", e))?;
        let model = model.to_owned();
        self.run(move |c| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
            c.prepare_cached(
                "INSERT OR REPLACE INTO replies (key, model, reply, made_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                key.as_bytes().as_slice(),
                model,
                text,
                i64::try_from(now).unwrap_or(i64::MAX),
            ))
        })
        .await
        .map(|_| ())
    }

    /// Runs work on the database off the runtime's threads. Once begun it is finished even if nobody waits for it.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = Arc::clone(&self.connection);
        let done = tokio::task::spawn_blocking(move || {
            work(&connection.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match done.await {
            Ok(result) => result.map_err(|e| failed(&self.path, &e)),
            Err(e) => Err(Error::failed("using the reply cache", e)),
        }
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    prepare(&connection)?;
    if pragma(&connection, "application_id")? == APPLICATION_ID
        && pragma(&connection, "user_version")? == FILE_VERSION
    {
        // Reads a page of the table, so that a file whose head alone is whole is noticed now.
        connection.query_row("SELECT count(*) FROM (SELECT 1 FROM replies LIMIT 1)", [], |_| Ok(()))?;
    }
    Ok(connection)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // Reading comes first: it fails on a file that is no database before anything is written to it.
    let application = pragma(connection, "application_id")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (application != 0 || tables > 0) {
        // Some other program's database. `check_version` says so; nothing of it is touched.
        return Ok(());
    }
    // Of several processes that begin at once each may meet another's lock here, which SQLite reports without waiting.
    for _ in 0..200 {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(e) if is_busy(&e) => std::thread::sleep(Duration::from_millis(25)),
            other => {
                other?;
                break;
            }
        }
    }
    connection.pragma_update(None, "synchronous", "normal")?;
    if application == 0 {
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             PRAGMA application_id = {APPLICATION_ID};
             PRAGMA user_version = {FILE_VERSION};
             CREATE TABLE IF NOT EXISTS replies (
                 key BLOB PRIMARY KEY NOT NULL,
                 model TEXT NOT NULL,
                 reply TEXT NOT NULL,
                 made_at INTEGER NOT NULL
             ) WITHOUT ROWID;
             COMMIT;"
        ))?;
    }
    Ok(())
}

fn check_version(path: &Path, connection: &Connection) -> Result<()> {
    let pragma = |name: &str| pragma(connection, name).map_err(|e| failed(path, &e));
    let what = || format!("reply cache {}", path.display());
    if pragma("application_id")? != APPLICATION_ID {
        return Err(Error::invalid(what(), "the file is a database of another program; name another file"));
    }
    match pragma("user_version")? {
        FILE_VERSION => Ok(()),
        version => Err(Error::invalid(
            what(),
            format!(
                "it has version {version}, this program reads {FILE_VERSION}; name another file or remove it"
            ),
        )),
    }
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        // A table or column that is missing although the file carries our mark.
        || matches!(error, rusqlite::Error::SqlInputError { .. })
}

fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.display().to_string();
    if is_damage(error) {
        let message = format!("{error}; remove the file to begin a new reply cache");
        return InternalError::Damaged { path, message }.into();
    }
    InternalError::Io { action: "using the reply cache", path, message: error.to_string() }.into()
}

/// Renames a file and what SQLite keeps beside it.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let with = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let aside = with(&format!(".damaged-{seconds}"));
    std::fs::rename(path, &aside).map_err(|e| Error::io("setting aside", path, &e))?;
    for beside in ["-wal", "-shm"] {
        // Left over from the damaged file: a new one must not read them.
        let _ = std::fs::remove_file(with(beside));
    }
    Ok(aside)
}

/// A model whose replies are kept.
///
/// A reply to a request that is drawn at random without a seed is kept only when
/// [`keeping_random`](Cached::keeping_random) asks for it: who asks such a question twice wants two answers.
#[derive(Debug)]
pub struct Cached<M: ?Sized> {
    cache: ReplyCache,
    keep_random: bool,
    inner: Arc<M>,
}

impl<M: LanguageModel + ?Sized> Cached<M> {
    /// Keeps the replies of `inner` in `cache`.
    pub fn new(inner: Arc<M>, cache: ReplyCache) -> Self {
        Self { cache, keep_random: false, inner }
    }

    /// Keeps replies that were drawn at random too, so that a run can be repeated to the byte.
    #[must_use]
    pub fn keeping_random(mut self) -> Self {
        self.keep_random = true;
        self
    }

    /// Writes a reply down. A reply that is there is worth more than its place in the cache, so that a failure to write
    /// is a warning.
    async fn keep(&self, key: CacheKey, reply: &impl Serialize) {
        if let Err(error) = self.cache.put(key, self.inner.identity(), reply).await {
            tracing::warn!(%error, "a reply could not be kept");
        }
    }
}

#[async_trait]
impl<M: LanguageModel + ?Sized> LanguageModel for Cached<M> {
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        if !(self.keep_random || is_repeatable(&request.sampling)) {
            return self.inner.complete(request).await;
        }
        let key = CacheKey::of_completion(self.inner.identity(), request);
        if let Some(reply) = self.cache.get::<Completion>(key).await? {
            return Ok(Completion { cached: true, ..reply });
        }
        let reply = self.inner.complete(request).await?;
        self.keep(key, &reply).await;
        Ok(reply)
    }

    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let key = CacheKey::of_scores(self.inner.identity(), request);
        if let Some(scores) = self.cache.get(key).await? {
            return Ok(scores);
        }
        let scores = self.inner.score(request).await?;
        self.keep(key, &scores).await;
        Ok(scores)
    }
}
