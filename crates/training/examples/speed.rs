//! How fast the trainer and the verifier are on this machine: tokens and pairs a second, and peak memory.
//!
//! `speed BASE_DIR [SECONDS]` trains on synthetic pairs whose lengths are like those of the real data (a mean of about
//! 60 tokens, then of about 130) for so many seconds each (20 if not given), then judges the same pairs with the adapter.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Instant;

use counterproof_encoders::adapter::Adapter;
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

/// Trains for `seconds` and prints the speed after the first tenth of the time.
fn train(base: &Path, what: &str, examples: &[PairExample], seconds: f64, config: TrainConfig) -> Outcome {
    let config = TrainConfig { max_minutes: Some(seconds / 60.0), ..config };
    let stages = [Stage { name: "all".to_owned(), examples, amount: Amount::Passes(1000.0) }];
    let mut first = None;
    let mut last = (0.0, 0, 0);
    let outcome = train_verifier(base, &stages, &[], &config, &mut |told| {
        last = (told.elapsed.as_secs_f64(), told.tokens, told.examples);
        if last.0 > 0.1 * seconds {
            first.get_or_insert(last);
        }
    })
    .expect("training");
    let first = first.expect("more than one step");
    let per_second = |from: u64, to: u64| (to - from) as f64 / (last.0 - first.0);
    println!(
        "{what}: {:.0} tokens/s, {:.1} pairs/s, {:.1} tokens a pair, {} parameters, peak memory {} MB",
        per_second(first.1, last.1),
        per_second(first.2, last.2),
        last.1 as f64 / last.2 as f64,
        outcome.summary.parameters,
        peak_memory_mb(),
    );
    outcome
}

fn judge(base: &Path, adapter: &Adapter, what: &str, examples: &[PairExample]) {
    let verifier = BertVerifier::with_adapter(base, adapter, &EncoderOptions::default()).expect("loading");
    let texts: Vec<(&str, &str)> =
        examples.iter().map(|e| (e.premise.as_str(), e.hypothesis.as_str())).collect();
    let start = Instant::now();
    let (mut pairs, mut runs) = (0, 0);
    while runs < 2 || start.elapsed().as_secs_f64() < 5.0 {
        pairs += verifier.logits(&texts).expect("judging").len();
        runs += 1;
    }
    let per_second = pairs as f64 / start.elapsed().as_secs_f64();
    println!("{what}: {per_second:.1} pairs/s judged, peak memory {} MB", peak_memory_mb());
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
    let adapter = train(base, "LoRA, short pairs", &short, seconds, TrainConfig::default()).adapter;
    train(base, "LoRA, long pairs", &long, seconds, TrainConfig::default());
    train(
        base,
        "every weight, short pairs",
        &short,
        seconds,
        TrainConfig { trainable: whole, ..TrainConfig::default() },
    );
    judge(base, &adapter, "short pairs", &short);
    judge(base, &adapter, "long pairs", &long);
    Ok(())
}
