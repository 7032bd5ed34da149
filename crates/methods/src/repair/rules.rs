//! The twelve deterministic rules that every revision has to pass (CounterRefine, step 6).
//!
//! They read the proposal and the pool, never the model: a passage or a reply can make a revision fail, but cannot
//! talk its way through.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use counterproof_core::{QuestionType, RuleOutcome, Trace};
use counterproof_text::abstention::is_abstention;
use counterproof_text::answer::{clean_answer, yes_no};
use counterproof_text::normalise::squad;
use counterproof_text::sentences::sentences;
use counterproof_text::tokens::overlap;
use counterproof_text::value::{
    Comparison, anchors, compare, has_number_marker, has_time_marker, values, years,
};
use regex::Regex;

use super::locate::{EvidenceRef, Located, locate};
use super::{Pool, RepairConfig, Rule};

/// The stage name of the rules in traces.
pub(super) const STAGE: &str = "validate";

/// What a gate proposes in place of the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The new answer, as the gate gave it.
    pub answer: String,
    /// What it rests on.
    pub evidence: EvidenceRef,
}

/// A revision that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The new answer, cleaned but not yet normalised.
    pub answer: String,
    /// The words it rests on; absent only when the rules that demand them were taken out.
    pub located: Option<Located>,
}

/// What the rules look at.
pub struct Case<'a> {
    /// The kind of answer asked for.
    pub question_type: QuestionType,
    /// The draft.
    pub draft: &'a str,
    /// The passages found.
    pub pool: &'a Pool,
    /// Parameters and switches.
    pub config: &'a RepairConfig,
}

/// Applies the rules in order and notes each in the trace; the first that is broken is the error.
pub fn validate(proposal: &Proposal, case: &Case<'_>, trace: &mut Trace) -> Result<Accepted, Rule> {
    let answer = clean_answer(&proposal.answer);
    let located = locate(&proposal.evidence, &answer, case.pool, case.config.snippet_containment);
    if case.config.ablate.no_validation {
        trace.note(STAGE, "validation is switched off");
        return Ok(Accepted { answer, located });
    }
    let snippet = located.and_then(|l| l.span.slice(&case.pool.get(l.passage)?.text)).unwrap_or_default();
    for rule in Rule::ALL {
        if case.config.ablate.rules.contains(&rule) {
            trace.rule(STAGE, rule.code(), RuleOutcome::Skipped, "switched off");
            continue;
        }
        match check(rule, proposal, &answer, located, snippet, case) {
            None => trace.rule(STAGE, rule.code(), RuleOutcome::Skipped, "does not apply"),
            Some((true, detail)) => trace.rule(STAGE, rule.code(), RuleOutcome::Passed, detail),
            Some((false, detail)) => {
                trace.rule(STAGE, rule.code(), RuleOutcome::Failed, detail);
                return Err(rule);
            }
        }
    }
    Ok(Accepted { answer, located })
}

/// Whether one rule is met, with what it looked at; `None` when it does not apply.
fn check(
    rule: Rule,
    proposal: &Proposal,
    answer: &str,
    located: Option<Located>,
    snippet: &str,
    case: &Case<'_>,
) -> Option<(bool, String)> {
    let t = case.question_type;
    let config = case.config;
    let named = matches!(t, QuestionType::Who | QuestionType::Where | QuestionType::Entity);
    let verdict = match rule {
        Rule::Empty => (!squad(answer).is_empty() && !is_abstention(answer), format!("answer \"{answer}\"")),
        Rule::SameAsDraft => (
            !means_the_same(answer, case.draft, &config.aliases),
            format!("\"{answer}\" against the draft \"{}\"", case.draft),
        ),
        Rule::YesNoIllTyped if t == QuestionType::YesNo => {
            (yes_no(answer).is_some(), format!("answer \"{answer}\""))
        }
        Rule::EntityTooLong if named => {
            let words = word_count(answer);
            (words <= config.max_entity_words, format!("{words} words, {} allowed", config.max_entity_words))
        }
        Rule::EntityDescriptive if named => match descriptive(answer) {
            Some(pattern) => (false, format!("holds \"{pattern}\"")),
            None => (true, "reads as a name".to_owned()),
        },
        Rule::NoTimeMarker if t == QuestionType::Year => {
            (!years(answer).is_empty(), format!("years in \"{answer}\""))
        }
        Rule::NoTimeMarker if t == QuestionType::When => {
            (has_time_marker(answer), format!("times in \"{answer}\""))
        }
        Rule::NoNumberMarker if t == QuestionType::Number => {
            (has_number_marker(answer), format!("numbers in \"{answer}\""))
        }
        Rule::AmbiguousYear if t == QuestionType::Year => {
            let distinct: BTreeSet<String> = years(answer).into_iter().map(|(year, _)| year).collect();
            let detail = format!("years: {}", distinct.iter().cloned().collect::<Vec<_>>().join(", "));
            (distinct.len() <= 1 || super::normal::year_range(answer).is_some(), detail)
        }
        Rule::NoEvidence => {
            let given = match &proposal.evidence {
                EvidenceRef::None => false,
                EvidenceRef::Snippet(s) => !s.trim().is_empty(),
                EvidenceRef::Passage(_) | EvidenceRef::Span { .. } => true,
            };
            (given, describe(&proposal.evidence))
        }
        Rule::EvidenceNotInPool => match located.and_then(|l| case.pool.get(l.passage)) {
            Some(passage) => (true, format!("found in passage {}", passage.id)),
            None => (false, describe(&proposal.evidence)),
        },
        // With "evidence not in pool" switched off there may be no located words to compare with.
        Rule::WeakOverlap | Rule::Unanchored if located.is_none() => return None,
        Rule::WeakOverlap if t == QuestionType::YesNo => return None, // "yes" need not stand in the evidence.
        Rule::WeakOverlap => {
            let share = overlap(answer, snippet);
            let enough = if config.ablate.loose_overlap { share > 0.0 } else { share >= config.min_overlap };
            (enough, format!("{share:.2} of the answer's words stand in \"{snippet}\""))
        }
        Rule::Unanchored if matches!(t, QuestionType::Year | QuestionType::When | QuestionType::Number) => {
            let held: BTreeSet<String> = anchors(snippet).into_iter().collect();
            let wanted = anchors(answer);
            let anchored = wanted.iter().any(|a| held.contains(a));
            (wanted.is_empty() || anchored, format!("{wanted:?} in \"{snippet}\""))
        }
        _ => return None,
    };
    Some(verdict)
}

fn describe(evidence: &EvidenceRef) -> String {
    match evidence {
        EvidenceRef::None => "no evidence was given".to_owned(),
        EvidenceRef::Snippet(s) => format!("evidence \"{s}\""),
        EvidenceRef::Passage(ix) | EvidenceRef::Span { passage: ix, .. } => format!("passage {}", ix + 1),
    }
}

/// Whether two answers are the same answer: equal after SQuAD normalisation, equal by value ("twelve" and "12"), or
/// of one set of aliases.
pub fn means_the_same(a: &str, b: &str, aliases: &[BTreeSet<String>]) -> bool {
    let (a_norm, b_norm) = (squad(a), squad(b));
    if a_norm == b_norm {
        return true;
    }
    let in_set = |set: &BTreeSet<String>, norm: &str| set.iter().any(|alias| squad(alias) == norm);
    if aliases.iter().any(|set| in_set(set, &a_norm) && in_set(set, &b_norm)) {
        return true;
    }
    match (sole_value(a), sole_value(b)) {
        (Some(x), Some(y)) => compare(&x, &y) == Comparison::Same,
        _ => false,
    }
}

/// The value of a text that holds one value and no other word.
fn sole_value(text: &str) -> Option<counterproof_text::value::Value> {
    let mut found = values(text);
    let only = found.pop().filter(|_| found.is_empty())?;
    let before = text.get(..only.span.start())?;
    let after = text.get(only.span.end()..)?;
    let silent = |s: &str| !s.chars().any(char::is_alphanumeric);
    (silent(before) && silent(after)).then_some(only.value)
}

/// Words of an answer, in scripts with and without spaces between them.
pub(crate) fn word_count(answer: &str) -> usize {
    let spaced = answer.split_whitespace().count();
    let ideographs = answer.chars().filter(|c| matches!(c, '\u{3400}'..='\u{9fff}')).count();
    // Without spaces between words, two characters make about one word.
    spaced.max(ideographs.div_ceil(2))
}

/// Patterns of an answer that describes instead of naming: relative clause, copula, reason, hedge.
#[allow(clippy::expect_used)] // A literal pattern; the test below compiles it.
static DESCRIPTIVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:who|which|whose|where|that)\s+\p{L}+|\b(?:is|was|are|were)\s+(?:an?|the)\b|\bbecause\b|\bdue to\b|\b(?:possibly|probably|likely|perhaps|either|may have|might have|could be)\b|可能|也许|大概|因为|由于|是一[个位名种]",
    )
    .expect("a literal pattern compiles")
});

fn descriptive(answer: &str) -> Option<String> {
    // A relative pronoun or copula makes a clause only when something stands before it: "Who Framed Roger Rabbit"
    // and "The Who" are names.
    for found in DESCRIPTIVE.find_iter(answer) {
        let relative = found.as_str().to_lowercase();
        let pronoun = ["who", "which", "whose", "where", "that"].iter().any(|p| relative.starts_with(p));
        let titled = relative_is_capitalised(found.as_str());
        if pronoun && (found.start() == 0 || titled) {
            continue;
        }
        return Some(found.as_str().to_owned());
    }
    if answer.contains(';') || answer.contains('；') {
        return Some(";".to_owned());
    }
    (sentences(answer).len() > 1).then(|| "two sentences".to_owned())
}

fn relative_is_capitalised(words: &str) -> bool {
    words.chars().next().is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_told_from_names() {
        for described in [
            "the physicist who later led the laboratory",
            "Curie, who led it",
            "It was the French team",
            "probably Curie",
            "Curie; later Joliot",
            "Curie because she founded it",
            "一位可能的科学家",
        ] {
            assert!(descriptive(described).is_some(), "{described}");
        }
        for name in [
            "Marie Curie",
            "Who Framed Roger Rabbit",
            "The Who",
            "Guess Who Died",
            "Martin Luther King Jr.",
            "居里夫人",
        ] {
            assert_eq!(descriptive(name), None, "{name}");
        }
    }

    #[test]
    fn the_same_answer_in_other_words_is_no_revision() {
        let nyc = [BTreeSet::from(["NYC".to_owned(), "New York City".to_owned()])];
        assert!(means_the_same("The Beatles", "beatles", &[]));
        assert!(means_the_same("twelve", "12", &[]));
        assert!(means_the_same("Jan 15, 1967", "January 15, 1967", &[]));
        assert!(means_the_same("nyc", "New York City", &nyc));
        assert!(!means_the_same("nyc", "New York City", &[]));
        assert!(!means_the_same("1912", "1913", &[]));
        assert!(!means_the_same("12 Monkeys", "12", &[]));
    }
}
