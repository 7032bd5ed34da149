//! How fast the trainer and the verifier are on this machine: tokens and pairs a second, and peak memory. On a busy
//! machine the figures per second of processor time are the ones that compare.
//!
//! `speed BASE_DIR [SECONDS]` trains on synthetic pairs whose lengths are like those of the real data (a mean of about
//! 60 tokens, then of about 130) for so many seconds each (20 if not given), then judges the same pairs with the adapter.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Instant;

use counterproof_encoders::adapter::Adapter;
use counterproof_encoders::parts::PairTokenizer;
use counterproof_encoders::{BertVerifier, EncoderOptions};
use counterproof_training::examples::{Label, PairExample, Target};
use counterproof_training::{Amount, Outcome, Stage, TrainConfig, Trainable, train_verifier};

const WORDS: [&str; 20] = [
    "the",
    "observatory",
    "opened",
    "in",
    "1889",
    "and",
    "was",
    "later",
    "moved",
    "to",
    "a",
    "hill",
    "where",
    "its",
    "telescope",
    "found",
    "three",
    "comets",
    "before",
    "war",
];

/// Pairs of words drawn at random: statements of 8 to 20 words, evidence of a length around `mean` less these, half of it
/// above and half below by up to two thirds.
fn pairs(count: usize, mean: usize) -> Vec<PairExample> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % bound
    };
    let labels = [Label::Entailment, Label::Neutral, Label::Contradiction];
    (0..count)
        .map(|i| {
            let statement = 8 + below(13);
            let middle = mean - 17;
            let evidence = middle / 3 + below(middle * 4 / 3);
            let mut text =
                |words: usize| (0..words).map(|_| WORDS[below(WORDS.len())]).collect::<Vec<_>>().join(" ");
            PairExample {
                premise: text(evidence),
                hypothesis: text(statement),
                target: Target::Is(labels[i % 3]),
                weight: 1.0,
                group: i.to_string(),
                source: "synthetic".to_owned(),
            }
        })
        .collect()
}

/// Where a run stands: wall seconds, processor seconds, tokens, pairs.
#[derive(Clone, Copy, Default)]
struct Mark {
    wall: f64,
    cpu: f64,
    tokens: f64,
    pairs: f64,
}

fn report(what: &str, from: Mark, to: Mark) {
    let (wall, cpu) = (to.wall - from.wall, to.cpu - from.cpu);
    let (tokens, pairs) = (to.tokens - from.tokens, to.pairs - from.pairs);
    println!(
        "{what}: {:.0} tokens/s, {:.1} pairs/s; {:.0} tokens and {:.1} pairs a processor second; \
         {:.0} tokens a pair; {:.2} processors; peak memory {} MB",
        tokens / wall,
        pairs / wall,
        tokens / cpu,
        pairs / cpu,
        tokens / pairs,
        cpu / wall,
        peak_memory_mb(),
    );
}

/// Trains for `seconds` and prints the speed after the first step.
fn train(base: &Path, what: &str, examples: &[PairExample], seconds: f64, config: TrainConfig) -> Outcome {
    let config = TrainConfig { max_minutes: Some(seconds / 60.0), ..config };
    let stages = [Stage { name: "all".to_owned(), examples, amount: Amount::Passes(1000.0) }];
    let mut first = None;
    let mut last = Mark::default();
    let outcome = train_verifier(base, &stages, &[], &config, &mut |told| {
        let wall = told.elapsed.as_secs_f64();
        last = Mark { wall, cpu: cpu_seconds(), tokens: told.tokens as f64, pairs: told.examples as f64 };
        first.get_or_insert(last);
    })
    .expect("training");
    match first.filter(|first| first.wall < last.wall) {
        Some(first) => report(what, first, last),
        None => println!("{what}: no second step in {seconds} seconds, give more"),
    }
    outcome
}

fn judge(base: &Path, adapter: &Adapter, what: &str, examples: &[PairExample], tokens: f64) {
    let verifier = BertVerifier::with_adapter(base, adapter, &EncoderOptions::default()).expect("loading");
    let texts: Vec<(&str, &str)> =
        examples.iter().map(|e| (e.premise.as_str(), e.hypothesis.as_str())).collect();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut pairs = 0.0;
    while pairs == 0.0 || start.elapsed().as_secs_f64() < 8.0 {
        pairs += verifier.logits(&texts).expect("judging").len() as f64;
    }
    let to =
        Mark { wall: start.elapsed().as_secs_f64(), cpu: cpu_seconds() - cpu, tokens: pairs * tokens, pairs };
    report(what, Mark::default(), to);
}

/// Processor time of this process so far, where the system tells; hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that this process has held, where the system tells.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().ok_or("usage: speed BASE_DIR [SECONDS]")?;
    let seconds: f64 = arguments.next().map_or(Ok(20.0), |seconds| seconds.parse())?;
    let base = Path::new(&base);
    let (short, long) = (pairs(400, 60), pairs(200, 130));
    let whole = Trainable { whole_layers: (0..6).collect(), ..Trainable::default() };
    let whole = TrainConfig { trainable: whole, ..TrainConfig::default() };
    let adapter = train(base, "training LoRA, short pairs", &short, seconds, TrainConfig::default()).adapter;
    train(base, "training LoRA, long pairs", &long, seconds, TrainConfig::default());
    train(base, "training every layer's weights, short pairs", &short, seconds, whole);
    judge(base, &adapter, "judging short pairs", &short, mean_tokens(base, &short));
    judge(base, &adapter, "judging long pairs", &long, mean_tokens(base, &long));
    Ok(())
}

/// Tokens of a pair.
fn mean_tokens(base: &Path, examples: &[PairExample]) -> f64 {
    let tokenizer = PairTokenizer::open(&base.join("tokenizer.json")).expect("a tokenizer");
    let tokens = |text: &str| tokenizer.ids(text).expect("tokenizing").len() as f64;
    let all = examples.iter().map(|e| tokens(&e.premise) + tokens(&e.hypothesis)).sum::<f64>();
    all / examples.len() as f64 + tokenizer.special_tokens() as f64
}
