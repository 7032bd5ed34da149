//! Examples for the verifier: general pairs, claims, questions with answers, and twins, in parts that a recipe can order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use counterproof_core::{Passage, QuestionType, Result};
use counterproof_datasets::collection::SplitShares;
use counterproof_datasets::{Collection, Key, Split, Splits};
use counterproof_text::mention::mentions;
use counterproof_text::statement::{parts, statement};
use rayon::prelude::*;

pub use super::question_pairs::QuestionRows;
use super::question_pairs::{self, Found};
use super::questions::{self, Asked};
use super::search::Search;
use super::twins::{self, Names, TwinKind};
use super::{claims, general, pick, row_random};
use crate::examples::{Label, PairExample, Target};

/// How the examples are made.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifierOptions {
    /// Where chance decides, this decides it: the same seed and data give the same examples.
    pub seed: u64,
    /// What is kept for reports.
    pub shares: SplitShares,
    /// Rows of each kind for a question of the training part.
    pub questions: QuestionRows,
    /// Twins as a share of all training examples. More than about a twelfth makes a verifier refute everything.
    pub twins: f64,
}

impl Default for VerifierOptions {
    fn default() -> Self {
        Self { seed: 1, shares: SplitShares::default(), questions: QuestionRows::default(), twins: 0.08 }
    }
}

/// Examples with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name: `general`, `claims`, `questions` or `twins` for training; the set for reports.
    pub name: &'static str,
    /// The examples, in an order that depends on the seed only.
    pub examples: Vec<PairExample>,
}

impl Part {
    /// How many examples it has by source, then entailed, neutral, contradicted and not entailed.
    pub fn counts(&self) -> BTreeMap<&str, [usize; 4]> {
        let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        for example in &self.examples {
            let [entailed, neutral, contradicted, not_entailed] =
                counts.entry(example.source.as_str()).or_default();
            let count = match example.target {
                Target::Is(Label::Entailment) => entailed,
                Target::Is(Label::Neutral) => neutral,
                Target::Is(Label::Contradiction) => contradicted,
                Target::NotEntailed => not_entailed,
            };
            *count += 1;
        }
        counts
    }
}

/// Everything the verifier is trained and judged on.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifierData {
    /// Training, in parts: `general`, `claims`, `questions`, `twins`.
    pub train: Vec<Part>,
    /// Validation, in the same parts.
    pub validation: Vec<Part>,
    /// What figures are reported on, a part a set; `questions` and `twins` are made from what the sets keep out.
    pub report: Vec<Part>,
}

/// An example with its side.
#[derive(Debug, Clone)]
pub(super) struct Sided {
    pub(super) example: PairExample,
    pub(super) split: Split,
}

/// Makes the examples.
///
/// # Errors
/// When the passages cannot be indexed.
pub fn build(data: &Collection, options: &VerifierOptions) -> Result<VerifierData> {
    let splits = data.splits(&options.shares);
    let general = general::all(data, &splits);
    let asked = questions::all(data, &splits);
    let search = Search::new(data.corpus().chain(asked.iter().map(|a| a.passage.clone())))?;
    let claims = claim_rows(data, &splits, &search, options)?;
    let questions = question_rows(&asked, &search, options)?;
    let names = Names { persons: persons(data) };
    let twins = twin_rows(&general, &claims, &questions, &names, options);
    Ok(sort(
        vec![("general", general), ("claims", claims), ("questions", questions), ("twins", twins)],
        options.seed,
    ))
}

fn claim_rows(
    data: &Collection,
    splits: &Splits,
    search: &Search,
    options: &VerifierOptions,
) -> Result<Vec<Sided>> {
    let mut rows = claims::with_given_evidence(data, splits);
    rows.extend(claims::beside_gold(data, splits, |row| row_random(options.seed, row)));
    let queries: Vec<String> = data.fever.iter().map(|c| c.claim.clone()).collect();
    let work: Vec<_> = data.fever.iter().zip(search.all(&queries, 12)?).collect();
    rows.par_extend(work.into_par_iter().flat_map_iter(|(claim, found)| {
        let mut random = row_random(options.seed, &claim.claim);
        claims::with_retrieved_evidence(claim, &found, splits, &mut random)
    }));
    Ok(rows)
}

fn question_rows(asked: &[Asked], search: &Search, options: &VerifierOptions) -> Result<Vec<Sided>> {
    // Answers by kind, to borrow wrong ones from.
    let mut answers: HashMap<Option<QuestionType>, Vec<String>> = HashMap::new();
    for row in asked.iter().filter(|a| a.split == Split::Train) {
        if let Some(answer) = row.given.texts().first() {
            answers.entry(row.given.kind()).or_default().push(answer.clone());
        }
    }
    let queries: Vec<String> = asked.iter().map(|a| a.question.clone()).collect();
    let topical = search.all(&queries, 8)?;
    let about: Vec<String> =
        asked.iter().map(|a| a.given.texts().first().cloned().unwrap_or_default()).collect();
    let mentioning = search.all(&about, 16)?;
    // Other passages that were given with a question may well answer it.
    let mut own: HashMap<&Key, HashSet<&str>> = HashMap::new();
    for row in asked {
        own.entry(&row.group).or_default().insert(&row.passage.text);
    }
    let report = QuestionRows::report();
    let work: Vec<_> = asked.iter().zip(topical).zip(mentioning).collect();
    let made = work.into_par_iter().flat_map_iter(|((row, topical), mentioning)| {
        let name = format!("{}\u{1f}{}", row.question, row.passage.text);
        let mut random = row_random(options.seed, &name);
        let pool = answers.get(&row.given.kind()).map(Vec::as_slice).unwrap_or_default();
        let from = random.below(pool.len().saturating_sub(40));
        let elsewhere = pool.get(from..pool.len().min(from + 40)).unwrap_or_default();
        let own = own.get(&row.group);
        let other = |p: &&Passage| own.is_none_or(|texts| !texts.contains(p.text.as_str()));
        let topical: Vec<&Passage> = topical.iter().map(Arc::as_ref).filter(other).collect();
        let mentioning: Vec<&Passage> = mentioning.iter().map(Arc::as_ref).filter(other).collect();
        let found = Found { topical, mentioning, elsewhere };
        let counts = if row.split == Split::Report { &report } else { &options.questions };
        let rows = question_pairs::rows(row, &found, counts, &mut random);
        rows.into_iter().map(|example| Sided { example, split: row.split })
    });
    Ok(made.collect())
}

/// Full names of persons in the corpus, each once, in order. A first word that goes with several last words is taken for
/// a given name.
fn persons(data: &Collection) -> Vec<String> {
    const ENOUGH: usize = 3000;
    let found: Vec<Vec<String>> = data
        .passages
        .par_iter()
        .step_by(4)
        .map(|passage| {
            let names = mentions(&passage.0.text, QuestionType::Who).into_iter().map(|m| m.text);
            let part = |w: &str| w.len() > 2 && w.chars().skip(1).all(char::is_lowercase);
            names.filter(|n| n.split(' ').count() == 2 && n.split(' ').all(part)).collect()
        })
        .collect();
    let mut seen = HashSet::new();
    let names: Vec<String> = found.into_iter().flatten().filter(|n| seen.insert(n.clone())).collect();
    let mut given: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *given.entry(first_word(name).to_owned()).or_default() += 1;
    }
    names.into_iter().filter(|n| given.get(first_word(n)).is_some_and(|c| *c >= 4)).take(ENOUGH).collect()
}

fn first_word(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// Twins of entailed and refuted pairs, each with its source beside it, and some of them over evidence that has nothing
/// to do with them.
fn twin_rows(
    general: &[Sided],
    claims: &[Sided],
    questions: &[Sided],
    names: &Names,
    options: &VerifierOptions,
) -> Vec<Sided> {
    let of_fever = general.iter().filter(|r| r.example.source == "pool/fever_dev_gold");
    let gold = questions.iter().filter(|r| r.example.source.ends_with("/gold"));
    let sources: Vec<&Sided> = of_fever
        .chain(claims.iter().filter(|r| is_plain_claim(&r.example)))
        .chain(gold)
        .filter(|r| r.example.premise.split_whitespace().count() <= 120)
        .collect();
    let neutral: Vec<&Sided> = claims
        .iter()
        .filter(|r| r.split == Split::Train && r.example.target == Target::Is(Label::Neutral))
        .collect();
    let families = sources.into_par_iter().filter_map(|source| family(source, &neutral, names, options.seed));
    let mut made: Vec<(f32, Vec<Sided>)> = families.collect();
    // As many as the share allows, in an order by chance.
    made.sort_by(|a, b| a.0.total_cmp(&b.0));
    let others = [general, claims, questions]
        .iter()
        .map(|rows| rows.iter().filter(|r| r.split == Split::Train).count())
        .sum::<usize>();
    let most = (others as f64 * options.twins / (1.0 - options.twins)) as usize;
    let mut out = Vec::new();
    let mut trained = 0;
    for (_, rows) in made {
        let train = rows.first().is_some_and(|r| r.split == Split::Train);
        if train && trained >= most {
            continue;
        }
        trained += if train { rows.len() - 1 } else { 0 };
        out.extend(rows);
    }
    out
}

/// A pair with its twins, in an order by chance; `None` where no rule applies.
fn family(source: &Sided, neutral: &[&Sided], names: &Names, seed: u64) -> Option<(f32, Vec<Sided>)> {
    let pair = &source.example;
    let mut random = row_random(seed ^ TWIN_STREAM, &format!("{}\u{1f}{}", pair.hypothesis, pair.premise));
    let order = random.unit();
    let mut rows = vec![PairExample { source: "twin/source".into(), ..pair.clone() }];
    let twins = twins_of(pair, names, &mut random);
    let first = twins.first()?;
    // One twin in six is judged by evidence for something else.
    if random.unit() < 0.17
        && let Some(other) = pick(&mut random, neutral)
    {
        rows.push(PairExample {
            premise: other.example.premise.clone(),
            target: Target::Is(Label::Neutral),
            source: "twin/unrelated".into(),
            ..first.clone()
        });
    }
    rows.extend(twins);
    Some((order, rows.into_iter().map(|example| Sided { example, split: source.split }).collect()))
}

/// Sets the chance of twins apart from that of the pairs they are made of.
const TWIN_STREAM: u64 = 0x7477_696e;

/// Claims whose evidence is whole and was written for them; half-sentences and disputed votes make no sound twins.
fn is_plain_claim(example: &PairExample) -> bool {
    let plain = [
        "fever/gold",
        "fever-symmetric-0.1/gold",
        "fever-symmetric/gold",
        "feverous/gold",
        "vitaminc/gold",
        "fm2/gold",
    ];
    plain.contains(&example.source.as_str())
}

/// At most two twins of a pair: one with the statement changed and one with the evidence changed, of the rarest kind
/// that the pair allows.
fn twins_of(source: &PairExample, names: &Names, random: &mut crate::random::Random) -> Vec<PairExample> {
    let with = |premise: String, hypothesis: String, label: Label, kind: TwinKind, side: &str| PairExample {
        premise,
        hypothesis,
        target: Target::Is(label),
        source: format!("twin/{}-{side}", kind.as_str()),
        ..source.clone()
    };
    let mut out = Vec::new();
    match source.target {
        Target::Is(Label::Entailment) => {
            // Of a question with its answer only the answer is changed: a question that asks about another year is
            // not answered at all.
            let answer = parts(&source.hypothesis).map(|p| p.answer.to_owned());
            let claimed = answer.as_deref().unwrap_or(&source.hypothesis);
            let mut made = twins::changes(claimed, &source.premise, names, random);
            random.shuffle(&mut made);
            made.sort_by_key(|c| std::cmp::Reverse(c.kind));
            let denied = twins::negated(&source.hypothesis)
                .filter(|_| (made.is_empty() || random.unit() < 0.3) && random.unit() < 0.4);
            if let Some(denied) = denied {
                out.push(with(
                    source.premise.clone(),
                    denied,
                    Label::Contradiction,
                    TwinKind::Negation,
                    "statement",
                ));
            } else if let Some(change) =
                made.iter().find(|c| answer.is_none() || c.span.len() * 5 >= claimed.len() * 2)
                && let Some(text) = change.apply(claimed)
            {
                let text = match (&answer, parts(&source.hypothesis)) {
                    (Some(_), Some(asked)) => statement(asked.question, &text),
                    _ => text,
                };
                out.push(with(source.premise.clone(), text, Label::Contradiction, change.kind, "statement"));
            }
            let mut made = twins::changes(&source.premise, claimed, names, random);
            random.shuffle(&mut made);
            let changed =
                made.iter().find_map(|c| Some((c.kind, twins::contradicting(c, &source.premise, claimed)?)));
            if let Some((kind, text)) = changed {
                out.push(with(text, source.hypothesis.clone(), Label::Contradiction, kind, "evidence"));
            }
        }
        // What is refuted is true when it is denied: so that "not" alone does not mean "refuted".
        Target::Is(Label::Contradiction) if !source.source.starts_with("fm2") => {
            let turned = twins::affirmed(&source.hypothesis).or_else(|| twins::negated(&source.hypothesis));
            if let Some(text) = turned.filter(|_| random.unit() < 0.25) {
                out.push(with(
                    source.premise.clone(),
                    text,
                    Label::Entailment,
                    TwinKind::Negation,
                    "statement",
                ));
            }
        }
        _ => {}
    }
    out
}

/// Deals the rows out to the sides.
fn sort(parts: Vec<(&'static str, Vec<Sided>)>, seed: u64) -> VerifierData {
    let mut data = VerifierData { train: Vec::new(), validation: Vec::new(), report: Vec::new() };
    let mut report: BTreeMap<&'static str, Vec<PairExample>> = BTreeMap::new();
    for (name, rows) in parts {
        let mut train = Vec::new();
        let mut validation = Vec::new();
        let mut seen: HashSet<(String, String)> = HashSet::new();
        for Sided { example, split } in rows {
            if !seen.insert((example.premise.clone(), example.hypothesis.clone())) {
                continue;
            }
            match split {
                Split::Train => train.push(example),
                Split::Validation => validation.push(example),
                Split::Report => {
                    let Some(set) = report_set(name, &example.source) else { continue };
                    let rows = report.entry(set).or_default();
                    // Some claims stand in FEVER more than once, with other evidence; its figure counts claims.
                    if set != "fever" || rows.iter().all(|r| r.group != example.group) {
                        rows.push(example);
                    }
                }
            }
        }
        row_random(seed, name).shuffle(&mut train);
        row_random(seed, name).shuffle(&mut validation);
        data.train.push(Part { name, examples: train });
        data.validation.push(Part { name, examples: validation });
    }
    data.report = report.into_iter().map(|(name, examples)| Part { name, examples }).collect();
    data
}

/// The set of the report that a row belongs to.
fn report_set(part: &'static str, source: &str) -> Option<&'static str> {
    match part {
        // What is known of the pool is that it is no benchmark.
        "general" => None,
        "claims" => match source.split('/').next()? {
            "fever" => Some("fever"),
            "fever-symmetric" => Some("fever-symmetric"),
            "sufficient-facts-fever" => Some("sufficient-facts-fever"),
            "sufficient-facts-hover" => Some("sufficient-facts-hover"),
            "fm2" => Some("fm2"),
            "feverous" => Some("feverous"),
            "climate-fever" => Some("climate-fever"),
            "wice" => Some("wice"),
            "vitaminc" => Some("vitaminc"),
            _ => None,
        },
        // With their sources, so that calling everything refuted does not look good.
        "twins" => Some("twins"),
        _ => Some("questions"),
    }
}
