//! Logistic regression with an L2 penalty, with two classes or more, fitted by Newton's method: the light models that
//! weigh what readers, verifiers and rules found.
//!
//! Features are put on one scale (mean 0, deviation 1) for the penalty, and the weights given back are for the features
//! as they came. An observation may leave open which of several classes it is of: it then counts with these together
//! (expectation and maximisation in each step; Dempster, Laird and Rubin 1977).

use counterproof_core::{Error, Result};

/// Newton steps at most; it settles in about ten.
const MAX_STEPS: usize = 100;

/// `P(y = 1 | x) = 1 / (1 + exp(-(bias + weights . x)))`.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// A weight a feature.
    pub weights: Vec<f64>,
    /// The constant, which is not penalised.
    pub bias: f64,
}

impl Logistic {
    /// Fits to rows of features, each with its outcome, under the penalty `lambda / 2 * |weights|^2`.
    ///
    /// # Errors
    /// Rows of different lengths, or outcomes that are all the same: nothing can be learnt from them.
    pub fn fit(rows: &[Vec<f64>], outcomes: &[bool], lambda: f64) -> Result<Self> {
        let observations: Vec<Observation> = outcomes
            .iter()
            .map(|y| Observation { classes: if *y { 0b10 } else { 0b01 }, weight: 1.0 })
            .collect();
        let fitted = Multinomial::fit(rows, &observations, 2, lambda)?;
        let one = fitted.classes.into_iter().next();
        one.ok_or_else(|| Error::failed("fitting a logistic model", "it has one class"))
    }

    /// The probability of `features`.
    pub fn probability(&self, features: &[f64]) -> f64 {
        1.0 / (1.0 + (-self.score(features)).exp())
    }

    /// The log-odds of `features`.
    pub fn score(&self, features: &[f64]) -> f64 {
        self.bias + dot(&self.weights, features)
    }
}

/// What is known of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The classes that it may be of: bit `k` stands for class `k`.
    pub classes: u32,
    /// How much it counts.
    pub weight: f64,
}

/// `P(y = k | x)` in proportion to `exp(bias_k + weights_k . x)`, where the score of class 0 is 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Multinomial {
    /// The scores of the classes from 1 on, against class 0.
    pub classes: Vec<Logistic>,
}

impl Multinomial {
    /// Fits to rows of features with what is known of each, for `classes` classes (2 to 32), under the penalty
    /// `lambda / 2 * |weights|^2`.
    ///
    /// # Errors
    /// Rows of different lengths; or a class that no row is surely of: nothing can be learnt about it.
    pub fn fit(rows: &[Vec<f64>], observations: &[Observation], classes: usize, lambda: f64) -> Result<Self> {
        let invalid = |problem: &str| Error::invalid("the rows to fit", problem);
        let width = rows.first().map_or(0, Vec::len);
        if rows.len() != observations.len() || rows.iter().any(|r| r.len() != width) {
            return Err(invalid("they are not of one length"));
        }
        if !(2..=32).contains(&classes) {
            return Err(invalid("there have to be 2 to 32 classes"));
        }
        if (0..classes).any(|k| !observations.iter().any(|o| o.classes == 1 << k && o.weight > 0.0)) {
            return Err(invalid("an outcome is missing among them; give rows of every kind"));
        }
        let (scaled, means, scales) = standardised(rows, width);
        let (scored, size) = (classes - 1, width + 1);
        let mut beta = vec![0.0; scored * size];
        for _ in 0..MAX_STEPS {
            let mut gradient = vec![0.0; scored * size];
            let mut hessian = vec![vec![0.0; scored * size]; scored * size];
            for (x, observation) in scaled.iter().zip(observations) {
                accumulate(x, observation, &beta, &mut gradient, &mut hessian);
            }
            for (i, (g, b)) in gradient.iter_mut().zip(&beta).enumerate() {
                // The last of each class is its constant.
                if i % size != width {
                    *g -= lambda * b;
                    if let Some(h) = hessian.get_mut(i).and_then(|row| row.get_mut(i)) {
                        *h += lambda.max(1e-9);
                    }
                }
            }
            let step = solve(hessian, gradient);
            beta.iter_mut().zip(&step).for_each(|(b, s)| *b += s);
            if step.iter().all(|s| s.abs() < 1e-9) {
                break;
            }
        }
        let class = |beta: &[f64]| {
            let weights: Vec<f64> = beta.iter().zip(&scales).map(|(b, scale)| b / scale).collect();
            let bias = beta.last().copied().unwrap_or(0.0) - dot(&weights, &means);
            Logistic { weights, bias }
        };
        Ok(Self { classes: beta.chunks(size).map(class).collect() })
    }

    /// The probability of every class, class 0 first.
    pub fn probabilities(&self, features: &[f64]) -> Vec<f64> {
        softmax(self.classes.iter().map(|class| class.score(features)))
    }
}

/// The rows with mean 0 and deviation 1 and a last column of ones, and the means and deviations. A feature that never
/// changes teaches nothing: its deviation is infinite, so that its weight comes out as zero.
fn standardised(rows: &[Vec<f64>], width: usize) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    let n = rows.len() as f64;
    let column = |i: usize| rows.iter().filter_map(move |r| r.get(i).copied());
    let (means, scales): (Vec<f64>, Vec<f64>) = (0..width)
        .map(|i| {
            let mean = column(i).sum::<f64>() / n;
            let variance = column(i).map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            (mean, if variance > 1e-12 { variance.sqrt() } else { f64::INFINITY })
        })
        .unzip();
    let scaled = rows.iter().map(|r| {
        let features = r.iter().zip(&means).zip(&scales).map(|((x, mean), scale)| (x - mean) / scale);
        features.chain([1.0]).collect()
    });
    (scaled.collect(), means, scales)
}

/// Adds a row's part of the gradient and of the Hessian.
fn accumulate(
    x: &[f64],
    observation: &Observation,
    beta: &[f64],
    gradient: &mut [f64],
    hessian: &mut [Vec<f64>],
) {
    let size = x.len();
    let p = softmax(beta.chunks(size).map(|beta| dot(beta, x)));
    let may_be = |k: usize| observation.classes & (1 << k) != 0;
    let known: f64 = p.iter().enumerate().filter(|(k, _)| may_be(*k)).map(|(_, p)| p).sum();
    let scored: Vec<f64> = p.iter().skip(1).copied().collect();
    for (k, p_k) in scored.iter().enumerate() {
        let due = if may_be(k + 1) { p_k / known.max(1e-300) } else { 0.0 };
        let error = observation.weight * (due - p_k);
        let own = gradient.iter_mut().skip(k * size);
        own.zip(x).for_each(|(g, xi)| *g += error * xi);
        for (l, p_l) in scored.iter().enumerate().take(k + 1) {
            // Only the lower half is read.
            let curve = if l == k { (p_k * (1.0 - p_k)).max(1e-9) } else { -p_k * p_l };
            let curve = observation.weight * curve;
            for (row, xi) in hessian.iter_mut().skip(k * size).zip(x) {
                let own = row.iter_mut().skip(l * size);
                own.zip(x).for_each(|(h, xj)| *h += curve * xi * xj);
            }
        }
    }
}

/// Probabilities from the scores of classes 1 and up; that of class 0 is 0.
fn softmax(scores: impl Iterator<Item = f64>) -> Vec<f64> {
    let scores: Vec<f64> = [0.0].into_iter().chain(scores).collect();
    let most = scores.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = scores.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|x| x / sum).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves `matrix * x = right` for a symmetric positive definite matrix, by its Cholesky factor.
#[allow(clippy::indexing_slicing)] // every index is below the one size of matrix and vectors
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let rest = matrix[i][j] - sum;
            matrix[i][j] = if i == j { rest.max(1e-12).sqrt() } else { rest / matrix[j][j] };
        }
    }
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - sum) / matrix[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| matrix[k][i] * right[k]).sum();
        right[i] = (right[i] - sum) / matrix[i][i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_log_odds_of_a_table() {
        // 30 of 40 with the feature, 10 of 40 without: log-odds ln 3 and -ln 3.
        let rows: Vec<Vec<f64>> = (0..80).map(|i| vec![f64::from(u8::from(i < 40)), 7.0]).collect();
        let outcomes: Vec<bool> = (0..80).map(|i| i < 30 || (40..50).contains(&i)).collect();
        let fitted = Logistic::fit(&rows, &outcomes, 0.0).unwrap();
        assert!((fitted.weights[0] - 2.0 * 3f64.ln()).abs() < 1e-6, "{fitted:?}");
        assert_eq!(fitted.weights[1], 0.0, "a feature that never changes has no weight");
        assert!((fitted.probability(&[1.0, 7.0]) - 0.75).abs() < 1e-6);
        assert!((fitted.probability(&[0.0, 7.0]) - 0.25).abs() < 1e-6);
    }

    #[test]
    fn separable_rows_are_held_by_the_penalty() {
        let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i)]).collect();
        let outcomes: Vec<bool> = (0..20).map(|i| i >= 10).collect();
        let fitted = Logistic::fit(&rows, &outcomes, 1.0).unwrap();
        assert!(fitted.weights[0].is_finite() && fitted.probability(&[19.0]) > 0.9);
    }

    #[test]
    fn rows_of_one_outcome_are_refused() {
        assert!(Logistic::fit(&[vec![1.0], vec![2.0]], &[true, true], 1.0).unwrap_err().is_user());
        assert!(Logistic::fit(&[vec![1.0], vec![]], &[true, false], 1.0).unwrap_err().is_user());
    }

    #[test]
    fn three_classes_come_out_as_their_shares() {
        // With the feature 1 : 2 : 5, without it 4 : 2 : 2.
        let counts = [(1.0, [1, 2, 5]), (0.0, [4, 2, 2])];
        let mut rows = Vec::new();
        let mut observations = Vec::new();
        for (x, shares) in counts {
            for (class, n) in shares.into_iter().enumerate() {
                for _ in 0..n {
                    rows.push(vec![x]);
                    observations.push(Observation { classes: 1 << class, weight: 1.0 });
                }
            }
        }
        let fitted = Multinomial::fit(&rows, &observations, 3, 0.0).unwrap();
        for (x, shares) in counts {
            let p = fitted.probabilities(&[x]);
            for (p, n) in p.iter().zip(shares) {
                assert!((p - f64::from(n) / 8.0).abs() < 1e-6, "{p} {n}");
            }
        }
    }

    #[test]
    fn rows_that_leave_the_class_open_count_with_all_they_may_be() {
        // Of eight rows four are of class 0, one is of class 1 and one of class 2, and two are of either of these.
        let masks = [1, 1, 1, 1, 2, 4, 6, 6];
        let rows = vec![vec![1.0]; masks.len()];
        let observations = masks.map(|classes| Observation { classes, weight: 1.0 });
        let p = Multinomial::fit(&rows, &observations, 3, 0.0).unwrap().probabilities(&[1.0]);
        for (p, due) in p.iter().zip([0.5, 0.25, 0.25]) {
            assert!((p - due).abs() < 1e-4, "{p} {due}");
        }
    }

    #[test]
    fn a_class_that_is_never_seen_is_refused() {
        let seen = [Observation { classes: 1, weight: 1.0 }, Observation { classes: 6, weight: 1.0 }];
        assert!(Multinomial::fit(&[vec![1.0], vec![2.0]], &seen, 3, 1.0).unwrap_err().is_user());
    }
}
