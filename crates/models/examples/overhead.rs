//! What asking costs on our side: a mock HTTP model that takes 50 ms, N requests under a concurrency limit, through
//! every wrapper. Prints the CPU time a request (of this process, without the mock, which runs in a child process) and
//! the share of the throughput that the limit allows.
//!
//! `cargo run --release -p counterproof-models --example overhead -- [REQUESTS] [CONCURRENCY]`

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterproof_core::{CompletionRequest, LanguageModel, Message, Sampling};
use counterproof_models::cache::{Cached, ReplyCache};
use counterproof_models::openai::{OpenAiConfig, OpenAiModel};
use counterproof_models::policy::{Governed, Policy};
use counterproof_models::usage::{Ledger, Metered};
use futures::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const LATENCY: Duration = Duration::from_millis(50);

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let runtime = tokio::runtime::Runtime::new()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "--serve") {
        return runtime.block_on(serve());
    }
    let number = |i: usize, default: usize| arguments.get(i).map_or(Ok(default), |a| a.parse());
    let (requests, concurrency) = (number(0, 2000)?, number(1, 16)?);
    let mut child = Command::new(std::env::current_exe()?).arg("--serve").stdout(Stdio::piped()).spawn()?;
    let mut address = String::new();
    std::io::BufReader::new(child.stdout.take().ok_or("no output of the mock")?).read_line(&mut address)?;
    let result = runtime.block_on(measure(address.trim(), requests, concurrency));
    child.kill()?;
    child.wait()?;
    result
}

async fn measure(address: &str, requests: usize, concurrency: usize) -> Result<(), AnyError> {
    let folder = tempfile::tempdir()?;
    let model = Arc::new(OpenAiModel::new(OpenAiConfig::at(&format!("http://{address}/v1"), "mock"))?);
    let policy = Policy { max_concurrent: concurrency, ..Policy::default() };
    let governed = Arc::new(Governed::new(model, policy)?);
    let cached = Arc::new(Cached::new(governed, ReplyCache::open(folder.path().join("replies.sqlite"))?));
    let metered = Metered::new(cached, Arc::new(Ledger::new()), None);
    let ask = |i: usize| CompletionRequest {
        stage: "gate".to_owned(),
        messages: vec![Message::user(format!("{i} {}", "evidence of some length ".repeat(150)))],
        sampling: Sampling::greedy(100),
        ..CompletionRequest::default()
    };
    for (name, first) in [("warm up", 1_000_000), ("cold cache", 0), ("warm cache", 0)] {
        let count = if name == "warm up" { concurrency * 2 } else { requests };
        let (start, cpu) = (Instant::now(), cpu_time()?);
        let metered = &metered;
        let replies = futures::stream::iter(first..first + count)
            .map(|i| async move { metered.complete(&ask(i)).await })
            // A few more than may be under way, so that a reply being written leaves no slot idle.
            .buffer_unordered(concurrency * 2)
            .collect::<Vec<_>>()
            .await;
        let failed = replies.iter().filter(|r| r.is_err()).count();
        let wall = start.elapsed().as_secs_f64();
        let cpu_ms = (cpu_time()? - cpu) * 1000.0 / count as f64;
        let ideal = count.div_ceil(concurrency) as f64 * LATENCY.as_secs_f64();
        let share = 100.0 * ideal / wall;
        match name {
            "warm up" => {}
            "cold cache" => println!(
                "{name}: {count} requests, concurrency {concurrency}, {failed} failed: {cpu_ms:.3} ms CPU a request, {wall:.2} s for {ideal:.2} s ({share:.1} % of the throughput allowed)"
            ),
            _ => println!(
                "{name}: {count} requests, {failed} failed: {cpu_ms:.3} ms CPU a request, {wall:.2} s"
            ),
        }
    }
    Ok(())
}

/// Seconds of CPU that this process has used, from Linux's accounting.
fn cpu_time() -> Result<f64, AnyError> {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |i: usize| fields.get(i).ok_or("no CPU time").and_then(|f| f.parse::<f64>().map_err(|_| "no number"));
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// The mock: answers every request after the latency, over connections that stay open.
async fn serve() -> Result<(), AnyError> {
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (mut stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            let mut seen = Vec::new();
            while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                seen.extend_from_slice(buffer.get(..n).unwrap_or_default());
                let Some(length) = request_length(&seen).filter(|l| *l <= seen.len()) else { continue };
                seen.drain(..length);
                tokio::time::sleep(LATENCY).await;
                let body = r#"{"model":"mock","choices":[{"message":{"content":"DECISION: KEEP\nANSWER: 1912\nEVIDENCE: NONE"},"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":12}}"#;
                let reply = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                if stream.write_all(reply.as_bytes()).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Bytes of the request at the head of what was read, when its head is whole.
fn request_length(seen: &[u8]) -> Option<usize> {
    let head = seen.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(seen.get(..head)?).to_lowercase();
    let length =
        text.lines().find_map(|l| l.strip_prefix("content-length:"))?.trim().parse::<usize>().ok()?;
    Some(head + length)
}
