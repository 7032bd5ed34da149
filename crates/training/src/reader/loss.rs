//! The reader's loss on one passage.

use crate::config::ReaderLoss;

/// The loss of one bound (all starts, or all ends) over the context's tokens and the no-answer score, and its gradients.
///
/// `gold` are the places of the answers' bounds among the tokens; none makes "no answer" due.
pub(crate) fn bound_loss(
    logits: &[f32],
    none: f32,
    gold: &[usize],
    kind: ReaderLoss,
) -> (f64, Vec<f32>, f32) {
    let all = || logits.iter().copied().chain([none]).map(f64::from);
    let log_sum = log_sum_exp(all());
    let mut gradient: Vec<f64> = all().map(|z| (z - log_sum).exp()).collect();
    let due: Vec<usize> = if gold.is_empty() { vec![logits.len()] } else { gold.to_vec() };
    let at = |place: &usize| all().nth(*place).unwrap_or(f64::from(none));
    let value = match kind {
        ReaderLoss::Any => {
            let log_due = log_sum_exp(due.iter().map(at));
            for place in &due {
                if let Some(gradient) = gradient.get_mut(*place) {
                    *gradient -= (at(place) - log_due).exp();
                }
            }
            log_sum - log_due
        }
        ReaderLoss::Every => {
            let share = 1.0 / due.len() as f64;
            for place in &due {
                if let Some(gradient) = gradient.get_mut(*place) {
                    *gradient -= share;
                }
            }
            log_sum - share * due.iter().map(at).sum::<f64>()
        }
    };
    let d_none = gradient.pop().unwrap_or_default() as f32;
    (value, gradient.into_iter().map(|g| g as f32).collect(), d_none)
}

fn log_sum_exp(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = numbers.clone().fold(f64::MIN, f64::max);
    most + numbers.map(|z| (z - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let logits = [0.3f32, -1.0, 2.0, 0.1];
        for kind in [ReaderLoss::Any, ReaderLoss::Every] {
            for gold in [&[][..], &[2], &[0, 3]] {
                let (_, gradient, d_none) = bound_loss(&logits, 0.5, gold, kind);
                let value = |logits: &[f32], none| bound_loss(logits, none, gold, kind).0;
                for i in 0..logits.len() {
                    let (mut up, mut down) = (logits, logits);
                    up[i] += 1e-2;
                    down[i] -= 1e-2;
                    let difference = (value(&up, 0.5) - value(&down, 0.5)) / f64::from(up[i] - down[i]);
                    assert!((difference - f64::from(gradient[i])).abs() < 1e-4, "{kind:?} {gold:?} {i}");
                }
                let difference = (value(&logits, 0.51) - value(&logits, 0.49)) / 0.02;
                assert!((difference - f64::from(d_none)).abs() < 1e-4, "{kind:?} {gold:?} none");
            }
        }
    }

    #[test]
    fn any_of_two_answers_will_do_where_every_asks_for_both() {
        let one_found = [9.0f32, -9.0, -9.0];
        let loss = |kind| bound_loss(&one_found, -9.0, &[0, 1], kind).0;
        assert!(loss(ReaderLoss::Any) < 1e-6);
        assert!(loss(ReaderLoss::Every) > 5.0);
    }
}
