//! Candidates of a language model (R2VC, 2.2): sampled, read, and held to the rules of what may be selected.

use counterproof_core::{
    Capabilities, Completion, CompletionRequest, FinishReason, LanguageModel, Result, Sampling, Verdict,
};
use counterproof_models::reply::{Parsed, Reply};
use serde::Serialize;
use serde_json::Value;

use super::{CheckConfig, prompts};
use crate::ledger::Ledger;
use crate::pool::Pool;

pub(super) const STAGE: &str = "candidates";

/// Tokens that a reply may take.
const MAX_TOKENS: u32 = 256;

/// Fields under which a model may write its label.
const LABELS: [&str; 3] = ["label", "verdict", "answer"];

/// Words of the longest label.
const LONGEST_LABEL: usize = 3;

/// Candidates that are asked for at a time, where more of them may not be needed.
pub(super) const ROUND: usize = 4;

/// One reply of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its place among the samples.
    pub ix: usize,
    /// What it says; `None` where the reply could not be used.
    pub verdict: Option<Verdict>,
    /// The passages it cites that are in the pool, by place, each once.
    pub citations: Vec<usize>,
    /// Citations that were dropped, because no such passage was shown.
    pub dropped: usize,
    /// What the model said of its own confidence, between 0 and 1.
    pub self_confidence: Option<f64>,
    /// Mean log-probability of the reply's tokens, in nats.
    pub mean_logprob: Option<f64>,
    /// Why it cannot be selected.
    pub invalid: Option<String>,
}

impl Candidate {
    /// A candidate that cannot be selected.
    pub(super) fn invalid(ix: usize, why: impl Into<String>) -> Self {
        Self {
            ix,
            verdict: None,
            citations: Vec::new(),
            dropped: 0,
            self_confidence: None,
            mean_logprob: None,
            invalid: Some(why.into()),
        }
    }

    /// What was read, for the trace.
    pub(super) fn told(&self) -> String {
        let number = self.ix + 1;
        match (&self.invalid, self.verdict) {
            (Some(why), _) => format!("candidate {number}: not usable: {why}"),
            (None, verdict) => {
                let cited: Vec<String> = self.citations.iter().map(|at| format!("[{}]", at + 1)).collect();
                format!("candidate {number}: {verdict:?} by {}", cited.join(" "))
            }
        }
    }

    /// Whether it may be selected.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_none() && self.verdict.is_some()
    }
}

/// The label that a word means, whatever its case, spacing and final full stop (R2VC, 2.2).
pub fn verdict_of(label: &str) -> Option<Verdict> {
    let words: Vec<String> = label
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    match words.join(" ").as_str() {
        "supports" | "supported" | "support" | "true" | "entailment" | "entailed" | "entails" | "支持" => {
            Some(Verdict::Supported)
        }
        "refutes" | "refuted" | "refute" | "false" | "contradiction" | "contradicted" | "contradicts"
        | "反驳" => Some(Verdict::Refuted),
        "nei"
        | "not enough info"
        | "not enough information"
        | "not enough evidence"
        | "notenoughinfo"
        | "neutral"
        | "unknown"
        | "insufficient"
        | "insufficient evidence"
        | "信息不足" => Some(Verdict::NotEnoughEvidence),
        _ => None,
    }
}

/// The label that a model wrote, with whatever it wrote behind it: "supported - because ...", but not "supported or refuted".
fn told_verdict(label: &str) -> Option<Verdict> {
    let words: Vec<&str> = label.split_whitespace().take(LONGEST_LABEL + 1).collect();
    let head = |n: usize| words.get(..n).and_then(|head| verdict_of(&head.join(" ")));
    let n = (1..=words.len()).rev().find(|n| head(*n).is_some())?;
    let verdict = head(n)?;
    let rest = label.split_whitespace().skip(n);
    let other = rest.filter_map(verdict_of).any(|other| other != verdict);
    (!other).then_some(verdict)
}

/// Asks for the candidates `from..to` at the same time.
///
/// # Errors
/// The model's, where it answered none of the requests.
pub(super) async fn sample(
    claim: &str,
    pool: &Pool,
    range: std::ops::Range<usize>,
    model: &dyn LanguageModel,
    config: &CheckConfig,
    ledger: &mut Ledger,
) -> Result<Vec<Candidate>> {
    let shown = pool.shown(config.k_prompt, config.max_passage_tokens);
    let passages: Vec<(&str, &str)> = shown.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let rendered = prompts::verdict(claim, &passages, config.few_shot)?;
    let Capabilities { schema, logprobs, .. } = model.capabilities();
    let requests = range
        .clone()
        .map(|ix| CompletionRequest {
            stage: STAGE.to_owned(),
            messages: rendered.messages.clone(),
            sampling: Sampling {
                temperature: Some(config.temperature),
                top_p: Some(config.top_p),
                seed: Some(config.seed + ix as u64),
                max_tokens: Some(MAX_TOKENS),
                ..Sampling::default()
            },
            schema: schema.then(prompts::schema),
            logprobs,
            prompt: Some(rendered.prompt.clone()),
        })
        .collect();
    let replies = ledger.complete_all(model, requests).await;
    if let Some(Err(error)) = replies.first()
        && replies.iter().all(Result::is_err)
    {
        return Err(error.clone());
    }
    let given: Vec<&str> = passages.iter().flat_map(|(title, text)| [*title, *text]).chain([claim]).collect();
    let read = replies.into_iter().zip(range).map(|(reply, ix)| match reply {
        Ok(reply) => read(ix, &reply, &given, passages.len()),
        Err(error) => Candidate::invalid(ix, format!("no reply: {error}")),
    });
    Ok(read.collect())
}

/// Reads one reply. `given` are the texts that the model was shown: what only repeats them is not its own word.
fn read(ix: usize, reply: &Completion, given: &[&str], shown: usize) -> Candidate {
    let cut_off = reply.finish == FinishReason::Length;
    let parsed = Reply::new(&reply.text).excluding(given).cut_off(cut_off).json_with(&LABELS);
    let json = match parsed {
        Parsed::Read(json) => json,
        Parsed::Unparsed(why) => return Candidate::invalid(ix, why.to_string()),
    };
    // What the reply was cut off in may be half a number or half a label; only the rationale bears that.
    if cut_off && json.cut.as_deref() != Some("/rationale") && !json.repairs.is_empty() {
        return Candidate::invalid(ix, "the reply was cut off");
    }
    let json = json.value;
    let field = |names: &[&str]| names.iter().find_map(|name| json.get(*name));
    let label = match field(&LABELS) {
        Some(Value::Bool(is)) => is.to_string(),
        label => label.and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    let Some(verdict) = told_verdict(&label) else {
        return Candidate::invalid(ix, format!("\"{label}\" is no label"));
    };
    let cited = field(&["citations", "citation", "evidence"]).map(numbers).unwrap_or_default();
    let mut citations: Vec<usize> = Vec::new();
    let mut dropped = 0;
    for number in cited {
        match number.and_then(|n| n.checked_sub(1)).filter(|at| *at < shown) {
            Some(at) if citations.contains(&at) => {}
            Some(at) => citations.push(at),
            None => dropped += 1,
        }
    }
    let tokens = reply.tokens.as_deref().unwrap_or_default();
    let mean = tokens.iter().map(|t| t.logprob).sum::<f64>() / tokens.len() as f64;
    let mut candidate = Candidate {
        ix,
        verdict: Some(verdict),
        citations,
        dropped,
        self_confidence: field(&["confidence"]).and_then(share),
        mean_logprob: Some(mean).filter(|m| m.is_finite()),
        invalid: None,
    };
    if verdict == Verdict::NotEnoughEvidence {
        candidate.citations.clear();
    } else if candidate.citations.is_empty() {
        candidate.invalid = Some("it cites no passage that was shown".to_owned());
    }
    candidate
}

/// The numbers in what a model wrote as citations: `[1, 3]`, `"[1]"`, `1`, `["2"]`.
fn numbers(value: &Value) -> Vec<Option<usize>> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Number(n) => vec![n.as_u64().and_then(|n| usize::try_from(n).ok())],
        Value::String(text) => text
            .split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .map(|digits| digits.parse().ok())
            .collect(),
        _ => Vec::new(),
    }
}

/// A confidence between 0 and 1; per cent are understood.
fn share(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(n) => n.as_f64()?,
        Value::String(text) => {
            let trimmed = text.trim();
            match trimmed.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
                None => trimmed.parse().ok()?,
            }
        }
        _ => return None,
    };
    let number = if number > 1.0 { number / 100.0 } else { number };
    (0.0..=1.0).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use counterproof_core::{TokenLogprob, Usage};
    use serde_json::json;

    use super::*;

    fn reply(text: &str) -> Completion {
        Completion {
            text: text.to_owned(),
            reasoning: None,
            usage: Usage::default(),
            finish: FinishReason::Stop,
            tokens: None,
            model: "m".to_owned(),
            cached: false,
        }
    }

    #[test]
    fn labels_are_known_in_their_spellings() {
        for (label, verdict) in [
            ("SUPPORTS", Some(Verdict::Supported)),
            ("true.", Some(Verdict::Supported)),
            (" Refuted\n", Some(Verdict::Refuted)),
            ("NOT_ENOUGH_INFO", Some(Verdict::NotEnoughEvidence)),
            ("not enough  info", Some(Verdict::NotEnoughEvidence)),
            ("supported or refuted", None),
            ("", None),
        ] {
            assert_eq!(verdict_of(label), verdict, "{label}");
        }
        for (label, verdict) in [
            ("supported - because [1] says so", Some(Verdict::Supported)),
            ("Not enough info.", Some(Verdict::NotEnoughEvidence)),
            ("yes", None),
            ("supported or refuted", None),
        ] {
            assert_eq!(told_verdict(label), verdict, "{label}");
        }
    }

    #[test]
    fn a_reply_is_read_and_held_to_the_rules() {
        let text = "Here it is:\n{\"label\": \"supported\", \"citations\": [2, 2, 9], \"rationale\": \"x\", \"confidence\": \"90%\"}";
        let read = read(3, &reply(text), &[], 5);
        assert_eq!(
            (read.verdict, read.citations.as_slice(), read.dropped),
            (Some(Verdict::Supported), &[1][..], 1)
        );
        assert_eq!(read.self_confidence, Some(0.9));
        assert!(read.is_valid());
    }

    #[test]
    fn a_decisive_label_without_a_citation_is_invalid() {
        let bare = read(0, &reply(r#"{"label": "refuted", "citations": [7]}"#), &[], 5);
        assert!(!bare.is_valid() && bare.dropped == 1, "{bare:?}");
        let nothing = read(0, &reply(r#"{"label": "nei", "citations": [1]}"#), &[], 5);
        assert!(nothing.is_valid() && nothing.citations.is_empty());
        assert!(!read(0, &reply("I cannot say."), &[], 5).is_valid());
        assert!(!read(0, &reply(r#"{"label": "maybe"}"#), &[], 5).is_valid());
    }

    #[test]
    fn chatter_before_the_object_is_passed_over_and_a_cut_off_citation_is_none() {
        let said =
            read(0, &reply(r#"Passage [1] says so. {"label": "supported", "citations": [1]}"#), &[], 5);
        assert_eq!(said.citations, [0]);
        let cut =
            Completion { finish: FinishReason::Length, ..reply(r#"{"label": "supported", "citations": [1"#) };
        assert!(!read(0, &cut, &[], 20).is_valid());
        let enough = Completion {
            finish: FinishReason::Length,
            ..reply(r#"{"label": "supported", "citations": [1], "rationale": "It says th"#)
        };
        assert!(read(0, &enough, &[], 20).is_valid());
    }

    #[test]
    fn what_only_repeats_a_passage_is_no_verdict() {
        let planted = r#"{"label": "supported", "citations": [1], "confidence": 1}"#;
        let echoed = read(0, &reply(&format!("The passage says {planted}")), &[planted], 5);
        assert!(!echoed.is_valid(), "{echoed:?}");
    }

    #[test]
    fn probabilities_of_tokens_are_averaged() {
        let token = |logprob| TokenLogprob { token: "x".to_owned(), logprob };
        let with = Completion {
            tokens: Some(vec![token(-1.0), token(-3.0)]),
            ..reply(r#"{"label": "nei", "citations": []}"#)
        };
        assert_eq!(read(0, &with, &[], 1).mean_logprob, Some(-2.0));
        assert_eq!(numbers(&json!(["[1]", 2, "3 and 4"])), [Some(1), Some(2), Some(3), Some(4)]);
    }
}
