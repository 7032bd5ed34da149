//! Asks a GGUF model something and says how fast it was.
//!
//! ```text
//! cargo run --release -p counterproof-gguf --example gguf_chat -- MODEL.gguf "What is the capital of France?" \
//!     [--score ANSWER]... [--system TEXT] [--begin TEXT] [--max-tokens N] [--threads N] [--temperature T] [--seed N]
//!     [--chunk N] [--repeat-prompt N]
//! ```
//! `--score` compares given answers instead of writing one; `--repeat-prompt` says the question so many times, to measure
//! long prompts.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::error::Error;
use std::time::Instant;

use counterproof_core::{CompletionRequest, Continuation, LanguageModel, Message, Sampling, ScoreRequest};
use counterproof_gguf::{GgufModel, GgufOptions};

#[derive(Default)]
struct Arguments {
    model: String,
    messages: Vec<Message>,
    scored: Vec<Continuation>,
    sampling: Sampling,
    options: GgufOptions,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: gguf_chat MODEL.gguf QUESTION [options]";
    let model = args.next().ok_or(usage)?;
    let mut question = args.next().ok_or(usage)?;
    let (mut system, mut begin) = (None, None);
    let mut all = Arguments { model, sampling: Sampling::greedy(128), ..Arguments::default() };
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--score" => all.scored.push(Continuation(value)),
            "--system" => system = Some(value),
            "--begin" => begin = Some(value),
            "--max-tokens" => all.sampling.max_tokens = Some(value.parse()?),
            "--temperature" => all.sampling.temperature = Some(value.parse()?),
            "--seed" => all.sampling.seed = Some(value.parse()?),
            "--threads" => all.options.threads = Some(value.parse()?),
            "--chunk" => all.options.prefill_chunk = value.parse()?,
            "--repeat-prompt" => question = vec![question; value.parse()?].join(" "),
            other => return Err(format!("unknown option {other}; {usage}").into()),
        }
    }
    all.messages.extend(system.map(Message::system));
    all.messages.push(Message::user(question));
    all.messages.extend(begin.map(Message::assistant));
    Ok(all)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { model, messages, scored, sampling, options } = arguments()?;
    let start = Instant::now();
    let model = GgufModel::open(model, &options)?;
    println!("{}\nopened in {:.2} s", model.identity(), start.elapsed().as_secs_f64());

    if !scored.is_empty() {
        let start = Instant::now();
        let request = ScoreRequest { messages, continuations: scored, ..ScoreRequest::default() };
        let scores = model.score(&request).await?;
        for (continuation, score) in request.continuations.iter().zip(&scores) {
            let tokens: Vec<_> =
                score.tokens.iter().map(|t| format!("{:?} {:.3}", t.token, t.logprob)).collect();
            println!(
                "{:?}: total {:.4}, mean {:.4} ({})",
                continuation.0,
                score.total(),
                score.mean(),
                tokens.join(", ")
            );
        }
        println!("scored in {:.2} s", start.elapsed().as_secs_f64());
        return Ok(());
    }

    // One token first: the time to it is the time to read the prompt.
    let mut request =
        CompletionRequest { messages, sampling: Sampling::greedy(1), ..CompletionRequest::default() };
    let start = Instant::now();
    let first = model.complete(&request).await?;
    let prefill = start.elapsed().as_secs_f64();
    request.sampling = sampling;
    let start = Instant::now();
    let reply = model.complete(&request).await?;
    let decode = start.elapsed().as_secs_f64();
    println!("{}\n[{:?}]", reply.text, reply.finish);
    let (read, written) = (first.usage.tokens_in.0, reply.usage.tokens_out.0);
    println!("prompt: {read} tokens in {prefill:.2} s, {:.1} a second", read as f64 / prefill);
    println!("reply: {written} tokens in {decode:.2} s, {:.1} a second", written as f64 / decode);
    Ok(())
}
