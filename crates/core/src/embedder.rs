//! The seam to text embeddings.

use async_trait::async_trait;

use crate::retriever::words_of;
use crate::{Result, sha256_hex};

/// Places texts in a space where nearness is likeness of meaning.
///
/// Contract: one vector a text, in the order given, each of [`dimension`](Embedder::dimension) numbers and of unit
/// Euclidean length, so that the dot product of two is their cosine. A blank text gives some unit vector, never NaN.
/// Texts beyond the model's window are cut by the implementation. An empty batch gives an empty list.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Names the model and its weights, for index headers and cache keys: it changes when vectors may change.
    fn identity(&self) -> &str;

    /// How many numbers a vector has.
    fn dimension(&self) -> usize;

    /// The vectors of `texts`.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}

/// An embedder without a model: words are hashed to signed places (feature hashing), so that texts which share words
/// lie near each other. For tests and examples.
#[derive(Debug, Clone)]
pub struct HashEmbedder {
    dimension: usize,
    identity: String,
}

impl HashEmbedder {
    /// An embedder into `dimension` places (at least one).
    pub fn new(dimension: usize) -> Self {
        let dimension = dimension.max(1);
        Self { dimension, identity: format!("hash-{dimension}") }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0f32; self.dimension];
        for word in words_of(text) {
            let digest = sha256_hex(&word);
            let number = u64::from_str_radix(digest.as_str().get(..15).unwrap_or("0"), 16).unwrap_or(0);
            let place = (number >> 1) as usize % self.dimension;
            if let Some(x) = vector.get_mut(place) {
                *x += if number & 1 == 0 { 1.0 } else { -1.0 };
            }
        }
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if norm > 0.0 {
            for x in &mut vector {
                *x /= norm;
            }
        } else if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        vector
    }
}

#[async_trait]
impl Embedder for HashEmbedder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|t| self.vector(t)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn vectors_have_unit_length_even_for_blank_text() {
        let e = HashEmbedder::new(64);
        let v =
            e.embed(&["the observatory opened", "an observatory opened late", "", "zebra"]).await.unwrap();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        for x in &v {
            assert!((dot(x, x) - 1.0).abs() < 1e-5);
        }
        assert!(dot(&v[0], &v[1]) > dot(&v[0], &v[3]));
    }
}
