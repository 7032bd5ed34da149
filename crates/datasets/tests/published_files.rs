//! The readers over the published files, where they are at hand: how many rows each file holds, that none is lost, and
//! that what is kept for reports is large enough to report.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use counterproof_datasets::collection::SplitShares;
use counterproof_datasets::{Collection, Key, Split};

fn collection() -> Option<Collection> {
    let root = std::env::var_os("COUNTERPROOF_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    if !root.join("data").is_dir() {
        println!("skipped: needs the shared data");
        return None;
    }
    Some(Collection::read(root.join("data")).unwrap())
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
}
