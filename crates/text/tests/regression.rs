//! Inputs that broke other tools, each named after its report.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_text::rating::{Rating, rating};
use counterproof_text::value::{Comparison, anchors, compare, values};
use counterproof_text::{abstention, answer, normalise, sentences, tokens};

#[test]
fn r3_an_abstention_on_both_sides_is_a_match_and_an_abstention() {
    let said = "Not found in provided context.";
    assert!(abstention::is_abstention(&answer::clean_answer(said)));
    assert_eq!(normalise::squad(said), normalise::squad(said));
}

#[test]
fn r7_dates_are_compared_by_value() {
    let context = "The first Super Bowl was played on January 15, 1967, at the Los Angeles Memorial Coliseum";
    let said = &values("Jan 15, 1967")[0].value;
    assert!(values(context).iter().any(|found| compare(said, &found.value) == Comparison::Same));
    assert_eq!(tokens::overlap("Jan 15, 1967", context), 1.0);
}

#[test]
fn r13_a_verdict_is_read_whatever_stands_around_it() {
    for text in ["yes ", "yes\n", "Yes.", "yes - because the passage says so"] {
        assert_eq!(answer::yes_no(text), Some(true), "{text:?}");
    }
    for text in ["", "perhaps", "the passage says so"] {
        assert_eq!(answer::yes_no(text), None, "{text:?}");
    }
}

#[test]
fn r19_the_scale_of_a_rating_is_not_the_rating() {
    assert_eq!(rating("On a scale of 0 to 3, I rate this 3", 0..=3), Rating::Given(3));
    assert_eq!(rating("Score 0-3: it is complete, so 3", 0..=3), Rating::Given(3));
    assert_eq!(rating("scale of 0 to 3, I give 2 or 3", 0..=3), Rating::Ambiguous);
}

#[test]
fn r27_nothing_compared_with_nothing_is_no_fault() {
    for (a, b) in [("", ""), ("", "text"), ("zzzz", ""), ("...", "!!!"), ("\0", "\u{feff}")] {
        for measure in [tokens::overlap, tokens::containment] {
            assert_eq!(measure(a, b), 0.0, "{a:?} {b:?}");
        }
        assert!(tokens::jaccard(a, b).is_finite());
        assert!(values(a).is_empty());
    }
    assert!(sentences::sentences("").is_empty());
    assert!(sentences::sentences(" \n\t").is_empty());
}

#[test]
fn r29_an_article_is_found_in_no_answer() {
    for gold in ["A", "The"] {
        let none: [&str; 0] = [];
        let aliases = normalise::Aliases::default();
        assert!(!normalise::epi_scale_match(
            "A long answer, the whole of it",
            &[gold],
            &none,
            &aliases,
            true
        ));
        assert!(!normalise::contains_phrase("long answer", &normalise::squad(gold)));
    }
}

#[test]
fn r31_a_number_is_the_same_with_and_without_commas() {
    let source = "The town has 4,523,000 inhabitants.";
    assert_eq!(compare(&values("4523000")[0].value, &values(source)[0].value), Comparison::Same);
    assert_eq!(tokens::overlap("4523000", source), 1.0);
    assert_eq!(anchors("4523000"), anchors("4,523,000"));
}
