//! What `check` without a language model is worth: verdicts by given and by searched evidence, and how far its confidences
//! and promises hold.
//!
//! ```text
//! cargo run --release -p counterproof --example check_report -- --data ../shared/data --base MODEL_DIR \
//!     [--index DIR] [--calibrator FILE] [--out calibration.json] [--fit-only] [--rows rows.jsonl] [--limit ROWS]
//!     [--ablate PART]...
//! ```
//!
//! The calibrator is fitted on claims of the validation side, which the verifier was not trained on, and everything is
//! reported on claims that are kept for reports. With `--index`, an index of the corpus of `wiki_passages`, claims of FEVER
//! are searched for as well. `--calibrator` takes one that was fitted before.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use counterproof::datasets::claims::Verdict as Gold;
use counterproof::datasets::collection::SplitShares;
use counterproof::datasets::{Collection, Key, Split};
use counterproof::encoders::{BertEmbedder, EncoderOptions};
use counterproof::evaluation::{
    ConfusionMatrix, Forecast, RiskCoverage, bootstrap, brier, confidence_auroc, ece, label_accuracy, wilson,
};
use counterproof::methods::check::{
    Abstention, CalibrationRow, Calibrator, CalibratorKind, Check, CheckConfig, Claim, FEATURES, Features,
    Held,
};
use counterproof::retrieval::index::EmbeddedIndex;
use counterproof::training::data::verifier::{self, VerifierOptions};
use counterproof::training::examples::{Label, PairExample, Target};
use counterproof::{Embedder, Passage, Probability, Retriever, Verdict};

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

fn flag(name: &str) -> bool {
    std::env::args().any(|a| a == name)
}

/// A claim with its truth. `evidence` is what is given; `None` has it searched for.
struct Item {
    set: String,
    claim: String,
    evidence: Option<String>,
    truth: Verdict,
    group: String,
    /// The titles of the gold pages.
    pages: Vec<String>,
}

/// What was said of it.
struct Said {
    set: String,
    truth: Verdict,
    verdict: Verdict,
    features: Features,
    group: String,
    found: Option<bool>,
}

impl Said {
    fn row(&self) -> CalibrationRow {
        let right = self.truth == self.verdict;
        CalibrationRow { features: self.features, right, group: self.group.clone() }
    }
}

fn given(examples: &[PairExample], set: &str) -> Vec<Item> {
    let item = |e: &PairExample| {
        let truth = match e.target {
            Target::Is(Label::Entailment) => Verdict::Supported,
            Target::Is(Label::Contradiction) => Verdict::Refuted,
            Target::Is(Label::Neutral) => Verdict::NotEnoughEvidence,
            // Partly supported: neither of the three.
            Target::NotEntailed => return None,
        };
        let set = match set {
            "" => e.source.split('/').next().unwrap_or_default(),
            set => set,
        };
        Some(Item {
            set: set.to_owned(),
            claim: e.hypothesis.clone(),
            evidence: Some(e.premise.clone()),
            truth,
            group: e.group.clone(),
            pages: Vec::new(),
        })
    };
    examples.iter().filter_map(item).collect()
}

async fn said(items: Vec<Item>, check: &Check, retriever: Option<&Arc<dyn Retriever>>) -> Vec<Said> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        let evidence = item.evidence.map(|text| vec![Arc::new(Passage::new("given", "", text))]);
        let (verdict, features) = match check.features(&Claim::new(&item.claim), evidence.as_deref()).await {
            Ok(told) => told,
            // A claim that reads as a question: no verdict is no right one.
            Err(error) => {
                eprintln!("{}: {error}", item.claim);
                (Verdict::NotEnoughEvidence, Features::default())
            }
        };
        let found = match retriever.filter(|_| evidence.is_none() && !item.pages.is_empty()) {
            Some(retriever) => {
                let hits = retriever.search(&item.claim, check.config().k).await.unwrap();
                Some(hits.iter().any(|h| item.pages.contains(&h.passage.title)))
            }
            None => None,
        };
        out.push(Said { set: item.set, truth: item.truth, verdict, features, group: item.group, found });
    }
    out
}

#[tokio::main]
async fn main() {
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let made = verifier::build(&data, &VerifierOptions::default()).unwrap();
    let model = counterproof::own::verifier(&base).unwrap();
    let retriever: Option<Arc<dyn Retriever>> = argument("--index").map(|dir| {
        let plain = EmbeddedIndex::open(&dir, None).unwrap();
        let index = if plain.info().embedder.is_some() {
            let options =
                EncoderOptions { name: Some("all-MiniLM-L6-v2".to_owned()), ..EncoderOptions::default() };
            let embedder: Arc<dyn Embedder> = Arc::new(BertEmbedder::open(&base, &options).unwrap());
            EmbeddedIndex::open(&dir, Some(embedder)).unwrap()
        } else {
            plain
        };
        Arc::new(index) as _
    });
    let mut config = CheckConfig { abstention: Abstention::Never, ..CheckConfig::default() };
    let mut arguments = std::env::args();
    while let Some(argument) = arguments.next() {
        if argument == "--ablate" {
            config.ablate(&arguments.next().expect("--ablate PART")).unwrap();
        }
    }
    let check = Check::without_model(retriever.clone(), Arc::new(model), config);
    let limit = argument("--limit").map_or(usize::MAX, |n| n.parse().unwrap());
    let thin = |items: Vec<Item>| -> Vec<Item> {
        let step = items.len().div_ceil(limit.min(items.len()).max(1)).max(1);
        items.into_iter().step_by(step).collect()
    };

    let splits = data.splits(&SplitShares::default());
    let searched = |side: Split| -> Vec<Item> {
        let kept = |claim: &str| {
            splits.of(claim) == side && (side == Split::Validation || splits.is_kept_by("fever", claim))
        };
        data.fever
            .iter()
            .filter(|row| retriever.is_some() && kept(&row.claim))
            .map(|row| Item {
                set: "fever, searched".to_owned(),
                claim: row.claim.clone(),
                evidence: None,
                truth: match row.verdict {
                    Gold::Supported => Verdict::Supported,
                    Gold::Refuted => Verdict::Refuted,
                    Gold::NotEnough => Verdict::NotEnoughEvidence,
                },
                group: Key::of(&row.claim).to_string(),
                pages: row.evidence.iter().flatten().map(|e| e.title.clone()).collect(),
            })
            .collect()
    };

    let calibrator = match argument("--calibrator") {
        Some(file) => Calibrator::from_json(&std::fs::read_to_string(&file).unwrap(), &file).unwrap(),
        None => {
            let claims = made.validation.iter().find(|part| part.name == "claims").unwrap();
            let mut items = given(&claims.examples, "");
            items.extend(searched(Split::Validation));
            let rows = said(thin(items), &check, None).await;
            write("validation", &rows);
            fit(&rows)
        }
    };
    if flag("--fit-only") {
        return;
    }
    let mut report = Vec::new();
    for part in made.report.iter().filter(|p| !matches!(p.name, "questions" | "twins" | "general")) {
        report.extend(said(thin(given(&part.examples, part.name)), &check, None).await);
    }
    report.extend(said(thin(searched(Split::Report)), &check, retriever.as_ref()).await);
    write("report", &report);
    verdicts(&report);
    confidences(&report, &calibrator);
    promises(&report, &calibrator);
}

/// Writes the numbers of each claim, for reading.
fn write(side: &str, rows: &[Said]) {
    let Some(path) = argument("--rows") else { return };
    let mut out = std::fs::File::options().create(true).append(true).open(path).unwrap();
    for row in rows {
        let values: BTreeMap<&str, Option<f64>> = FEATURES.into_iter().zip(row.features.values()).collect();
        let json = serde_json::json!({
            "side": side, "set": row.set, "truth": row.truth, "verdict": row.verdict, "group": row.group,
            "features": values,
        });
        writeln!(out, "{json}").unwrap();
    }
}

fn fit(rows: &[Said]) -> Calibrator {
    let mut sets: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *sets.entry(&row.set).or_default() += 1;
    }
    let sets: Vec<String> = sets.iter().map(|(set, n)| format!("{set} {n}")).collect();
    let told = format!("{} claims kept out of training ({})", rows.len(), sets.join(", "));
    let calibration: Vec<CalibrationRow> = rows.iter().map(Said::row).collect();
    println!("fitted to one half of {told}; on the other half:\n");
    println!("| calibrator | Brier | ECE | AUROC |\n|---|---|---|---|");
    for kind in [
        CalibratorKind::None,
        CalibratorKind::Temperature,
        CalibratorKind::Platt,
        CalibratorKind::Isotonic,
        CalibratorKind::Logistic,
    ] {
        let fitted = Calibrator::fit(&calibration, kind, &told).unwrap();
        let held = forecasts(fitted.held.iter().map(|h| (h.confidence, h.right)));
        println!(
            "| {kind:?} | {:.4} | {:.4} | {:.3} |",
            brier(&held).value.unwrap(),
            ece(&held, 10).unwrap(),
            confidence_auroc(&held).unwrap()
        );
    }
    let fitted = Calibrator::fit(&calibration, CalibratorKind::Logistic, &told).unwrap();
    if let Some(out) = argument("--out") {
        std::fs::write(out, serde_json::to_string_pretty(&fitted).unwrap() + "\n").unwrap();
    }
    fitted
}

fn forecasts(rows: impl Iterator<Item = (f64, bool)>) -> Vec<Forecast> {
    rows.map(|(p, right)| Forecast { confidence: Probability::clamped(p), right }).collect()
}

fn by_set(rows: &[Said]) -> BTreeMap<&str, Vec<&Said>> {
    let mut sets: BTreeMap<&str, Vec<&Said>> = BTreeMap::new();
    for row in rows {
        sets.entry(&row.set).or_default().push(row);
    }
    sets
}

fn verdicts(rows: &[Said]) {
    println!(
        "\n| set | n | majority | accuracy (95 %) | macro-F1 (95 %) | supported or refuted, where it is one of them | gold page found |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (set, rows) in by_set(rows) {
        let pairs: Vec<(Verdict, Verdict)> = rows.iter().map(|r| (r.verdict, r.truth)).collect();
        let f1 = |pairs: &[(Verdict, Verdict)]| ConfusionMatrix::of(&[], pairs).macro_f1();
        let interval =
            bootstrap(rows.len(), 1000, 1, |ix| f1(&ix.iter().map(|i| pairs[*i]).collect::<Vec<_>>()));
        let accuracy = label_accuracy(&pairs);
        let within = accuracy.wilson().unwrap();
        let most = [Verdict::Supported, Verdict::Refuted, Verdict::NotEnoughEvidence]
            .into_iter()
            .map(|v| rows.iter().filter(|r| r.truth == v).count())
            .max()
            .unwrap();
        let decisive: Vec<bool> = rows
            .iter()
            .filter(|r| r.truth != Verdict::NotEnoughEvidence)
            .map(|r| (r.features.support > r.features.refutation) == (r.truth == Verdict::Supported))
            .collect();
        let two_way = decisive.iter().filter(|x| **x).count();
        let found: Vec<bool> = rows.iter().filter_map(|r| r.found).collect();
        let hits = found.iter().filter(|x| **x).count();
        let told = wilson(hits as u64, found.len() as u64)
            .map_or_else(|| "-".to_owned(), |_| format!("{:.3}", hits as f64 / found.len() as f64));
        println!(
            "| {set} | {} | {:.3} | {:.3} ({:.3}-{:.3}) | {:.3} ({:.3}-{:.3}) | {:.3} | {told} |",
            rows.len(),
            most as f64 / rows.len() as f64,
            accuracy.value.unwrap(),
            within.low,
            within.high,
            f1(&pairs).unwrap(),
            interval.map_or(f64::NAN, |i| i.low),
            interval.map_or(f64::NAN, |i| i.high),
            two_way as f64 / decisive.len().max(1) as f64,
        );
    }
}

fn confidences(rows: &[Said], calibrator: &Calibrator) {
    println!(
        "\n| set | n | Brier: v, calibrated | ECE: v, calibrated | AUROC: v, calibrated | risk at 0.5 / 0.8 / 0.9 / 1.0 |\n|---|---|---|---|---|---|"
    );
    let mut sets = by_set(rows);
    sets.insert("all, given", rows.iter().filter(|r| !r.set.ends_with("searched")).collect());
    for (set, rows) in sets {
        let right = |r: &&Said| r.verdict == r.truth;
        let raw = forecasts(rows.iter().map(|r| (r.features.score, right(r))));
        let fitted = forecasts(rows.iter().map(|r| (calibrator.confidence(&r.features), right(r))));
        let risks = RiskCoverage::of(&fitted);
        let risk = |c: f64| risks.risk_at(c).map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
        println!(
            "| {set} | {} | {:.3}, {:.3} | {:.3}, {:.3} | {:.3}, {:.3} | {} / {} / {} / {} |",
            rows.len(),
            brier(&raw).value.unwrap(),
            brier(&fitted).value.unwrap(),
            ece(&raw, 10).unwrap(),
            ece(&fitted, 10).unwrap(),
            confidence_auroc(&raw).unwrap_or(f64::NAN),
            confidence_auroc(&fitted).unwrap_or(f64::NAN),
            risk(0.5),
            risk(0.8),
            risk(0.9),
            risk(1.0),
        );
    }
}

/// Half of the claims, by group, sets the threshold; the other half tells whether the promise is kept.
fn promises(rows: &[Said], calibrator: &Calibrator) {
    println!(
        "\n| claims | target risk | kept in | promised in | coverage (mean) | risk (mean) |\n|---|---|---|---|---|---|"
    );
    let given: Vec<&Said> = rows.iter().filter(|r| !r.set.ends_with("searched")).collect();
    let searched: Vec<&Said> = rows.iter().filter(|r| r.set.ends_with("searched")).collect();
    for (name, rows) in [("given", given), ("searched", searched)] {
        for target in [0.05, 0.1, 0.2] {
            let (mut kept, mut promised, mut coverage, mut risk) = (0, 0, 0.0, 0.0);
            for split in 0..100 {
                let half = |r: &&&Said| Key::of(&r.group).draw(&format!("promise {split}")) < 0.5;
                let held = |r: &Said| Held {
                    confidence: calibrator.confidence(&r.features),
                    right: r.verdict == r.truth,
                };
                let ours: Vec<Held> = rows.iter().filter(half).map(|r| held(r)).collect();
                let fitted = calibrator.clone().with_held(ours);
                let Ok(threshold) = fitted.threshold(Abstention::Risk(target)) else {
                    kept += 1;
                    continue;
                };
                promised += 1;
                let theirs: Vec<Held> = rows.iter().filter(|r| !half(r)).map(|r| held(r)).collect();
                let answered: Vec<&Held> = theirs.iter().filter(|h| h.confidence >= threshold).collect();
                let wrong =
                    answered.iter().filter(|h| !h.right).count() as f64 / answered.len().max(1) as f64;
                kept += usize::from(wrong <= target);
                coverage += answered.len() as f64 / theirs.len() as f64;
                risk += wrong;
            }
            let mean = |sum: f64| if promised == 0 { f64::NAN } else { sum / f64::from(promised) };
            println!(
                "| {name}, {} | {target} | {kept} of 100 | {promised} | {:.3} | {:.3} |",
                rows.len(),
                mean(coverage),
                mean(risk)
            );
        }
    }
}
