//! How well a verifier does on what no training saw: a table a set, with the number of rows and 95 % intervals.
//!
//! ```text
//! cargo run --release -p counterproof-training --example verifier_report -- \
//!     --data ../shared/data --base MODEL_DIR --adapter adapter.safetensors [--rows rows.jsonl] [--validation] [--fit]
//! verifier_report --pairs adapters/verifier/pairs.jsonl --base MODEL_DIR --adapter adapter.safetensors
//! ```
//!
//! `--validation` takes the rows that training validates on in place of those that are kept for reports; `--fit` fits the
//! layer over the rules anew.
//!
//! `--rows` writes every row with its logits, for reading what it gets wrong.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Write as _;

use counterproof_datasets::Collection;
use counterproof_encoders::{BertVerifier, EncoderOptions};
use counterproof_evaluation::{auroc, wilson};
use counterproof_training::data::verifier::{self, Part, VerifierOptions};
use counterproof_training::examples::{Label, PairExample, Target};
use counterproof_training::recipe;

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
fn area(rows: &[(usize, f64)]) -> f64 {
    let of =
        |class: usize| rows.iter().filter(|(gold, _)| *gold == class).map(|(_, x)| *x).collect::<Vec<f64>>();
    auroc(&of(0), &of(2)).unwrap_or(f64::NAN)
}

fn main() {
    if let Some(file) = argument("--pairs") {
        return pairs(&file);
    }
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let adapter = argument("--adapter").expect("--adapter FILE");
    let out = argument("--rows").map(|f| std::fs::File::create(f).unwrap());
    let flag = |name: &str| std::env::args().any(|a| a == name);
    let made = verifier::build(&data, &VerifierOptions::default()).unwrap();
    let model = BertVerifier::open(base, adapter, &EncoderOptions::default()).unwrap();
    let mut calibration = model.calibration().clone();
    if flag("--fit") {
        calibration.fusion = Some(recipe::fit_rules(&model, &made, 0).unwrap());
    }
    let parts = if flag("--validation") { &made.validation } else { &made.report };
    let logits: Vec<Vec<[f32; 3]>> = parts
        .iter()
        .map(|part| {
            let pair = |e: &'_ PairExample| (e.premise.clone(), e.hypothesis.clone());
            model.logits(&part.examples.iter().map(pair).collect::<Vec<_>>()).unwrap()
        })
        .collect();
    println!("by the encoder alone\n");
    report(parts, &logits, |_, logits| calibration.probabilities(logits));
    if let Some(fusion) = &calibration.fusion {
        println!("\nwith the rules\n");
        report(parts, &logits, |e, logits| fusion.judge(logits, &e.premise, &e.hypothesis));
    }
    if let Some(mut out) = out {
        for (part, logits) in parts.iter().zip(&logits) {
            for (e, logits) in part.examples.iter().zip(logits) {
                let row = serde_json::json!({
                    "set": part.name, "source": e.source, "premise": e.premise, "hypothesis": e.hypothesis,
                    "gold": format!("{:?}", e.target), "group": e.group, "logits": logits,
                    "fused": calibration.fusion.as_ref().map(|f| f.judge(*logits, &e.premise, &e.hypothesis)),
                });
                writeln!(out, "{row}").unwrap();
            }
        }
    }
}

/// A table of the pairs in a file, a JSON object a line with `about`, `evidence`, `statement` and `gold`.
fn pairs(file: &str) {
    let base = argument("--base").expect("--base DIR");
    let adapter = argument("--adapter").expect("--adapter FILE");
    let model = BertVerifier::open(base, adapter, &EncoderOptions::default()).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let mut right = 0;
    println!("| about | evidence | statement | is | entailed | neutral | contradicted | |");
    println!("|---|---|---|---|---|---|---|---|");
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| row[name].as_str().unwrap().to_owned();
        let nli = model.judge_blocking(&[(field("evidence"), field("statement"))]).unwrap()[0].nli;
        let p = [nli.entail.get(), nli.neutral.get(), nli.contradict.get()];
        let said = ["entailed", "neutral", "contradicted"][best(&p)];
        let is_right = said == field("gold");
        right += usize::from(is_right);
        println!(
            "| {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {} |",
            field("about"),
            field("evidence"),
            field("statement"),
            field("gold"),
            p[0],
            p[1],
            p[2],
            if is_right { "right" } else { "wrong" }
        );
    }
    println!("\n{right} of {} right", text.lines().count());
}

fn report(
    parts: &[Part],
    logits: &[Vec<[f32; 3]>],
    probabilities: impl Fn(&PairExample, [f32; 3]) -> [f64; 3],
) {
    println!("| set | n | accuracy (95 %) | macro-F1 | supported/refuted: n | accuracy | AUC |");
    println!("|---|---|---|---|---|---|---|");
    let mut calibration: Vec<(f64, bool)> = Vec::new();
    let mut pooled: Vec<(usize, usize)> = Vec::new();
    for (part, logits) in parts.iter().zip(logits) {
        let mut kinds: BTreeMap<String, Vec<&PairExample>> = BTreeMap::new();
        for example in &part.examples {
            kinds.entry(part.name.to_owned()).or_default().push(example);
            if matches!(part.name, "claims" | "questions" | "twins") {
                kinds.entry(format!("- {}", example.source)).or_default().push(example);
                let by_label = format!("= {} {:?}", part.name, example.target);
                kinds.entry(by_label).or_default().push(example);
            }
        }
        let judged: BTreeMap<*const PairExample, [f64; 3]> = part
            .examples
            .iter()
            .zip(logits)
            .map(|(e, logits)| (std::ptr::from_ref(e), probabilities(e, *logits)))
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
                area(&decisive),
            );
            if name == part.name {
                for (e, (gold, predicted)) in examples.iter().zip(&rows) {
                    calibration.push((of(e)[*predicted], gold == predicted));
                    pooled.push((*gold, *predicted));
                }
            }
        }
    }
    println!("\npooled macro-F1 over all rows: {:.3}", macro_f1(&pooled));
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
    println!("expected calibration error over all rows, 15 bins of equal size: {ece:.4} (n {n})");
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
