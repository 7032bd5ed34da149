//! General entailment: the pool and small samples.

use std::collections::HashSet;

use counterproof_datasets::pairs::{NliLabel, NliPair};
use counterproof_datasets::{Collection, Key, Split, Splits};

use super::verifier::Sided;
use crate::examples::{Label, PairExample, Target};

/// Every pair of the pool and the samples, none of which rests on a sentence that is kept for reports.
pub(super) fn all(data: &Collection, splits: &Splits) -> Vec<Sided> {
    let reported = data.reported_sentences(splits);
    let pool = data.nli_pairs.iter().map(|p| (p, format!("pool/{}", p.source)));
    let mnli = data.mnli.iter().map(|p| (p, "mnli".to_owned()));
    let rte = data.rte.iter().map(|p| (&p.0, "rte".to_owned()));
    pool.chain(mnli)
        .chain(rte)
        .filter_map(|(pair, source)| example(pair, source, splits, &reported))
        .collect()
}

fn example(pair: &NliPair, source: String, splits: &Splits, reported: &HashSet<Key>) -> Option<Sided> {
    let claim = Key::of(&pair.hypothesis);
    let premise = Key::of(&pair.premise);
    if splits.of_key(&claim) == Split::Report {
        return None;
    }
    let of_fever = pair.source.starts_with("fever");
    if of_fever && reported.iter().any(|sentence| premise.as_str().contains(sentence.as_str())) {
        return None;
    }
    // In FEVER the claim names a row and its twins; elsewhere several hypotheses are written to one premise.
    let group = if of_fever { claim } else { premise };
    let target = match pair.label {
        NliLabel::Entailment => Target::Is(Label::Entailment),
        NliLabel::Neutral => Target::Is(Label::Neutral),
        NliLabel::Contradiction => Target::Is(Label::Contradiction),
        NliLabel::NotEntailment => Target::NotEntailed,
    };
    let split = splits.of_key(&group);
    let example = PairExample {
        premise: pair.premise.clone(),
        hypothesis: pair.hypothesis.clone(),
        target,
        weight: 1.0,
        group: group.as_str().to_owned(),
        source,
    };
    Some(Sided { example, split })
}
