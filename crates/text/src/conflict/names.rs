//! Names: whether the evidence has those of the statement, and whether it has another one in their place.

use counterproof_core::{ByteSpan, QuestionType};

use super::reading::{Alignment, Reading, Word};
use super::{Conflict, ConflictKind};
use crate::mention::{Mention, mentions};

/// What became of the statement's names.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ByName {
    /// Names in the statement.
    pub(super) total: usize,
    /// Of which every content word stands in the evidence.
    pub(super) whole: usize,
    /// Of which some word does.
    pub(super) partly: usize,
    /// Of which no word does.
    pub(super) missing: usize,
    /// Missing ones in whose place the evidence has another name.
    pub(super) replaced: usize,
    /// Whether the first name, which the statement is about, stands in the evidence.
    pub(super) subject: bool,
    /// Whether the subject stands in the sentence that the statement lies on.
    pub(super) subject_here: bool,
    /// Names of that sentence which the statement lacks.
    pub(super) extra: usize,
}

pub(super) fn compare(
    evidence: &Reading<'_>,
    statement: &Reading<'_>,
    aligned: &Alignment,
    conflicts: &mut Vec<Conflict>,
) -> ByName {
    let ours = mentions(statement.text, QuestionType::Entity);
    let theirs = mentions(evidence.text, QuestionType::Entity);
    let mut out = ByName { total: ours.len(), ..ByName::default() };
    for (index, name) in ours.iter().enumerate() {
        let words: Vec<&Word> = statement.within(name.span).iter().filter(|w| w.content).collect();
        let held = words.iter().filter(|w| evidence.holds(&w.stem)).count();
        let here = words.iter().all(|w| stands_in(evidence, &w.stem, aligned.sentence));
        if index == 0 {
            out.subject = held > 0;
            out.subject_here = held > 0 && here;
        }
        match held {
            0 => out.missing += 1,
            n if n == words.len() => out.whole += 1,
            _ => out.partly += 1,
        }
        if held == 0
            && !words.is_empty()
            && let Some(other) = in_its_place(evidence, statement, name, &theirs, aligned)
        {
            out.replaced += 1;
            conflicts.extend(Conflict::between(
                ConflictKind::Name,
                (evidence.text, other),
                (statement.text, name.span),
            ));
        }
    }
    if let Some(sentence) = aligned.sentence.and_then(|at| evidence.sentences.get(at)) {
        let inside = |m: &&Mention| m.span.start() >= sentence.start() && m.span.end() <= sentence.end();
        let lacks = |m: &&Mention| evidence.within(m.span).iter().all(|w| !statement.holds(&w.stem));
        out.extra = theirs.iter().filter(inside).filter(lacks).count();
    }
    out
}

fn stands_in(reading: &Reading<'_>, stem: &str, sentence: Option<usize>) -> bool {
    reading
        .places_of(stem)
        .iter()
        .filter_map(|at| reading.words.get(*at))
        .any(|w| Some(w.sentence) == sentence)
}

/// A name of the evidence that stands where the statement has its own: behind the same word, in a sentence about the
/// same thing, and not itself named by the statement.
fn in_its_place(
    evidence: &Reading<'_>,
    statement: &Reading<'_>,
    name: &Mention,
    theirs: &[Mention],
    aligned: &Alignment,
) -> Option<ByteSpan> {
    if aligned.sentence_share < 0.4 {
        return None;
    }
    let before = word_before(statement, name.span)?;
    let lead = lead_before(statement, name.span);
    theirs
        .iter()
        .filter(|other| Some(evidence.sentence_at(other.span.start())) == aligned.sentence)
        .filter(|other| evidence.within(other.span).iter().all(|w| !statement.holds(&w.stem)))
        .find(|other| {
            // The same preposition is not enough ("in Rome" beside "in May"): the word that leads to it must agree too.
            word_before(evidence, other.span) == Some(before) && lead_before(evidence, other.span) == lead
        })
        .map(|other| other.span)
}

/// The word in front of a span, articles aside.
fn word_before<'r>(reading: &'r Reading<'_>, span: ByteSpan) -> Option<&'r str> {
    let at = reading.word_at(span.start());
    reading
        .words
        .get(at.saturating_sub(3)..at)?
        .iter()
        .rev()
        .map(|w| w.stem.as_str())
        .find(|stem| !matches!(*stem, "the" | "a" | "an" | "th"))
}

/// The content word closest in front of a span.
fn lead_before<'r>(reading: &'r Reading<'_>, span: ByteSpan) -> Option<&'r str> {
    let at = reading.word_at(span.start());
    reading.words.get(at.saturating_sub(4)..at)?.iter().rev().find(|w| w.content).map(|w| w.stem.as_str())
}
