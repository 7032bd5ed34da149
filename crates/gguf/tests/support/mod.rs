//! Tiny models with random weights, written to files as GGUF: what the tests run on, so that they need no downloads.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(dead_code, reason = "for tests, each of which uses a part of it")]

use std::io::Write;

use tempfile::NamedTempFile;

/// A value of GGUF metadata.
pub(crate) enum Meta {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
}

/// A GGUF file that is put together.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) metadata: Vec<(String, Meta)>,
    /// Name, sizes (fastest-changing first), GGUF's number of the type, bytes.
    pub(crate) tensors: Vec<(String, Vec<u64>, u32, Vec<u8>)>,
    seed: u64,
}

pub(crate) const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + \
     message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' \
     }}{% endif %}";

impl Builder {
    pub(crate) fn set(&mut self, key: &str, value: Meta) {
        self.metadata.retain(|(k, _)| k != key);
        self.metadata.push((key.to_owned(), value));
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.metadata.retain(|(k, _)| k != key);
        self.tensors.retain(|(k, ..)| k != key);
    }

    fn random(&mut self) -> f32 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }

    fn f32_tensor(&mut self, name: &str, dims: &[u64], center: f32, spread: f32) {
        let count = dims.iter().product::<u64>();
        let bytes = (0..count).flat_map(|_| (center + spread * self.random()).to_le_bytes()).collect();
        self.tensors.push((name.to_owned(), dims.to_vec(), 0, bytes));
    }

    /// A matrix in Q8_0: blocks of a half-precision scale and 32 small integers.
    fn q8_0_tensor(&mut self, name: &str, columns: u64, rows: u64) {
        let mut bytes = Vec::new();
        for _ in 0..columns * rows / 32 {
            bytes.extend(0x1400u16.to_le_bytes()); // 2^-10
            bytes.extend((0..32).map(|_| (self.random() * 255.0) as i8 as u8));
        }
        self.tensors.push((name.to_owned(), vec![columns, rows], 8, bytes));
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut b = b"GGUF".to_vec();
        b.extend(3u32.to_le_bytes());
        b.extend((self.tensors.len() as u64).to_le_bytes());
        b.extend((self.metadata.len() as u64).to_le_bytes());
        let text = |b: &mut Vec<u8>, s: &str| {
            b.extend((s.len() as u64).to_le_bytes());
            b.extend(s.as_bytes());
        };
        let list = |b: &mut Vec<u8>, kind: u32, len: usize| {
            b.extend(9u32.to_le_bytes());
            b.extend(kind.to_le_bytes());
            b.extend((len as u64).to_le_bytes());
        };
        for (key, value) in &self.metadata {
            text(&mut b, key);
            match value {
                Meta::U32(v) => {
                    b.extend(4u32.to_le_bytes());
                    b.extend(v.to_le_bytes());
                }
                Meta::F32(v) => {
                    b.extend(6u32.to_le_bytes());
                    b.extend(v.to_le_bytes());
                }
                Meta::Bool(v) => {
                    b.extend(7u32.to_le_bytes());
                    b.push(u8::from(*v));
                }
                Meta::Text(v) => {
                    b.extend(8u32.to_le_bytes());
                    text(&mut b, v);
                }
                Meta::Texts(v) => {
                    list(&mut b, 8, v.len());
                    v.iter().for_each(|s| text(&mut b, s));
                }
                Meta::I32s(v) => {
                    list(&mut b, 5, v.len());
                    v.iter().for_each(|n| b.extend(n.to_le_bytes()));
                }
                Meta::F32s(v) => {
                    list(&mut b, 6, v.len());
                    v.iter().for_each(|n| b.extend(n.to_le_bytes()));
                }
            }
        }
        let mut offset = 0u64;
        for (name, dims, kind, data) in &self.tensors {
            text(&mut b, name);
            b.extend((dims.len() as u32).to_le_bytes());
            dims.iter().for_each(|d| b.extend(d.to_le_bytes()));
            b.extend(kind.to_le_bytes());
            b.extend(offset.to_le_bytes());
            offset += (data.len() as u64).next_multiple_of(32);
        }
        b.resize(b.len().next_multiple_of(32), 0);
        for (.., data) in &self.tensors {
            b.extend(data);
            b.resize(b.len().next_multiple_of(32), 0);
        }
        b
    }

    pub(crate) fn write(&self) -> NamedTempFile {
        let mut file = tempfile::Builder::new().suffix(".gguf").tempfile().unwrap();
        file.write_all(&self.bytes()).unwrap();
        file.flush().unwrap();
        file
    }
}

/// GPT-2's character for a byte.
fn byte_char(byte: u32) -> char {
    let printable = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if printable(byte) {
        return char::from_u32(byte).unwrap();
    }
    let rank = (0..byte).filter(|b| !printable(*b)).count() as u32;
    char::from_u32(256 + rank).unwrap()
}

/// A tiny model of an architecture: byte-level tokens with a few merges, ChatML.
pub(crate) fn tiny(architecture: &str) -> Builder {
    tiny_of(architecture, 1)
}

/// The same with other weights.
pub(crate) fn tiny_of(architecture: &str, seed: u64) -> Builder {
    let (width, heads, kv_heads, head_dim, hidden, layers) = (64u32, 4u32, 2u32, 32u32, 96u32, 7u32);
    let head_dim = if matches!(architecture, "llama" | "qwen2") { width / heads } else { head_dim };
    let mut b = Builder { seed, ..Builder::default() };
    b.set("general.architecture", Meta::Text(architecture.to_owned()));
    b.set("general.name", Meta::Text(format!("tiny {architecture}")));
    let mut set = |key: &str, value| b.set(&format!("{architecture}.{key}"), value);
    set("block_count", Meta::U32(layers));
    set("context_length", Meta::U32(256));
    set("embedding_length", Meta::U32(width));
    set("feed_forward_length", Meta::U32(hidden));
    set("attention.head_count", Meta::U32(heads));
    set("attention.head_count_kv", Meta::U32(kv_heads));
    set("attention.layer_norm_rms_epsilon", Meta::F32(1e-5));
    set("rope.freq_base", Meta::F32(10_000.0));
    if matches!(architecture, "qwen3" | "gemma3") {
        set("attention.key_length", Meta::U32(head_dim));
        set("attention.value_length", Meta::U32(head_dim));
    } else {
        set("rope.dimension_count", Meta::U32(head_dim));
    }
    if architecture == "gemma3" {
        set("attention.sliding_window", Meta::U32(8));
    }
    let mut tokens: Vec<String> = (0..256).map(|b| byte_char(b).to_string()).collect();
    let merges = ["Ġ t", "h e", "Ġt he", "i n", "e r", "a n", "Ġ a", "Ġ P", "ĠP ar", "a r", "P ar", "i s"];
    for merge in merges {
        let joined = merge.replace(' ', "");
        if !tokens.contains(&joined) {
            tokens.push(joined);
        }
    }
    let mut kinds = vec![1; tokens.len()];
    let (first_control, end) = (tokens.len() as u32, tokens.len() as u32 + 1);
    for control in ["<|im_start|>", "<|im_end|>", "<|endoftext|>"] {
        tokens.push(control.to_owned());
        kinds.push(3);
    }
    let vocabulary = tokens.len() as u64;
    b.set("tokenizer.ggml.model", Meta::Text("gpt2".to_owned()));
    b.set("tokenizer.ggml.pre", Meta::Text("qwen2".to_owned()));
    b.set("tokenizer.ggml.tokens", Meta::Texts(tokens));
    b.set("tokenizer.ggml.token_type", Meta::I32s(kinds));
    b.set("tokenizer.ggml.merges", Meta::Texts(merges.map(str::to_owned).to_vec()));
    b.set("tokenizer.ggml.eos_token_id", Meta::U32(end));
    b.set("tokenizer.ggml.bos_token_id", Meta::U32(first_control + 2));
    b.set("tokenizer.ggml.add_bos_token", Meta::Bool(false));
    b.set("tokenizer.chat_template", Meta::Text(CHATML.to_owned()));

    let (width, hidden) = (u64::from(width), u64::from(hidden));
    let (q, kv, head_dim) =
        (u64::from(heads * head_dim), u64::from(kv_heads * head_dim), u64::from(head_dim));
    b.f32_tensor("token_embd.weight", &[width, vocabulary], 0.0, 0.4);
    b.f32_tensor("output_norm.weight", &[width], 1.0, 0.2);
    for i in 0..layers {
        let name = |part: &str| format!("blk.{i}.{part}");
        b.f32_tensor(&name("attn_norm.weight"), &[width], 1.0, 0.2);
        b.q8_0_tensor(&name("attn_q.weight"), width, q);
        b.q8_0_tensor(&name("attn_k.weight"), width, kv);
        b.q8_0_tensor(&name("attn_v.weight"), width, kv);
        b.q8_0_tensor(&name("attn_output.weight"), q, width);
        b.f32_tensor(&name("ffn_norm.weight"), &[width], 1.0, 0.2);
        b.q8_0_tensor(&name("ffn_gate.weight"), width, hidden);
        b.q8_0_tensor(&name("ffn_up.weight"), width, hidden);
        b.q8_0_tensor(&name("ffn_down.weight"), hidden, width);
        if architecture == "qwen2" {
            b.f32_tensor(&name("attn_q.bias"), &[q], 0.0, 1.0);
            b.f32_tensor(&name("attn_k.bias"), &[kv], 0.0, 1.0);
            b.f32_tensor(&name("attn_v.bias"), &[kv], 0.0, 1.0);
        }
        if matches!(architecture, "qwen3" | "gemma3") {
            b.f32_tensor(&name("attn_q_norm.weight"), &[head_dim], 1.0, 0.2);
            b.f32_tensor(&name("attn_k_norm.weight"), &[head_dim], 1.0, 0.2);
        }
        if architecture == "gemma3" {
            b.f32_tensor(&name("post_attention_norm.weight"), &[width], 1.0, 0.2);
            b.f32_tensor(&name("post_ffw_norm.weight"), &[width], 1.0, 0.2);
        }
    }
    b
}
