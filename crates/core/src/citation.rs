//! A citation that anyone can verify: where the quote stands, its words, and the digest of the passage it was taken
//! from.

use serde::{Deserialize, Serialize};

use crate::{ByteSpan, Passage, PassageId, Sha256Hex, sha256_hex};

/// Words of a passage that a decision rests on.
///
/// The quote is the bytes `start..end` of the passage's text, and `sha256` is the SHA-256 of that whole text, so that
/// a citation made against another version of the passage is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The passage quoted.
    pub passage: PassageId,
    /// Its title.
    pub title: String,
    /// First byte of the quote in the passage's text.
    pub start: usize,
    /// One past the last byte of the quote.
    pub end: usize,
    /// The words quoted.
    pub quote: String,
    /// SHA-256 of the whole text of the passage.
    pub sha256: Sha256Hex,
}

/// Why a citation does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CitationError {
    /// The passage is another one than the citation names.
    #[error("the citation is of passage {cited}, not of {given}")]
    OtherPassage {
        /// The passage that the citation names.
        cited: PassageId,
        /// The passage it was compared with.
        given: PassageId,
    },
    /// The text of the passage has changed since it was cited.
    #[error("the text of passage {0} is not the one that was cited")]
    TextChanged(PassageId),
    /// The bytes of the span are not the quote, or the span is out of range.
    #[error("bytes {start}..{end} of passage {passage} are not the words quoted")]
    QuoteMismatch {
        /// The passage cited.
        passage: PassageId,
        /// First byte of the span.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
}

impl Citation {
    /// Cites `span` of `passage`; `None` when the span does not lie in its text on character bounds.
    pub fn new(passage: &Passage, span: ByteSpan) -> Option<Self> {
        let quote = span.slice(&passage.text)?;
        Some(Self {
            passage: passage.id.clone(),
            title: passage.title.clone(),
            start: span.start(),
            end: span.end(),
            quote: quote.to_owned(),
            sha256: sha256_hex(&passage.text),
        })
    }

    /// Checks the citation against the passage it names.
    ///
    /// # Errors
    /// Says which part does not hold: the passage, its text, or the quote.
    pub fn verify(&self, passage: &Passage) -> Result<(), CitationError> {
        if self.passage != passage.id {
            return Err(CitationError::OtherPassage {
                cited: self.passage.clone(),
                given: passage.id.clone(),
            });
        }
        if self.sha256 != sha256_hex(&passage.text) {
            return Err(CitationError::TextChanged(self.passage.clone()));
        }
        match ByteSpan::new(self.start, self.end).and_then(|s| s.slice(&passage.text)) {
            Some(words) if words == self.quote => Ok(()),
            _ => Err(CitationError::QuoteMismatch {
                passage: self.passage.clone(),
                start: self.start,
                end: self.end,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_holds_only_for_the_text_it_was_taken_from() {
        let passage = Passage::new("p1", "Laboratory", "It was founded in 1913.");
        let citation = Citation::new(&passage, ByteSpan::new(18, 22).unwrap()).unwrap();
        assert_eq!(citation.quote, "1913");
        assert_eq!(citation.verify(&passage), Ok(()));

        let edited = Passage::new("p1", "Laboratory", "It was founded in 1912.");
        assert!(matches!(citation.verify(&edited), Err(CitationError::TextChanged(_))));

        let forged = Citation { quote: "1912".into(), ..citation };
        assert!(matches!(forged.verify(&passage), Err(CitationError::QuoteMismatch { .. })));
    }
}
