//! Choosing the next token.

use counterproof_core::{Error, Result, Sampling, UserError};

/// A token this much less likely than the likeliest (in natural logarithms, after temperature) is never drawn: all such
/// tokens together hold less than one part in ten thousand of a vocabulary of 250,000.
const NEGLIGIBLE: f32 = 22.0;

/// Draws tokens as a request says, the same ones for the same seed.
pub(crate) struct Sampler {
    /// `None` takes the likeliest.
    temperature: Option<f32>,
    top_p: f32,
    state: u64,
}

impl Sampler {
    /// Checks the parameters. Without a temperature the likeliest token is taken; without a seed, a drawn one differs
    /// from run to run.
    pub(crate) fn new(sampling: &Sampling) -> Result<Self> {
        let invalid = |what: &str, problem: &str| {
            Err(Error::from(UserError::Invalid { what: what.to_owned(), problem: problem.to_owned() }))
        };
        let temperature = sampling.temperature.unwrap_or(0.0);
        if !temperature.is_finite() || temperature < 0.0 {
            return invalid("temperature", "it must be a number from 0 on");
        }
        let top_p = sampling.top_p.unwrap_or(1.0);
        if !(top_p > 0.0 && top_p <= 1.0) {
            return invalid("top_p", "it must be over 0 and at most 1");
        }
        Ok(Self {
            temperature: (temperature > 0.0).then_some(temperature),
            top_p,
            state: sampling.seed.unwrap_or_else(entropy),
        })
    }

    /// The next token, given the scores of all; the one with the lower number among equals. `None` when the scores are
    /// not numbers.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> Option<u32> {
        let mut best: Option<(u32, f32)> = None;
        for (id, logit) in (0u32..).zip(logits) {
            if logit.is_nan() {
                return None;
            }
            if best.is_none_or(|(_, b)| *logit > b) {
                best = Some((id, *logit));
            }
        }
        let (best, max) = best.filter(|(_, max)| max.is_finite())?;
        let Some(temperature) = self.temperature else { return Some(best) };
        let mut candidates: Vec<(u32, f32)> = (0u32..)
            .zip(logits)
            .map(|(id, logit)| (id, (logit - max) / temperature))
            .filter(|(_, l)| *l > -NEGLIGIBLE)
            .collect();
        candidates.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let weights: Vec<f64> = candidates.iter().map(|(_, l)| f64::from(*l).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut kept = 0.0;
        let mut count = 0;
        for weight in &weights {
            kept += weight;
            count += 1;
            if kept >= f64::from(self.top_p) * total {
                break;
            }
        }
        let mut left = self.uniform() * kept;
        for ((id, _), weight) in candidates.iter().zip(&weights).take(count) {
            left -= weight;
            if left < 0.0 {
                return Some(*id);
            }
        }
        candidates.get(count.saturating_sub(1)).map(|c| c.0)
    }

    /// A number in `[0, 1)`, by SplitMix64 (Steele, Lea and Flood, 2014): its sequence for a seed is fixed for all time.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn entropy() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(temperature: f32, top_p: f32, seed: u64) -> Sampler {
        Sampler::new(&Sampling {
            temperature: Some(temperature),
            top_p: Some(top_p),
            seed: Some(seed),
            ..Sampling::default()
        })
        .unwrap()
    }

    #[test]
    fn greedy_takes_the_likeliest_and_the_first_among_equals() {
        let mut greedy = Sampler::new(&Sampling::default()).unwrap();
        assert_eq!(greedy.choose(&[0.0, 3.0, 3.0, -1.0]), Some(1));
        assert_eq!(greedy.choose(&[0.0, f32::NAN]), None);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let mut drawing = sampler(1.0, 1.0, 7);
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
        let mut counts = [0; 3];
        for _ in 0..20_000 {
            counts[drawing.choose(&logits).unwrap() as usize] += 1;
        }
        for (count, p) in counts.iter().zip([0.5, 0.3, 0.2]) {
            assert!((f64::from(*count) / 20_000.0 - p).abs() < 0.015, "{counts:?}");
        }
    }

    #[test]
    fn top_p_leaves_out_the_tail() {
        let mut drawing = sampler(1.0, 0.7, 7);
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
        assert!((0..1000).all(|_| drawing.choose(&logits) != Some(2)));
    }

    #[test]
    fn a_seed_fixes_the_draws() {
        let logits: Vec<f32> = (0..50).map(|i| (i % 7) as f32 / 3.0).collect();
        let draw = |seed| {
            let mut s = sampler(0.9, 0.95, seed);
            (0..20).map(|_| s.choose(&logits).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn nonsense_is_refused() {
        for (temperature, top_p) in [(-1.0, 1.0), (f32::NAN, 1.0), (1.0, 0.0), (1.0, 1.5)] {
            let sampling =
                Sampling { temperature: Some(temperature), top_p: Some(top_p), ..Sampling::default() };
            assert!(Sampler::new(&sampling).is_err());
        }
    }
}
