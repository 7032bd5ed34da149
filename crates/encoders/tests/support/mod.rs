//! Tiny random models in folders of their own, for tests.

// A failed expectation is what this file is for; each test takes what it needs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};

/// Sizes that fill no vector of any processor evenly.
#[derive(Clone, Copy)]
pub struct Shape {
    pub layers: usize,
    pub hidden: usize,
    pub heads: usize,
    pub inner: usize,
    pub positions: usize,
}

pub const SMALL: Shape = Shape { layers: 2, hidden: 36, heads: 4, inner: 50, positions: 80 };
pub const WORDS: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "observatory", "opened", "in", "1889", "late", "when", "did"];

pub type Tensors = HashMap<String, (Vec<usize>, Vec<f32>)>;

/// Seeded numbers in -0.5..0.5 (Marsaglia's xorshift).
pub fn random(count: usize, state: &mut u64) -> Vec<f32> {
    let mut next = || {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

pub fn tensors(shape: Shape, prefix: &str) -> Tensors {
    let Shape { layers, hidden, inner, positions, .. } = shape;
    let mut list = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), hidden]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![positions, hidden]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, hidden]),
    ];
    let norm = |list: &mut Vec<_>, name: String| {
        list.push((format!("{name}.weight"), vec![hidden]));
        list.push((format!("{name}.bias"), vec![hidden]));
    };
    norm(&mut list, "embeddings.LayerNorm".to_owned());
    for i in 0..layers {
        let part = |name: &str| format!("encoder.layer.{i}.{name}");
        for (name, out, input) in [
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", inner, hidden),
            ("output.dense", hidden, inner),
        ] {
            list.push((part(&format!("{name}.weight")), vec![out, input]));
            list.push((part(&format!("{name}.bias")), vec![out]));
        }
        norm(&mut list, part("attention.output.LayerNorm"));
        norm(&mut list, part("output.LayerNorm"));
    }
    let mut state = 0x9e37_79b9_7f4a_7c15;
    list.into_iter()
        .map(|(name, dims)| {
            let data = random(dims.iter().product(), &mut state);
            (format!("{prefix}{name}"), (dims, data))
        })
        .collect()
}

/// Writes a model folder.
pub fn write(dir: &Path, shape: Shape, tensors: &Tensors, activation: &str) {
    let config = serde_json::json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads, "intermediate_size": shape.inner,
        "max_position_embeddings": shape.positions, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_act": activation, "pad_token_id": 0,
    });
    std::fs::write(dir.join("config.json"), config.to_string()).unwrap();
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
    let bytes: HashMap<&String, (Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (dims, data))| {
            (name, (dims.clone(), data.iter().flat_map(|x| x.to_le_bytes()).collect()))
        })
        .collect();
    let views = bytes.iter().map(|(name, (dims, data))| {
        (name.as_str(), TensorView::new(Dtype::F32, dims.clone(), data).unwrap())
    });
    safetensors::serialize_to_file(views, None, &dir.join("model.safetensors")).unwrap();
}
