//! How a training run is set up.

use std::path::PathBuf;

use counterproof_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Examples that are trained on one after another under the run's one learning-rate schedule.
#[derive(Debug, Clone)]
pub struct Stage<'a, E> {
    /// Its name in progress and reports.
    pub name: String,
    /// What is drawn from, in an order of the seed's.
    pub examples: &'a [E],
    /// How many are drawn.
    pub amount: Amount,
}

/// How many examples a stage draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Each example this often; half a pass draws half of them.
    Passes(f64),
    /// This many, in as many passes as it takes.
    Examples(usize),
}

impl Amount {
    /// The number of draws from `examples`.
    pub(crate) fn of(self, examples: usize) -> usize {
        match self {
            Self::Passes(passes) => (passes.max(0.0) * examples as f64).round() as usize,
            Self::Examples(_) if examples == 0 => 0,
            Self::Examples(count) => count,
        }
    }
}

/// How the learning rate falls after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// In a straight line to zero.
    Linear,
    /// Along half a cosine to zero (Loshchilov and Hutter, arXiv:1608.03983).
    Cosine,
}

/// Which of the base encoder's weights move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trainable {
    /// Rank of the LoRA matrices on every dense layer (Hu et al., arXiv:2106.09685); 0 trains none.
    pub rank: usize,
    /// The update is `alpha / rank * B * A`.
    pub alpha: f32,
    /// Whether the weights and biases of layer norms and the biases of dense layers are trained too.
    pub norms_and_biases: bool,
    /// Layers, counted from the bottom, whose weights are trained whole in place of LoRA. Each adds its weights to the
    /// adapter in 16 bit.
    pub whole_layers: Vec<usize>,
    /// Layers at the bottom that stay as they are: the backward pass ends above them.
    pub frozen_layers: usize,
}

impl Default for Trainable {
    fn default() -> Self {
        Self { rank: 16, alpha: 32.0, norms_and_biases: true, whole_layers: Vec::new(), frozen_layers: 0 }
    }
}

/// How the loss of the verifier is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VerifierLoss {
    /// The share of the target that is spread evenly over the classes (Szegedy et al., arXiv:1512.00567).
    pub label_smoothing: f32,
    /// Factors of the loss of rows labelled entailed, neutral, contradicted.
    pub class_weights: [f32; 3],
    /// Factor of the loss of rows that are only known to be not entailed.
    pub not_entailed_weight: f32,
}

impl Default for VerifierLoss {
    fn default() -> Self {
        Self { label_smoothing: 0.05, class_weights: [1.0; 3], not_entailed_weight: 1.0 }
    }
}

/// What the reader's loss asks of a passage with several answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReaderLoss {
    /// That some gold start and some gold end are likely (marginal likelihood; Clark and Gardner, arXiv:1710.10723).
    #[default]
    Any,
    /// That all of them are, evenly.
    Every,
}

/// Everything that decides what a run computes.
///
/// With the same examples, configuration and seed a run gives the same weights, to the bit, whatever the number of
/// threads, unless `max_minutes` cuts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainConfig {
    /// Decides the initial weights, the order of examples and what is dropped out.
    pub seed: u64,
    /// Which weights move.
    pub trainable: Trainable,
    /// The longest sequence in tokens, special tokens included; evidence beyond it is cut, statements and questions
    /// are not.
    pub max_tokens: usize,
    /// Tokens of one optimiser step: it takes examples until the next would pass this.
    pub tokens_per_step: usize,
    /// Parts of about equal tokens that a step is cut into, each computed by one thread.
    pub groups: usize,
    /// The highest learning rate.
    pub learning_rate: f64,
    /// Factor of the learning rate of the head.
    pub head_rate: f64,
    /// Factor of the learning rate from each layer to the one below it; 1 trains all alike.
    pub layer_decay: f64,
    /// The part of the run in which the learning rate rises.
    pub warmup: f64,
    /// How it falls afterwards.
    pub decay: Decay,
    /// Decoupled weight decay of matrices (Loshchilov and Hutter, arXiv:1711.05101); norms and biases have none.
    pub weight_decay: f64,
    /// Decay rates of AdamW's two moments.
    pub betas: [f64; 2],
    /// The norm that a step's whole gradient is cut to.
    pub clip: f64,
    /// Dropout of the embeddings and of the output of each attention and feed-forward block.
    pub dropout: f32,
    /// Dropout before the head's last layer.
    pub head_dropout: f32,
    /// The verifier's loss.
    pub verifier_loss: VerifierLoss,
    /// The reader's loss.
    pub reader_loss: ReaderLoss,
    /// Steps between validations; 0 validates only at the end.
    pub validate_every: usize,
    /// Ends the run after so many validations in a row without a better score; `None` never does.
    pub patience: Option<usize>,
    /// Whether the weights of the best validation are kept in place of the last ones.
    pub keep_best: bool,
    /// Minutes that the run may take: learning rate and stages keep their proportions and end when time is up.
    pub max_minutes: Option<f64>,
    /// An adapter of the same base to begin with, of either kind, in place of zeros: what one task taught the encoder
    /// is a start for the other. Its head is taken over only if it has the same one.
    #[serde(skip)]
    pub start: Option<PathBuf>,
    /// The file that the run's state is kept in. If it is there already, the run goes on from it.
    #[serde(skip)]
    pub checkpoint: Option<PathBuf>,
    /// Minutes between checkpoints.
    #[serde(skip)]
    pub checkpoint_minutes: f64,
    /// Threads that compute; every core if not given.
    #[serde(skip)]
    pub threads: Option<usize>,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            trainable: Trainable::default(),
            max_tokens: 192,
            tokens_per_step: 2048,
            groups: 4,
            learning_rate: 6e-4,
            head_rate: 1.0,
            layer_decay: 1.0,
            warmup: 0.05,
            decay: Decay::Linear,
            weight_decay: 0.01,
            betas: [0.9, 0.999],
            clip: 1.0,
            dropout: 0.1,
            head_dropout: 0.1,
            verifier_loss: VerifierLoss::default(),
            reader_loss: ReaderLoss::default(),
            validate_every: 0,
            patience: None,
            keep_best: true,
            max_minutes: None,
            start: None,
            checkpoint: None,
            checkpoint_minutes: 5.0,
            threads: None,
        }
    }
}

impl TrainConfig {
    /// Refuses values that make no sense for an encoder of `layers` layers and `window` tokens.
    pub(crate) fn check(&self, layers: usize, window: usize) -> Result<()> {
        let Trainable { rank, alpha, whole_layers, frozen_layers, .. } = &self.trainable;
        let fraction = |x: f64| (0.0..=1.0).contains(&x);
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let checks = [
            ("max_tokens", (16..=window).contains(&self.max_tokens), format!("16 to {window}")),
            ("tokens_per_step", self.tokens_per_step >= self.max_tokens, "at least max_tokens".to_owned()),
            ("groups", (1..=256).contains(&self.groups), "1 to 256".to_owned()),
            ("learning_rate", positive(self.learning_rate), "above 0".to_owned()),
            ("head_rate", positive(self.head_rate), "above 0".to_owned()),
            ("layer_decay", positive(self.layer_decay), "above 0".to_owned()),
            ("warmup", fraction(self.warmup), "0 to 1".to_owned()),
            ("weight_decay", fraction(self.weight_decay), "0 to 1".to_owned()),
            ("betas", self.betas.iter().all(|b| (0.0..1.0).contains(b)), "0 to below 1".to_owned()),
            ("clip", positive(self.clip), "above 0".to_owned()),
            ("dropout", (0.0..0.9).contains(&self.dropout), "0 to below 0.9".to_owned()),
            ("head_dropout", (0.0..0.9).contains(&self.head_dropout), "0 to below 0.9".to_owned()),
            ("max_minutes", self.max_minutes.is_none_or(positive), "above 0".to_owned()),
            ("trainable.rank", *rank <= 256, "0 to 256".to_owned()),
            ("trainable.alpha", positive(f64::from(*alpha)), "above 0".to_owned()),
            ("trainable.frozen_layers", *frozen_layers <= layers, format!("0 to {layers}")),
            (
                "trainable.whole_layers",
                whole_layers.iter().all(|l| (*frozen_layers..layers).contains(l)),
                format!("layers {frozen_layers} to {}", layers.saturating_sub(1)),
            ),
        ];
        match checks.into_iter().find(|(_, good, _)| !good) {
            Some((name, _, allowed)) => Err(Error::invalid(name, format!("out of range: give {allowed}"))),
            None => Ok(()),
        }
    }

    /// The learning rate at `fraction` of the run, from 0 to 1.
    pub(crate) fn rate_at(&self, fraction: f64) -> f64 {
        let fraction = fraction.clamp(0.0, 1.0);
        if fraction < self.warmup {
            return self.learning_rate * fraction / self.warmup;
        }
        let left = if self.warmup < 1.0 { (1.0 - fraction) / (1.0 - self.warmup) } else { 0.0 };
        self.learning_rate
            * match self.decay {
                Decay::Linear => left,
                Decay::Cosine => 0.5 * (1.0 - (left * std::f64::consts::PI).cos()),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_and_falls_to_zero() {
        for decay in [Decay::Linear, Decay::Cosine] {
            let config = TrainConfig { learning_rate: 1.0, warmup: 0.1, decay, ..TrainConfig::default() };
            assert!((config.rate_at(0.05) - 0.5).abs() < 1e-12);
            assert!((config.rate_at(0.1) - 1.0).abs() < 1e-12);
            assert!((config.rate_at(0.55) - 0.5).abs() < 1e-12);
            assert!(config.rate_at(1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_value_that_makes_no_sense_is_named() {
        let wrong = TrainConfig { max_tokens: 600, ..TrainConfig::default() };
        let error = wrong.check(6, 512).unwrap_err();
        assert!(error.to_string().contains("max_tokens"), "{error}");
        let whole = Trainable { whole_layers: vec![6], ..Trainable::default() };
        let error = TrainConfig { trainable: whole, ..TrainConfig::default() }.check(6, 512).unwrap_err();
        assert!(error.to_string().contains("layers 0 to 5"), "{error}");
        TrainConfig::default().check(6, 512).unwrap();
    }

    #[test]
    fn passes_and_counts_say_how_many_examples_are_drawn() {
        assert_eq!(Amount::Passes(1.5).of(10), 15);
        assert_eq!(Amount::Examples(7).of(3), 7);
        assert_eq!(Amount::Examples(7).of(0), 0);
    }
}
