//! English names: runs of capitalised words with what may stand inside a name.

use std::collections::HashSet;
use std::sync::LazyLock;

use counterproof_core::{ByteSpan, QuestionType};

use super::MentionKind;
use crate::packs::{english, names};
use crate::scan::{Kind, Lexeme, lex};

type Words = LazyLock<HashSet<&'static str>>;
static PLACES: Words = LazyLock::new(|| names::PLACES.iter().copied().collect());
static PLACE_WORDS: Words = LazyLock::new(|| names::PLACE_WORDS.iter().copied().collect());
static THING_WORDS: Words = LazyLock::new(|| names::THING_WORDS.iter().copied().collect());
static PEOPLES: Words = LazyLock::new(|| names::PEOPLES.iter().copied().collect());
static NO_NAMES: Words = LazyLock::new(|| {
    let months = english::MONTHS.iter().map(|(m, _)| *m).filter(|m| m.len() > 3 || *m == "may");
    let lists = [english::SENTENCE_OPENERS, english::WEEKDAYS, names::COMMON_OPENERS];
    lists.into_iter().flatten().copied().chain(english::STOP_WORDS).chain(months).collect()
});

/// Longer runs of capitalised words are headings or shouting, not names.
const LONGEST: usize = 12;

/// A run of lexemes `first..=last` that make one name.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: usize,
    last: usize,
}

pub(super) fn find(text: &str, wanted: QuestionType) -> Vec<(ByteSpan, MentionKind)> {
    let reader = Reader::new(lex(text));
    let runs = reader.runs();
    let mut out = match wanted {
        QuestionType::Who => reader.persons(&runs),
        QuestionType::Where => reader.places(&runs),
        _ => reader.things(&runs),
    };
    if wanted == QuestionType::Entity {
        out.extend(reader.quoted());
    }
    out
}

struct Reader {
    lexemes: Vec<Lexeme>,
    /// Words that the text also writes without a capital: at the start of a sentence they are no names.
    lower_words: HashSet<String>,
    /// Capitalised words that stand inside a sentence somewhere.
    inner_names: HashSet<String>,
}

impl Reader {
    fn new(lexemes: Vec<Lexeme>) -> Self {
        let lower_words =
            lexemes.iter().filter(|l| l.is_word() && !l.capital).map(|l| l.text.clone()).collect();
        let mut reader = Self { lexemes, lower_words, inner_names: HashSet::new() };
        let inner =
            (0..reader.lexemes.len()).filter(|at| reader.is_capital(*at) && !reader.opens_sentence(*at));
        reader.inner_names = inner.map(|at| reader.word(at).to_owned()).collect();
        reader
    }

    fn get(&self, at: usize) -> Option<&Lexeme> {
        self.lexemes.get(at)
    }

    fn word(&self, at: usize) -> &str {
        self.get(at).map(|l| l.text.as_str()).unwrap_or_default()
    }

    fn is_capital(&self, at: usize) -> bool {
        self.get(at).is_some_and(|l| l.is_word() && l.capital)
    }

    fn attached(&self, at: usize) -> bool {
        self.get(at).is_some_and(|l| !l.space_before)
    }

    fn line_starts(&self, at: usize) -> bool {
        self.get(at).is_none_or(|l| l.line_before)
    }

    fn opens_sentence(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).and_then(|b| self.get(b)) else { return true };
        self.line_starts(at)
            || matches!(
                before.text.as_str(),
                "." | "!" | "?" | ":" | "\"" | "“" | "—" | "•" | "*" | ";" | "("
            )
    }

    /// Whether the capitalised word at `at` can begin or continue a name.
    fn is_name_word(&self, at: usize) -> bool {
        if !self.is_capital(at) {
            return false;
        }
        let word = self.word(at);
        if word.chars().nth(1).is_none() {
            // A single letter is an initial, or the pronoun, or a grade.
            return word != "a" && (self.is_stop_after(at) || word != "i");
        }
        !NO_NAMES.contains(word) || self.is_given_name(at)
    }

    /// "June Gable": a month's name before another name, and not after a preposition or a day.
    fn is_given_name(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|b| self.get(b));
        names::NAME_MONTHS.contains(&self.word(at))
            && self.is_capital(at + 1)
            && !NO_NAMES.contains(self.word(at + 1))
            && !self.line_starts(at + 1)
            && !before.is_some_and(|l| l.is_number() || names::LOCATIVES.contains(&l.text.as_str()))
    }

    fn is_stop_after(&self, at: usize) -> bool {
        self.get(at + 1).is_some_and(|l| l.is(".") && !l.space_before)
    }

    /// One past the last lexeme of the word at `at`: hyphens, apostrophes and the full stops of initials and
    /// abbreviations belong to it, a possessive does not.
    fn word_end(&self, at: usize) -> usize {
        let mut end = at + 1;
        loop {
            let joint = self.word(end);
            let joined =
                matches!(joint, "-" | "'" | "’" | "‑") && self.attached(end) && self.attached(end + 1);
            let next = self.get(end + 1).filter(|l| l.is_word() || l.is_number());
            if joined
                && let Some(next) = next
                && !(joint != "-" && next.text == "s")
            {
                end += 2;
                continue;
            }
            let letters = self.get(end - 1).is_some_and(|l| l.is_word());
            let word = self.word(end - 1);
            let abbreviated = word.chars().nth(1).is_none() && self.get(end - 1).is_some_and(|l| l.capital)
                || matches!(
                    word,
                    "jr" | "sr"
                        | "st"
                        | "dr"
                        | "mr"
                        | "mrs"
                        | "ms"
                        | "mt"
                        | "ft"
                        | "gen"
                        | "col"
                        | "capt"
                        | "lt"
                        | "sgt"
                        | "rev"
                        | "prof"
                        | "gov"
                        | "sen"
                        | "no"
                        | "inc"
                        | "ltd"
                        | "bros"
                );
            if joint == "." && self.attached(end) && letters && abbreviated {
                end += 1;
                // "U.S." goes on without a space; an initial before a name with one.
                if self.attached(end) && self.is_capital(end) && self.word(end).chars().nth(1).is_none() {
                    end += 1;
                    continue;
                }
            }
            return end;
        }
    }

    /// The maximal tight runs: capitalised words, with particles and "Jr." but without connectors.
    fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut at = 0;
        while at < self.lexemes.len() {
            let glued =
                self.attached(at) && at > 0 && self.get(at - 1).is_some_and(|l| l.is_word() || l.is_number());
            if !self.is_name_word(at) || glued {
                at += 1;
                continue;
            }
            let first = at;
            let mut end = self.word_end(at);
            let mut words = 1;
            while words < LONGEST {
                let mut next = end;
                if self.line_starts(next) {
                    break;
                }
                // ", Jr."
                if self.word(next) == ","
                    && matches!(self.word(next + 1), "jr" | "sr")
                    && self.is_capital(next + 1)
                {
                    end = self.word_end(next + 1);
                    continue;
                }
                let mut particles = 0;
                while particles < 3
                    && self.get(next).is_some_and(|l| {
                        l.is_word()
                            && !l.capital
                            && l.space_before
                            && names::PARTICLES.contains(&l.text.as_str())
                    })
                {
                    next += 1;
                    particles += 1;
                }
                // Numbers belong to names such as "Apollo 11" and "Elizabeth II" alike.
                let spaced = self.get(next).is_some_and(|l| l.space_before && !l.line_before);
                let number = particles == 0
                    && self.get(next).is_some_and(|l| {
                        l.is_number() && l.text.len() <= 3 && l.text.bytes().all(|b| b.is_ascii_digit())
                    })
                    && !self
                        .get(next + 1)
                        .is_some_and(|l| l.is("%") || l.is_dash() || (l.is_word() && !l.space_before));
                if spaced
                    && number
                    && !self.get(next + 1).is_some_and(|l| l.is_word() && !l.capital && l.text.ends_with('s'))
                {
                    end = next + 1;
                    words += 1;
                    continue;
                }
                if !spaced || !self.is_name_word(next) {
                    break;
                }
                end = self.word_end(next);
                words += 1;
            }
            if let Some(run) = self.trim(Run { first, last: end - 1 }) {
                runs.push(run);
            }
            at = end.max(at + 1);
        }
        runs
    }

    /// Drops a first word that has its capital from the sentence only; `None` when nothing is left.
    fn trim(&self, run: Run) -> Option<Run> {
        let single = self.word_end(run.first) > run.last;
        let opens = self.opens_sentence(run.first);
        // "Songs by ...": a single word before a preposition is a noun of the sentence, not a name.
        let before_preposition = single
            && !self.inner_names.contains(self.word(run.first))
            && names::CONNECTORS.contains(&self.word(run.last + 1));
        if !opens || !(before_preposition || self.lower_words.contains(self.word(run.first))) {
            return Some(run);
        }
        if single {
            return None;
        }
        let first = self.word_end(run.first);
        (first <= run.last && self.is_capital(first)).then_some(Run { first, ..run })
    }

    fn span(&self, run: Run) -> Option<ByteSpan> {
        ByteSpan::new(self.get(run.first)?.start, self.get(run.last)?.end)
    }

    /// The words of a run, lower-case.
    fn words_of(&self, run: Run) -> impl Iterator<Item = &str> {
        self.lexemes
            .get(run.first..=run.last)
            .unwrap_or_default()
            .iter()
            .filter(|l| l.kind != Kind::Symbol)
            .map(|l| l.text.as_str())
    }

    fn joined(&self, run: Run) -> String {
        self.words_of(run).collect::<Vec<_>>().join(" ")
    }

    fn is_place_name(&self, run: Run) -> bool {
        PLACES.contains(self.joined(run).as_str())
    }

    fn is_people(&self, run: Run) -> bool {
        self.words_of(run).all(|w| PEOPLES.contains(w))
    }

    fn persons(&self, runs: &[Run]) -> Vec<(ByteSpan, MentionKind)> {
        let mut candidates: Vec<(Run, Vec<&str>)> = Vec::new();
        for run in runs {
            let Some(run) = self.without_title(*run) else { continue };
            let words: Vec<&str> = self.words_of(run).collect();
            let (Some(first), Some(last)) = (words.first(), words.last()) else { continue };
            let thing = THING_WORDS.contains(first)
                || THING_WORDS.contains(last)
                || last.bytes().all(|b| b.is_ascii_digit());
            let starts_as_place = PLACE_WORDS.contains(first) && !matches!(*first, "st" | "saint" | "san");
            if thing || starts_as_place || self.is_people(run) || self.is_place_name(run) {
                continue;
            }
            candidates.push((run, words));
        }
        // A surname alone repeats a fuller name.
        let fuller: HashSet<&str> = candidates
            .iter()
            .filter(|(_, words)| words.len() > 1)
            .flat_map(|(_, words)| [words.first(), words.last()])
            .flatten()
            .copied()
            .collect();
        let mut out: Vec<ByteSpan> = candidates
            .iter()
            .filter(|(_, words)| words.len() > 1 || words.first().is_some_and(|w| !fuller.contains(w)))
            .filter_map(|(run, _)| self.span(*run))
            .collect();
        out.extend(self.offices(runs));
        out.extend(self.duos(runs));
        out.into_iter().map(|span| (span, MentionKind::Person)).collect()
    }

    /// "President of the United States", "Henry, Prince of Wales": an office with what it is the office of.
    fn offices(&self, runs: &[Run]) -> Vec<ByteSpan> {
        let is_office = |run: &Run| self.words_of(*run).any(|w| names::OFFICES.contains(&w));
        let mut out = Vec::new();
        for (index, run) in runs.iter().enumerate().filter(|(_, run)| is_office(run)) {
            let whole = self.extended(*run);
            if whole.last == run.last {
                continue;
            }
            out.extend(self.span(whole));
            let before = index.checked_sub(1).and_then(|i| runs.get(i));
            if let Some(name) = before.filter(|b| b.last + 2 == run.first && self.word(b.last + 1) == ",") {
                out.extend(self.span(Run { first: name.first, last: whole.last }));
            }
        }
        out
    }

    /// "Brooks & Dunn": two names joined by an ampersand are one act.
    fn duos(&self, runs: &[Run]) -> Vec<ByteSpan> {
        let pairs = runs.windows(2).filter_map(|pair| match pair {
            [a, b] if b.first == a.last + 2 && self.word(a.last + 1) == "&" => {
                Some(Run { first: a.first, last: b.last })
            }
            _ => None,
        });
        pairs.filter_map(|run| self.span(run)).collect()
    }

    /// The run without titles and peoples in front of it ("President", "American").
    fn without_title(&self, mut run: Run) -> Option<Run> {
        loop {
            let word = self.word(run.first);
            let next = self.word_end(run.first);
            if !(names::TITLES.contains(&word) || PEOPLES.contains(word)) {
                return Some(run);
            }
            if next > run.last {
                return None;
            }
            run.first = next;
        }
    }

    fn places(&self, runs: &[Run]) -> Vec<(ByteSpan, MentionKind)> {
        let mut out = Vec::new();
        let mut index = 0;
        while let Some(run) = runs.get(index) {
            // "City, State, Country": names parted by nothing but a comma.
            let mut chain = vec![*run];
            while chain.len() < 4
                && let Some(next) = runs.get(index + chain.len())
                && chain.last().is_some_and(|l| next.first == l.last + 2 && self.word(l.last + 1) == ",")
            {
                chain.push(*next);
            }
            let placed = self.is_placed(*run);
            let compound =
                chain.len() > 1 && (placed || chain.iter().skip(1).any(|r| self.is_place_name(*r)));
            if compound && let (Some(first), Some(last)) = (chain.first(), chain.last()) {
                out.extend(self.span(Run { first: first.first, last: last.last }));
                if chain.len() > 2
                    && let Some(second) = chain.get(1)
                {
                    out.extend(self.span(Run { first: first.first, last: second.last }));
                }
                out.extend(chain.iter().filter_map(|r| self.span(*r)));
                index += chain.len();
                continue;
            }
            if placed && !self.is_people(*run) {
                let whole = self.extended(*run);
                out.extend(self.span(whole));
                let direction =
                    run.first.checked_sub(1).filter(|b| names::DIRECTIONS.contains(&self.word(*b)));
                out.extend(direction.and_then(|first| self.span(Run { first, ..whole })));
                if whole.last != run.last && self.is_place_name(*run) {
                    out.extend(self.span(*run));
                }
            }
            index += 1;
        }
        out.into_iter().map(|span| (span, MentionKind::Place)).collect()
    }

    /// Whether a name is a place's by its words or by the preposition before it.
    fn is_placed(&self, run: Run) -> bool {
        if self.is_place_name(run) || self.words_of(run).any(|w| PLACE_WORDS.contains(w)) {
            return true;
        }
        let the = usize::from(run.first > 0 && self.word(run.first - 1) == "the");
        let before = run.first.checked_sub(1 + the).map(|b| self.word(b)).unwrap_or_default();
        names::LOCATIVES.contains(&before)
    }

    /// The run with "of ..." behind it: "Tower of London", "Gulf of Mexico".
    fn extended(&self, run: Run) -> Run {
        let mut whole = run;
        while self.word(whole.last + 1) == "of" {
            let the = usize::from(self.word(whole.last + 2) == "the");
            let next = whole.last + 2 + the;
            if !self.is_name_word(next) || whole.last - run.first > LONGEST {
                break;
            }
            whole.last = self.word_end(next) - 1;
            while self.is_name_word(whole.last + 1)
                && self.get(whole.last + 1).is_some_and(|l| l.space_before && !l.line_before)
            {
                whole.last = self.word_end(whole.last + 1) - 1;
            }
        }
        whole
    }

    fn things(&self, runs: &[Run]) -> Vec<(ByteSpan, MentionKind)> {
        let mut out = Vec::new();
        let mut index = 0;
        while let Some(run) = runs.get(index) {
            let mut last = *run;
            let mut through_and = false;
            let mut taken = 1;
            while let Some(next) = runs.get(index + taken)
                && taken < 6
                && let Some(gap) = self.connects(last, *next)
            {
                through_and |= gap == "and" || gap == "&";
                last = *next;
                taken += 1;
            }
            let whole = Run { first: run.first, last: last.last };
            out.extend(self.span(whole));
            // Two names joined by "and" may be one title or two answers.
            if through_and || taken > 2 {
                out.extend(
                    runs.get(index..index + taken).unwrap_or_default().iter().filter_map(|r| self.span(*r)),
                );
            }
            index += taken;
        }
        out.into_iter().map(|span| (span, MentionKind::Name)).collect()
    }

    /// The first connector between two runs, when nothing but connectors stands between them.
    fn connects(&self, run: Run, next: Run) -> Option<&str> {
        let gap = self.lexemes.get(run.last + 1..next.first)?;
        let all = !gap.is_empty()
            && gap.len() <= 3
            && gap.iter().all(|l| !l.line_before && names::CONNECTORS.contains(&l.text.as_str()));
        let first = gap.first()?.text.as_str();
        // Between names "in", "on", "at", "by", "from", "with" and "to" more often part two than join them.
        let joins = matches!(first, "of" | "for" | "and" | "&" | "the" | "de" | "du" | "la" | "le");
        (all && joins).then_some(first)
    }

    /// What stands in quotation marks, when it is short and begins with a capital or a digit.
    fn quoted(&self) -> Vec<(ByteSpan, MentionKind)> {
        let mut out = Vec::new();
        let mut open: Option<usize> = None;
        for (at, lexeme) in self.lexemes.iter().enumerate() {
            match (lexeme.text.as_str(), open) {
                ("\"", None) | ("“", _) => open = Some(at + 1),
                ("\"" | "”", Some(first)) => {
                    open = None;
                    let mut last = at;
                    while last > first && matches!(self.word(last - 1), "," | "." | ";") {
                        last -= 1;
                    }
                    let begins = self.get(first).is_some_and(|l| l.capital || l.is_number());
                    if last > first
                        && last - first <= LONGEST
                        && begins
                        && let Some(span) = self.span(Run { first, last: last - 1 })
                    {
                        out.push((span, MentionKind::Title));
                    }
                }
                _ => {}
            }
        }
        out
    }
}

/// Whether `words` name a people, faith or language and nothing else.
pub(super) fn are_peoples(words: &str) -> bool {
    let lexemes = lex(words);
    !lexemes.is_empty() && lexemes.iter().all(|l| PEOPLES.contains(l.text.as_str()))
}
