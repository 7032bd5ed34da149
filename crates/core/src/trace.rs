//! The record of how a decision came about: every query, reply, score, rule, token and millisecond of it.
//!
//! A trace is plain JSON. It is complete enough to explain the decision from it alone, and it never holds a
//! credential. Fields that end in `_ms` are the only ones that differ between two runs of the same work.

use serde::{Deserialize, Serialize};

use crate::{ErrorBody, FinishReason, Hit, Message, Nli, PassageId, PromptRef, Score, Usage};

/// The version of the trace's form. It grows when a reader of the old form would misread the new one.
pub const TRACE_SCHEMA: u32 = 1;

/// What came of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// The rule was met.
    Passed,
    /// The rule was broken, and decided the matter.
    Failed,
    /// The rule does not apply here, or was switched off.
    Skipped,
}

/// A hit as a trace remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedHit {
    /// The passage found.
    pub passage: PassageId,
    /// Its title.
    pub title: String,
    /// The score that ranked it.
    pub score: Score,
}

impl From<&Hit> for TracedHit {
    fn from(hit: &Hit) -> Self {
        Self { passage: hit.passage.id.clone(), title: hit.passage.title.clone(), score: hit.score }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Evidence was looked for.
    Search {
        /// The stage that asked.
        stage: String,
        /// The query.
        query: String,
        /// How many hits were asked for.
        k: usize,
        /// What was found, best first.
        hits: Vec<TracedHit>,
        /// What went wrong, when something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorBody>,
        /// How long it took.
        wall_ms: u64,
    },
    /// A model was asked for a reply.
    Reply {
        /// The stage that asked.
        stage: String,
        /// The model.
        model: String,
        /// The prompt file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptRef>,
        /// What was said to it.
        messages: Vec<Message>,
        /// What it replied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<String>,
        /// Why the reply ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<FinishReason>,
        /// Tokens used.
        usage: Usage,
        /// Whether the reply came from the cache.
        cached: bool,
        /// What went wrong, when something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorBody>,
        /// How long it took.
        wall_ms: u64,
    },
    /// Given texts were scored by a model.
    Scores {
        /// The stage that asked.
        stage: String,
        /// The model.
        model: String,
        /// What was scored, with its score.
        scores: Vec<(String, Score)>,
        /// How long it took.
        wall_ms: u64,
    },
    /// A reader looked for answers in passages.
    Read {
        /// The stage that asked.
        stage: String,
        /// The reader.
        model: String,
        /// The best of what it read: passage, words, and by how much they beat "no answer".
        spans: Vec<(PassageId, String, Score)>,
        /// How long it took.
        wall_ms: u64,
    },
    /// A verifier judged statements by passages.
    Judged {
        /// The stage that asked.
        stage: String,
        /// The verifier.
        model: String,
        /// Passage, what was stated, and the judgement.
        judged: Vec<(PassageId, String, Nli)>,
        /// How long it took.
        wall_ms: u64,
    },
    /// A deterministic rule was applied.
    Rule {
        /// The stage it belongs to.
        stage: String,
        /// The rule's code.
        rule: String,
        /// What came of it.
        outcome: RuleOutcome,
        /// What it looked at, for a person.
        detail: String,
    },
    /// A decision was taken.
    Decision {
        /// The stage that took it.
        stage: String,
        /// What was decided.
        decision: String,
        /// Why: a code.
        reason: String,
    },
    /// Something worth knowing that is none of the above.
    Note {
        /// The stage.
        stage: String,
        /// What it was.
        text: String,
    },
}

/// Everything that happened on the way to one decision, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The version of the form: [`TRACE_SCHEMA`].
    pub schema: u32,
    /// What happened.
    pub events: Vec<Event>,
}

impl Default for Trace {
    fn default() -> Self {
        Self { schema: TRACE_SCHEMA, events: Vec::new() }
    }
}

impl Trace {
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Adds a rule and what came of it.
    pub fn rule(&mut self, stage: &str, rule: &str, outcome: RuleOutcome, detail: impl Into<String>) {
        self.push(Event::Rule {
            stage: stage.to_owned(),
            rule: rule.to_owned(),
            outcome,
            detail: detail.into(),
        });
    }

    /// Adds a note.
    pub fn note(&mut self, stage: &str, text: impl Into<String>) {
        self.push(Event::Note { stage: stage.to_owned(), text: text.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_survives_json() {
        let mut trace = Trace::default();
        trace.rule("validate", "no_evidence", RuleOutcome::Failed, "EVIDENCE was NONE");
        trace.push(Event::Decision {
            stage: "gate".into(),
            decision: "keep".into(),
            reason: "no_evidence".into(),
        });
        let json = serde_json::to_string(&trace).unwrap();
        assert!(json.starts_with(r#"{"schema":1,"events":[{"kind":"rule""#), "{json}");
        assert_eq!(serde_json::from_str::<Trace>(&json).unwrap(), trace);
    }
}
