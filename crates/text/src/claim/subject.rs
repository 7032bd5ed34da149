//! The entity that a claim is about: its first proper name, which is nearly always the grammatical subject.

use std::collections::HashSet;
use std::sync::LazyLock;

use counterproof_core::QuestionType;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::verbs::Reader;
use super::words::{Word, read};
use crate::han::has_han;
use crate::mention::mentions;
use crate::packs::{english, names, verbs};

pub(super) static OPENERS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lists = [verbs::NO_SUBJECTS, english::SENTENCE_OPENERS, names::COMMON_OPENERS];
    lists.into_iter().flatten().copied().chain(english::STOP_WORDS).collect()
});

/// Words that may stand inside a name without a capital.
const CONNECTORS: &[&str] = &["of", "the", "and", "&", "in", "on", "a", "an", "to", "for", "at"];
/// Works that a claim speaks from within: "In the film Casablanca, Rick ...".
const WORKS: &[&str] = &[
    "film", "movie", "novel", "book", "series", "show", "play", "poem", "game", "episode", "song", "musical",
    "opera", "story",
];
/// No name has more words.
const LONGEST: usize = 14;
/// A claim names its subject early; more of a long text is not read.
const LOOKED_AT: usize = 2000;

/// The name of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    text: String,
    words: Vec<Token>,
    /// Whether the claim is surely about it, so that a passage without it is about something else.
    sure: bool,
}

impl Name {
    /// The name as `text` writes it; `None` when it holds no letter or digit.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let words = content(tokens(text));
        let named = !words.is_empty();
        named.then(|| Self { text: text.to_owned(), words, sure: true })
    }

    /// The name as the claim writes it, without articles and titles before it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn is_sure(&self) -> bool {
        self.sure
    }

    pub(super) fn words(&self) -> &[Token] {
        &self.words
    }
}

/// A word of a name or a passage, in the form in which two are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Lower-case, without marks, accents, a possessive or the "s" of the plural.
    pub(super) key: String,
    pub(super) capital: bool,
    /// Whether it is written in capitals only, as acronyms and Roman numerals are.
    pub(super) caps: bool,
    /// Whether a sentence or other stretch ends before it.
    pub(super) opens: bool,
}

impl Token {
    fn new(raw: &str, opens: bool) -> Option<Self> {
        let owner = raw.trim_matches(|c: char| !c.is_alphanumeric());
        let owner = ["'s", "’s", "'S", "’S"].iter().find_map(|s| owner.strip_suffix(s)).unwrap_or(owner);
        let letters: String =
            owner.chars().filter(|c| c.is_alphanumeric() || is_combining_mark(*c)).collect();
        let capital = letters.starts_with(char::is_uppercase);
        let caps = letters.chars().nth(1).is_some() && letters.chars().all(char::is_uppercase);
        let key = fold(&letters, caps);
        (!key.is_empty()).then_some(Self { key, capital, caps, opens })
    }

    /// An Arabic or Roman number.
    pub(super) fn number(&self) -> bool {
        self.key.bytes().all(|b| b.is_ascii_digit())
            || (self.caps || self.capital && self.key.len() == 1)
                && self.key.bytes().all(|b| matches!(b, b'i' | b'v' | b'x'))
    }

    pub(super) fn is_connector(&self) -> bool {
        CONNECTORS.contains(&self.key.as_str())
            || matches!(self.key.as_str(), "de" | "la" | "le" | "by" | "with" | "from")
    }
}

fn fold(letters: &str, caps: bool) -> String {
    let mut key = String::with_capacity(letters.len());
    for c in letters.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        match c {
            'ø' => key.push('o'),
            'ł' => key.push('l'),
            'đ' | 'ð' => key.push('d'),
            'ı' => key.push('i'),
            'ß' => key.push_str("ss"),
            'æ' => key.push_str("ae"),
            'œ' => key.push_str("oe"),
            c => key.push(c),
        }
    }
    if !caps
        && key.len() > 3
        && key.ends_with('s')
        && !["ss", "is", "us"].iter().any(|end| key.ends_with(end))
    {
        key.pop();
    }
    key
}

/// The words of `text`; hyphens, slashes and dashes part them, full stops and apostrophes do not.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut opens = true;
    for chunk in text.split_whitespace() {
        for raw in chunk.split(['-', '–', '—', '‑', '/']) {
            if let Some(token) = Token::new(raw, opens) {
                out.push(token);
                opens = false;
            }
        }
        opens |= chunk.ends_with(['.', '!', '?', ':', ';', '"', '”']);
    }
    out
}

/// The words that carry the name; all of them when there are no others.
pub(super) fn content(all: Vec<Token>) -> Vec<Token> {
    if all.iter().any(|t| !t.is_connector()) {
        all.into_iter().filter(|t| !t.is_connector()).collect()
    } else {
        all
    }
}

/// The entity that `claim` is about: its first proper name, without articles and titles such as "President". `None` for
/// a claim without a proper name.
pub fn subject(claim: &str) -> Option<Name> {
    let cut = claim.char_indices().nth(LOOKED_AT).map_or(claim.len(), |(at, _)| at);
    let claim = claim.get(..cut)?.trim();
    if has_han(claim) {
        let found = mentions(claim, QuestionType::Entity);
        let who = mentions(claim, QuestionType::Who);
        let place = mentions(claim, QuestionType::Where);
        return [found, who, place]
            .into_iter()
            .flatten()
            .min_by_key(|m| (m.span.start(), m.span.end()))
            .and_then(|m| Name::new(&m.text));
    }
    let (words, _) = read(claim);
    let finder = Finder { claim, words: &words };
    let runs = finder.runs();
    let chosen = finder.choose(&runs)?;
    let name = Name::new(finder.text(chosen))?;
    Some(Name { sure: finder.is_sure(chosen), ..name })
}

struct Finder<'a> {
    claim: &'a str,
    words: &'a [Word],
}

/// The words `first..end` of a name.
type Run = (usize, usize);

impl<'a> Finder<'a> {
    fn word(&self, at: usize) -> Option<&'a Word> {
        self.words.get(at)
    }

    fn opens(&self, at: usize) -> bool {
        at == 0
    }

    /// Whether a name may begin or go on with the word.
    fn is_name_word(&self, at: usize) -> bool {
        let Some(word) = self.word(at) else { return false };
        if !word.capital {
            return word.number && word.after.contains(':') && self.word(at + 1).is_some_and(|w| w.capital);
        }
        let month = english::MONTHS.iter().any(|(m, _)| *m == word.lower)
            || english::WEEKDAYS.contains(&word.lower.as_str());
        let given = names::NAME_MONTHS.contains(&word.lower.as_str())
            && self.word(at + 1).is_some_and(|w| w.capital)
            && self.opens(at);
        let numeral = word.lower != "i"
            || word.after.starts_with('.')
            || at.checked_sub(1).and_then(|b| self.word(b)).is_some_and(|w| w.capital);
        (!month || given) && numeral && !word.bracketed
    }

    fn is_article(&self, at: usize) -> bool {
        self.word(at).is_some_and(|w| matches!(w.lower.as_str(), "the" | "a" | "an"))
    }

    fn ends_stretch(&self, at: usize) -> bool {
        self.word(at).is_none_or(|w| {
            w.after.contains([',', ';', '!', '?', ')', ']'])
                || w.after.contains('.') && !self.is_abbreviation(w)
        })
    }

    fn is_abbreviation(&self, word: &Word) -> bool {
        word.lower.chars().nth(1).is_none()
            || word.lower.contains('.')
            || english::OPEN_ABBREVIATIONS.contains(&word.lower.as_str())
            || matches!(word.lower.as_str(), "jr" | "sr")
    }

    fn runs(&self) -> Vec<Run> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let Some(run) = self.run_at(at) else {
                at += 1;
                continue;
            };
            at = run.1.max(at + 1);
            out.extend(self.trimmed(run));
        }
        out
    }

    fn run_at(&self, first: usize) -> Option<Run> {
        if !self.is_name_word(first) || !self.may_open(first) {
            return None;
        }
        let mut end = first + 1;
        let quoted = self.word(first).is_some_and(|w| w.inside);
        while end - first < LONGEST && !self.ends_stretch(end - 1) {
            if quoted && self.word(end).is_some_and(|w| !w.inside) {
                break;
            }
            let owner = self.word(end - 1).is_some_and(|w| w.lower.ends_with("'s"));
            let mut next = end;
            while next < end + 3 && self.word(next).is_some_and(|w| !w.capital && self.joins(w)) {
                next += 1;
            }
            let number = next == end
                && self.word(next).is_some_and(|w| w.number && w.lower.bytes().all(|b| b.is_ascii_digit()));
            let goes_on = number || self.is_name_word(next) && !(owner && next > end);
            if !goes_on {
                break;
            }
            end = next + 1;
        }
        Some((first, end))
    }

    fn joins(&self, word: &Word) -> bool {
        CONNECTORS.contains(&word.lower.as_str()) || names::PARTICLES.contains(&word.lower.as_str())
    }

    /// A capital at the start of the sentence makes no name by itself.
    fn may_open(&self, at: usize) -> bool {
        let Some(word) = self.word(at) else { return false };
        if !self.opens(at) || word.inside {
            return true;
        }
        let next_capital = self.word(at + 1).is_some_and(|w| w.capital || w.number && w.lower.len() < 4);
        if self.is_article(at) {
            return next_capital;
        }
        if OPENERS.contains(word.lower.as_str()) {
            // "Man on the Moon" is a title, "In Paris" is not.
            return false;
        }
        next_capital || self.ends_stretch(at) || word.lower.ends_with("'s") || self.is_single_name(at)
    }

    /// Whether the first word, before one without a capital, is a name: a verb follows, or the rest of a title.
    fn is_single_name(&self, at: usize) -> bool {
        let reader = Reader { words: self.words };
        let after = (at + 1..self.words.len())
            .find(|i| self.word(*i).is_some_and(|w| !w.bracketed))
            .unwrap_or(at + 1);
        let next = reader.past_adverbs(after);
        let place = self.word(at).is_some_and(|w| names::PLACES.contains(&w.lower.as_str()));
        let plural = self.word(at).is_some_and(|w| w.lower.ends_with('s') && w.lower.len() > 3)
            && self
                .word(next)
                .is_some_and(|w| w.is(&["are", "were", "have", "do", "can", "will"]) || w.is(verbs::BASES));
        let verb = reader.is_finite(next)
            || self.word(next).is_some_and(|w| w.lower.ends_with(['s', 'd']) && !w.is(&["and"]));
        let title = self.word(at + 1).is_some_and(|w| self.joins(w))
            && (at + 2..at + 4).any(|i| self.word(i).is_some_and(|w| w.capital));
        !plural && (verb || title || place)
    }

    /// The run without the articles and titles before it; `None` for a people's adjective alone.
    fn trimmed(&self, (mut first, end): Run) -> Option<Run> {
        while first + 1 < end
            && (self.is_article(first)
                || self
                    .word(first)
                    .is_some_and(|w| names::TITLES.contains(&w.lower.as_str()) && w.lower != "first")
                    && self.word(first + 1).is_some_and(|w| w.capital))
        {
            first += 1;
        }
        let people =
            (first..end).all(|i| self.word(i).is_some_and(|w| names::PEOPLES.contains(&w.lower.as_str())));
        let describes = people
            && self.word(end).is_some_and(|w| !w.capital)
            && !Reader { words: self.words }.is_finite(end);
        let bare_article = self.is_article(first) && first + 1 == end;
        (!describes && !bare_article).then_some((first, end))
    }

    /// The first run; after an opening such as "In 1995," the first behind its comma, unless the opening names the
    /// work that the claim speaks from within.
    fn choose(&self, runs: &[Run]) -> Option<Run> {
        let first = *runs.first()?;
        if self.is_behind_subject(first) {
            return None;
        }
        let opener = self.word(0).is_some_and(|w| OPENERS.contains(w.lower.as_str()) && !self.is_article(0));
        let comma = self.words.iter().take(LONGEST).position(Word::comma);
        let Some(comma) = comma.filter(|c| opener && first.1 <= c + 1) else {
            return Some(
                runs.get(1).copied().filter(|next| self.is_described(first, *next)).unwrap_or(first),
            );
        };
        let work = (0..first.0).any(|i| self.word(i).is_some_and(|w| w.is(WORKS)));
        let behind = runs.iter().find(|r| r.0 > comma && r.0 <= comma + 3);
        Some(if work { first } else { behind.copied().unwrap_or(first) })
    }

    /// "Odawa war chief Pontiac": the first name only describes the second.
    fn is_described(&self, first: Run, next: Run) -> bool {
        let reader = Reader { words: self.words };
        let between = self.words.get(first.1..next.0).unwrap_or_default();
        let nouns = (first.1..next.0).all(|i| {
            !reader.is_preposition(i)
                && !reader.is_determiner(i)
                && !reader.is_finite(i)
                && !reader.may_be_past(i)
                && !self.word(i).is_none_or(|w| {
                    w.capital || w.bracketed || self.joins(w) || !w.after.is_empty() || w.is(verbs::BASES)
                })
        });
        let ends =
            (next.1..self.words.len().min(next.1 + 4)).any(|i| reader.is_finite(i) || reader.may_be_past(i));
        (1..=3).contains(&between.len()) && nouns && ends && !self.ends_stretch(first.1 - 1)
    }

    /// Whether the name is the subject itself: no owner, no part of another phrase, no word that may have its capital
    /// from the sentence.
    fn is_sure(&self, (first, end): Run) -> bool {
        let reader = Reader { words: self.words };
        let owner = end
            .checked_sub(1)
            .and_then(|l| self.word(l))
            .is_some_and(|w| w.lower.ends_with("'s") || w.lower.ends_with("s'"));
        let mut before = first;
        while before > 0 && self.is_article(before - 1) {
            before -= 1;
        }
        let within = before > 0 && reader.is_preposition(before - 1)
            || before == 1 && self.word(0).is_some_and(|w| OPENERS.contains(w.lower.as_str()));
        let opening = first == 0
            && end == 1
            && self.word(0).is_some_and(|w| {
                w.lower.ends_with("ing")
                    || w.lower.ends_with('s') && !names::PLACES.contains(&w.lower.as_str())
            });
        !owner && !within && !opening
    }

    /// Whether a subject without a name stands before the verb and the name after it: "The novel was sold in England".
    fn is_behind_subject(&self, run: Run) -> bool {
        let reader = Reader { words: self.words };
        let verb = (1..run.0).find(|at| {
            reader.is_finite(*at)
                || self.word(*at).is_some_and(|w| w.is(verbs::BASES))
                    && !reader.is_determiner(at - 1)
                    && !reader.is_preposition(at - 1)
        });
        let Some(verb) = verb else { return false };
        let there = self.word(0).is_some_and(|w| w.lower == "there");
        let date = (0..verb).all(|i| self.word(i).is_some_and(|w| w.capital || w.number));
        !there && (!date || verb == 1)
    }

    fn text(&self, (first, end): Run) -> &'a str {
        let start = self.word(first).map_or(0, |w| w.start);
        let stop = end.checked_sub(1).and_then(|l| self.word(l)).map_or(start, |w| w.end);
        let text = self.claim.get(start..stop).unwrap_or_default();
        let text = text.trim_matches(|c: char| !c.is_alphanumeric());
        ["'s", "’s"].iter().find_map(|s| text.strip_suffix(s)).unwrap_or(text)
    }
}
