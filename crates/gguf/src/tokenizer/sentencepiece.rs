//! SentencePiece BPE with scores, as in Llama 2 and Gemma: neighbouring pieces are joined while their union is a token,
//! the one with the best score first; what is no token is written byte by byte.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use counterproof_core::Result;

use crate::file::{GgufFile, Value};

pub(super) struct SentencePiece {
    /// Tokens by text, with their scores.
    tokens: HashMap<String, (u32, f32)>,
    byte_tokens: [Option<u32>; 256],
    /// Whether a text begins with a space that is not there.
    space_first: bool,
    unknown: Option<u32>,
}

struct Symbol {
    start: usize,
    len: usize,
    previous: Option<usize>,
    next: Option<usize>,
}

/// Two neighbours that could be joined. Ordered by score, and the leftmost first among equals.
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// Length of the union: tells whether either side has changed since.
    len: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}
impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Pair {}

impl SentencePiece {
    pub(super) fn load(
        file: &GgufFile,
        plain: HashMap<String, u32>,
        byte_tokens: [Option<u32>; 256],
    ) -> Result<Self> {
        let scores = file
            .get("tokenizer.ggml.scores")
            .and_then(Value::as_numbers)
            .ok_or_else(|| file.damaged("its tokenizer has no scores (tokenizer.ggml.scores)"))?;
        let tokens = plain
            .into_iter()
            .map(|(text, id)| (text, (id, scores.get(id as usize).map_or(0.0, |s| *s as f32))))
            .collect();
        Ok(Self {
            tokens,
            byte_tokens,
            space_first: file.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true),
            unknown: file.integer("tokenizer.ggml.unknown_token_id").and_then(|n| u32::try_from(n).ok()),
        })
    }

    /// Adds the tokens of a text. `first` says whether it begins a run of text.
    pub(super) fn encode(&self, text: &str, first: bool, out: &mut Vec<u32>) {
        let mut text = text.replace(' ', "▁");
        if first && self.space_first && !text.is_empty() {
            text.insert(0, '▁');
        }
        let mut symbols: Vec<Symbol> = Vec::new();
        for (i, (start, c)) in text.char_indices().enumerate() {
            symbols.push(Symbol { start, len: c.len_utf8(), previous: i.checked_sub(1), next: Some(i + 1) });
        }
        if let Some(last) = symbols.last_mut() {
            last.next = None;
        }
        let mut queue = BinaryHeap::new();
        for left in 1..symbols.len() {
            self.consider(&text, &symbols, left - 1, left, &mut queue);
        }
        while let Some(pair) = queue.pop() {
            let (Some(left), Some(right)) = (symbols.get(pair.left), symbols.get(pair.right)) else {
                continue;
            };
            if left.len == 0 || right.len == 0 || left.len + right.len != pair.len {
                continue;
            }
            let next = right.next;
            if let Some(left) = symbols.get_mut(pair.left) {
                left.len = pair.len;
                left.next = next;
            }
            if let Some(right) = symbols.get_mut(pair.right) {
                right.len = 0;
            }
            if let Some(next) = next {
                if let Some(symbol) = symbols.get_mut(next) {
                    symbol.previous = Some(pair.left);
                }
                self.consider(&text, &symbols, pair.left, next, &mut queue);
            }
            if let Some(previous) = symbols.get(pair.left).and_then(|s| s.previous) {
                self.consider(&text, &symbols, previous, pair.left, &mut queue);
            }
        }
        for symbol in symbols.iter().filter(|s| s.len > 0) {
            let piece = text.get(symbol.start..symbol.start + symbol.len).unwrap_or_default();
            match self.tokens.get(piece) {
                Some((id, _)) => out.push(*id),
                None => self.bytes(piece, out),
            }
        }
    }

    fn consider(
        &self,
        text: &str,
        symbols: &[Symbol],
        left: usize,
        right: usize,
        queue: &mut BinaryHeap<Pair>,
    ) {
        let (Some(l), Some(r)) = (symbols.get(left), symbols.get(right)) else { return };
        let len = l.len + r.len;
        if let Some((_, score)) = text.get(l.start..l.start + len).and_then(|union| self.tokens.get(union)) {
            queue.push(Pair { score: *score, left, right, len });
        }
    }

    fn bytes(&self, piece: &str, out: &mut Vec<u32>) {
        for byte in piece.bytes() {
            let token = self.byte_tokens.get(usize::from(byte)).copied().flatten();
            out.extend(token.or(self.unknown));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(tokens: &[(&str, f32)]) -> SentencePiece {
        SentencePiece {
            tokens: tokens.iter().zip(256..).map(|((t, s), id)| ((*t).to_owned(), (id, *s))).collect(),
            byte_tokens: std::array::from_fn(|b| Some(b as u32)),
            space_first: true,
            unknown: None,
        }
    }

    fn encode(model: &SentencePiece, text: &str) -> Vec<u32> {
        let mut out = Vec::new();
        model.encode(text, true, &mut out);
        out
    }

    #[test]
    fn the_best_score_joins_first() {
        // 256 ▁, 257 a, 258 b, 259 ab, 260 ▁a: joining "ab" first leaves "▁" alone.
        let model = model(&[("▁", -9.0), ("a", -9.0), ("b", -9.0), ("ab", -1.0), ("▁a", -2.0)]);
        assert_eq!(encode(&model, "ab"), [256, 259]);
        assert_eq!(encode(&model, "a"), [260]);
        assert_eq!(encode(&model, "abab"), [256, 259, 259]);
    }

    #[test]
    fn what_is_no_token_is_written_in_bytes() {
        let model = model(&[("▁", -1.0)]);
        assert_eq!(encode(&model, "é"), [256, 0xc3, 0xa9]);
        assert_eq!(encode(&model, ""), [] as [u32; 0]);
    }
}
