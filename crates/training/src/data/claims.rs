//! Claims with evidence as pairs.

use std::collections::HashSet;
use std::sync::Arc;

use counterproof_core::Passage;
use counterproof_datasets::claims::{
    ClimateEvidence, Evidence, FeverClaim, SufficientFactsClaim, Verdict, WiceClaim, WiceSupport,
    join_evidence,
};
use counterproof_datasets::{Collection, Key, Split, Splits};

use super::pair;
use super::search::{content_terms, coverage};
use super::verifier::Sided;
use super::windows::best_without;
use crate::examples::{Label, PairExample, Target};
use crate::random::Random;

/// Evidence of the web is cut to this many words around what matters.
const WORDS: usize = 110;

fn label(verdict: Verdict) -> Label {
    match verdict {
        Verdict::Supported => Label::Entailment,
        Verdict::Refuted => Label::Contradiction,
        Verdict::NotEnough => Label::Neutral,
    }
}

/// Collects rows with their sides; a row for training must not rest on a sentence that is kept for reports.
struct Rows<'a> {
    splits: &'a Splits,
    reported: HashSet<Key>,
    out: Vec<Sided>,
}

impl Rows<'_> {
    fn push(&mut self, claim: &str, evidence: &[Evidence], target: Target, weight: f32, source: &str) {
        let group = Key::of(claim);
        let split = self.splits.of_key(&group);
        let premise = join_evidence(evidence);
        if premise.trim().is_empty() {
            return;
        }
        if split != Split::Report && evidence.iter().any(|e| self.reported.contains(&Key::of(&e.text))) {
            return;
        }
        let made = pair(premise, claim, Label::Neutral, &group, source);
        self.out.push(Sided { example: PairExample { target, weight, ..made }, split });
    }
}

/// Every claim with the evidence that its set gives.
pub(super) fn with_given_evidence(data: &Collection, splits: &Splits) -> Vec<Sided> {
    let mut rows = Rows { splits, reported: data.reported_sentences(splits), out: Vec::new() };
    for claim in data.fever.iter().filter(|c| c.verdict != Verdict::NotEnough) {
        if let Some(evidence) = gold(claim) {
            // Claims that another set keeps out are neither trained on nor part of FEVER's figure.
            let source =
                if splits.is_kept_by("fever", &claim.claim) || splits.of(&claim.claim) != Split::Report {
                    "fever/gold"
                } else {
                    continue;
                };
            rows.push(&claim.claim, &evidence, Target::Is(label(claim.verdict)), 1.0, source);
        }
    }
    let first = data.symmetric_v01.iter().map(|p| (p, "fever-symmetric-0.1/gold", false));
    let second = data.symmetric_v02.iter().map(|p| (p, "fever-symmetric/gold", true));
    for (row, source, reports) in first.chain(second) {
        // Version 0.1 is no set of the report: what it shares with version 0.2 is simply left out.
        if reports || splits.of(&row.claim) != Split::Report {
            let evidence = [Evidence { title: String::new(), text: row.evidence.clone() }];
            rows.push(&row.claim, &evidence, Target::Is(label(row.verdict)), 1.0, source);
        }
    }
    for (set, claims) in [
        ("sufficient-facts-fever", &data.sufficient_fever),
        ("sufficient-facts-hover", &data.sufficient_hover),
    ] {
        for row in claims {
            sufficient(&mut rows, set, row);
        }
    }
    for row in &data.fm2 {
        rows.push(&row.claim, &row.gold, Target::Is(label(row.verdict)), 1.0, "fm2/gold");
    }
    for row in &data.feverous {
        rows.push(&row.claim, &row.evidence, Target::Is(label(row.verdict)), 1.0, "feverous/gold");
    }
    for row in &data.climate_fever {
        for sentence in &row.evidence {
            climate(&mut rows, &row.claim, sentence);
        }
    }
    for row in &data.wice {
        wice(&mut rows, row);
    }
    for row in &data.vitaminc {
        let evidence = [Evidence { title: String::new(), text: row.evidence.clone() }];
        rows.push(&row.claim, &evidence, Target::Is(label(row.verdict)), 1.0, "vitaminc/gold");
    }
    rows.out
}

/// The first set of gold sentences.
pub(super) fn gold(claim: &FeverClaim) -> Option<Vec<Evidence>> {
    claim.evidence.first().cloned().or_else(|| (!claim.unsorted.is_empty()).then(|| claim.unsorted.clone()))
}

fn sufficient(rows: &mut Rows<'_>, set: &str, row: &SufficientFactsClaim) {
    rows.push(&row.claim, &row.before, Target::Is(label(row.verdict)), 1.0, &format!("{set}/before"));
    rows.push(&row.claim, &row.after, Target::Is(label(row.verdict_after())), 1.0, &format!("{set}/after"));
}

/// Voters were at odds over half of the sentences: those count half.
fn climate(rows: &mut Rows<'_>, claim: &str, sentence: &ClimateEvidence) {
    let weight = if sentence.is_unanimous() { 1.0 } else { 0.5 };
    let target = Target::Is(label(sentence.verdict));
    rows.push(claim, std::slice::from_ref(&sentence.evidence), target, weight, "climate-fever/sentence");
}

/// What supports a claim of WiCE in part may say nothing of the rest or the opposite, so it is only "not entailed".
fn wice(rows: &mut Rows<'_>, row: &WiceClaim) {
    let target = match row.support {
        WiceSupport::Supported => Target::Is(Label::Entailment),
        WiceSupport::PartiallySupported => Target::NotEntailed,
        WiceSupport::NotSupported => Target::Is(Label::Neutral),
    };
    let first = row.oracle.iter().min().copied().unwrap_or(0).saturating_sub(1);
    let last = row.oracle.iter().max().copied().unwrap_or(row.sentences.len());
    let mut words = 0;
    let mut evidence = Vec::new();
    for (at, sentence) in row.sentences.iter().enumerate().skip(first) {
        let needed = row.oracle.contains(&at) || row.oracle.is_empty();
        let near = at + 1 >= first && at <= last + 1;
        let length = sentence.split_whitespace().count();
        if needed && (words == 0 || words + length <= 2 * WORDS) || near && words + length <= WORDS {
            words += length;
            evidence.push(Evidence { title: String::new(), text: sentence.clone() });
        }
    }
    // A supported claim whose sentences do not fit would be shown without what supports it.
    let complete = row
        .oracle
        .iter()
        .all(|o| row.sentences.get(*o).is_some_and(|s| evidence.iter().any(|e| &e.text == s)));
    if complete || row.support != WiceSupport::Supported {
        rows.push(&row.claim, &evidence, target, 1.0, "wice/chunk");
    }
}

/// Evidence that is about a claim and does not settle it, from `found` passages. With `always`, the best there is even
/// when it is off the topic.
pub(super) fn topical(
    claim: &str,
    gold: &[Evidence],
    found: &[Arc<Passage>],
    most: f64,
    always: bool,
) -> Option<String> {
    let needed = content_terms(claim);
    let own: HashSet<Key> = gold.iter().map(|e| Key::of(&e.text)).collect();
    let titles: HashSet<&str> = gold.iter().map(|e| e.title.as_str()).collect();
    let shown = found.iter().filter(|p| !titles.contains(p.title.as_str())).filter_map(|p| {
        let window = best_without(&p.text, &needed, |t| {
            t.split_whitespace().count() >= 5 && !own.contains(&Key::of(t))
        })?;
        let text = p.text.get(window)?.trim().to_owned();
        let premise = Evidence { title: p.title.clone(), text }.with_title();
        Some((coverage(&needed, &premise), premise))
    });
    let shown: Vec<(f64, String)> = shown.collect();
    let fitting = shown.iter().find(|(covered, _)| (0.25..=most).contains(covered));
    // Where none fits, the one that comes nearest to it.
    let distance = |covered: f64| if covered < 0.25 { 0.25 - covered } else { covered - most };
    let any = || shown.iter().filter(|_| always).min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)));
    fitting.or_else(any).map(|(_, premise)| premise.clone())
}

/// Rows of FEVER with retrieved evidence: claims without a verdict, and decisive claims over something else.
pub(super) fn with_retrieved_evidence(
    claim: &FeverClaim,
    found: &[Arc<Passage>],
    splits: &Splits,
    random: &mut Random,
) -> Vec<Sided> {
    let group = Key::of(&claim.claim);
    let split = splits.of_key(&group);
    let kept = splits.is_kept_by("fever", &claim.claim);
    if split == Split::Report && !kept {
        return Vec::new();
    }
    if claim.verdict == Verdict::NotEnough {
        let premise = topical(&claim.claim, &[], found, 0.67, kept);
        return premise
            .map(|p| Sided {
                example: pair(p, &claim.claim, Label::Neutral, &group, "fever/retrieved"),
                split,
            })
            .into_iter()
            .collect();
    }
    // A third of the decisive claims, so that a claim itself does not tell its class.
    if split == Split::Report || random.unit() > 0.34 {
        return Vec::new();
    }
    let gold = claim.evidence.iter().flatten().cloned().collect::<Vec<_>>();
    let premise = topical(&claim.claim, &gold, found, 0.6, false);
    premise
        .map(|p| Sided { example: pair(p, &claim.claim, Label::Neutral, &group, "fever/unrelated"), split })
        .into_iter()
        .collect()
}

/// Sentences of the page that a Fool Me Twice claim is about, other than those that settle it and with few of its
/// words: neutral.
pub(super) fn beside_gold(
    data: &Collection,
    splits: &Splits,
    mut random: impl FnMut(&str) -> Random,
) -> Vec<Sided> {
    let mut out = Vec::new();
    for row in &data.fm2 {
        let group = Key::of(&row.claim);
        let split = splits.of_key(&group);
        let mut random = random(group.as_str());
        if split == Split::Report || random.unit() > 0.5 {
            continue;
        }
        let needed = content_terms(&row.claim);
        let free: Vec<&Evidence> = row
            .retrieved
            .iter()
            .filter(|e| {
                !row.gold.iter().any(|g| g.text == e.text)
                    && (0.1..=0.4).contains(&coverage(&needed, &e.text))
            })
            .collect();
        if let Some(evidence) = super::pick(&mut random, &free) {
            let example = pair(evidence.with_title(), &row.claim, Label::Neutral, &group, "fm2/beside-gold");
            out.push(Sided { example: PairExample { weight: 0.7, ..example }, split });
        }
    }
    out
}
