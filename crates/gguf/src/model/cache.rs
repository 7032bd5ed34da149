//! The keys and values of tokens that were read already.

/// Keys and values of a sequence of tokens, layer by layer. Cutting it back to any earlier length costs nothing, which is
/// how a prompt's beginning serves many continuations.
#[derive(Debug, Clone)]
pub(crate) struct KvCache {
    tokens: Vec<u32>,
    pub(super) layers: Vec<LayerCache>,
    width: usize,
}

/// One layer: token by token, the keys of all heads, and likewise the values.
#[derive(Debug, Clone, Default)]
pub(super) struct LayerCache {
    pub(super) keys: Vec<f32>,
    pub(super) values: Vec<f32>,
}

impl KvCache {
    /// An empty cache for `layers` layers with `width` numbers for the keys of a token.
    pub(crate) fn new(layers: usize, width: usize) -> Self {
        Self { tokens: Vec::new(), layers: vec![LayerCache::default(); layers], width }
    }

    /// The tokens it holds.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Forgets all tokens from position `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
        let numbers = self.tokens.len() * self.width;
        for layer in &mut self.layers {
            layer.keys.truncate(numbers);
            layer.values.truncate(numbers);
        }
    }

    /// Takes over the first `len` tokens of another cache.
    pub(crate) fn copy_from(&mut self, other: &Self, len: usize) {
        let len = len.min(other.len());
        self.truncate(0);
        self.tokens.extend(other.tokens.iter().take(len));
        let numbers = len * self.width;
        for (to, from) in self.layers.iter_mut().zip(&other.layers) {
            to.keys.extend_from_slice(from.keys.get(..numbers).unwrap_or(&from.keys));
            to.values.extend_from_slice(from.values.get(..numbers).unwrap_or(&from.values));
        }
    }

    /// Notes that all layers now hold these tokens as well.
    pub(crate) fn commit(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}
