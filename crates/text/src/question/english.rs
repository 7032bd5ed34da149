//! The table of CounterRefine, step 2, for English.

use counterproof_core::QuestionType;

use crate::packs::nouns::asked_by;
use crate::sentences::sentences;
use crate::value::Unit;

const AUXILIARIES: &[&str] = &[
    "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would",
    "should", "shall", "may", "might", "must", "am", "isn't", "aren't", "wasn't", "weren't", "don't",
    "doesn't", "didn't",
];
const PREPOSITIONS: &[&str] = &[
    "in", "on", "at", "for", "to", "by", "of", "from", "with", "during", "under", "since", "until", "within",
    "into", "near", "through", "after", "against", "as", "around", "about",
];
const APPROXIMATIONS: &[&str] = &["approximately", "about", "around", "roughly", "exactly"];
const MEASURES: &[&str] = &[
    "many",
    "much",
    "old",
    "tall",
    "long",
    "far",
    "high",
    "deep",
    "fast",
    "big",
    "heavy",
    "large",
    "wide",
    "small",
    "often",
    "thick",
    "hot",
    "cold",
    "short",
    "young",
    "close",
    "late",
    "strong",
    "loud",
    "expensive",
    "frequently",
];
const INSTRUCTIONS: &[&str] = &[
    "name", "give", "identify", "list", "state", "specify", "provide", "find", "tell", "mention", "select",
    "choose",
];
/// Words at which the noun phrase after what/which ends.
const PHRASE_ENDS: &[&str] = &[
    "of", "in", "on", "at", "for", "to", "by", "from", "with", "did", "does", "do", "that", "who", "whom",
    "whose", "which", "when", "where", "is", "was", "were", "are", "has", "have", "had", "can", "could",
    "will", "would", "should", "the", "a", "an", "as", "into", "during", "he", "she", "it", "they", "you",
    "there", "between", "after", "before", "because", "if", "than",
];

#[derive(Debug)]
struct Word {
    /// Lower case, without punctuation around it and without a possessive.
    lower: String,
    capital: bool,
    comma_after: bool,
    possessive: bool,
}

pub(super) fn classify(question: &str) -> QuestionType {
    let words = words_outside_quotes(last_question(question));
    let any_lower_wh = words.iter().any(|w| is_wh(&w.lower) && !w.capital);
    let Some(at) = head_position(&words) else {
        return later_question_word(&words, any_lower_wh).unwrap_or_else(|| instruction(&words));
    };
    head_type(&words, at, any_lower_wh)
}

/// The sentence that asks, of a text of several: all of it when its first words ask already (a quotation may hold
/// sentences of its own) or none ends in a question mark; else the last one that does.
fn last_question(text: &str) -> &str {
    let asks_at_once = text
        .split_whitespace()
        .take_while(|w| is_wh(&w.to_lowercase()) || PREPOSITIONS.contains(&w.to_lowercase().as_str()))
        .last()
        .is_some_and(|w| is_wh(&w.to_lowercase()));
    if asks_at_once && text.matches('?').count() < 2 {
        return text;
    }
    let spans = sentences(text);
    spans
        .iter()
        .rev()
        .filter_map(|s| s.slice(text))
        .find(|s| s.trim_end_matches(['"', '”', ')', '\'']).ends_with('?'))
        .unwrap_or(text)
}

fn words_outside_quotes(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut quoted = false;
    // An opening quotation mark without its closing one would hide the whole rest.
    let balanced =
        text.matches('"').count().is_multiple_of(2) && text.matches('“').count() == text.matches('”').count();
    for raw in
        text.split(|c: char| c.is_whitespace() || matches!(c, '/' | '—' | '–')).filter(|w| !w.is_empty())
    {
        let opens = raw.trim_start_matches(['(', '[']).starts_with(['"', '“']);
        let closes = raw.trim_end_matches([',', '.', '?', '!', ')', ';', ':', '\'']).ends_with(['"', '”'])
            || raw.ends_with("\"'s")
            || raw.ends_with("”s");
        let inside = balanced && (quoted || opens);
        quoted = balanced && if closes { false } else { quoted || opens };
        if inside {
            words.push(Word {
                lower: "\"".into(),
                capital: true,
                comma_after: raw.trim_end_matches(['"', '”', '\'']).ends_with(','),
                possessive: false,
            });
            continue;
        }
        let bare = raw.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase().replace('’', "'");
        if lower.is_empty() {
            continue;
        }
        let comma_after = raw.trim_end_matches(['"', '”', '\'']).ends_with([',', ':', ';']);
        let capital = bare.starts_with(char::is_uppercase);
        // "what's", "who're", "whos": a question word and a verb.
        if let Some((wh, verb)) = split_contraction(&lower) {
            words.push(Word { lower: wh.to_owned(), capital, comma_after: false, possessive: false });
            words.push(Word { lower: verb.to_owned(), capital: false, comma_after, possessive: false });
            continue;
        }
        let possessive = lower.ends_with("'s") || raw.trim_end_matches(['?', ',']).ends_with(['\'', '’']);
        let lower = lower.strip_suffix("'s").map(str::to_owned).unwrap_or(lower);
        words.push(Word { lower, capital, comma_after, possessive });
    }
    words
}

fn split_contraction(word: &str) -> Option<(&str, &str)> {
    const HEADS: [&str; 6] = ["what", "who", "where", "when", "which", "how"];
    let head = HEADS.into_iter().find(|h| word.starts_with(h))?;
    match word.get(head.len()..)? {
        "'s" => Some((head, "is")),
        "s" if head != "how" => Some((head, "is")),
        "'re" => Some((head, "are")),
        "'d" => Some((head, "did")),
        "'ll" => Some((head, "will")),
        "'ve" => Some((head, "have")),
        _ => None,
    }
}

fn is_wh(word: &str) -> bool {
    matches!(word, "what" | "which" | "who" | "whom" | "whose" | "when" | "where" | "how" | "why")
}

/// Where the word that heads the question stands: the first word, after what the specification lets be skipped, or
/// the first word after an opening clause that ends in a comma ("In 1999, who won ...").
fn head_position(words: &[Word]) -> Option<usize> {
    let is_head =
        |at: usize| words.get(at).is_some_and(|w| is_wh(&w.lower) || AUXILIARIES.contains(&w.lower.as_str()));
    let mut at = 0;
    // Politeness and hesitation before the question.
    while words.get(at).is_some_and(|w| {
        matches!(w.lower.as_str(), "so" | "and" | "well" | "please" | "ok" | "okay" | "but" | "then")
    }) {
        at += 1;
    }
    while let Some(word) = words.get(at) {
        let skippable =
            APPROXIMATIONS.contains(&word.lower.as_str()) || PREPOSITIONS.contains(&word.lower.as_str());
        if is_head(at) {
            // "When he died, who became king?" and "While ..." open with a clause, not with the question.
            return opening_clause_head(words, at).or(Some(at));
        }
        if !skippable {
            break;
        }
        at += 1;
    }
    let comma = words.iter().take(40).enumerate().filter(|(_, w)| w.comma_after);
    for (comma, _) in comma {
        let mut next = comma + 1;
        while words.get(next).is_some_and(|w| {
            let w = w.lower.as_str();
            PREPOSITIONS.contains(&w) || APPROXIMATIONS.contains(&w) || matches!(w, "and" | "then" | "the")
        }) {
            next += 1;
        }
        // After a comma "which" and "who" are more often relative pronouns: only an opening clause of a few words,
        // begun by a preposition or conjunction, puts the question after it.
        let opened = words.first().is_some_and(|w| {
            let w = w.lower.as_str();
            PREPOSITIONS.contains(&w)
                || matches!(
                    w,
                    "according"
                        | "as"
                        | "while"
                        | "if"
                        | "given"
                        | "before"
                        | "after"
                        | "based"
                        | "between"
                        | "among"
                        | "besides"
                )
        });
        if opened && is_head(next) {
            return Some(next);
        }
    }
    None
}

/// For "When/Where ... , who ...": the second question word, when the first one opens a subordinate clause.
fn opening_clause_head(words: &[Word], at: usize) -> Option<usize> {
    if !matches!(words.get(at)?.lower.as_str(), "when" | "where") {
        return None;
    }
    // A question with "when" continues with a verb: "When was ...".
    if words.get(at + 1).is_some_and(|w| AUXILIARIES.contains(&w.lower.as_str())) {
        return None;
    }
    let comma = words.iter().skip(at).position(|w| w.comma_after)? + at;
    let next = (comma + 1..words.len())
        .find(|i| !words.get(*i).is_some_and(|w| PREPOSITIONS.contains(&w.lower.as_str())))?;
    words.get(next).is_some_and(|w| is_wh(&w.lower)).then_some(next)
}

fn head_type(words: &[Word], at: usize, any_lower_wh: bool) -> QuestionType {
    let Some(head) = words.get(at) else { return QuestionType::Other };
    let next = words.get(at + 1).map(|w| w.lower.as_str()).unwrap_or_default();
    match head.lower.as_str() {
        "when" => QuestionType::When,
        "where" => QuestionType::Where,
        "who" | "whom" | "whose" => QuestionType::Who,
        "why" => QuestionType::Other,
        "how" if MEASURES.contains(&next) => QuestionType::Number,
        "how" => QuestionType::Other,
        "what" | "which" => closing_question(words, at).unwrap_or_else(|| what_type(words, at + 1)),
        // A name ("Will Smith starred in which film?") or a request ("Can you tell me who ...").
        "will" | "may" | "can" | "could" | "would" | "do"
            if any_lower_wh && later_is_the_question(words, at) =>
        {
            later_question_word(words.get(at + 1..).unwrap_or_default(), any_lower_wh)
                .unwrap_or(QuestionType::YesNo)
        }
        // "Was he born in what year?"
        _ if let Some(kind) = closing_question(words, at) => kind,
        _ if joins_alternatives(words, at) => QuestionType::Entity,
        _ => QuestionType::YesNo,
    }
}

fn later_is_the_question(words: &[Word], at: usize) -> bool {
    let next = words.get(at + 1);
    let name = words.get(at).is_some_and(|w| w.capital)
        && next.is_some_and(|w| w.capital && !matches!(w.lower.as_str(), "i"));
    let request = next.is_some_and(|w| matches!(w.lower.as_str(), "you" | "someone" | "anyone"));
    (name && matches!(words.get(at).map(|w| w.lower.as_str()), Some("will" | "may"))) || request
}

/// The type of a what/which phrase behind a preposition that ends the sentence.
fn closing_question(words: &[Word], at: usize) -> Option<QuestionType> {
    let from = words.len().checked_sub(3)?.max(at + 2);
    let place = (from..words.len())
        .find(|i| words.get(*i).is_some_and(|w| matches!(w.lower.as_str(), "what" | "which")))?;
    let before = words.get(place - 1)?;
    let noun = words.get(place + 1)?;
    (PREPOSITIONS.contains(&before.lower.as_str()) && asked_by(&noun.lower).is_some())
        .then(|| what_type(words, place + 1))
}

fn joins_alternatives(words: &[Word], at: usize) -> bool {
    words.iter().enumerate().skip(at).any(|(i, w)| {
        w.lower == "or"
            && words.get(i + 1).is_some_and(|next| {
                !matches!(next.lower.as_str(), "not" | "more" | "less" | "fewer" | "so" | "other")
            })
            && !words.iter().take(i).rev().take(4).any(|w| matches!(w.lower.as_str(), "whether" | "either"))
    })
}

/// Types a what/which question by the noun phrase that starts at `from`.
fn what_type(words: &[Word], from: usize) -> QuestionType {
    let after_verb = words.get(from).is_some_and(|w| AUXILIARIES.contains(&w.lower.as_str()));
    if after_verb && asks_for_an_explanation(words, from) {
        return QuestionType::Other;
    }
    if words.get(from).is_some_and(|w| {
        matches!(w.lower.as_str(), "happened" | "happens" | "causes" | "caused" | "makes" | "made" | "if")
    }) {
        return QuestionType::Other;
    }
    let phrase = noun_phrase(words, from);
    // "first and last name", "name of the person": the noun after "of" says what is named.
    if let Some(name_at) =
        phrase.iter().position(|w| matches!(w.lower.as_str(), "name" | "names" | "surname" | "identity"))
    {
        return named_type(words, &phrase, name_at, from);
    }
    let kind = noun_phrase_type(&phrase, after_verb).unwrap_or(QuestionType::Entity);
    let ranked = phrase.iter().any(|w| matches!(w.lower.as_str(), "place" | "position" | "spot"))
        && asks_for_a_rank(words);
    let measured = kind == QuestionType::Entity && names_a_unit(words);
    if ranked && !after_verb || measured { QuestionType::Number } else { kind }
}

/// The words of the noun phrase that starts at `at`, without the verb and article before the noun ("what was the release
/// date").
fn noun_phrase(words: &[Word], at: usize) -> Vec<&Word> {
    let before_noun = |w: &&Word| {
        AUXILIARIES.contains(&w.lower.as_str())
            || matches!(w.lower.as_str(), "the" | "a" | "an" | "be" | "of")
    };
    let skipped = words.iter().skip(at).take(3).take_while(before_noun).count();
    words.iter().skip(at + skipped).take_while(|w| !PHRASE_ENDS.contains(&w.lower.as_str())).take(8).collect()
}

/// Types "(the) ... name of ...".
fn named_type(words: &[Word], phrase: &[&Word], name_at: usize, from: usize) -> QuestionType {
    let before: Vec<&str> = phrase.iter().take(name_at).map(|w| w.lower.as_str()).collect();
    if before.iter().any(|w| {
        matches!(*w, "first" | "last" | "maiden" | "middle" | "birth" | "stage" | "pen" | "given" | "family")
    }) || phrase.iter().any(|w| matches!(w.lower.as_str(), "surname" | "identity"))
    {
        return QuestionType::Who;
    }
    let of = words
        .iter()
        .enumerate()
        .skip(from)
        .find(|(_, w)| matches!(w.lower.as_str(), "name" | "names" | "identity"))
        .map(|(i, _)| i + 1);
    if let Some(of) = of.filter(|i| words.get(*i).is_some_and(|w| w.lower == "of" || w.lower == "for")) {
        let mut at = of + 1;
        while words.get(at).is_some_and(|w| matches!(w.lower.as_str(), "the" | "a" | "an")) {
            at += 1;
        }
        // In "the name of Napoleon's horse" the owner is not what is named.
        let named: Vec<&Word> =
            words.iter().skip(at).take_while(|w| !PHRASE_ENDS.contains(&w.lower.as_str())).take(8).collect();
        if let Some(kind) = noun_phrase_type(&named, true) {
            return kind;
        }
    }
    // "what actor's name", "what is the character's name"
    let owner: Vec<&Word> = phrase.iter().take(name_at).copied().collect();
    owner.last().filter(|w| w.possessive).and_then(|w| asked_by(&w.lower)).unwrap_or(QuestionType::Entity)
}

/// What the head noun of a phrase asks for. The noun nearest the end decides; verbs behind it are unknown words and
/// decide nothing.
fn noun_phrase_type(phrase: &[&Word], clause_follows_verb: bool) -> Option<QuestionType> {
    // A list of times: "day, month, and year".
    let has = |noun: &str| phrase.iter().any(|w| w.lower == noun || w.lower.strip_suffix('s') == Some(noun));
    if has("year") && (has("day") || has("month") || has("date")) {
        return Some(QuestionType::When);
    }
    if phrase.first().is_some_and(|w| w.lower == "year" || w.lower == "years") && !clause_follows_verb {
        return Some(QuestionType::Year);
    }
    let mut found = None;
    for (i, word) in phrase.iter().enumerate() {
        // Capitalised words are names ("Country Music Award"), except a heading noun in a title-cased question.
        if word.capital || word.possessive {
            continue;
        }
        if let Some(kind) = asked_by(&word.lower) {
            let verb_like = i > 0
                && matches!(
                    word.lower.as_str(),
                    "play"
                        | "plays"
                        | "star"
                        | "stars"
                        | "host"
                        | "hosts"
                        | "models"
                        | "shows"
                        | "show"
                        | "count"
                        | "places"
                        | "ranks"
                        | "rank"
                        | "judge"
                        | "coach"
                        | "cost"
                        | "costs"
                        | "states"
                        | "name"
                        | "act"
                        | "acts"
                        | "manages"
                        | "signs"
                        | "sign"
                        | "titled"
                )
                && found.is_some();
            if !verb_like {
                found = Some(kind);
            }
        }
        if word.comma_after && i + 1 < phrase.len() && found.is_some() {
            break;
        }
    }
    // "Which Prime Minister of Italy": an office keeps its meaning in capitals.
    let office = |w: &&&Word| w.capital && !w.possessive && asked_by(&w.lower) == Some(QuestionType::Who);
    found.or_else(|| phrase.iter().find(office).map(|_| QuestionType::Who))
}

/// "in kilometers", "in British pounds": a quantity is asked for.
fn names_a_unit(words: &[Word]) -> bool {
    let unit =
        |at: usize| words.get(at).is_some_and(|w| w.lower.len() > 2 && Unit::named(&w.lower).is_some());
    words.iter().enumerate().any(|(i, w)| w.lower == "in" && (unit(i + 1) || unit(i + 2)))
}

/// "what place did she finish", "what position did the album reach".
fn asks_for_a_rank(words: &[Word]) -> bool {
    words.iter().any(|w| matches!(w.lower.as_str(), "place" | "position" | "spot"))
        && words.iter().any(|w| {
            matches!(
                w.lower.as_str(),
                "finish"
                    | "finished"
                    | "rank"
                    | "ranked"
                    | "achieve"
                    | "achieved"
                    | "debut"
                    | "debuted"
                    | "peak"
                    | "reach"
                    | "land"
                    | "come"
                    | "place"
                    | "chart"
            )
        })
        && !words.iter().any(|w| matches!(w.lower.as_str(), "take" | "took" | "play" | "played"))
}

/// "What does X mean?", "What is the difference between ...": answers that are sentences, not names.
fn asks_for_an_explanation(words: &[Word], from: usize) -> bool {
    let nouns = [
        "difference",
        "purpose",
        "meaning",
        "function",
        "significance",
        "reason",
        "definition",
        "cause",
        "effect",
        "importance",
        "relationship",
        "process",
        "plot",
    ];
    let near: Vec<&str> = words.iter().skip(from + 1).take(4).map(|w| w.lower.as_str()).collect();
    let does = words.get(from).is_some_and(|w| matches!(w.lower.as_str(), "does" | "do" | "did"));
    let last = words.last().map(|w| w.lower.as_str()).unwrap_or_default();
    near.iter().take_while(|w| !matches!(**w, "of" | "in" | "for")).any(|w| nouns.contains(w))
        || (does && matches!(last, "mean" | "do" | "happen" | "represent" | "symbolize"))
}

/// The question word of a sentence that does not begin with one: "X was born in which year?", "the capital of france
/// is what". A question word right after a noun is a relative pronoun, unless it ends the sentence.
fn later_question_word(words: &[Word], any_lower_wh: bool) -> Option<QuestionType> {
    for (i, word) in words.iter().enumerate().rev() {
        if !is_wh(&word.lower) || (word.capital && any_lower_wh) {
            continue;
        }
        let before = i.checked_sub(1).and_then(|b| words.get(b));
        let next = words.get(i + 1);
        let after_relation = before.is_none_or(|b| {
            PREPOSITIONS.contains(&b.lower.as_str())
                || AUXILIARIES.contains(&b.lower.as_str())
                || b.lower == "and"
        });
        let ends = next.is_none();
        let lower = word.lower.as_str();
        let asks = match lower {
            "how" => next.is_some_and(|n| MEASURES.contains(&n.lower.as_str())),
            // "..., which is ..." describes; "..., which city ..." asks.
            "which" | "what" => {
                ends || after_relation
                    || (next.is_some_and(|n| asked_by(&n.lower).is_some()) && !word.capital)
            }
            "who" | "whom" | "when" => {
                ends || before.is_some_and(|b| {
                    AUXILIARIES.contains(&b.lower.as_str())
                        || PREPOSITIONS.contains(&b.lower.as_str())
                        || b.comma_after
                })
            }
            "where" => ends,
            "whose" => after_relation || before.is_some_and(|b| b.comma_after),
            _ => false,
        };
        // "in which" and "of which" after a noun introduce a relative clause when a subject follows.
        let relative = matches!(lower, "which" | "whom" | "whose")
            && before.is_some_and(|b| PREPOSITIONS.contains(&b.lower.as_str()))
            && next.is_some_and(|n| {
                PHRASE_ENDS.contains(&n.lower.as_str()) && !AUXILIARIES.contains(&n.lower.as_str())
                    || n.capital
                        && before.is_none_or(|b| b.lower != "by")
                        && asked_by(&n.lower).is_none()
                        && noun_phrase_type(&noun_phrase(words, i + 1), false).is_none()
            });
        if !asks || relative {
            continue;
        }
        // "had a length of what in meters?"
        let measured = i
            .checked_sub(2)
            .and_then(|b| words.get(b))
            .filter(|_| lower == "what" && before.is_some_and(|b| b.lower == "of"));
        if let Some(kind) = measured.and_then(|noun| asked_by(&noun.lower)) {
            return Some(kind);
        }
        // "was written by which American?": whoever did it.
        let doer = before.is_some_and(|b| b.lower == "by")
            && noun_phrase_type(&noun_phrase(words, i + 1), false).is_none();
        return Some(if doer { QuestionType::Who } else { head_type(words, i, any_lower_wh) });
    }
    None
}

/// "Name the capital of ...", "Give the year ...": typed by the noun that is asked for. A text without any question
/// word that breaks off ("the revolt was led by") or is a noun phrase ("number of episodes in season 2", as people type
/// into a search box) is typed by its end or its noun.
fn instruction(words: &[Word]) -> QuestionType {
    let word = |at: usize| words.get(at).map(|w| w.lower.as_str()).unwrap_or_default();
    let told = INSTRUCTIONS.contains(&word(0)) && word(1) != "of";
    let mut at = usize::from(told);
    while matches!(word(at), "the" | "a" | "an" | "me" | "us" | "one" | "any" | "all" | "its" | "correct")
        || told && word(at) == "of"
    {
        at += 1;
    }
    let articles = words.iter().rev().take_while(|w| matches!(w.lower.as_str(), "the" | "a" | "an")).count();
    let end = words.len() - articles;
    let (before_last, last) = (word(end.wrapping_sub(2)), word(end.wrapping_sub(1)));
    if !told {
        match (before_last, last) {
            (_, "by") => return QuestionType::Who,
            ("located" | "situated" | "held", "in" | "at" | "on" | "near") => return QuestionType::Where,
            ("known" | "called", "as") | (_, "called" | "named" | "is") => return QuestionType::Entity,
            _ => {}
        }
    }
    let phrase = noun_phrase(words, at);
    if phrase.is_empty() || !told && phrase.len() > 5 {
        return QuestionType::Other;
    }
    if let Some(name_at) = phrase.iter().position(|w| matches!(w.lower.as_str(), "name" | "names")) {
        return named_type(words, &phrase, name_at, at);
    }
    // Without an instruction, "the golden age of India began with" is about no number.
    let counts = phrase.iter().any(|w| matches!(w.lower.as_str(), "number" | "population" | "percentage"));
    noun_phrase_type(&phrase, true)
        .filter(|kind| told || counts || *kind != QuestionType::Number)
        .unwrap_or(QuestionType::Other)
}
