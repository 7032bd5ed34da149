//! Two texts as one sequence: `[CLS] first [SEP] second [SEP]`, or whatever the model's tokenizer makes of a pair.

use std::path::Path;

use counterproof_core::{Error, InternalError, Result};
use tokenizers::{Encoding, Tokenizer};

use crate::tokens::{Sequence, open_tokenizer};

/// A tokenizer that reads the texts of a pair apart, so that each is tokenized once however often it is paired, and
/// so that callers decide what is cut.
///
/// Special tokens that stand written in a text are read as ordinary words: a page that says `[SEP]` cannot end the
/// evidence.
pub struct PairTokenizer {
    inner: Tokenizer,
    /// Special tokens before, between and after the texts, each with its segment.
    before: Vec<(u32, u32)>,
    between: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    /// The segments of the two texts.
    segments: [u32; 2],
}

/// A tokenized text and where each token stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Rows of the word table.
    pub ids: Vec<u32>,
    /// For each token its bytes in the text, on character bounds.
    pub offsets: Vec<(usize, usize)>,
}

impl PairTokenizer {
    /// Loads a `tokenizer.json`.
    ///
    /// # Errors
    /// The file is missing, damaged, or does not say how texts are paired.
    pub fn open(path: &Path) -> Result<Self> {
        let mut inner = open_tokenizer(path)?;
        let damaged = |message: String| -> Error {
            InternalError::Damaged { path: path.display().to_string(), message }.into()
        };
        inner.with_truncation(None).map_err(|error| damaged(error.to_string()))?;
        let probe = inner.encode_fast(("a", "a"), true).map_err(|error| damaged(error.to_string()))?;
        let texts = probe.get_sequence_ids();
        let bounds = |text: usize| {
            let first = texts.iter().position(|t| *t == Some(text))?;
            let last = texts.iter().rposition(|t| *t == Some(text))?;
            Some((first, last + 1))
        };
        let (Some((start, end)), Some((next, last))) = (bounds(0), bounds(1)) else {
            return Err(damaged(
                "it does not tell the two texts of a pair apart; fetch the model again".to_owned(),
            ));
        };
        let part = |range: std::ops::Range<usize>| -> Vec<(u32, u32)> {
            let ids = probe.get_ids().get(range.clone()).unwrap_or_default();
            let segments = probe.get_type_ids().get(range).unwrap_or_default();
            ids.iter().copied().zip(segments.iter().copied()).collect()
        };
        let segment = |at: usize| probe.get_type_ids().get(at).copied().unwrap_or(0);
        let (before, between, after) = (part(0..start), part(end..next), part(last..texts.len()));
        let segments = [segment(start), segment(next)];
        inner.set_encode_special_tokens(true);
        Ok(Self { inner, before, between, after, segments })
    }

    fn encode(&self, text: &str) -> Result<Encoding> {
        self.inner.encode(text, false).map_err(|error| Error::failed("tokenizing a text", error))
    }

    /// The tokens of one text, without special tokens.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.inner.encode_fast(text, false);
        Ok(encoding.map_err(|error| Error::failed("tokenizing a text", error))?.get_ids().to_vec())
    }

    /// The tokens of one text, without special tokens, and where they stand.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn tokens(&self, text: &str) -> Result<Tokens> {
        let encoding = self.encode(text)?;
        let bounds = |&(start, end): &(usize, usize)| {
            let start = text.floor_char_boundary(start);
            (start, text.ceil_char_boundary(end).max(start))
        };
        Ok(Tokens {
            ids: encoding.get_ids().to_vec(),
            offsets: encoding.get_offsets().iter().map(bounds).collect(),
        })
    }

    /// Special tokens in a pair.
    pub fn special_tokens(&self) -> usize {
        self.before.len() + self.between.len() + self.after.len()
    }

    /// Where the first text begins in a joined sequence.
    pub fn first_start(&self) -> usize {
        self.before.len()
    }

    /// Where the second text begins in a joined sequence whose first text has `first` tokens.
    pub fn second_start(&self, first: usize) -> usize {
        self.before.len() + first + self.between.len()
    }

    /// Joins two tokenized texts.
    pub fn join(&self, first: &[u32], second: &[u32]) -> Sequence {
        let [one, two] = self.segments;
        let first = first.iter().map(|id| (*id, one));
        let second = second.iter().map(|id| (*id, two));
        let special = |tokens: &Vec<(u32, u32)>| tokens.clone().into_iter();
        let all = special(&self.before).chain(first).chain(special(&self.between));
        let (ids, type_ids) = all.chain(second).chain(special(&self.after)).unzip();
        Sequence { ids, type_ids }
    }
}
