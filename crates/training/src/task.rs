//! What is put on top of the encoder: the seam between the training loop and the verifier and the reader.

use counterproof_encoders::parts::Sequence;

use crate::net::Workspace;
use crate::net::dense::Scratch;
use crate::progress::Evaluation;

/// A head with its examples, its loss and its figures.
pub(crate) trait Task: Send + Sync {
    /// A tokenized example.
    type Sample: Send + Sync;
    /// What the head says of a sample.
    type Output: Send + Sync;

    /// The tokens of a sample.
    fn sequence(sample: &Self::Sample) -> &Sequence;

    /// Adds what is learnt from a sample, apart from its tokens, to `bytes`: for telling whether a checkpoint belongs to
    /// the same data.
    fn describe(sample: &Self::Sample, bytes: &mut Vec<u8>);

    /// Takes new values of the parameters over.
    fn merge(&mut self, parameters: &[f32]);

    /// What the head says of the samples whose hidden states are in `space`, without dropout.
    fn outputs(&self, batch: &[&Self::Sample], space: &mut Workspace) -> Vec<Self::Output>;

    /// The sum of the samples' losses, times `factor`. Adds the gradients of the head to `space.gradients` and writes
    /// those of the hidden states to `space.d_states`. Without `seeds` nothing is dropped out.
    fn learn(
        &self,
        batch: &[&Self::Sample],
        seeds: Option<&[u64]>,
        factor: f32,
        space: &mut Workspace,
    ) -> f64;

    /// How good the outputs are.
    fn evaluate(&self, samples: &[Self::Sample], outputs: &[Self::Output]) -> Evaluation;
}

/// Room for a head's numbers.
#[derive(Debug, Default)]
pub(crate) struct HeadRoom {
    pub(crate) features: Vec<f32>,
    pub(crate) hidden: Vec<f32>,
    pub(crate) dropped: Vec<f32>,
    pub(crate) logits: Vec<f32>,
    pub(crate) d_features: Vec<f32>,
    pub(crate) d_hidden: Vec<f32>,
    pub(crate) d_logits: Vec<f32>,
    pub(crate) scratch: Scratch,
}

/// The site of the head's dropout mask, apart from those of every layer.
pub(crate) const HEAD_SITE: u64 = u64::MAX;
