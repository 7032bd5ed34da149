//! Verification across passages: what a candidate is judged by, and what a verifier or a language model says of it.

use std::collections::HashSet;

use counterproof_core::{
    ByteSpan, CompletionRequest, Continuation, Entailment, Error, FinishReason, LanguageModel, Nli, Result,
    Retriever, ScoreRequest,
};
use counterproof_models::prompts::Rendered;
use counterproof_models::reply::{Parsed, Reply};
use counterproof_text::statement::{premise, statement};
use counterproof_text::tokens::content_tokens;

use super::candidates::Candidate;
use super::config::AnswersConfig;
use super::prompts;
use super::read::{find, request};
use super::weigh::Evidence;
use crate::ledger::{Ledger, Search, Stated};
use crate::pool::{Entry, Pool};

const SEARCH: &str = "extra_evidence";
const JUDGE: &str = "verify";
pub(super) const ASK: &str = "verdict";

/// Pairs that a verifier judges at a time.
const BATCH: usize = 256;

/// Tokens that a verdict may take, with a short reason.
const MAX_TOKENS: u32 = 64;

/// The words of a verdict.
const WORDS: [&str; 5] = ["yes", "no", "是", "否", "不是"];

/// Tokens that a verdict may take when the first was cut off.
const MAX_REASONING: u32 = 1024;

/// A candidate with all that it is judged by.
pub(super) struct Case<'a> {
    pub(super) candidate: &'a Candidate,
    /// The questions that it is verified by.
    pub(super) questions: Vec<String>,
    /// Passages that a search for it brought, without those it was read in.
    pub(super) extra: Pool,
    /// What reader and verifier know of it.
    pub(super) evidence: Evidence,
}

impl<'a> Case<'a> {
    pub(super) fn new(candidate: &'a Candidate, all: &[Candidate]) -> Self {
        Self {
            candidate,
            questions: Vec::new(),
            extra: Pool::default(),
            evidence: read_evidence(candidate, all),
        }
    }

    /// The passages that it was read in, the surest first.
    pub(super) fn sources(&self, pool: &Pool, config: &AnswersConfig) -> Vec<(usize, Option<ByteSpan>)> {
        if config.ablate.no_source_passages {
            return Vec::new();
        }
        let sources = self.candidate.sources().into_iter();
        let held = sources.filter_map(|m| Some((m.passage.filter(|at| *at < pool.entries().len())?, m.span)));
        held.take(config.max_source).collect()
    }
}

/// What the reading says of a candidate.
fn read_evidence(candidate: &Candidate, all: &[Candidate]) -> Evidence {
    let mentions = &candidate.mentions;
    let margins: Vec<f64> = mentions.iter().filter_map(|m| m.margin).collect();
    let best = mentions
        .iter()
        .filter(|m| m.margin.is_some())
        .max_by(|a, b| a.margin.unwrap_or(f64::MIN).total_cmp(&b.margin.unwrap_or(f64::MIN)));
    let rivals = |passage: Option<usize>| {
        let others = all.iter().filter(|other| other.key != candidate.key);
        others.flat_map(|c| &c.mentions).filter(move |m| m.passage == passage).filter_map(|m| m.margin)
    };
    let greatest = all.iter().map(|c| c.support).max().unwrap_or(1).max(1);
    let n = mentions.len().max(1) as f64;
    Evidence {
        margin: margins.iter().copied().reduce(f64::max),
        mean_margin: (!margins.is_empty()).then(|| margins.iter().sum::<f64>() / margins.len() as f64),
        place: mentions.iter().map(|m| m.place).min().unwrap_or(0) as f64,
        listed: mentions.iter().filter(|m| m.listed).count() as f64 / n,
        support: candidate.support as f64,
        support_share: candidate.support as f64 / greatest as f64,
        rank: candidate.best_rank as f64,
        candidates: all.len() as f64,
        titled: mentions.iter().filter(|m| m.margin.is_none()).count() as f64 / n,
        words: candidate.surface.split_whitespace().count() as f64,
        rival: best
            .map(|m| rivals(m.passage).map(|other| other - m.margin.unwrap_or(0.0)).fold(0.0, f64::max)),
        ..Evidence::default()
    }
}

/// Searches for each case by its first question and keeps what it was not read in.
pub(super) async fn search(
    question: &str,
    cases: &mut [&mut Case<'_>],
    pool: &Pool,
    retriever: &dyn Retriever,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) {
    if config.ablate.no_extra_evidence || config.k_verify == 0 {
        return;
    }
    let query = |case: &Case<'_>| match case.questions.first() {
        Some(written) if !config.ablate.no_vq => written.clone(),
        _ => format!("{} {}", question.trim(), case.candidate.surface),
    };
    let searches = cases
        .iter()
        .enumerate()
        .map(|(at, case)| Search { stage: SEARCH, role: at, query: query(case), k: config.k_verify })
        .collect();
    for (at, found) in ledger.search_all(retriever, searches).await {
        let (Some(case), Ok(hits)) = (cases.get_mut(at), found) else { continue };
        let read_in: HashSet<&str> = case
            .candidate
            .mentions
            .iter()
            .filter_map(|m| pool.get(m.passage?))
            .map(|e| e.passage.id.as_str())
            .collect();
        let new: Vec<_> = hits
            .iter()
            .filter(|h| !read_in.contains(h.passage.id.as_str()))
            .map(|h| h.passage.clone())
            .collect();
        case.extra = Pool::given(&new);
    }
}

/// The sentence of a passage that a candidate is judged by: the one that holds it, or else the one that shares most with
/// question and candidate.
pub(super) fn sentence_of(
    entry: &Entry,
    span: Option<ByteSpan>,
    stated: &str,
    surface: &str,
) -> Option<ByteSpan> {
    let text = &entry.passage.text;
    if let Some(span) = span.or_else(|| find(text, surface)) {
        return entry.sentences.iter().find(|s| span.start() < s.end()).copied();
    }
    let wanted: HashSet<String> = content_tokens(stated).into_iter().collect();
    let shared = |s: &ByteSpan| {
        let own: HashSet<String> = content_tokens(s.slice(text).unwrap_or_default()).into_iter().collect();
        own.intersection(&wanted).count()
    };
    entry.sentences.iter().max_by_key(|s| (shared(s), std::cmp::Reverse(s.start()))).copied()
}

/// The words that a candidate is judged by: that sentence with its neighbours, under the title.
fn window(entry: &Entry, span: Option<ByteSpan>, stated: &str, surface: &str) -> Option<String> {
    let sentence = sentence_of(entry, span, stated, surface)?;
    let at = entry.sentences.iter().position(|s| *s == sentence)?;
    let first = entry.sentences.get(at.saturating_sub(1))?.start();
    let last = entry.sentences.get(at + 1).unwrap_or(&sentence).end();
    Some(premise(&entry.passage.title, entry.passage.text.get(first..last)?))
}

/// Which passages a judgement is by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Sources,
    Extra,
}

/// Has the verifier judge each case by its sources or by its further passages.
///
/// # Errors
/// The verifier's.
pub(super) async fn judge(
    question: &str,
    cases: &mut [&mut Case<'_>],
    by: By,
    pool: &Pool,
    verifier: &dyn Entailment,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<()> {
    let mut pairs: Vec<(usize, counterproof_core::PassageId, String, String)> = Vec::new();
    for (at, case) in cases.iter_mut().enumerate() {
        let surface = &case.candidate.surface;
        let stated = statement(question, surface);
        let passages: Vec<(&Entry, Option<ByteSpan>)> = match by {
            By::Sources => case
                .sources(pool, config)
                .into_iter()
                .filter_map(|(at, span)| Some((pool.get(at)?, span)))
                .collect(),
            By::Extra => case.extra.entries().iter().map(|e| (e, None)).collect(),
        };
        if by == By::Extra && !passages.is_empty() {
            let holds = passages.iter().filter(|(e, _)| find(&e.passage.text, surface).is_some()).count();
            case.evidence.extra_holds = Some(holds as f64);
        }
        for (entry, span) in passages {
            if let Some(window) = window(entry, span, &stated, surface) {
                pairs.push((at, entry.passage.id.clone(), window, stated.clone()));
            }
        }
    }
    let mut judged: Vec<(usize, Nli)> = Vec::with_capacity(pairs.len());
    for batch in pairs.chunks(BATCH) {
        let stated: Vec<Stated<'_>> = batch
            .iter()
            .filter_map(|(at, id, premise, statement)| {
                let told = cases.get(*at)?.candidate.surface.as_str();
                Some(Stated { name: id.clone(), premise, statement, told })
            })
            .collect();
        let said = ledger.judge(JUDGE, verifier, &stated).await?;
        judged.extend(batch.iter().map(|(at, ..)| *at).zip(said));
    }
    for (at, nli) in judged {
        let Some(case) = cases.get_mut(at) else { continue };
        let most = |known: &mut Option<f64>, p: f64| *known = Some(known.map_or(p, |k| k.max(p)));
        let evidence = &mut case.evidence;
        match by {
            By::Sources => {
                most(&mut evidence.entail, nli.entail.get());
                most(&mut evidence.contradict, nli.contradict.get());
                let p = nli.neutral.get();
                evidence.neutral = Some(evidence.neutral.map_or(p, |k| k.min(p)));
            }
            By::Extra => {
                most(&mut evidence.extra_entail, nli.entail.get());
                most(&mut evidence.extra_contradict, nli.contradict.get());
            }
        }
    }
    Ok(())
}

/// What a language model says of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Said {
    Yes,
    No,
    /// The probability of yes.
    Probably(f64),
    Unparsed,
}

impl Said {
    /// That all of several questions are answered with yes.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Unparsed, _) | (_, Self::Unparsed) => Self::Unparsed,
            (Self::Probably(p), Self::Probably(q)) => Self::Probably(p.min(q)),
            (Self::Probably(p), Self::Yes) | (Self::Yes, Self::Probably(p)) => Self::Probably(p),
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }
}

/// Titles and texts of the passages that a case was read in, cut around its words to what a model is shown.
fn sources(case: &Case<'_>, pool: &Pool, config: &AnswersConfig) -> Vec<(usize, (String, String))> {
    let places = case.sources(pool, config).into_iter();
    let shown = |(place, span): (usize, Option<ByteSpan>)| {
        let at = span.map_or(0, |s| s.start());
        Some((place, pool.shown_at(place, at, config.max_passage_tokens)?))
    };
    places.filter_map(shown).collect()
}

/// Titles and texts of the further passages, cut likewise.
fn extra(case: &Case<'_>, config: &AnswersConfig) -> Vec<(String, String)> {
    let shown = |(place, entry): (usize, &Entry)| {
        let at = find(&entry.passage.text, &case.candidate.surface).map_or(0, |s| s.start());
        case.extra.shown_at(place, at, config.max_passage_tokens)
    };
    case.extra.entries().iter().enumerate().filter_map(shown).collect()
}

fn pairs(texts: &[(String, String)]) -> Vec<(&str, &str)> {
    texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect()
}

/// Asks about one case, a call for each of its questions.
pub(super) async fn ask(
    question: &str,
    case: &Case<'_>,
    pool: &Pool,
    model: &dyn LanguageModel,
    lean: f64,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<Said> {
    let source: Vec<(String, String)> =
        sources(case, pool, config).into_iter().map(|(_, shown)| shown).collect();
    let extra = extra(case, config);
    let mut all = Said::Yes;
    for verification in &case.questions {
        let (source, extra) = (pairs(&source), pairs(&extra));
        let rendered = prompts::verdict(question, &case.candidate.surface, verification, &source, &extra)?;
        let given: Vec<&str> = source.iter().chain(&extra).map(|(_, text)| *text).collect();
        let said = match model.capabilities().is_best_scored() {
            true => scored(rendered, lean, model, ledger).await?,
            false => written(rendered, &given, model, ledger).await?,
        };
        all = all.and(said);
        if all == Said::No {
            break;
        }
    }
    Ok(all)
}

/// How far a model leans to yes where there is nothing to read, in log-odds. Small models lean to one word by much more than
/// evidence moves them, so this is taken off (contextual calibration; Zhao et al. 2021, "Calibrate Before Use"). `question` is
/// the one whose language is asked in.
///
/// # Errors
/// The model's.
pub(super) async fn lean(question: &str, model: &dyn LanguageModel, ledger: &mut Ledger) -> Result<f64> {
    let nothing = if crate::prompts::language_of(question) == "zh" { "（无）" } else { "N/A" };
    let rendered = prompts::verdict(nothing, nothing, nothing, &[("", nothing)], &[])?;
    odds(rendered, model, ledger).await
}

/// The verdict by which word the model would begin with.
async fn scored(
    rendered: Rendered,
    lean: f64,
    model: &dyn LanguageModel,
    ledger: &mut Ledger,
) -> Result<Said> {
    let odds = odds(rendered, model, ledger).await?;
    Ok(Said::Probably(1.0 / (1.0 + (lean - odds).exp())))
}

/// The log-odds of yes against no.
async fn odds(rendered: Rendered, model: &dyn LanguageModel, ledger: &mut Ledger) -> Result<f64> {
    let request = ScoreRequest {
        stage: ASK.to_owned(),
        messages: rendered.messages,
        continuations: ["Yes", "No"].map(|word| Continuation(word.to_owned())).to_vec(),
        prompt: Some(rendered.prompt),
    };
    let scores = ledger.score(model, request).await?;
    match scores.as_slice() {
        [yes, no] => Ok(yes.total() - no.total()),
        _ => Err(Error::failed("scoring a verdict", "there are not two scores")),
    }
}

/// The verdict that the model writes; asked for again once where it cannot be read.
async fn written(
    rendered: Rendered,
    given: &[&str],
    model: &dyn LanguageModel,
    ledger: &mut Ledger,
) -> Result<Said> {
    let mut again: CompletionRequest = request(ASK, rendered, MAX_TOKENS);
    for attempt in 0..2 {
        again.sampling.seed = (attempt > 0).then_some(attempt);
        let reply = ledger.complete(model, again.clone()).await?;
        match Reply::from(&reply).excluding(given).choice(&WORDS) {
            Parsed::Read(word) => return Ok(said(word)),
            Parsed::Unparsed(_) if ledger.calls_left() == 0 => break,
            // A model that reasons first needs room for that.
            Parsed::Unparsed(_) if reply.finish == FinishReason::Length => {
                again.sampling.max_tokens = Some(MAX_REASONING);
            }
            Parsed::Unparsed(_) => {}
        }
    }
    Ok(Said::Unparsed)
}

fn said(word: &str) -> Said {
    if matches!(word, "yes" | "是") { Said::Yes } else { Said::No }
}

/// Asks about several cases in one call, by number; about those without a readable verdict once more.
///
/// # Errors
/// The model's, where it answered nothing, and a prompt file that is wrong.
pub(super) async fn ask_together(
    question: &str,
    cases: &[&Case<'_>],
    pool: &Pool,
    model: &dyn LanguageModel,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Said>> {
    let mut said = vec![Said::Unparsed; cases.len()];
    let mut open: Vec<usize> = (0..cases.len()).collect();
    for attempt in 0..2 {
        let asked: Vec<&Case<'_>> = open.iter().filter_map(|at| cases.get(*at).copied()).collect();
        if asked.is_empty() || attempt > 0 && ledger.calls_left() == 0 {
            break;
        }
        let replied = together(question, &asked, attempt, pool, model, config, ledger).await?;
        for (at, one) in open.iter().zip(&replied) {
            if let Some(known) = said.get_mut(*at) {
                *known = *one;
            }
        }
        open.retain(|at| said.get(*at) == Some(&Said::Unparsed));
    }
    Ok(said)
}

async fn together(
    question: &str,
    cases: &[&Case<'_>],
    attempt: u64,
    pool: &Pool,
    model: &dyn LanguageModel,
    config: &AnswersConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Said>> {
    let texts = shared(cases, pool, config);
    let candidates: Vec<(&str, &str)> = cases
        .iter()
        .map(|case| (case.candidate.surface.as_str(), case.questions.first().map_or("", String::as_str)))
        .collect();
    let rendered = prompts::group(question, &candidates, &pairs(&texts))?;
    let tokens = MAX_TOKENS + 8 * u32::try_from(cases.len()).unwrap_or(u32::MAX / 16);
    let mut request = request(ASK, rendered, tokens);
    request.sampling.seed = (attempt > 0).then_some(attempt);
    let reply = ledger.complete(model, request).await?;
    let ids: Vec<String> = (1..=cases.len()).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let given: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let read = Reply::from(&reply).excluding(&given).verdicts(&ids, &WORDS);
    Ok(read.into_iter().map(|verdict| verdict.read().map_or(Said::Unparsed, said)).collect())
}

/// The passages of several cases, each once.
fn shared(cases: &[&Case<'_>], pool: &Pool, config: &AnswersConfig) -> Vec<(String, String)> {
    let mut own: Vec<(usize, (String, String))> =
        cases.iter().flat_map(|case| sources(case, pool, config)).collect();
    own.sort();
    let own = own.into_iter().map(|(_, shown)| shown);
    let mut texts: Vec<(String, String)> = Vec::new();
    for text in own.chain(cases.iter().flat_map(|case| extra(case, config))) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// How many of the cases, of at most `most`, share no more text than a model is shown at once; one in any case.
pub(super) fn fitting(cases: &[&Case<'_>], most: usize, pool: &Pool, config: &AnswersConfig) -> usize {
    let words = |n: usize| -> usize {
        let texts = shared(cases.get(..n).unwrap_or_default(), pool, config);
        texts.iter().map(|(_, text)| text.split_whitespace().count()).sum()
    };
    let most = most.min(cases.len());
    (2..=most).take_while(|n| words(*n) <= config.max_context_tokens).last().unwrap_or(1.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_has_to_hold() {
        use Said::{No, Probably, Unparsed, Yes};
        for (a, b, both) in [
            (Yes, Yes, Yes),
            (Yes, No, No),
            (Unparsed, No, No),
            (Yes, Unparsed, Unparsed),
            (Probably(0.9), Probably(0.4), Probably(0.4)),
            (Probably(0.9), Yes, Probably(0.9)),
        ] {
            assert_eq!(a.and(b), both);
            assert_eq!(b.and(a), both);
        }
    }

    #[test]
    fn a_candidate_is_judged_by_the_sentence_that_holds_it() {
        let passage = counterproof_core::Passage::new(
            "p",
            "Heat",
            "It is long. Al Pacino plays a part. It ends. Nothing more.",
        );
        let pool = Pool::given(&[std::sync::Arc::new(passage)]);
        let entry = pool.get(0).unwrap();
        let held = window(entry, None, "Who plays? The answer is Al Pacino.", "al pacino").unwrap();
        assert_eq!(held, "Heat. It is long. Al Pacino plays a part. It ends.");
        let alike = window(entry, None, "Does it end? The answer is ends.", "no such words").unwrap();
        assert!(alike.contains("It ends."), "{alike}");
    }
}
