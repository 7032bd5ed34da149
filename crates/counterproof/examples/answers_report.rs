//! What `answers` without a language model is worth: sets of answers against their gold sets, with and without
//! verification, on RAMDocs, MultiSpanQA and QAMPARI.
//!
//! ```text
//! cargo run --release -p counterproof --example answers_report -- --data ../shared/data --base MODEL_DIR \
//!     [--index DIR] [--qampari 100] [--set NAME] [--rows rows.jsonl] [--out calibration.json]
//! answers_report --from rows.jsonl [--out calibration.json]
//! ```
//!
//! Questions are those that neither reader nor verifier was trained on. The light model that weighs what these two found is
//! fitted by cross-validation: what is reported of a question comes from a fit, weights and threshold, that had not seen it.
//! QAMPARI questions are searched over an index of `wiki_passages`, which holds few of their answers: candidate recall is
//! the ceiling.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use counterproof::datasets::collection::SplitShares;
use counterproof::datasets::{Collection, Key, Split};
use counterproof::encoders::{BertEmbedder, EncoderOptions};
use counterproof::evaluation::answer_sets::{self, MultiSpanCounts, MultiSpanScore, ReplyScore, SetScore};
use counterproof::evaluation::bootstrap;
use counterproof::methods::answers::{Answers, AnswersCalibration, AnswersConfig, CalibrationRow, Evidence};
use counterproof::retrieval::ListRetriever;
use counterproof::retrieval::index::EmbeddedIndex;
use counterproof::{Embedder, Entailment, Limits, Passage, Question, Retriever, SpanReader};
use serde::{Deserialize, Serialize};

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

struct Item {
    set: &'static str,
    slice: String,
    question: String,
    golds: Vec<Vec<String>>,
    wrongs: Vec<String>,
    recorded: Option<String>,
    passages: Option<Vec<Arc<Passage>>>,
}

/// A candidate with what is known of it.
#[derive(Clone, Serialize, Deserialize)]
struct Found {
    surface: String,
    evidence: Evidence,
    /// The first gold answer that it names, counting one that contains it or is contained in it.
    names: Option<usize>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Row {
    set: String,
    slice: String,
    question: String,
    golds: Vec<Vec<String>>,
    wrongs: Vec<String>,
    recorded: Option<String>,
    candidates: Vec<Found>,
    /// What reading all passages as one text finds.
    at_once: Vec<String>,
    seconds: f64,
    #[serde(default)]
    fitted_for: String,
}

fn items(data: &Collection, qampari: usize) -> Vec<Item> {
    let splits = data.splits(&SplitShares::default());
    let unseen = |question: &str| splits.of(question) == Split::Report;
    let mut out = Vec::new();
    let recorded: BTreeMap<String, String> = argument("--data")
        .map(|dir| std::path::Path::new(&dir).join("ramdocs/recorded_llama-3.3-70b.jsonl"))
        .and_then(|file| std::fs::read_to_string(file).ok())
        .map(|text| {
            let rows = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
            let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
            rows.map(|r| (text(&r["question"]), text(&r["llm_answer"]))).collect()
        })
        .unwrap_or_default();
    for row in data.ramdocs.iter().filter(|r| unseen(&r.question)) {
        let passage = |(i, d): (usize, &counterproof::datasets::questions::RamDocsDocument)| {
            Arc::new(Passage::new(format!("d{}", i + 1), "", d.text.clone()))
        };
        out.push(Item {
            set: "ramdocs",
            slice: format!("{} gold", row.gold_answers.len()),
            question: row.question.clone(),
            golds: row.gold_answers.iter().map(|a| vec![a.clone()]).collect(),
            wrongs: row.wrong_answers.clone(),
            recorded: recorded.get(&row.question).cloned(),
            passages: Some(row.documents.iter().enumerate().map(passage).collect()),
        });
    }
    for row in data.multispanqa.iter().filter(|r| unseen(&r.question)) {
        let golds: Vec<String> = row.answers().map(str::to_owned).collect();
        out.push(Item {
            set: "multispanqa",
            slice: if golds.len() > 3 {
                "4 or more gold".to_owned()
            } else {
                format!("{} gold", golds.len())
            },
            question: row.question.clone(),
            golds: golds.into_iter().map(|a| vec![a]).collect(),
            wrongs: Vec::new(),
            recorded: None,
            passages: Some(vec![Arc::new(Passage::new("p1", "", row.context.clone()))]),
        });
    }
    let mut rows: Vec<_> = data.qampari.iter().filter(|r| unseen(&r.question)).collect();
    rows.sort_by_key(|r| Key::of(&r.question).to_string());
    for row in rows.into_iter().take(qampari) {
        out.push(Item {
            set: "qampari",
            slice: row.kind.to_string(),
            question: row.question.clone(),
            golds: row
                .distinct_answers()
                .into_iter()
                .map(|g| g.into_iter().map(str::to_owned).collect())
                .collect(),
            wrongs: Vec::new(),
            recorded: None,
            passages: None,
        });
    }
    out
}

/// The first gold answer that a candidate names, leniently.
fn named(golds: &[Vec<String>], surface: &str) -> Option<usize> {
    golds.iter().position(|gold| answer_sets::contained(&[gold], &[surface]).hits > 0)
}

#[tokio::main]
async fn main() {
    if let Some(file) = argument("--from") {
        let text = std::fs::read_to_string(file).unwrap();
        return tables(&text.lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<Row>>());
    }
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let reader: Arc<dyn SpanReader> = Arc::new(counterproof::own::reader(&base).unwrap());
    let verifier: Arc<dyn Entailment> = Arc::new(counterproof::own::verifier(&base).unwrap());
    let index: Option<Arc<dyn Retriever>> = argument("--index").map(|dir| {
        let options =
            EncoderOptions { name: Some("all-MiniLM-L6-v2".to_owned()), ..EncoderOptions::default() };
        let embedder: Arc<dyn Embedder> = Arc::new(BertEmbedder::open(&base, &options).unwrap());
        Arc::new(EmbeddedIndex::open(&dir, Some(embedder)).unwrap()) as _
    });
    let qampari = match index {
        Some(_) => argument("--qampari").map_or(100, |n| n.parse().unwrap()),
        None => 0,
    };
    let calibration = Arc::new(counterproof::own::answers_calibration().unwrap());
    let search = |retriever: Option<Arc<dyn Retriever>>, parts: &[&str]| {
        let mut config = AnswersConfig::default();
        parts.iter().for_each(|part| config.ablate(part).unwrap());
        Answers::by_encoders(
            retriever,
            Arc::clone(&reader),
            Arc::clone(&verifier),
            Arc::clone(&calibration),
            config,
        )
    };
    let mut all = items(&data, qampari);
    if let Some(set) = argument("--set") {
        all.retain(|item| item.set == set);
    }
    let fitted_for = search(None, &[]).fitted_for();
    let mut rows: Vec<Row> = Vec::new();
    let mut out = argument("--rows").map(|path| std::fs::File::create(path).unwrap());
    for (n, item) in all.iter().enumerate() {
        let start = Instant::now();
        let question = Question::new(&item.question);
        let retriever: Option<Arc<dyn Retriever>> = match &item.passages {
            Some(passages) => {
                let own = passages.iter().map(|p| (**p).clone()).collect::<Vec<_>>();
                Some(Arc::new(ListRetriever::new(own, &Limits::default()).unwrap()))
            }
            None => index.clone(),
        };
        let examined =
            search(retriever.clone(), &[]).examine(&question, item.passages.as_deref()).await.unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let at_once = match &item.passages {
            Some(passages) => {
                let arm = search(None, &["concat_reading", "no_verification"]);
                let report = arm.answers_in(&question, passages).await.unwrap();
                report.answers.into_iter().map(|a| a.answer).collect()
            }
            None => Vec::new(),
        };
        let candidates = examined
            .into_iter()
            .map(|(c, evidence)| Found {
                names: named(&item.golds, &c.surface),
                surface: c.surface,
                evidence,
            })
            .collect();
        let row = Row {
            set: item.set.to_owned(),
            slice: item.slice.clone(),
            question: item.question.clone(),
            golds: item.golds.clone(),
            wrongs: item.wrongs.clone(),
            recorded: item.recorded.clone(),
            candidates,
            at_once,
            seconds,
            fitted_for: fitted_for.clone(),
        };
        if let Some(out) = &mut out {
            writeln!(out, "{}", serde_json::to_string(&row).unwrap()).unwrap();
        }
        rows.push(row);
        eprint!("\r{} of {} questions", n + 1, all.len());
    }
    tables(&rows);
}

/// Parts of cross-validation.
const FOLDS: usize = 5;

/// For each row what is kept of its candidates, by a fit that had not seen it.
fn kept(rows: &[Row], extra: bool) -> Vec<Vec<bool>> {
    let calibration: Vec<CalibrationRow> = rows.iter().map(calibration_row).collect();
    let mut kept = vec![Vec::new(); rows.len()];
    let fold_of = |row: &Row| (Key::of(&row.question).draw("answers") * FOLDS as f64) as usize;
    for fold in 0..FOLDS {
        let seen: Vec<CalibrationRow> = rows
            .iter()
            .zip(&calibration)
            .filter(|(r, _)| fold_of(r) != fold)
            .map(|(_, c)| c.clone())
            .collect();
        let fitted = AnswersCalibration::fit(&seen, "other folds").unwrap();
        for (at, row) in rows.iter().enumerate().filter(|(_, r)| fold_of(r) == fold) {
            let is = |f: &Found| {
                let evidence = if extra { f.evidence } else { f.evidence.without_extra() };
                fitted.probability(&evidence) >= fitted.threshold
            };
            kept[at] = row.candidates.iter().map(is).collect();
        }
    }
    kept
}

fn calibration_row(row: &Row) -> CalibrationRow {
    CalibrationRow {
        candidates: row.candidates.iter().map(|f| (f.evidence, f.names)).collect(),
        answers: row.golds.len(),
    }
}

fn tables(rows: &[Row]) {
    let mut by_set: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for row in rows {
        by_set.entry(&row.set).or_default().push(row.clone());
    }
    for (set, rows) in &by_set {
        of_set(set, rows);
    }
    if let Some(out) = argument("--out") {
        let all: Vec<CalibrationRow> = rows.iter().map(calibration_row).collect();
        let told: Vec<String> = by_set.iter().map(|(set, rows)| format!("{set} {}", rows.len())).collect();
        let fitted =
            AnswersCalibration::fit(&all, format!("questions kept out of training ({})", told.join(", ")));
        let fitted = fitted.unwrap().fitted_for(rows[0].fitted_for.clone());
        println!("\nfitted to all: threshold {}, unsure {:?}", fitted.threshold, fitted.unsure);
        std::fs::write(out, serde_json::to_string(&fitted).unwrap() + "\n").unwrap();
    }
}

type Arm = (&'static str, Vec<Vec<String>>);

fn of_set(set: &str, rows: &[Row]) {
    let with = kept(rows, true);
    let without = kept(rows, false);
    let chosen = |kept: &[Vec<bool>]| -> Vec<Vec<String>> {
        let of = |(row, kept): (&Row, &Vec<bool>)| {
            row.candidates.iter().zip(kept).filter(|(_, k)| **k).map(|(f, _)| f.surface.clone()).collect()
        };
        rows.iter().zip(kept).map(of).collect()
    };
    let all = |keep: &dyn Fn(&Found) -> bool| -> Vec<Vec<String>> {
        let of = |row: &Row| row.candidates.iter().filter(|f| keep(f)).map(|f| f.surface.clone()).collect();
        rows.iter().map(of).collect()
    };
    let surest = rows.iter().map(|row| {
        let best = row
            .candidates
            .iter()
            .max_by(|a, b| a.evidence.margin.unwrap_or(-99.0).total_cmp(&b.evidence.margin.unwrap_or(-99.0)));
        best.iter().map(|f| f.surface.clone()).collect()
    });
    let arms: Vec<Arm> = vec![
        ("verified", chosen(&with)),
        ("no extra evidence", chosen(&without)),
        ("no verification", all(&|_| true)),
        ("said by two passages or more", all(&|f| f.evidence.support >= 2.0)),
        ("the surest reading alone", surest.collect()),
        ("all passages read at once", rows.iter().map(|r| r.at_once.clone()).collect()),
        ("oracle (the ceiling)", all(&|f| f.names.is_some())),
    ];
    let seconds = rows.iter().map(|r| r.seconds).sum::<f64>() / rows.len() as f64;
    let candidates = rows.iter().map(|r| r.candidates.len()).sum::<usize>() as f64 / rows.len() as f64;
    println!("\n## {set}, n {}: {candidates:.1} candidates, {seconds:.2} s a question\n", rows.len());
    println!(
        "| answers | precision | recall | F1 (95 %) | F1 less that without verification (95 %) | F1, one containing the other counts |\n|---|---|---|---|---|---|"
    );
    let score = |predicted: &[Vec<String>], lenient: bool| -> Vec<SetScore> {
        rows.iter()
            .zip(predicted)
            .map(|(row, p)| match lenient {
                true => answer_sets::contained(&row.golds, p),
                false => answer_sets::qampari(&row.golds, p),
            })
            .collect()
    };
    let f1 = |scores: &[SetScore]| -> Vec<f64> { scores.iter().map(|s| s.score.f1).collect() };
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let base = score(&arms[2].1, false);
    for (name, predicted) in &arms {
        if predicted.iter().all(Vec::is_empty) {
            continue;
        }
        let (strict, lenient) = (score(predicted, false), score(predicted, true));
        let (own, other) = (f1(&strict), f1(&base));
        let over = |ix: &[usize], of: &dyn Fn(usize) -> f64| {
            ix.iter().map(|i| of(*i)).sum::<f64>() / ix.len() as f64
        };
        let within = bootstrap(rows.len(), 2000, 1, |ix| Some(over(ix, &|i| own[i]))).unwrap();
        let paired = bootstrap(rows.len(), 2000, 1, |ix| Some(over(ix, &|i| own[i] - other[i]))).unwrap();
        let part = |of: fn(&SetScore) -> f64| mean(&strict.iter().map(of).collect::<Vec<_>>());
        println!(
            "| {name} | {:.3} | {:.3} | {:.3} ({:.3}-{:.3}) | {:+.3} ({:+.3} to {:+.3}) | {:.3} |",
            part(|s| s.score.precision),
            part(|s| s.score.recall),
            mean(&own),
            within.low,
            within.high,
            mean(&own) - mean(&other),
            paired.low,
            paired.high,
            mean(&f1(&lenient)),
        );
    }
    let pairs: Vec<(bool, bool)> = rows
        .iter()
        .zip(&with)
        .flat_map(|(row, kept)| row.candidates.iter().zip(kept).map(|(f, k)| (f.names.is_some(), *k)))
        .collect();
    let count = |f: &dyn Fn(&(bool, bool)) -> bool| pairs.iter().filter(|p| f(p)).count() as f64;
    println!(
        "\nof the candidates {:.3} are right; of those kept {:.3}; of the right ones {:.3} are rejected",
        count(&|p| p.0) / pairs.len() as f64,
        count(&|p| p.0 && p.1) / count(&|p| p.1),
        count(&|p| p.0 && !p.1) / count(&|p| p.0),
    );
    by_slice(rows, &arms);
    match set {
        "multispanqa" => multispan(rows, &arms),
        "ramdocs" => replies(rows, &arms),
        _ => {}
    }
}

fn by_slice(rows: &[Row], arms: &[Arm]) {
    let slices: HashSet<&str> = rows.iter().map(|r| r.slice.as_str()).collect();
    let mut slices: Vec<&str> = slices.into_iter().collect();
    slices.sort_unstable();
    println!("\n| | n | F1 verified | F1 without verification | candidate recall |\n|---|---|---|---|---|");
    for slice in slices {
        let of = |arm: &Arm| {
            let own: Vec<f64> = rows
                .iter()
                .zip(&arm.1)
                .filter(|(r, _)| r.slice == slice)
                .map(|(r, p)| answer_sets::qampari(&r.golds, p).score.f1)
                .collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        let own: Vec<&Row> = rows.iter().filter(|r| r.slice == slice).collect();
        let recall = own.iter().map(|r| {
            let named: HashSet<usize> = r.candidates.iter().filter_map(|f| f.names).collect();
            named.len() as f64 / r.golds.len().max(1) as f64
        });
        let recall = recall.sum::<f64>() / own.len() as f64;
        println!("| {slice} | {} | {:.3} | {:.3} | {recall:.3} |", own.len(), of(&arms[0]), of(&arms[2]));
    }
}

fn multispan(rows: &[Row], arms: &[Arm]) {
    println!("\n| official | exact P | R | F1 | overlap P | R | F1 |\n|---|---|---|---|---|---|---|");
    for (name, predicted) in arms.iter().filter(|(name, _)| !name.starts_with("oracle")) {
        let counts: Vec<MultiSpanCounts> = rows
            .iter()
            .zip(predicted)
            .map(|(r, p)| MultiSpanCounts::of(p, &r.golds.iter().map(|g| g[0].clone()).collect::<Vec<_>>()))
            .collect();
        let Some(s) = MultiSpanScore::of(&counts) else { continue };
        println!(
            "| {name} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            s.exact.precision,
            s.exact.recall,
            s.exact.f1,
            s.overlap.precision,
            s.overlap.recall,
            s.overlap.f1
        );
    }
}

/// Replies as texts: which gold and which wrong answers they hold.
fn replies(rows: &[Row], arms: &[Arm]) {
    let recorded: Vec<String> = rows.iter().map(|r| r.recorded.clone().unwrap_or_default()).collect();
    println!(
        "\n| reply | gold answers given | wrong answers given | all gold and none wrong |\n|---|---|---|---|"
    );
    let line = |name: &str, replies: &[String]| {
        let scores: Vec<ReplyScore> = rows
            .iter()
            .zip(replies)
            .map(|(r, reply)| {
                let golds: Vec<&str> = r.golds.iter().map(|g| g[0].as_str()).collect();
                ReplyScore::of(reply, &golds, &r.wrongs)
            })
            .collect();
        let means = answer_sets::ReplyMeans::of(&scores);
        let told =
            |m: &counterproof::evaluation::Metric| m.value.map_or("-".to_owned(), |v| format!("{v:.3}"));
        println!(
            "| {name} | {} | {} | {} |",
            told(&means.gold_recall),
            told(&means.wrong_share),
            told(&means.strict_accuracy)
        );
    };
    for (name, predicted) in arms {
        line(name, &predicted.iter().map(|p| p.join("; ")).collect::<Vec<_>>());
    }
    line("a 70B model over all documents (recorded)", &recorded);
}
