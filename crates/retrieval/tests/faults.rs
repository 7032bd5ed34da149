//! What goes wrong with a folder on a disk: half-built, damaged, of another version, full, killed in the middle.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use common::{embedder, ids, observatory, passage};
use counterproof_core::{Embedder, Error, HashEmbedder, Passage, PassageId, Result, Retriever};
use counterproof_retrieval::index::{EmbeddedIndex, IndexBuilder};

async fn build(dir: &Path) {
    IndexBuilder::new(dir).embedder(embedder()).build_from(observatory()).await.unwrap();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Fails at the `n`th batch.
struct Failing(AtomicUsize, HashEmbedder);

#[async_trait]
impl Embedder for Failing {
    fn identity(&self) -> &str {
        self.1.identity()
    }
    fn dimension(&self) -> usize {
        self.1.dimension()
    }
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(Error::failed("embedding", "the model went away"));
        }
        self.1.embed(texts).await
    }
}

fn many(n: usize) -> Vec<Passage> {
    (0..n).map(|i| passage(&format!("m{i}"), "", &format!("many words in passage number {i}"))).collect()
}

#[tokio::test]
async fn no_index_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    for dir in [folder.path().to_owned(), folder.path().join("absent")] {
        let error = EmbeddedIndex::open(dir, None).unwrap_err();
        assert_eq!(error.code(), "not_found");
        assert!(error.to_string().contains("index build"), "{error}");
    }
}

#[tokio::test]
async fn a_build_that_fails_leaves_nothing_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    let failing = || Arc::new(Failing(AtomicUsize::new(2), HashEmbedder::new(64)));
    let error = IndexBuilder::new(&dir)
        .embedder(failing())
        .segment_rows(300)
        .build_from(many(2000))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("the model went away"), "{error}");
    assert_eq!(EmbeddedIndex::open(&dir, None).unwrap_err().code(), "not_found");

    // The folder can be built in again, and what stands there survives the next failure.
    build(&dir).await;
    let before = files(&dir);
    let failed =
        IndexBuilder::new(&dir).embedder(failing()).overwrite(true).build_from(many(2000)).await.unwrap_err();
    assert!(failed.to_string().contains("the model went away"), "{failed}");
    assert_eq!(files(&dir), before, "the disk is as it was");
    let index = EmbeddedIndex::open(&dir, Some(embedder())).unwrap();
    assert_eq!(index.len(), 6);
    assert_eq!(ids(&index.search("observatory", 1).await.unwrap()), ["obs"]);
}

#[tokio::test]
async fn a_build_that_is_cancelled_commits_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    struct Never(HashEmbedder);
    #[async_trait]
    impl Embedder for Never {
        fn identity(&self) -> &str {
            "never"
        }
        fn dimension(&self) -> usize {
            64
        }
        async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            if texts.iter().any(|t| t.contains("number 600")) {
                std::future::pending::<()>().await;
            }
            self.0.embed(texts).await
        }
    }
    let build =
        IndexBuilder::new(&dir).embedder(Arc::new(Never(HashEmbedder::new(64)))).build_from(many(1000));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(300), build).await.is_err());
    for _ in 0..100 {
        // The writer lets go of the folder soon after.
        match IndexBuilder::new(&dir).build_from(observatory()).await {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("another process"), "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(EmbeddedIndex::open(&dir, None).unwrap().len(), 6);
}

#[tokio::test]
async fn a_folder_with_other_things_is_not_built_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    for overwrite in [false, true] {
        let error =
            IndexBuilder::new(folder.path()).overwrite(overwrite).build_from(many(3)).await.unwrap_err();
        assert!(error.to_string().contains("not empty"), "{error}");
    }
    let dir = folder.path().join("ix");
    build(&dir).await;
    let error = IndexBuilder::new(&dir).build_from(many(3)).await.unwrap_err();
    assert!(error.to_string().contains("holds an index already"), "{error}");
    IndexBuilder::new(&dir).overwrite(true).build_from(many(3)).await.unwrap();
    let index = EmbeddedIndex::open(&dir, None).unwrap();
    assert_eq!((index.len(), fs::read_dir(dir.join("segments")).unwrap().count()), (3, 1));
}

#[tokio::test]
async fn another_version_and_another_embedder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir).await;
    let other: Arc<dyn Embedder> = Arc::new(HashEmbedder::new(32));
    let error = EmbeddedIndex::open(&dir, Some(other)).unwrap_err();
    assert!(error.to_string().contains("made by hash-64"), "{error}");

    let manifest = dir.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    for (from, to, message) in [
        ("\"format\": 1", "\"format\": 99", "format 99"),
        ("\"counterproof1\"", "\"counterproof0\"", "counterproof0"),
        ("\"complete\": true", "\"complete\": false", "not marked as complete"),
    ] {
        assert!(text.contains(from), "{text}");
        fs::write(&manifest, text.replace(from, to)).unwrap();
        let error = EmbeddedIndex::open(&dir, None).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("again"), "{error}");
    }
    fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    assert_eq!(EmbeddedIndex::open(&dir, None).unwrap_err().code(), "damaged");
}

#[tokio::test]
async fn a_file_that_is_cut_or_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir).await;
    let names = files(&dir.join("segments"));
    assert!(names.len() > 8, "{names:?}");
    for path in names.iter().filter(|p| p.extension().is_none_or(|e| e != "lock")) {
        let bytes = fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        let error = EmbeddedIndex::open(&dir, None).unwrap_err();
        assert!(error.code() == "damaged" && error.to_string().contains(name), "{error}");
        fs::remove_file(path).unwrap();
        let error = EmbeddedIndex::open(&dir, None).unwrap_err();
        assert!(error.code() == "damaged" && error.to_string().contains("again"), "{error}");
        fs::write(path, &bytes).unwrap();
    }
    assert!(EmbeddedIndex::open(&dir, None).is_ok());
}

#[tokio::test]
async fn changed_bytes_never_bring_the_program_down() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir).await;
    for path in files(&dir.join("segments")) {
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 24 + 1) {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            fs::write(&path, &changed).unwrap();
            if let Ok(index) = EmbeddedIndex::open(&dir, Some(embedder())) {
                let _ = index.search("observatory opened 图书馆 bridge", 10).await;
                let _ = index.get(&PassageId::new("obs"));
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    let index = EmbeddedIndex::open(&dir, Some(embedder())).unwrap();
    assert_eq!(ids(&index.search("observatory", 1).await.unwrap()), ["obs"]);
}

#[tokio::test]
async fn only_one_writes_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir).await;
    let lock = fs::File::options().write(true).open(dir.join("write.lock")).unwrap();
    lock.lock().unwrap();
    let mut index = EmbeddedIndex::open(&dir, Some(embedder())).unwrap();
    let error = index.add(many(1)).await.unwrap_err();
    assert!(error.to_string().contains("another process is writing"), "{error}");
    assert!(index.delete([&PassageId::new("obs")]).is_err());
    drop(lock);
    assert_eq!(index.add(many(1)).await.unwrap().added, 1);
}

#[tokio::test]
async fn a_failed_addition_leaves_the_index_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir).await;
    let before = (files(&dir), fs::read(dir.join("manifest.json")).unwrap());
    let failing: Arc<dyn Embedder> = Arc::new(Failing(AtomicUsize::new(0), HashEmbedder::new(64)));
    let mut index = EmbeddedIndex::open(&dir, Some(failing)).unwrap();
    assert!(index.add(many(5)).await.is_err());
    assert_eq!((files(&dir), fs::read(dir.join("manifest.json")).unwrap()), before);
    assert_eq!(index.len(), 6);
    let mut without = EmbeddedIndex::open(&dir, None).unwrap();
    let error = without.add(many(5)).await.unwrap_err();
    assert!(error.to_string().contains("hash-64"), "{error}");
}

/// Runs one of the `child_` tests of this file in a process of its own.
#[cfg(unix)]
fn child(test: &str, dir: &Path, shell: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{shell} exec \"$0\" --exact {test} --ignored --nocapture");
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap()).env("COUNTERPROOF_TEST_DIR", dir);
    command
}

#[cfg(unix)]
#[tokio::test]
async fn a_disk_that_fills_is_told_and_leaves_the_index_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    // No file may grow over 32 blocks: writing fails as it does on a full disk.
    let full = "trap '' XFSZ; ulimit -f 32;";
    let output = child("child_builds_much", &dir, full).output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("BUILD FAILED: [io]") || words.contains("BUILD FAILED: [internal]"), "{words}");
    assert!(words.contains("too large") || words.contains("os error"), "{words}");
    assert!(EmbeddedIndex::open(&dir, None).is_err());

    let _ = fs::remove_dir_all(&dir);
    build(&dir).await;
    let before = files(&dir);
    let output = child("child_builds_much", &dir, full).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("BUILD FAILED"));
    assert_eq!(files(&dir), before);
    assert_eq!(EmbeddedIndex::open(&dir, None).unwrap().len(), 6);
}

#[cfg(unix)]
#[tokio::test]
async fn a_build_that_is_killed_leaves_the_index_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("ix");
    build(&dir).await;
    for after_ms in [30, 120, 300] {
        let mut process =
            child("child_builds_slowly", &dir, "").stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(after_ms));
        process.kill().unwrap();
        process.wait().unwrap();
        let index = EmbeddedIndex::open(&dir, Some(embedder())).unwrap();
        assert_eq!(index.len(), 6);
    }
    // What the killed builds left is swept by the next writer.
    let mut index = EmbeddedIndex::open(&dir, Some(embedder())).unwrap();
    index.add(many(1)).await.unwrap();
    assert_eq!(fs::read_dir(dir.join("segments")).unwrap().count(), 2);
}

#[tokio::test]
#[ignore = "run by a test above, in a process of its own"]
async fn child_builds_much() {
    let dir = PathBuf::from(std::env::var_os("COUNTERPROOF_TEST_DIR").unwrap());
    let builder = IndexBuilder::new(dir).embedder(embedder()).overwrite(true);
    if let Err(error) = builder.build_from(many(20_000)).await {
        println!("BUILD FAILED: [{}] {error}", error.code());
    }
}

#[tokio::test]
#[ignore = "run by a test above, in a process of its own"]
async fn child_builds_slowly() {
    struct Slow(HashEmbedder);
    #[async_trait]
    impl Embedder for Slow {
        fn identity(&self) -> &str {
            self.0.identity()
        }
        fn dimension(&self) -> usize {
            self.0.dimension()
        }
        async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            self.0.embed(texts).await
        }
    }
    let dir = PathBuf::from(std::env::var_os("COUNTERPROOF_TEST_DIR").unwrap());
    let slow = Arc::new(Slow(HashEmbedder::new(64)));
    IndexBuilder::new(dir)
        .embedder(slow)
        .overwrite(true)
        .segment_rows(512)
        .build_from(many(50_000))
        .await
        .unwrap();
}
