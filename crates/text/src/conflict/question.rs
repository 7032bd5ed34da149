//! The statement that an answer answers a question: where the answer stands, and what else could be meant.

use counterproof_core::{ByteSpan, QuestionType};

use super::reading::{Reading, stem};
use super::{Conflict, ConflictKind};
use crate::mention::{Mention, mentions};
use crate::normalise::{contains_phrase, squad};
use crate::question::{QuestionTyper as _, RuleTyper};
use crate::statement::Parts;
use crate::tokens::{overlap, words};
use crate::value::{self, Comparison, values};

/// How an answer stands in the evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Answered {
    /// Whether the evidence holds the answer, by words or by value.
    pub(super) held: bool,
    /// The share of its content that the evidence holds.
    pub(super) overlap: f32,
    /// The share of the question's content words in the evidence.
    pub(super) question: f32,
    /// The same in the answer's own sentence, at its best place.
    pub(super) question_here: f32,
    /// How near the question's words stand to the answer, 0 to 1.
    pub(super) near: f32,
    /// The nearest other thing of the asked kind, 0 to 1.
    pub(super) rival_near: f32,
    /// How many other things of the asked kind there are.
    pub(super) rivals: usize,
    /// How many of them stand nearer than the answer.
    pub(super) nearer: usize,
    /// Whether the answer looks like what is asked for.
    pub(super) fits: bool,
    /// Whether the question says what kind of thing it asks for.
    pub(super) typed: bool,
    /// Whether the answer stands in the question.
    pub(super) in_question: bool,
    /// The answer's length in words.
    pub(super) words: usize,
}

/// The distance in words at which a question's word counts half.
const HALF_DISTANCE: f32 = 6.0;

pub(super) fn compare(
    evidence: &Reading<'_>,
    parts: &Parts<'_>,
    statement: &str,
    conflicts: &mut Vec<Conflict>,
) -> Answered {
    let asked = RuleTyper.classify(parts.question);
    let question = Reading::new(parts.question);
    let wanted = question.content();
    let answer_words = words(parts.answer);
    let answer_normal = squad(parts.answer);
    let said = values(parts.answer);
    let mut out = Answered {
        overlap: overlap(parts.answer, evidence.text) as f32,
        question: share(&wanted, |s| evidence.holds(s)),
        typed: !matches!(asked, QuestionType::Other | QuestionType::YesNo),
        in_question: contains_phrase(&squad(parts.question), &answer_normal),
        words: answer_words.len(),
        ..Answered::default()
    };
    // Question words that belong to the answer say nothing about where it stands.
    let own: Vec<String> = answer_words.iter().filter_map(|w| w.slice(parts.answer)).map(stem).collect();
    let wanted: Vec<&str> = wanted.into_iter().filter(|w| !own.iter().any(|o| o == w)).collect();
    let kind = if out.typed { asked } else { looks(parts.answer) };
    let found = mentions(evidence.text, kind);
    let is_answer = |text: &str| {
        let normal = squad(text);
        contains_phrase(&normal, &answer_normal)
            || contains_phrase(&answer_normal, &normal)
            || !said.is_empty() && values(text).iter().any(|v| said.iter().any(|s| agree(&s.value, &v.value)))
    };
    let (same, others): (Vec<Mention>, Vec<Mention>) = found.into_iter().partition(|m| is_answer(&m.text));
    let mut places: Vec<ByteSpan> = occurrences(evidence, &own);
    places.extend(same.iter().map(|m| m.span));
    out.held = !places.is_empty();
    out.fits =
        !out.typed || mentions(parts.answer, asked).iter().any(|m| m.text.len() * 2 >= parts.answer.len());
    for place in &places {
        out.near = out.near.max(nearness(evidence, *place, &wanted));
        let sentence = evidence.sentences.get(evidence.sentence_at(place.start()));
        let here = sentence.map_or(0.0, |s| {
            let words = evidence.within(*s);
            share(&wanted, |stem| words.iter().any(|w| w.stem == stem))
        });
        out.question_here = out.question_here.max(here);
    }
    let mut nearest: Option<(f32, ByteSpan)> = None;
    for rival in &others {
        // What the question names is not asked for.
        if evidence.within(rival.span).iter().filter(|w| w.content).all(|w| question.holds(&w.stem)) {
            continue;
        }
        out.rivals += 1;
        let near = nearness(evidence, rival.span, &wanted);
        out.nearer += usize::from(near > out.near);
        if nearest.is_none_or(|(best, _)| near > best) {
            nearest = Some((near, rival.span));
        }
    }
    if let Some((near, span)) = nearest {
        out.rival_near = near;
        // Only where the evidence is plainly about the question and the answer is not in it at all.
        if !out.held && out.typed && out.question >= 0.6 && near >= 0.5 {
            let claimed = ByteSpan::of_slice(statement, parts.answer);
            conflicts.extend(claimed.and_then(|claimed| {
                Conflict::between(ConflictKind::Answer, (evidence.text, span), (statement, claimed))
            }));
        }
    }
    out
}

fn agree(a: &value::Value, b: &value::Value) -> bool {
    matches!(value::compare(a, b), Comparison::Same | Comparison::Compatible)
}

fn share(wanted: &[&str], is: impl Fn(&str) -> bool) -> f32 {
    if wanted.is_empty() { 0.0 } else { wanted.iter().filter(|w| is(w)).count() as f32 / wanted.len() as f32 }
}

/// What an answer looks like, where the question does not say what it asks for.
fn looks(answer: &str) -> QuestionType {
    let found = values(answer);
    match found.first().map(|f| &f.value) {
        Some(value::Value::Date(date)) if date.is_year_only() => QuestionType::Year,
        Some(value::Value::Date(_)) => QuestionType::When,
        Some(_) => QuestionType::Number,
        None => QuestionType::Entity,
    }
}

/// Where the words of the answer stand in a row.
fn occurrences(evidence: &Reading<'_>, answer: &[String]) -> Vec<ByteSpan> {
    let Some(first) = answer.first() else { return Vec::new() };
    let starts = evidence.places_of(first).iter();
    starts
        .filter_map(|at| {
            let run = evidence.words.get(*at..at + answer.len())?;
            let same = run.iter().zip(answer).all(|(w, a)| w.stem == *a);
            same.then(|| ByteSpan::new(run.first()?.span.start(), run.last()?.span.end())).flatten()
        })
        .collect()
}

/// How near the question's words stand: each counts by its distance in words from the place, a sentence's bound as five
/// more.
fn nearness(evidence: &Reading<'_>, place: ByteSpan, wanted: &[&str]) -> f32 {
    if wanted.is_empty() {
        return 0.0;
    }
    let (from, to) = (evidence.word_at(place.start()), evidence.word_at(place.end().saturating_sub(1)));
    let sentence = evidence.sentence_at(place.start());
    let mut sum = 0.0;
    for stem in wanted {
        let distance = evidence.places_of(stem).iter().map(|at| {
            let words = if *at < from { from - at } else { at.saturating_sub(to) };
            let bounds = evidence.words.get(*at).map_or(0, |w| w.sentence.abs_diff(sentence));
            words + 5 * bounds
        });
        if let Some(distance) = distance.min() {
            sum += HALF_DISTANCE / (HALF_DISTANCE + distance as f32);
        }
    }
    sum / wanted.len() as f32
}
