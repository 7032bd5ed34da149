//! The program under test, and a model server for it.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod mock;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use mock::MockModel;

/// The program, with a home of its own and nothing of the user's environment that could change what it does.
pub(crate) struct Program {
    pub(crate) home: tempfile::TempDir,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    /// A program whose store holds the base encoder, lent from the user's; `None`, said aloud, where that is not at hand.
    pub(crate) fn with_encoder() -> Option<Self> {
        const ENCODER: &str = "all-MiniLM-L6-v2";
        let home = std::env::var_os("COUNTERPROOF_HOME").map(PathBuf::from).or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
            Some(cache.join("counterproof"))
        })?;
        let folder = home.join("models").join(ENCODER);
        if !folder.join("model.safetensors").is_file() {
            println!("skipped: needs the weights of {ENCODER} (counterproof models pull {ENCODER})");
            return None;
        }
        let program = Self::new();
        let own = program.path("home").join("models").join(ENCODER);
        std::fs::create_dir_all(&own).unwrap();
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), own.join(file.file_name())).unwrap();
            }
        }
        Some(program)
    }

    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_counterproof"));
        command.args(args).current_dir(self.home.path());
        for name in [
            "COUNTERPROOF_MODEL",
            "COUNTERPROOF_INDEX",
            "COUNTERPROOF_CONFIG",
            "RUST_LOG",
            "HF_HOME",
            "OPENAI_API_KEY",
        ] {
            command.env_remove(name);
        }
        command.env("COUNTERPROOF_HOME", self.home.path().join("home")).env("COLUMNS", "100");
        command
    }

    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Run {
        Run::from(self.command(args).stdin(std::process::Stdio::null()).output().unwrap())
    }

    /// Runs with `input` on standard input.
    pub(crate) fn run_with<S: AsRef<std::ffi::OsStr>>(&self, args: &[S], input: &[u8]) -> Run {
        let mut child = self
            .command(args)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(input);
        Run::from(child.wait_with_output().unwrap())
    }

    /// Writes a file in the folder the program runs in.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// JSON lines of a file.
pub(crate) fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is torn");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) const LABORATORY: &str = r#"{"id": "lab", "title": "Laboratory", "text": "The laboratory was founded in 1913. It stands by the river."}
{"id": "obs", "title": "Observatory", "text": "The observatory on the hill was opened in 1889."}
{"id": "lib", "title": "Library", "text": "The library holds two million books."}
"#;
