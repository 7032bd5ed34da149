//! Text from tokens as they come. A character may be spread over several tokens; it is held back until it is whole.

/// Puts bytes together into text.
#[derive(Debug, Default)]
pub(crate) struct TextStream {
    text: String,
    pending: Vec<u8>,
}

impl TextStream {
    /// Adds the bytes of a token. Bytes that can never be text become a replacement character.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(text) => {
                    self.text.push_str(text);
                    self.pending.clear();
                    return;
                }
                Err(e) => {
                    let good = e.valid_up_to();
                    if let Some(text) = self.pending.get(..good).and_then(|b| std::str::from_utf8(b).ok()) {
                        self.text.push_str(text);
                    }
                    let Some(bad) = e.error_len() else {
                        self.pending.drain(..good);
                        return;
                    };
                    self.text.push(char::REPLACEMENT_CHARACTER);
                    self.pending.drain(..good + bad);
                }
            }
        }
    }

    /// The whole characters so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Everything, with a replacement character for a character that was not finished.
    pub(crate) fn finish(mut self) -> String {
        if !self.pending.is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_a_character_waits() {
        let mut stream = TextStream::default();
        stream.push(&[b'a', 0xe2, 0x82]);
        assert_eq!(stream.text(), "a");
        stream.push(&[0xac]);
        assert_eq!(stream.text(), "a€");
        stream.push(&[0xff, b'b', 0xc3]);
        assert_eq!(stream.text(), "a€\u{fffd}b");
        assert_eq!(stream.finish(), "a€\u{fffd}b\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_cut_of_the_bytes_gives_the_same_text(text in "\\PC*", cuts in proptest::collection::vec(1usize..5, 0..60)) {
            let mut stream = TextStream::default();
            let mut rest = text.as_bytes();
            for cut in cuts {
                let (piece, tail) = rest.split_at(cut.min(rest.len()));
                stream.push(piece);
                rest = tail;
            }
            stream.push(rest);
            prop_assert_eq!(stream.finish(), text);
        }

        #[test]
        fn any_bytes_read_as_the_standard_library_reads_them(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut stream = TextStream::default();
            for b in &bytes {
                stream.push(&[*b]);
            }
            prop_assert_eq!(stream.finish(), String::from_utf8_lossy(&bytes));
        }
    }
}
