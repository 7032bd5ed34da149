//! The cascade of `answers` against the paper's form, with the same local language model on the same questions of RAMDocs: F1
//! and what it costs.
//!
//! ```text
//! cargo run --release --features gguf -p counterproof --example answers_cost -- --data ../shared/data --base MODEL_DIR \
//!     --model FILE.gguf --rows rows.jsonl [--questions 40] [--k-verify 2] [--out items.jsonl]
//! ```
//!
//! `rows.jsonl` is what `answers_report --rows` wrote. The calibration is fitted to those of its questions that are not asked
//! here.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use counterproof::datasets::collection::SplitShares;
use counterproof::datasets::questions::RamDocsQuestion;
use counterproof::datasets::{Collection, Key, Split};
use counterproof::evaluation::{answer_sets, bootstrap};
use counterproof::gguf::{GgufModel, GgufOptions};
use counterproof::methods::answers::{
    Answers, AnswersCalibration, AnswersConfig, CalibrationRow, Course, Evidence,
};
use counterproof::retrieval::ListRetriever;
use counterproof::{Entailment, LanguageModel, Limits, Passage, Question, Retriever, SpanReader};
use serde::Deserialize;

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

#[derive(Deserialize)]
struct Row {
    question: String,
    golds: Vec<Vec<String>>,
    candidates: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    evidence: Evidence,
    names: Option<usize>,
}

/// The calibration of all questions but these.
fn calibration(but: &HashSet<&str>) -> AnswersCalibration {
    let text = std::fs::read_to_string(argument("--rows").expect("--rows FILE")).unwrap();
    let rows: Vec<CalibrationRow> = text
        .lines()
        .map(|line| serde_json::from_str::<Row>(line).unwrap())
        .filter(|row| !but.contains(row.question.as_str()))
        .map(|row| CalibrationRow {
            candidates: row.candidates.iter().map(|f| (f.evidence, f.names)).collect(),
            answers: row.golds.len(),
        })
        .collect();
    AnswersCalibration::fit(&rows, format!("{} other questions", rows.len())).unwrap()
}

#[derive(Default)]
struct Arm {
    f1: Vec<f64>,
    lenient: Vec<f64>,
    calls: u64,
    tokens: u64,
    searches: u64,
    seconds: f64,
}

#[tokio::main]
async fn main() {
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let splits = data.splits(&SplitShares::default());
    let mut asked: Vec<&RamDocsQuestion> =
        data.ramdocs.iter().filter(|r| splits.of(&r.question) == Split::Report).collect();
    asked.sort_by_key(|r| Key::of(&r.question).to_string());
    asked.truncate(argument("--questions").map_or(40, |n| n.parse().unwrap()));
    let calibration = Arc::new(calibration(&asked.iter().map(|r| r.question.as_str()).collect()));
    let reader: Arc<dyn SpanReader> = Arc::new(counterproof::own::reader(&base).unwrap());
    let verifier: Arc<dyn Entailment> = Arc::new(counterproof::own::verifier(&base).unwrap());
    let file = argument("--model").expect("--model FILE");
    let model: Arc<dyn LanguageModel> =
        Arc::new(GgufModel::open(std::path::Path::new(&file), &GgufOptions::default()).unwrap());
    let k_verify = argument("--k-verify").map_or(5, |n| n.parse().unwrap());
    let mut out = argument("--out").map(|path| std::fs::File::create(path).unwrap());

    let names = ["without a language model", "cascade", "faithful"];
    let mut arms: Vec<Arm> = names.iter().map(|_| Arm::default()).collect();
    let searches: Vec<Answers> = names
        .iter()
        .map(|name| {
            let course = if *name == "faithful" { Course::Faithful } else { Course::Cascade };
            let config = AnswersConfig { k_verify, course, ..AnswersConfig::default() };
            let (reader, verifier) = (Arc::clone(&reader), Arc::clone(&verifier));
            let found = Answers::by_encoders(None, reader, verifier, Arc::clone(&calibration), config);
            if *name == names[0] { found } else { found.with_model(Arc::clone(&model)) }
        })
        .collect();
    for (n, row) in asked.iter().enumerate() {
        let documents = row.documents.iter().enumerate();
        let passages: Vec<Passage> =
            documents.map(|(i, d)| Passage::new(format!("d{}", i + 1), "", d.text.clone())).collect();
        let retriever: Arc<dyn Retriever> =
            Arc::new(ListRetriever::new(passages.clone(), &Limits::default()).unwrap());
        let passages: Vec<Arc<Passage>> = passages.into_iter().map(Arc::new).collect();
        let golds = answer_sets::one_name_each(&row.gold_answers);
        for ((arm, name), found) in arms.iter_mut().zip(names).zip(&searches) {
            let found = found.clone().with_retriever(Some(Arc::clone(&retriever)));
            let start = Instant::now();
            let report = found.answers_in(&Question::new(&row.question), &passages).await.unwrap();
            let answers: Vec<&str> = report.answers.iter().map(|a| a.answer.as_str()).collect();
            arm.seconds += start.elapsed().as_secs_f64();
            arm.f1.push(answer_sets::qampari(&golds, &answers).score.f1);
            arm.lenient.push(answer_sets::contained(&golds, &answers).score.f1);
            let cost = &report.cost.total;
            arm.calls += cost.model_calls;
            arm.tokens += cost.tokens_in.0 + cost.tokens_out.0;
            arm.searches += cost.searches;
            if let Some(out) = &mut out {
                let json = serde_json::json!({
                    "question": row.question, "arm": name, "golds": row.gold_answers, "answers": answers,
                    "rejected": report.rejected, "cost": cost,
                });
                writeln!(out, "{json}").unwrap();
            }
        }
        eprint!("\r{} of {} questions", n + 1, asked.len());
    }
    let count = asked.len();
    println!("\n{}, RAMDocs, n {count}, {k_verify} further passages a candidate", model.identity());
    println!(
        "| | F1 | F1, one containing the other counts | less the paper's form (paired, 95 %) | calls a question | scored or written tokens | searches | seconds |\n|---|---|---|---|---|---|---|---|"
    );
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    for (arm, name) in arms.iter().zip(names) {
        let other = &arms[2].lenient;
        let difference =
            |ix: &[usize]| ix.iter().map(|i| arm.lenient[*i] - other[*i]).sum::<f64>() / ix.len() as f64;
        let within = bootstrap(count, 2000, 1, |ix| Some(difference(ix))).unwrap();
        let all: Vec<usize> = (0..count).collect();
        println!(
            "| {name} | {:.3} | {:.3} | {:+.3} ({:+.3} to {:+.3}) | {:.2} | {:.0} | {:.1} | {:.1} |",
            mean(&arm.f1),
            mean(&arm.lenient),
            difference(&all),
            within.low,
            within.high,
            arm.calls as f64 / count as f64,
            arm.tokens as f64 / count as f64,
            arm.searches as f64 / count as f64,
            arm.seconds / count as f64,
        );
    }
}
