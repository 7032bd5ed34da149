//! A model that sees the statement only: what it gets right is no evidence of verifying anything.

use counterproof_training::examples::{Label, PairExample, Target};

/// Multinomial logistic regression over hashed words and pairs of words.
pub(crate) struct ClaimOnly {
    weights: Vec<[f32; 3]>,
}

const BITS: u32 = 18;
const EPOCHS: usize = 3;

fn features(text: &str) -> Vec<usize> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let hash = |parts: &[&str]| {
        let bytes = parts.iter().flat_map(|p| p.bytes().chain([b' ']));
        let hash =
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        (hash >> (64 - BITS)) as usize
    };
    // The first feature is the bias.
    let single = words.iter().map(|w| hash(&[w]));
    let pairs = words.windows(2).map(hash);
    std::iter::once(0).chain(single).chain(pairs).collect()
}

fn softmax(scores: [f32; 3]) -> [f32; 3] {
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let raised = scores.map(|s| (s - most).exp());
    let sum: f32 = raised.iter().sum();
    raised.map(|r| r / sum)
}

impl ClaimOnly {
    /// Fits by AdaGrad over the pairs in their order.
    pub(crate) fn fit(pairs: &[&PairExample]) -> Self {
        let mut weights = vec![[0f32; 3]; 1 << BITS];
        let mut squares = vec![[1e-6f32; 3]; 1 << BITS];
        let rows: Vec<(Vec<usize>, Target)> =
            pairs.iter().map(|p| (features(&p.hypothesis), p.target)).collect();
        for _ in 0..EPOCHS {
            for (active, target) in &rows {
                let p = softmax(sum(&weights, active));
                // "Not entailed": the two other classes share the blame by their own probability.
                let rest = (p[1] + p[2]).max(1e-6);
                let wanted = match target {
                    Target::Is(Label::Entailment) => [1.0, 0.0, 0.0],
                    Target::Is(Label::Neutral) => [0.0, 1.0, 0.0],
                    Target::Is(Label::Contradiction) => [0.0, 0.0, 1.0],
                    Target::NotEntailed => [0.0, p[1] / rest, p[2] / rest],
                };
                for at in active {
                    for class in 0..3 {
                        let gradient = p[class] - wanted[class] + 1e-6 * weights[*at][class];
                        squares[*at][class] += gradient * gradient;
                        weights[*at][class] -= 0.1 * gradient / squares[*at][class].sqrt();
                    }
                }
            }
        }
        Self { weights }
    }

    pub(crate) fn predict(&self, pairs: &[&PairExample]) -> Vec<[f64; 3]> {
        pairs.iter().map(|p| softmax(sum(&self.weights, &features(&p.hypothesis))).map(f64::from)).collect()
    }
}

fn sum(weights: &[[f32; 3]], active: &[usize]) -> [f32; 3] {
    let mut out = [0.0; 3];
    for at in active {
        for class in 0..3 {
            out[class] += weights[*at][class];
        }
    }
    out
}
