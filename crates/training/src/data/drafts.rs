//! Controlled drafts: questions with passages and an answer that is right in half of the rows and, in the other half, a
//! wrong one of the same kind that some passage gives. A gate that repairs answers is calibrated and measured on them.

use std::collections::HashMap;
use std::sync::Arc;

use counterproof_core::{Passage, QuestionType, Result};
use counterproof_datasets::questions::HotpotAdversarial;
use counterproof_datasets::{Collection, Key, Split, Splits};
use counterproof_text::normalise::squad;
use serde::{Deserialize, Serialize};

use super::answers::Golds;
use super::questions::{self, Asked};
use super::search::Search;
use super::{pick, row_random};
use crate::random::Random;

/// Passages of a pool, for sets that bring one passage a question.
const POOL: usize = 6;

/// A question with a draft whose truth is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRow {
    /// The data set.
    pub set: String,
    /// The question.
    pub question: String,
    /// The answer to be tested.
    pub draft: String,
    /// Every right answer.
    pub answers: Vec<String>,
    /// What there is to test it by.
    pub passages: Vec<DraftPassage>,
}

/// A passage of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftPassage {
    /// What it is about.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// Rows for a fit and rows for a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drafts {
    /// Questions of the validation side of every set with one passage a question.
    pub validation: Vec<DraftRow>,
    /// Questions that NQ keeps for its report, and HotpotQA with planted paragraphs.
    pub report: Vec<DraftRow>,
}

/// Makes the rows. Each question gives one, right or wrong as the seed has it; one without a wrong answer of the kind in
/// its passages gives none, so that both halves are about the same questions.
///
/// # Errors
/// When the passages cannot be indexed.
pub fn build(data: &Collection, splits: &Splits, seed: u64) -> Result<Drafts> {
    let asked = questions::all(data, splits);
    let wanted = |row: &&Asked| match row.set {
        "nq" if row.split == Split::Report => splits.is_kept_by("nq-oracle", &row.question),
        "nq" | "qed" | "squad" => row.split == Split::Validation && row.is_answered(),
        _ => false,
    };
    let rows: Vec<&Asked> = asked.iter().filter(wanted).collect();
    let search = Search::new(data.corpus().chain(asked.iter().map(|a| a.passage.clone())))?;
    let mut answers: HashMap<Option<QuestionType>, Vec<&String>> = HashMap::new();
    for row in asked.iter().filter(|row| row.split == Split::Train) {
        answers.entry(row.given.kind()).or_default().extend(row.given.texts().first());
    }
    let queries: Vec<String> = rows.iter().map(|row| row.question.clone()).collect();
    let found = search.all(&queries, POOL + 1)?;
    let mut out = Drafts { validation: Vec::new(), report: Vec::new() };
    for (row, found) in rows.into_iter().zip(&found) {
        let mut random = row_random(seed, &format!("draft\u{1f}{}", row.question));
        let passages = pool(row, found, &mut random);
        let Some(made) = draft_row(row.set, &row.question, &row.given, passages, None, &mut random) else {
            continue;
        };
        if row.split == Split::Report {
            out.report.push(made);
        } else {
            let elsewhere = answers.get(&row.given.kind()).map(Vec::as_slice).unwrap_or_default();
            out.validation.push(varied(made, row, elsewhere, &mut random));
        }
    }
    let planted: HashMap<&str, &str> =
        data.hotpotqa_wrong.iter().map(|w| (w.id.as_str(), w.answer.as_str())).collect();
    for row in &data.hotpotqa_adversarial {
        if splits.of_key(&Key::of(&row.question)) == Split::Report {
            out.report.extend(adversarial(row, planted.get(row.id.as_str()).copied(), seed));
        }
    }
    Ok(out)
}

/// Some wrong drafts of a row to fit on are answers that no passage gives, and some right ones are tested where no passage
/// gives them: a gate that never saw such would take "the draft stands somewhere" for a law.
fn varied(mut made: DraftRow, row: &Asked, elsewhere: &[&String], random: &mut Random) -> DraftRow {
    let right = made.answers.contains(&made.draft);
    if right && random.unit() < 0.25 {
        made.passages.retain(|p| !row.given.said_in(&p.text));
    } else if !right && random.unit() < 0.4 {
        let stated = |answer: &str| made.passages.iter().any(|p| squad(&p.text).contains(&squad(answer)));
        let drawn = (0..20).filter_map(|_| pick(random, elsewhere));
        if let Some(other) = drawn.filter(|a| row.given.differs(a) && !stated(a)).take(1).next() {
            made.draft = (*other).clone();
        }
    }
    made
}

/// The row's own passage among those that are found for the question, in an order by chance.
fn pool(row: &Asked, found: &[Arc<Passage>], random: &mut Random) -> Vec<DraftPassage> {
    let own = DraftPassage { title: row.passage.title.clone(), text: row.passage.text.clone() };
    let others = found.iter().filter(|p| p.text != own.text);
    let others = others.take(POOL - 1).map(|p| DraftPassage { title: p.title.clone(), text: p.text.clone() });
    let mut passages: Vec<DraftPassage> = others.chain([own.clone()]).collect();
    random.shuffle(&mut passages);
    passages
}

fn adversarial(row: &HotpotAdversarial, planted: Option<&str>, seed: u64) -> Option<DraftRow> {
    let given = Golds::new(&row.question, [row.answer.clone()]);
    let passages: Vec<DraftPassage> = row
        .paragraphs
        .iter()
        .map(|p| DraftPassage { title: p.evidence.title.clone(), text: p.evidence.text.clone() })
        .collect();
    let mut random = row_random(seed, &format!("draft\u{1f}{}", row.question));
    let said = |answer: &&str| {
        given.differs(answer) && passages.iter().any(|p| squad(&p.text).contains(&squad(answer)))
    };
    let planted = planted.filter(said).map(str::to_owned);
    draft_row("hotpotqa-adversarial", &row.question, &given, passages, planted, &mut random)
}

fn draft_row(
    set: &str,
    question: &str,
    given: &Golds,
    passages: Vec<DraftPassage>,
    planted: Option<String>,
    random: &mut Random,
) -> Option<DraftRow> {
    let right = pick(random, given.texts())?.clone();
    let wrong = match planted {
        Some(wrong) => wrong,
        None => {
            let others: Vec<String> =
                passages.iter().flat_map(|p| given.others_in(&p.text, question)).collect();
            pick(random, &others)?.clone()
        }
    };
    let draft = if random.unit() < 0.5 { right } else { wrong };
    Some(DraftRow {
        set: set.to_owned(),
        question: question.to_owned(),
        draft,
        answers: given.texts().to_vec(),
        passages,
    })
}
