//! What can be promised of a rate from a few observations.

/// The probability of `events` or fewer in `n` trials at a rate `p` strictly between 0 and 1.
pub(crate) fn at_most(events: usize, n: usize, p: f64) -> f64 {
    if events >= n {
        return 1.0;
    }
    let (mut term, mut sum) = ((1.0 - p).ln() * n as f64, 0.0);
    for k in 0..=events {
        sum += term.exp();
        term += ((n - k) as f64 / (k + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    sum.min(1.0)
}

/// The one-sided 95 % upper bound of a rate after `events` in `n` (Clopper and Pearson, Biometrika 26, 1934).
pub fn upper_bound(events: usize, n: usize) -> f64 {
    if n == 0 || events >= n {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        // The rate at which `events` or fewer come with probability 0.05.
        if at_most(events, n, middle) > 0.05 { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_clopper_and_pearson() {
        // The rule of three: nothing in 300 leaves 1 % possible.
        assert!((upper_bound(0, 300) - 0.00994).abs() < 1e-4);
        assert!((upper_bound(0, 10) - 0.2589).abs() < 1e-4);
        assert!((upper_bound(5, 100) - 0.1023).abs() < 1e-3);
        assert_eq!(upper_bound(10, 10), 1.0);
    }

    #[test]
    fn few_events_are_unlikely_at_a_high_rate() {
        assert!((at_most(0, 10, 0.1) - 0.9f64.powi(10)).abs() < 1e-12);
        assert!((at_most(1, 2, 0.5) - 0.75).abs() < 1e-12);
        assert_eq!(at_most(3, 3, 0.5), 1.0);
    }
}
