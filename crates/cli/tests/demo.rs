//! The demo where nothing can be fetched: the small corpus and the recorded model that are part of the program.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::Program;

#[test]
fn the_small_demo_runs_to_its_end_with_nothing_fetched() {
    let program = Program::new();
    let run = program.run(&["demo", "--small", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("part of the program"), "it says what it goes on with: {run:?}");
    let demo = run.json();
    let tally = &demo["tally"];
    assert_eq!(tally["failed"], 0, "the recording answers every question the engine asks of it: {demo}");
    let count = |name: &str| tally[name].as_u64().unwrap();
    assert!(count("repaired") >= 8, "{tally}");
    assert!(count("left_alone") >= 4 && count("left_alone") == count("right"), "{tally}");
    for row in demo["rows"].as_array().unwrap() {
        assert!(
            row["decision"] == "keep" || row["citations"].as_array().is_some_and(|c| !c.is_empty()),
            "{row}"
        );
    }
}

#[test]
fn a_person_sees_question_answers_and_evidence() {
    let program = Program::new();
    let run = program.run(&["demo", "--small", "--limit", "2"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("In what year was the Brooklyn Bridge opened?"), "{run:?}");
    assert!(run.out.contains("counterproof index build"), "it says what to do next: {run:?}");
}
