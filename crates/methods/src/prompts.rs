//! How the methods load and fill their prompts: files beside the method, each in English and in Chinese.

use std::sync::LazyLock;

use counterproof_core::{Error, Result};
use counterproof_models::prompts::{PromptSet, Rendered, Value};
use counterproof_text::language::{Language, detect};

/// A prompt in its languages, read when it is first needed.
pub(crate) type Loaded = LazyLock<Result<PromptSet>>;

/// The prompt of a method by its name: `prompts/NAME.en.txt` and `prompts/NAME.zh.txt` beside the file that asks.
macro_rules! prompt_set {
    ($method:literal, $name:literal) => {
        std::sync::LazyLock::new(|| {
            counterproof_models::prompts::PromptSet::new([
                (
                    "en",
                    counterproof_models::prompts::Prompt::parse(
                        concat!($method, "/", $name, ".en"),
                        include_str!(concat!("prompts/", $name, ".en.txt")),
                    )?,
                ),
                (
                    "zh",
                    counterproof_models::prompts::Prompt::parse(
                        concat!($method, "/", $name, ".zh"),
                        include_str!(concat!("prompts/", $name, ".zh.txt")),
                    )?,
                ),
            ])
        })
    };
}
pub(crate) use prompt_set;

/// The language that prompts about a text are written in.
pub(crate) fn language_of(text: &str) -> &'static str {
    if detect(text) == Language::Chinese { "zh" } else { "en" }
}

/// The prompt in the language of `text`, filled in.
///
/// # Errors
/// A prompt file that is wrong, or a slot without a value.
pub(crate) fn fill(set: &Loaded, text: &str, slots: &[(&str, Value<'_>)]) -> Result<Rendered> {
    let set = set.as_ref().map_err(|e| Error::failed("reading a prompt", e))?;
    set.get(language_of(text)).render(slots)
}
