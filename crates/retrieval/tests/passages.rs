//! How documents are cut.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_retrieval::corpus::Document;
use counterproof_retrieval::passages::{PassageOptions, split};
use proptest::prelude::*;

fn document(text: impl Into<String>) -> Document {
    Document { id: "doc".into(), title: "Title".into(), url: Some("u".into()), text: text.into() }
}

fn words(n: usize, sentence: usize) -> String {
    (0..n)
        .map(|i| match i % sentence {
            0 => format!("Word{i} "),
            last if last + 1 == sentence => format!("word{i}. "),
            _ => format!("word{i} "),
        })
        .collect()
}

#[test]
fn a_document_that_fits_keeps_its_id() {
    let passages = split(&document("  It opened in 1889. It closed in 1914.\n"), &PassageOptions::default());
    assert_eq!(passages.len(), 1);
    assert_eq!(passages[0].id.as_str(), "doc");
    assert_eq!(passages[0].text, "It opened in 1889. It closed in 1914.");
    assert_eq!((passages[0].title.as_str(), passages[0].url.as_deref()), ("Title", Some("u")));
}

#[test]
fn a_long_document_is_cut_where_sentences_end() {
    let passages = split(&document(words(450, 15)), &PassageOptions::default());
    assert_eq!(
        passages.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(),
        ["doc#0", "doc#1", "doc#2", "doc#3", "doc#4"]
    );
    for p in &passages {
        assert!(p.text.ends_with('.') && p.text.starts_with("Word"), "{}", p.text);
        let n = p.text.split_whitespace().count();
        assert!((60..=100).contains(&n), "{n} words");
    }
}

#[test]
fn a_little_over_one_passage_gives_two_of_like_size() {
    let sizes: Vec<usize> = split(&document(words(110, 10)), &PassageOptions::default())
        .iter()
        .map(|p| p.text.split_whitespace().count())
        .collect();
    assert_eq!(sizes.len(), 2);
    assert!(sizes[0].abs_diff(sizes[1]) <= 10, "{sizes:?}");
}

#[test]
fn chinese_is_counted_by_characters() {
    let sentence = "图书馆建于一九五二年，藏书三百万册，是全省最大的图书馆。";
    let passages = split(&document(sentence.repeat(20)), &PassageOptions::default());
    assert!(passages.len() >= 3, "{}", passages.len());
    for p in &passages {
        assert!(p.text.ends_with('。'));
        assert!(p.text.chars().count() <= 200, "{}", p.text.chars().count());
    }
}

#[test]
fn a_sentence_without_end_is_cut_between_words() {
    let passages = split(&document("name ".repeat(1000)), &PassageOptions::default());
    assert!(passages.len() >= 10, "{}", passages.len());
    assert!(passages.iter().all(|p| p.text.split(' ').all(|w| w == "name")));
    let blob = split(&document("x".repeat(100_000)), &PassageOptions::default());
    assert!(blob.len() > 10 && blob.iter().map(|p| p.text.len()).sum::<usize>() == 100_000);
}

#[test]
fn a_blank_document_gives_no_passage() {
    assert!(split(&document(" \n\t "), &PassageOptions::default()).is_empty());
    assert!(split(&document(""), &PassageOptions::default()).is_empty());
}

proptest! {
    #[test]
    fn passages_are_slices_in_order_that_hold_every_word(
        text in "([a-zA-Z]{1,9}|图书馆|é́|[0-9.,]{1,6}|\\.|。|!|\\n|\\PC){0,300}( |\\. |\\n){0,1}",
        max in 1usize..60,
    ) {
        let document = document(text);
        let passages = split(&document, &PassageOptions { words: max });
        let mut at = 0;
        for p in &passages {
            let start = document.text[at..].find(&p.text).map(|i| i + at);
            prop_assert!(start.is_some(), "not a slice behind {}: {:?}", at, p.text);
            prop_assert!(document.text[at..start.unwrap()].trim().is_empty(), "words were lost");
            prop_assert!(!p.text.trim().is_empty() && p.text.trim() == p.text);
            at = start.unwrap() + p.text.len();
        }
        prop_assert!(document.text[at..].trim().is_empty(), "words were lost at the end");
        prop_assert_eq!(split(&document, &PassageOptions { words: max }), passages, "the same cut every time");
    }
}
