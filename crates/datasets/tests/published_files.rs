//! The readers over the published files, where they are at hand: how many rows each file holds, that none is lost, and
//! that what is kept for reports is large enough to report.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use counterproof_datasets::collection::SplitShares;
use counterproof_datasets::questions::{
    DocumentKind, MultiSpanQuestion, QampariKind, QampariQuestion, RamDocsQuestion,
};
use counterproof_datasets::read::{Row, read};
use counterproof_datasets::{Collection, Key, Split, Splits};

fn data() -> Option<PathBuf> {
    let root = std::env::var_os("COUNTERPROOF_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    if !root.join("data").is_dir() {
        println!("skipped: needs the shared data");
        return None;
    }
    Some(root.join("data"))
}

/// The rows of one file.
fn rows<R: Row>(file: &str) -> Option<Vec<R>> {
    let path = data()?.join(file);
    if !path.is_file() {
        println!("skipped: needs {file}");
        return None;
    }
    Some(read(path).unwrap().rows)
}

fn collection() -> Option<Collection> {
    Some(Collection::read(data()?).unwrap())
}

#[test]
fn every_row_is_read() {
    let Some(all) = collection() else { return };
    for source in &all.sources {
        println!("{source}");
    }
    for bad in all.bad.iter().take(20) {
        println!("{bad}");
    }
    let rows: HashMap<String, (usize, usize)> =
        all.sources.iter().map(|s| (s.file.display().to_string(), (s.rows, s.bad))).collect();
    for (file, count) in [
        ("train/nli_pairs.jsonl.gz", 61_327),
        ("train/qa_spans_en.jsonl.gz", 21_053),
        ("train/qa_spans_zh.jsonl.gz", 12_419),
        ("fever/paper_test_with_evidence.jsonl", 9_999),
        ("fever_symmetric/v0.1_full.jsonl", 956),
        ("fever_symmetric/v0.2_dev.jsonl", 708),
        ("sufficient_facts/fever.jsonl", 1_200),
        ("sufficient_facts/hover.jsonl", 1_200),
        ("vitaminc/sample_400.jsonl", 400),
        ("fm2/dev.jsonl", 1_169),
        ("feverous/dev_with_evidence.json", 1_481),
        ("climate_fever/climate_fever.jsonl", 768),
        ("wice/oracle_chunks_claim_dev.jsonl", 1_043),
        ("nli_small/mnli.jsonl", 400),
        ("nli_small/rte.jsonl", 300),
        ("nq_open/NQ-open.dev.jsonl", 3_610),
        ("nq_open/oracle_passages.jsonl", 1_328),
        ("hotpotqa/train_100_distractor.json", 100),
        ("hotpotqa/adversarial_with_paragraphs.json", 154),
        ("hotpotqa/adversarial_wrong_answers.jsonl", 637),
        ("ramdocs/ramdocs.jsonl", 250),
        ("multispanqa/valid.json", 327),
        ("conflictnq/val.jsonl", 225),
        ("qampari/dev.json", 500),
        ("wiki_passages/passages.jsonl.gz", 65_469),
    ] {
        let Some((good, bad)) = rows.get(file) else {
            println!("skipped: needs {file}");
            continue;
        };
        assert_eq!(good + bad, count, "{file}");
        assert!(*bad * 1000 <= count, "{file}: {bad} rows could not be read");
    }
}

#[test]
fn what_is_kept_for_reports_is_large_enough_and_trained_on_nowhere() {
    let Some(all) = collection() else { return };
    let splits = all.splits(&SplitShares::default());
    let mut sizes: Vec<(&str, [usize; 3])> = Vec::new();
    let mut count = |name: &'static str, texts: Vec<&str>| {
        let mut sides = [0; 3];
        for text in texts {
            sides[match splits.of(text) {
                Split::Train => 0,
                Split::Validation => 1,
                Split::Report => 2,
            }] += 1;
        }
        println!("{name}: train {}, validation {}, report {}", sides[0], sides[1], sides[2]);
        sizes.push((name, sides));
    };
    count("fever", all.fever.iter().map(|r| r.claim.as_str()).collect());
    count("symmetric 0.1", all.symmetric_v01.iter().map(|r| r.claim.as_str()).collect());
    count("symmetric 0.2", all.symmetric_v02.iter().map(|r| r.claim.as_str()).collect());
    count("sufficient fever", all.sufficient_fever.iter().map(|r| r.claim.as_str()).collect());
    count("sufficient hover", all.sufficient_hover.iter().map(|r| r.claim.as_str()).collect());
    count("vitaminc", all.vitaminc.iter().map(|r| r.claim.as_str()).collect());
    count("fm2", all.fm2.iter().map(|r| r.claim.as_str()).collect());
    count("feverous", all.feverous.iter().map(|r| r.claim.as_str()).collect());
    count("climate", all.climate_fever.iter().map(|r| r.claim.as_str()).collect());
    count("wice", all.wice.iter().map(|r| r.claim.as_str()).collect());
    count("nq oracle", all.nq_oracle.iter().map(|r| r.question.as_str()).collect());
    count("hotpot", all.hotpotqa.iter().map(|r| r.question.as_str()).collect());
    count("hotpot adversarial", all.hotpotqa_adversarial.iter().map(|r| r.question.as_str()).collect());
    count("ramdocs", all.ramdocs.iter().map(|r| r.question.as_str()).collect());
    count("multispanqa", all.multispanqa.iter().map(|r| r.question.as_str()).collect());
    count("conflictnq", all.conflictnq.iter().map(|r| r.question.as_str()).collect());
    count("qampari", all.qampari.iter().map(|r| r.question.as_str()).collect());
    count("pool pairs", all.nli_pairs.iter().map(|r| r.hypothesis.as_str()).collect());
    count("pool spans", all.spans_en.iter().map(|r| r.question.as_str()).collect());
    for (name, sides) in sizes {
        let whole = ["symmetric 0.1", "hotpot", "pool pairs", "pool spans"].contains(&name);
        assert!(whole || sides.iter().sum::<usize>() == 0 || sides[2] >= 150, "{name}: {sides:?}");
    }
    // Some claims stand in FEVER more than once.
    let kept: HashSet<Key> = all
        .fever
        .iter()
        .filter(|r| splits.is_kept_by("fever", &r.claim))
        .map(|r| Key::of(&r.claim))
        .collect();
    assert!(all.fever.is_empty() || kept.len() == 1000, "{}", kept.len());
    qampari_moves_no_row_of_another_set(&all, &splits);
}

/// Every claim and question of the sets that training reads.
fn trained_on(all: &Collection) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    texts.extend(all.nli_pairs.iter().map(|r| r.hypothesis.as_str()));
    texts.extend(all.mnli.iter().map(|r| r.hypothesis.as_str()));
    texts.extend(all.rte.iter().map(|r| r.0.hypothesis.as_str()));
    texts.extend(all.spans_en.iter().chain(&all.spans_zh).map(|r| r.question.as_str()));
    texts.extend(all.fever.iter().map(|r| r.claim.as_str()));
    texts.extend(all.symmetric_v01.iter().chain(&all.symmetric_v02).map(|r| r.claim.as_str()));
    texts.extend(all.sufficient_fever.iter().chain(&all.sufficient_hover).map(|r| r.claim.as_str()));
    texts.extend(all.vitaminc.iter().map(|r| r.claim.as_str()));
    texts.extend(all.fm2.iter().map(|r| r.claim.as_str()));
    texts.extend(all.feverous.iter().map(|r| r.claim.as_str()));
    texts.extend(all.climate_fever.iter().map(|r| r.claim.as_str()));
    texts.extend(all.wice.iter().map(|r| r.claim.as_str()));
    texts.extend(all.nq_open.iter().map(|r| r.question.as_str()));
    texts.extend(all.nq_oracle.iter().map(|r| r.question.as_str()));
    texts.extend(all.hotpotqa.iter().map(|r| r.question.as_str()));
    texts.extend(all.hotpotqa_adversarial.iter().map(|r| r.question.as_str()));
    texts.extend(all.ramdocs.iter().map(|r| r.question.as_str()));
    texts.extend(all.multispanqa.iter().map(|r| r.question.as_str()));
    texts.extend(all.conflictnq.iter().map(|r| r.question.as_str()));
    texts
}

/// QAMPARI came after the models were trained: it is for reports only, and a row of another set would change sides only
/// where it has the key of one of its questions.
fn qampari_moves_no_row_of_another_set(all: &Collection, splits: &Splits) {
    assert!(all.qampari.iter().all(|r| splits.of(&r.question) == Split::Report));
    let keys: HashSet<Key> = all.qampari.iter().map(|r| Key::of(&r.question)).collect();
    let texts = trained_on(all);
    let shared: Vec<&&str> = texts.iter().filter(|t| keys.contains(&Key::of(t))).collect();
    println!("{} claims and questions, {} of them questions of qampari", texts.len(), shared.len());
    assert!(shared.is_empty(), "{shared:?}");
}

#[test]
fn answers_of_qampari_by_kind() {
    let Some(all) = rows::<QampariQuestion>("qampari/dev.json") else { return };
    for kind in QampariKind::ALL {
        let rows: Vec<_> = all.iter().filter(|r| r.kind == kind).collect();
        let answers: usize = rows.iter().map(|r| r.answers.len()).sum();
        let distinct: usize = rows.iter().map(|r| r.distinct_answers().len()).sum();
        println!("{kind}: {} questions, {answers} answers, {distinct} of them distinct", rows.len());
        assert!(rows.len() >= 30, "{kind}");
        assert!(distinct <= answers && rows.len() <= distinct, "{kind}");
    }
}

#[test]
fn recorded_replies_stand_beside_the_rows_they_answer() {
    let Some(plain) = rows::<RamDocsQuestion>("ramdocs/ramdocs.jsonl") else { return };
    let Some(recorded) = rows::<RamDocsQuestion>("ramdocs/recorded_llama-3.3-70b.jsonl") else { return };
    assert_eq!(plain.len(), recorded.len());
    for (row, recorded) in plain.iter().zip(recorded) {
        assert!(recorded.llm_answer.as_ref().is_some_and(|a| !a.trim().is_empty()), "{}", row.question);
        assert_eq!(*row, RamDocsQuestion { llm_answer: None, ..recorded });
    }
    for kind in [DocumentKind::Correct, DocumentKind::Misinfo, DocumentKind::Noise] {
        let documents = plain.iter().flat_map(|r| &r.documents).filter(|d| d.kind == kind).count();
        println!("{kind:?}: {documents} documents");
    }
}

#[test]
fn every_labelled_span_of_multispanqa_stands_in_its_prose() {
    let Some(all) = rows::<MultiSpanQuestion>("multispanqa/valid.json") else { return };
    // The sum of `num_span` in the file.
    assert_eq!(all.iter().map(|r| r.answers().count()).sum::<usize>(), 970);
}
