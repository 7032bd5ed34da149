//! Whether a passage is about an entity, or at least speaks of it.

use std::collections::HashSet;

use super::subject::{Name, OPENERS, Token, content, tokens};
use crate::han::has_han;
use crate::packs::verbs;

/// Whether a passage is about an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum About {
    /// It names the entity.
    Yes,
    /// It names another one and never this one.
    No,
    /// It names a part of it, or nothing to tell by.
    Unclear,
}

/// Whether the passage `text` of the page `title` is about `name` or at least speaks of it. Case, accents, punctuation,
/// possessives and plurals do not count, nor does what the title has in brackets; numbers and Roman numerals do.
///
/// ```
/// use counterproof_text::claim::{About, is_about, subject};
///
/// let marie = subject("Marie Curie was born in Warsaw.").unwrap();
/// assert_eq!(is_about(&marie, "Marie Curie", "She was born in 1867."), About::Yes);
/// assert_eq!(is_about(&marie, "Pierre Curie", "He was born in Paris."), About::No);
/// ```
pub fn is_about(name: &Name, title: &str, text: &str) -> About {
    if title.trim().is_empty() && text.trim().is_empty() {
        return About::Unclear;
    }
    if has_han(name.as_str()) || has_han(text) {
        return in_chinese(name, title, text);
    }
    let title = content(tokens(outside_brackets(title)));
    let text = content(tokens(text));
    let names = name.words();
    let told = named(names, &title, &text)
        .or_else(|| numbered(names, &title, &text))
        .or_else(|| scattered(names, &title, &text))
        .or_else(|| abbreviated(names, &title, &text))
        .or_else(|| same_person(names, &title, &text));
    let told = told.unwrap_or_else(|| by_parts(names, &title, &text));
    if told == About::No && !name.is_sure() { About::Unclear } else { told }
}

/// The title without "(TV series)" at its end.
fn outside_brackets(title: &str) -> &str {
    let before = title.split(['(', '（']).next().unwrap_or(title);
    if before.trim().is_empty() { title } else { before }
}

/// Chinese has no word bounds or capitals: the name stands in the passage or it does not.
fn in_chinese(name: &Name, title: &str, text: &str) -> About {
    let held = |part: &str| part.to_lowercase().contains(&name.as_str().to_lowercase());
    if held(title) || held(text) {
        return About::Yes;
    }
    // Names in two scripts, or in simplified and traditional forms, cannot be told apart by their characters.
    let shared =
        name.as_str().chars().any(|c| c.is_alphanumeric() && (title.contains(c) || text.contains(c)));
    if shared || !has_han(name.as_str()) || !has_han(text) || title.is_empty() {
        About::Unclear
    } else {
        About::No
    }
}

/// Where the words of `phrase` stand in a row in `text`.
fn places<'a>(phrase: &'a [Token], text: &'a [Token]) -> impl Iterator<Item = usize> + 'a {
    text.windows(phrase.len().max(1))
        .enumerate()
        .filter(move |(_, window)| {
            !phrase.is_empty() && window.iter().zip(phrase).all(|(a, b)| a.key == b.key)
        })
        .map(|(at, _)| at)
}

/// A number that makes another name of the name before it: "Toy Story 3", not a year after a name.
fn is_rank(token: &Token) -> bool {
    token.number()
        && token.key.len() < 5
        && !(token.key.len() == 4 && token.key.bytes().all(|b| b.is_ascii_digit()))
}

/// The name in a row. Where a number follows it everywhere, it may be another's.
fn named(name: &[Token], title: &[Token], text: &[Token]) -> Option<About> {
    let mut loose = false;
    for part in [title, text] {
        for at in places(name, part) {
            let next = part.get(at + name.len());
            if next.is_some_and(|t| is_rank(t) && !t.opens) && !name.iter().any(Token::number) {
                loose = true;
            } else {
                return Some(About::Yes);
            }
        }
    }
    loose.then_some(About::Unclear)
}

/// The name with another number.
fn numbered(name: &[Token], title: &[Token], text: &[Token]) -> Option<About> {
    let numbers: HashSet<&str> = name.iter().filter(|t| t.number()).map(|t| t.key.as_str()).collect();
    let rest: Vec<Token> = name.iter().filter(|t| !t.number()).cloned().collect();
    if numbers.is_empty() || rest.is_empty() {
        return None;
    }
    let held = |part: &[Token]| rest.iter().all(|w| part.iter().any(|t| t.key == w.key));
    let others = |part: &[Token]| {
        let found: Vec<&Token> = part.iter().filter(|t| t.number()).collect();
        !found.is_empty() && found.iter().all(|t| !numbers.contains(t.key.as_str()))
    };
    let spoken_of = title.iter().chain(text).any(|t| numbers.contains(t.key.as_str()) && t.number());
    if held(title) && others(title) {
        return Some(if spoken_of && held(text) { About::Unclear } else { About::No });
    }
    let followed: Vec<&Token> =
        places(&rest, text).filter_map(|at| text.get(at + rest.len())).filter(|t| is_rank(t)).collect();
    let other = !followed.is_empty() && !spoken_of && !held(title);
    other.then_some(About::No)
}

/// All words of the name, not in a row.
fn scattered(name: &[Token], title: &[Token], text: &[Token]) -> Option<About> {
    let held: HashSet<&str> = title.iter().chain(text).map(|t| t.key.as_str()).collect();
    (name.len() > 1 && name.iter().all(|w| held.contains(w.key.as_str()))).then_some(About::Yes)
}

/// The name as an acronym of the passage's words or the other way round.
fn abbreviated(name: &[Token], title: &[Token], text: &[Token]) -> Option<About> {
    if let [only] = name
        && is_acronym(only)
    {
        let letters: Vec<char> = only.key.chars().collect();
        return [title, text].iter().any(|part| spelled_out(&letters, part)).then_some(About::Yes);
    }
    if name.len() < 2 || name.iter().any(|t| t.number() || !t.capital) {
        return None;
    }
    let initials: String = name.iter().filter_map(|t| t.key.chars().next()).collect();
    let short = |t: &Token| is_acronym(t) && (t.key == initials || initials == "us" && t.key == "usa");
    title.iter().chain(text).any(short).then_some(About::Yes)
}

fn is_acronym(token: &Token) -> bool {
    token.caps && (2..=8).contains(&token.key.len()) && token.key.bytes().all(|b| b.is_ascii_lowercase())
}

/// Whether words in a row, each with a capital, begin with these letters.
fn spelled_out(letters: &[char], part: &[Token]) -> bool {
    let letters = if letters == ['u', 's', 'a'] { letters.get(..2).unwrap_or(letters) } else { letters };
    part.windows(letters.len().max(1)).any(|window| {
        window.iter().zip(letters).all(|(t, l)| t.capital && t.key.starts_with(*l) && t.key.len() > 1)
    })
}

/// A title that is a part or a variant of the name, or a name with its surname only.
fn same_person(name: &[Token], title: &[Token], text: &[Token]) -> Option<About> {
    let (first, last) = (name.first()?, name.last()?);
    let in_name = places(title, name).next().is_some();
    if in_name && (title.len() > 1 || title.first().is_some_and(|t| t.key == last.key)) {
        return Some(About::Yes);
    }
    let title: Vec<&Token> = title.iter().filter(|t| !matches!(t.key.as_str(), "jr" | "sr")).collect();
    let (Some(other), Some(surname)) = (title.first(), title.last()) else { return None };
    if name.len() < 2 || title.len() < 2 || surname.key != last.key || name.iter().any(Token::number) {
        return initials_in_row(name, text).then_some(About::Yes);
    }
    match alike(first, other) {
        Likeness::Same => Some(About::Yes),
        Likeness::Maybe => Some(About::Unclear),
        Likeness::Other => {
            let shared = name.iter().take(name.len() - 1).any(|w| {
                title.iter().any(|t| t.key == w.key) || text.iter().any(|t| t.capital && t.key == w.key)
            });
            Some(if shared || initials_in_row(name, text) { About::Unclear } else { About::No })
        }
    }
}

/// Whether the passage writes the given names as initials, or spells out the initials of the name.
fn initials_in_row(name: &[Token], text: &[Token]) -> bool {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return false };
    if name.len() < 2 {
        return false;
    }
    let short = |t: &Token| t.key.len() == 1;
    text.iter().enumerate().filter(|(_, t)| t.capital && t.key == last.key).any(|(at, _)| {
        let given = text.get(at.saturating_sub(name.len() - 1)..at).unwrap_or_default();
        given
            .first()
            .is_some_and(|t| t.capital && (short(t) || short(first)) && alike(first, t) == Likeness::Same)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    Same,
    Maybe,
    Other,
}

/// Whether two given names may be one person's.
fn alike(a: &Token, b: &Token) -> Likeness {
    let (a, b) = (a.key.as_str(), b.key.as_str());
    let initial = |x: &str, y: &str| x.chars().nth(1).is_none() && x.chars().next() == y.chars().next();
    // "J.R.R." stands as one word.
    let initials = |x: &str, y: &str| {
        (2..4).contains(&x.len())
            && !x.contains(['a', 'e', 'i', 'o', 'u', 'y'])
            && x.chars().next() == y.chars().next()
    };
    let short = |x: &str, y: &str| {
        verbs::SHORT_NAMES.iter().any(|(s, l)| *s == x && l.trim_end_matches('s') == y.trim_end_matches('s'))
    };
    if a == b
        || initial(a, b)
        || initial(b, a)
        || initials(a, b)
        || initials(b, a)
        || short(a, b)
        || short(b, a)
    {
        return Likeness::Same;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    if shared >= 3 || is_misspelt(a, b) { Likeness::Maybe } else { Likeness::Other }
}

/// A passage that has a part of the name is unclear, one with other names and none of this is not about
/// it.
fn by_parts(name: &[Token], title: &[Token], text: &[Token]) -> About {
    let telling: Vec<&Token> = name.iter().filter(|t| t.key.len() > 2 && !t.number()).collect();
    if telling.is_empty() && title.is_empty() {
        return About::Unclear;
    }
    let near =
        |t: &Token, w: &Token| t.key == w.key || shares_stem(&t.key, &w.key) || is_misspelt(&t.key, &w.key);
    if title.iter().any(|t| telling.iter().any(|w| near(t, w))) {
        return About::Unclear;
    }
    let part = text.iter().enumerate().any(|(at, t)| {
        t.capital && telling.iter().any(|w| near(t, w)) && !(name.len() > 1 && is_anothers(at, text, name))
    });
    let lower = text.iter().any(|t| telling.iter().any(|w| !w.capital && t.key == w.key))
        || name.len() == 1 && text.iter().any(|t| telling.iter().any(|w| near(t, w)));
    let nameless =
        title.is_empty() && (opens_with_pronoun(text) || !text.iter().any(|t| t.capital && !t.opens));
    if part || lower || nameless { About::Unclear } else { About::No }
}

/// Whether the surname at `at` follows another given name than this name's.
fn is_anothers(at: usize, text: &[Token], name: &[Token]) -> bool {
    let surname = name.last().is_some_and(|l| text.get(at).is_some_and(|t| t.key == l.key));
    let before = at.checked_sub(1).and_then(|b| text.get(b));
    let opens = text.get(at).is_some_and(|t| t.opens);
    surname
        && !opens
        && before.is_some_and(|b| {
            b.capital
                && !OPENERS.contains(b.key.as_str())
                && !name.iter().any(|w| alike(w, b) != Likeness::Other)
        })
}

fn shares_stem(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    shared >= 5 && a.chars().count().max(b.chars().count()) <= shared + 4
}

/// Whether two words of five letters or more differ by one letter, left out, put in, changed or swapped with the next.
fn is_misspelt(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (long, short) = if a.len() < b.len() { (&b, &a) } else { (&a, &b) };
    if short.len() < 5 || long.len() > short.len() + 1 || a.first() != b.first() {
        return false;
    }
    let same = long.iter().zip(short).take_while(|(x, y)| x == y).count();
    let rest = |word: &[char], from: usize| word.get(from..).unwrap_or_default().to_vec();
    if long.len() > short.len() {
        return rest(long, same + 1) == rest(short, same);
    }
    let swapped = long.get(same) == short.get(same + 1) && long.get(same + 1) == short.get(same);
    rest(long, same + 1) == rest(short, same + 1) || swapped && rest(long, same + 2) == rest(short, same + 2)
}

fn opens_with_pronoun(text: &[Token]) -> bool {
    text.first().is_some_and(|t| {
        matches!(
            t.key.as_str(),
            "he" | "she" | "it" | "they" | "his" | "her" | "its" | "their" | "this" | "these"
        )
    })
}
