//! A text taken apart once for all comparisons.

use std::collections::HashMap;

use counterproof_core::ByteSpan;

use crate::packs::{chinese, english};
use crate::sentences::sentences;
use crate::tokens::words;
use crate::value::{Found, values};

/// A word of a text.
pub(super) struct Word {
    pub(super) span: ByteSpan,
    /// Lower-case, without its most common endings.
    pub(super) stem: String,
    /// Whether it carries content.
    pub(super) content: bool,
    /// The sentence it stands in.
    pub(super) sentence: usize,
}

/// A text with its words, sentences and values.
pub(super) struct Reading<'a> {
    pub(super) text: &'a str,
    pub(super) words: Vec<Word>,
    pub(super) sentences: Vec<ByteSpan>,
    pub(super) values: Vec<Found>,
    /// Places of each stem among the words.
    places: HashMap<String, Vec<usize>>,
}

/// How a statement lies on its evidence.
pub(super) struct Alignment {
    /// The sentence of the evidence that holds most of the statement's content.
    pub(super) sentence: Option<usize>,
    /// The share of the statement's content words that the sentence holds.
    pub(super) sentence_share: f32,
    /// The same for the whole evidence.
    pub(super) share: f32,
    /// The share of neighbouring pairs of the statement's words that stand side by side in the evidence.
    pub(super) pairs: f32,
    /// The longest run of the statement's words in the evidence, as a share of the statement.
    pub(super) run: f32,
}

impl<'a> Reading<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let sentences = sentences(text);
        let mut sentence = 0;
        let mut all = Vec::new();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for span in words(text) {
            let Some(word) = span.slice(text) else { continue };
            while sentences.get(sentence).is_some_and(|s| s.end() <= span.start()) {
                sentence += 1;
            }
            let stem = stem(word);
            places.entry(stem.clone()).or_default().push(all.len());
            all.push(Word { span, content: is_content(&word.to_lowercase()), stem, sentence });
        }
        Self { text, words: all, sentences, values: values(text), places }
    }

    /// Where a stem stands among the words.
    pub(super) fn places_of(&self, stem: &str) -> &[usize] {
        self.places.get(stem).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn holds(&self, stem: &str) -> bool {
        self.places.contains_key(stem)
    }

    /// The stems that carry content, each once, in order.
    pub(super) fn content(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for word in self.words.iter().filter(|w| w.content) {
            if !out.contains(&word.stem.as_str()) {
                out.push(&word.stem);
            }
        }
        out
    }

    /// The words between two bytes.
    pub(super) fn within(&self, span: ByteSpan) -> &[Word] {
        let from = self.words.partition_point(|w| w.span.end() <= span.start());
        let to = self.words.partition_point(|w| w.span.start() < span.end());
        self.words.get(from..to).unwrap_or_default()
    }

    /// The number of the first word that ends behind `byte`.
    pub(super) fn word_at(&self, byte: usize) -> usize {
        self.words.partition_point(|w| w.span.end() <= byte)
    }

    /// The sentence that holds `byte`.
    pub(super) fn sentence_at(&self, byte: usize) -> usize {
        self.sentences.partition_point(|s| s.end() <= byte)
    }

    /// How `statement` lies on this text.
    pub(super) fn align(&self, statement: &Reading<'_>) -> Alignment {
        let content = statement.content();
        let share = |held: usize| if content.is_empty() { 0.0 } else { held as f32 / content.len() as f32 };
        let mut held = vec![0usize; self.sentences.len()];
        let mut anywhere = 0;
        for stem in &content {
            let places = self.places_of(stem);
            anywhere += usize::from(!places.is_empty());
            let mut last = None;
            for word in places.iter().filter_map(|at| self.words.get(*at)) {
                if last != Some(word.sentence)
                    && let Some(count) = held.get_mut(word.sentence)
                {
                    *count += 1;
                    last = Some(word.sentence);
                }
            }
        }
        // Of equal sentences the first.
        let best = held
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .max_by_key(|(at, n)| (**n, std::cmp::Reverse(*at)));
        let (pairs, run) = self.runs(statement);
        Alignment {
            sentence: best.map(|(at, _)| at),
            sentence_share: share(best.map_or(0, |(_, n)| *n)),
            share: share(anywhere),
            pairs,
            run,
        }
    }

    /// The share of neighbouring pairs that are kept, and the longest run as a share of the statement.
    fn runs(&self, statement: &Reading<'_>) -> (f32, f32) {
        let total = statement.words.len();
        if total == 0 {
            return (0.0, 0.0);
        }
        let (mut pairs, mut longest) = (0usize, 0usize);
        // For each place of the evidence at which a run could go on: how long it is so far.
        let mut open: HashMap<usize, usize> = HashMap::new();
        for word in &statement.words {
            let mut next = HashMap::new();
            for place in self.places_of(&word.stem) {
                let length = place.checked_sub(1).and_then(|p| open.get(&p)).copied().unwrap_or(0) + 1;
                longest = longest.max(length);
                next.insert(*place, length);
            }
            pairs += usize::from(next.values().any(|length| *length > 1));
            open = next;
        }
        (pairs as f32 / (total.max(2) - 1) as f32, longest as f32 / total as f32)
    }
}

/// Words of questions and very common verbs, which say little about what a text is about.
const EMPTY_WORDS: [&str; 32] = [
    "the", "a", "an", "what", "when", "where", "why", "how", "whom", "whose", "there", "not", "no", "also",
    "than", "then", "can", "could", "would", "should", "may", "any", "some", "such", "these", "those", "we",
    "you", "i", "answer", "if", "so",
];

fn is_content(word: &str) -> bool {
    !english::STOP_WORDS.contains(&word)
        && !EMPTY_WORDS.contains(&word)
        && !chinese::FUNCTION_WORDS.contains(&word)
}

/// A word without its plural, possessive and regular verb endings: enough to compare the words of two sentences.
pub(super) fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    let word = lower.trim_end_matches("'s").trim_end_matches("’s");
    if !word.is_ascii() || word.len() < 5 || word.bytes().any(|b| b.is_ascii_digit()) {
        return match word.strip_suffix('s') {
            Some(stem) if word.is_ascii() && stem.len() == 3 && !stem.ends_with(['s', 'i', 'u', 'a']) => {
                stem.to_owned()
            }
            _ => word.to_owned(),
        };
    }
    for (ending, with) in [
        ("ies", "y"),
        ("ied", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
        ("e", ""),
    ] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && !(ending == "s" && stem.ends_with(['s', 'u', 'i']))
            && stem.bytes().any(|b| b"aeiouy".contains(&b))
        {
            return format!("{}{with}", stem.strip_suffix('e').filter(|s| s.len() >= 3).unwrap_or(stem));
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            ["release", "released", "releases"],
            ["city", "cities", "city's"],
            ["play", "played", "playing"],
            ["band", "bands", "band's"],
        ] {
            let stems: Vec<String> = forms.iter().map(|f| stem(f)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{stems:?}");
        }
        assert_eq!(
            (stem("1990s"), stem("this"), stem("Paris")),
            ("1990s".into(), "this".into(), "paris".into())
        );
    }

    #[test]
    fn the_sentence_that_shares_most_is_found() {
        let evidence = Reading::new("The band split. It released the album in Rome. Nobody came.");
        let aligned = evidence.align(&Reading::new("The album was released in Rome in 1990."));
        assert_eq!(aligned.sentence, Some(1));
        assert_eq!(aligned.share, 0.75);
        assert!(aligned.run > 0.2 && aligned.pairs > 0.0);
        assert_eq!(evidence.align(&Reading::new("")).sentence, None);
    }
}
