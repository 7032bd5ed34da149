//! The gate without a language model: a reader finds what the pool answers, a verifier compares each answer with the draft.
//!
//! The reader looks for the question's answer in every passage of the pool; to what it finds come the mentions of the
//! kind asked for, as the score gate gathers them. The verifier then judges the statements "the answer to the question
//! is X", for the draft and for each alternative, against the sentences that they stand in. What both say is weighed by a
//! small logistic model, whose coefficients were fitted on questions with known answers ([`GateCalibration`]); the
//! best alternative is proposed when its probability of being right where the draft is wrong passes the threshold.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{
    ByteSpan, Entailment, LanguageModel, Nli, Passage, Probability, QuestionType, Result, RuleOutcome,
    SpanReader,
};
use counterproof_text::answer::clean_answer;
use counterproof_text::mention::narrowed;
use counterproof_text::sentences::with_neighbours;
use counterproof_text::statement::statement;
use serde::Serialize;

use super::alternatives::{Alternative, EvidenceSentence, Gathered, gather, sentence_at};
use super::calibration::{FEATURES, GateCalibration};
use super::{Gate, GateCase, Ruling};
use crate::ledger::{Ledger, Stated};
use crate::repair::locate::EvidenceRef;
use crate::repair::rules::{Proposal, means_the_same};
use crate::repair::{Pool, RepairConfig};
use crate::weighing::logit;

const STAGE: &str = "gate";

/// What was found out about one of the answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The answer.
    pub answer: String,
    /// The sentence it rests on; `None` for a draft that the pool does not hold.
    pub sentence: Option<EvidenceSentence>,
    /// How many passages hold it.
    pub passages: usize,
    /// By how much, in nats, the reader prefers it to "no answer here", in the passage where it does most; `None` where
    /// it read something else.
    pub reading: Option<f64>,
}

/// The draft against its alternatives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The draft.
    pub draft: Judged,
    /// The alternatives.
    pub alternatives: Vec<Judged>,
    /// For each alternative the numbers that are weighed, in the order of [`FEATURES`].
    pub features: Vec<[f64; FEATURES.len()]>,
}

impl Comparison {
    /// The alternative that is most likely right where the draft is wrong, with that probability.
    pub fn best(&self, calibration: &GateCalibration) -> Option<(usize, f64)> {
        self.features
            .iter()
            .map(|features| calibration.probability(features))
            .enumerate()
            .max_by(|(i, a), (j, b)| a.total_cmp(b).then_with(|| j.cmp(i)))
    }
}

/// Decides by what a reader and a verifier make of the pool.
#[derive(Clone)]
pub struct EncoderGate {
    reader: Arc<dyn SpanReader>,
    verifier: Arc<dyn Entailment>,
    calibration: Arc<GateCalibration>,
}

impl EncoderGate {
    /// A gate of a reader and a verifier, and the calibration that was fitted to what these two say.
    pub fn new(
        reader: Arc<dyn SpanReader>,
        verifier: Arc<dyn Entailment>,
        calibration: GateCalibration,
    ) -> Self {
        Self { reader, verifier, calibration: Arc::new(calibration) }
    }

    /// The gate with another calibration, such as one that was fitted to rows of one's own.
    #[must_use]
    pub fn with_calibration(self, calibration: GateCalibration) -> Self {
        Self { calibration: Arc::new(calibration), ..self }
    }

    /// How its findings are weighed.
    pub fn calibration(&self) -> &GateCalibration {
        &self.calibration
    }

    /// Finds the alternatives and has them judged; `None` when the pool offers none.
    ///
    /// # Errors
    /// The reader's and the verifier's.
    pub async fn compare(&self, case: &GateCase<'_>, ledger: &mut Ledger) -> Result<Option<Comparison>> {
        if case.draft.trim().is_empty() {
            return Ok(None);
        }
        let Found { draft, mut alternatives } = self.found(case, ledger).await?;
        alternatives.truncate(case.config.encoder_gate.max_alternatives);
        if alternatives.is_empty() {
            return Ok(None);
        }
        let windows = Windows::of(case, std::iter::once(&draft).chain(&alternatives));
        let answers: Vec<&str> =
            std::iter::once(&draft).chain(&alternatives).map(|j| j.answer.as_str()).collect();
        let judged = self.judge(case, &answers, &windows, ledger).await?;
        let features = alternatives
            .iter()
            .enumerate()
            .map(|(ix, alternative)| features(case, &draft, alternative, ix, &windows, &judged))
            .collect();
        Ok(Some(Comparison { draft, alternatives, features }))
    }

    /// What the reader reads in `pool` as the answer to `question`; nothing where it finds none.
    ///
    /// # Errors
    /// The reader's.
    pub(in crate::repair) async fn draft(
        &self,
        stage: &'static str,
        question: &str,
        pool: &Pool,
        ledger: &mut Ledger,
    ) -> Result<String> {
        let spans = self.read(stage, question, pool, ledger).await?;
        let words = spans
            .first()
            .filter(|(_, _, margin)| *margin > 0.0)
            .and_then(|(passage, span, _)| span.slice(&pool.get(*passage)?.text));
        Ok(words.map(clean_answer).unwrap_or_default())
    }

    /// What the reader reads in each passage: the passage, the words, and by how many nats they beat "no answer here";
    /// best first.
    async fn read(
        &self,
        stage: &'static str,
        question: &str,
        pool: &Pool,
        ledger: &mut Ledger,
    ) -> Result<Vec<(usize, ByteSpan, f64)>> {
        let passages: Vec<&Passage> = pool.passages().iter().map(|p| &*p.passage).collect();
        let readings = ledger.read(stage, &*self.reader, question, &passages).await?;
        let mut spans: Vec<(usize, ByteSpan, f64)> = Vec::new();
        for (passage, reading) in readings.iter().enumerate() {
            spans.extend(reading.spans.iter().map(|span| (passage, span.span, reading.margin(span).get())));
        }
        spans.sort_by(|a, b| b.2.total_cmp(&a.2));
        Ok(spans)
    }

    /// The draft and what could stand in its place, the likeliest first.
    async fn found(&self, case: &GateCase<'_>, ledger: &mut Ledger) -> Result<Found> {
        let spans = self.read(STAGE, &case.question.text, case.pool, ledger).await?;
        let Gathered { draft, draft_passages, alternatives } = gather(case);
        let mut draft = Judged {
            answer: case.draft.trim().to_owned(),
            sentence: draft,
            passages: draft_passages,
            reading: None,
        };
        let mut found: Vec<Judged> = alternatives
            .into_iter()
            .map(|Alternative { answer, sentence, passages }| Judged {
                answer,
                sentence: Some(sentence),
                passages,
                reading: None,
            })
            .collect();
        for (passage, span, margin) in spans {
            let Some((answer, sentence)) = read_answer(case, passage, span) else { continue };
            if means_the_same(&answer, case.draft, &case.config.aliases) {
                if draft.reading.is_none() {
                    draft.reading = Some(margin);
                    draft.sentence = Some(sentence);
                }
                continue;
            }
            match found.iter_mut().find(|j| means_the_same(&j.answer, &answer, &case.config.aliases)) {
                Some(known) if known.reading.is_none() => {
                    known.reading = Some(margin);
                    known.sentence = Some(sentence);
                }
                Some(_) => {}
                None => found.push(Judged {
                    answer,
                    sentence: Some(sentence),
                    passages: 1,
                    reading: Some(margin),
                }),
            }
        }
        let rank =
            |j: &Judged| (j.reading.unwrap_or(f64::NEG_INFINITY), j.sentence.map_or(0.0, |s| s.relevance));
        found.sort_by(|a, b| {
            let ((a, at), (b, bt)) = (rank(a), rank(b));
            b.total_cmp(&a).then_with(|| bt.total_cmp(&at))
        });
        // Names that the reader passed over are tried as well, for the case that it looked at the wrong place: every
        // third place goes to the most relevant of them.
        let (read, unread): (Vec<Judged>, Vec<Judged>) = found.into_iter().partition(|j| j.reading.is_some());
        Ok(Found { draft, alternatives: interleave(read, unread) })
    }

    /// The verifier's judgement of the draft by every window, and of each alternative by its own: by answer (the draft is
    /// the first) and window.
    async fn judge(
        &self,
        case: &GateCase<'_>,
        answers: &[&str],
        windows: &Windows,
        ledger: &mut Ledger,
    ) -> Result<HashMap<(usize, usize), Nli>> {
        let of_draft = (0..windows.texts.len()).map(|window| (0, window));
        let own = windows.of_answer.iter().enumerate().skip(1);
        let places: Vec<(usize, usize)> =
            of_draft.chain(own.filter_map(|(answer, window)| Some((answer, (*window)?)))).collect();
        let statements: Vec<String> =
            answers.iter().map(|answer| statement(&case.question.text, answer)).collect();
        let stated: Option<Vec<Stated<'_>>> = places
            .iter()
            .map(|(answer, window)| {
                Some(Stated {
                    name: case.pool.get(*windows.passages.get(*window)?)?.id.clone(),
                    premise: windows.texts.get(*window)?,
                    statement: statements.get(*answer)?,
                    told: answers.get(*answer)?,
                })
            })
            .collect();
        let stated = stated.unwrap_or_default();
        if !self.verifier.knows_language_of(&case.question.text) {
            let why = "the verifier was not trained on the question's language: what it says is a guess";
            ledger.trace.note(STAGE, why.to_owned());
        }
        let judged = ledger.judge(STAGE, &*self.verifier, &stated).await?;
        Ok(places.into_iter().zip(judged).collect())
    }

    /// The ruling that a comparison comes to.
    pub fn decide(&self, comparison: &Comparison, config: &RepairConfig, ledger: &mut Ledger) -> Ruling {
        let threshold =
            self.calibration.threshold(config.encoder_gate.max_harm, config.encoder_gate.threshold);
        let Some((ix, p)) = comparison.best(&self.calibration) else { return Ruling::NoAlternative };
        let revise = p >= threshold;
        let Some((alternative, sentence)) =
            comparison.alternatives.get(ix).and_then(|a| Some((a, a.sentence?)))
        else {
            return Ruling::NoAlternative;
        };
        ledger.trace.rule(
            STAGE,
            "beats_draft",
            if revise { RuleOutcome::Passed } else { RuleOutcome::Failed },
            format!(
                "\"{}\" is right and \"{}\" wrong with probability {p:.2}; {}",
                alternative.answer,
                comparison.draft.answer,
                if threshold.is_finite() {
                    format!("{threshold:.2} is needed")
                } else {
                    "the calibration cannot promise so little harm".to_owned()
                }
            ),
        );
        if !revise {
            return Ruling::Keep { confidence: Some(Probability::clamped(1.0 - p)) };
        }
        Ruling::Revise {
            proposal: Proposal {
                answer: alternative.answer.clone(),
                evidence: EvidenceRef::Span { passage: sentence.passage, span: sentence.span },
            },
            confidence: Some(Probability::clamped(p)),
        }
    }
}

#[async_trait]
impl Gate for EncoderGate {
    async fn rule(&self, case: &GateCase<'_>, _: &dyn LanguageModel, ledger: &mut Ledger) -> Result<Ruling> {
        let Some(comparison) = self.compare(case, ledger).await? else { return Ok(Ruling::NoAlternative) };
        Ok(self.decide(&comparison, case.config, ledger))
    }

    fn calls(&self) -> u64 {
        0
    }
}

struct Found {
    draft: Judged,
    alternatives: Vec<Judged>,
}

/// Two of the first, one of the second, and so on.
fn interleave(first: Vec<Judged>, second: Vec<Judged>) -> Vec<Judged> {
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut out = Vec::new();
    loop {
        let before = out.len();
        out.extend(first.by_ref().take(2));
        out.extend(second.by_ref().take(1));
        if out.len() == before {
            return out;
        }
    }
}

/// What the reader read, as an answer of the kind asked for, and the sentence it stands in.
fn read_answer(case: &GateCase<'_>, passage: usize, span: ByteSpan) -> Option<(String, EvidenceSentence)> {
    let text = &case.pool.get(passage)?.text;
    let words = span.slice(text)?;
    let answer = narrowed(words, case.question_type)?;
    let answer = clean_answer(answer);
    if answer.is_empty() || case.question_type == QuestionType::YesNo {
        return None;
    }
    let asked = counterproof_text::normalise::squad(&case.question.text);
    let norm = counterproof_text::normalise::squad(&answer);
    if norm.is_empty() || format!(" {asked} ").contains(&format!(" {norm} ")) {
        return None;
    }
    Some((answer, sentence_at(case, passage, span)?))
}

/// The evidence that is shown to the verifier: the sentence of each answer with its neighbours, under its title.
struct Windows {
    passages: Vec<usize>,
    texts: Vec<String>,
    /// For each answer (the draft first) its window.
    of_answer: Vec<Option<usize>>,
}

impl Windows {
    fn of<'a>(case: &GateCase<'_>, answers: impl Iterator<Item = &'a Judged>) -> Self {
        let mut windows = Self { passages: Vec::new(), texts: Vec::new(), of_answer: Vec::new() };
        for answer in answers {
            let window = answer.sentence.and_then(|s| Some((s.passage, window(case, s)?)));
            let place = window.map(|(passage, text)| {
                windows.texts.iter().position(|known| *known == text).unwrap_or_else(|| {
                    windows.passages.push(passage);
                    windows.texts.push(text);
                    windows.texts.len() - 1
                })
            });
            windows.of_answer.push(place);
        }
        windows
    }
}

/// The sentence before, the sentence, and the one after it.
fn window(case: &GateCase<'_>, sentence: EvidenceSentence) -> Option<String> {
    let passage = case.pool.get(sentence.passage)?;
    let text = with_neighbours(&passage.text, sentence.span.start())?;
    if passage.title.is_empty() { Some(text.to_owned()) } else { Some(format!("{}. {text}", passage.title)) }
}

fn features(
    case: &GateCase<'_>,
    draft: &Judged,
    alternative: &Judged,
    ix: usize,
    windows: &Windows,
    judged: &HashMap<(usize, usize), Nli>,
) -> [f64; FEATURES.len()] {
    let own = windows.of_answer.get(ix + 1).copied().flatten();
    let drafts = windows.of_answer.first().copied().flatten();
    let nli = |answer: usize, window: Option<usize>| judged.get(&(answer, window?)).copied();
    let entail = |nli: Option<Nli>| nli.map_or(0.0, |n| logit(n.entail.get()));
    let contradict = |nli: Option<Nli>| nli.map_or(0.0, |n| logit(n.contradict.get()));
    let best_entail = judged
        .iter()
        .filter(|((answer, _), _)| *answer == 0)
        .map(|(_, n)| n.entail.get())
        .fold(None, |best: Option<f64>, x| Some(best.map_or(x, |b| b.max(x))));
    // Where the reader read something else, it prefers that; -10 nats is beyond what it gives to what it read.
    let reading = |j: &Judged| j.reading.map_or(-10.0, |r| r.clamp(-10.0, 10.0));
    let relevance = |j: &Judged| j.sentence.map_or(0.0, |s| s.relevance);
    let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
    let value = matches!(case.question_type, QuestionType::Year | QuestionType::When | QuestionType::Number);
    [
        reading(alternative),
        reading(draft),
        entail(nli(ix + 1, own)),
        contradict(nli(ix + 1, own)),
        best_entail.map_or(-4.0, logit),
        contradict(nli(0, own)),
        entail(nli(0, own)),
        contradict(nli(0, drafts)),
        flag(draft.sentence.is_some()),
        relevance(alternative),
        relevance(draft),
        (alternative.passages as f64).ln_1p(),
        (draft.passages as f64).ln_1p(),
        flag(value),
        flag(case.question_type == QuestionType::Other),
    ]
}
