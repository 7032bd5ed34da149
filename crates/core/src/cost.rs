//! What a decision cost: calls, tokens, searches and time, by stage.

use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// A number of tokens, as the model that was asked counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Tokens that one call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub tokens_in: Tokens,
    /// Tokens of the reply, reasoning included.
    pub tokens_out: Tokens,
}

/// What a model charges, in US dollars a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// A million tokens of prompt.
    pub input: f64,
    /// A million tokens of reply.
    pub output: f64,
}

impl Price {
    /// US dollars for `usage`.
    pub fn of(self, usage: Usage) -> f64 {
        (usage.tokens_in.0 as f64 * self.input + usage.tokens_out.0 as f64 * self.output) / 1e6
    }
}

/// What one stage (draft, gate, ...) cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StageCost {
    /// Calls to a model, cached ones included.
    pub model_calls: u64,
    /// Those of them that were answered from the cache and cost nothing.
    pub cached_calls: u64,
    /// Tokens of all prompts.
    pub tokens_in: Tokens,
    /// Tokens of all replies.
    pub tokens_out: Tokens,
    /// Searches made.
    pub searches: u64,
    /// Milliseconds by the clock, summed over calls (concurrent calls add up).
    pub wall_ms: u64,
    /// US dollars, when the price of the model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl AddAssign for StageCost {
    fn add_assign(&mut self, other: Self) {
        self.model_calls += other.model_calls;
        self.cached_calls += other.cached_calls;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.searches += other.searches;
        self.wall_ms += other.wall_ms;
        self.usd = match (self.usd, other.usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// What a whole decision cost, with its stages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The sum of all stages.
    #[serde(flatten)]
    pub total: StageCost,
    /// Cost by stage, in the order of their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<String, StageCost>,
}

impl Cost {
    /// Adds what a stage cost, to the stage and to the total.
    pub fn add(&mut self, stage: &str, cost: StageCost) {
        self.total += cost;
        *self.stages.entry(stage.to_owned()).or_default() += cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_sum_of_the_stages() {
        let mut cost = Cost::default();
        let usage = Usage { tokens_in: Tokens(1000), tokens_out: Tokens(10) };
        let price = Price { input: 2.0, output: 8.0 };
        for stage in ["draft", "gate", "gate"] {
            cost.add(
                stage,
                StageCost {
                    model_calls: 1,
                    tokens_in: usage.tokens_in,
                    tokens_out: usage.tokens_out,
                    usd: Some(price.of(usage)),
                    ..StageCost::default()
                },
            );
        }
        assert_eq!(cost.total.model_calls, 3);
        assert_eq!(cost.stages["gate"].tokens_in, Tokens(2000));
        assert!((cost.total.usd.unwrap() - 3.0 * 0.00208).abs() < 1e-12);
    }
}
