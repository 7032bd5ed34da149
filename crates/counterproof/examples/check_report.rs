//! What `check` without a language model is worth: verdicts by given and by searched evidence, and how far its confidences
//! and promises hold.
//!
//! ```text
//! cargo run --release -p counterproof --example check_report -- --data ../shared/data --base MODEL_DIR \
//!     [--index DIR] [--calibrator FILE] [--out calibration.json] [--rows rows.jsonl] [--limit ROWS]
//!     [--ablate PART]...
//! check_report --from rows.jsonl [--out calibration.json] [--fitted-for WHAT]
//! ```
//!
//! The calibrator is fitted on claims of the validation side, which the verifier was not trained on (but its layer over the
//! rules was fitted there). Of the claims kept for reports one half, by group, is held back for its thresholds, and
//! confidences and promises are reported on the other. With `--index`, an index of the corpus of `wiki_passages`, claims of
//! FEVER are searched for as well. `--calibrator` takes a calibrator that was fitted before.

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
};
use counterproof::retrieval::index::EmbeddedIndex;
use counterproof::training::data::verifier::{self, VerifierOptions};
use counterproof::training::examples::{Label, PairExample, Target};
use counterproof::{Embedder, Passage, Probability, Retriever, Verdict};
use futures::StreamExt as _;

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
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
    /// The gold sentences, without what spacing and punctuation make different.
    sentences: Vec<String>,
}

/// What was said of it.
struct Said {
    set: String,
    truth: Verdict,
    verdict: Verdict,
    features: Features,
    group: String,
    given: bool,
    found: Option<bool>,
    /// Whether a passage that holds a gold sentence was found.
    sentence: Option<bool>,
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl Said {
    fn row(&self) -> CalibrationRow {
        let right = self.truth == self.verdict;
        CalibrationRow { features: self.features, right, group: self.group.clone(), given: self.given }
    }

    /// Whether it is held back for thresholds.
    fn is_held(&self) -> bool {
        is_first_half(&self.group, "held back")
    }
}

fn is_first_half(group: &str, salt: &str) -> bool {
    Key::of(group).draw(salt) < 0.5
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
            sentences: Vec::new(),
        })
    };
    examples.iter().filter_map(item).collect()
}

async fn said(items: Vec<Item>, check: &Check, retriever: Option<&Arc<dyn Retriever>>) -> Vec<Said> {
    let one = |item: Item| async move {
        let evidence = item.evidence.map(|text| vec![Arc::new(Passage::new("given", "", text))]);
        let (verdict, features) = match check.features(&Claim::new(&item.claim), evidence.as_deref()).await {
            Ok(told) => told,
            // A claim that reads as a question: no verdict is no right one.
            Err(error) => {
                eprintln!("{}: {error}", item.claim);
                (Verdict::NotEnoughEvidence, Features::default())
            }
        };
        let (found, sentence) = match retriever.filter(|_| evidence.is_none() && !item.pages.is_empty()) {
            Some(retriever) => {
                let hits = retriever.search(&item.claim, check.config().k).await.unwrap();
                let page = hits.iter().any(|h| item.pages.contains(&h.passage.title));
                let texts: Vec<String> = hits.iter().map(|h| letters(&h.passage.text)).collect();
                let holds = |s: &String| !s.is_empty() && texts.iter().any(|text| text.contains(s.as_str()));
                (Some(page), Some(item.sentences.iter().any(holds)))
            }
            None => (None, None),
        };
        let given = evidence.is_some();
        Said {
            set: item.set,
            truth: item.truth,
            verdict,
            features,
            group: item.group,
            given,
            found,
            sentence,
        }
    };
    // Several at a time, so that no core waits for another claim's last pair.
    futures::stream::iter(items).map(one).buffered(8).collect().await
}

#[tokio::main]
async fn main() {
    if let Some(file) = argument("--from") {
        return from_rows(&file);
    }
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
                sentences: row.evidence.iter().flatten().map(|e| letters(&e.text)).collect(),
            })
            .collect()
    };

    let fitting = match argument("--calibrator") {
        Some(_) => Vec::new(),
        None => {
            let claims = made.validation.iter().find(|part| part.name == "claims").unwrap();
            let mut items = given(&claims.examples, "");
            items.extend(searched(Split::Validation));
            said(thin(items), &check, None).await
        }
    };
    write("validation", &fitting, &check.fitted_for());
    let mut report = Vec::new();
    for part in made.report.iter().filter(|p| !matches!(p.name, "questions" | "twins" | "general")) {
        report.extend(said(thin(given(&part.examples, part.name)), &check, None).await);
    }
    report.extend(said(thin(searched(Split::Report)), &check, retriever.as_ref()).await);
    write("report", &report, &check.fitted_for());
    verdicts(&report);
    let calibrator = match argument("--calibrator") {
        Some(file) => Calibrator::from_json(&std::fs::read_to_string(&file).unwrap(), &file).unwrap(),
        None => fit(&fitting, &report, &check.fitted_for()),
    };
    let unseen: Vec<Said> = report.into_iter().filter(|row| !row.is_held()).collect();
    confidences(&unseen, &calibrator);
    promises(&unseen, &calibrator);
}

/// Writes the numbers of each claim, for reading.
fn write(side: &str, rows: &[Said], fitted_for: &str) {
    let Some(path) = argument("--rows") else { return };
    let mut out = std::fs::File::options().create(true).append(true).open(path).unwrap();
    for row in rows {
        let values: BTreeMap<&str, Option<f64>> = FEATURES.into_iter().zip(row.features.values()).collect();
        let json = serde_json::json!({
            "side": side, "set": row.set, "truth": row.truth, "verdict": row.verdict, "group": row.group,
            "found": row.found, "sentence": row.sentence, "fitted_for": fitted_for, "features": values,
        });
        writeln!(out, "{json}").unwrap();
    }
}

/// The tables, and the calibrator, from the numbers of an earlier run.
fn from_rows(file: &str) {
    let (mut fitting, mut report) = (Vec::new(), Vec::new());
    let mut fitted_for = String::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let verdict = |name: &str| serde_json::from_value::<Verdict>(row[name].clone()).unwrap();
        let known = |name: &str| row["features"][name].as_f64();
        let set = row["set"].as_str().unwrap().to_owned();
        let said = Said {
            given: !set.ends_with("searched"),
            set,
            truth: verdict("truth"),
            verdict: verdict("verdict"),
            group: row["group"].as_str().unwrap().to_owned(),
            found: row["found"].as_bool(),
            sentence: row["sentence"].as_bool(),
            features: Features {
                score: known("score").unwrap(),
                support: known("support").unwrap(),
                refutation: known("refutation").unwrap(),
                margin: known("margin").unwrap(),
                joined_support: known("joined_support"),
                joined_refutation: known("joined_refutation"),
                agreeing_passages: known("agreeing_passages").unwrap(),
                citations: known("citations").unwrap(),
                top_score: known("top_score"),
                score_gap: known("score_gap"),
                entity_overlap: known("entity_overlap"),
                missing_numbers: known("missing_numbers"),
                claim_words: known("claim_words").unwrap().exp_m1(),
                verdict: Some(verdict("verdict")),
                ..Features::default()
            },
        };
        if let Some(what) = row["fitted_for"].as_str() {
            what.clone_into(&mut fitted_for);
        }
        if row["side"] == "validation" { fitting.push(said) } else { report.push(said) }
    }
    if let Some(what) = argument("--fitted-for") {
        fitted_for = what;
    }
    verdicts(&report);
    let calibrator = fit(&fitting, &report, &fitted_for);
    let unseen: Vec<Said> = report.into_iter().filter(|row| !row.is_held()).collect();
    confidences(&unseen, &calibrator);
    promises(&unseen, &calibrator);
}

fn fit(fitting: &[Said], report: &[Said], fitted_for: &str) -> Calibrator {
    let mut sets: BTreeMap<&str, usize> = BTreeMap::new();
    for row in fitting {
        *sets.entry(&row.set).or_default() += 1;
    }
    let sets: Vec<String> = sets.iter().map(|(set, n)| format!("{set} {n}")).collect();
    let told = format!("{} claims kept out of training ({})", fitting.len(), sets.join(", "));
    let fitting: Vec<CalibrationRow> = fitting.iter().map(Said::row).collect();
    let hold: Vec<CalibrationRow> = report.iter().filter(|r| r.is_held()).map(Said::row).collect();
    let unseen: Vec<&Said> = report.iter().filter(|r| !r.is_held()).collect();
    println!("\nfitted to {told}; on {} others:\n", unseen.len());
    println!("| calibrator | Brier | ECE | AUROC |\n|---|---|---|---|");
    let mut chosen = None;
    for kind in [
        CalibratorKind::None,
        CalibratorKind::Temperature,
        CalibratorKind::Platt,
        CalibratorKind::Isotonic,
        CalibratorKind::Logistic,
        CalibratorKind::Lean,
    ] {
        let fitted = Calibrator::fit_on(&fitting, &hold, kind, &told).unwrap();
        let said = forecasts(unseen.iter().map(|r| (fitted.confidence(&r.features), r.truth == r.verdict)));
        println!(
            "| {kind:?} | {:.4} | {:.4} | {:.3} |",
            brier(&said).value.unwrap(),
            ece(&said, 10).unwrap(),
            confidence_auroc(&said).unwrap()
        );
        chosen = Some(fitted);
    }
    let fitted = chosen.unwrap().fitted_for(fitted_for);
    if let Some(out) = argument("--out") {
        std::fs::write(out, serde_json::to_string(&fitted).unwrap() + "\n").unwrap();
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
        "\n| set | n | majority | accuracy (95 %) | macro-F1 (95 %) | supported or refuted, where it is one of them | gold page found | gold sentence found |"
    );
    println!("|---|---|---|---|---|---|---|---|");
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
        let share = |of: fn(&Said) -> Option<bool>| {
            let known: Vec<bool> = rows.iter().filter_map(|r| of(r)).collect();
            match known.len() {
                0 => "-".to_owned(),
                n => format!("{:.3}", known.iter().filter(|x| **x).count() as f64 / n as f64),
            }
        };
        let told = format!("{} | {}", share(|r| r.found), share(|r| r.sentence));
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

/// Whether promises are kept: by the thresholds of the calibrator itself, and by those of a random half of the claims on the
/// other half, a hundred times. Of each group one claim counts.
fn promises(rows: &[Said], calibrator: &Calibrator) {
    println!(
        "\n| claims | target risk | with the calibrator's threshold: coverage, risk (95 %) | splits with a promise | of these kept | coverage and risk (mean) |\n|---|---|---|---|---|---|"
    );
    for (name, given) in [("given", true), ("searched", false)] {
        let alike: Vec<CalibrationRow> = rows.iter().filter(|r| r.given == given).map(Said::row).collect();
        if alike.is_empty() {
            continue;
        }
        // One row a group, as the calibrator holds them.
        let one_each = calibrator.clone().holding(&alike).held().len();
        for target in [0.05, 0.1, 0.2] {
            let risk = Abstention::Risk(target);
            let shipped = match calibrator.threshold(risk, given) {
                Ok(threshold) => {
                    let (coverage, wrong, n) = answered(calibrator, &alike, threshold);
                    let told = wilson(wrong, n).map_or_else(String::new, |i| {
                        format!("{:.3} ({:.3}-{:.3})", wrong as f64 / n as f64, i.low, i.high)
                    });
                    format!("{coverage:.3}, {told}")
                }
                Err(none) => format!("no promise: {none}"),
            };
            let (mut kept, mut promised, mut coverages, mut risks) = (0, 0, 0.0, 0.0);
            for split in 0..100 {
                let salt = format!("promise {split}");
                let (ours, theirs): (Vec<CalibrationRow>, Vec<CalibrationRow>) =
                    alike.iter().cloned().partition(|row| is_first_half(&row.group, &salt));
                let Ok(threshold) = calibrator.clone().holding(&ours).threshold(risk, given) else {
                    continue;
                };
                promised += 1;
                let (coverage, wrong, n) = answered(calibrator, &theirs, threshold);
                let observed = wrong as f64 / n.max(1) as f64;
                kept += usize::from(observed <= target);
                coverages += coverage;
                risks += observed;
            }
            let mean = |sum: f64| match promised {
                0 => "-".to_owned(),
                n => format!("{:.3}", sum / f64::from(n)),
            };
            println!(
                "| {name}, {one_each} | {target} | {shipped} | {promised} of 100 | {kept} | {}, {} |",
                mean(coverages),
                mean(risks)
            );
        }
    }
}

/// The share of claims, one a group, with a verdict at a threshold; how many of these are wrong, and how many there are.
fn answered(calibrator: &Calibrator, rows: &[CalibrationRow], threshold: f64) -> (f64, u64, u64) {
    let held = calibrator.clone().holding(rows);
    let given = held.held().iter().filter(|h| h.confidence >= threshold);
    let (n, wrong) = given.fold((0, 0), |(n, wrong), h| (n + 1, wrong + u64::from(!h.right)));
    (n as f64 / held.held().len().max(1) as f64, wrong, n)
}
