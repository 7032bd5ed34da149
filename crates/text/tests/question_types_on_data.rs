//! How the rules type SimpleQA's questions, beside the answer type that the data set gives each. Prints the table; the
//! floor only guards against a break.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use counterproof_core::QuestionType;
use counterproof_text::question::{QuestionTyper, RuleTyper};

/// Which of our types answer which of the data set's.
fn agrees(answer_type: &str, kind: QuestionType) -> bool {
    use QuestionType::{Entity, Number, Other, When, Where, Who, Year};
    match answer_type {
        "Person" => kind == Who,
        "Place" => matches!(kind, Where | Entity),
        "Date" => matches!(kind, Year | When),
        "Number" => kind == Number,
        _ => matches!(kind, Entity | Other | Who | Where),
    }
}

#[test]
fn simpleqa_questions_are_typed_like_their_answers() {
    let root = std::env::var_os("COUNTERPROOF_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(mut rows) = csv::Reader::from_path(root.join("data/simpleqa/simple_qa_test_set.csv")) else {
        println!("skipped: needs the shared data (simpleqa/simple_qa_test_set.csv)");
        return;
    };
    let show = std::env::var("SHOW_MISSES").is_ok();
    let mut table: BTreeMap<String, BTreeMap<QuestionType, usize>> = BTreeMap::new();
    let (mut n, mut agreed) = (0, 0);
    for row in rows.records().map_while(Result::ok) {
        let Some(answer_type) =
            row[0].split("'answer_type': '").nth(1).and_then(|rest| rest.split('\'').next())
        else {
            continue;
        };
        let kind = RuleTyper.classify(&row[1]);
        *table.entry(answer_type.to_owned()).or_default().entry(kind).or_default() += 1;
        n += 1;
        if agrees(answer_type, kind) {
            agreed += 1;
        } else if show {
            println!("MISS {answer_type} {kind} | {} | {}", &row[1], &row[2]);
        }
    }
    for (answer_type, kinds) in &table {
        println!("simpleqa {answer_type:8} {kinds:?}");
    }
    let share = f64::from(agreed) / f64::from(n);
    println!("simpleqa questions typed like their answers: {share:.3} of {n}");
    assert!(share > 0.85);
}
