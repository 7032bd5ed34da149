// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn found(text: &str, wanted: QuestionType) -> Vec<String> {
    mentions(text, wanted).into_iter().map(|m| m.text).collect()
}

const PASSAGE: &str = "On January 15, 1967, the American actor John C. Reilly Jr. met President Maria de la Cruz in Sochi, Russia. \
    The band The Rolling Stones played \"Paint It Black\" at the Tower of London in 1965 for 12,000 people. However, Reilly left.";

#[test]
fn persons_have_clean_bounds() {
    let persons = found(PASSAGE, QuestionType::Who);
    assert!(persons.contains(&"John C. Reilly Jr.".to_owned()), "{persons:?}");
    assert!(persons.contains(&"Maria de la Cruz".to_owned()), "{persons:?}");
    for wrong in ["January", "American", "However", "Russia", "The", "President"] {
        assert!(!persons.iter().any(|p| p == wrong), "{wrong}: {persons:?}");
    }
    assert_eq!(found("It was won by Jean-Paul O'Brien's team.", QuestionType::Who), ["Jean-Paul O'Brien"]);
    assert_eq!(
        found("Songs by Sammy Davis, Jr. and J. R. R. Tolkien", QuestionType::Who)[0],
        "Sammy Davis, Jr."
    );
}

#[test]
fn places_come_with_and_without_their_country() {
    let places = found(PASSAGE, QuestionType::Where);
    for right in ["Sochi, Russia", "Sochi", "Russia", "Tower of London"] {
        assert!(places.iter().any(|p| p == right), "{right}: {places:?}");
    }
    assert!(!places.iter().any(|p| p.contains("Reilly")), "{places:?}");
}

#[test]
fn times_and_numbers_are_whole() {
    assert_eq!(found(PASSAGE, QuestionType::Year), ["1967", "1965"]);
    assert_eq!(found(PASSAGE, QuestionType::When), ["January 15, 1967", "1965"]);
    assert!(found(PASSAGE, QuestionType::Number).contains(&"12,000".to_owned()));
    let text = "It is 5.5 km long and took twelve years, 1990–1995.";
    let numbers = found(text, QuestionType::Number);
    for right in ["5.5 km", "5.5", "twelve years", "twelve"] {
        assert!(numbers.iter().any(|n| n == right), "{right}: {numbers:?}");
    }
    assert_eq!(found(text, QuestionType::When), ["1990–1995", "1990", "1995"]);
}

#[test]
fn entities_are_names_and_titles() {
    let entities = found(PASSAGE, QuestionType::Entity);
    for right in ["Paint It Black", "Rolling Stones", "Tower of London"] {
        assert!(entities.iter().any(|e| e == right), "{right}: {entities:?}");
    }
}

#[test]
fn the_first_word_of_a_sentence_is_no_name_by_its_capital_alone() {
    assert_eq!(found("Winners get a cup. The winners and Anna left.", QuestionType::Who), ["Anna"]);
}

#[test]
fn chinese_names_and_titles() {
    let text = "鲁迅出生于浙江绍兴，著有《呐喊》。";
    assert!(found(text, QuestionType::Who).contains(&"鲁迅".to_owned()));
    assert!(found(text, QuestionType::Where).iter().any(|p| p.contains("绍兴")));
    assert!(found(text, QuestionType::Entity).contains(&"呐喊".to_owned()));
}

#[test]
fn no_particular_type_has_no_mentions() {
    assert!(found(PASSAGE, QuestionType::YesNo).is_empty());
    assert!(found(PASSAGE, QuestionType::Other).is_empty());
}

#[test]
fn each_wording_is_given_once_and_slices() {
    for wanted in QuestionType::ALL {
        let all = mentions(PASSAGE, wanted);
        for m in &all {
            assert_eq!(m.span.slice(PASSAGE), Some(m.text.as_str()));
            assert_eq!(all.iter().filter(|o| o.text == m.text).count(), 1);
        }
    }
}

#[test]
fn enormous_texts_are_read_in_linear_time() {
    for piece in ["Anna ", "Anna of ", "A. ", "Anna, ", "O'", "\"A"] {
        for wanted in QuestionType::ALL {
            let _ = mentions(&piece.repeat(20_000), wanted);
        }
    }
}

#[test]
fn what_was_read_is_narrowed_to_the_answer() {
    use QuestionType::{Entity, Number, When, Where, Who, Year};
    for (words, wanted, answer) in [
        ("fifth Mughal emperor, Shah Jahan", Who, Some("Shah Jahan")),
        ("the fifth Mughal emperor, Shah Jahan", Who, Some("Shah Jahan")),
        ("Orville and Wilbur Wright", Who, Some("Orville and Wilbur Wright")),
        (
            "Simon Cowell, Amanda Holden and Alesha Dixon",
            Who,
            Some("Simon Cowell, Amanda Holden and Alesha Dixon"),
        ),
        ("English", Who, None),
        ("the Ottoman", Where, Some("the Ottoman")),
        ("English", Entity, Some("English")),
        ("the audience", Who, Some("the audience")),
        ("1994 to 1999", Year, Some("1994")),
        ("in the spring of 1994", Year, Some("1994")),
        ("recently", When, None),
        ("many", Number, None),
    ] {
        assert_eq!(narrowed(words, wanted), answer, "{words}");
    }
}
