//! Counts of the verifier's examples by source and label, and some of each kind to read.
//!
//! `cargo run --release -p counterproof-training --example show_pairs -- DATA_FOLDER [ROWS] [SOURCE]`

// An example may stop at what it does not expect.
#![allow(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use counterproof_datasets::Collection;
use counterproof_training::data::reader::{self, ReaderOptions};
use counterproof_training::data::verifier::{self, Part, VerifierOptions};
use counterproof_training::examples::PairExample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        arguments.next().map(PathBuf::from).ok_or("usage: show_pairs DATA_FOLDER [ROWS] [SOURCE]")?;
    let rows: usize = arguments.next().map_or(Ok(3), |n| n.parse())?;
    let source = arguments.next().unwrap_or_default();
    let data = Collection::read(folder)?;
    for file in data.sources.iter().filter(|s| s.bad > 0) {
        println!("{file}");
    }
    for missing in &data.missing {
        println!("missing: {}", missing.display());
    }
    let began = std::time::Instant::now();
    let made = verifier::build(&data, &VerifierOptions::default())?;
    println!("made in {:.1} s", began.elapsed().as_secs_f64());
    for (side, parts) in [("train", &made.train), ("validation", &made.validation), ("report", &made.report)]
    {
        println!("\n== {side} ==");
        println!(
            "{:44} {:>9} {:>8} {:>12} {:>12}",
            "source", "entailed", "neutral", "contradicted", "not entailed"
        );
        for part in parts {
            count(part);
        }
    }
    println!("\n== examples ==");
    for part in made.train.iter().chain(&made.report) {
        show(part, rows, &source);
    }
    if source.is_empty() {
        let spans = reader::build(&data, &ReaderOptions::default())?;
        println!("\n== reader ==");
        let sets = spans.report.iter().map(|s| (s.name, &s.examples));
        for (name, examples) in
            [("train", &spans.train), ("validation", &spans.validation)].into_iter().chain(sets)
        {
            let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
            for example in examples {
                let place = example.answers.len().min(2);
                counts.entry(&example.source).or_default()[place] += 1;
            }
            for (source, [none, one, several]) in counts {
                println!("{name:22} {source:32} no answer {none:6}, one {one:6}, several {several:6}");
            }
        }
    }
    Ok(())
}

fn count(part: &Part) {
    let mut sum = [0; 4];
    for (source, counts) in part.counts() {
        let [e, n, c, x] = counts;
        println!("  {source:42} {e:>9} {n:>8} {c:>12} {x:>12}");
        sum.iter_mut().zip(counts).for_each(|(s, c)| *s += c);
    }
    let [e, n, c, x] = sum;
    let words: usize = part.examples.iter().map(|p| p.premise.split_whitespace().count()).sum();
    let mean = words as f64 / part.examples.len().max(1) as f64;
    println!(
        "{:44} {e:>9} {n:>8} {c:>12} {x:>12}   all {}, {mean:.0} words of evidence",
        part.name,
        part.examples.len()
    );
}

fn show(part: &Part, rows: usize, source: &str) {
    let mut by_source: BTreeMap<&str, Vec<&PairExample>> = BTreeMap::new();
    for example in part.examples.iter().filter(|e| e.source.contains(source)) {
        by_source.entry(&example.source).or_default().push(example);
    }
    for (name, examples) in by_source {
        println!("\n--- {} {name}", part.name);
        for example in examples.iter().take(rows) {
            println!("[{:?}] {}\n    => {}", example.target, example.premise, example.hypothesis);
        }
    }
}
