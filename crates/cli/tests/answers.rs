//! `counterproof answers` as a person and a program use it. What needs reader and verifier is skipped, aloud, where the base
//! encoder is not at hand.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{Program, lines};

const FILMS: &str = r#"{"id": "p1", "title": "Heat", "text": "Heat stars Al Pacino as Vincent Hanna, Robert De Niro as Neil McCauley and Val Kilmer as Chris Shiherlis."}
{"id": "p2", "title": "Val Kilmer", "text": "Val Kilmer starred in the film Heat of 1995."}
{"id": "p3", "title": "Snow", "text": "Snow falls in winter."}
"#;

const QUESTION: &str = "Who starred in the film Heat?";

#[test]
fn wrong_uses_are_told() {
    let program = Program::new();
    let film = program.file("films.jsonl", FILMS);
    let film = film.to_str().unwrap();
    for (args, says) in [
        (vec!["answers", ""], "the question is empty"),
        (vec!["answers", QUESTION], "--passages"),
        (vec!["answers", QUESTION, "--ablate", "nothing"], "no_verification"),
        (vec!["answers", QUESTION, "--threshold", "1.5"], "threshold"),
        (vec!["answers", QUESTION, "-k", "0"], "k of answers"),
    ] {
        let more = if says == "--passages" { vec![] } else { vec!["--passages", film] };
        let run = program.run(&[args, more, vec!["--model", "none"]].concat());
        assert!(run.code == Some(2) && run.err.contains(says), "{run:?}");
    }
}

#[test]
fn all_answers_are_found_with_quotations() {
    let Some(program) = Program::with_encoder() else { return };
    let film = program.file("films.jsonl", FILMS);
    let args = ["answers", QUESTION, "--passages", film.to_str().unwrap(), "--model", "none"];
    let run = program.run(&[&args[..], &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let report = run.json();
    let found: Vec<&str> =
        report["answers"].as_array().unwrap().iter().map(|a| a["answer"].as_str().unwrap()).collect();
    for name in ["Al Pacino", "Robert De Niro", "Val Kilmer"] {
        assert!(found.contains(&name), "{report:#}");
    }
    assert!(report["answers"][0]["citations"][0]["quote"].as_str().unwrap().contains("Heat"));
    assert_eq!(report["cost"]["model_calls"], 0);
    let shown = program.run(&[&args[..], &["--explain"]].concat());
    assert!(
        shown.code == Some(0) && shown.out.contains("Val Kilmer") && shown.out.contains("how it came about")
    );
    for needs in [["--faithful", "--model"], ["--questions=template", "--model"]] {
        let run = program.run(&[&args[..], &needs[..1]].concat());
        assert!(run.code == Some(2) && run.err.contains(needs[1]), "{run:?}");
    }
}

#[test]
fn a_batch_reads_what_each_row_brings() {
    let Some(program) = Program::with_encoder() else { return };
    let row = |id: &str, passages: &str| format!(r#"{{"id": "{id}", "question": "{QUESTION}"{passages}}}"#);
    let documents = r#", "documents": [{"text": "The film Heat starred Al Pacino and Robert De Niro."}]"#;
    let rows = program.file("rows.jsonl", format!("{}\n{}\n", row("a", documents), row("b", "")));
    let out = program.path("out.jsonl");
    let run = program.run(&[
        "batch",
        "answers",
        "--input",
        rows.to_str().unwrap(),
        "--output",
        out.to_str().unwrap(),
        "--model",
        "none",
    ]);
    let written = lines(&out);
    let first = written.iter().find(|r| r["id"] == "a").unwrap();
    assert_eq!(first["answers"].as_array().unwrap().len(), 2, "{run:?} {first:#}");
    let second = written.iter().find(|r| r["id"] == "b").unwrap();
    assert!(second.to_string().contains("passages"), "{second:#}");
}

#[test]
fn a_calibration_is_fitted_to_questions_with_known_answers() {
    let Some(program) = Program::with_encoder() else { return };
    let towns = ["Alton", "Burley", "Corby", "Derby", "Epsom", "Farnham", "Goole", "Hove"];
    let row = |town: &&str| {
        let passage = format!("The club of {town} was founded by Ann Lee and Bob Ray. Cy Doe disliked it.");
        serde_json::json!({
            "question": format!("Who founded the club of {town}?"),
            "answers": ["Ann Lee", ["Bob Ray", "Bobby"]],
            "passages": [{ "text": passage }, { "text": "Some say Eve Fox founded a club, elsewhere." }],
        })
        .to_string()
    };
    let rows: Vec<String> = towns.iter().map(row).collect();
    let input = program.file("known.jsonl", rows.join("\n"));
    let out = program.path("answers.json");
    let run = program.run(&[
        "train",
        "calibrator",
        "--input",
        input.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.json()["candidates"].as_u64().unwrap() >= 8, "{run:?}");
    program.file("counterproof.toml", "answers_calibration = \"answers.json\"\n");
    let film = program.file("films.jsonl", FILMS);
    let run = program.run(&[
        "answers",
        QUESTION,
        "--passages",
        film.to_str().unwrap(),
        "--model",
        "none",
        "--json",
        "--config",
        program.path("counterproof.toml").to_str().unwrap(),
    ]);
    assert_eq!(run.code, Some(0), "{run:?}");
}
