//! The parameters of a check.

use counterproof_core::{Error, Price, Result};
use serde::{Deserialize, Serialize};

/// When a verdict is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abstention {
    /// Every verdict is given.
    Never,
    /// Below this confidence.
    Threshold(f64),
    /// Where it would be among the least sure, so that about this share of claims gets a verdict.
    Coverage(f64),
    /// So that at most this share of the verdicts that are given is wrong, with 95 % confidence on claims like those that
    /// the calibrator held back.
    Risk(f64),
}

impl Abstention {
    /// Whether it promises something of the claims to come, for which the calibrator has to stand.
    pub fn is_promise(self) -> bool {
        matches!(self, Self::Coverage(_) | Self::Risk(_))
    }
}

/// How the candidates' scores over several pieces of evidence become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joining {
    /// The greatest.
    #[default]
    Max,
    /// Their mean.
    Mean,
}

/// How a label is scored by what its evidence entails (`s`) and contradicts (`r`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scoring {
    /// `s(1 - r)`, `r(1 - s)` and `1 - max(s, r)`.
    #[default]
    Product,
    /// `s - r`, `r - s`, and a margin less the distance of the two.
    EntailMinusContradict,
}

/// How a language model's candidates are had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proposing {
    /// Scored by a local model that can score given texts, written by any other.
    #[default]
    Auto,
    /// The model writes verdicts with citations.
    Written,
    /// The model scores the labels behind each passage; nothing that it writes is read.
    Scored,
}

/// Parameters of [`Check`](super::Check). The defaults are those of R2VC where it tells them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckConfig {
    /// Passages that a search brings.
    pub k: usize,
    /// The best of them that a language model is shown.
    pub k_prompt: usize,
    /// Tokens of a passage that it is shown at most, about.
    pub max_passage_tokens: usize,
    /// Candidates that it is asked for at most.
    pub candidates: usize,
    /// Whether asking ends as soon as more candidates cannot change the verdict or do not move the confidence.
    pub adaptive: bool,
    /// How they are had.
    pub proposing: Proposing,
    /// Whether the prompt for written ones shows three examples.
    pub few_shot: bool,
    /// How freely candidates are drawn.
    pub temperature: f32,
    /// Only the likeliest tokens that together hold this much probability are drawn.
    pub top_p: f32,
    /// The seed of the first candidate; the others count up from it.
    pub seed: u64,
    /// Sentences that are judged one by one, those that share most words with the claim; one of each passage in any case.
    pub max_sentences: usize,
    /// A citation is dropped while the score of the verdict falls by no more than this.
    pub prune: f64,
    /// How scores over several pieces of evidence are joined.
    pub joining: Joining,
    /// How labels are scored.
    pub scoring: Scoring,
    /// What the share of votes adds to a candidate's score.
    pub vote_weight: f64,
    /// Whether a claim with several facts is taken apart.
    pub decompose: bool,
    /// When a verdict is withheld.
    pub abstention: Abstention,
    /// From this probability on, a passage that speaks against the verdict makes a conflict.
    pub conflict: f64,
    /// Parts that are taken out.
    pub ablate: CheckAblations,
    /// What the language model charges.
    pub price: Option<Price>,
}

impl Default for CheckConfig {
    fn default() -> Self {
        Self {
            k: 10,
            k_prompt: 5,
            max_passage_tokens: 200,
            candidates: 16,
            adaptive: true,
            proposing: Proposing::default(),
            few_shot: false,
            temperature: 0.8,
            top_p: 0.95,
            seed: 0,
            max_sentences: 16,
            prune: 0.02,
            joining: Joining::Max,
            scoring: Scoring::Product,
            vote_weight: 0.0,
            decompose: true,
            abstention: Abstention::Threshold(0.5),
            conflict: 0.5,
            ablate: CheckAblations::default(),
            price: None,
        }
    }
}

/// Parts of the method that can be taken out, to see what they are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckAblations {
    /// The verdict is the majority's in place of the verifier's choice.
    pub no_selection: bool,
    /// The verdict is that of the first candidate.
    pub first_sample: bool,
    /// The confidence is the verifier's score as it is.
    pub no_calibration: bool,
    /// The confidence is the share of votes.
    pub vote_confidence: bool,
    /// The confidence is what the model says of itself.
    pub self_confidence: bool,
    /// No verdict is withheld.
    pub no_abstention: bool,
    /// Evidence about somebody else is taken like any other.
    pub no_entity_guard: bool,
    /// Citations are not pruned.
    pub no_pruning: bool,
    /// The evidence is not judged as a whole.
    pub no_joined_evidence: bool,
    /// The verifier decides without the rules around it.
    pub no_rules: bool,
}

impl CheckConfig {
    /// Candidates that a language model may be asked for.
    pub const MOST_CANDIDATES: usize = 256;

    /// The parts that [`ablate`](Self::ablate) knows.
    pub const PARTS: [&str; 10] = [
        "no_selection",
        "first_sample",
        "no_calibration",
        "vote_confidence",
        "self_confidence",
        "no_abstention",
        "no_entity_guard",
        "no_pruning",
        "no_joined_evidence",
        "no_rules",
    ];

    /// Takes a part out by its name.
    ///
    /// # Errors
    /// A user's error that lists the names.
    pub fn ablate(&mut self, part: &str) -> Result<()> {
        let name = part.trim().to_lowercase().replace('-', "_");
        let parts = &mut self.ablate;
        let switch = match name.as_str() {
            "no_selection" => &mut parts.no_selection,
            "first_sample" => &mut parts.first_sample,
            "no_calibration" => &mut parts.no_calibration,
            "vote_confidence" => &mut parts.vote_confidence,
            "self_confidence" => &mut parts.self_confidence,
            "no_abstention" => &mut parts.no_abstention,
            "no_entity_guard" => &mut parts.no_entity_guard,
            "no_pruning" => &mut parts.no_pruning,
            "no_joined_evidence" => &mut parts.no_joined_evidence,
            "no_rules" => &mut parts.no_rules,
            _ => {
                let known = Self::PARTS.join(", ");
                return Err(Error::invalid("--ablate", format!("check has no part {part}; it has {known}")));
            }
        };
        *switch = true;
        Ok(())
    }

    /// Checks what a person may have set.
    ///
    /// # Errors
    /// A user's error that names the setting.
    pub fn validate(&self) -> Result<()> {
        let share = match self.abstention {
            Abstention::Never => None,
            Abstention::Threshold(x) => Some(("threshold", x)),
            Abstention::Coverage(x) => Some(("coverage", x)),
            Abstention::Risk(x) => Some(("risk", x)),
        };
        if let Some((name, x)) = share.filter(|(_, x)| !(0.0..=1.0).contains(x)) {
            return Err(Error::invalid(
                format!("the {name} of check"),
                format!("{x} is not between 0 and 1"),
            ));
        }
        for (name, n) in [("k", self.k), ("k_prompt", self.k_prompt), ("candidates", self.candidates)] {
            if n == 0 {
                return Err(Error::invalid(format!("{name} of check"), "it has to be at least 1"));
            }
        }
        if self.candidates > Self::MOST_CANDIDATES {
            let problem = format!("{} is more than {}", self.candidates, Self::MOST_CANDIDATES);
            return Err(Error::invalid("candidates of check", problem));
        }
        Ok(())
    }
}
