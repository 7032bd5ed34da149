//! The verifier and the reader on tiny random models: what they promise whatever the weights are.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use counterproof_core::{Entailment, Probability, SpanReader};
use counterproof_encoders::adapter::{Adapter, AdapterKind, Calibration, FORMAT, Metadata, Tensor};
use counterproof_encoders::parts::file_sha256;
use counterproof_encoders::{BertReader, BertVerifier, DenseLayer, EncoderOptions, Fusion, RulesModel};
use counterproof_text::conflict::FEATURES;
use support::{SMALL, Shape, Tensors, random, tensors, write};
use tempfile::TempDir;

const RANK: usize = 3;
const LONG: Shape = Shape { positions: 160, ..SMALL };

fn base() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), LONG, &tensors(LONG, ""), "gelu");
    dir
}

/// A random adapter for the folder.
fn adapter(base: &Path, kind: AdapterKind) -> Adapter {
    let hidden = LONG.hidden;
    let mut state = 77;
    let mut tensor =
        |shape: &[usize]| Tensor { shape: shape.to_vec(), data: random(shape.iter().product(), &mut state) };
    let mut list = BTreeMap::new();
    list.insert("encoder.layer.0.intermediate.dense.lora_A".to_owned(), tensor(&[RANK, hidden]));
    list.insert("encoder.layer.0.intermediate.dense.lora_B".to_owned(), tensor(&[LONG.inner, RANK]));
    list.insert("encoder.layer.1.output.LayerNorm.bias".to_owned(), tensor(&[hidden]));
    let layers = match kind {
        AdapterKind::Verifier => vec![("dense", 2 * hidden, hidden), ("output", hidden, 3)],
        AdapterKind::Reader => vec![("bounds", hidden, 2), ("none", hidden, 1)],
    };
    for (name, inputs, outputs) in layers {
        list.insert(format!("head.{name}.weight"), tensor(&[outputs, inputs]));
        list.insert(format!("head.{name}.bias"), tensor(&[outputs]));
    }
    let metadata = Metadata {
        format: FORMAT,
        kind,
        base_sha256: file_sha256(&base.join("model.safetensors")).unwrap(),
        rank: RANK,
        alpha: 6.0,
        template: "evidence, statement".to_owned(),
        max_tokens: 90,
        labels: ["entailment", "neutral", "contradiction"].map(str::to_owned).to_vec(),
        calibration: Calibration { temperature: 2.0, offsets: [0.1, 0.0, -0.2], fusion: None },
        languages: Vec::new(),
        training: serde_json::json!({"seed": 1}),
    };
    Adapter::new(metadata, list)
}

fn options() -> EncoderOptions {
    EncoderOptions { name: Some("tiny".to_owned()), threads: Some(2), ..EncoderOptions::default() }
}

fn verifier(base: &Path) -> BertVerifier {
    BertVerifier::with_adapter(base, &adapter(base, AdapterKind::Verifier), &options()).unwrap()
}

#[tokio::test]
async fn probabilities_are_the_calibrated_logits_and_do_not_depend_on_the_pairs_beside_them() {
    let base = base();
    let verifier = verifier(base.path());
    let pairs: Vec<(&str, &str)> = vec![
        ("the observatory opened in 1889", "it opened late"),
        ("when did the observatory opened", "the observatory"),
        ("the observatory opened in 1889", "it opened late"),
        ("late", "opened in 1889"),
    ];
    let judged = verifier.judgements(&pairs).await.unwrap();
    assert_eq!(judged, verifier.judge_blocking(&pairs).unwrap());
    assert_eq!(judged[0], judged[2]);
    for (pair, judged) in pairs.iter().zip(&judged) {
        let alone = verifier.judgements(&[*pair]).await.unwrap();
        for (a, b) in alone[0].logits.iter().zip(judged.logits) {
            assert!((a - b).abs() < 1e-5);
        }
        let due = verifier.calibration().probabilities(judged.logits);
        let sum = judged.nli.entail.get() + judged.nli.neutral.get() + judged.nli.contradict.get();
        assert!((judged.nli.entail.get() - due[0]).abs() < 1e-9 && (sum - 1.0).abs() < 1e-9);
        let [e, _, c] = judged.logits.map(f64::from);
        let odds = (judged.nli.entail.get() / judged.nli.contradict.get()).ln();
        assert!((odds - (e + 0.1 - c + 0.2) / 2.0).abs() < 1e-5);
    }
    let nli = verifier.judge(&pairs).await.unwrap();
    assert_eq!(nli[1], judged[1].nli);
    assert!(verifier.judge(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn blank_evidence_settles_nothing_and_a_blank_statement_is_an_error() {
    let base = base();
    let verifier = verifier(base.path());
    let judged = verifier.judgements(&[(" \n", "it opened"), ("it opened", "late")]).await.unwrap();
    assert_eq!((judged[0].nli.neutral, judged[0].windows), (Probability::ONE, 0));
    assert_eq!(judged[1].windows, 1);
    let error = verifier.judge(&[("it opened", "\t ")]).await.unwrap_err();
    assert_eq!(error.code(), "empty_input");
}

#[tokio::test]
async fn long_evidence_is_read_in_windows_that_each_see_the_whole_statement() {
    let base = base();
    let verifier = verifier(base.path());
    let sentence = "the observatory opened in 1889 when late did the late in the opened. ";
    let page = sentence.repeat(700);
    assert!(page.len() > 48_000);
    let judged = verifier.judgements(&[(&page, "opened in 1889")]).await.unwrap();
    assert!(judged[0].windows > 50, "{}", judged[0].windows);

    // Two windows, joined by hand.
    let (first, second) =
        ("opened in late the ".repeat(18) + "did.", "When did the 1889 ".repeat(18) + "late.");
    let both = format!("{first} {second}");
    let statement = "the observatory";
    let joined = verifier.judgements(&[(&both, statement)]).await.unwrap();
    let apart = verifier.judgements(&[(&first, statement), (&second, statement)]).await.unwrap();
    assert_eq!((joined[0].windows, apart[0].windows, apart[1].windows), (2, 1, 1));
    let log_p = |logits: [f32; 3]| {
        let sum = logits.iter().map(|x| x.exp()).sum::<f32>().ln();
        logits.map(|x| x - sum)
    };
    let (a, b) = (log_p(apart[0].logits), log_p(apart[1].logits));
    let due = [a[0].max(b[0]), a[1].min(b[1]), a[2].max(b[2])];
    for (x, due) in joined[0].logits.iter().zip(due) {
        assert!((x - due).abs() < 1e-4, "{:?} {due}", joined[0].logits);
    }

    let error = verifier.judge(&[("it opened", &"the ".repeat(170))]).await.unwrap_err();
    assert_eq!(error.code(), "too_large", "{error}");
    let long_but_whole = "the ".repeat(100);
    assert_eq!(verifier.judgements(&[(&page, &long_but_whole)]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn five_hundred_identical_passages_are_judged_once() {
    let base = base();
    let verifier = verifier(base.path());
    let page = "the observatory opened in 1889. ".repeat(400);
    let pairs = vec![(page.as_str(), "it opened late"); 512];
    let start = std::time::Instant::now();
    let one = verifier.judge(&pairs[..1]).await.unwrap();
    let alone = start.elapsed();
    let start = std::time::Instant::now();
    let judged = verifier.judge(&pairs).await.unwrap();
    assert!(judged.iter().all(|nli| *nli == one[0]) && judged.len() == 512);
    assert!(start.elapsed() < 50 * alone, "{:?} for 512, {alone:?} for one", start.elapsed());
}

#[test]
fn a_word_that_looks_like_a_special_token_is_only_a_word() {
    let base = base();
    let verifier = verifier(base.path());
    let logits = |premise: &str| verifier.logits(&[(premise, "it opened")]).unwrap()[0];
    let (plain, marked) = (logits("the [ sep ] late"), logits("the [SEP] late"));
    assert_eq!(plain, marked);
}

#[test]
fn an_adapter_that_is_damaged_foreign_or_of_another_kind_is_refused_by_name() {
    let base = base();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("verifier.safetensors");
    let good = adapter(base.path(), AdapterKind::Verifier);
    good.save(&path).unwrap();
    let open = || BertVerifier::open(base.path(), &path, &options());
    open().unwrap();
    let reread = Adapter::load(&path).unwrap();
    assert_eq!((&reread.metadata, reread.digest()), (&good.metadata, good.digest()));
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(whole, reread.to_bytes().unwrap());

    let refused = |code: &str, about: &str| {
        let error = open().err().unwrap();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains("verifier.safetensors"), "{error}");
        assert!(error.to_string().contains(about), "{error}");
    };
    // One bit of the numbers.
    let mut flipped = whole.clone();
    let last = flipped.len() - 9;
    flipped[last] ^= 1;
    std::fs::write(&path, &flipped).unwrap();
    refused("damaged", "not those that were written");
    std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    refused("damaged", "safetensors");
    std::fs::write(&path, b"<html>not found</html>").unwrap();
    refused("damaged", "safetensors");
    // A model that is not an adapter.
    std::fs::copy(base.path().join("model.safetensors"), &path).unwrap();
    refused("invalid_input", "not an adapter");
    // A later format.
    let mut later = good.clone();
    later.metadata.format = FORMAT + 1;
    later.save(&path).unwrap();
    refused("invalid_input", "format 2");
    // A reader, and a verifier of another base.
    adapter(base.path(), AdapterKind::Reader).save(&path).unwrap();
    refused("invalid_input", "it is a reader");
    let mut other = good.clone();
    other.metadata.base_sha256 = "0".repeat(64);
    other.save(&path).unwrap();
    refused("invalid_input", "000000000000");
    std::fs::remove_file(&path).unwrap();
    refused("not_found", "counterproof train");
    // The identity tells adapters apart.
    let mut tempered = good.clone();
    tempered.metadata.calibration.temperature = 1.5;
    let identity = |adapter: &Adapter| {
        BertVerifier::with_adapter(base.path(), adapter, &options()).unwrap().identity().to_owned()
    };
    assert_ne!(identity(&good), identity(&tempered));
    let mut ruled = good.clone();
    ruled.metadata.calibration.fusion = Some(fusion("any_value_at_odds", 3.0));
    assert_ne!(identity(&good), identity(&ruled));
    let written = Adapter::from_bytes(&ruled.to_bytes().unwrap(), "ruled").unwrap();
    assert_eq!(written.metadata, ruled.metadata);
}

/// A network that says the same of everything.
fn silent() -> RulesModel {
    let count = FEATURES.len();
    RulesModel {
        inputs: FEATURES.map(str::to_owned).to_vec(),
        means: vec![0.0; count],
        scales: vec![1.0; count],
        hidden: DenseLayer { weights: vec![vec![0.0; count]], biases: vec![0.0] },
        output: DenseLayer { weights: vec![vec![0.0]; 3], biases: vec![0.0; 3] },
    }
}

/// A layer whose one weight is that of the input `name`, for "contradicted".
fn fusion(name: &str, weight: f64) -> Fusion {
    let inputs = Fusion::input_names();
    let contradicted = inputs.iter().map(|input| if input == name { weight } else { 0.0 }).collect();
    Fusion { entailed: vec![0.0; inputs.len()], contradicted, biases: [0.0, -1.0], inputs, rules: silent() }
}

#[test]
fn rules_join_the_logits_in_every_window() {
    let base = base();
    let mut adapter = adapter(base.path(), AdapterKind::Verifier);
    adapter.metadata.calibration.fusion = Some(fusion("any_value_at_odds", 3.0));
    let verifier = BertVerifier::with_adapter(base.path(), &adapter, &options()).unwrap();
    let same = "The observatory opened in 1889.";
    let other = "The observatory opened in 1898.";
    let far = format!("{} {other}", "It was late when it opened. ".repeat(60));
    let judged = verifier.judge_blocking(&[(same, same), (other, same), (&far, same), (" ", same)]).unwrap();
    let contradicted: Vec<f64> = judged.iter().map(|j| j.nli.contradict.get()).collect();
    // exp(-1) or exp(2) against two scores of zero.
    let due = |score: f64| score.exp() / (score.exp() + 2.0);
    assert!((contradicted[0] - due(-1.0)).abs() < 1e-9, "{contradicted:?}");
    assert!((contradicted[1] - due(2.0)).abs() < 1e-9, "{contradicted:?}");
    // Only the last window has a year at all; what it says counts for the whole.
    assert!(judged[2].windows > 1 && contradicted[2] > 0.55, "{} {contradicted:?}", judged[2].windows);
    assert_eq!((contradicted[3], judged[3].windows), (0.0, 0));
}

#[test]
fn a_language_it_was_not_trained_on_is_told() {
    let base = base();
    let mut adapter = adapter(base.path(), AdapterKind::Verifier);
    let knows = |adapter: &Adapter, text| {
        BertVerifier::with_adapter(base.path(), adapter, &options()).unwrap().knows_language_of(text)
    };
    assert!(knows(&adapter, "天文台建于一八八九年。"), "nothing is said of its languages");
    adapter.metadata.languages = vec!["english".to_owned()];
    assert!(knows(&adapter, "The observatory opened in 1889."));
    assert!(!knows(&adapter, "天文台建于一八八九年。"));
    assert!(!knows(&adapter, "Die Sternwarte wurde im Jahr 1889 eröffnet und ist seitdem geöffnet."));
}

#[test]
fn a_layer_for_other_rules_is_refused() {
    let base = base();
    let mut adapter = adapter(base.path(), AdapterKind::Verifier);
    let mut other = fusion("any_value_at_odds", 3.0);
    other.inputs[19] = "phases_of_the_moon".to_owned();
    let mut short = fusion("any_value_at_odds", 3.0);
    short.entailed.pop();
    let mut torn = fusion("any_value_at_odds", 3.0);
    torn.rules.hidden.biases.push(0.0);
    let cases = [
        (other, "phases_of_the_moon"),
        (short, "a weight for every input"),
        (torn, "network over the rules"),
    ];
    for (layer, part) in cases {
        adapter.metadata.calibration.fusion = Some(layer);
        let error = BertVerifier::with_adapter(base.path(), &adapter, &options()).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn spans_lie_in_the_passage_and_do_not_overlap() {
    let base = base();
    let adapter = adapter(base.path(), AdapterKind::Reader);
    let reader = BertReader::with_adapter(base.path(), &adapter, &options()).unwrap();
    let long = "the observatory opened in 1889, when did the late ".repeat(40);
    let passages = ["The Observatory opened in 1889.", "", "天文台 opened — 1889 né", long.as_str()];
    let question = "when did the observatory opened";
    let all = reader.best_spans(question, &passages, 4).unwrap();
    for (text, (spans, none)) in passages.iter().zip(&all) {
        assert_eq!(spans.is_empty(), text.is_empty());
        assert!(*none <= 0.0);
        for (i, span) in spans.iter().enumerate() {
            let words = span.span.slice(text).unwrap();
            assert!(!words.trim().is_empty() && words.split_whitespace().count() <= 30);
            assert!(span.score <= 0.0);
            assert!(
                spans[..i].iter().all(|other| !other.span.overlaps(span.span) && other.score >= span.score)
            );
        }
    }
    assert_eq!(all[3].0.len(), 4);
    let read = reader.read(question, &passages).await.unwrap();
    for (reading, (spans, none)) in read.iter().zip(&all) {
        assert_eq!(reading.no_answer.get(), *none);
        assert!(reading.spans.len() <= 5);
        if let (Some(first), Some(best)) = (reading.spans.first(), spans.first()) {
            assert_eq!(first.span, best.span);
            assert!(best.margin > 0.0);
        }
    }
    assert_eq!(reader.read(" ", &passages).await.unwrap_err().code(), "empty_input");
    let verifier = BertVerifier::with_adapter(base.path(), &adapter, &options()).err().unwrap();
    assert!(verifier.to_string().contains("it is a reader"), "{verifier}");
}

/// A hub's sequence classification model.
fn classifier(dir: &Path, roberta: bool, labels: [&str; 3]) -> Tensors {
    let prefix = if roberta { "roberta." } else { "bert." };
    let mut weights = tensors(LONG, prefix);
    let hidden = LONG.hidden;
    let mut state = 5;
    let layers = if roberta {
        [("classifier.dense".to_owned(), hidden), ("classifier.out_proj".to_owned(), 3)]
    } else {
        [("bert.pooler.dense".to_owned(), hidden), ("classifier".to_owned(), 3)]
    };
    for (name, outputs) in layers {
        let weight = random(outputs * hidden, &mut state);
        weights.insert(format!("{name}.weight"), (vec![outputs, hidden], weight));
        weights.insert(format!("{name}.bias"), (vec![outputs], random(outputs, &mut state)));
    }
    write(dir, LONG, &weights, "gelu");
    let path = dir.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config["model_type"] = if roberta { "roberta" } else { "bert" }.into();
    config["id2label"] = serde_json::json!({"0": labels[0], "1": labels[1], "2": labels[2]});
    std::fs::write(&path, config.to_string()).unwrap();
    weights
}

#[test]
fn heads_of_bert_and_roberta_are_computed_and_their_labels_put_in_order() {
    for roberta in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let weights = classifier(dir.path(), roberta, ["contradiction", "entailment", "neutral"]);
        let verifier = BertVerifier::open_classifier(dir.path(), &options()).unwrap();
        let logits = verifier.logits(&[("the observatory opened", "late")]).unwrap()[0];

        // The same weights under other names are the same numbers in another order.
        let other = tempfile::tempdir().unwrap();
        classifier(other.path(), roberta, ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"]);
        let renamed = BertVerifier::open_classifier(other.path(), &options()).unwrap();
        let [contradict, entail, neutral] = renamed.logits(&[("the observatory opened", "late")]).unwrap()[0];
        assert_eq!(logits, [entail, neutral, contradict]);

        // Where the first dense layer does not look at the text, the logits can be computed by hand.
        let (dense, output) = if roberta {
            ("classifier.dense", "classifier.out_proj")
        } else {
            ("bert.pooler.dense", "classifier")
        };
        let mut blind = weights.clone();
        blind.get_mut(&format!("{dense}.weight")).unwrap().1.fill(0.0);
        let get = |name: String| blind[&name].1.clone();
        let (bias, weight) = (get(format!("{dense}.bias")), get(format!("{output}.weight")));
        let due: Vec<f32> = weight
            .chunks(LONG.hidden)
            .zip(get(format!("{output}.bias")))
            .map(|(row, own)| own + row.iter().zip(&bias).map(|(w, b)| w * b.tanh()).sum::<f32>())
            .collect();
        let config = std::fs::read(dir.path().join("config.json")).unwrap();
        write(dir.path(), LONG, &blind, "gelu");
        std::fs::write(dir.path().join("config.json"), config).unwrap();
        let blind = BertVerifier::open_classifier(dir.path(), &options()).unwrap();
        let logits = blind.logits(&[("the observatory opened", "late")]).unwrap()[0];
        for (x, due) in logits.iter().zip([due[1], due[2], due[0]]) {
            assert!((x - due).abs() < 1e-5, "{logits:?} {due}");
        }

        let unnamed = tempfile::tempdir().unwrap();
        classifier(unnamed.path(), roberta, ["LABEL_0", "LABEL_1", "LABEL_2"]);
        let error = BertVerifier::open_classifier(unnamed.path(), &options()).err().unwrap();
        assert_eq!(error.code(), "invalid_input");
        assert!(error.to_string().contains("LABEL_0"), "{error}");
    }
}

#[test]
fn a_classifier_without_a_head_or_labels_is_named() {
    let dir = base();
    let error = BertVerifier::open_classifier(dir.path(), &options()).err().unwrap();
    assert!(error.to_string().contains("id2label"), "{error}");
    let mut weights = classifier(dir.path(), false, ["entailment", "neutral", "contradiction"]);
    weights.remove("classifier.weight");
    write(dir.path(), LONG, &weights, "gelu");
    let path = dir.path().join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config["id2label"] = serde_json::json!({"0": "entailment", "1": "neutral", "2": "contradiction"});
    std::fs::write(&path, config.to_string()).unwrap();
    let error = BertVerifier::open_classifier(dir.path(), &options()).err().unwrap();
    assert_eq!(error.code(), "damaged");
    assert!(error.to_string().contains("classifier.weight"), "{error}");
}
