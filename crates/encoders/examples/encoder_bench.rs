//! Embeds a list of texts, judges a list of pairs or reads a list of passages for a question, again and again and says how long
//! it took: the Rust side of `scripts/bench_encoder.py`.
//!
//! `encoder_bench MODEL_DIR TEXTS.json THREADS [ADAPTER] [reader]` prints one JSON line a run on standard output, when a line
//! arrives on standard input, so that the script can let it and another runtime run in turn.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{BufRead, Write};
use std::time::Instant;

use counterproof_encoders::{BertEmbedder, BertReader, BertVerifier, EncoderOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().ok_or_else(|| format!("{what} is missing"));
    let (dir, texts, threads) = (next("MODEL_DIR")?, next("TEXTS.json")?, next("THREADS")?.parse()?);
    let adapter = next("ADAPTER").ok();
    let reads = next("reader").is_ok();
    let texts = std::fs::read(texts)?;
    let options = EncoderOptions { threads: Some(threads), ..EncoderOptions::default() };
    let start = Instant::now();
    let mut run: Box<dyn FnMut() -> counterproof_core::Result<Vec<f32>>> = match adapter {
        None => {
            let texts: Vec<String> = serde_json::from_slice(&texts)?;
            let embedder = BertEmbedder::open(dir, &options)?;
            Box::new(move || {
                let vectors = embedder.embed_blocking(&texts)?;
                Ok(vectors.first().map(|v| v.iter().take(4).copied().collect()).unwrap_or_default())
            })
        }
        // Pairs of one question with every passage.
        Some(adapter) if reads => {
            let pairs: Vec<(String, String)> = serde_json::from_slice(&texts)?;
            let (questions, passages): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
            let reader = BertReader::open(dir, adapter, &options)?;
            Box::new(move || {
                let read = reader.best_spans(&questions[0], &passages, 5)?;
                Ok(read.iter().map(|(_, none)| *none as f32).collect())
            })
        }
        Some(adapter) => {
            let pairs: Vec<(String, String)> = serde_json::from_slice(&texts)?;
            let verifier = BertVerifier::open(dir, adapter, &options)?;
            Box::new(move || Ok(verifier.logits(&pairs)?.concat()))
        }
    };
    let mut out = std::io::stdout();
    writeln!(out, "{}", serde_json::json!({"load_s": start.elapsed().as_secs_f64()}))?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let first = run()?;
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        writeln!(out, "{}", serde_json::json!({"wall_s": wall, "cpu_s": cpu, "first": first}))?;
        out.flush()?;
    }
    Ok(())
}

/// Processor time of this process in seconds, all threads together, where the system tells.
fn cpu_seconds() -> f64 {
    let mut total = 0u64;
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        total += stat.split(' ').next().and_then(|x| x.parse::<u64>().ok()).unwrap_or(0);
    }
    total as f64 / 1e9
}
