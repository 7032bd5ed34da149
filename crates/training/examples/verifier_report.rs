//! How well a verifier does on what no training saw: a table a set, with the number of rows and 95 % intervals.
//!
//! ```text
//! cargo run --release -p counterproof-training --example verifier_report -- \
//!     --data ../shared/data --base MODEL_DIR --adapter adapter.safetensors [--rows rows.jsonl]
//! ```
//!
//! `--rows` writes every row with its logits, for reading what it gets wrong.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Write as _;

use counterproof_datasets::Collection;
use counterproof_encoders::{BertVerifier, EncoderOptions};
use counterproof_evaluation::wilson;
use counterproof_training::data::verifier::{self, VerifierOptions};
use counterproof_training::examples::{Label, PairExample, Target};

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

fn index(label: Label) -> usize {
    match label {
        Label::Entailment => 0,
        Label::Neutral => 1,
        Label::Contradiction => 2,
    }
}

fn best(p: &[f64; 3]) -> usize {
    (0..3).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap()
}

fn macro_f1(rows: &[(usize, usize)]) -> f64 {
    let classes: Vec<usize> = (0..3).filter(|c| rows.iter().any(|(gold, _)| gold == c)).collect();
    let f1 = |c: usize| {
        let right = rows.iter().filter(|(g, p)| *g == c && *p == c).count() as f64;
        let all = rows.iter().filter(|(g, _)| *g == c).count() + rows.iter().filter(|(_, p)| *p == c).count();
        if all == 0 { 0.0 } else { 2.0 * right / all as f64 }
    };
    classes.iter().map(|c| f1(*c)).sum::<f64>() / classes.len().max(1) as f64
}

/// Area under the ROC curve of "supported" against "refuted" by the difference of their probabilities.
fn auc(rows: &[(usize, f64)]) -> f64 {
    let (mut wins, mut pairs) = (0.0, 0.0);
    for (_, s) in rows.iter().filter(|(gold, _)| *gold == 0) {
        for (_, r) in rows.iter().filter(|(gold, _)| *gold == 2) {
            pairs += 1.0;
            wins += if s > r {
                1.0
            } else if s == r {
                0.5
            } else {
                0.0
            };
        }
    }
    if pairs == 0.0 { f64::NAN } else { wins / pairs }
}

fn main() {
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let adapter = argument("--adapter").expect("--adapter FILE");
    let mut out = argument("--rows").map(|f| std::fs::File::create(f).unwrap());
    let made = verifier::build(&data, &VerifierOptions::default()).unwrap();
    let model = BertVerifier::open(base, adapter, &EncoderOptions::default()).unwrap();

    println!("| set | n | accuracy (95 %) | macro-F1 | supported/refuted: n | accuracy | AUC |");
    println!("|---|---|---|---|---|---|---|");
    let mut calibration: Vec<(f64, bool)> = Vec::new();
    for part in &made.report {
        let mut kinds: BTreeMap<String, Vec<&PairExample>> = BTreeMap::new();
        for example in &part.examples {
            kinds.entry(part.name.to_owned()).or_default().push(example);
            if matches!(part.name, "questions" | "twins") {
                kinds.entry(format!("- {}", example.source)).or_default().push(example);
                let by_label = format!("= {} {:?}", part.name, example.target);
                kinds.entry(by_label).or_default().push(example);
            }
        }
        let pairs: Vec<(&str, &str)> =
            part.examples.iter().map(|e| (e.premise.as_str(), e.hypothesis.as_str())).collect();
        let judged = model.judge_blocking(&pairs).unwrap();
        let judged: BTreeMap<*const PairExample, [f64; 3]> = part
            .examples
            .iter()
            .zip(&judged)
            .map(|(e, j)| {
                let p = [j.nli.entail.get(), j.nli.neutral.get(), j.nli.contradict.get()];
                if let Some(out) = &mut out {
                    let row = serde_json::json!({
                        "set": part.name, "source": e.source, "premise": e.premise, "hypothesis": e.hypothesis,
                        "gold": format!("{:?}", e.target), "p": p, "logits": j.logits,
                    });
                    writeln!(out, "{row}").unwrap();
                }
                (std::ptr::from_ref(e), p)
            })
            .collect();
        for (name, examples) in kinds {
            let of = |e: &PairExample| judged[&std::ptr::from_ref(e)];
            let rows: Vec<(usize, usize)> = examples
                .iter()
                .map(|e| match e.target {
                    Target::Is(label) => (index(label), best(&of(e))),
                    // Two classes: entailed, or not.
                    Target::NotEntailed => (1, if best(&of(e)) == 0 { 0 } else { 1 }),
                })
                .collect();
            let right = rows.iter().filter(|(g, p)| g == p).count();
            let interval = wilson(right as u64, rows.len() as u64).unwrap();
            let decisive: Vec<(usize, f64)> = examples
                .iter()
                .zip(&rows)
                .filter(|(e, (gold, _))| *gold != 1 && e.target != Target::NotEntailed)
                .map(|(e, (gold, _))| (*gold, of(e)[0] - of(e)[2]))
                .collect();
            let decided = decisive.iter().filter(|(gold, d)| (*d > 0.0) == (*gold == 0)).count();
            println!(
                "| {name} | {} | {:.3} ({:.3}-{:.3}) | {:.3} | {} | {:.3} | {:.3} |",
                rows.len(),
                right as f64 / rows.len() as f64,
                interval.low,
                interval.high,
                macro_f1(&rows),
                decisive.len(),
                decided as f64 / decisive.len().max(1) as f64,
                auc(&decisive),
            );
            if name == part.name {
                for (e, (gold, predicted)) in examples.iter().zip(&rows) {
                    calibration.push((of(e)[*predicted], gold == predicted));
                }
            }
        }
    }
    calibration.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = calibration.len();
    let ece: f64 = calibration
        .chunks(n.div_ceil(15))
        .map(|bin| {
            let mean = bin.iter().map(|(p, _)| p).sum::<f64>() / bin.len() as f64;
            let right = bin.iter().filter(|(_, r)| *r).count() as f64 / bin.len() as f64;
            (mean - right).abs() * bin.len() as f64 / n as f64
        })
        .sum();
    println!("\nexpected calibration error over all rows, 15 bins of equal size: {ece:.4} (n {n})");
    for bound in [0.8, 0.9, 0.95] {
        let sure: Vec<&(f64, bool)> = calibration.iter().filter(|(p, _)| *p >= bound).collect();
        let right = sure.iter().filter(|(_, r)| *r).count();
        if let Some(interval) = wilson(right as u64, sure.len() as u64) {
            println!(
                "confidence at least {bound}: accuracy {:.3} ({:.3}-{:.3}), coverage {:.3}",
                right as f64 / sure.len() as f64,
                interval.low,
                interval.high,
                sure.len() as f64 / n as f64
            );
        }
    }
}
