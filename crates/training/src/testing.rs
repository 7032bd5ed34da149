//! A tiny random encoder in a folder of its own, for tests.

// A failed expectation is what these are for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use tempfile::TempDir;

use crate::random::Random;

pub(crate) const HIDDEN: usize = 20;
const INNER: usize = 28;
const LAYERS: usize = 2;
const POSITIONS: usize = 64;
const WORDS: [&str; 24] = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "observatory",
    "opened",
    "in",
    "1889",
    "1912",
    "late",
    "when",
    "did",
    "a",
    "comet",
    "was",
    "seen",
    "by",
    "ada",
    "bela",
    "not",
    "it",
    "museum",
    "closed",
];

/// Writes the folder.
pub(crate) fn tiny_base() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_config(dir.path());
    write_tokenizer(dir.path());
    write_weights(dir.path());
    dir
}

fn write_config(dir: &Path) {
    let config = serde_json::json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": 4, "intermediate_size": INNER, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "pad_token_id": 0,
    });
    std::fs::write(dir.join("config.json"), config.to_string()).unwrap();
}

fn write_tokenizer(dir: &Path) {
    let vocabulary: serde_json::Map<_, _> =
        WORDS.iter().enumerate().map(|(i, word)| ((*word).to_owned(), i.into())).collect();
    let special = [0, 1, 2, 3].map(|id: usize| {
        serde_json::json!({"id": id, "content": WORDS[id], "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    });
    let tokenizer = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    std::fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

fn write_weights(dir: &Path) {
    let mut list = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
    ];
    let norm = |list: &mut Vec<_>, name: String| {
        list.push((format!("{name}.weight"), vec![HIDDEN]));
        list.push((format!("{name}.bias"), vec![HIDDEN]));
    };
    norm(&mut list, "embeddings.LayerNorm".to_owned());
    for i in 0..LAYERS {
        let part = |name: &str| format!("encoder.layer.{i}.{name}");
        for (name, outputs, inputs) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ] {
            list.push((part(&format!("{name}.weight")), vec![outputs, inputs]));
            list.push((part(&format!("{name}.bias")), vec![outputs]));
        }
        norm(&mut list, part("attention.output.LayerNorm"));
        norm(&mut list, part("output.LayerNorm"));
    }
    let mut random = Random::new(11);
    let tensors: HashMap<String, (Vec<usize>, Vec<u8>)> = list
        .into_iter()
        .map(|(name, shape)| {
            let centre = if name.ends_with("LayerNorm.weight") { 1.0 } else { 0.0 };
            let count: usize = shape.iter().product();
            let numbers = (0..count).flat_map(|_| (centre + 0.8 * (random.unit() - 0.5)).to_le_bytes());
            let bytes = numbers.collect();
            (name, (shape, bytes))
        })
        .collect();
    let views = tensors.iter().map(|(name, (shape, bytes))| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
    });
    safetensors::serialize_to_file(views, None, &dir.join("model.safetensors")).unwrap();
}
