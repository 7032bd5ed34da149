//! Byte-level BPE, as GPT-2 introduced it: text is cut into words by a pattern, the bytes of a word are written as
//! printable characters, and the merges of the file join them.

use std::collections::HashMap;

use counterproof_core::Result;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{NormalizerWrapper, SplitDelimiterBehavior, Tokenizer};

use super::tokenizer_error;
use crate::file::{GgufFile, Value};

/// How a family of models cuts text into words, by the names that `tokenizer.ggml.pre` gives it.
struct Words {
    names: &'static [&'static str],
    /// `None` is GPT-2's own pattern.
    pattern: Option<&'static str>,
    /// Every digit is a word of its own, before the pattern is applied.
    single_digits: bool,
    /// Text is composed (Unicode NFC) first.
    compose: bool,
    /// A word that is a token is taken whole, whatever the merges say.
    whole_words: bool,
    /// Texts begin with the token for that unless the file says otherwise.
    add_bos: bool,
}

const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const FAMILIES: [Words; 5] = [
    Words {
        names: &["default", "gpt-2", "gpt2"],
        pattern: None,
        single_digits: false,
        compose: false,
        whole_words: false,
        add_bos: false,
    },
    Words {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell"],
        pattern: None,
        single_digits: true,
        compose: false,
        whole_words: false,
        add_bos: false,
    },
    Words {
        names: &["qwen2", "deepseek-r1-qwen"],
        pattern: Some(QWEN2),
        single_digits: false,
        compose: true,
        whole_words: false,
        add_bos: false,
    },
    Words {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "smaug-bpe"],
        pattern: Some(LLAMA3),
        single_digits: false,
        compose: false,
        whole_words: true,
        add_bos: true,
    },
    Words {
        names: &["tekken"],
        pattern: Some(TEKKEN),
        single_digits: false,
        compose: false,
        whole_words: true,
        add_bos: true,
    },
];

pub(super) struct Bpe(Tokenizer);

impl Bpe {
    /// Builds the tokenizer over `plain`, the tokens that text may become. Says also whether texts begin with a token
    /// for that by default.
    pub(super) fn load(file: &GgufFile, plain: HashMap<String, u32>) -> Result<(Self, bool)> {
        let name = file.text("tokenizer.ggml.pre").unwrap_or("default");
        let words = FAMILIES.iter().find(|w| w.names.contains(&name)).ok_or_else(|| {
            let known: Vec<_> = FAMILIES.iter().flat_map(|w| w.names).copied().collect();
            file.unsupported(format!(
                "its tokenizer cuts words in the way {name}; supported are {}",
                known.join(", ")
            ))
        })?;
        let merges = file
            .get("tokenizer.ggml.merges")
            .and_then(Value::as_texts)
            .ok_or_else(|| file.damaged("its tokenizer has no merges (tokenizer.ggml.merges)"))?;
        let merges = merges
            .iter()
            .filter_map(|m| m.split_once(' '))
            // A merge of or into a token that text may not become is no merge of text.
            .filter(|(a, b)| {
                plain.contains_key(*a) && plain.contains_key(*b) && plain.contains_key(&format!("{a}{b}"))
            })
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect();
        let vocab: Vec<(String, u32)> = plain.into_iter().collect();
        let model = BPE::builder()
            .vocab_and_merges(vocab.into_iter().collect::<tokenizers::models::bpe::Vocab>(), merges)
            .ignore_merges(words.whole_words)
            .build()
            .map_err(|e| file.damaged(format!("its tokenizer cannot be built: {e}")))?;
        let mut tokenizer = Tokenizer::new(model);
        if words.compose {
            tokenizer.with_normalizer(Some(NormalizerWrapper::NFC(tokenizers::normalizers::NFC)));
        }
        let mut steps: Vec<PreTokenizerWrapper> = Vec::new();
        if words.single_digits {
            steps.push(Digits::new(true).into());
        }
        if let Some(pattern) = words.pattern {
            let pattern = SplitPattern::Regex(pattern.to_owned());
            let split =
                Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(tokenizer_error)?;
            steps.push(split.into());
        }
        steps.push(ByteLevel::new(false, true, words.pattern.is_none()).into());
        tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
        Ok((Self(tokenizer), words.add_bos))
    }

    /// The tokens of a text.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.0.encode_fast(text, false).map_err(tokenizer_error)?;
        Ok(encoding.get_ids().to_vec())
    }
}

/// The byte that a character of GPT-2's alphabet stands for. Printable bytes of Latin-1 stand for themselves, the others
/// for the characters from U+0100 on, in order.
fn byte_of_char(c: char) -> Option<u8> {
    let printable = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let code = u32::from(c);
    if code < 256 {
        return if printable(code) { u8::try_from(code).ok() } else { None };
    }
    (0..256u32).filter(|b| !printable(*b)).nth(code as usize - 256).and_then(|b| u8::try_from(b).ok())
}

/// The bytes that a token's text stands for.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of_char(c) {
            Some(b) => bytes.push(b),
            None => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_gpt2s() {
        assert_eq!(bytes_of("Ġhello"), b" hello");
        assert_eq!(bytes_of("Ċ"), b"\n");
        assert_eq!(bytes_of("Ã©"), "é".as_bytes());
        let all: std::collections::BTreeSet<u8> =
            (0..0x200).filter_map(char::from_u32).filter_map(byte_of_char).collect();
        assert_eq!(all.len(), 256);
        let by_crate: std::collections::BTreeSet<u8> =
            ByteLevel::alphabet().into_iter().filter_map(byte_of_char).collect();
        assert_eq!(by_crate.len(), 256, "the same characters as the tokenizers crate uses");
    }
}
