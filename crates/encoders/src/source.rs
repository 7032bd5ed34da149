//! Where a model's numbers come from: the base weights, and an adapter that changes some of them.

use counterproof_core::Result;

use crate::adapter::Adapter;
use crate::weights::Weights;

/// The weights of a model folder under an adapter, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) weights: &'a Weights,
    pub(crate) adapter: Option<&'a Adapter>,
}

impl<'a> Source<'a> {
    /// The weights as they are.
    pub(crate) fn plain(weights: &'a Weights) -> Self {
        Self { weights, adapter: None }
    }

    /// The weights changed by an adapter.
    pub(crate) fn adapted(weights: &'a Weights, adapter: &'a Adapter) -> Self {
        Self { weights, adapter: Some(adapter) }
    }

    /// The matrix of the dense layer `name`, `outputs x inputs`.
    pub(crate) fn matrix(self, name: &str, outputs: usize, inputs: usize) -> Result<Vec<f32>> {
        let mut weight = self.weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?.to_vec();
        if let Some(adapter) = self.adapter {
            adapter.change(name, &mut weight, outputs, inputs)?;
        }
        Ok(weight)
    }

    /// The vector `name`.
    pub(crate) fn vector(self, name: &str, length: usize) -> Result<Vec<f32>> {
        match self.adapter.filter(|adapter| adapter.contains(name)) {
            Some(adapter) => Ok(adapter.tensor(name, &[length])?.to_vec()),
            None => Ok(self.weights.tensor(name, &[length])?.to_vec()),
        }
    }
}
