//! The prompts of this method: files beside this one, chosen by the language of the claim and by whether examples are
//! shown.

use std::sync::LazyLock;

use counterproof_core::{Error, OutputSchema, Result};
use counterproof_models::prompts::{Prompt, PromptSet, Rendered, Value};
use counterproof_text::language::{Language, detect};
use serde_json::json;

type Loaded = LazyLock<Result<PromptSet>>;

static ZERO_SHOT: Loaded = LazyLock::new(|| {
    PromptSet::new([
        ("en", Prompt::parse("check/verdict.en", include_str!("prompts/verdict.en.txt"))?),
        ("zh", Prompt::parse("check/verdict.zh", include_str!("prompts/verdict.zh.txt"))?),
    ])
});

static THREE_SHOT: Loaded = LazyLock::new(|| {
    let shots = Prompt::parse("check/verdict_shots.en", include_str!("prompts/verdict_shots.en.txt"))?;
    PromptSet::new([("en", shots)])
});

/// Asks for label, citations, rationale and confidence.
pub(super) fn verdict(claim: &str, passages: &[(&str, &str)], few_shot: bool) -> Result<Rendered> {
    let set = if few_shot { &THREE_SHOT } else { &ZERO_SHOT };
    let set = set.as_ref().map_err(|e| Error::failed("reading a prompt", e))?;
    let language = if detect(claim) == Language::Chinese { "zh" } else { "en" };
    set.get(language).render(&[("claim", Value::Line(claim)), ("passages", Value::Passages(passages))])
}

/// The form of the reply.
pub(super) fn schema() -> OutputSchema {
    OutputSchema {
        name: "verdict".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "label": { "type": "string", "enum": ["supported", "refuted", "not enough info"] },
                "citations": { "type": "array", "items": { "type": "integer" } },
                "rationale": { "type": "string" },
                "confidence": { "type": "number" }
            },
            "required": ["label", "citations", "rationale", "confidence"],
            "additionalProperties": false
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_shows_the_claim_and_the_passages() {
        for (claim, few_shot) in [("It is so.", false), ("It is so.", true), ("确实如此。", false)] {
            let rendered = verdict(claim, &[("A", "first"), ("", "second")], few_shot).unwrap();
            let last = &rendered.messages.last().unwrap().content;
            assert!(last.contains(claim) && last.contains("[1] A: first\n[2] second"), "{last}");
        }
        assert_eq!(verdict("x", &[], true).unwrap().messages.len(), 8);
    }
}
