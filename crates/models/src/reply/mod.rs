//! Reading what a model replied: one tolerant parser for labelled lines and JSON.
//!
//! Models were asked for a form and mostly keep to it, with fences, emphasis, chatter, trailing commas, escapes too
//! many, or an end that was cut off. Everything that can be read without guessing is read, and each repair is named
//! and logged; everything else is [`Parsed::Unparsed`] with its reason, which is never the same as a negative answer.
//! JSON that is valid is taken as it stands.
//!
//! A reply may repeat words of the passages or candidates the model was shown, and those may be written to look like a
//! decision. So only lines that *start* with a label are read, never quoted ones, and
//! [`Reply::excluding`] leaves out every line, object and rating that stands word for word in a text that was given.
//!
//! ```
//! use counterproof_models::reply::{Label, Parsed, Reply};
//!
//! const LABELS: [Label; 3] = [Label::line("DECISION"), Label::line("ANSWER"), Label::block("EVIDENCE")];
//! let reply = "**Decision:** revise\nAnswer: 1913\nEvidence: It was founded\nin 1913.";
//! let Parsed::Read(fields) = Reply::parse(reply, &LABELS) else { unreachable!() };
//! assert_eq!(fields.choice("DECISION", &["KEEP", "REVISE"]), Parsed::Read("REVISE"));
//! assert_eq!(fields.get("EVIDENCE"), Some("It was founded\nin 1913."));
//! ```

mod choice;
mod fields;
mod json;
mod labels;
mod quoted;
mod rating;
mod reasoning;
mod strings;
mod verdicts;

use std::fmt;

use counterproof_core::{Completion, FinishReason};

pub use choice::choice;
pub use fields::Fields;
pub use json::Json;
pub use rating::Scale;
pub use reasoning::split_reasoning;

use quoted::Given;

/// What was read, or why it could not be.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Parsed<T> {
    /// It was read.
    Read(T),
    /// It could not be read without guessing.
    Unparsed(Unparsed),
}

impl<T> Parsed<T> {
    /// What was read, if it was.
    pub fn read(self) -> Option<T> {
        match self {
            Self::Read(value) => Some(value),
            Self::Unparsed(_) => None,
        }
    }

    /// What was read, or the reason as an error.
    ///
    /// # Errors
    /// The reason why it could not be read.
    pub fn into_result(self) -> Result<T, Unparsed> {
        match self {
            Self::Read(value) => Ok(value),
            Self::Unparsed(reason) => Err(reason),
        }
    }

    /// The same with what was read changed.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Parsed<U> {
        match self {
            Self::Read(value) => Parsed::Read(f(value)),
            Self::Unparsed(reason) => Parsed::Unparsed(reason),
        }
    }
}

impl<T> From<Result<T, Unparsed>> for Parsed<T> {
    fn from(result: Result<T, Unparsed>) -> Self {
        match result {
            Ok(value) => Self::Read(value),
            Err(reason) => Self::Unparsed(reason),
        }
    }
}

/// Why a reply, or a part of it, could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unparsed {
    /// There is no text.
    #[error("the reply is empty")]
    Empty,
    /// None of the labels asked for stands in the reply.
    #[error("the reply has none of the labels {expected}")]
    NoLabel {
        /// The labels asked for.
        expected: String,
    },
    /// There is no JSON in the reply that can be read.
    #[error("the reply holds no JSON that can be read")]
    NoJson,
    /// The field or item asked for is not in the reply.
    #[error("{what} is missing from the reply")]
    Missing {
        /// Its label or id.
        what: String,
    },
    /// The value is none of the words allowed.
    #[error("{found:?} is none of {allowed}")]
    Unknown {
        /// The beginning of the value.
        found: String,
        /// The words allowed.
        allowed: String,
    },
    /// The value can be read in more than one way.
    #[error("the value is ambiguous between {between}")]
    Ambiguous {
        /// The readings.
        between: String,
    },
    /// The number is not on the scale.
    #[error("{found} is not on the scale {scale}")]
    OffScale {
        /// The number found.
        found: String,
        /// The scale.
        scale: String,
    },
    /// The reply was cut off inside the value.
    #[error("the reply was cut off inside {what}")]
    CutOff {
        /// The label or id of the value.
        what: String,
    },
}

/// Something that had to be mended before a reply could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Repair {
    /// A code fence around the reply was taken off.
    Fence,
    /// Text before or after the JSON was left out.
    TextAround,
    /// The JSON stood inside a wrapping object or array of one element.
    Wrapped,
    /// A comma too many was dropped.
    TrailingComma,
    /// A comma that was missing was put in.
    MissingComma,
    /// Strings in single or typographic quotes were read.
    Quotes,
    /// Quotes with a backslash too many were read as quotes.
    EscapedTwice,
    /// Quotes inside a string that lacked their backslash were read as quotes.
    UnescapedQuote,
    /// An escape that JSON does not know (`\'`) was read as the character.
    UnknownEscape,
    /// A line break or another control character inside a string was kept.
    ControlCharacter,
    /// A key without quotes was read.
    BareKey,
    /// A value without quotes was read.
    BareWord,
    /// `True`, `False` or `None` was read as JSON's own.
    Literal,
    /// A comment was left out.
    Comment,
    /// A key that came twice counts the first time.
    DuplicateKey,
    /// A closing bracket of the wrong kind, or none, was mended.
    Bracket,
    /// The reply was cut off; what was open has been closed, and a value that was not whole was dropped unless it is
    /// a string.
    CutOff,
    /// Labelled lines or objects that stand word for word in a given text were left out.
    Quotation,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fence => "took off a code fence",
            Self::TextAround => "left out text around the JSON",
            Self::Wrapped => "unwrapped the JSON",
            Self::TrailingComma => "dropped a comma",
            Self::MissingComma => "put in a comma",
            Self::Quotes => "read other quotation marks",
            Self::EscapedTwice => "read quotes that were escaped twice",
            Self::UnescapedQuote => "read quotes that were not escaped",
            Self::UnknownEscape => "read an escape that JSON does not have",
            Self::ControlCharacter => "kept a control character in a string",
            Self::BareKey => "read a key without quotes",
            Self::BareWord => "read a value without quotes",
            Self::Literal => "read a literal of another language",
            Self::Comment => "left out a comment",
            Self::DuplicateKey => "took the first of two equal keys",
            Self::Bracket => "mended a bracket",
            Self::CutOff => "closed what was cut off",
            Self::Quotation => "left out what a given text says word for word",
        })
    }
}

/// A label that a reply was asked to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) block: bool,
}

impl Label {
    /// A label whose value is the rest of its line, or the next line when that is blank.
    pub const fn line(name: &'static str) -> Self {
        Self { name, aliases: &[], block: false }
    }

    /// A label whose value may run over several lines, to the next label or the end.
    pub const fn block(name: &'static str) -> Self {
        Self { name, aliases: &[], block: true }
    }

    /// Other words for the label, such as its name in another language.
    #[must_use]
    pub const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The name by which the value is found again.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// A reply to be read, with what is known about it.
#[derive(Debug, Clone)]
pub struct Reply<'a> {
    text: &'a str,
    given: Given,
    cut_off: bool,
}

impl<'a> Reply<'a> {
    /// A reply that is whole as far as is known.
    pub fn new(text: &'a str) -> Self {
        Self { text, given: Given::default(), cut_off: false }
    }

    /// Leaves out what stands word for word in one of `given` (passages, candidates, drafts), so that a text that was
    /// shown to the model can never set a decision by being repeated.
    #[must_use]
    pub fn excluding<T: AsRef<str>>(mut self, given: &[T]) -> Self {
        self.given = Given::new(given.iter().map(AsRef::as_ref));
        self
    }

    /// Says whether the reply was cut off at the limit of tokens: a decision that ends where the reply does is then
    /// not read, for it may be the beginning of another word.
    #[must_use]
    pub fn cut_off(mut self, cut_off: bool) -> Self {
        self.cut_off = cut_off;
        self
    }

    /// The labelled values of a whole reply. See [`fields`](Self::fields).
    pub fn parse(text: &'a str, labels: &[Label]) -> Parsed<Fields> {
        Self::new(text).fields(labels)
    }

    /// The same, leaving out what stands word for word in a given text.
    pub fn parse_excluding<T: AsRef<str>>(text: &'a str, labels: &[Label], given: &[T]) -> Parsed<Fields> {
        Self::new(text).excluding(given).fields(labels)
    }

    /// The values of the labels that stand in the reply, as labelled lines or as the keys of a JSON object, whichever
    /// comes first. Of a label that comes twice the first counts. Read when at least one label is there.
    pub fn fields(&self, labels: &[Label]) -> Parsed<Fields> {
        let read = fields::read(self.text, labels, &self.given, self.cut_off);
        if let Ok(fields) = &read {
            log(fields.repairs());
        }
        read.into()
    }

    /// The first JSON object or array of the reply.
    pub fn json(&self) -> Parsed<Json> {
        let read = json::first(self.text, &self.given);
        if let Some(json) = &read {
            log(&json.repairs);
        }
        match read {
            Some(json) => Parsed::Read(json),
            None if self.text.trim().is_empty() => Parsed::Unparsed(Unparsed::Empty),
            None => Parsed::Unparsed(Unparsed::NoJson),
        }
    }

    /// The first JSON object of the reply that has one of `keys`: chatter before it may hold brackets of its own, as
    /// numbers of passages do.
    pub fn json_with(&self, keys: &[&str]) -> Parsed<Json> {
        let has = |json: &Json| keys.iter().any(|key| json.value.get(*key).is_some());
        match self.json() {
            Parsed::Read(first) if has(&first) => Parsed::Read(first),
            Parsed::Unparsed(why) => Parsed::Unparsed(why),
            Parsed::Read(_) => {
                let found = json::candidates(self.text, &self.given).into_iter().map(|found| found.json);
                match found.into_iter().find(has) {
                    Some(json) => {
                        log(&json.repairs);
                        Parsed::Read(json)
                    }
                    None => Parsed::Unparsed(Unparsed::NoJson),
                }
            }
        }
    }

    /// The one of `allowed` that the whole reply amounts to; see [`choice`].
    pub fn choice<'w>(&self, allowed: &[&'w str]) -> Parsed<&'w str> {
        let text = self.given.without_quoted_lines(self.text);
        choice::read(&text, allowed, self.cut_off).into()
    }

    /// The rating that the reply gives on `scale`; see [`Scale`].
    pub fn rating(&self, scale: Scale) -> Parsed<f64> {
        rating::read(self.text, scale, &self.given, self.cut_off).into()
    }

    /// A verdict for each of `ids`, in their order, each one of `allowed`: from lines (`2: yes`, `[2] no, because ...`)
    /// or JSON (a list of objects with an id and a verdict, or an object from id to verdict). An id without a verdict,
    /// or with two that differ, is unparsed by itself.
    pub fn verdicts<'w>(&self, ids: &[&str], allowed: &[&'w str]) -> Vec<Parsed<&'w str>> {
        verdicts::read(self.text, ids, allowed, &self.given, self.cut_off)
    }
}

impl<'a> From<&'a Completion> for Reply<'a> {
    fn from(completion: &'a Completion) -> Self {
        Self::new(&completion.text).cut_off(completion.finish == FinishReason::Length)
    }
}

fn log(repairs: &[Repair]) {
    for repair in repairs {
        match repair {
            Repair::Fence | Repair::TextAround => tracing::trace!(%repair, "reading a model's reply"),
            _ => tracing::info!(%repair, "reading a model's reply"),
        }
    }
}

/// Adds a repair once.
pub(crate) fn note(repairs: &mut Vec<Repair>, repair: Repair) {
    if !repairs.contains(&repair) {
        repairs.push(repair);
    }
}

/// The beginning of a text, for a message.
pub(crate) fn beginning(text: &str) -> String {
    const LENGTH: usize = 60;
    let text = text.trim();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
