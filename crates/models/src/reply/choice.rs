//! A value that is one of a few words.

use super::{Parsed, Unparsed, beginning};

/// Words that may follow the chosen word without a mark between: `yes because ...`, `No it does not`, `是的`.
const CONNECTIVES: [&str; 27] = [
    "because", "since", "as", "due", "based", "given", "it", "this", "that", "the", "they", "there", "he",
    "she", "we", "i", "so", "while", "although", "的", "因为", "由于", "，", "。", "；", "：", "、",
];

/// Words that may stand before it: `The answer is yes`, `Decision: KEEP`.
const LEADS: [&str; 10] = [
    "the answer is",
    "my answer is",
    "the decision is",
    "my decision is",
    "the verdict is",
    "my verdict is",
    "answer:",
    "decision:",
    "verdict:",
    "label:",
];

/// The one of `allowed` that `text` amounts to.
///
/// The word has to lead the value, in whatever case, quotes and emphasis: `yes`, `Yes.`, `**YES**`, `yes - because no
/// other ...` all read as `yes`. A value that begins with something else is [`Unparsed::Unknown`] even when the word
/// occurs in it (`I would not revise`), and one that goes on to another of the words (`yes, no`, `KEEP|REVISE`,
/// `yes or no`) is [`Unparsed::Ambiguous`]: neither is ever guessed.
pub fn choice<'w>(text: &str, allowed: &[&'w str]) -> Parsed<&'w str> {
    read(text, allowed, false).into()
}

pub(super) fn read<'w>(text: &str, allowed: &[&'w str], cut_off: bool) -> Result<&'w str, Unparsed> {
    if text.trim().is_empty() {
        return Err(Unparsed::Empty);
    }
    let unknown = || Unparsed::Unknown { found: beginning(text), allowed: allowed.join(", ") };
    let folded = Folded::new(text);
    let mut start = skip_marks(&folded.text, 0);
    for lead in LEADS {
        if folded.from(start).starts_with(lead) {
            start = skip_marks(&folded.text, start + lead.len());
            break;
        }
    }
    let word = leading(&folded.text, start, allowed).ok_or_else(unknown)?;
    let end = start + word.to_lowercase().len();
    let rest = folded.from(end);
    if rest.trim().is_empty() && cut_off {
        return Err(Unparsed::CutOff { what: beginning(text) });
    }
    let next = skip_joints(&folded.text, end);
    if let Some(other) = leading(&folded.text, next, allowed).filter(|other| *other != word) {
        return Err(Unparsed::Ambiguous { between: format!("{word}, {other}") });
    }
    let follows = rest.trim_start();
    let separated = follows.is_empty()
        || rest.starts_with(['\n', '\r'])
        || !follows.starts_with(|c: char| c.is_alphanumeric())
        || CONNECTIVES.iter().any(|c| starts_with_word(follows, c));
    // "KEEP the draft": the word as it was asked for, in capitals, and no other of them anywhere.
    let capitals = word.chars().any(char::is_uppercase)
        && folded.original(start, end) == Some(word)
        && !allowed.iter().any(|other| *other != word && contains_word(text, other));
    if separated || capitals { Ok(word) } else { Err(unknown()) }
}

/// The longest allowed word at `start`, ending at a word's end.
fn leading<'w>(text: &str, start: usize, allowed: &[&'w str]) -> Option<&'w str> {
    let rest = text.get(start..)?;
    allowed.iter().filter(|w| starts_with_word(rest, &w.to_lowercase())).max_by_key(|w| w.len()).copied()
}

/// Whether `text` begins with `word` and the word ends there. Scripts without spaces have no such end.
fn starts_with_word(text: &str, word: &str) -> bool {
    let Some(rest) = text.strip_prefix(word).filter(|_| !word.is_empty()) else { return false };
    let goes_on = |c: char| {
        c.is_alphanumeric() || c == '_' || c == '\'' && rest.chars().nth(1).is_some_and(char::is_alphabetic)
    };
    let spaced = word.chars().next_back().is_some_and(|c| !c.is_alphanumeric() || is_cjk(c));
    spaced || !rest.chars().next().is_some_and(goes_on)
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(i, _)| {
        let before = text.get(..i).and_then(|t| t.chars().next_back());
        !before.is_some_and(char::is_alphanumeric) && text.get(i..).is_some_and(|t| starts_with_word(t, word))
    })
}

pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Past white space and marks that may stand before a value.
fn skip_marks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len()
        - rest.trim_start_matches(|c: char| c.is_whitespace() || "*#`_\"'“‘「『([<-:：•".contains(c)).len()
}

/// Past whatever may join two of the words: marks, "or", "and", "或".
fn skip_joints(text: &str, at: usize) -> usize {
    let mut at = at;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest
            .trim_start_matches(|c: char| c.is_whitespace() || "*`_\"'”’」』)]>|/\\,，、;；&+-".contains(c));
        let joined = ["or ", "and ", "or/", "/or ", "或者", "或", "和"]
            .iter()
            .find_map(|j| trimmed.strip_prefix(j))
            .unwrap_or(trimmed);
        let next = at + rest.len() - joined.len();
        if next == at {
            return at;
        }
        at = next;
    }
}

/// A text in lower case, with the way back to the original.
struct Folded<'t> {
    source: &'t str,
    text: String,
    /// For each character: its place in the folded text and in the source.
    places: Vec<(usize, usize)>,
}

impl<'t> Folded<'t> {
    /// Only the head of the value is looked at: what is chosen leads it.
    const HEAD: usize = 400;

    fn new(source: &'t str) -> Self {
        let mut folded = Self { source, text: String::new(), places: Vec::new() };
        for (i, c) in source.char_indices().take(Self::HEAD) {
            folded.places.push((folded.text.len(), i));
            folded.text.extend(c.to_lowercase());
        }
        folded
    }

    fn from(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }

    fn original(&self, start: usize, end: usize) -> Option<&'t str> {
        let place = |at: usize| self.places.iter().find(|(f, _)| *f == at).map(|(_, s)| *s);
        let until = place(end).unwrap_or(self.source.len());
        self.source.get(place(start)?..until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YES_NO: [&str; 2] = ["yes", "no"];

    #[test]
    fn the_leading_word_is_the_choice() {
        for text in [
            "yes",
            "yes ",
            "yes\n",
            "Yes.",
            "YES!",
            "**Yes**",
            "\"yes\"",
            "yes - because no other passage says so",
            "Yes, it does.",
            "yes because it does",
            "The answer is yes.",
            "Answer: yes",
            "(yes)",
            "yes: the text says no such thing",
            "- yes",
        ] {
            assert_eq!(choice(text, &YES_NO), Parsed::Read("yes"), "{text:?}");
        }
        assert_eq!(choice("KEEP the draft", &["KEEP", "REVISE"]), Parsed::Read("KEEP"));
        assert_eq!(choice("keep", &["KEEP", "REVISE"]), Parsed::Read("KEEP"));
        assert_eq!(choice("not supported.", &["supported", "not supported"]), Parsed::Read("not supported"));
        assert_eq!(choice("是的，可以", &["是", "否"]), Parsed::Read("是"));
        assert_eq!(choice("否。", &["是", "否"]), Parsed::Read("否"));
    }

    #[test]
    fn anything_else_is_not_guessed() {
        for text in [
            "maybe",
            "I cannot say yes",
            "nope",
            "no idea",
            "not sure",
            "none",
            "yesterday",
            "unknown",
            "I would say no",
            "no one knows",
            "不是",
        ] {
            let read = choice(text, &["yes", "no", "是"]);
            assert!(matches!(read, Parsed::Unparsed(Unparsed::Unknown { .. })), "{text:?}: {read:?}");
        }
        for text in
            ["yes or no", "yes/no", "Yes, No, Yes", "yes|no", "**yes** / **no**", "yes and no", "yes\nno"]
        {
            let read = choice(text, &YES_NO);
            assert!(matches!(read, Parsed::Unparsed(Unparsed::Ambiguous { .. })), "{text:?}: {read:?}");
        }
        assert!(matches!(choice("是否", &["是", "否"]), Parsed::Unparsed(Unparsed::Ambiguous { .. })));
        assert_eq!(choice("  ", &YES_NO), Parsed::Unparsed(Unparsed::Empty));
    }
}
