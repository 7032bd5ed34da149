//! How many answers a repair helps and how many it harms, on real questions with controlled drafts.
//!
//! NQ questions are searched over all oracle passages of the set; adversarial HotpotQA questions over their own four
//! paragraphs, two of which are planted. Half the drafts are right; half are wrong by an answer of the same type: the
//! answer of another question, or, for HotpotQA, the answer that the planted paragraphs lead to. Questions are split
//! in two by a hash of their text: thresholds were chosen on the `tune` half, figures are reported on the other.
//!
//! ```text
//! cargo run --release --features gguf -p counterproof --example repair_quality -- \
//!     --data ../shared/data --model gguf:qwen2.5-coder-0.5b-instruct.gguf --half report --out items.jsonl
//! ```

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use counterproof::evaluation::{Grade, Intervention, Transition, grade_offline, wilson};
use counterproof::gguf::{GgufModel, GgufOptions};
use counterproof::methods::repair::{
    Contest, Gate, GateCase, Ledger, Repair, RepairConfig, Ruling, ScoreGate, means_the_same,
};
use counterproof::retrieval::ListRetriever;
use counterproof::text::question::{QuestionTyper, RuleTyper};
use counterproof::{LanguageModel, Limits, Passage, Question, QuestionType, Result, Retriever, sha256_hex};
use serde::Serialize;
use serde_json::{Value, json};

struct Row {
    set: &'static str,
    id: String,
    question: String,
    golds: Vec<String>,
    planted: Option<String>,
    question_type: QuestionType,
    retriever: Arc<dyn Retriever>,
}

/// The score gate, keeping what it saw.
#[derive(Default)]
struct Watched(Mutex<Option<Contest>>);

#[async_trait::async_trait]
impl Gate for Watched {
    async fn rule(
        &self,
        case: &GateCase<'_>,
        model: &dyn LanguageModel,
        ledger: &mut Ledger,
    ) -> Result<Ruling> {
        let contest = ScoreGate.contest(case, model, ledger).await?;
        *self.0.lock().unwrap() = contest.clone();
        Ok(match contest {
            None => Ruling::NoAlternative,
            Some(contest) => ScoreGate::decide(&contest, case.config, ledger),
        })
    }
    fn calls(&self) -> u64 {
        ScoreGate.calls()
    }
}

#[derive(Serialize)]
struct Item<'a> {
    set: &'a str,
    id: &'a str,
    question: &'a str,
    question_type: QuestionType,
    golds: &'a [String],
    draft: &'a str,
    draft_kind: &'a str,
    answer: String,
    reason: String,
    before: Grade,
    after: Grade,
    contest: Option<Contest>,
    wall_ms: u64,
}

fn number(text: &str, salt: &str) -> u64 {
    let digest = sha256_hex(format!("{salt}\0{text}"));
    u64::from_str_radix(&digest.as_str()[..15], 16).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().filter(|l| !l.trim().is_empty()).map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The best grade over the gold answers, by the offline grader.
fn grade(golds: &[String], answer: &str) -> Grade {
    let grades: Vec<Grade> = golds.iter().map(|gold| grade_offline(gold, answer)).collect();
    *grades.iter().find(|g| **g == Grade::Correct).or(grades.first()).unwrap_or(&Grade::Incorrect)
}

fn nq(data: &Path) -> Vec<Row> {
    let rows = lines(&data.join("nq_open/oracle_passages.jsonl"));
    let passages: Vec<Passage> = rows
        .iter()
        .enumerate()
        .map(|(i, r)| {
            Passage::new(format!("nq{i}"), text(&r["ctxs"][0]["title"]), text(&r["ctxs"][0]["text"]))
        })
        .collect();
    let retriever: Arc<dyn Retriever> = Arc::new(ListRetriever::new(passages, &Limits::default()).unwrap());
    rows.iter()
        .enumerate()
        .map(|(i, r)| Row {
            set: "nq",
            id: format!("nq{i}"),
            question: text(&r["question"]),
            golds: r["answers"].as_array().unwrap().iter().map(text).collect(),
            planted: None,
            question_type: RuleTyper.classify(&text(&r["question"])),
            retriever: Arc::clone(&retriever),
        })
        .collect()
}

fn hotpot(data: &Path) -> Vec<Row> {
    let planted: BTreeMap<String, String> = lines(&data.join("hotpotqa/adversarial_wrong_answers.jsonl"))
        .iter()
        .map(|r| (text(&r["qas_id"]), text(&r["answer"])))
        .collect();
    let file = std::fs::read_to_string(data.join("hotpotqa/adversarial_with_paragraphs.json")).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&file).unwrap();
    rows.iter()
        .map(|r| {
            let id = text(&r["qas_id"]);
            let passages = r["paragraphs"].as_array().unwrap().iter().enumerate().map(|(i, p)| {
                // "added" is the mark of a planted paragraph, not its title.
                let title = Some(text(&p["title"])).filter(|t| t != "added").unwrap_or_default();
                Passage::new(format!("{id}#{i}"), title, text(&p["context"]))
            });
            let question = text(&r["question"]).trim().to_owned();
            Row {
                set: "hotpotqa-adversarial",
                golds: vec![text(&r["answer"])],
                planted: planted.get(&id).cloned(),
                question_type: RuleTyper.classify(&question),
                retriever: Arc::new(ListRetriever::new(passages, &Limits::default()).unwrap()),
                question,
                id,
            }
        })
        .collect()
}

/// The draft of a row and how it was made: right for half the rows, else wrong by an answer of the same type.
fn draft(row: &Row, rows: &[Row]) -> Option<(String, &'static str)> {
    let is_gold = |a: &str| {
        row.golds.iter().any(|g| means_the_same(g, a, &[])) || grade(&row.golds, a) == Grade::Correct
    };
    if number(&row.id, "draft").is_multiple_of(2) {
        return Some((row.golds.first()?.clone(), "right"));
    }
    if row.question_type == QuestionType::YesNo {
        let said = row.golds.first()?.to_lowercase();
        return Some((if said.starts_with("yes") { "no" } else { "yes" }.to_owned(), "opposite"));
    }
    if let Some(planted) = row.planted.clone().filter(|p| p != "None" && !is_gold(p)) {
        return Some((planted, "planted"));
    }
    let others: Vec<&Row> =
        rows.iter().filter(|o| o.question_type == row.question_type && o.id != row.id).collect();
    let start = number(&row.id, "other") as usize;
    (0..others.len())
        .filter_map(|i| others[(start + i) % others.len()].golds.first())
        .find(|answer| !is_gold(answer))
        .map(|answer| (answer.clone(), "other_question"))
}

fn argument(name: &str) -> Option<String> {
    let mut args = std::env::args().skip_while(|a| a != name);
    args.next().and_then(|_| args.next())
}

#[tokio::main]
async fn main() {
    let data = PathBuf::from(argument("--data").unwrap_or_else(|| "../shared/data".into()));
    let model = argument("--model").expect("--model gguf:FILE");
    let half = argument("--half").unwrap_or_else(|| "report".into());
    let limit: usize = argument("--limit").map_or(usize::MAX, |n| n.parse().unwrap());
    let path = model.strip_prefix("gguf:").unwrap_or(&model);
    let model: Arc<dyn LanguageModel> = Arc::new(GgufModel::open(path, &GgufOptions::default()).unwrap());
    let mut out = argument("--out").map(|p| std::fs::File::create(p).unwrap());
    let mut config = RepairConfig::default();
    std::env::args().zip(std::env::args().skip(1)).filter(|(a, _)| a == "--ablate").for_each(|(_, name)| {
        config.ablate(&name).unwrap();
    });

    let mut slices: BTreeMap<(String, String), Vec<Transition>> = BTreeMap::new();
    for rows in [nq(&data), hotpot(&data)] {
        let chosen = rows
            .iter()
            .filter(|r| number(&r.question, "half").is_multiple_of(2) == (half == "tune"))
            .take(limit);
        for row in chosen {
            let Some((draft, kind)) = draft(row, &rows) else { continue };
            let gate = Arc::new(Watched::default());
            let repair = Repair::new(Arc::clone(&row.retriever), Arc::clone(&model), config.clone())
                .with_gate(gate.clone());
            let start = std::time::Instant::now();
            let report = repair.repair(&Question::new(&row.question), &draft).await.unwrap();
            let before = grade(&row.golds, &draft);
            let after = grade(&row.golds, &report.answer);
            let changed = report.answer != draft;
            for key in [
                (row.set.to_owned(), "all".to_owned()),
                (row.set.to_owned(), row.question_type.to_string()),
                (row.set.to_owned(), format!("draft {kind}")),
            ] {
                slices.entry(key).or_default().push(Transition { before, after, changed });
            }
            if let Some(out) = &mut out {
                let item = Item {
                    set: row.set,
                    id: &row.id,
                    question: &row.question,
                    question_type: row.question_type,
                    golds: &row.golds,
                    draft: &draft,
                    draft_kind: kind,
                    answer: report.answer.clone(),
                    reason: report.reason.code().to_owned(),
                    before,
                    after,
                    contest: gate.0.lock().unwrap().take(),
                    wall_ms: start.elapsed().as_millis() as u64,
                };
                writeln!(out, "{}", json!(item)).unwrap();
            }
        }
    }
    println!(
        "| set | slice | n | right before | right after (95 %) | changed | helped | harmed | McNemar p |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for ((set, slice), transitions) in &slices {
        let report = Intervention::of(transitions);
        let share = |right: usize| right as f64 / report.n.max(1) as f64;
        let after = wilson(report.correct_after() as u64, report.n as u64).unwrap();
        println!(
            "| {set} | {slice} | {} | {:.3} | {:.3} ({:.3}-{:.3}) | {} | {} | {} | {:.2e} |",
            report.n,
            share(report.correct_before()),
            share(report.correct_after()),
            after.low,
            after.high,
            report.changed,
            report.helped,
            report.harmed,
            report.p_value,
        );
    }
}
