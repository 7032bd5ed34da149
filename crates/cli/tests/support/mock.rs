//! A model server of our own.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(dead_code, reason = "each user takes a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// An OpenAI-compatible server that answers every chat request with the words `reply` gives for it.
pub(crate) struct MockModel {
    pub(crate) address: String,
    calls: Arc<AtomicU64>,
}

impl MockModel {
    /// Starts a server whose every answer takes `delay`.
    pub(crate) fn start(
        delay: Duration,
        reply: impl Fn(&str) -> Result<String, u16> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let calls = Arc::new(AtomicU64::new(0));
        let (counter, reply) = (Arc::clone(&calls), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (counter, reply) = (Arc::clone(&counter), Arc::clone(&reply));
                std::thread::spawn(move || {
                    let _ = serve(stream, delay, &counter, &*reply);
                });
            }
        });
        Self { address, calls }
    }

    /// One that lets the gate revise to 1913.
    pub(crate) fn revising(delay: Duration) -> Self {
        Self::start(delay, |_| {
            Ok("DECISION: REVISE\nANSWER: 1913\nEVIDENCE: The laboratory was founded in 1913.".into())
        })
    }

    /// The name by which `--model` takes it.
    pub(crate) fn spec(&self) -> String {
        format!("http://{}/v1#mock", self.address)
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

fn serve(
    stream: TcpStream,
    delay: Duration,
    calls: &AtomicU64,
    reply: &(dyn Fn(&str) -> Result<String, u16> + Send + Sync),
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        calls.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(delay);
        let (status, body) = match reply(&String::from_utf8_lossy(&body)) {
            Ok(text) => (
                200,
                serde_json::json!({
                    "id": "1", "object": "chat.completion", "created": 0, "model": "mock",
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
                }),
            ),
            Err(status) => (status, serde_json::json!({"error": {"message": "the mock was told to fail"}})),
        };
        let body = body.to_string();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
