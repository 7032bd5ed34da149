//! How far the offline grader agrees with a recorded judge, on real answers. Prints the figures; the floor only guards
//! against a break.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::PathBuf;

use counterproof_evaluation::{Grade, cohen_kappa, grade_offline, wilson};
use serde_json::Value;

#[test]
fn the_offline_grader_agrees_with_the_recorded_judge() {
    let root = std::env::var_os("COUNTERPROOF_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(root.join("data/simpleqa/recorded_agent_answers.jsonl")) else {
        println!("skipped: needs the shared data (simpleqa/recorded_agent_answers.jsonl)");
        return;
    };
    let show = std::env::var("SHOW_DISAGREEMENTS").is_ok();
    let mut pairs = Vec::new();
    let mut ungraded = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let judged = match row["grade_str"].as_str() {
            Some("CORRECT") => Grade::Correct,
            Some("INCORRECT") => Grade::Incorrect,
            Some("NOT_ATTEMPTED") => Grade::NotAttempted,
            _ => {
                ungraded += 1;
                continue;
            }
        };
        let (gold, predicted) = (
            row["answer"].as_str().unwrap_or_default(),
            row["predicted_answer"].as_str().unwrap_or_default(),
        );
        let ours = grade_offline(gold, predicted);
        if show && ours != judged {
            println!("{} / {}: {} | {gold} | {predicted}", judged.as_str(), ours.as_str(), row["question"]);
        }
        pairs.push((judged, ours));
    }
    let agreed = pairs.iter().filter(|(a, b)| a == b).count();
    let agreement = agreed as f64 / pairs.len() as f64;
    let kappa = cohen_kappa(&pairs).unwrap();
    let interval = wilson(agreed as u64, pairs.len() as u64).unwrap();
    println!(
        "offline grader against the recorded judge: n {} ({ungraded} without a grade), agreement {agreement:.3} [{:.3}, {:.3}], kappa {kappa:.3}",
        pairs.len(),
        interval.low,
        interval.high
    );
    println!("rows judged, columns offline (correct, incorrect, not attempted):");
    for judged in Grade::ALL {
        let row: Vec<usize> =
            Grade::ALL.iter().map(|ours| pairs.iter().filter(|p| **p == (judged, *ours)).count()).collect();
        println!("  {:14} {row:?}", judged.as_str());
    }
    assert!(agreement > 0.8 && kappa > 0.5);
}
