//! The layer that joins what a verifier's encoder says with what rules find.
//!
//! An encoder of this size sees topics first; a rule sees that a year is another one but not what a sentence means. The
//! layer is a multinomial logistic model over the logits, the numbers of [`counterproof_text::conflict`], and what a small
//! network makes of these numbers alone: a refutation that no rule confirms needs a surer encoder than one that a rule
//! sees too. The network is trained on the encoder's training pairs, the layer on pairs that neither was trained on.

use counterproof_core::{InternalError, Result};
use counterproof_text::conflict::{FEATURES, Features, compare};
use serde::{Deserialize, Serialize};

/// Inputs that come from the encoder's logits and from the network over the rules, before the rules' own.
const FROM_MODELS: [&str; 13] = [
    "entailed",
    "contradicted",
    "log_entailed",
    "log_neutral",
    "log_contradicted",
    "answer_entailed",
    "answer_contradicted",
    "answer_log_entailed",
    "rules_log_entailed",
    "rules_log_neutral",
    "rules_log_contradicted",
    "answer_rules_log_entailed",
    "answer_rules_log_contradicted",
];

/// A dense layer: a row of weights and a bias for each output.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DenseLayer {
    /// `outputs x inputs`.
    pub weights: Vec<Vec<f32>>,
    /// One for each output.
    pub biases: Vec<f32>,
}

impl DenseLayer {
    fn apply(&self, x: &[f32]) -> Vec<f32> {
        let output = |(weights, bias): (&Vec<f32>, &f32)| {
            bias + weights.iter().zip(x).map(|(w, x)| w * x).sum::<f32>()
        };
        self.weights.iter().zip(&self.biases).map(output).collect()
    }

    fn has_shape(&self, outputs: usize, inputs: usize) -> bool {
        self.weights.len() == outputs
            && self.biases.len() == outputs
            && self.weights.iter().all(|w| w.len() == inputs)
    }
}

/// What rules alone say of a pair: `output(tanh(hidden((features - means) * scales)))`, in logits of entailed, neutral and
/// contradicted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RulesModel {
    /// The names of the features, in order.
    pub inputs: Vec<String>,
    /// Subtracted from the features.
    pub means: Vec<f32>,
    /// Factors of the differences.
    pub scales: Vec<f32>,
    /// The inner layer.
    pub hidden: DenseLayer,
    /// The layer to the three classes.
    pub output: DenseLayer,
}

impl RulesModel {
    /// The log-probabilities of entailed, neutral and contradicted.
    pub fn log_probabilities(&self, features: &Features) -> [f64; 3] {
        let scaled =
            features.iter().zip(&self.means).zip(&self.scales).map(|((x, mean), scale)| (x - mean) * scale);
        let scaled: Vec<f32> = scaled.collect();
        let inner: Vec<f32> = self.hidden.apply(&scaled).into_iter().map(f32::tanh).collect();
        let logits = self.output.apply(&inner);
        log_softmax([0, 1, 2].map(|i| f64::from(logits.get(i).copied().unwrap_or_default())))
    }

    fn is_whole(&self) -> bool {
        let (inputs, hidden) = (FEATURES.len(), self.hidden.biases.len());
        let numbers =
            self.means.iter().chain(&self.scales).chain(&self.hidden.biases).chain(&self.output.biases);
        let weights = self.hidden.weights.iter().chain(&self.output.weights).flatten();
        self.inputs == FEATURES
            && self.means.len() == inputs
            && self.scales.len() == inputs
            && self.hidden.has_shape(hidden, inputs)
            && self.output.has_shape(3, hidden)
            && numbers.chain(weights).all(|x| x.is_finite())
    }
}

/// Logits as log-probabilities.
pub(crate) fn log_softmax(logits: [f64; 3]) -> [f64; 3] {
    let most = logits.iter().copied().fold(f64::MIN, f64::max);
    let all = most + logits.iter().map(|x| (x - most).exp()).sum::<f64>().ln();
    logits.map(|x| x - all)
}

/// A multinomial logistic model over logits and rules; the score of "neutral" is 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// What the weights belong to, in order: [`inputs`](Self::input_names) when it was fitted.
    pub inputs: Vec<String>,
    /// The weights of the score of "entailed".
    pub entailed: Vec<f64>,
    /// The weights of the score of "contradicted".
    pub contradicted: Vec<f64>,
    /// The constants of both scores.
    pub biases: [f64; 2],
    /// The network over the rules' numbers.
    pub rules: RulesModel,
}

impl Fusion {
    /// The names of the inputs in this version.
    pub fn input_names() -> Vec<String> {
        FROM_MODELS.iter().chain(&FEATURES).map(|name| (*name).to_owned()).collect()
    }

    /// The inputs of a pair whose logits (entailed, neutral, contradicted) are known.
    pub fn inputs(rules: &RulesModel, logits: [f32; 3], premise: &str, hypothesis: &str) -> Vec<f64> {
        let features = compare(premise, hypothesis).features;
        let [e, n, c] = logits.map(f64::from);
        let [log_e, log_n, log_c] = log_softmax([e, n, c]);
        let [rules_e, rules_n, rules_c] = rules.log_probabilities(&features);
        let place = FEATURES.iter().position(|name| *name == "is_answer");
        let answer = place.and_then(|i| features.get(i)).map_or(0.0, |x| f64::from(*x));
        let from_models = [
            e - n,
            c - n,
            log_e,
            log_n,
            log_c,
            answer * (e - n),
            answer * (c - n),
            answer * log_e,
            rules_e,
            rules_n,
            rules_c,
            answer * rules_e,
            answer * rules_c,
        ];
        from_models.into_iter().chain(features.iter().map(|x| f64::from(*x))).collect()
    }

    /// The probabilities of entailed, neutral and contradicted for a pair whose logits are known.
    pub fn judge(&self, logits: [f32; 3], premise: &str, hypothesis: &str) -> [f64; 3] {
        self.probabilities(&Self::inputs(&self.rules, logits, premise, hypothesis))
    }

    /// The probabilities of entailed, neutral and contradicted for what [`inputs`](Self::inputs) gave.
    pub fn probabilities(&self, inputs: &[f64]) -> [f64; 3] {
        let score =
            |weights: &[f64], bias: f64| bias + weights.iter().zip(inputs).map(|(w, x)| w * x).sum::<f64>();
        let [entailed, contradicted] = self.biases;
        let scores = [score(&self.entailed, entailed), 0.0, score(&self.contradicted, contradicted)];
        log_softmax(scores).map(f64::exp)
    }

    /// Refuses a layer that was fitted to other inputs than this version has.
    ///
    /// # Errors
    /// The message names the file `path` and the first input that differs.
    pub fn check(&self, path: &str) -> Result<()> {
        let names = Self::input_names();
        let message = if self.inputs != names {
            let other = self.inputs.iter().zip(&names).find(|(a, b)| a != b);
            let other =
                other.map_or_else(|| "their number".to_owned(), |(a, b)| format!("`{a}` in place of `{b}`"));
            format!("its layer over the rules was fitted to other rules ({other}): train the adapter anew")
        } else if [&self.entailed, &self.contradicted].iter().any(|weights| weights.len() != names.len()) {
            "its layer over the rules has not a weight for every input".to_owned()
        } else if !self.entailed.iter().chain(&self.contradicted).chain(&self.biases).all(|x| x.is_finite()) {
            "its layer over the rules holds a number that is not finite".to_owned()
        } else if !self.rules.is_whole() {
            "its network over the rules is not whole, or made for other rules: train the adapter anew"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(InternalError::Damaged { path: path.to_owned(), message }.into())
    }
}
