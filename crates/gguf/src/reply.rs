//! A reply as it grows: its text, what the model thought before it, stop texts, and the tokens with their probabilities.

use counterproof_core::TokenLogprob;

use crate::tokenizer::{Piece, TextStream};

/// A reply that is being written.
pub(crate) struct Reply<'a> {
    stops: &'a [String],
    stream: TextStream,
    /// What came before the answer, between thinking marks.
    reasoning: Option<String>,
    thinking: bool,
    count: usize,
    /// Tokens of the text, with the byte of it at which each begins.
    tokens: Vec<(usize, TokenLogprob)>,
    /// Where a stop text begins.
    cut: Option<usize>,
}

/// A finished reply.
pub(crate) struct Finished {
    pub(crate) text: String,
    pub(crate) reasoning: Option<String>,
    pub(crate) tokens: Vec<TokenLogprob>,
}

impl<'a> Reply<'a> {
    /// An empty reply that ends before any of `stops`.
    pub(crate) fn new(stops: &'a [String]) -> Self {
        Self {
            stops,
            stream: TextStream::default(),
            reasoning: None,
            thinking: false,
            count: 0,
            tokens: Vec::new(),
            cut: None,
        }
    }

    /// How many tokens it took so far.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds a token with its log-probability, where that is wanted. Says whether a stop text was met.
    pub(crate) fn push(&mut self, piece: &Piece<'_>, logprob: Option<f64>) -> bool {
        self.count += 1;
        match piece {
            Piece::Control => false,
            Piece::Think => {
                self.thinking = true;
                false
            }
            // Some templates open the thinking themselves, so that only its end is seen.
            Piece::EndThink => {
                let thought = std::mem::take(&mut self.stream).finish();
                self.tokens.clear();
                self.thinking = false;
                self.reasoning.get_or_insert_default().push_str(thought.trim());
                false
            }
            Piece::Text(bytes) => {
                let before = self.stream.text().len();
                self.stream.push(bytes);
                if let Some(logprob) = logprob {
                    let token = String::from_utf8_lossy(bytes).into_owned();
                    self.tokens.push((before, TokenLogprob { token, logprob }));
                }
                !self.thinking && self.meets_stop(before)
            }
        }
    }

    /// Looks for the first stop text that ends in what was added after byte `before`.
    fn meets_stop(&mut self, before: usize) -> bool {
        let text = self.stream.text();
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let from = text.floor_char_boundary(before.saturating_sub(longest));
        let tail = text.get(from..).unwrap_or_default();
        self.cut = self
            .stops
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| tail.find(stop.as_str()))
            .min()
            .map(|at| from + at);
        self.cut.is_some()
    }

    /// The reply, cut before the stop text that ended it.
    pub(crate) fn finish(self) -> Finished {
        let mut text = self.stream.finish();
        if let Some(cut) = self.cut {
            text.truncate(cut);
        }
        let mut tokens: Vec<_> = self
            .tokens
            .into_iter()
            .filter(|(at, _)| self.cut.is_none_or(|cut| *at < cut))
            .map(|(_, token)| token)
            .collect();
        let mut reasoning = self.reasoning.filter(|r| !r.is_empty());
        if self.thinking {
            reasoning.get_or_insert_default().push_str(text.trim());
            text.clear();
            tokens.clear();
        } else if reasoning.is_some() {
            text = text.trim_start().to_owned();
        }
        Finished { text, reasoning, tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(stops: &[&str], pieces: &[Piece<'_>]) -> (Finished, usize) {
        let stops: Vec<String> = stops.iter().map(|s| (*s).to_owned()).collect();
        let mut reply = Reply::new(&stops);
        let mut read = 0;
        for piece in pieces {
            read += 1;
            if reply.push(piece, Some(-1.0)) {
                break;
            }
        }
        (reply.finish(), read)
    }

    #[test]
    fn it_ends_before_the_first_stop_text() {
        let pieces = ["one", " t", "wo\n", "\nthree"].map(|s| Piece::Text(s.as_bytes()));
        let (reply, read) = write(&["\n\n", "three"], &pieces);
        assert_eq!((reply.text.as_str(), read), ("one two", 4));
        let tokens: Vec<_> = reply.tokens.iter().map(|t| t.token.as_str()).collect();
        assert_eq!(tokens, ["one", " t", "wo\n"]);
        let (reply, read) = write(&["t"], &pieces);
        assert_eq!((reply.text.as_str(), read), ("one ", 2));
        assert_eq!(write(&[""], &pieces).0.text, "one two\n\nthree");
    }

    #[test]
    fn a_character_in_two_tokens_comes_whole() {
        let (reply, _) =
            write(&["€!"], &[Piece::Text(&[b'a', 0xe2, 0x82]), Piece::Text(&[0xac]), Piece::Text(b"!")]);
        assert_eq!(reply.text, "a");
    }

    #[test]
    fn thoughts_are_kept_apart() {
        let answer = [Piece::Think, Piece::Text(b"\nhm, stop\n"), Piece::EndThink, Piece::Text(b"\n\nYes")];
        let (reply, _) = write(&["stop"], &answer);
        assert_eq!(reply.text, "Yes");
        assert_eq!(reply.reasoning.as_deref(), Some("hm, stop"));
        assert_eq!(reply.tokens.len(), 1);
        let (unfinished, _) = write(&[], &answer[..2]);
        assert_eq!(unfinished.text, "");
        assert_eq!(unfinished.reasoning.as_deref(), Some("hm, stop"));
        let (unopened, _) = write(&[], &answer[1..]);
        assert_eq!(unopened.reasoning.as_deref(), Some("hm, stop"));
        let (control, _) = write(&[], &[Piece::Control, Piece::Text(b"a")]);
        assert_eq!((control.text.as_str(), control.reasoning), ("a", None));
    }
}
