//! The tokenizer that a GGUF file carries: byte-level BPE (`gpt2`) or SentencePiece (`llama`).
//!
//! Control tokens (such as `<|im_end|>`) are kept out of the vocabulary that text is encoded with. Only
//! [`Vocabulary::encode_template`] makes them, and it tells text that a template wrote from text that came from a
//! message by [`SHIELD`]: no passage can end a turn or open another one, whatever it says.

mod bpe;
mod decode;
mod sentencepiece;

use std::collections::{HashMap, HashSet};

use counterproof_core::{Error, Result};

use self::bpe::Bpe;
pub(crate) use self::decode::TextStream;
use self::sentencepiece::SentencePiece;
use crate::file::{GgufFile, Value};

/// A Unicode noncharacter, put into texts from outside where they would read as a control token. It never reaches the
/// model: texts that bring it along lose it, and encoding takes it out.
pub(crate) const SHIELD: char = '\u{FDD0}';

/// GGUF's types of tokens.
mod kind {
    pub(super) const UNKNOWN: u64 = 2;
    pub(super) const CONTROL: u64 = 3;
    pub(super) const USER_DEFINED: u64 = 4;
    pub(super) const UNUSED: u64 = 5;
    pub(super) const BYTE: u64 = 6;
}

/// Texts of control tokens that end a turn in one family of models or another.
const END_OF_TURN: [&str; 9] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "</s>",
    "<eos>",
];

/// What a token that a model wrote is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Bytes of text.
    Text(&'a [u8]),
    /// It opens a stretch of thinking.
    Think,
    /// It closes one.
    EndThink,
    /// It steers, and is no text.
    Control,
}

enum Model {
    Bpe(Box<Bpe>),
    SentencePiece(Box<SentencePiece>),
}

/// The vocabulary of a model, both ways.
pub(crate) struct Vocabulary {
    model: Model,
    /// The bytes of each token's text; for control tokens, their names.
    bytes: Vec<Box<[u8]>>,
    /// Tokens that only a template may write.
    control: Names,
    /// Those of them that are no text when a model writes them.
    control_ids: HashSet<u32>,
    /// Tokens that any text may write.
    added: Names,
    bos: Option<u32>,
    add_bos: bool,
    ends: HashSet<u32>,
}

impl Vocabulary {
    /// Builds the tokenizer from the metadata.
    pub(crate) fn load(file: &GgufFile) -> Result<Self> {
        let model = file.text("tokenizer.ggml.model").ok_or_else(|| {
            file.damaged("it carries no tokenizer (tokenizer.ggml.model). Use a file made with its tokenizer")
        })?;
        let texts = file
            .get("tokenizer.ggml.tokens")
            .and_then(Value::as_texts)
            .ok_or_else(|| file.damaged("it carries no vocabulary (tokenizer.ggml.tokens)"))?;
        let kinds: Vec<u64> = file
            .get("tokenizer.ggml.token_type")
            .and_then(Value::as_numbers)
            .map(|kinds| kinds.iter().map(|k| *k as u64).collect())
            .unwrap_or_default();
        let id =
            |key: &str| file.integer(&format!("tokenizer.ggml.{key}")).and_then(|n| u32::try_from(n).ok());
        let bos = id("bos_token_id").filter(|b| (*b as usize) < texts.len());

        let mut control = Vec::new();
        let mut added = Vec::new();
        let mut plain = HashMap::with_capacity(texts.len());
        let mut byte_tokens = [None; 256];
        for ((i, text), kind) in (0u32..).zip(texts).zip(kinds.iter().copied().chain(std::iter::repeat(1))) {
            match kind {
                kind::CONTROL | kind::UNKNOWN => control.push((text.clone(), i)),
                // Some conversions mark control tokens as the user's own; anything in brackets is taken for one.
                kind::USER_DEFINED if in_brackets(text) => control.push((text.clone(), i)),
                kind::USER_DEFINED => added.push((text.clone(), i)),
                kind::UNUSED => {}
                kind::BYTE => {
                    if let Some(slot) = byte_of(text).and_then(|b| byte_tokens.get_mut(usize::from(b))) {
                        *slot = Some(i);
                    }
                }
                _ => {
                    plain.insert(text.clone(), i);
                }
            }
        }
        // A shield cannot break up a single character, so a template cannot write such a token either.
        let control = Names::new(control.into_iter().filter(|(text, _)| text.chars().count() > 1));
        let added = Names::new(added.into_iter().filter(|(text, _)| !text.is_empty()));

        let mut ends: HashSet<u32> =
            ["eos_token_id", "eot_token_id", "eom_token_id"].iter().filter_map(|key| id(key)).collect();
        ends.extend(
            control
                .0
                .values()
                .flatten()
                .filter(|(text, _)| END_OF_TURN.contains(&text.as_str()))
                .map(|(_, id)| *id),
        );

        let (model, default_bos) = match model {
            "gpt2" => {
                let (bpe, default_bos) = Bpe::load(file, plain)?;
                (Model::Bpe(Box::new(bpe)), default_bos)
            }
            "llama" => (Model::SentencePiece(Box::new(SentencePiece::load(file, plain, byte_tokens)?)), true),
            other => {
                return Err(file.unsupported(format!(
                    "its tokenizer is of the kind {other}; supported are gpt2 (byte-level BPE) and llama (SentencePiece)"
                )));
            }
        };
        let spaced = matches!(model, Model::SentencePiece(_));
        let is_literal =
            |i: u32| matches!(kinds.get(i as usize), Some(&(kind::CONTROL | kind::USER_DEFINED)));
        let bytes = (0u32..)
            .zip(texts)
            .map(|(i, text)| {
                if let Some(byte) = byte_of(text).filter(|_| kinds.get(i as usize) == Some(&kind::BYTE)) {
                    Box::from([byte])
                } else if spaced {
                    text.replace('▁', " ").into_bytes().into()
                } else if is_literal(i) {
                    text.as_bytes().into()
                } else {
                    bpe::bytes_of(text).into()
                }
            })
            .collect();
        let control_ids =
            (0u32..).zip(&kinds).filter(|(_, k)| **k == kind::CONTROL).map(|(i, _)| i).collect();
        Ok(Self {
            model,
            bytes,
            control,
            control_ids,
            added,
            bos,
            add_bos: file.flag("tokenizer.ggml.add_bos_token").unwrap_or(default_bos),
            ends,
        })
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether a token ends the model's turn.
    pub(crate) fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// What a token is.
    pub(crate) fn piece(&self, token: u32) -> Piece<'_> {
        match self.bytes(token) {
            b"<think>" => Piece::Think,
            b"</think>" => Piece::EndThink,
            _ if self.control_ids.contains(&token) => Piece::Control,
            bytes => Piece::Text(bytes),
        }
    }

    /// The bytes of a token's text.
    pub(crate) fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], |b| b)
    }

    /// The text of a token by itself, with a replacement character for bytes that are no text.
    pub(crate) fn token_text(&self, token: u32) -> String {
        String::from_utf8_lossy(self.bytes(token)).into_owned()
    }

    /// The name of the token that begins a text, for templates.
    pub(crate) fn bos_text(&self) -> String {
        self.bos.map(|b| self.token_text(b)).unwrap_or_default()
    }

    /// The name of a token that ends a turn, for templates.
    pub(crate) fn eos_text(&self, file: &GgufFile) -> String {
        let id = file.integer("tokenizer.ggml.eos_token_id").and_then(|n| u32::try_from(n).ok());
        id.map(|e| self.token_text(e)).unwrap_or_default()
    }

    /// The control token of this name.
    pub(crate) fn control(&self, name: &str) -> Option<u32> {
        self.control.longest_at(name).filter(|(text, _)| text == name).map(|(_, id)| *id)
    }

    /// Makes a text from outside safe to put into a template: wherever a control token could begin, a [`SHIELD`] breaks
    /// it up.
    pub(crate) fn shield(&self, text: &str) -> String {
        let text = text.replace(SHIELD, "");
        let mut out = String::with_capacity(text.len() + 16);
        for (at, c) in text.char_indices() {
            out.push(c);
            let rest = text.get(at..).unwrap_or_default();
            // What the text leaves unfinished at its end, the template must not finish, nor after trimming it.
            let end = rest.trim_end();
            if self.control.starting_with(c).any(|name| rest.starts_with(name) || name.starts_with(end)) {
                out.push(SHIELD);
            }
        }
        out
    }

    /// Encodes what a template rendered: names of control tokens become those tokens, shields vanish, and the rest is
    /// text. A token that begins every text is put in front unless the template did so.
    pub(crate) fn encode_template(&self, rendered: &str) -> Result<Vec<u32>> {
        let mut tokens = Vec::new();
        self.split(rendered, &self.control, |piece, control| {
            match control {
                Some(id) => tokens.push(id),
                None => tokens.extend(self.encode_text(&piece.replace(SHIELD, ""))?),
            }
            Ok(())
        })?;
        if self.add_bos
            && let Some(bos) = self.bos
            && tokens.first() != Some(&bos)
        {
            tokens.insert(0, bos);
        }
        Ok(tokens)
    }

    /// Encodes text. Never makes a control token.
    pub(crate) fn encode_text(&self, text: &str) -> Result<Vec<u32>> {
        let mut tokens = Vec::new();
        self.split(text, &self.added, |piece, added| {
            match (added, &self.model) {
                (Some(id), _) => tokens.push(id),
                (None, Model::Bpe(bpe)) => tokens.extend(bpe.encode(piece)?),
                (None, Model::SentencePiece(model)) => model.encode(piece, tokens.is_empty(), &mut tokens),
            }
            Ok(())
        })?;
        Ok(tokens)
    }

    /// Cuts a text at the names in `names`, the longest that fits first, and hands over the pieces in order.
    fn split(
        &self,
        text: &str,
        names: &Names,
        mut take: impl FnMut(&str, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        let mut at = 0;
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let rest = text.get(at..).unwrap_or_default();
            if let Some((name, id)) = names.longest_at(rest) {
                if start < at {
                    take(text.get(start..at).unwrap_or_default(), None)?;
                }
                take(name, Some(*id))?;
                at += name.len();
                start = at;
            } else {
                at += c.len_utf8();
            }
        }
        if start < at {
            take(text.get(start..at).unwrap_or_default(), None)?;
        }
        Ok(())
    }
}

/// Names of tokens by their first character, the longest first.
struct Names(HashMap<char, Vec<(String, u32)>>);

impl Names {
    fn new(names: impl Iterator<Item = (String, u32)>) -> Self {
        let mut map: HashMap<char, Vec<(String, u32)>> = HashMap::new();
        for (name, id) in names {
            if let Some(first) = name.chars().next() {
                map.entry(first).or_default().push((name, id));
            }
        }
        for names in map.values_mut() {
            names.sort_unstable_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.1.cmp(&b.1)));
        }
        Self(map)
    }

    /// The longest name that `text` begins with.
    fn longest_at(&self, text: &str) -> Option<&(String, u32)> {
        let first = text.chars().next()?;
        self.0.get(&first)?.iter().find(|(name, _)| text.starts_with(name.as_str()))
    }

    fn starting_with(&self, first: char) -> impl Iterator<Item = &str> {
        self.0.get(&first).into_iter().flatten().map(|(name, _)| name.as_str())
    }
}

fn in_brackets(text: &str) -> bool {
    (text.starts_with('<') && text.ends_with('>')) || (text.starts_with('[') && text.ends_with(']'))
}

/// The byte that a token such as `<0x0A>` stands for.
fn byte_of(text: &str) -> Option<u8> {
    let hex = text.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(hex, 16).ok()
}

fn tokenizer_error(e: impl std::fmt::Display) -> Error {
    Error::failed("GGUF tokenizer", e.to_string())
}
