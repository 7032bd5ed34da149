//! Questions and answers as pairs: does this passage say that the answer to the question is so and so?
//!
//! What makes this hard is to bind the answer to the question: a wrong answer stands in the same passage, and a passage
//! that holds the right answer may be about something else. So each question gives several rows over the same words.

use std::collections::HashSet;

use counterproof_core::{Passage, QuestionType};
use counterproof_datasets::claims::Evidence;
use counterproof_text::mention::mentions;
use counterproof_text::normalise::{contains_phrase, squad};
use counterproof_text::statement::statement;

use super::answers::Golds;
use super::questions::Asked;
use super::search::{content_terms, coverage};
use super::twins::{Change, TwinKind, apply_everywhere};
use super::windows::{around, best_without, windows};
use super::{pair, pick};
use crate::examples::{Label, PairExample};
use crate::random::Random;

/// How many rows of each kind a question gives; a part of one is its probability.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRows {
    /// Wrong answers from the passage that gives the right one: contradicted.
    pub same_passage: f32,
    /// The right answer over another part of the same passage: neutral.
    pub same_topic: f32,
    /// The right answer over a passage found for the question that does not hold it: neutral.
    pub topical: f32,
    /// An answer of the right kind from a passage found for the question that does not answer it: neutral.
    pub topical_mention: f32,
    /// The right answer over a passage that mentions it in another matter: neutral.
    pub mention: f32,
    /// An answer of the same kind that the passage does not hold: contradicted.
    pub elsewhere: f32,
    /// The passage with the right answer exchanged for another of its kind, in two rows: the old answer is contradicted
    /// there, the new one entailed. What stands in the world's knowledge does not help with these.
    pub exchanged: f32,
}

impl Default for QuestionRows {
    fn default() -> Self {
        Self {
            same_passage: 3.0,
            same_topic: 0.3,
            topical: 0.25,
            topical_mention: 0.35,
            mention: 0.4,
            elsewhere: 0.15,
            exchanged: 0.2,
        }
    }
}

impl QuestionRows {
    /// One row of each of the kinds that the report tells apart.
    pub fn report() -> Self {
        Self {
            same_passage: 1.0,
            same_topic: 0.0,
            topical: 0.5,
            topical_mention: 0.5,
            mention: 1.0,
            elsewhere: 0.0,
            exchanged: 0.0,
        }
    }
}

/// What was found for a question, without the passages that were given with it.
pub(super) struct Found<'a> {
    /// Passages that share words with the question.
    pub(super) topical: Vec<&'a Passage>,
    /// Passages that share words with the answer.
    pub(super) mentioning: Vec<&'a Passage>,
    /// Answers of other questions of the same kind.
    pub(super) elsewhere: &'a [String],
}

/// The passage as far as it is shown, and the window's bounds in it.
pub(super) fn shown(asked: &Asked, needed: &HashSet<String>) -> Option<String> {
    let text = &asked.passage.text;
    if asked.whole {
        return Some(asked.passage.with_title());
    }
    let place = asked.places.first()?;
    let window = around(text, place, needed)?;
    // When little else in the window could be the answer, a neighbouring sentence may hold something.
    let others = |w: &std::ops::Range<usize>| {
        text.get(w.clone()).map_or(0, |t| asked.given.others_in(t, &asked.question).len())
    };
    let wider = |least: usize| {
        let around = windows(text).into_iter().filter(|w| w.start <= window.start && window.end <= w.end);
        around.filter(|w| others(w) >= least).min_by_key(|w| w.len())
    };
    let window = wider(2).or_else(|| wider(1)).unwrap_or_else(|| window.clone());
    Some(titled(&asked.passage.title, text.get(window)?))
}

fn titled(title: &str, text: &str) -> String {
    Evidence { title: title.to_owned(), text: text.trim().to_owned() }.with_title()
}

/// A count that is `expected` on average.
fn times(random: &mut Random, expected: f32) -> usize {
    expected as usize + usize::from(random.unit() < expected.fract())
}

/// The rows of one question. All of a question's rows are made here, so that they are trained on together or not at
/// all.
pub(super) fn rows(
    asked: &Asked,
    found: &Found<'_>,
    counts: &QuestionRows,
    random: &mut Random,
) -> Vec<PairExample> {
    let mut out = Vec::new();
    let mut push = |premise: &str, answer: &str, label: Label, kind: &str| {
        let made = statement(&asked.question, answer);
        out.push(pair(premise, made, label, &asked.group, format!("{}/{kind}", asked.set)));
    };
    let needed = content_terms(&asked.question);
    if !asked.is_answered() {
        unanswered(asked, &needed, random, &mut push);
        return out;
    }
    let Some(premise) = shown(asked, &needed) else { return out };
    let texts: Vec<&String> =
        asked.given.texts().iter().filter(|t| contains_phrase(&squad(&premise), &squad(t))).collect();
    let Some(first) = texts.first() else { return out };
    push(&premise, first, Label::Entailment, "gold");
    if texts.len() > 2 && asked.set == "multispanqa" {
        push(&premise, texts.last().unwrap_or(first), Label::Entailment, "gold");
    }
    let mut wrong = wrong_here(asked, &premise);
    random.shuffle(&mut wrong);
    for answer in wrong.iter().take(times(random, counts.same_passage)) {
        push(&premise, answer, Label::Contradiction, "same-passage");
    }
    for rival in asked
        .rivals
        .iter()
        .filter(|r| !contains_phrase(&squad(&premise), &squad(r)) && asked.given.differs(r))
        .take(1)
    {
        push(&premise, rival, Label::Contradiction, "rival");
    }
    if random.unit() < counts.elsewhere && asked.given.kind().is_some_and(|k| k != QuestionType::Entity) {
        let free: Vec<&String> = found
            .elsewhere
            .iter()
            .filter(|a| asked.given.differs(a) && !contains_phrase(&squad(&premise), &squad(a)))
            .take(20)
            .collect();
        if let Some(answer) = pick(random, &free) {
            push(&premise, answer, Label::Contradiction, "elsewhere");
        }
    }
    if random.unit() < counts.exchanged
        && let Some((changed, answer)) = exchanged(asked, &premise, first, found.elsewhere)
    {
        push(&changed, first, Label::Contradiction, "exchanged");
        push(&changed, &answer, Label::Entailment, "exchanged");
    }
    let silent = |text: &str| !asked.given.said_in(text) && text.split_whitespace().count() >= 6;
    if !asked.whole
        && random.unit() < counts.same_topic
        && let Some(window) = best_without(&asked.passage.text, &needed, silent)
        && let Some(text) = asked.passage.text.get(window)
    {
        push(&titled(&asked.passage.title, text), first, Label::Neutral, "same-topic");
    }
    let (plain, tempting) = (random.unit() < counts.topical, random.unit() < counts.topical_mention);
    let topical: Vec<String> = if plain || tempting {
        found.topical.iter().filter_map(|p| beside(p, &needed, silent)).take(3).collect()
    } else {
        Vec::new()
    };
    if plain && let Some(premise) = pick(random, &topical) {
        push(premise, first, Label::Neutral, "topical");
    }
    // Another thing of the same name may well be what such a passage is about: no row of RAMDocs is safe here.
    if tempting && asked.set != "ramdocs" {
        let mut with_candidates = topical
            .iter()
            .filter(|p| coverage(&needed, p) <= 0.67)
            .map(|p| (p, asked.given.others_in(p, &asked.question)))
            .filter(|(_, c)| !c.is_empty());
        if let Some((premise, candidates)) = with_candidates.next()
            && let Some(answer) = pick(random, &candidates)
        {
            push(premise, answer, Label::Neutral, "topical-mention");
        }
    }
    if random.unit() < counts.mention
        && let Some((premise, answer)) = mentioned(asked, &found.mentioning, &needed)
    {
        push(&premise, answer, Label::Neutral, "mention");
    }
    out
}

/// The evidence with another name in place of the answer wherever it stands, and that name.
fn exchanged(asked: &Asked, premise: &str, answer: &str, others: &[String]) -> Option<(String, String)> {
    let kind = asked.given.kind()?;
    let words = answer.split_whitespace().count();
    // "Who" is answered by bands, peoples and offices too; a name of two words or three is most often a person's.
    let named = match kind {
        QuestionType::Who => (2..=3).contains(&words) && is_whole_mention(answer, kind),
        QuestionType::Where => is_whole_mention(answer, kind),
        _ => false,
    };
    let fits = |other: &&String| {
        other.split_whitespace().count() == words
            && other.split_whitespace().all(|w| w.starts_with(char::is_uppercase))
            && asked.given.differs(other)
            && !contains_phrase(&squad(premise), &squad(other))
            && !contains_phrase(&squad(&asked.question), &squad(other))
            && is_whole_mention(other, kind)
    };
    if !named || words > 4 || !answer.split_whitespace().all(|w| w.starts_with(char::is_uppercase)) {
        return None;
    }
    let other = others.iter().find(fits)?;
    let at = premise.find(answer)?;
    let change = Change { kind: TwinKind::Name, span: at..at + answer.len(), with: other.clone() };
    let changed = apply_everywhere(&change, premise)?;
    // A surname or an alias left behind would keep the old answer in the text.
    let left = asked.given.said_in(&changed) || asked.given.leaves_trace_in(&changed);
    (!left && contains_phrase(&squad(&changed), &squad(other))).then(|| (changed, other.clone()))
}

/// Whether the rules for names take the whole text for one name of the kind.
fn is_whole_mention(text: &str, kind: QuestionType) -> bool {
    mentions(text, kind).iter().any(|m| m.text == text)
}

/// The window of a passage that is nearest to a question without answering it.
fn beside(passage: &Passage, needed: &HashSet<String>, silent: impl Fn(&str) -> bool) -> Option<String> {
    let window = best_without(&passage.text, needed, &silent)?;
    let premise = titled(&passage.title, passage.text.get(window)?);
    // With nearly all of the question's words it may well answer it in other words.
    let fits = (0.2..0.85).contains(&coverage(needed, &premise));
    (fits && silent(&premise)).then_some(premise)
}

/// Wrong answers that stand in the passage itself.
pub(super) fn wrong_here(asked: &Asked, premise: &str) -> Vec<String> {
    let mut wrong = asked.given.others_in(premise, &asked.question);
    if asked.given.kind().is_none() {
        let normal = squad(premise);
        let question = squad(&asked.question);
        let longest = asked.given.texts().iter().map(|t| t.split_whitespace().count()).max().unwrap_or(1);
        let alike = |s: &&String| {
            let words = s.split_whitespace().count();
            // A phrase is answered by a phrase: names, dates and numbers would be told by their looks.
            Golds::new(&asked.question, [(*s).clone()]).kind().is_none()
                && words * 3 >= longest
                && words <= longest * 3
                && asked.given.differs(s)
                && contains_phrase(&normal, &squad(s))
                && !contains_phrase(&question, &squad(s))
        };
        wrong.extend(asked.siblings.iter().filter(alike).cloned());
    }
    let mut seen = HashSet::new();
    wrong.retain(|w| seen.insert(squad(w)));
    wrong
}

/// A question the passage does not answer, with what it might be taken to answer.
fn unanswered(
    asked: &Asked,
    needed: &HashSet<String>,
    random: &mut Random,
    push: &mut impl FnMut(&str, &str, Label, &str),
) {
    let text = &asked.passage.text;
    let Some(window) = best_without(text, needed, |_| true) else { return };
    let Some(premise) = text.get(window) else { return };
    let mut answers = asked.given.others_in(premise, &asked.question);
    let normal = squad(premise);
    let question = squad(&asked.question);
    if asked.given.kind().is_none_or(|k| k == QuestionType::Entity) {
        let here =
            |s: &&String| contains_phrase(&normal, &squad(s)) && !contains_phrase(&question, &squad(s));
        answers.extend(asked.siblings.iter().filter(here).cloned());
    }
    random.shuffle(&mut answers);
    for answer in answers.iter().take(2) {
        push(premise, answer, Label::Neutral, "impossible");
    }
}

/// A window that mentions an answer although it is about something else.
fn mentioned<'a>(
    asked: &'a Asked,
    passages: &[&Passage],
    needed: &HashSet<String>,
) -> Option<(String, &'a str)> {
    passages.iter().find_map(|p| {
        asked.given.texts().iter().find_map(|answer| {
            let own: HashSet<String> = content_terms(answer);
            let rest: HashSet<String> = needed.difference(&own).cloned().collect();
            let lower = p.text.to_lowercase();
            let at = (lower.len() == p.text.len()).then(|| lower.find(&answer.to_lowercase())).flatten()?;
            let window = around(&p.text, &(at..at + answer.len()), &HashSet::new())?;
            let premise = titled(&p.title, p.text.get(window)?);
            let holds = contains_phrase(&squad(&premise), &squad(answer));
            // Neither the words shown nor the rest of the passage may be about the question.
            let off_topic = coverage(&rest, &premise) <= 0.2 && coverage(&rest, &p.text) <= 0.34;
            (holds && off_topic).then_some((premise, answer.as_str()))
        })
    })
}
