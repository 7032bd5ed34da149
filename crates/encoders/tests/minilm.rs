//! The base encoder, all-MiniLM-L6-v2, against values computed in double precision by
//! `scripts/reference_embedding.py`. Skipped, aloud, where its weights are not at hand.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::PathBuf;

use counterproof_core::Embedder;
use counterproof_encoders::{BertEmbedder, EncoderOptions};

/// `COUNTERPROOF_MODEL_DIR`, else the model's folder in the model store.
fn model_dir() -> Option<PathBuf> {
    let dir = match std::env::var_os("COUNTERPROOF_MODEL_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => {
            let home = match std::env::var_os("COUNTERPROOF_HOME") {
                Some(home) => PathBuf::from(home),
                None => match std::env::var_os("XDG_CACHE_HOME") {
                    Some(cache) => PathBuf::from(cache),
                    None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
                }
                .join("counterproof"),
            };
            home.join("models").join("all-MiniLM-L6-v2")
        }
    };
    if dir.join("model.safetensors").is_file() {
        return Some(dir);
    }
    println!(
        "skipped: needs the weights of all-MiniLM-L6-v2 in {} (or COUNTERPROOF_MODEL_DIR)",
        dir.display()
    );
    None
}

/// Texts with the first numbers of their vectors.
fn references() -> Vec<(String, [f32; 8])> {
    let blank = [-0.1188384, 0.0482987, -0.0025481, -0.0110112, 0.0519508, 0.0102917, 0.1154332, 0.0007008];
    [
        (
            "The observatory opened in 1889.",
            [0.0207323, 0.0079675, -0.0288008, 0.0511730, 0.0144158, -0.0318709, -0.1143526, 0.0394948],
        ),
        (
            "When did the observatory open?",
            [0.0497324, 0.0062515, -0.0373475, 0.0783505, 0.0153089, -0.0538311, -0.0693906, -0.0233573],
        ),
        ("", blank),
        ("   \n\t ", blank),
        (
            "天文台于1889年开放。",
            [0.0068566, 0.1778333, 0.0741806, 0.0248853, -0.0576232, 0.0929176, 0.0497689, 0.0214606],
        ),
        (
            "Ночь, улица, фонарь, аптека.",
            [0.0937352, -0.0025251, -0.0668032, 0.0402480, -0.0306165, -0.0012106, 0.0932189, -0.0314503],
        ),
        (
            "🚀🌒 launch at 5:30!",
            [0.0146824, -0.0175375, 0.0625539, -0.0628203, 0.0503595, 0.0435879, -0.0008781, -0.0063111],
        ),
        (
            "Naïve café déjà-vu — “quoted” ﬁgures: ½, №5, ２０２４",
            [-0.0738837, 0.0250151, 0.0827261, 0.0340260, 0.0593993, -0.0106774, 0.0268839, -0.0429716],
        ),
        (
            "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
            [0.0237282, -0.0322742, -0.0058759, -0.0253747, -0.1075598, -0.0098389, 0.0705417, 0.0957969],
        ),
        (
            "a\0b\u{feff}c\r\nd",
            [-0.0250191, 0.0139364, 0.0151675, -0.0087026, -0.0806086, 0.0850789, 0.0783762, 0.0241098],
        ),
        (
            &"x".repeat(300),
            [-0.0415964, -0.0246818, 0.0778931, -0.0061495, 0.0170015, 0.0012620, 0.1237396, -0.0019715],
        ),
        (
            &"the quick brown fox jumps over the lazy dog ".repeat(60),
            [0.0528688, -0.0371071, 0.0714278, 0.0049305, -0.0601866, -0.0169935, -0.0187736, -0.0748101],
        ),
    ]
    .map(|(text, start)| (text.to_owned(), start))
    .to_vec()
}

#[tokio::test]
async fn vectors_equal_the_reference_values() {
    let Some(dir) = model_dir() else { return };
    let embedder = BertEmbedder::open(dir, &EncoderOptions::default()).unwrap();
    let references = references();
    let texts: Vec<&str> = references.iter().map(|(text, _)| text.as_str()).collect();
    let vectors = embedder.embed(&texts).await.unwrap();
    assert_eq!(vectors.len(), texts.len());
    for ((text, expected), vector) in references.iter().zip(&vectors) {
        assert_eq!(vector.len(), 384);
        let norm: f32 = vector.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-5, "{text:?} has length {norm}");
        for (x, y) in vector.iter().zip(expected) {
            assert!((x - y).abs() < 1e-5, "{text:?}: {:?} instead of {expected:?}", &vector[..8]);
        }
    }
    let alone = embedder.embed(&texts[..1]).await.unwrap();
    for (x, y) in alone[0].iter().zip(&vectors[0]) {
        assert!((x - y).abs() < 1e-6, "a vector depends on the texts beside it");
    }
}

#[tokio::test]
async fn a_megabyte_of_text_is_cut_to_the_window() {
    let Some(dir) = model_dir() else { return };
    let embedder = BertEmbedder::open(dir, &EncoderOptions::default()).unwrap();
    let page = "the quick brown fox jumps over the lazy dog ";
    let (long, huge) = (page.repeat(60), page.repeat(25_000));
    let vectors = embedder.embed(&[&long, &huge]).await.unwrap();
    for (x, y) in vectors[0].iter().zip(&vectors[1]) {
        assert!((x - y).abs() < 1e-6);
    }
}
