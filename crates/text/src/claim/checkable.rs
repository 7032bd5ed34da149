//! Which sentences of a document are claims: statements that evidence could support or refute.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::verbs::Reader;
use super::words::{Word, read};
use crate::han::{has_han, is_han, tag};
use crate::packs::verbs;

/// Fewer words are a fragment.
const FEWEST_WORDS: usize = 4;
/// Fewer characters are a fragment in Chinese.
const FEWEST_CHARACTERS: usize = 5;
/// A sentence shows what it is in its first characters.
const LOOKED_AT: usize = 2000;

static BASES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| verbs::BASES.iter().copied().collect());

/// Whether `sentence` states something that evidence could support or refute. Questions, commands, greetings, wishes,
/// headings without a verb, opinions in the first person, code and fragments do not.
pub fn checkable(sentence: &str) -> bool {
    let sentence = head(sentence).trim();
    if is_question(sentence) || is_code(sentence) {
        return false;
    }
    if has_han(sentence)
        && sentence.chars().filter(|c| is_han(*c)).count() * 2
            > sentence.chars().filter(|c| c.is_alphanumeric()).count()
    {
        return chinese(sentence);
    }
    let (words, _) = read(sentence);
    words.len() >= FEWEST_WORDS
        && !is_address(&words)
        && !is_opinion(&words)
        && !is_command(&words)
        && has_verb(sentence, &words)
}

/// Whether `text` asks: it ends with a question mark that is no part of a title, or begins as questions do.
pub fn is_question(text: &str) -> bool {
    let text = text.trim();
    let end = text.trim_end_matches(['"', '”', '\'', '’', ')', '）', '」', '!', '！', ' ']);
    if end.ends_with(['?', '？', '؟']) {
        return !ends_in_title(text);
    }
    let text = head(text);
    if has_han(text) {
        let bare = text.trim_end_matches(['。', '！', '!', '.', '”']);
        let asked = bare.ends_with(['吗', '嗎', '呢']) && bare.chars().nth(2).is_some();
        return asked
            || verbs::QUESTIONS_ZH.iter().any(|q| text.starts_with(q))
                && !text.starts_with("几乎")
                && !text.starts_with("幾乎");
    }
    opens_as_question(&read(text).0)
}

/// "Zoey Deutch played in Why Him?": a statement whose last name has the question mark.
fn ends_in_title(text: &str) -> bool {
    let (words, _) = read(head(text));
    let named = words.last().is_some_and(|w| w.capital);
    named && words.len() >= FEWEST_WORDS && !opens_as_question(&words) && has_verb(text, &words)
}

fn head(text: &str) -> &str {
    let cut = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(at, _)| at);
    text.get(..cut).unwrap_or(text)
}

/// "Who won", "In what year did", "Is the"; the capitals of a title ("Who Framed Roger Rabbit") do not ask.
fn opens_as_question(words: &[Word]) -> bool {
    let reader = Reader { words };
    let Some(first) = words.first().filter(|w| !w.inside) else { return false };
    let second = words.get(1).filter(|w| !w.inside);
    let lower = |at: usize| words.get(at).is_some_and(|w| !w.capital && !w.inside);
    match first.lower.as_str() {
        "who" | "whom" => lower(1) && !first.comma(),
        "what" | "how" | "why" | "where" | "when" | "which" | "whose" => {
            let inverted = reader.is_auxiliary(1);
            let counted = first.lower == "how"
                && words
                    .get(1)
                    .is_some_and(|w| w.is(&["many", "much", "old", "long", "far", "tall", "big", "often"]));
            let named = matches!(first.lower.as_str(), "what" | "which" | "whose")
                && lower(1)
                && (2..6).any(|at| reader.is_auxiliary(at))
                && first.lower != "what";
            let what = first.lower == "what"
                && lower(1)
                && (2..5).any(|at| reader.is_auxiliary(at))
                && !second.is_some_and(|w| w.is(&["he", "she", "they", "it", "we", "you", "i"]));
            (inverted && !names_itself(words)) || counted || named || what
        }
        "is" | "are" | "was" | "were" | "do" | "does" | "did" | "has" | "have" | "had" => {
            second.is_some_and(|w| opens_subject(w) || w.capital) && !later_finite(&reader)
        }
        "can" | "could" | "will" | "would" | "should" | "may" | "might" | "must" | "shall" => {
            second.is_some_and(opens_subject) && !first.comma()
        }
        "isn't" | "aren't" | "wasn't" | "weren't" | "didn't" | "doesn't" | "don't" | "haven't" | "hasn't"
        | "can't" | "couldn't" | "won't" | "wouldn't" | "shouldn't" => {
            second.is_some_and(|w| opens_subject(w) || w.capital)
        }
        "in" | "at" | "on" | "by" | "to" | "for" | "from" | "of" | "with" | "during" => {
            second.is_some_and(|w| w.is(&["what", "which", "whose", "whom"]))
                && (2..7).any(|at| reader.is_auxiliary(at))
                && words.iter().take(7).all(|w| !w.comma())
        }
        _ => false,
    }
}

/// "What is" with nothing but capitals after it is rather a title at the start: "What Is Life is a book".
fn names_itself(words: &[Word]) -> bool {
    words.get(1).is_some_and(|w| w.capital)
}

fn opens_subject(word: &Word) -> bool {
    word.is(&[
        "the", "a", "an", "this", "that", "these", "those", "he", "she", "it", "they", "you", "we", "his",
        "her", "its", "their", "your", "my", "there", "any", "all", "some",
    ]) || !word.inside && word.lower == "i"
}

/// Whether a second finite verb shows that the first word is part of a name: "Is This It is an album".
fn later_finite(reader: &Reader<'_>) -> bool {
    (2..reader.words.len().min(12))
        .any(|at| reader.is_clearly_finite(at) && reader.words.get(1).is_some_and(|w| w.capital))
}

/// Greetings, thanks and wishes.
fn is_address(words: &[Word]) -> bool {
    let opening: Vec<&str> = words.iter().take(3).map(|w| w.lower.as_str()).collect();
    let opening = opening.join(" ");
    let greets = verbs::GREETINGS
        .iter()
        .any(|g| opening.strip_prefix(g).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')));
    // "Hello is a song": a verb or a capital after the first word makes a name of it.
    let named = Reader { words }.is_auxiliary(1)
        || words.first().is_some_and(|w| !w.comma())
            && words.get(1).is_some_and(|w| w.capital)
            && (2..words.len().min(14)).any(|at| Reader { words }.is_finite(at));
    greets && !named
}

/// An opinion or wish in the first person, outside quotation marks.
fn is_opinion(words: &[Word]) -> bool {
    let said: Vec<&str> = words.iter().filter(|w| !w.inside).map(|w| w.lower.as_str()).collect();
    let said = format!(" {} ", said.join(" "));
    verbs::OPINIONS.iter().any(|o| said.contains(&format!(" {o} ")))
}

/// A bare infinitive at the start, unless it opens a title or a name.
fn is_command(words: &[Word]) -> bool {
    let Some(first) = words.first().filter(|w| !w.inside) else { return false };
    let reader = Reader { words };
    if matches!(first.lower.as_str(), "don't" | "please" | "let's")
        || first.lower == "do" && words.get(1).is_some_and(|w| w.is(&["not"]))
    {
        return true;
    }
    let opens = BASES.contains(first.lower.as_str());
    let named =
        words.get(1).is_some_and(|w| w.capital) && (2..words.len().min(14)).any(|at| reader.is_finite(at));
    let subject = (1..words.len().min(3)).any(|at| reader.is_clearly_finite(at));
    opens && !named && !subject
}

/// Whether a verb makes a sentence of the words. One with its full stop may have a verb that no list holds.
fn has_verb(sentence: &str, words: &[Word]) -> bool {
    let reader = Reader { words };
    if (1..words.len()).any(|at| reader.is_finite(at)) {
        return true;
    }
    let stopped = sentence.trim_end_matches(['"', '”', ')', '\'']).ends_with(['.', '!', '。']);
    stopped && (1..words.len()).any(|at| is_loose_verb(&reader, at))
}

fn is_loose_verb(reader: &Reader<'_>, at: usize) -> bool {
    let Some(word) = reader.words.get(at).filter(|w| !w.capital && !w.inside) else { return false };
    let before = at.checked_sub(1);
    let after_small = before
        .is_some_and(|b| !reader.is_limiter(b) && (reader.is_determiner(b) || reader.is_preposition(b)));
    let base = BASES.contains(word.lower.as_str()) && at > 0;
    let third = word.lower.len() > 3
        && word.lower.ends_with('s')
        && !word.lower.ends_with("ss")
        && at + 1 < reader.words.len()
        && !reader.is(at + 1, "of")
        && !reader.is(at + 1, "and");
    let contracted = word.lower.contains("n't");
    contracted
        || !after_small
            && (base
                || third
                || reader.may_be_past(at)
                || reader.is_bare_verb(at) && reader.is_determiner(at + 1))
}

/// Source code, commands and markup: marks that prose has not.
fn is_code(text: &str) -> bool {
    let opens = ["```", "`", "$ ", ">>> ", "#!", "<?", "//", "/*", "{", "<html", "<!"]
        .iter()
        .any(|o| text.starts_with(o));
    let ends = text.ends_with(['{', '}', ';', '>', '=', '\\', '`']);
    let marks = ["==", "!=", "->", "=>", "::", "();", "&&", "||", "+=", "</", "/>", " = ", "){", ") {", "[]"]
        .iter()
        .filter(|m| text.contains(**m))
        .count();
    let symbols = text
        .chars()
        .filter(|c| matches!(c, '{' | '}' | '=' | '<' | '>' | '\\' | '|' | '_' | '`' | '*' | '$'))
        .count();
    opens || marks > 1 || ends && (marks > 0 || symbols > 0) || symbols * 8 > text.chars().count().max(1)
}

fn chinese(sentence: &str) -> bool {
    let body = sentence.trim_start_matches(['“', '"', '「', ' ']);
    let quoted = body.len() < sentence.len();
    let letters = sentence.chars().filter(|c| c.is_alphanumeric()).count();
    let unchecked = verbs::UNCHECKED_ZH.iter().any(|u| body.starts_with(u)) && !body.starts_with("希望工程")
        || ["我认为", "我認為", "我觉得", "我覺得", "在我看来", "在我看來"]
            .iter()
            .any(|u| !quoted && body.contains(u));
    letters >= FEWEST_CHARACTERS && !unchecked && tag(sentence).iter().any(|(_, tag)| tag.starts_with('v'))
}
