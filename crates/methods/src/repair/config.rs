//! What can be set about a repair, and the switches that take one part out to see what it is worth.

use std::collections::BTreeSet;
use std::str::FromStr;

use counterproof_core::{Error, Price, Result};
use serde::{Deserialize, Serialize};

use super::Rule;
use super::veto::VetoConfig;

/// Which gate decides between the draft and another answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// The score gate for a local model that can score given answers, the text gate for any other.
    #[default]
    Auto,
    /// The model writes its decision, answer and evidence (three labelled fields).
    Text,
    /// The model scores the draft and the alternatives that the evidence holds; nothing it writes is read.
    Score,
}

/// Parameters of a repair. The defaults are those of the specification; names follow it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepairConfig {
    /// Passages of the first search, which the draft is made from.
    pub k_b: usize,
    /// Passages of each answer-conditioned search.
    pub k_r: usize,
    /// How often the (revised) answer is put to the test. More than 1 is an extension.
    pub rounds: usize,
    /// Words that the answer to a who, where or entity question may have.
    pub max_entity_words: usize,
    /// Share of the answer's content words that must stand in the quoted evidence.
    pub min_overlap: f64,
    /// Share of the quoted words that must stand in one passage of the pool.
    pub snippet_containment: f64,
    /// Jaccard likeness of tokens from which two passages count as the same.
    pub duplicate_jaccard: f64,
    /// Passages in the pool at most.
    pub max_pool: usize,
    /// Whitespace tokens of each passage that a prompt shows.
    pub max_passage_tokens: usize,
    /// Words of the draft that go into queries.
    pub max_query_draft_words: usize,
    /// Whether the draft is quoted in queries.
    pub quote_draft: bool,
    /// How often a malformed reply of the gate is asked for again.
    pub gate_retries: usize,
    /// Which gate decides.
    pub gate: GateKind,
    /// How the score gate decides.
    pub score_gate: ScoreGateConfig,
    /// How the encoder gate decides.
    pub encoder_gate: EncoderGateConfig,
    /// When a verifier vetoes what a language model proposes, where there is one.
    pub veto: VetoConfig,
    /// Sets of answers that mean the same ("NYC", "New York City"): a change within a set is no revision.
    pub aliases: Vec<BTreeSet<String>>,
    /// What the model charges; without it no cost in dollars is given.
    pub price: Option<Price>,
    /// The parts taken out.
    pub ablate: Ablations,
}

impl Default for RepairConfig {
    fn default() -> Self {
        Self {
            k_b: 5,
            k_r: 5,
            rounds: 1,
            max_entity_words: 12,
            min_overlap: 0.5,
            snippet_containment: 0.8,
            duplicate_jaccard: 0.9,
            max_pool: 20,
            max_passage_tokens: 200,
            max_query_draft_words: 30,
            quote_draft: false,
            gate_retries: 0,
            gate: GateKind::Auto,
            score_gate: ScoreGateConfig::default(),
            encoder_gate: EncoderGateConfig::default(),
            veto: VetoConfig::default(),
            aliases: Vec::new(),
            price: None,
            ablate: Ablations::default(),
        }
    }
}

/// How the score gate decides. See [`ScoreGate`](super::ScoreGate).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreGateConfig {
    /// Alternatives that are scored at most.
    pub max_alternatives: usize,
    /// Sentences of evidence that the prompt shows at most.
    pub max_sentences: usize,
    /// What full relevance of an answer's sentence to the question is worth, in nats: an answer that stands in a
    /// sentence beside the point has less behind it than the model's score alone says.
    pub relevance_weight: f64,
    /// How far an alternative must beat the draft, in nats: difference of mean log-probability a token and weighted
    /// relevance.
    pub margin: f64,
    /// Mean log-probability a token, in nats, that an alternative must have at least.
    pub min_support: f64,
    /// Share of the question's content words that the sentence (with its title) behind an alternative must hold.
    pub min_relevance: f64,
}

impl Default for ScoreGateConfig {
    fn default() -> Self {
        // Chosen on 65 questions of the tuning half of NQ oracle passages with Qwen2.5-Coder-0.5B; see
        // docs/BENCHMARKS.md for what they come to on other questions.
        Self {
            max_alternatives: 8,
            max_sentences: 6,
            relevance_weight: 2.0,
            margin: 1.0,
            min_support: -1.5,
            min_relevance: 0.33,
        }
    }
}

/// How the encoder gate decides. See [`EncoderGate`](super::EncoderGate).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderGateConfig {
    /// Alternatives that are judged at most.
    pub max_alternatives: usize,
    /// The share of right drafts that may be spoiled, 0 to 1, with 95 % confidence on the calibration's questions: the
    /// smallest threshold that keeps within it is taken.
    pub max_harm: Option<f64>,
    /// The probability from which an alternative replaces the draft, in place of the calibration's and of `max_harm`.
    pub threshold: Option<f64>,
}

impl Default for EncoderGateConfig {
    fn default() -> Self {
        Self { max_alternatives: 5, max_harm: None, threshold: None }
    }
}

/// Parts of the method that can be taken out, one by one, to measure what each is worth.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ablations {
    /// The pool is the first search alone.
    pub no_counter_retrieval: bool,
    /// The draft is never sent as a query of its own.
    pub no_bare_draft: bool,
    /// Question and draft are never sent together.
    pub no_conditioned_query: bool,
    /// As many extra passages as the conditioned queries would add, but found by the question alone: the fair
    /// control for "more passages help".
    pub unconditioned_expansion: bool,
    /// The question is answered anew over the pool, and that answer is taken as it is.
    pub free_rewrite: bool,
    /// Every proposed revision is accepted.
    pub no_validation: bool,
    /// Accepted revisions stay as the model wrote them.
    pub no_normalisation: bool,
    /// One shared word is overlap enough.
    pub loose_overlap: bool,
    /// Single rules that are left out.
    pub rules: BTreeSet<Rule>,
}

impl RepairConfig {
    /// Applies an ablation by its name: one of `no_counter_retrieval`, `no_bare_draft`, `no_conditioned_query`,
    /// `unconditioned_expansion`, `free_rewrite`, `no_validation`, `no_normalisation`, `loose_overlap`, the code of
    /// a [`Rule`], `rounds=N` or `k_r=N`.
    ///
    /// # Errors
    /// A user's error that lists the names there are.
    pub fn ablate(&mut self, name: &str) -> Result<()> {
        let number =
            |value: &str| {
                value.parse::<usize>().ok().filter(|n| (1..=100).contains(n)).ok_or_else(|| {
                    Error::invalid(format!("ablation {name}"), "the number must lie in 1..=100")
                })
            };
        match name {
            "no_counter_retrieval" => self.ablate.no_counter_retrieval = true,
            "no_bare_draft" => self.ablate.no_bare_draft = true,
            "no_conditioned_query" => self.ablate.no_conditioned_query = true,
            "unconditioned_expansion" => self.ablate.unconditioned_expansion = true,
            "free_rewrite" => self.ablate.free_rewrite = true,
            "no_validation" => self.ablate.no_validation = true,
            "no_normalisation" => self.ablate.no_normalisation = true,
            "loose_overlap" => self.ablate.loose_overlap = true,
            _ => match name.split_once('=') {
                Some(("rounds", value)) => self.rounds = number(value)?,
                Some(("k_r", value)) => self.k_r = number(value)?,
                _ => {
                    self.ablate.rules.insert(Rule::from_str(name)?);
                }
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ablation_has_a_name() {
        let mut config = RepairConfig::default();
        for name in ["no_validation", "no_evidence", "rounds=2", "k_r=10"] {
            config.ablate(name).unwrap();
        }
        assert!(config.ablate.no_validation);
        assert!(config.ablate.rules.contains(&Rule::NoEvidence));
        assert_eq!((config.rounds, config.k_r), (2, 10));

        let error = config.ablate("no_evidnce").unwrap_err();
        assert!(error.is_user() && error.to_string().contains("no_evidence"), "{error}");
        assert!(config.ablate("k_r=0").is_err());
    }
}
