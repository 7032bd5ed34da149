//! What the evidence says of a claim.

use serde::{Deserialize, Serialize};

/// A verdict about the evidence, not about our confidence in it: withholding a verdict is an abstention, which is
/// something else than [`Verdict::NotEnoughEvidence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The evidence supports the claim.
    Supported,
    /// The evidence contradicts the claim.
    Refuted,
    /// The evidence settles nothing.
    NotEnoughEvidence,
}
