//! How the recorded replies of a language model to RAMDocs score. Prints the figures; the bounds only guard against a
//! break of the scorer.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::PathBuf;

use counterproof_evaluation::Metric;
use counterproof_evaluation::answer_sets::{ReplyMeans, ReplyScore};
use serde_json::Value;

#[test]
fn the_recorded_replies_score_as_strings_do() {
    let root = std::env::var_os("COUNTERPROOF_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(root.join("data/ramdocs/recorded_llama-3.3-70b.jsonl")) else {
        println!("skipped: needs the shared data (ramdocs/recorded_llama-3.3-70b.jsonl)");
        return;
    };
    let strings =
        |row: &Value, field: &str| -> Vec<String> { serde_json::from_value(row[field].clone()).unwrap() };
    let mut scores = Vec::new();
    let mut out_of_reach = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (golds, wrongs) = (strings(&row, "gold_answers"), strings(&row, "wrong_answers"));
        scores.push(ReplyScore::of(row["llm_answer"].as_str().unwrap(), &golds, &wrongs));
        // A reply of nothing but the gold answers.
        out_of_reach += usize::from(!ReplyScore::of(&golds.join("\n"), &golds, &wrongs).is_right());
    }
    let means = ReplyMeans::of(&scores);
    let show = |name: &str, metric: &Metric| println!("{name}: {:.3}, n {}", metric.value.unwrap(), metric.n);
    show("gold recall", &means.gold_recall);
    show("share of wrong answers given", &means.wrong_share);
    show("strict accuracy", &means.strict_accuracy);
    println!("rows that no reply can get right: {out_of_reach}");
    assert!(means.strict_accuracy.value.unwrap() > 0.2 && out_of_reach * 20 < scores.len());
}
