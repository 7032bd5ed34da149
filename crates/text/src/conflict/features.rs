//! The comparison as numbers, for a model on top.

use super::names::ByName;
use super::polarity::Polarity;
use super::question::Answered;
use super::reading::{Alignment, Reading};
use super::values::{ByValue, Tally};

/// The numbers of one comparison, in the order of [`FEATURES`].
pub type Features = [f32; FEATURES.len()];

/// What each feature is. Shares lie in 0..=1; those of an answer are 0 for a statement that is no answer to a question.
pub const FEATURES: [&str; 46] = [
    "share_of_content",
    "share_in_best_sentence",
    "share_of_pairs",
    "longest_run",
    "content_missing",
    "evidence_words_log",
    "statement_words_log",
    "evidence_sentences",
    "numbers",
    "numbers_stated",
    "numbers_at_odds",
    "numbers_missing",
    "dates",
    "dates_stated",
    "dates_at_odds",
    "dates_missing",
    "names",
    "names_whole",
    "names_partly",
    "names_missing",
    "names_replaced",
    "subject_in_evidence",
    "subject_in_best_sentence",
    "names_extra",
    "negations_claimed",
    "negations_stated",
    "negation_differs",
    "negation_differs_and_words_agree",
    "opposites",
    "any_value_at_odds",
    "everything_stated",
    "value_at_odds_and_words_agree",
    "is_answer",
    "answer_held",
    "answer_overlap",
    "question_share",
    "question_share_beside_answer",
    "answer_near",
    "rival_near",
    "nearness_lead",
    "rivals_log",
    "rivals_nearer",
    "answer_fits",
    "question_typed",
    "answer_in_question",
    "answer_words",
];

pub(super) fn of(
    evidence: &Reading<'_>,
    statement: &Reading<'_>,
    aligned: &Alignment,
    values: &ByValue,
    names: &ByName,
    polarity: &Polarity,
    answered: Option<&Answered>,
) -> Features {
    let count = |n: usize| n.min(8) as f32;
    let log = |n: usize| (1.0 + n as f32).ln();
    let flag = |is: bool| f32::from(u8::from(is));
    let content = statement.content();
    let missing = content.iter().filter(|s| !evidence.holds(s)).count();
    let tally = |t: Tally| [count(t.total), count(t.stated), count(t.at_odds), count(t.missing)];
    let [numbers, numbers_stated, numbers_at_odds, numbers_missing] = tally(values.numbers);
    let [dates, dates_stated, dates_at_odds, dates_missing] = tally(values.dates);
    let at_odds = values.numbers.at_odds + values.dates.at_odds;
    let denied = polarity.differs();
    let a = answered.copied().unwrap_or_default();
    let lead = if a.held { a.near - a.rival_near } else { -a.rival_near };
    [
        aligned.share,
        aligned.sentence_share,
        aligned.pairs,
        aligned.run,
        count(missing),
        log(evidence.words.len()),
        log(statement.words.len()),
        count(evidence.sentences.len()),
        numbers,
        numbers_stated,
        numbers_at_odds,
        numbers_missing,
        dates,
        dates_stated,
        dates_at_odds,
        dates_missing,
        count(names.total),
        count(names.whole),
        count(names.partly),
        count(names.missing),
        count(names.replaced),
        flag(names.subject),
        flag(names.subject_here),
        count(names.extra),
        count(polarity.claimed),
        count(polarity.stated),
        flag(denied),
        if denied { aligned.sentence_share } else { 0.0 },
        count(polarity.opposites),
        flag(at_odds > 0),
        flag(missing == 0 && at_odds == 0 && !content.is_empty()),
        if at_odds > 0 { aligned.share } else { 0.0 },
        flag(answered.is_some()),
        flag(a.held),
        a.overlap,
        a.question,
        a.question_here,
        a.near,
        a.rival_near,
        lead,
        log(a.rivals),
        count(a.nearer),
        flag(a.fits),
        flag(a.typed),
        flag(a.in_question),
        count(a.words),
    ]
}
