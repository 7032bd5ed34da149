//! Normalisation of accepted revisions (CounterRefine, step 7): the year alone, ranges in one form, no lead words.

use std::sync::LazyLock;

use counterproof_core::QuestionType;
use counterproof_text::answer::{clean_answer, yes_no};
use counterproof_text::mention::mentions;
use counterproof_text::question::asks_estimate;
use counterproof_text::value::years;
use regex::Regex;

/// The accepted `answer` in the form its question type calls for. The result is never blank.
pub fn normalise(answer: &str, question: &str, question_type: QuestionType) -> String {
    let answer = answer.trim();
    let normal = match question_type {
        QuestionType::YesNo => match yes_no(answer) {
            Some(true) if answer.is_ascii() => "Yes".to_owned(),
            Some(false) if answer.is_ascii() => "No".to_owned(),
            Some(true) => "是".to_owned(),
            Some(false) => "否".to_owned(),
            None => answer.to_owned(),
        },
        QuestionType::Year => year(answer),
        QuestionType::Number => number(answer, asks_estimate(question)),
        QuestionType::When => when(answer),
        QuestionType::Who | QuestionType::Where | QuestionType::Entity => clean_answer(answer),
        QuestionType::Other => answer.to_owned(),
    };
    if normal.trim().is_empty() { answer.to_owned() } else { normal }
}

#[allow(clippy::expect_used)] // Literal patterns; the tests below compile them.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern compiles")
}

static YEAR_RANGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(\d{3,4})\s*(?:-|–|—|~|to|until|till|through|and|至|到)\s*(\d{2,4})(?:\D|$)")
});
static NUMBER_RANGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)(?:\b(?:from|between)\s+)?([\d.,]*\d)\s*(?:-|–|—|to|and|至|到)\s*(\d[\d.,]*)")
});
static NUMBER_LEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:about|around|approximately|roughly|some|nearly|almost|circa|ca?\.|a total of|in total|大约|约|共|总共)\s*",
    )
});
static WHEN_LEAD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(?:on|in|at|during)\s+(?:the\s+)?"));

/// The two years of an answer that is a range of years, as written.
pub(super) fn year_range(answer: &str) -> Option<(String, String)> {
    let found = YEAR_RANGE.captures(answer)?;
    let lower = answer.to_lowercase();
    let (from, to) = (found.get(1)?, found.get(2)?);
    let joined_by_and = lower.get(from.end()..to.start())?.trim() == "and";
    // "1990 and 1995" names two years; "between 1990 and 1995" is a range.
    if joined_by_and && !lower.get(..from.start())?.trim_end().ends_with("between") {
        return None;
    }
    let short = to.len() < from.len();
    let to = if short {
        format!("{}{}", from.as_str().get(..from.len() - to.len())?, to.as_str())
    } else {
        to.as_str().to_owned()
    };
    Some((from.as_str().to_owned(), to))
}

fn year(answer: &str) -> String {
    if let Some((from, to)) = year_range(answer) {
        return format!("{from}-{to}");
    }
    match years(answer).as_slice() {
        [(year, _)] => year.clone(),
        _ => answer.to_owned(),
    }
}

fn number(answer: &str, estimate_asked: bool) -> String {
    let mut answer = answer.to_owned();
    if !estimate_asked {
        answer = NUMBER_LEAD.replace(&answer, "").into_owned();
    }
    let lower = answer.to_lowercase();
    let Some(found) = NUMBER_RANGE.captures(&answer) else { return answer };
    let (Some(whole), Some(from), Some(to)) = (found.get(0), found.get(1), found.get(2)) else {
        return answer;
    };
    let between = answer.get(from.end()..to.start()).unwrap_or_default().trim().to_lowercase();
    // "10 and 12" without "between" is two numbers.
    if between == "and" && !lower.get(..from.start()).unwrap_or_default().trim_end().ends_with("between") {
        return answer;
    }
    let head = answer.get(..whole.start()).unwrap_or_default();
    let tail = answer.get(whole.end()..).unwrap_or_default();
    format!("{head}{}-{}{tail}", from.as_str(), to.as_str())
}

fn when(answer: &str) -> String {
    let bare = WHEN_LEAD.replace(answer, "").into_owned();
    // The longest date expression stands for the answer when everything before it is gone; what follows is a clause.
    match mentions(&bare, QuestionType::When).into_iter().find(|m| m.span.start() == 0) {
        Some(date) => date.text,
        None => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question_type: QuestionType, cases: &[(&str, &str)]) {
        for (answer, expected) in cases {
            assert_eq!(normalise(answer, "question?", question_type), *expected, "{answer}");
        }
    }

    #[test]
    fn a_year_stands_alone() {
        check(
            QuestionType::Year,
            &[
                ("in 1913", "1913"),
                ("founded in the year 1913 by her", "1913"),
                ("44 BC", "44 BC"),
                ("from 1990 to 1995", "1990-1995"),
                ("between 1990 and 1995", "1990-1995"),
                ("1990–95", "1990-1995"),
            ],
        );
    }

    #[test]
    fn a_number_loses_its_lead_words_but_keeps_its_unit() {
        check(
            QuestionType::Number,
            &[
                ("approximately 4,523,000 people", "4,523,000 people"),
                ("a total of 12", "12"),
                ("between 10 and 12", "10-12"),
                ("10 to 12 km", "10-12 km"),
                ("5 %", "5 %"),
            ],
        );
        let kept = normalise("about 300", "Approximately how many?", QuestionType::Number);
        assert_eq!(kept, "about 300", "the question itself asks for an estimate");
    }

    #[test]
    fn a_date_loses_its_preposition_and_what_follows_it() {
        check(
            QuestionType::When,
            &[
                ("on January 15, 1967", "January 15, 1967"),
                ("On 15 January 1967, at the Coliseum", "15 January 1967"),
            ],
        );
    }

    #[test]
    fn yes_and_no_are_one_word() {
        check(QuestionType::YesNo, &[("yes, it did", "Yes"), ("No.", "No"), ("是的", "是")]);
    }

    #[test]
    fn a_name_loses_its_wrapping() {
        check(
            QuestionType::Who,
            &[("\"Marie Curie\".", "Marie Curie"), ("The answer is Marie Curie.", "Marie Curie")],
        );
    }
}
