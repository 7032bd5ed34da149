//! What the comparison finds and what it leaves alone.

use proptest::prelude::*;

use super::*;
use crate::statement::statement;

fn kinds(evidence: &str, claim: &str) -> Vec<ConflictKind> {
    compare(evidence, claim).conflicts.into_iter().map(|c| c.kind).collect()
}

fn feature(evidence: &str, claim: &str, name: &str) -> f32 {
    let at = FEATURES.iter().position(|f| *f == name).unwrap();
    compare(evidence, claim).features[at]
}

const HALL: &str =
    "Albert Hall. The hall was designed by Francis Fowke and opened on 29 March 1871. It seats 5,272 people.";

#[test]
fn values_that_cannot_both_be_right_are_found_with_their_words() {
    let found = compare(HALL, "The hall was opened on 29 March 1872.");
    assert_eq!(found.conflicts.len(), 1);
    let conflict = &found.conflicts[0];
    assert_eq!((conflict.stated.as_str(), conflict.claimed.as_str()), ("29 March 1871", "29 March 1872"));
    assert_eq!(conflict.evidence.slice(HALL), Some("29 March 1871"));
    assert_eq!(kinds(HALL, "The hall seats 6,000 people."), [ConflictKind::Number]);
}

#[test]
fn the_same_value_in_other_words_is_no_conflict() {
    for claim in [
        "The hall opened in March 1871.",
        "The hall opened in 1871.",
        "Francis Fowke designed the hall.",
        "The hall seats 5272.",
        "The hall was designed by Francis Fowke.",
    ] {
        assert!(kinds(HALL, claim).is_empty(), "{claim}: {:?}", compare(HALL, claim).conflicts);
    }
}

#[test]
fn a_value_about_something_else_is_no_conflict() {
    assert!(kinds("Frogs were first described in 1758.", "The hall was opened in 1871.").is_empty());
    assert!(kinds("", "The hall was opened in 1871.").is_empty());
    assert!(kinds(HALL, "").is_empty());
}

#[test]
fn another_name_in_the_same_place() {
    let found = compare(HALL, "The hall was designed by Joseph Paxton.");
    assert_eq!(found.conflicts[0].kind, ConflictKind::Name);
    assert_eq!(
        (found.conflicts[0].stated.as_str(), found.conflicts[0].claimed.as_str()),
        ("Francis Fowke", "Joseph Paxton")
    );
    assert!(kinds(HALL, "The hall was praised by Joseph Paxton.").is_empty());
}

#[test]
fn denials_and_opposites() {
    assert_eq!(kinds("The town is not in Wales.", "The town is in Wales."), [ConflictKind::Negation]);
    assert_eq!(kinds("The town is in Wales.", "The town isn't in Wales."), [ConflictKind::Negation]);
    assert_eq!(
        kinds("It is the largest town of the north.", "It is the smallest town of the north."),
        [ConflictKind::Opposite]
    );
    assert!(kinds("He did not come. The town is in Wales.", "The town is in Wales.").is_empty());
}

#[test]
fn an_answer_is_looked_for_beside_the_questions_words() {
    let passage = "Anna Smith wrote the novel in 1931. It was illustrated by Tom Jones in 1940.";
    let right = statement("Who wrote the novel?", "Anna Smith");
    let wrong = statement("Who wrote the novel?", "Tom Jones");
    assert!(feature(passage, &right, "nearness_lead") > feature(passage, &wrong, "nearness_lead"));
    assert_eq!(feature(passage, &right, "rivals_nearer"), 0.0);
    assert_eq!(feature(passage, &wrong, "rivals_nearer"), 1.0);
    let absent = compare(passage, &statement("Who wrote the novel?", "Eve Black"));
    let conflict = absent.conflicts.iter().find(|c| c.kind == ConflictKind::Answer).unwrap();
    assert_eq!((conflict.stated.as_str(), conflict.claimed.as_str()), ("Anna Smith", "Eve Black"));
    assert_eq!(feature(passage, "Anna Smith wrote the novel.", "is_answer"), 0.0);
}

#[test]
fn chinese_is_compared_by_value_and_word_too() {
    assert_eq!(kinds("图书馆建于1952年。", "图书馆建于1953年。"), [ConflictKind::Date]);
    assert!(kinds("图书馆建于一九五二年。", "图书馆建于1952年。").is_empty());
    let right = statement("图书馆建于哪一年？", "1952年");
    assert_eq!(feature("图书馆建于1952年。", &right, "answer_held"), 1.0);
}

#[test]
fn long_evidence_is_read_in_part_and_in_time() {
    let long = "The hall was opened in 1871 by the queen. ".repeat(3_000);
    let begun = std::time::Instant::now();
    assert!(!compare(&long, "The hall was opened in 1872.").conflicts.is_empty());
    assert!(begun.elapsed().as_secs() < 10);
}

proptest! {
    #[test]
    fn features_are_finite_and_spans_lie_in_their_texts(
        evidence in "[A-Za-z0-9 .,?'国年不é]{0,80}",
        claim in "[A-Za-z0-9 .,?'国年不é]{0,60}",
    ) {
        let found = compare(&evidence, &claim);
        prop_assert!(found.features.iter().all(|f| f.is_finite()));
        for conflict in &found.conflicts {
            prop_assert_eq!(conflict.evidence.slice(&evidence), Some(conflict.stated.as_str()));
            prop_assert_eq!(conflict.statement.slice(&claim), Some(conflict.claimed.as_str()));
        }
    }

    #[test]
    fn a_text_is_never_at_odds_with_itself(text in "[A-Z][a-z]{2,6}( [a-z]{1,7}| [0-9]{1,4}| not| first){1,9}\\.") {
        prop_assert!(compare(&text, &text).conflicts.is_empty());
    }
}
