//! What the pool offers in place of the draft: answers of the kind asked for that passages hold, each with the
//! sentence it stands in. No model takes part, so nothing can be invented here.

use std::collections::HashSet;

use counterproof_core::{ByteSpan, QuestionType};
use counterproof_text::answer::yes_no;
use counterproof_text::mention::mentions;
use counterproof_text::normalise::squad;
use counterproof_text::sentences::sentences;
use counterproof_text::tokens::{content_tokens, words};

use super::GateCase;
use crate::repair::rules::means_the_same;

/// A sentence of the pool.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct EvidenceSentence {
    /// The passage, counted from 0 in the pool's order.
    pub passage: usize,
    /// The sentence in its text.
    pub span: ByteSpan,
    /// Share of the question's content words that the sentence and its title hold.
    pub relevance: f64,
}

/// An answer that the pool holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    /// The answer, as it stands in the sentence.
    pub answer: String,
    /// The most relevant sentence that holds it.
    pub sentence: EvidenceSentence,
    /// How many passages hold it.
    pub passages: usize,
}

/// What the pool says about the draft and in its place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gathered {
    /// The most relevant sentence that holds the draft, if any does.
    pub draft: Option<EvidenceSentence>,
    /// How many passages hold the draft.
    pub draft_passages: usize,
    /// The alternatives, the most relevant first.
    pub alternatives: Vec<Alternative>,
}

/// Collects the alternatives to the draft. Answers that stand in the question itself are none, nor is the draft in
/// other words.
pub fn gather(case: &GateCase<'_>) -> Gathered {
    let question: HashSet<String> = content_tokens(&case.question.text).into_iter().collect();
    let question_norm = format!(" {} ", squad(&case.question.text));
    let mut gathered = Gathered::default();
    for (ix, entry) in case.pool.passages().iter().enumerate() {
        let passage = &entry.passage;
        let title: HashSet<String> = content_tokens(&passage.title).into_iter().collect();
        let mut here: HashSet<String> = HashSet::new();
        let mut draft_here = false;
        for span in sentences(&passage.text) {
            let Some(text) = span.slice(&passage.text) else { continue };
            let sentence =
                EvidenceSentence { passage: ix, span, relevance: relevance(&question, &title, text) };
            if holds(text, case.draft) {
                draft_here = true;
                if gathered.draft.is_none_or(|d| sentence.relevance > d.relevance) {
                    gathered.draft = Some(sentence);
                }
            }
            for mention in mentions(text, case.question_type) {
                let norm = squad(&mention.text);
                let in_question = case.question_type != QuestionType::YesNo
                    && (norm.is_empty() || question_norm.contains(&format!(" {norm} ")));
                if in_question || means_the_same(&mention.text, case.draft, &case.config.aliases) {
                    continue;
                }
                let first_here = here.insert(norm);
                merge(&mut gathered.alternatives, mention.text, sentence, first_here);
            }
        }
        gathered.draft_passages += usize::from(draft_here);
    }
    if case.question_type == QuestionType::YesNo {
        gathered.alternatives = opposite(case, &question);
    }
    gathered.alternatives.sort_by(|a, b| {
        b.sentence
            .relevance
            .total_cmp(&a.sentence.relevance)
            .then_with(|| a.sentence.passage.cmp(&b.sentence.passage))
    });
    gathered
}

/// Adds a mention to the alternative it belongs to, or as a new one.
fn merge(alternatives: &mut Vec<Alternative>, answer: String, sentence: EvidenceSentence, first_here: bool) {
    match alternatives.iter_mut().find(|a| means_the_same(&a.answer, &answer, &[])) {
        Some(known) => {
            known.passages += usize::from(first_here);
            if sentence.relevance > known.sentence.relevance {
                known.sentence = sentence;
                known.answer = answer;
            }
        }
        None => alternatives.push(Alternative { answer, sentence, passages: 1 }),
    }
}

/// The other of yes and no, resting on the sentence that speaks most of what the question asks.
fn opposite(case: &GateCase<'_>, question: &HashSet<String>) -> Vec<Alternative> {
    let Some(said) = yes_no(case.draft) else { return Vec::new() };
    let chinese = !case.draft.is_ascii();
    let answer = match (said, chinese) {
        (true, false) => "No",
        (false, false) => "Yes",
        (true, true) => "否",
        (false, true) => "是",
    };
    let mut best: Option<EvidenceSentence> = None;
    for (ix, entry) in case.pool.passages().iter().enumerate() {
        let title: HashSet<String> = content_tokens(&entry.passage.title).into_iter().collect();
        for span in sentences(&entry.passage.text) {
            let Some(text) = span.slice(&entry.passage.text) else { continue };
            let relevance = relevance(question, &title, text);
            if best.is_none_or(|b| relevance > b.relevance) {
                best = Some(EvidenceSentence { passage: ix, span, relevance });
            }
        }
    }
    best.map(|sentence| Alternative { answer: answer.to_owned(), sentence, passages: 1 })
        .into_iter()
        .collect()
}

/// The sentence of a passage that holds the start of `span`.
pub(super) fn sentence_at(case: &GateCase<'_>, passage: usize, span: ByteSpan) -> Option<EvidenceSentence> {
    let text = case.pool.get(passage)?;
    let question: HashSet<String> = content_tokens(&case.question.text).into_iter().collect();
    let title: HashSet<String> = content_tokens(&text.title).into_iter().collect();
    let sentence =
        sentences(&text.text).into_iter().find(|s| s.start() <= span.start() && span.start() < s.end())?;
    let relevance = relevance(&question, &title, sentence.slice(&text.text)?);
    Some(EvidenceSentence { passage, span: sentence, relevance })
}

fn relevance(question: &HashSet<String>, title: &HashSet<String>, sentence: &str) -> f64 {
    if question.is_empty() {
        return 0.0;
    }
    let sentence: HashSet<String> = content_tokens(sentence).into_iter().collect();
    let held = question.iter().filter(|w| sentence.contains(*w) || title.contains(*w)).count();
    held as f64 / question.len() as f64
}

/// Whether `text` holds the words of `answer` in a row, whatever their case and punctuation.
pub(crate) fn holds(text: &str, answer: &str) -> bool {
    let row = |s: &str| -> String {
        let mut row = String::from(" ");
        for span in words(s) {
            let word = squad(span.slice(s).unwrap_or_default());
            if !word.is_empty() {
                row.push_str(&word);
                row.push(' ');
            }
        }
        row
    };
    let answer = row(answer);
    answer.len() > 1 && row(text).contains(&answer)
}
