//! What the gate without a language model is worth: controlled drafts, half of them right and half wrong answers of the
//! same kind that some passage gives, tested against the row's passages among topical ones.
//!
//! ```text
//! cargo run --release -p counterproof --example gate_quality -- --data ../shared/data --base MODEL_DIR \
//!     --reader reader.safetensors --verifier verifier.safetensors [--out calibration.json] [--rows rows.jsonl] [--harm 0.05] [--limit ROWS] [--fit-only]
//! ```
//!
//! The gate is calibrated on questions of the validation side, which reader and verifier were not trained on, and measured
//! on questions of NQ and HotpotQA that are kept for reports. `--out` writes the calibration, with the threshold of a harm
//! budget where `--harm` gives one.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use counterproof::datasets::Collection;
use counterproof::datasets::collection::SplitShares;
use counterproof::encoders::{BertReader, BertVerifier, EncoderOptions};
use counterproof::evaluation::wilson;
use counterproof::methods::repair::{
    CalibrationRow, Comparison, Decision, EncoderGate, FEATURES, GateCalibration, Repair, RepairConfig,
    means_the_same,
};
use counterproof::retrieval::ListRetriever;
use counterproof::training::data::drafts::{self, DraftRow};
use counterproof::{Limits, Passage, Question};

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

fn is_right(row: &DraftRow, answer: &str) -> bool {
    row.answers.iter().any(|right| means_the_same(answer, right, &[]))
}

fn repair(row: &DraftRow, gate: &EncoderGate, config: RepairConfig) -> Repair {
    let passages = row.passages.iter().enumerate();
    let passages =
        passages.map(|(i, p)| Passage::new(format!("p{}", i + 1), p.title.clone(), p.text.clone()));
    let retriever = ListRetriever::new(passages, &Limits::default()).unwrap();
    Repair::without_model(Arc::new(retriever), gate.clone(), config)
}

/// A row, what the gate found, and which of its alternatives are right.
struct Compared<'a> {
    row: &'a DraftRow,
    draft_right: bool,
    comparison: Option<Comparison>,
    right: Vec<bool>,
}

async fn compared<'a>(rows: &'a [DraftRow], gate: &EncoderGate) -> Vec<Compared<'a>> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        let method = repair(row, gate, RepairConfig::default());
        let comparison = method.compare(gate, &Question::new(&row.question), &row.draft).await.unwrap();
        let alternatives = comparison.iter().flat_map(|c| &c.alternatives);
        let right = alternatives.map(|a| is_right(row, &a.answer)).collect();
        out.push(Compared { row, draft_right: is_right(row, &row.draft), comparison, right });
    }
    out
}

#[tokio::main]
async fn main() {
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let options = EncoderOptions::default();
    let reader = BertReader::open(&base, argument("--reader").expect("--reader FILE"), &options).unwrap();
    let verifier =
        BertVerifier::open(&base, argument("--verifier").expect("--verifier FILE"), &options).unwrap();
    let mut made = drafts::build(&data, &data.splits(&SplitShares::default()), 1).unwrap();
    if let Some(limit) = argument("--limit").and_then(|n| n.parse::<usize>().ok()) {
        for rows in [&mut made.validation, &mut made.report] {
            let step = rows.len().div_ceil(limit.max(1)).max(1);
            *rows = rows.iter().step_by(step).cloned().collect();
        }
    }
    println!("{} rows to fit, {} to report", made.validation.len(), made.report.len());
    let unfitted = GateCalibration {
        schema: 1,
        fitted_on: "nothing".to_owned(),
        features: FEATURES.map(str::to_owned).to_vec(),
        weights: vec![0.0; FEATURES.len()],
        bias: 0.0,
        threshold: 1.0,
        right_drafts: Vec::new(),
    };
    let gate = EncoderGate::new(Arc::new(reader.clone()), Arc::new(verifier.clone()), unfitted);

    let validation = compared(&made.validation, &gate).await;
    let rows: Vec<CalibrationRow> = validation
        .iter()
        .map(|c| CalibrationRow {
            draft_right: c.draft_right,
            alternatives: c
                .comparison
                .iter()
                .flat_map(|found| found.features.iter().copied().zip(c.right.iter().copied()))
                .collect(),
        })
        .collect();
    let sets = counts(&made.validation);
    let mut fitted =
        GateCalibration::fit(&rows, format!("{} questions kept out of training ({sets})", rows.len()))
            .unwrap();
    if let Some(harm) = argument("--harm").and_then(|h| h.parse::<f64>().ok()) {
        fitted.threshold = fitted.threshold(Some(harm), None);
    }
    println!("calibrated on {}\n", fitted.fitted_on);
    for (name, weight) in FEATURES.iter().zip(&fitted.weights) {
        println!("{name:24} {weight:7.3}");
    }
    println!("{:24} {:7.3}\nthreshold {:.2}", "bias", fitted.bias, fitted.threshold);
    if let Some(out) = argument("--out") {
        std::fs::write(out, serde_json::to_string_pretty(&fitted).unwrap() + "\n").unwrap();
    }

    if std::env::args().any(|a| a == "--fit-only") {
        return;
    }
    let report = compared(&made.report, &gate).await;
    if let Some(path) = argument("--rows") {
        let mut out = std::fs::File::create(path).unwrap();
        for c in &report {
            let row = serde_json::json!({ "row": c.row, "comparison": c.comparison, "right": c.right });
            writeln!(out, "{row}").unwrap();
        }
    }
    let mut by_set: BTreeMap<&str, Vec<&Compared<'_>>> = BTreeMap::new();
    for c in &report {
        by_set.entry(&c.row.set).or_default().push(c);
        by_set.entry("both").or_default().push(c);
    }
    for (set, rows) in &by_set {
        curve(set, rows, &fitted);
    }

    // The whole method, with the rules that an accepted proposal has to pass.
    println!(
        "\n| set | wrong drafts | repaired (95 %) | right drafts | harmed (95 %) | changed to another wrong one |"
    );
    println!("|---|---|---|---|---|---|");
    let gate = EncoderGate::new(Arc::new(reader), Arc::new(verifier), fitted.clone());
    let mut tallies: BTreeMap<&str, [u64; 5]> = BTreeMap::new();
    for row in &made.report {
        let method = repair(row, &gate, RepairConfig::default());
        let report = method.repair(&Question::new(&row.question), &row.draft).await.unwrap();
        let (before, after) = (is_right(row, &row.draft), is_right(row, &report.answer));
        let revised = report.decision == Decision::Revise;
        for set in [row.set.as_str(), "both"] {
            let [wrong, repaired, right, harmed, changed] = tallies.entry(set).or_default();
            *(if before { &mut *right } else { &mut *wrong }) += 1;
            *repaired += u64::from(!before && after);
            *harmed += u64::from(before && !after);
            *changed += u64::from(!before && !after && revised);
        }
    }
    for (set, [wrong, repaired, right, harmed, changed]) in tallies {
        println!(
            "| {set} | {wrong} | {} | {right} | {} | {changed} |",
            share(repaired, wrong),
            share(harmed, right)
        );
    }
}

fn counts(rows: &[DraftRow]) -> String {
    let mut sets: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *sets.entry(&row.set).or_default() += 1;
    }
    sets.iter().map(|(set, n)| format!("{set} {n}")).collect::<Vec<_>>().join(", ")
}

fn share(hits: u64, n: u64) -> String {
    match wilson(hits, n) {
        Some(i) => format!("{hits}: {:.3} ({:.3}-{:.3})", hits as f64 / n as f64, i.low, i.high),
        None => "none".to_owned(),
    }
}

/// What each threshold would give, before the rules.
fn curve(set: &str, rows: &[&Compared<'_>], calibration: &GateCalibration) {
    let right = rows.iter().filter(|c| c.draft_right).count();
    let wrong = rows.len() - right;
    let reachable = rows.iter().filter(|c| !c.draft_right && c.right.contains(&true)).count();
    println!(
        "\n{set}: {wrong} wrong drafts, the right answer is among the alternatives of {reachable}; {right} right drafts"
    );
    println!(
        "| threshold | repaired | harmed | changed to another wrong one | helped : harmed |\n|---|---|---|---|---|"
    );
    let named = [None, Some(0.01), Some(0.02), Some(0.05), Some(0.1)];
    let named = named.map(|budget| (budget, calibration.threshold(budget, None)));
    let even = (1..20).map(|i| (String::new(), f64::from(i) / 20.0));
    let named = named.into_iter().map(|(b, t)| (b.map_or("default, ".into(), |b| format!("harm {b}, ")), t));
    for (name, t) in named.chain(even) {
        let (mut repaired, mut harmed, mut changed) = (0, 0, 0);
        for c in rows {
            let Some((ix, p)) = c.comparison.as_ref().and_then(|found| found.best(calibration)) else {
                continue;
            };
            if p < t {
                continue;
            }
            match (c.draft_right, c.right[ix]) {
                (false, true) => repaired += 1,
                (true, false) => harmed += 1,
                (false, false) => changed += 1,
                (true, true) => {}
            }
        }
        println!(
            "| {name}{t:.2} | {repaired} ({:.3}) | {harmed} ({:.3}) | {changed} | {:.1} |",
            f64::from(repaired) / wrong.max(1) as f64,
            f64::from(harmed) / right.max(1) as f64,
            f64::from(repaired) / f64::from(harmed).max(1.0)
        );
    }
}
