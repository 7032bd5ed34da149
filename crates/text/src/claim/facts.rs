//! The facts of an English claim: joined verb phrases, joined clauses, relative clauses and appositions, each with the
//! subject that it shares.
//!
//! A wrong cut makes a statement that nobody made, while a claim left whole is only harder to check: each rule cuts
//! where the forms around the joint leave one reading.

use super::checkable::is_question;
use super::verbs::{Form, Group, Opening, Reader};
use super::words::{Word, read};
use crate::han::has_han;
use crate::packs::{names, verbs};
use crate::sentences::sentences;

/// Longer texts are no single claim; they stay whole.
const LONGEST: usize = 1200;
const MOST_WORDS: usize = 150;
/// Words in the longest subject that is carried over.
const LONGEST_SUBJECT: usize = 14;

/// The facts that `claim` states, in order, each a sentence of its own with the subject carried over; the claim itself,
/// trimmed, when it states one fact or cannot be split safely.
///
/// ```
/// use counterproof_text::claim::facts;
///
/// assert_eq!(
///     facts("Marie Curie was born in Warsaw and won two Nobel Prizes."),
///     ["Marie Curie was born in Warsaw.", "Marie Curie won two Nobel Prizes."]
/// );
/// ```
pub fn facts(claim: &str) -> Vec<String> {
    let claim = claim.trim();
    let whole = || vec![claim.to_owned()];
    if claim.len() > LONGEST || claim.contains(['\n', '\r']) || is_question(claim) {
        return whole();
    }
    if has_han(claim) {
        return super::chinese::facts(claim).unwrap_or_else(whole);
    }
    match split(claim) {
        Some(parts) => parts.iter().flat_map(|part| facts(part)).collect(),
        None => whole(),
    }
}

/// The claim in parts, each with fewer words than it has.
fn split(claim: &str) -> Option<Vec<String>> {
    let (words, balanced) = read(claim);
    let out_of_bounds = !balanced || words.len() > MOST_WORDS || claim.contains("—") || claim.contains(" – ");
    if out_of_bounds || is_scoped(&words) || colon(claim, &words) {
        return None;
    }
    let parts = match by_sentence(claim) {
        Some(parts) => parts,
        None => Claim { text: claim, reader: Reader { words: &words } }.split()?,
    };
    parts.iter().all(|p| p.split_whitespace().count() < claim.split_whitespace().count()).then_some(parts)
}

/// Whether the claim as a whole is a condition, a choice or a denial.
fn is_scoped(words: &[Word]) -> bool {
    let not_only = words.windows(2).any(|pair| {
        matches!(pair, [not, only] if not.lower == "not" && matches!(only.lower.as_str(), "only" | "just"))
    });
    not_only || words.iter().any(|w| !w.inside && verbs::SCOPES.contains(&w.lower.as_str()) && !month(w))
}

/// "May" with a capital is a month or a name.
fn month(word: &Word) -> bool {
    word.capital && matches!(word.lower.as_str(), "may" | "might" | "will")
}

/// A colon that is not part of a title ("2001: A Space Odyssey").
fn colon(claim: &str, words: &[Word]) -> bool {
    claim.contains(':')
        && words.windows(2).any(|pair| {
            matches!(pair, [first, next] if first.after.contains(':') && !(next.capital && (first.capital || first.number)))
        })
}

/// Several sentences, when each stands by itself.
fn by_sentence(claim: &str) -> Option<Vec<String>> {
    let spans = sentences(claim);
    let parts: Vec<&str> = spans.iter().filter_map(|span| span.slice(claim)).collect();
    let alone = |part: &&str| {
        let (words, balanced) = read(part);
        let reader = Reader { words: &words };
        balanced
            && part.ends_with('.')
            && reader.verb_after(0, words.len()).is_some()
            && words.first().is_some_and(may_open)
    };
    let own = parts.iter().skip(1).all(|part| !opens_with_pointer(part));
    (parts.len() > 1 && own && parts.iter().all(alone))
        .then(|| parts.into_iter().map(str::to_owned).collect())
}

fn may_open(word: &Word) -> bool {
    word.capital && !verbs::NO_SUBJECTS.contains(&word.lower.as_str())
}

fn opens_with_pointer(part: &str) -> bool {
    let first = part.split_whitespace().next().unwrap_or_default().to_lowercase();
    matches!(first.as_str(), "he" | "she" | "it" | "they" | "his" | "her" | "its" | "their" | "the")
}

impl Reader<'_> {
    /// The first finite verb of `from..to` after at least one word.
    fn verb_after(&self, from: usize, to: usize) -> Option<usize> {
        (from + 1..to).find(|at| self.is_finite(*at))
    }
}

struct Claim<'a> {
    text: &'a str,
    reader: Reader<'a>,
}

/// A place where the claim is cut.
struct Joint {
    /// The first word after it.
    start: usize,
    /// The word that it ends before.
    end: usize,
    lead: Lead,
}

/// What goes before the words after a joint.
enum Lead {
    /// The subject and these auxiliaries.
    Subject(String),
    /// Nothing: they have a subject of their own.
    Nothing,
}

impl Claim<'_> {
    fn word(&self, at: usize) -> Option<&Word> {
        self.reader.words.get(at)
    }

    fn len(&self) -> usize {
        self.reader.words.len()
    }

    /// The words `from..to` without the marks that part them from others.
    fn slice(&self, from: usize, to: usize) -> &str {
        let start = self.word(from).map_or(0, |w| w.start);
        let end = to.checked_sub(1).and_then(|l| self.word(l)).map_or(start, |w| w.end);
        self.text.get(start..end).unwrap_or_default().trim_end_matches([',', ';', ' '])
    }

    fn split(&self) -> Option<Vec<String>> {
        self.aside().or_else(|| self.joined())
    }

    /// Whether `0..end` is a subject that can be carried over.
    fn is_subject(&self, end: usize) -> bool {
        let words = self.reader.words.get(..end).unwrap_or_default();
        let pointing = |w: &Word| w.is(verbs::CLAUSE_OPENERS);
        let clean = words.iter().all(|w| !pointing(w) && !w.semicolon());
        let commas = words.iter().rev().skip(1).any(|w| w.comma() && !w.inside);
        let opens = words.first().is_some_and(|w| {
            w.inside || w.number || (w.capital && !verbs::NO_SUBJECTS.contains(&w.lower.as_str()))
        });
        opens && clean && !commas && end <= LONGEST_SUBJECT
    }

    /// A relative clause or an apposition after the subject, between two commas.
    fn aside(&self) -> Option<Vec<String>> {
        let comma =
            (0..self.len().min(LONGEST_SUBJECT)).find(|at| self.word(*at).is_some_and(Word::comma))?;
        if (1..=comma).any(|at| self.reader.is_finite(at)) || !self.is_subject(comma + 1) {
            return None;
        }
        let subject = self.slice(0, comma + 1);
        let first = self.word(comma + 1)?;
        if first.is(&["who", "which"]) {
            let verb = self.reader.past_adverbs(comma + 2);
            let close = self.closing(verb)?;
            self.reader.is_finite(verb).then_some(())?;
            let inner = sentence(&[subject, self.slice(comma + 2, close)]);
            return Some(vec![inner, sentence(&[subject, self.slice(close, self.len())])]);
        }
        if !first.is(&["a", "an", "the"]) || !self.is_name(comma + 1) || self.is_title_like(comma) {
            return None;
        }
        let close = (comma + 2..self.len()).find(|at| self.word(at - 1).is_some_and(Word::comma))?;
        let plain = (comma + 1..close).all(|at| {
            !self.reader.is_clearly_finite(at) && !self.word(at).is_some_and(|w| w.is(verbs::CLAUSE_OPENERS))
        });
        let verb = self.reader.past_adverbs(close);
        if !plain || close < comma + 3 || !self.reader.is_finite(verb) {
            return None;
        }
        let group = self.reader.group(verb);
        let plural = self.word(verb).is_some_and(|w| w.is(&["are", "were", "have"]))
            || (0..comma).any(|at| self.reader.is(at, "and"));
        let be = match (group.present, plural) {
            (true, false) => "is",
            (true, true) => "are",
            (false, false) => "was",
            (false, true) => "were",
        };
        let inner = sentence(&[subject, be, self.slice(comma + 1, close)]);
        Some(vec![inner, sentence(&[subject, self.slice(close, self.len())])])
    }

    /// Where the clause around `verb` ends: after a comma that the verb of the sentence follows.
    fn closing(&self, verb: usize) -> Option<usize> {
        (verb + 2..self.len()).find(|at| {
            self.word(at - 1).is_some_and(Word::comma) && self.reader.is_finite(self.reader.past_adverbs(*at))
        })
    }

    /// "The Lion, the Witch, ...": more of a title, not an apposition.
    fn is_title_like(&self, comma: usize) -> bool {
        self.word(0).is_some_and(|w| matches!(w.lower.as_str(), "the" | "a" | "an"))
            && self.word(comma + 2).is_some_and(|w| w.capital)
    }

    /// Whether `0..end` is a name and nothing else.
    fn is_name(&self, end: usize) -> bool {
        let words = self.reader.words.get(..end).unwrap_or_default();
        words.iter().all(|w| {
            w.capital
                || w.number
                || w.inside
                || names::PARTICLES.contains(&w.lower.as_str())
                || matches!(w.lower.as_str(), "of" | "the" | "and" | "in" | "for" | "on")
        })
    }

    /// Verb phrases and clauses joined to the first.
    fn joined(&self) -> Option<Vec<String>> {
        let verb = self.reader.verb_after(0, self.len())?;
        let mut end = verb;
        while end > 1 && self.reader.is_adverb(end - 1) {
            end -= 1;
        }
        if !self.is_subject(end) || self.word(end - 1).is_some_and(Word::comma) {
            return None;
        }
        let subject = self.slice(0, end);
        let joints = self.joints(verb, subject);
        let first = joints.first()?;
        let mut out = vec![sentence(&[self.slice(0, first.end)])];
        for (index, joint) in joints.iter().enumerate() {
            let to = joints.get(index + 1).map_or(self.len(), |next| next.end);
            let words = self.slice(joint.start, to);
            out.push(match &joint.lead {
                Lead::Subject(auxiliaries) => sentence(&[subject, auxiliaries, words]),
                Lead::Nothing => sentence(&[&capitalised(words)]),
            });
        }
        Some(out)
    }

    /// The joints in order; none from the first unsure one on.
    fn joints(&self, verb: usize, subject: &str) -> Vec<Joint> {
        let mut out = Vec::new();
        let mut group = self.reader.group(verb);
        let mut start = 0;
        let mut at = group.last + 1;
        while at < self.len() {
            let conjunction = self.word(at).is_some_and(|w| w.is(&["and", "but"]));
            let semicolon = self.word(at - 1).is_some_and(Word::semicolon);
            let whilst = self.reader.is(at, "while") && self.word(at - 1).is_some_and(Word::comma);
            if !(conjunction || semicolon || whilst) {
                at += 1;
                continue;
            }
            let next = at + usize::from(conjunction || whilst);
            let verb = self.reader.past_adverbs(next);
            if conjunction && !semicolon && self.reader.opening(verb, group).is_some() {
                let Some((listed, last)) = self.listed(start, at, group) else { return out };
                if let Some((joint, next_group)) = self.phrase(at, next, last) {
                    (start, at, group) = (joint.start, next_group.last + 1, next_group);
                    out.extend(listed);
                    out.push(joint);
                    continue;
                }
            }
            if !self.may_end(start, at, group) {
                return out;
            }
            if let Some(joint) = self.clause(at, next, group, subject, conjunction && !semicolon) {
                out.push(joint);
                return out;
            }
            if semicolon {
                return out;
            }
            at += 1;
        }
        out
    }

    /// Whether the phrase `start..at` is complete and holds nothing that what follows could belong to.
    fn may_end(&self, start: usize, at: usize, group: Group) -> bool {
        let complete =
            at > group.last + 1 || self.reader.stands_alone(group.last) && group.form == Form::Active;
        let before = at - 1;
        let word = self.word(before);
        let waits = [
            "of", "in", "on", "at", "by", "for", "from", "to", "with", "as", "into", "between", "about",
            "and", "but",
        ];
        let open = word.is_some_and(|w| w.is(&waits) || w.lower == "and")
            || self.reader.is_determiner(before)
                && !word.is_some_and(|w| {
                    w.is(&["one", "many", "several", "all", "himself", "herself", "itself", "themselves"])
                })
            || before > group.last && self.reader.is_bare_verb(before);
        let limited = (start..at).any(|i| self.word(i).is_some_and(is_limit));
        let nested = (group.last + 1..at).any(|i| {
            self.reader.is_clearly_finite(i) || self.word(i).is_some_and(|w| w.is(verbs::CLAUSE_OPENERS))
        });
        complete && !open && !limited && !nested
    }

    /// The joints in a list of verb phrases ("was born in A, moved to B, and died in C") and the verb group of its last
    /// but one. `None` where a comma before a verb cannot be read, or a phrase may go on behind it.
    fn listed(&self, start: usize, at: usize, group: Group) -> Option<(Vec<Joint>, Group)> {
        let mut out = Vec::new();
        let (mut start, mut group) = (start, group);
        let closed = self.word(at - 1).is_some_and(Word::comma);
        let mut i = group.last + 2;
        while i < at {
            let verb = self.reader.past_adverbs(i);
            let opens = self.word(i - 1).is_some_and(Word::comma)
                && (self.reader.is_finite(verb) || self.reader.opening(verb, group).is_some());
            if opens {
                if !closed || !self.may_end(start, i, group) {
                    return None;
                }
                let (joint, own) = self.phrase(i, i, group)?;
                (start, i, group) = (joint.start, own.last, own);
                out.push(joint);
            }
            i += 1;
        }
        self.may_end(start, at, group).then_some((out, group))
    }

    /// A verb phrase joined at `at` that shares the subject.
    fn phrase(&self, at: usize, next: usize, group: Group) -> Option<(Joint, Group)> {
        let verb = self.reader.past_adverbs(next);
        let opening = self.reader.opening(verb, group)?;
        let start = next + usize::from(self.word(next).is_some_and(|w| w.is(&["also", "then"])));
        let mut own = self.reader.group(verb);
        let auxiliary = match opening {
            Opening::Own => String::new(),
            Opening::Leaning => {
                own = Group { form: Form::Passive, present: group.present, ..own };
                self.word(group.first)?.lower.clone()
            }
        };
        let complete = own.last + 1 < self.len() || self.reader.stands_alone(own.last);
        if !complete || self.points_back(start, self.len()) {
            return None;
        }
        Some((Joint { start, end: at, lead: Lead::Subject(auxiliary) }, own))
    }

    /// A clause joined at `at`, with a pronoun for the subject or a name of its own.
    fn clause(&self, at: usize, next: usize, group: Group, subject: &str, by_word: bool) -> Option<Joint> {
        let first = self.word(next)?;
        let verb = self.reader.past_adverbs(next + 1);
        if first.any_case(&["he", "she", "it", "they"]) {
            let meant = self.is_meant(&first.lower, group, at, subject);
            let finite = self.reader.is_finite(verb) || self.reader.may_be_past(verb);
            let sure = meant && finite && !self.points_back(next + 1, self.len());
            return sure.then(|| Joint { start: next + 1, end: at, lead: Lead::Subject(String::new()) });
        }
        let after_comma = self.word(at - 1).is_some_and(|w| w.comma() || w.semicolon());
        let commas = (0..at.saturating_sub(1)).any(|i| self.word(i).is_some_and(Word::comma));
        let named = first.capital && !verbs::NO_SUBJECTS.contains(&first.lower.as_str())
            || self.reader.is(next, "the") && self.word(next + 1).is_some_and(|w| w.capital);
        if !after_comma || !named || (by_word && commas) {
            return None;
        }
        let end = (next + 1..self.len().min(next + 8)).find(|i| self.reader.is_finite(*i))?;
        let plain = (next..end).all(|i| {
            self.word(i).is_some_and(|w| !w.comma() && !w.is(&["his", "her", "its", "their", "and", "other"]))
        });
        let alone =
            plain && end + 1 < self.len() && !self.points_back(next, self.len()) && !self.possessive(next);
        alone.then_some(Joint { start: next, end: at, lead: Lead::Nothing })
    }

    fn possessive(&self, from: usize) -> bool {
        (from..self.len()).any(|i| self.word(i).is_some_and(|w| w.is(&["his", "her", "their", "its"])))
    }

    /// Whether the pronoun stands for the subject: no other name before it could be meant.
    fn is_meant(&self, pronoun: &str, group: Group, at: usize, subject: &str) -> bool {
        let be = matches!(group.form, Form::Copula | Form::Passive);
        let plural = subject.contains(" and ")
            || subject.starts_with("The ") && subject.ends_with('s')
            || self.word(group.first).is_some_and(|w| w.is(&["are", "were"]));
        let article = ["The ", "A ", "An "].iter().any(|a| subject.starts_with(a));
        let others = (group.last + 1..at).any(|i| {
            let placed = self
                .word(i - 1)
                .is_some_and(|w| w.is(&["in", "at", "from", "near", "on", "during", "since"]));
            self.word(i).is_some_and(|w| w.capital || w.inside)
                && !placed
                && !self.word(i - 1).is_some_and(|w| w.capital)
        });
        match pronoun {
            "it" => be && !plural,
            "they" => plural,
            _ => !plural && !article && (be || !others),
        }
    }

    /// Whether `from..to` points to something outside itself.
    fn points_back(&self, from: usize, to: usize) -> bool {
        (from..to).any(|at| {
            let Some(word) = self.word(at) else { return false };
            let own = at == from && word.is(&["not"]);
            let object_her = word.is(&["her"])
                && (at + 1 >= to || !word.after.is_empty() || self.reader.is_preposition(at + 1));
            !own && !is_negated_auxiliary(word) && word.is(verbs::POINTERS) && word.lower != "not"
                || object_her
        })
    }
}

fn is_negated_auxiliary(word: &Word) -> bool {
    word.lower.ends_with("n't")
}

/// Whether the word denies, limits or hedges its phrase.
fn is_limit(word: &Word) -> bool {
    !word.inside && (verbs::LIMITS.contains(&word.lower.as_str()) || is_negated_auxiliary(word))
}

fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The parts as one sentence with one full stop.
fn sentence(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts.iter().map(|p| p.trim()).filter(|p| !p.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(part);
    }
    out.truncate(out.trim_end_matches(['.', '!', '。', ' ', ',', ';']).len());
    out.push('.');
    out
}
