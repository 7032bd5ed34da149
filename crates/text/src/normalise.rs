//! Normal forms under which two answers count as the same string.
//!
//! The scorers of SQuAD, HotpotQA, KILT, QAMPARI and ALCE share one normaliser, which [`squad`] repeats exactly, down
//! to what Python calls punctuation, white space and a word: a figure computed here can be set beside a published one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::han::is_han;

/// Python's `\w`: letters, numbers and the underscore, without combining marks (which Rust's `\w` has).
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{L}\p{N}_]+").ok());

/// The normal form of SQuAD and HotpotQA: lower case, the 32 ASCII punctuation characters deleted, the whole words
/// *a*, *an*, *the* dropped, white space squeezed.
///
/// Deletion joins the pieces, so that `A-League` becomes `aleague`. Punctuation outside ASCII stays.
pub fn squad(text: &str) -> String {
    let lower = text.to_lowercase();
    let bare: String = lower.chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let without_articles = without_articles(&bare);
    let mut out = String::with_capacity(without_articles.len());
    for word in without_articles.split(is_python_space).filter(|w| !w.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The normal form of NQ-open: Unicode NFD, then [`squad`].
pub fn nq_open(text: &str) -> String {
    if text.is_ascii() { squad(text) } else { squad(&text.nfd().collect::<String>()) }
}

/// Python's `str.split()` also splits on the four information separators.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn without_articles(text: &str) -> String {
    let Some(word) = WORD.as_ref() else { return text.to_owned() };
    word.replace_all(text, |found: &regex::Captures<'_>| {
        let found = found.get(0).map_or("", |m| m.as_str());
        if matches!(found, "a" | "an" | "the") { " ".to_owned() } else { found.to_owned() }
    })
    .into_owned()
}

/// The text in Unicode NFC, borrowed when it is so already.
pub fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// The ASCII character for a full-width form, any other character as it is.
pub(crate) fn fold_char(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        _ => c,
    }
}

/// Full-width forms (`１９６７`, `ＡＢＣ`, `％`, the ideographic space) as their ASCII characters; the rest unchanged.
pub fn fold_width(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(|c| fold_char(c) != c) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().map(fold_char).collect())
    }
}

/// Other names of the same answer: each name, in [`squad`] form, leads to one chosen name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aliases {
    canonical: HashMap<String, String>,
}

impl Aliases {
    /// Declares `alias` another name of `name`.
    pub fn insert(&mut self, name: &str, alias: &str) {
        let name = self.resolve(squad(name));
        self.canonical.insert(squad(alias), name);
    }

    fn resolve(&self, normal: String) -> String {
        self.canonical.get(&normal).cloned().unwrap_or(normal)
    }

    /// The [`squad`] form of the name that `text` stands for.
    pub fn normalise(&self, text: &str) -> String {
        self.resolve(squad(text))
    }
}

impl<N: AsRef<str>, A: AsRef<str>> FromIterator<(N, A)> for Aliases {
    /// From pairs of `(name, alias)`.
    fn from_iter<T: IntoIterator<Item = (N, A)>>(pairs: T) -> Self {
        let mut aliases = Self::default();
        for (name, alias) in pairs {
            aliases.insert(name.as_ref(), alias.as_ref());
        }
        aliases
    }
}

/// The "normalised match" of Epi-Scale: whether `prediction` says one of `golds`.
///
/// Strict: it equals a gold answer in [`squad`] form once aliases are mapped. With `containment`, for gold answers of
/// two characters or more, it is also right when the gold answer's words stand in it in a row and those of no
/// `planted` answer do. An answer whose normal form is empty (`The`) matches only another empty one.
pub fn epi_scale_match(
    prediction: &str,
    golds: &[impl AsRef<str>],
    planted: &[impl AsRef<str>],
    aliases: &Aliases,
    containment: bool,
) -> bool {
    let said = squad(prediction);
    let resolved = aliases.normalise(prediction);
    let golds: Vec<(String, String)> =
        golds.iter().map(|g| (squad(g.as_ref()), aliases.normalise(g.as_ref()))).collect();
    if golds.iter().any(|(plain, mapped)| *plain == said || *mapped == resolved) {
        return true;
    }
    if !containment {
        return false;
    }
    let holds = |plain: &str, mapped: &str| {
        contains_phrase(&said, plain)
            || contains_phrase(&said, mapped)
            || aliases.canonical.iter().any(|(alias, name)| name == mapped && contains_phrase(&said, alias))
    };
    golds.iter().any(|(plain, mapped)| plain.chars().nth(1).is_some() && holds(plain, mapped))
        && !planted.iter().any(|p| holds(&squad(p.as_ref()), &aliases.normalise(p.as_ref())))
}

/// Whether the tokens of `phrase` stand in `text` in a row; both in normal form (words parted by one space).
///
/// Between ideographs every place is a word boundary, because Chinese is written without spaces. An empty phrase is
/// in no text.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    let (Some(first), Some(last)) = (phrase.chars().next(), phrase.chars().next_back()) else { return false };
    let open_start = is_han(first);
    let open_end = is_han(last);
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).and_then(|s| s.chars().next_back());
        let after = text.get(at + phrase.len()..).and_then(|s| s.chars().next());
        before.is_none_or(|c| c == ' ' || open_start || is_han(c))
            && after.is_none_or(|c| c == ' ' || open_end || is_han(c))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn squad_deletes_punctuation_before_it_looks_for_articles() {
        assert_eq!(squad("The U.S. Capitol, D.C."), "us capitol dc");
        assert_eq!(squad("A-League"), "aleague");
        assert_eq!(squad("O'Brien's"), "obriens");
        assert_eq!(squad("an — the é"), "— é");
        assert_eq!(squad("  The\tthe \u{1c} theatre\u{3000}A "), "theatre");
        assert_eq!(squad("snake_case “quoted”"), "snakecase “quoted”");
    }

    #[test]
    fn a_combining_mark_ends_a_word_as_it_does_in_python() {
        assert_eq!(squad("the\u{301} end"), "\u{301} end");
        assert_eq!(squad("thé end"), "thé end");
    }

    #[test]
    fn nq_open_compares_composed_and_decomposed_letters_equal() {
        assert_eq!(nq_open("café"), nq_open("cafe\u{301}"));
        assert_ne!(nq_open("café"), nq_open("cafe"));
        assert_ne!(squad("café"), squad("cafe\u{301}"));
    }

    #[test]
    fn full_width_forms_fold_to_ascii() {
        assert_eq!(fold_width("１９６７年，ＡＢＣ　５％"), "1967年,ABC 5%");
        assert!(matches!(fold_width("1967 年"), Cow::Borrowed(_)));
        assert_eq!(nfc("e\u{301}"), "é");
    }

    #[test]
    fn epi_scale_match_strict_and_contained() {
        let none: [&str; 0] = [];
        let aliases = Aliases::from_iter([("New York City", "NYC"), ("New York City", "Big Apple")]);
        let is = |p: &str, g: &str, planted: &[&str], c| epi_scale_match(p, &[g], planted, &aliases, c);
        assert!(is("The Beatles!", "beatles", &none, false));
        assert!(is("NYC", "New York City", &none, false));
        assert!(is("the Big Apple", "NYC", &none, false));
        assert!(!is("It was the Beatles.", "Beatles", &none, false));
        assert!(is("It was the Beatles.", "Beatles", &none, true));
        assert!(is("It is in NYC, I think", "New York City", &none, true));
        assert!(!is("Either Paris or Rome", "Paris", &["Rome"], true));
        assert!(!is("The Beatlesque sound", "Beatles", &none, true));
        assert!(is("首都是北京。", "北京", &none, true));
    }

    #[test]
    fn a_gold_answer_of_one_letter_or_none_is_never_found_inside_another() {
        let none: [&str; 0] = [];
        let aliases = Aliases::default();
        for gold in ["A", "The", "", "..."] {
            assert!(
                !epi_scale_match("A long answer about the thing", &[gold], &none, &aliases, true),
                "{gold}"
            );
        }
        assert!(!epi_scale_match("vitamin B and C", &["C"], &none, &aliases, true));
        assert!(epi_scale_match("the", &["A"], &none, &aliases, true));
        assert!(!contains_phrase("anything", ""));
    }

    proptest! {
        #[test]
        fn squad_is_idempotent(text in any::<String>()) {
            let once = squad(&text);
            prop_assert_eq!(squad(&once), once);
        }

        #[test]
        fn squad_has_single_spaces_no_ascii_punctuation_and_no_article(text in ".{0,60}") {
            let normal = squad(&text);
            prop_assert!(!normal.contains("  ") && normal.trim() == normal);
            prop_assert!(!normal.chars().any(|c| c.is_ascii_punctuation()));
            prop_assert!(!normal.split(' ').any(|w| ["a", "an", "the"].contains(&w)));
        }

        #[test]
        fn nfd_never_changes_the_nq_form(text in ".{0,40}") {
            prop_assert_eq!(nq_open(&text.nfd().collect::<String>()), nq_open(&text));
        }

        #[test]
        fn folding_width_keeps_the_number_of_characters(text in ".{0,60}") {
            prop_assert_eq!(fold_width(&text).chars().count(), text.chars().count());
        }
    }
}
