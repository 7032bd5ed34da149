//! How well a reader does on what no training saw, with the number of rows and 95 % intervals.
//!
//! ```text
//! cargo run --release -p counterproof-training --example reader_report -- \
//!     --data ../shared/data --base MODEL_DIR --adapter adapter.safetensors
//! ```
//!
//! Of each set: exact match and F1 (SQuAD's normalisation) of the best span in passages that hold an answer; how well the
//! margin over "no answer" tells these from passages that were found for the question and hold none; and both decisions
//! together. For questions with several answers in one passage, precision, recall and F1 over exactly matching spans,
//! by how far below the best span the others may lie. That number is chosen on rows that are not reported.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use counterproof_datasets::Collection;
use counterproof_encoders::{BertReader, EncoderOptions, ScoredSpan};
use counterproof_evaluation::{auroc, squad_exact_match, squad_f1, token_f1, wilson};
use counterproof_text::normalise::squad;
use counterproof_training::data::reader::{self, ReaderOptions};
use counterproof_training::examples::SpanExample;

/// Spans that are asked for in a passage.
const SPANS: usize = 12;

/// How far below the best span another may lie, in nats.
const DROPS: [f64; 9] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0];

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

fn main() {
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let adapter = argument("--adapter").expect("--adapter FILE");
    let made = reader::build(&data, &ReaderOptions::default()).unwrap();
    let model = BertReader::open(base, adapter, &EncoderOptions::default()).unwrap();

    println!(
        "| set | answerable: n | EM (95 %) | F1 (95 %) | without: n | AUROC | EM, F1 with the decision |"
    );
    println!("|---|---|---|---|---|---|---|");
    let parts = made.report.iter().map(|s| (s.name.to_owned(), s.examples.clone(), s.golds.clone()));
    for (name, examples, golds) in parts.chain(by_source(&made.validation)) {
        let read = read(&model, &examples);
        let mut best = Vec::new();
        let mut decided = Vec::new();
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for ((example, golds), spans) in examples.iter().zip(&golds).zip(&read) {
            let Some(first) = spans.first() else { continue };
            let text = first.span.slice(&example.context).unwrap();
            if example.answers.is_empty() {
                without.push(first.margin);
                let right = f64::from(u8::from(first.margin <= 0.0));
                decided.push((right, right));
            } else {
                with.push(first.margin);
                let scores = (f64::from(u8::from(squad_exact_match(text, golds))), squad_f1(text, golds));
                best.push(scores);
                decided.push(if first.margin > 0.0 { scores } else { (0.0, 0.0) });
            }
        }
        let exact = best.iter().filter(|(em, _)| *em > 0.0).count();
        let interval = wilson(exact as u64, best.len() as u64).unwrap();
        let (f1, half) = mean_and_half(&best.iter().map(|(_, f1)| *f1).collect::<Vec<_>>());
        let n = decided.len() as f64;
        println!(
            "| {name} | {} | {:.1} ({:.1}-{:.1}) | {:.1} ({:.1}-{:.1}) | {} | {:.3} | {:.1}, {:.1} |",
            best.len(),
            100.0 * exact as f64 / best.len() as f64,
            100.0 * interval.low,
            100.0 * interval.high,
            100.0 * f1,
            100.0 * (f1 - half),
            100.0 * (f1 + half),
            without.len(),
            auroc(&with, &without).unwrap_or(f64::NAN),
            100.0 * decided.iter().map(|(em, _)| em).sum::<f64>() / n,
            100.0 * decided.iter().map(|(_, f1)| f1).sum::<f64>() / n,
        );
    }

    let several = |e: &&SpanExample| e.source.starts_with("multispanqa/") && e.answers.len() > 1;
    let tuning: Vec<SpanExample> =
        made.train.iter().chain(&made.validation).filter(several).cloned().collect();
    let report: Vec<SpanExample> =
        made.report.iter().flat_map(|s| &s.examples).filter(several).cloned().collect();
    for (name, rows) in [("rows to choose on", tuning), ("reported", report)] {
        let read = read(&model, &rows);
        println!("\nMultiSpanQA, {name}, n {}: below the best | exact P, R, F1 | overlap F1", rows.len());
        for drop in DROPS {
            let kept: Vec<Vec<&ScoredSpan>> = read
                .iter()
                .map(|spans| {
                    let best = spans.first().map_or(0.0, |s| s.score);
                    spans.iter().filter(|s| s.score >= best - drop).collect()
                })
                .collect();
            println!("{drop:.1} | {}", several_scores(&rows, &kept));
        }
        let kept: Vec<Vec<&ScoredSpan>> =
            read.iter().map(|spans| spans.iter().filter(|s| s.margin > 0.0).collect()).collect();
        println!("above no answer | {}", several_scores(&rows, &kept));
    }
}

fn by_source(examples: &[SpanExample]) -> Vec<(String, Vec<SpanExample>, Vec<Vec<String>>)> {
    let mut sets: BTreeMap<String, (Vec<SpanExample>, Vec<Vec<String>>)> = BTreeMap::new();
    for example in examples {
        let set = example.source.split('/').next().unwrap_or_default();
        let (examples, golds) = sets.entry(format!("validation: {set}")).or_default();
        golds.push(example.answers.iter().map(|a| example.context[a.clone()].to_owned()).collect());
        examples.push(example.clone());
    }
    let enough = |e: &Vec<SpanExample>| e.iter().filter(|e| !e.answers.is_empty()).count() >= 20;
    sets.into_iter().filter(|(_, (e, _))| enough(e)).map(|(name, (e, g))| (name, e, g)).collect()
}

fn read(model: &BertReader, examples: &[SpanExample]) -> Vec<Vec<ScoredSpan>> {
    let one = |e: &SpanExample| model.best_spans(&e.question, &[&e.context], SPANS).unwrap().remove(0).0;
    examples.iter().map(one).collect()
}

fn several_scores(rows: &[SpanExample], kept: &[Vec<&ScoredSpan>]) -> String {
    let (mut right, mut said, mut due) = (0, 0, 0);
    let mut overlap = 0.0;
    for (row, spans) in rows.iter().zip(kept) {
        let golds: Vec<String> = row.answers.iter().map(|a| squad(&row.context[a.clone()])).collect();
        let texts: Vec<String> = spans.iter().map(|s| squad(s.span.slice(&row.context).unwrap())).collect();
        right += texts.iter().filter(|t| golds.contains(t)).count();
        said += texts.len();
        due += golds.len();
        // Each side against the best of the other.
        let best = |a: &str, others: &[String]| others.iter().map(|b| token_f1(a, b).f1).fold(0.0, f64::max);
        let mean =
            |a: &[String], b: &[String]| a.iter().map(|x| best(x, b)).sum::<f64>() / a.len().max(1) as f64;
        let (p, r) = (mean(&texts, &golds), mean(&golds, &texts));
        overlap += if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 };
    }
    let (p, r) = (right as f64 / f64::max(said as f64, 1.0), right as f64 / f64::max(due as f64, 1.0));
    format!(
        "{:.1}, {:.1}, {:.1} | {:.1}",
        100.0 * p,
        100.0 * r,
        100.0 * 2.0 * p * r / (p + r).max(1e-9),
        100.0 * overlap / rows.len().max(1) as f64
    )
}

/// The mean and half of its 95 % interval by the normal approximation.
fn mean_and_half(x: &[f64]) -> (f64, f64) {
    let n = x.len().max(1) as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, 1.96 * (variance / n).sqrt())
}
