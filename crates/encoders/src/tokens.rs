//! Text to token numbers, by the `tokenizer.json` of the model.

use std::path::Path;

use counterproof_core::{Error, InternalError, Result, UserError};
use tokenizers::{Tokenizer, TruncationParams};

/// One text as the encoder sees it, with the special tokens that the model expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Rows of the word table.
    pub ids: Vec<u32>,
    /// Rows of the segment table.
    pub type_ids: Vec<u32>,
}

impl Sequence {
    /// Tokens, special ones included.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Loads a `tokenizer.json`, without padding.
pub(crate) fn open_tokenizer(path: &Path) -> Result<Tokenizer> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => UserError::NotFound {
            what: format!("the encoder's tokenizer {}", path.display()),
            hint: "a model folder holds tokenizer.json beside its weights; fetch the model again".to_owned(),
        }
        .into(),
        _ => Error::io("reading", path, &error),
    })?;
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| damaged(path, &error))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

fn damaged(path: &Path, error: &tokenizers::Error) -> Error {
    let message = format!("{error}; fetch the model again");
    InternalError::Damaged { path: path.display().to_string(), message }.into()
}

/// A tokenizer that cuts every text to the window of the encoder.
pub(crate) struct WindowTokenizer {
    inner: Tokenizer,
    max_tokens: usize,
}

impl WindowTokenizer {
    pub(crate) fn open(path: &Path, max_tokens: usize) -> Result<Self> {
        let mut inner = open_tokenizer(path)?;
        let truncation = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
        inner.with_truncation(Some(truncation)).map_err(|error| damaged(path, &error))?;
        Ok(Self { inner, max_tokens })
    }

    /// The tokens of `text`, at most as many as the window holds.
    pub(crate) fn encode(&self, text: &str) -> Result<Sequence> {
        // A text of a megabyte fills the window with its first page: only as much is read as the window needs.
        const BYTES_PER_TOKEN: usize = 16;
        let mut limit = self.max_tokens.saturating_mul(BYTES_PER_TOKEN);
        loop {
            let head = head(text, limit);
            let encoding = self
                .inner
                .encode_fast(head, true)
                .map_err(|error| Error::failed("tokenizing a text", error))?;
            if head.len() == text.len() || !encoding.get_overflowing().is_empty() {
                return Ok(Sequence {
                    ids: encoding.get_ids().to_vec(),
                    type_ids: encoding.get_type_ids().to_vec(),
                });
            }
            limit = limit.saturating_mul(4);
        }
    }
}

/// At most the first `limit` bytes of `text`, cut where no word is torn if there is such a place.
fn head(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let head = text.get(..text.floor_char_boundary(limit)).unwrap_or(text);
    match head.rfind(char::is_whitespace) {
        Some(end) if end > 0 => head.get(..end).unwrap_or(head),
        _ => head,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_words_and_never_inside_a_letter() {
        assert_eq!(head("one two three", 9), "one two");
        assert_eq!(head("one two", 9), "one two");
        assert_eq!(head("abcdefghij", 4), "abcd");
        assert_eq!(head("天文台开放", 7), "天文");
        assert_eq!(head(" abcdefghij", 4), " abc");
    }
}
