//! Logistic regression with an L2 penalty, fitted by Newton's method (iteratively reweighted least squares): the light
//! models that weigh what readers, verifiers and rules found.

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
    /// Fits to rows of features, each with its outcome. Features are put on one scale (mean 0, deviation 1) for the
    /// penalty `lambda / 2 * |weights|^2`, and the weights given back are for the features as they came.
    ///
    /// # Errors
    /// Rows of different lengths, or outcomes that are all the same: nothing can be learnt from them.
    pub fn fit(rows: &[Vec<f64>], outcomes: &[bool], lambda: f64) -> Result<Self> {
        let invalid = |problem: &str| Error::invalid("the rows to fit", problem);
        let width = rows.first().map_or(0, Vec::len);
        if rows.len() != outcomes.len() || rows.iter().any(|r| r.len() != width) {
            return Err(invalid("they are not of one length"));
        }
        if outcomes.iter().all(|y| *y) || !outcomes.iter().any(|y| *y) {
            return Err(invalid("they all have the same outcome; give rows of both kinds"));
        }
        let n = rows.len() as f64;
        let column = |i: usize| rows.iter().filter_map(move |r| r.get(i).copied());
        let (means, scales): (Vec<f64>, Vec<f64>) = (0..width)
            .map(|i| {
                let mean = column(i).sum::<f64>() / n;
                let variance = column(i).map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                // A feature that never changes teaches nothing; its weight comes out as zero.
                (mean, if variance > 1e-12 { variance.sqrt() } else { f64::INFINITY })
            })
            .unzip();
        let scaled: Vec<Vec<f64>> = rows
            .iter()
            .map(|r| {
                let features = r.iter().zip(&means).zip(&scales).map(|((x, mean), scale)| (x - mean) / scale);
                features.chain([1.0]).collect()
            })
            .collect();
        let mut beta = vec![0.0; width + 1];
        for _ in 0..MAX_STEPS {
            let mut gradient = vec![0.0; width + 1];
            let mut hessian = vec![vec![0.0; width + 1]; width + 1];
            for (x, y) in scaled.iter().zip(outcomes) {
                let p = sigmoid(dot(&beta, x));
                let (error, weight) = (f64::from(u8::from(*y)) - p, (p * (1.0 - p)).max(1e-9));
                for ((g, row), xi) in gradient.iter_mut().zip(&mut hessian).zip(x) {
                    *g += error * xi;
                    for (h, xj) in row.iter_mut().zip(x) {
                        *h += weight * xi * xj;
                    }
                }
            }
            for (i, (g, b)) in gradient.iter_mut().zip(&beta).enumerate().take(width) {
                *g -= lambda * b;
                if let Some(h) = hessian.get_mut(i).and_then(|row| row.get_mut(i)) {
                    *h += lambda.max(1e-9);
                }
            }
            let step = solve(hessian, gradient);
            beta.iter_mut().zip(&step).for_each(|(b, s)| *b += s);
            if step.iter().all(|s| s.abs() < 1e-9) {
                break;
            }
        }
        let constant = beta.pop().unwrap_or(0.0);
        let weights: Vec<f64> = beta.iter().zip(&scales).map(|(b, scale)| b / scale).collect();
        let bias = constant - dot(&weights, &means);
        Ok(Self { weights, bias })
    }

    /// The probability of `features`.
    pub fn probability(&self, features: &[f64]) -> f64 {
        sigmoid(self.bias + dot(&self.weights, features))
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
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
}
