//! The prompts of this method: files beside this one, chosen by the language of the claim and by whether examples are
//! shown.

use std::sync::LazyLock;

use counterproof_core::{OutputSchema, Result};
use counterproof_models::prompts::{Prompt, PromptSet, Rendered, Value};
use serde_json::json;

use crate::prompts::{Loaded, fill, prompt_set};

static ZERO_SHOT: Loaded = prompt_set!("check", "verdict");

static THREE_SHOT: Loaded = LazyLock::new(|| {
    let shots = Prompt::parse("check/verdict_shots.en", include_str!("prompts/verdict_shots.en.txt"))?;
    PromptSet::new([("en", shots)])
});

static LABEL: Loaded = prompt_set!("check", "label");

/// What follows the [`label`] prompt: for supported, refuted and not enough evidence.
const ENGLISH_ENDS: [&str; 3] = [" true", " false", " not told"];
const CHINESE_ENDS: [&str; 3] = ["真的", "假的", "没有说明的"];

/// Asks for label, citations, rationale and confidence.
pub(super) fn verdict(claim: &str, passages: &[(&str, &str)], few_shot: bool) -> Result<Rendered> {
    let set = if few_shot { &THREE_SHOT } else { &ZERO_SHOT };
    fill(set, claim, &[("claim", Value::Line(claim)), ("passages", Value::Passages(passages))])
}

/// A prompt that breaks off before the label, and how it goes on for supported, refuted and not enough evidence.
/// `language_of` is the text whose language it is written in.
pub(super) fn label(
    claim: &str,
    evidence: &[(&str, &str)],
    language_of: &str,
) -> Result<(Rendered, [&'static str; 3])> {
    let slots = [("claim", Value::Line(claim)), ("evidence", Value::Passages(evidence))];
    let rendered = fill(&LABEL, language_of, &slots)?;
    let chinese = crate::prompts::language_of(language_of) == "zh";
    Ok((rendered, if chinese { CHINESE_ENDS } else { ENGLISH_ENDS }))
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
