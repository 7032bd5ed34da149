//! Verification across passages: what a candidate is judged by, and what a verifier or a language model says of it.

use std::collections::HashSet;

use counterproof_core::{
    ByteSpan, CompletionRequest, Continuation, Entailment, Error, LanguageModel, Nli, Passage, Result,
    Retriever, ScoreRequest,
};
use counterproof_models::prompts::Rendered;
use counterproof_models::reply::{Parsed, Reply};
use counterproof_text::sentences::{sentences, with_neighbours};
use counterproof_text::statement::{premise, statement};
use counterproof_text::tokens::content_tokens;

use super::candidates::Candidate;
use super::config::AnswersConfig;
use super::prompts;
use super::read::{find, request};
use super::weigh::Evidence;
use crate::ledger::{Ledger, Search, Stated};
use crate::pool::Pool;

const SEARCH: &str = "extra_evidence";
const JUDGE: &str = "verify";
pub(super) const ASK: &str = "verdict";

/// Pairs that a verifier judges at a time.
const BATCH: usize = 256;

/// Tokens that a verdict may take, with a short reason.
const MAX_TOKENS: u32 = 64;

/// The words of a verdict.
const WORDS: [&str; 2] = ["yes", "no"];

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
        sources
            .filter(|m| m.passage < pool.entries().len())
            .take(config.max_source)
            .map(|m| (m.passage, m.span))
            .collect()
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
    let rivals = |passage: usize| {
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
            .filter_map(|m| pool.get(m.passage))
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

/// The words of a passage that a candidate is judged by, under its title: the sentence that holds it, or else the one that
/// shares most with question and candidate, with its neighbours.
fn window(passage: &Passage, span: Option<ByteSpan>, stated: &str, surface: &str) -> Option<String> {
    let text = &passage.text;
    let at = match span.or_else(|| find(text, surface)) {
        Some(span) => span.start(),
        None => {
            let wanted: HashSet<String> = content_tokens(stated).into_iter().collect();
            let shared = |s: &ByteSpan| {
                let own: HashSet<String> =
                    content_tokens(s.slice(text).unwrap_or_default()).into_iter().collect();
                own.intersection(&wanted).count()
            };
            let all = sentences(text);
            all.iter().max_by_key(|s| (shared(s), std::cmp::Reverse(s.start())))?.start()
        }
    };
    Some(premise(&passage.title, with_neighbours(text, at)?))
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
        let passages: Vec<(&Passage, Option<ByteSpan>)> = match by {
            By::Sources => case
                .sources(pool, config)
                .into_iter()
                .filter_map(|(at, span)| Some((&*pool.get(at)?.passage, span)))
                .collect(),
            By::Extra => case.extra.entries().iter().map(|e| (&*e.passage, None)).collect(),
        };
        if by == By::Extra && !passages.is_empty() {
            let holds = passages.iter().filter(|(p, _)| find(&p.text, surface).is_some()).count();
            case.evidence.extra_holds = Some(holds as f64);
        }
        for (passage, span) in passages {
            if let Some(window) = window(passage, span, &stated, surface) {
                pairs.push((at, passage.id.clone(), window, stated.clone()));
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
    Failed,
}

impl Said {
    /// That all of several questions are answered with yes.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Unparsed, _) | (_, Self::Unparsed) => Self::Unparsed,
            (Self::Probably(p), Self::Probably(q)) => Self::Probably(p.min(q)),
            (Self::Probably(p), Self::Yes) | (Self::Yes, Self::Probably(p)) => Self::Probably(p),
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }
}

/// Titles and texts, cut to what a model is shown.
fn shown(pool: &Pool, places: impl Iterator<Item = usize>, config: &AnswersConfig) -> Vec<(String, String)> {
    let all = pool.shown(usize::MAX, config.max_passage_tokens);
    places.filter_map(|at| all.get(at).cloned()).collect()
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
    let source = shown(pool, case.sources(pool, config).into_iter().map(|(at, _)| at), config);
    let extra = shown(&case.extra, 0..case.extra.entries().len(), config);
    let mut all = Said::Yes;
    for verification in &case.questions {
        let (source, extra) = (pairs(&source), pairs(&extra));
        let rendered = prompts::verdict(question, &case.candidate.surface, verification, &source, &extra)?;
        let given: Vec<&str> = source.iter().chain(&extra).map(|(_, text)| *text).collect();
        let said = match scores(model) {
            true => scored(rendered, lean, model, ledger).await,
            false => written(rendered, &given, model, ledger).await,
        };
        all = all.and(said);
        if matches!(all, Said::No | Said::Failed) {
            break;
        }
    }
    Ok(all)
}

/// Whether a model's verdicts are scored, not written: a small local one seldom writes what it makes of a passage.
pub(super) fn scores(model: &dyn LanguageModel) -> bool {
    model.capabilities().local && model.capabilities().score
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
async fn scored(rendered: Rendered, lean: f64, model: &dyn LanguageModel, ledger: &mut Ledger) -> Said {
    match odds(rendered, model, ledger).await {
        Ok(odds) => Said::Probably(1.0 / (1.0 + (lean - odds).exp())),
        Err(_) => Said::Failed,
    }
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
async fn written(rendered: Rendered, given: &[&str], model: &dyn LanguageModel, ledger: &mut Ledger) -> Said {
    let mut again: CompletionRequest = request(ASK, rendered, MAX_TOKENS);
    for attempt in 0..2 {
        again.sampling.seed = (attempt > 0).then_some(attempt);
        let Ok(reply) = ledger.complete(model, again.clone()).await else { return Said::Failed };
        match Reply::from(&reply).excluding(given).choice(&WORDS) {
            Parsed::Read(word) => return if word == "yes" { Said::Yes } else { Said::No },
            Parsed::Unparsed(_) => {}
        }
    }
    Said::Unparsed
}

/// Asks about several cases in one call, by number; about those without a readable verdict once more.
///
/// # Errors
/// A prompt file that is wrong.
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
        if asked.is_empty() {
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
    let Ok(reply) = ledger.complete(model, request).await else {
        return Ok(vec![Said::Failed; cases.len()]);
    };
    let ids: Vec<String> = (1..=cases.len()).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let given: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let read = Reply::from(&reply).excluding(&given).verdicts(&ids, &WORDS);
    let said = read.into_iter().map(|verdict| match verdict {
        Parsed::Read("yes") => Said::Yes,
        Parsed::Read(_) => Said::No,
        Parsed::Unparsed(_) => Said::Unparsed,
    });
    Ok(said.collect())
}

/// The passages of several cases, each once.
fn shared(cases: &[&Case<'_>], pool: &Pool, config: &AnswersConfig) -> Vec<(String, String)> {
    let mut places: Vec<usize> =
        cases.iter().flat_map(|case| case.sources(pool, config)).map(|(at, _)| at).collect();
    places.sort_unstable();
    places.dedup();
    let mut texts = shown(pool, places.into_iter(), config);
    for case in cases {
        for text in shown(&case.extra, 0..case.extra.entries().len(), config) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_has_to_hold() {
        use Said::{Failed, No, Probably, Unparsed, Yes};
        for (a, b, both) in [
            (Yes, Yes, Yes),
            (Yes, No, No),
            (Unparsed, No, No),
            (Yes, Failed, Failed),
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
        let passage = Passage::new("p", "Heat", "It is long. Al Pacino plays a part. It ends. Nothing more.");
        let held = window(&passage, None, "Who plays? The answer is Al Pacino.", "al pacino").unwrap();
        assert_eq!(held, "Heat. It is long. Al Pacino plays a part. It ends.");
        let alike = window(&passage, None, "Does it end? The answer is ends.", "no such words").unwrap();
        assert!(alike.contains("It ends."), "{alike}");
    }
}
