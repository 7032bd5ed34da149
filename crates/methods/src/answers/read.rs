//! Reading: every passage by itself, whatever the others say.

use std::collections::HashSet;

use counterproof_core::{
    ByteSpan, CompletionRequest, LanguageModel, Passage, QuestionType, Result, Sampling, SpanReader,
};
use counterproof_models::prompts::Rendered;
use counterproof_models::reply::split_reasoning;
use counterproof_text::answer::clean_answer;
use counterproof_text::listing::{items, siblings};
use counterproof_text::mention::narrowed;
use counterproof_text::normalise::squad;
use counterproof_text::tokens::content_tokens;

use super::candidates::Mention;
use super::config::AnswersConfig;
use super::prompts;
use crate::ledger::Ledger;
use crate::pool::{Entry, Pool};
use crate::prompts::language_of;
use crate::repair::word_count;

pub(super) const STAGE: &str = "read";

/// Titles that are taken as candidates at most.
const TITLES: usize = 20;

/// Tokens that the answers of one passage may take.
const MAX_TOKENS: u32 = 256;

/// What a reader finds in the passages.
///
/// # Errors
/// The reader's.
pub(super) async fn by_reader(
    question: &str,
    wanted: QuestionType,
    pool: &Pool,
    reader: &dyn SpanReader,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Mention>> {
    let passages: Vec<&Passage> = pool.entries().iter().map(|e| &*e.passage).collect();
    if passages.is_empty() {
        return Ok(Vec::new());
    }
    let readings = ledger.read(STAGE, reader, question, &passages).await?;
    let mut mentions = Vec::new();
    for (at, (reading, passage)) in readings.iter().zip(passages).enumerate() {
        let text = passage.text.as_str();
        let mut own: Vec<Mention> = Vec::new();
        for span in &reading.spans {
            let margin = reading.margin(span).get();
            let Some(words) = span.span.slice(text).filter(|_| margin >= config.min_margin) else { continue };
            for (item, listed) in items_at(text, span.span, words, wanted, config) {
                push(&mut own, at, item, (Some(margin), listed), config);
            }
        }
        mentions.append(&mut own);
    }
    Ok(mentions)
}

/// Whether a list of two is rather one name, as "Pride and Prejudice" is: two words that begin with capitals.
fn may_be_title(words: &str, parts: &[ByteSpan]) -> bool {
    let single = |part: &ByteSpan| {
        let text = part.slice(words).unwrap_or_default();
        !text.contains(char::is_whitespace) && text.starts_with(char::is_uppercase)
    };
    matches!(parts, [a, b] if single(a) && single(b))
}

/// What was read at a place: the items of a list by themselves, and with one of them the others that stand beside it, for
/// which the flag is set.
fn items_at(
    text: &str,
    span: ByteSpan,
    words: &str,
    wanted: QuestionType,
    config: &AnswersConfig,
) -> Vec<((String, ByteSpan), bool)> {
    let one = |at: ByteSpan| answer_in(at.slice(text)?, at, wanted);
    if config.ablate.no_lists {
        return one(span).map(|item| (item, false)).into_iter().collect();
    }
    let inner = |at: ByteSpan| ByteSpan::new(span.start() + at.start(), span.start() + at.end());
    let parts = items(words);
    if wanted != QuestionType::Where && parts.as_ref().is_some_and(|parts| may_be_title(words, parts)) {
        return vec![((clean_answer(words), span), false)];
    }
    let own: Vec<(String, ByteSpan)> = match parts {
        Some(parts) => parts.into_iter().filter_map(inner).filter_map(one).collect(),
        None => one(span).into_iter().collect(),
    };
    let beside = own.first().map(|(_, at)| siblings(text, *at)).unwrap_or_default();
    let fresh = |(_, at): &(String, ByteSpan)| !own.iter().any(|(_, known)| known.overlaps(*at));
    let beside: Vec<_> = beside.into_iter().filter_map(one).filter(fresh).map(|item| (item, true)).collect();
    own.iter().cloned().map(|item| (item, false)).chain(beside).collect()
}

/// Passages about something that may itself be an answer: what a question for names asks of is often what a page is about
/// ("Which manga did he draw?"). Those are named whose best sentence speaks of half of what the question asks.
pub(super) fn by_title(
    question: &str,
    wanted: QuestionType,
    pool: &Pool,
    known: &[Mention],
    config: &AnswersConfig,
) -> Vec<Mention> {
    let names = matches!(
        wanted,
        QuestionType::Entity | QuestionType::Other | QuestionType::Who | QuestionType::Where
    );
    if config.ablate.no_titles || !names {
        return Vec::new();
    }
    let asked: HashSet<String> = content_tokens(question).into_iter().collect();
    let title = |(passage, entry): (usize, &Entry)| {
        let (title, text) = (entry.passage.title.trim(), &entry.passage.text);
        let own: HashSet<String> = content_tokens(title).into_iter().collect();
        let speaks = |span: &ByteSpan| {
            let words: HashSet<String> =
                content_tokens(span.slice(text).unwrap_or_default()).into_iter().collect();
            asked.iter().filter(|w| words.contains(*w) && !own.contains(*w)).count() * 2 >= asked.len()
        };
        let surface = clean_answer(narrowed(title, wanted)?);
        // A person has a name of two words or more.
        let fresh = !surface.is_empty()
            && (wanted != QuestionType::Who || surface.contains(' ') || language_of(&surface) == "zh")
            && fits(&surface, config)
            && !known.iter().any(|m| m.passage == Some(passage) && squad(&m.surface) == squad(&surface));
        let span = find(text, &surface);
        (fresh && !asked.is_empty() && entry.sentences.iter().any(speaks)).then_some(Mention {
            passage: Some(passage),
            surface,
            span,
            margin: None,
            place: 0,
            listed: false,
        })
    };
    pool.entries().iter().enumerate().filter_map(title).take(TITLES).collect()
}

/// The answer of the kind asked for within the words that were read, and where it stands.
fn answer_in(words: &str, span: ByteSpan, wanted: QuestionType) -> Option<(String, ByteSpan)> {
    let inner = narrowed(words, wanted)?;
    let at = span.start() + (inner.as_ptr() as usize).checked_sub(words.as_ptr() as usize)?;
    let surface = clean_answer(inner);
    (!surface.is_empty()).then_some((surface, ByteSpan::new(at, at + inner.len())?))
}

fn push(
    own: &mut Vec<Mention>,
    passage: usize,
    (surface, span): (String, ByteSpan),
    (margin, listed): (Option<f64>, bool),
    config: &AnswersConfig,
) {
    if own.iter().any(|m| m.span.is_some_and(|s| s.overlaps(span))) || !fits(&surface, config) {
        return;
    }
    let place = own.len();
    own.push(Mention { passage: Some(passage), surface, span: Some(span), margin, place, listed });
}

fn fits(surface: &str, config: &AnswersConfig) -> bool {
    let most = config.max_answer_words;
    word_count(surface) <= most && surface.chars().count() <= most.saturating_mul(20)
}

/// What a language model lists for each passage, a call each, `budget` calls at most. A passage that fails is noted and does
/// not stop the others.
///
/// # Errors
/// The model's, where it answered for no passage at all.
pub(super) async fn by_model(
    question: &str,
    pool: &Pool,
    model: &dyn LanguageModel,
    config: &AnswersConfig,
    budget: usize,
    ledger: &mut Ledger,
) -> Result<Vec<Mention>> {
    let shown = pool.shown(pool.entries().len(), config.max_passage_tokens);
    let requests: Vec<CompletionRequest> = shown
        .iter()
        .take(budget)
        .map(|(title, text)| Ok(request(STAGE, prompts::read(question, (title, text))?, MAX_TOKENS)))
        .collect::<Result<_>>()?;
    if requests.len() < shown.len() {
        let left = shown.len() - requests.len();
        ledger.trace.note(STAGE, format!("{left} passages were not read: the budget of calls is spent"));
    }
    let replies = ledger.complete_all(model, requests).await;
    if let Some(Err(error)) = replies.first()
        && replies.iter().all(Result::is_err)
    {
        return Err(error.clone());
    }
    let mut mentions = Vec::new();
    for (passage, (reply, (_, text))) in replies.iter().zip(&shown).enumerate() {
        let Ok(reply) = reply else { continue };
        for (place, surface) in lines(&reply.text, &[text], config).into_iter().enumerate() {
            let span = pool.get(passage).and_then(|entry| find(&entry.passage.text, &surface));
            mentions.push(Mention {
                passage: Some(passage),
                surface,
                span,
                margin: None,
                place,
                listed: false,
            });
        }
    }
    Ok(mentions)
}

/// What a language model lists for the best passages at once, or, with none, from memory.
///
/// # Errors
/// The model's.
pub(super) async fn at_once(
    question: &str,
    pool: &Pool,
    model: &dyn LanguageModel,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Mention>> {
    let from_memory = config.ablate.parametric_only;
    let most = (config.max_context_tokens / config.max_passage_tokens.max(1)).max(1);
    let shown = pool.shown(if from_memory { 0 } else { most }, config.max_passage_tokens);
    let passages: Vec<(&str, &str)> = shown.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let rendered = match from_memory {
        true => prompts::closed_book(question)?,
        false => prompts::read_all(question, &passages)?,
    };
    let reply = ledger.complete(model, request(STAGE, rendered, 2 * MAX_TOKENS)).await?;
    let given: Vec<&str> = passages.iter().map(|(_, text)| *text).collect();
    let listed = lines(&reply.text, &given, config).into_iter().enumerate();
    let mention = |(place, surface): (usize, String)| {
        placed(Mention { passage: None, surface, span: None, margin: None, place, listed: false }, pool)
    };
    Ok(listed.map(mention).collect())
}

/// A mention of a text that several passages make up, at the first of them that holds its words; what is remembered stands
/// in none.
pub(super) fn placed(mention: Mention, pool: &Pool) -> Mention {
    let mut entries = pool.entries().iter().enumerate();
    let held = entries.find_map(|(at, e)| Some((at, find(&e.passage.text, &mention.surface)?)));
    let (passage, span) = held.unzip();
    Mention { passage, span, ..mention }
}

/// A request without chance.
pub(super) fn request(stage: &str, rendered: Rendered, max_tokens: u32) -> CompletionRequest {
    CompletionRequest {
        stage: stage.to_owned(),
        messages: rendered.messages,
        sampling: Sampling { temperature: Some(0.0), max_tokens: Some(max_tokens), ..Sampling::default() },
        schema: None,
        logprobs: false,
        prompt: Some(rendered.prompt),
    }
}

/// The answers in a reply, one a line (RI²VER, stage 1.3). A line that only repeats a whole passage is none.
fn lines(reply: &str, given: &[&str], config: &AnswersConfig) -> Vec<String> {
    let (_, text) = split_reasoning(reply);
    let quoted =
        |line: &str| line.split_whitespace().count() > 3 && given.iter().any(|g| g.trim() == line.trim());
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !quoted(line)) {
        // Names hold commas and "and", so only a semicolon parts two answers of one line.
        for part in line.split([';', '；']) {
            let answer = clean_answer(without_bullet(part));
            let none = is_none(&answer) || answer.ends_with(['?', '？', ':', '：']);
            if !none && fits(&answer, config) && !found.contains(&answer) {
                found.push(answer);
            }
        }
    }
    found
}

/// A line without its bullet or number.
fn without_bullet(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*', '•', '–', '·']).trim_start();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    if let Some(after) = rest.strip_prefix(['、', '）', '．']).filter(|_| digits > 0) {
        return after.trim();
    }
    match rest.strip_prefix(['.', ')', ':']) {
        // "1. Heat" is numbered; "1.5" is a number, and so is a line that holds nothing else.
        Some(after) if !number.is_empty() && digits <= 3 && starts_item(after) => after.trim(),
        _ => line,
    }
}

/// Whether what follows a number and its mark is an item: "1. Heat" and "1.北京", but not "1.5".
fn starts_item(text: &str) -> bool {
    text.starts_with(|c: char| c.is_whitespace() || c >= '\u{2e80}')
}

fn is_none(answer: &str) -> bool {
    let bare: String = answer.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).collect();
    let bare = bare.trim().to_lowercase();
    const NONE: [&str; 17] = [
        "",
        "none",
        "no answer",
        "no answers",
        "n a",
        "na",
        "nothing",
        "unknown",
        "not mentioned",
        "none of them",
        "no answer found",
        "无",
        "没有",
        "无答案",
        "没有答案",
        "不知道",
        "未提及",
    ];
    const BEGINNINGS: [&str; 7] = [
        "none of the passages",
        "the passage does not",
        "the passages do not",
        "there is no",
        "there are no",
        "i do not know",
        "i dont know",
    ];
    NONE.contains(&bare.as_str()) || BEGINNINGS.iter().any(|begin| bare.starts_with(begin))
}

/// Where a text holds words, whatever their case.
pub(super) fn find(text: &str, words: &str) -> Option<ByteSpan> {
    if words.is_empty() {
        return None;
    }
    // "12" does not stand in "1912". Scripts that write no spaces have no words to stand within.
    let inner = |c: char| c.is_alphanumeric() && c < '\u{2e80}';
    let whole = |at: usize, hay: &str, wanted: &str| {
        let end = at + wanted.len();
        let before = hay.get(..at).and_then(|t| t.chars().next_back()).is_some_and(inner);
        let after = hay.get(end..).and_then(|t| t.chars().next()).is_some_and(inner);
        let (first, last) = (wanted.chars().next(), wanted.chars().next_back());
        !(before && first.is_some_and(inner) || after && last.is_some_and(inner))
    };
    let first = |hay: &str, wanted: &str| {
        hay.match_indices(wanted).map(|(at, _)| at).find(|at| whole(*at, hay, wanted))
    };
    // Lower-casing may move bytes, so a folded match counts only for letters that keep their length.
    let folded = || {
        let keeps =
            |t: &str| t.chars().all(|c| c.to_lowercase().map(char::len_utf8).sum::<usize>() == c.len_utf8());
        (keeps(text) && keeps(words)).then(|| first(&text.to_lowercase(), &words.to_lowercase())).flatten()
    };
    let at = first(text, words).or_else(folded)?;
    let span = ByteSpan::new(at, at + words.len())?;
    span.slice(text).map(|_| span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        lines(text, &["A long passage that says something."], &AnswersConfig::default())
    }

    #[test]
    fn answers_are_read_line_by_line() {
        assert_eq!(
            of("1. Heat\n- \"Wounded Man\"\n* **Mai, the Psychic Girl**\n"),
            ["Heat", "Wounded Man", "Mai, the Psychic Girl"]
        );
        assert_eq!(of("Crosby, Stills and Nash; Heat"), ["Crosby, Stills and Nash", "Heat"]);
        assert_eq!(of("1984\n1.5 million\n3"), ["1984", "1.5 million", "3"]);
        for nothing in ["NONE", "None.", "- none", "", "The passage does not say.", "Which film is meant?"] {
            assert!(of(nothing).is_empty(), "{nothing}");
        }
        assert_eq!(of("1.北京\n2、上海；天津"), ["北京", "上海", "天津"]);
        assert_eq!(of("The Passage of Venus"), ["The Passage of Venus"]);
        assert!(of("A long passage that says something.").is_empty(), "it only repeats the passage");
        let long = "one two three four five six seven eight nine ten eleven twelve thirteen";
        assert!(of(long).is_empty());
    }

    #[test]
    fn two_words_may_be_one_title() {
        let config = AnswersConfig::default();
        let read = |text: &str, wanted| {
            let span = ByteSpan::new(0, text.len()).unwrap();
            let all = items_at(text, span, text, wanted, &config);
            all.into_iter().map(|((surface, _), _)| surface).collect::<Vec<_>>()
        };
        assert_eq!(read("Pride and Prejudice", QuestionType::Entity), ["Pride and Prejudice"]);
        assert_eq!(read("Alaska and Hawaii", QuestionType::Where), ["Alaska", "Hawaii"]);
        assert_eq!(read("Bobby Scott and Bob Russell", QuestionType::Who), ["Bobby Scott", "Bob Russell"]);
        assert_eq!(read("1992 and 1993", QuestionType::Year), ["1992", "1993"]);
    }

    #[test]
    fn words_are_found_whatever_their_case() {
        assert_eq!(find("In the Heat of", "heat").map(|s| s.start()), Some(7));
        assert_eq!(find("İstanbul is large", "LARGE"), None, "its lower case has another length");
        assert_eq!(find("x", ""), None);
        assert_eq!(find("In 1912 and 12 more", "12").map(|s| s.start()), Some(12));
        assert_eq!(find("北京的人口", "人口").map(|s| s.start()), Some(9));
    }
}
