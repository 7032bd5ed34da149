//! What the passages say, merged: each candidate with every passage it was read in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use counterproof_core::{ByteSpan, QuestionType};
use counterproof_text::normalise::squad;
use counterproof_text::tokens::content_tokens;
use counterproof_text::value::values;
use serde::Serialize;

use crate::repair::means_the_same;

/// Candidates that are compared by value at most.
const MOST_VALUED: usize = 200;

/// A candidate as one passage says it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mention {
    /// The passage, by its place in the order of the search; `None` where no passage holds what a language model said.
    pub passage: Option<usize>,
    /// Its words there.
    pub surface: String,
    /// Where they stand in the passage's text; `None` where a language model wrote words that the passage does not hold.
    pub span: Option<ByteSpan>,
    /// By how many nats the span reader prefers it to "no answer here"; `None` where something else found it.
    pub margin: Option<f64>,
    /// Its place among what was read in the passage, from 0.
    pub place: usize,
    /// Whether it was not read itself, but stands in a list with what was.
    pub listed: bool,
}

/// Something that may be an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its normalised words.
    pub key: String,
    /// As most passages write it.
    pub surface: String,
    /// Where it was read, in the order of the passages.
    pub mentions: Vec<Mention>,
    /// How many passages say so.
    pub support: usize,
    /// The first of them.
    pub best_rank: usize,
}

impl Candidate {
    fn of(key: String, mut mentions: Vec<Mention>) -> Self {
        mentions.sort_by_key(|m| m.passage);
        let passages: BTreeSet<usize> = mentions.iter().filter_map(|m| m.passage).collect();
        let mut spelt: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (first, mention) in mentions.iter().enumerate() {
            spelt.entry(mention.surface.as_str()).or_insert((0, first)).0 += 1;
        }
        // The most frequent; of equals the longest, then the first.
        let surface = spelt
            .into_iter()
            .max_by_key(|(surface, (count, first))| (*count, surface.chars().count(), Reverse(*first)))
            .map_or_else(String::new, |(surface, _)| surface.to_owned());
        let best_rank = passages.first().copied().unwrap_or(usize::MAX);
        Self { key, surface, support: passages.len(), best_rank, mentions }
    }

    /// What was read, each passage once, those first that say it most surely.
    pub(super) fn sources(&self) -> Vec<&Mention> {
        let mut all: Vec<&Mention> = self.mentions.iter().collect();
        let sureness = |m: &Mention| m.margin.unwrap_or(0.0);
        all.sort_by(|a, b| sureness(b).total_cmp(&sureness(a)).then_with(|| a.passage.cmp(&b.passage)));
        let mut seen = HashSet::new();
        all.retain(|m| seen.insert(m.passage));
        all
    }
}

/// How readings become candidates.
pub(super) struct Merging<'a> {
    pub(super) question: &'a str,
    /// What it asks for.
    pub(super) wanted: QuestionType,
    pub(super) alias_merge: bool,
    pub(super) aliases: &'a [BTreeSet<String>],
    pub(super) echo_filter: bool,
}

/// Candidates, and what is none because the question names it itself.
pub(super) struct Merged {
    pub(super) candidates: Vec<Candidate>,
    pub(super) echoes: Vec<Candidate>,
}

impl Merging<'_> {
    /// The candidates by falling support, then by the rank of the first passage that says so, then by name.
    pub(super) fn merge(&self, mentions: Vec<Mention>) -> Merged {
        let mut by_key: BTreeMap<String, Vec<Mention>> = BTreeMap::new();
        for mention in mentions {
            let key = squad(&mention.surface);
            if !key.is_empty() {
                by_key.entry(key).or_default().push(mention);
            }
        }
        let mut groups: Vec<(String, Vec<Mention>)> = by_key.into_iter().collect();
        if self.alias_merge {
            groups = self.without_twins(groups);
        }
        if self.alias_merge {
            groups = self.without_longer(groups);
        }
        let mut all: Vec<Candidate> =
            groups.into_iter().map(|(key, mentions)| Candidate::of(key, mentions)).collect();
        all.sort_by(|a, b| {
            (Reverse(a.support), a.best_rank, &a.key).cmp(&(Reverse(b.support), b.best_rank, &b.key))
        });
        let is_echo = |c: &Candidate| self.echo_filter && is_echo(self.question, &c.surface);
        let (echoes, candidates) = all.into_iter().partition(is_echo);
        Merged { candidates, echoes }
    }

    /// Joins to a name or a date what only says it with words around it: "Elia Kazan" and "Elia Kazan La". For other questions
    /// the longer may be another thing ("Heat" and "Heat 2"), and a single word is seldom a whole name.
    fn without_longer(&self, mut groups: Vec<(String, Vec<Mention>)>) -> Vec<(String, Vec<Mention>)> {
        let least = match self.wanted {
            QuestionType::Who | QuestionType::When => 2,
            QuestionType::Year => 1,
            _ => return groups,
        };
        groups.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
        let mut kept: Vec<(String, Vec<Mention>)> = Vec::new();
        for (key, mentions) in groups {
            let within = |(short, _): &&mut (String, Vec<Mention>)| {
                short.split(' ').count() >= least && format!(" {key} ").contains(&format!(" {short} "))
            };
            match kept.iter_mut().find(within) {
                Some((_, known)) => absorb(known, mentions),
                None => kept.push((key, mentions)),
            }
        }
        if self.wanted == QuestionType::When { with_years_in_dates(kept) } else { kept }
    }

    /// Joins groups that name the same thing to the one with the most mentions.
    fn without_twins(&self, mut groups: Vec<(String, Vec<Mention>)>) -> Vec<(String, Vec<Mention>)> {
        groups.sort_by(|a, b| (Reverse(a.1.len()), &a.0).cmp(&(Reverse(b.1.len()), &b.0)));
        let mut names: HashMap<String, usize> = HashMap::new();
        for (set, aliases) in self.aliases.iter().enumerate() {
            names.extend(aliases.iter().map(|alias| (squad(alias), set)));
        }
        let mut joined: Vec<(String, Vec<Mention>)> = Vec::new();
        let mut by_form: HashMap<(String, Option<String>), usize> = HashMap::new();
        let mut by_alias: HashMap<usize, usize> = HashMap::new();
        // Only a candidate with a number in it may be equal to another by value.
        let mut valued: Vec<(String, usize)> = Vec::new();
        for (key, mentions) in groups {
            let surface = mentions.first().map(|m| m.surface.clone()).unwrap_or_default();
            let (bare, bracket) = form(&surface);
            // "Heat (film)" is "Heat", but not "Heat (novel)".
            let named = |bracket: Option<String>| by_form.get(&(bare.clone(), bracket)).copied();
            let formed = named(bracket.clone()).or_else(|| match bracket {
                Some(_) => named(None),
                None => by_form.iter().filter(|((b, _), _)| *b == bare).map(|(_, at)| *at).min(),
            });
            let alias = names.get(&key).copied();
            let has_value = valued.len() < MOST_VALUED && !values(&surface).is_empty();
            let twin = formed.or_else(|| by_alias.get(&alias?).copied()).or_else(|| {
                let same = |(known, _): &&(String, usize)| means_the_same(known, &surface, &[]);
                valued.iter().find(|known| has_value && same(known)).map(|(_, at)| *at)
            });
            let at = match twin.and_then(|at| Some((at, joined.get_mut(at)?))) {
                Some((at, (_, known))) => {
                    known.extend(mentions);
                    at
                }
                None => {
                    joined.push((key, mentions));
                    joined.len() - 1
                }
            };
            by_form.entry((bare, bracket)).or_insert(at);
            if let Some(alias) = alias {
                by_alias.entry(alias).or_insert(at);
            }
            if has_value {
                valued.push((surface, at));
            }
        }
        joined
    }
}

/// Takes in mentions under the words that stand for the candidate already: what more is said around them is not of it.
fn absorb(known: &mut Vec<Mention>, mentions: Vec<Mention>) {
    let surface = known.first().map(|m| m.surface.clone()).unwrap_or_default();
    known.extend(mentions.into_iter().map(|m| Mention { surface: surface.clone(), ..m }));
}

/// Joins a bare year to the date of that year, where there is just one.
fn with_years_in_dates(groups: Vec<(String, Vec<Mention>)>) -> Vec<(String, Vec<Mention>)> {
    let is_year = |key: &str| key.len() == 4 && key.bytes().all(|b| b.is_ascii_digit());
    let (years, mut dates): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(key, _)| is_year(key));
    for (year, mentions) in years {
        let of_year = |key: &str| key.split(' ').any(|word| word == year);
        let mut own = dates.iter_mut().filter(|(key, _)| !is_year(key) && of_year(key));
        match (own.next(), own.next()) {
            (Some((_, known)), None) => absorb(known, mentions),
            _ => dates.push((year, mentions)),
        }
    }
    dates
}

/// The words of a name, whatever their order, and what it has in brackets.
fn form(surface: &str) -> (String, Option<String>) {
    let (bare, bracket) = match surface.split_once(" (") {
        Some((name, rest)) if rest.ends_with(')') && !name.trim().is_empty() => (name, Some(squad(rest))),
        _ => (surface, None),
    };
    let key = squad(bare);
    let mut words: Vec<&str> = key.split(' ').collect();
    words.sort_unstable();
    (words.join(" "), bracket)
}

/// Whether a candidate is what the question itself names, such as the film of "Who starred in Heat?". Where the question
/// compares, its own names are what may be answered.
fn is_echo(question: &str, surface: &str) -> bool {
    let asked = format!(" {} ", squad(question));
    if !asked.contains(&format!(" {} ", squad(surface))) || compares(&asked) {
        return false;
    }
    let capitals: HashSet<String> = question
        .split_whitespace()
        .skip(1)
        .filter(|w| {
            w.trim_start_matches(|c: char| !c.is_alphanumeric())
                .starts_with(|c: char| c.is_uppercase() || c.is_numeric())
        })
        .flat_map(content_tokens)
        .collect();
    content_tokens(surface).iter().all(|token| capitals.contains(token))
}

fn compares(asked: &str) -> bool {
    const MARKS: [&str; 1] = [" or "];
    MARKS.iter().any(|mark| asked.contains(mark))
}

#[cfg(test)]
mod tests {
    use counterproof_text::question::{QuestionTyper, RuleTyper};

    use super::*;

    fn mention(passage: usize, surface: &str) -> Mention {
        Mention {
            passage: Some(passage),
            surface: surface.to_owned(),
            span: None,
            margin: None,
            place: 0,
            listed: false,
        }
    }

    fn merged(question: &str, said: &[(usize, &str)]) -> Vec<(String, usize)> {
        let wanted = RuleTyper.classify(question);
        let merging = Merging { question, wanted, alias_merge: true, aliases: &[], echo_filter: true };
        let mentions = said.iter().map(|(passage, surface)| mention(*passage, surface)).collect();
        merging.merge(mentions).candidates.into_iter().map(|c| (c.surface, c.support)).collect()
    }

    #[test]
    fn what_more_passages_say_comes_first() {
        assert_eq!(
            merged("Who?", &[(0, "A1"), (1, "A1"), (1, "B1")]),
            [("A1".to_owned(), 2), ("B1".to_owned(), 1)]
        );
        assert_eq!(merged("Who?", &[(0, "A1"), (0, "A1")]), [("A1".to_owned(), 1)], "a passage counts once");
    }

    #[test]
    fn one_thing_by_two_names_is_one_candidate() {
        assert_eq!(merged("Who?", &[(0, "The Beatles"), (1, "Beatles")]), [("The Beatles".to_owned(), 2)]);
        assert_eq!(merged("Where?", &[(0, "Washington, D.C.")]), [("Washington, D.C.".to_owned(), 1)]);
        assert_eq!(
            merged("What?", &[(0, "Heat"), (1, "Heat (film)"), (2, "Heat")]),
            [("Heat".to_owned(), 3)]
        );
        let films = [(0, "King Kong (1933 film)"), (1, "King Kong (1976 film)")];
        assert_eq!(merged("What?", &films).len(), 2);
        assert_eq!(merged("How many?", &[(0, "12"), (1, "twelve")]).len(), 1);
        assert_eq!(merged("Who?", &[(0, "Smith John"), (1, "John Smith")]).len(), 1);
        assert_eq!(merged("Who?", &[(0, "Paul Simon"), (1, "Paul Anka")]).len(), 2);
    }

    #[test]
    fn words_around_a_name_are_not_of_it() {
        let said = [(0, "Elia Kazan"), (1, "Elia Kazan La"), (2, "Kazan")];
        assert_eq!(
            merged("Who directed it?", &said),
            [("Elia Kazan".to_owned(), 2), ("Kazan".to_owned(), 1)]
        );
        let dates = [(0, "3 September 1717"), (1, "3 September 1717 – 17 July 1793")];
        assert_eq!(merged("When was he born?", &dates), [("3 September 1717".to_owned(), 2)]);
        let dates = [(0, "1717"), (1, "3 September 1717"), (2, "1793")];
        let expected = [("3 September 1717".to_owned(), 2), ("1793".to_owned(), 1)];
        assert_eq!(merged("When was he born?", &dates), expected);
        assert_eq!(merged("Which films did he make?", &[(0, "Heat"), (1, "Heat 2")]).len(), 2);
    }

    #[test]
    fn what_the_question_names_is_no_answer_unless_it_compares() {
        let said = [(0, "Ryoichi Ikegami"), (1, "Heat")];
        assert_eq!(merged("What manga was drawn by Ryoichi Ikegami?", &said), [("Heat".to_owned(), 1)]);
        let compared = merged("Who is older, Ann Lee or Bob Ray?", &[(0, "Ann Lee")]);
        assert_eq!(compared, [("Ann Lee".to_owned(), 1)]);
    }

    #[test]
    fn the_order_of_mentions_does_not_matter() {
        let mut said = vec![(0, "A1"), (1, "B1"), (2, "a1"), (3, "C (film)"), (4, "C")];
        let forward = merged("Who?", &said);
        said.reverse();
        assert_eq!(forward, merged("Who?", &said));
    }
}
