//! Negations and opposites.

use super::reading::{Alignment, Reading};
use super::{Conflict, ConflictKind};
use crate::packs::polarity::{NEGATIONS, NEGATIONS_ZH, OPPOSITES};

/// Who denies what.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Polarity {
    /// Negations in the statement.
    pub(super) claimed: usize,
    /// Negations in the sentence of the evidence that the statement lies on.
    pub(super) stated: usize,
    /// Words of the statement whose opposite stands in that sentence and which do not stand there themselves.
    pub(super) opposites: usize,
}

impl Polarity {
    /// Whether one side denies and the other does not.
    pub(super) fn differs(self) -> bool {
        (self.claimed % 2) != (self.stated % 2)
    }
}

pub(super) fn compare(
    evidence: &Reading<'_>,
    statement: &Reading<'_>,
    aligned: &Alignment,
    conflicts: &mut Vec<Conflict>,
) -> Polarity {
    let Some(sentence) = aligned.sentence.and_then(|at| evidence.sentences.get(at)) else {
        return Polarity {
            claimed: negations(statement, 0, statement.text.len()).len(),
            ..Polarity::default()
        };
    };
    let theirs = negations(evidence, sentence.start(), sentence.end());
    let ours = negations(statement, 0, statement.text.len());
    let mut out = Polarity { claimed: ours.len(), stated: theirs.len(), opposites: 0 };
    // Only what is otherwise said alike is denied by a "not".
    if out.differs() && aligned.sentence_share >= 0.6 {
        let whole = |reading: &Reading<'_>| reading.sentences.first().copied();
        let at = (
            theirs.first().copied().unwrap_or(*sentence),
            ours.first().copied().or_else(|| whole(statement)),
        );
        if let (stated, Some(claimed)) = at {
            conflicts.extend(Conflict::between(
                ConflictKind::Negation,
                (evidence.text, stated),
                (statement.text, claimed),
            ));
        }
    }
    let here = evidence.within(*sentence);
    for word in &statement.words {
        let Some(claimed) = word.span.slice(statement.text).map(str::to_lowercase) else { continue };
        let opposites = OPPOSITES.iter().filter_map(|(a, b)| match claimed.as_str() {
            w if w == *a => Some(*b),
            w if w == *b => Some(*a),
            _ => None,
        });
        for opposite in opposites {
            let said = |wanted: &str| {
                here.iter().find(|w| w.span.slice(evidence.text).is_some_and(|t| t.to_lowercase() == wanted))
            };
            if let Some(stated) = said(opposite)
                && said(&claimed).is_none()
            {
                out.opposites += 1;
                conflicts.extend(Conflict::between(
                    ConflictKind::Opposite,
                    (evidence.text, stated.span),
                    (statement.text, word.span),
                ));
            }
        }
    }
    out
}

/// The negations between two bytes of a text.
fn negations(reading: &Reading<'_>, start: usize, end: usize) -> Vec<counterproof_core::ByteSpan> {
    let words = reading.words.iter().filter(|w| w.span.start() >= start && w.span.end() <= end);
    let denies = |word: &str| {
        let lower = word.to_lowercase();
        NEGATIONS.contains(&lower.as_str())
            || lower.ends_with("n't")
            || lower.ends_with("n’t")
            || NEGATIONS_ZH.contains(&lower.as_str())
    };
    words.filter(|w| w.span.slice(reading.text).is_some_and(denies)).map(|w| w.span).collect()
}
