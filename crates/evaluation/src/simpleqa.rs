//! SimpleQA: three grades, the official scores made from them, and a grader that needs no judge.
//!
//! Official F1 is the harmonic mean of correct among all and correct among attempted; it is not token F1, and it is
//! never below the share of correct answers.

use std::collections::BTreeMap;

use counterproof_text::abstention::is_abstention;
use counterproof_text::answer::clean_answer;
use counterproof_text::normalise::{contains_phrase, squad};
use counterproof_text::sentences::sentences;
use counterproof_text::tokens::overlap;
use counterproof_text::value::{Comparison, Decimal, Found, Number, Value, compare, values};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::Metric;

/// How an answer stands to the gold answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Says all the gold information asked for and contradicts none.
    Correct,
    /// Contradicts the gold answer.
    Incorrect,
    /// Neither says nor contradicts it.
    NotAttempted,
}

impl Grade {
    /// Every grade, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Correct, Self::Incorrect, Self::NotAttempted];

    /// Place in [`Grade::ALL`].
    pub fn index(self) -> usize {
        match self {
            Self::Correct => 0,
            Self::Incorrect => 1,
            Self::NotAttempted => 2,
        }
    }

    /// The name used in JSON and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Incorrect => "incorrect",
            Self::NotAttempted => "not_attempted",
        }
    }

    /// Reads the letter of the official judge's reply: the first `A`, `B` or `C` in it; anything else is not attempted.
    pub fn from_judge_reply(reply: &str) -> Self {
        match reply.chars().find(|c| matches!(c, 'A' | 'B' | 'C')) {
            Some('A') => Self::Correct,
            Some('B') => Self::Incorrect,
            _ => Self::NotAttempted,
        }
    }
}

/// The official SimpleQA scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimpleQaScore {
    /// Share of correct answers.
    pub correct: Metric,
    /// Share of incorrect answers.
    pub incorrect: Metric,
    /// Share of answers not attempted.
    pub not_attempted: Metric,
    /// Correct among those attempted; 0 when none was, `None` over no items.
    pub correct_given_attempted: Option<f64>,
    /// Harmonic mean of `correct` and `correct_given_attempted`; 0 when both are, `None` over no items.
    pub f1: Option<f64>,
}

impl SimpleQaScore {
    /// The scores of `grades`.
    pub fn of(grades: &[Grade]) -> Self {
        let share = |grade| Metric::share(grades.iter().map(|g| *g == grade));
        let count = |grade| grades.iter().filter(|g| **g == grade).count() as f64;
        let (correct, incorrect, skipped) =
            (count(Grade::Correct), count(Grade::Incorrect), count(Grade::NotAttempted));
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let any = !grades.is_empty();
        Self {
            correct: share(Grade::Correct),
            incorrect: share(Grade::Incorrect),
            not_attempted: share(Grade::NotAttempted),
            correct_given_attempted: any.then(|| ratio(correct, correct + incorrect)),
            // The harmonic mean of C/N and C/(C+I) in one fraction.
            f1: any.then(|| ratio(2.0 * correct, 2.0 * correct + 2.0 * incorrect + skipped)),
        }
    }
}

/// Names the offline grader in reports.
pub const OFFLINE_GRADER: &str = "offline-containment-1";

/// Phrases with which a sentence says that the answer is not to be had.
const DECLINING: [&str; 22] = [
    "not publicly",
    "no publicly available",
    "not specified",
    "not explicitly",
    "not specifically",
    "not documented",
    "not provided",
    "not mentioned",
    "not available",
    "not readily available",
    "not disclosed",
    "could not be found",
    "could not be identified",
    "could not be determined",
    "could not be verified",
    "could not find",
    "unable to find",
    "no information",
    "no specific information",
    "is unknown",
    "is not known",
    "remains unknown",
];

/// Grades an answer without a judge.
///
/// Correct when the two are equal in SQuAD form; when the prediction holds every content word of the gold answer
/// (accents, what stands in brackets and courtesy titles left aside); or when the gold answer is a number or date and the
/// prediction states that value: numbers agree to the last significant figure of the gold, dates are at least as exact,
/// and of a range both ends are stated. Not attempted when the prediction declines to answer, or gives only a bound or a
/// rough figure for a number. Incorrect otherwise. A gold answer whose normal form is empty ("The") is matched only by
/// equality.
pub fn grade_offline(gold: &str, prediction: &str) -> Grade {
    let (gold_form, said) = (squad(gold), squad(prediction));
    if said == gold_form {
        return Grade::Correct;
    }
    let cleaned = clean_answer(prediction);
    if cleaned.is_empty() {
        return Grade::NotAttempted;
    }
    let by_value = sole_value(gold).map(|gold| grade_value(&gold, prediction));
    if by_value == Some(Grade::Correct) {
        return Grade::Correct;
    }
    // Digits inside another number are not the number, so a numeric gold answer is compared by value alone.
    if by_value.is_none() && !gold_form.is_empty() && holds_all_words(gold, prediction) {
        return Grade::Correct;
    }
    if declines(prediction, &cleaned) {
        return Grade::NotAttempted;
    }
    by_value.unwrap_or(Grade::Incorrect)
}

fn holds_all_words(gold: &str, prediction: &str) -> bool {
    if contains_phrase(&squad(prediction), &squad(gold)) {
        return true;
    }
    let bare = plain(gold);
    !squad(&bare).is_empty() && overlap(&bare, &without_accents(prediction)) >= 1.0
}

/// The answer without accents, brackets and courtesy titles, which a judge does not insist on.
fn plain(gold: &str) -> String {
    const COURTESIES: [&str; 14] = [
        "dr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "professor",
        "sir",
        "president",
        "rev",
        "hon",
        "st",
        "the",
        "and",
        "a",
    ];
    let mut depth = 0usize;
    let outside: String = gold
        .chars()
        .filter(|c| {
            depth += usize::from(*c == '(');
            let keep = depth == 0;
            depth = if *c == ')' { depth.saturating_sub(1) } else { depth };
            keep
        })
        .collect();
    let source = if squad(&outside).is_empty() { gold } else { &outside };
    let words = source.split_whitespace().filter(|w| !COURTESIES.contains(&squad(w).as_str()));
    without_accents(&words.collect::<Vec<_>>().join(" "))
}

/// Hyphens count as spaces too: "Far-Ranging" is "Far Ranging".
fn without_accents(text: &str) -> String {
    let base = text.nfd().filter(|c| !is_combining_mark(*c));
    base.map(|c| if matches!(c, '-' | '‑' | '–') { ' ' } else { c }).collect()
}

fn declines(prediction: &str, cleaned: &str) -> bool {
    let lower = prediction.to_lowercase();
    is_abstention(cleaned)
        || DECLINING.iter().any(|phrase| lower.contains(phrase))
        || sentences(prediction)
            .first()
            .and_then(|s| s.slice(prediction))
            .is_some_and(|s| is_abstention(&clean_answer(s)))
}

/// The value that the gold answer is, when it is nothing but one: the words besides it say what it counts.
fn sole_value(gold: &str) -> Option<Value> {
    let found = values(gold);
    let [Found { value, span }] = found.as_slice() else { return None };
    let outside =
        gold.get(..span.start()).into_iter().chain(gold.get(span.end()..)).flat_map(str::split_whitespace);
    let names = outside.filter(|w| w.chars().next().is_some_and(char::is_uppercase)).count();
    (names == 0).then(|| value.clone())
}

fn grade_value(gold: &Value, prediction: &str) -> Grade {
    let stated = values(prediction);
    if let Value::Range(range) = gold {
        let has = |end: &Value| stated.iter().any(|f| states(end, &f.value));
        let whole = stated.iter().any(|f| compare(gold, &f.value) == Comparison::Same);
        return if whole || (has(&range.low) && has(&range.high)) {
            Grade::Correct
        } else {
            Grade::Incorrect
        };
    }
    let agrees = |found: &Found| match (gold.number(), found.value.number()) {
        (Some(want), Some(got)) => {
            let same_kind = matches!(compare(gold, &found.value), Comparison::Same | Comparison::Compatible)
                || kinds_match(gold, &found.value);
            same_kind && agrees_to_last_figure(want, got)
        }
        _ => states(gold, &found.value),
    };
    if stated.iter().any(agrees) {
        return Grade::Correct;
    }
    let only_bounds = gold.number().is_some()
        && !stated.is_empty()
        && stated
            .iter()
            .all(|f| f.value.number().is_some_and(|n| n.approximate) || is_bounded(prediction, f));
    if only_bounds { Grade::NotAttempted } else { Grade::Incorrect }
}

/// Whether `stated` says at least what `gold` says.
fn states(gold: &Value, stated: &Value) -> bool {
    match compare(gold, stated) {
        Comparison::Same => true,
        Comparison::Compatible => stated.refines(gold),
        _ => false,
    }
}

/// Whether two values are numbers of one thing, a missing unit being understood from the question.
fn kinds_match(gold: &Value, stated: &Value) -> bool {
    match (gold, stated) {
        (Value::Number(_), _) | (_, Value::Number(_)) | (Value::Percent(_), Value::Percent(_)) => true,
        (Value::Quantity(a), Value::Quantity(b)) => a.unit == b.unit,
        _ => false,
    }
}

/// Whether `got` is `want` to the last significant figure of `want`. Trailing noughts of a whole number count as
/// figures below 1000 ("100 people") and as padding above ("120,000").
fn agrees_to_last_figure(want: &Number, got: &Number) -> bool {
    let small = want.value.compare(Decimal::from(1000u32)).is_lt();
    if small && !want.rounded && want.value.to_i64().is_some() {
        return want.value == got.value;
    }
    got.value.rounded_to_place_of(want.value) == want.value
}

/// Whether words before a number make it a bound ("more than 50").
fn is_bounded(text: &str, found: &Found) -> bool {
    const BOUNDS: [&str; 14] = [
        "more than",
        "over",
        "at least",
        "less than",
        "fewer than",
        "under",
        "up to",
        "at most",
        "above",
        "below",
        "exceeding",
        "nearly",
        "no more than",
        "no less than",
    ];
    let before: String = {
        let tail: Vec<char> =
            text.get(..found.span.start()).unwrap_or_default().trim_end().chars().rev().take(20).collect();
        tail.into_iter().rev().flat_map(char::to_lowercase).collect()
    };
    BOUNDS.iter().any(|b| before.strip_suffix(b).is_some_and(|rest| rest.is_empty() || rest.ends_with(' ')))
}

/// Cohen's kappa of two gradings of the same items: agreement beyond what chance gives. `None` over no items or when
/// chance alone agrees always.
pub fn cohen_kappa(pairs: &[(Grade, Grade)]) -> Option<f64> {
    if pairs.is_empty() {
        return None;
    }
    let n = pairs.len() as f64;
    let (mut first, mut second): (BTreeMap<Grade, f64>, BTreeMap<Grade, f64>) = Default::default();
    for (a, b) in pairs {
        *first.entry(*a).or_default() += 1.0 / n;
        *second.entry(*b).or_default() += 1.0 / n;
    }
    let observed = pairs.iter().filter(|(a, b)| a == b).count() as f64 / n;
    let expected: f64 = first.iter().map(|(grade, p)| p * second.get(grade).unwrap_or(&0.0)).sum();
    ((1.0 - expected) > 1e-12).then(|| (observed - expected) / (1.0 - expected))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Grade::{Correct, Incorrect, NotAttempted};

    fn grades(correct: usize, incorrect: usize, not_attempted: usize) -> Vec<Grade> {
        let repeat = std::iter::repeat_n;
        repeat(Correct, correct)
            .chain(repeat(Incorrect, incorrect))
            .chain(repeat(NotAttempted, not_attempted))
            .collect()
    }

    #[test]
    fn the_example_of_the_specification() {
        let score = SimpleQaScore::of(&grades(60, 30, 10));
        assert_eq!(score.correct.value, Some(0.6));
        assert!((score.correct_given_attempted.unwrap() - 0.6667).abs() < 5e-5);
        assert!((score.f1.unwrap() - 0.6316).abs() < 5e-5);
    }

    #[test]
    fn no_attempts_score_nought_and_no_items_null() {
        let silent = SimpleQaScore::of(&grades(0, 0, 3));
        assert_eq!((silent.correct_given_attempted, silent.f1), (Some(0.0), Some(0.0)));
        let empty = SimpleQaScore::of(&[]);
        assert_eq!((empty.f1, empty.correct.value), (None, None));
    }

    #[test]
    fn the_judge_is_read_by_its_first_letter() {
        assert_eq!(Grade::from_judge_reply("A"), Correct);
        assert_eq!(Grade::from_judge_reply("grade: B"), Incorrect);
        assert_eq!(Grade::from_judge_reply("C"), NotAttempted);
        assert_eq!(Grade::from_judge_reply(""), NotAttempted);
        assert_eq!(Grade::from_judge_reply("??"), NotAttempted);
    }

    #[test]
    fn names_are_found_in_sentences() {
        assert_eq!(grade_offline("Michio Sugeno", "The award went to Michio Sugeno."), Correct);
        assert_eq!(grade_offline("Michio Sugeno", "The award went to Lotfi Zadeh."), Incorrect);
        assert_eq!(grade_offline("Michio Sugeno", "I don't know."), NotAttempted);
        assert_eq!(grade_offline("Michio Sugeno", ""), NotAttempted);
        assert_eq!(grade_offline("Ann", "Annabel Lee"), Incorrect);
        assert_eq!(grade_offline("Dr. A. W. Khan", "It was A. W. Khan."), Correct);
        assert_eq!(grade_offline("San Luis de Góngora (1787)", "It was named San Luis de Gongora."), Correct);
        assert_eq!(grade_offline("2008-2013", "from the year 2008 to the year 2013"), Correct);
        assert_eq!(
            grade_offline("Ian Newton", "The winner could not be identified from public sources."),
            NotAttempted
        );
    }

    #[test]
    fn a_correct_abstention_is_correct() {
        assert_eq!(
            grade_offline("Not found in provided context.", "Not found in provided context."),
            Correct
        );
    }

    #[test]
    fn numbers_agree_to_the_last_significant_figure_of_the_gold() {
        for (prediction, grade) in [
            ("120k", Correct),
            ("115,000", Correct),
            ("124k", Correct),
            ("100k", Incorrect),
            ("113k", Incorrect),
            ("around 100k", NotAttempted),
            ("more than 50k", NotAttempted),
        ] {
            let expand = |t: &str| t.replace('k', ",000");
            assert_eq!(grade_offline("120,000", &expand(prediction)), grade, "{prediction}");
            assert_eq!(grade_offline("120 thousand", &expand(prediction)), grade, "{prediction}");
        }
        assert_eq!(grade_offline("100", "149"), Incorrect);
        assert_eq!(grade_offline("12", "There were twelve of them."), Correct);
        assert_eq!(grade_offline("5", "It has 15 members"), Incorrect);
        assert_eq!(grade_offline("4523000", "about 4.523 million"), Correct);
        assert_eq!(grade_offline("3.14", "3.1"), Incorrect);
        assert_eq!(grade_offline("5 km", "It is 5 km long"), Correct);
    }

    #[test]
    fn dates_are_compared_by_value_and_must_be_as_exact() {
        assert_eq!(grade_offline("January 15, 1967", "It was on 15 Jan 1967."), Correct);
        assert_eq!(grade_offline("January 1967", "January 15, 1967"), Correct);
        assert_eq!(grade_offline("January 15, 1967", "1967"), Incorrect);
        assert_eq!(grade_offline("1967", "1968"), Incorrect);
    }

    #[test]
    fn a_gold_answer_that_is_an_article_is_matched_only_by_equality() {
        for gold in ["A", "The"] {
            assert_eq!(grade_offline(gold, "A long answer"), Incorrect, "{gold}");
            assert_eq!(grade_offline(gold, gold), Correct);
        }
    }

    #[test]
    fn kappa_is_one_for_equals_and_nought_for_chance() {
        let pairs = |list: &[(Grade, Grade, usize)]| -> Vec<(Grade, Grade)> {
            list.iter().flat_map(|(a, b, n)| std::iter::repeat_n((*a, *b), *n)).collect()
        };
        assert_eq!(cohen_kappa(&pairs(&[(Correct, Correct, 3), (Incorrect, Incorrect, 2)])), Some(1.0));
        let chance = pairs(&[
            (Correct, Correct, 1),
            (Correct, Incorrect, 1),
            (Incorrect, Correct, 1),
            (Incorrect, Incorrect, 1),
        ]);
        assert_eq!(cohen_kappa(&chance), Some(0.0));
        assert_eq!(cohen_kappa(&[]), None);
        assert_eq!(cohen_kappa(&pairs(&[(Correct, Correct, 3)])), None);
    }

    proptest! {
        #[test]
        fn f1_is_never_below_correct(c in 0usize..50, i in 0usize..50, m in 0usize..50) {
            let score = SimpleQaScore::of(&grades(c, i, m));
            if let (Some(f1), Some(correct)) = (score.f1, score.correct.value) {
                prop_assert!(f1 >= correct - 1e-12);
                let cga = score.correct_given_attempted.unwrap();
                let harmonic = if cga + correct > 0.0 { 2.0 * cga * correct / (cga + correct) } else { 0.0 };
                prop_assert!((f1 - harmonic).abs() < 1e-12);
            }
        }

        #[test]
        fn grading_never_fails(gold in ".{0,20}", prediction in ".{0,60}") {
            let _ = grade_offline(&gold, &prediction);
            prop_assert_eq!(grade_offline(&gold, &gold), Correct);
        }
    }
}
