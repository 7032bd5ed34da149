//! How many gold answers are among the mentions of the passage that holds them, on real data. Prints the figures; the
//! floors only guard against a break.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use counterproof_core::QuestionType;
use counterproof_text::mention::mentions;
use counterproof_text::normalise::squad;
use counterproof_text::question::{QuestionTyper, RuleTyper};
use serde_json::Value;

fn data(path: &str) -> Option<String> {
    let root = std::env::var_os("COUNTERPROOF_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    std::fs::read_to_string(root.join("data").join(path)).ok()
}

#[derive(Default)]
struct Tally {
    questions: usize,
    found: usize,
    mentions: usize,
}

fn measure(
    name: &str,
    items: impl IntoIterator<Item = (String, Vec<String>, String)>,
) -> BTreeMap<QuestionType, Tally> {
    let show = std::env::var("SHOW_MISSES").ok();
    let mut tallies: BTreeMap<QuestionType, Tally> = BTreeMap::new();
    for (question, golds, passage) in items {
        let wanted = RuleTyper.classify(&question);
        let golds: Vec<String> = golds.iter().map(|g| squad(g)).collect();
        if !golds.iter().any(|g| squad(&passage).contains(g.as_str())) {
            continue; // the passage does not hold the answer as a string
        }
        let all = mentions(&passage, wanted);
        let tally = tallies.entry(wanted).or_default();
        tally.questions += 1;
        tally.mentions += all.len();
        let hit = all.iter().any(|m| golds.contains(&squad(&m.text)));
        tally.found += usize::from(hit);
        if !hit && show.as_deref() == Some(wanted.as_str()) {
            let list: Vec<&str> = all.iter().map(|m| m.text.as_str()).collect();
            println!("MISS {question} | {golds:?} | {list:?}\n   {passage}");
        }
    }
    for (kind, tally) in &tallies {
        println!(
            "{name:10} {kind:8} n {:5}  found {:.3}  mean mentions {:.1}",
            tally.questions,
            tally.found as f64 / tally.questions as f64,
            tally.mentions as f64 / tally.questions as f64
        );
    }
    tallies
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
        Value::String(one) => vec![one.clone()],
        _ => Vec::new(),
    }
}

fn share_found(tallies: &BTreeMap<QuestionType, Tally>, kinds: &[QuestionType]) -> f64 {
    let of =
        |f: fn(&Tally) -> usize| kinds.iter().filter_map(|k| tallies.get(k)).map(f).sum::<usize>() as f64;
    of(|t| t.found) / of(|t| t.questions)
}

const TYPED: [QuestionType; 5] =
    [QuestionType::Year, QuestionType::When, QuestionType::Number, QuestionType::Where, QuestionType::Who];

#[test]
fn gold_answers_are_among_the_mentions_of_nq_passages() {
    let Some(text) = data("nq_open/oracle_passages.jsonl") else {
        println!("skipped: needs the shared data (nq_open/oracle_passages.jsonl)");
        return;
    };
    let items = text.lines().filter_map(|line| {
        let row: Value = serde_json::from_str(line).ok()?;
        let passage = row["ctxs"][0]["text"].as_str()?.to_owned();
        Some((row["question"].as_str()?.to_owned(), strings(&row["answers"]), passage))
    });
    let tallies = measure("nq oracle", items);
    assert!(share_found(&tallies, &TYPED) > 0.5);
}

#[test]
fn gold_answers_are_among_the_mentions_of_hotpotqa_paragraphs() {
    let Some(text) = data("hotpotqa/adversarial_with_paragraphs.json") else {
        println!("skipped: needs the shared data (hotpotqa/adversarial_with_paragraphs.json)");
        return;
    };
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let items = rows.iter().map(|row| {
        let paragraphs: Vec<&str> = row["paragraphs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|p| p["context"].as_str())
            .collect();
        (
            row["question"].as_str().unwrap_or_default().to_owned(),
            strings(&row["answer"]),
            paragraphs.join("\n"),
        )
    });
    let tallies = measure("hotpotqa", items);
    assert!(share_found(&tallies, &TYPED) > 0.5);
}
