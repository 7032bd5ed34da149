//! What rows may look like, and what becomes of those that cannot be read.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_batch::{Input, InputFormat, InputRow};
use counterproof_core::Limits;

fn read(format: InputFormat, bytes: &[u8], limits: Limits) -> Vec<InputRow> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in");
    std::fs::write(&path, bytes).unwrap();
    Input::new(path, format, limits).rows().unwrap().map(Result::unwrap).collect()
}

fn error_of(row: &InputRow) -> String {
    row.content.as_ref().unwrap_err().to_string()
}

#[test]
fn json_lines_with_a_mark_windows_line_ends_and_no_last_line_end() {
    let rows = read(
        InputFormat::JsonLines,
        "\u{feff}{\"id\": 7, \"question\": \"q1\", \"answer\": \"a\"}\r\n\r\n{\"problem\": \"q2\", \"llm_answer\": 1889}"
            .as_bytes(),
        Limits::default(),
    );
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].number, rows[0].id.as_str()), (1, "7"));
    assert_eq!(rows[0].content.as_ref().unwrap().draft.as_deref(), Some("a"));
    assert_eq!(rows[1].number, 3);
    assert_eq!(rows[1].content.as_ref().unwrap().draft.as_deref(), Some("1889"));
}

#[test]
fn a_model_s_answer_goes_before_the_right_one_as_draft() {
    let rows = read(
        InputFormat::JsonLines,
        br#"{"question": "q", "answer": "right", "llm_answer": "a model's"}"#,
        Limits::default(),
    );
    assert_eq!(rows[0].content.as_ref().unwrap().draft.as_deref(), Some("a model's"));
}

#[test]
fn passages_are_texts_or_objects() {
    let rows = read(
        InputFormat::JsonLines,
        br#"{"question": "q", "ctxs": ["one", {"title": "T", "text": "two"}, {"id": "x", "text": "three"}]}
{"question": "q", "passages": [{"title": "no text"}]}
{"question": "q", "passages": "not a list"}"#,
        Limits::default(),
    );
    let passages = rows[0].content.as_ref().unwrap().passages.as_ref().unwrap();
    let told: Vec<_> = passages.iter().map(|p| (p.id.as_str(), p.title.as_str(), p.text.as_str())).collect();
    assert_eq!(told, [("1", "", "one"), ("2", "T", "two"), ("x", "", "three")]);
    assert!(error_of(&rows[1]).contains("line 2, field passages: passage 1 has no field text"));
    assert!(error_of(&rows[2]).contains("must be a list"));
}

#[test]
fn what_cannot_be_read_is_named_by_its_line_and_the_rest_goes_on() {
    let limits = Limits { max_row_bytes: 200, max_question_bytes: 50, ..Limits::default() };
    let long = format!("{{\"question\": \"{}\"}}", "x".repeat(300));
    let wide = format!("{{\"question\": \"{}\"}}", "x".repeat(60));
    let lines: [&[u8]; 8] = [
        b"not json",
        b"[1, 2]",
        b"{\"question\": \"\"}",
        b"{\"answer\": \"no question\"}",
        b"{\"question\": \"a\\u0000b\"}",
        b"{\"question\": \"\xff\xfe\"}",
        long.as_bytes(),
        wide.as_bytes(),
    ];
    let mut bytes = lines.join(&b'\n');
    bytes.extend_from_slice(b"\n{\"question\": \"fine\"}\n");
    let rows = read(InputFormat::JsonLines, &bytes, limits);
    let told: Vec<String> = rows[..8].iter().map(error_of).collect();
    for (text, needle) in told.iter().zip([
        "line 1",
        "line 2",
        "question is empty",
        "line 4, field question",
        "NUL",
        "not UTF-8",
        "max_row_bytes",
        "max_question_bytes",
    ]) {
        assert!(text.contains(needle), "{needle:?} is missing from {text:?}");
    }
    assert_eq!(rows[8].content.as_ref().unwrap().question, "fine");
}

#[test]
fn a_csv_row_with_too_few_fields_is_named_by_its_line() {
    let rows = read(
        InputFormat::Csv,
        b"id,question,draft\r\n1,\"When,\nexactly?\",1889\r\n2,short\r\n3,Who?,me\r\n",
        Limits::default(),
    );
    assert_eq!(rows[0].content.as_ref().unwrap().question, "When,\nexactly?");
    assert_eq!(error_of(&rows[1]), "line 4: it has 2 fields where the header has 3");
    assert_eq!(rows[2].content.as_ref().unwrap().draft.as_deref(), Some("me"));
}

#[test]
fn a_quote_that_is_never_closed_costs_its_own_row_only() {
    let text = "question,draft\nhow tall is a 5\" pipe?,5\n\"Who,me\nWhen?,1889\n\nWhere?,here\n";
    let rows = read(InputFormat::Csv, text.as_bytes(), Limits::default());
    let told: Vec<_> = rows.iter().map(|r| r.content.as_ref().map(|c| c.question.as_str())).collect();
    assert_eq!(told[0].unwrap(), "how tall is a 5\" pipe?");
    assert!(told[1].unwrap_err().to_string().contains("line 3: a quote is opened"));
    assert_eq!((told[2].unwrap(), rows[2].number), ("When?", 4));
    assert_eq!((told[3].unwrap(), rows[3].number), ("Where?", 6));
}

#[test]
fn a_csv_without_a_question_column_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.csv");
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let error = Input::new(path, InputFormat::Csv, Limits::default()).rows().err().unwrap();
    assert!(error.to_string().contains("names no column question; it names a, b"), "{error}");
}

#[test]
fn the_digest_follows_the_content() {
    let rows = read(
        InputFormat::JsonLines,
        b"{\"question\": \"a\"}\n{\"question\": \"a\"} \r\n{\"question\": \"b\"}\n",
        Limits::default(),
    );
    assert_eq!(rows[0].digest, rows[1].digest, "blanks around a line are no content");
    assert_ne!(rows[0].digest, rows[2].digest);
}
