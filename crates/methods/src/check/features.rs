//! What a confidence is made of (R2VC, 2.4): numbers of the verifier, of the generation and of the search.

use counterproof_core::Verdict;

use crate::weighing::logit;

/// Names of the features, in order. Probabilities go in as they are and, for the chosen label, as log-odds too.
pub const FEATURES: [&str; 22] = [
    "score",
    "score_logit",
    "support",
    "refutation",
    "margin",
    "joined_support",
    "joined_refutation",
    "agreeing_passages",
    "vote_share",
    "label_entropy",
    "invalid_share",
    "mean_logprob",
    "logprob_deviation",
    "self_confidence",
    "citations",
    "top_score",
    "score_gap",
    "entity_overlap",
    "missing_numbers",
    "claim_words",
    "is_supported",
    "is_refuted",
];

/// The numbers of one verdict. `None` is "not known here", which is another thing than zero: a verdict without a language
/// model has no vote, evidence that was given has no score of a search.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Features {
    /// The verifier's score of the chosen label, `v`.
    pub score: f64,
    /// The greatest probability of entailment, `s`.
    pub support: f64,
    /// The greatest probability of contradiction, `r`.
    pub refutation: f64,
    /// By how much `v` beats that of the next best label.
    pub margin: f64,
    /// What all pieces of evidence together entail.
    pub joined_support: Option<f64>,
    /// What they contradict.
    pub joined_refutation: Option<f64>,
    /// Passages that say the same as the verdict, each with probability one half or more.
    pub agreeing_passages: f64,
    /// Share of the valid candidates that have the chosen label.
    pub vote_share: Option<f64>,
    /// Entropy of the labels of the valid candidates, in nats.
    pub label_entropy: Option<f64>,
    /// Share of the candidates that could not be used.
    pub invalid_share: Option<f64>,
    /// Mean log-probability of the tokens of the selected candidate.
    pub mean_logprob: Option<f64>,
    /// Standard deviation of that mean over the candidates of the label.
    pub logprob_deviation: Option<f64>,
    /// What the model said of its own confidence, between 0 and 1.
    pub self_confidence: Option<f64>,
    /// How many passages are cited.
    pub citations: f64,
    /// Fused score of the best passage.
    pub top_score: Option<f64>,
    /// By how much it beats the second.
    pub score_gap: Option<f64>,
    /// Share of the words of the claim's names that the evidence holds; `None` for a claim without a name.
    pub entity_overlap: Option<f64>,
    /// Numbers of the claim that the evidence lacks; `None` for a claim without one.
    pub missing_numbers: Option<f64>,
    /// Words of the claim.
    pub claim_words: f64,
    /// The chosen label.
    pub verdict: Option<Verdict>,
}

impl Features {
    /// The numbers in the order of [`FEATURES`].
    pub fn values(&self) -> [Option<f64>; FEATURES.len()] {
        let flag = |is: bool| Some(f64::from(u8::from(is)));
        [
            Some(self.score),
            Some(logit(self.score)),
            Some(self.support),
            Some(self.refutation),
            Some(self.margin),
            self.joined_support,
            self.joined_refutation,
            Some(self.agreeing_passages),
            self.vote_share,
            self.label_entropy,
            self.invalid_share,
            self.mean_logprob,
            self.logprob_deviation,
            self.self_confidence,
            Some(self.citations),
            self.top_score,
            self.score_gap,
            self.entity_overlap,
            self.missing_numbers,
            Some(self.claim_words.ln_1p()),
            flag(self.verdict == Some(Verdict::Supported)),
            flag(self.verdict == Some(Verdict::Refuted)),
        ]
    }
}
