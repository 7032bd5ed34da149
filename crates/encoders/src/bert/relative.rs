//! Disentangled attention over relative positions (He et al., arXiv:2006.03654; the logarithmic buckets are those of the
//! version of arXiv:2111.09543): beside content against content, the content of each token is scored against
//! where the other one stands.

use std::ops::Range;

use counterproof_core::Result;
use counterproof_kernels::matrix::{Left, Panels, Product, Then};
use counterproof_kernels::norm::LayerNorm;

use super::Linear;
use crate::config::{BertConfig, Relative};
use crate::source::Source;

/// The table of relative positions, normalised where the model has it so: `2 span x hidden_size`.
pub(super) struct PositionTable {
    rows: Vec<f32>,
    relative: Relative,
}

impl PositionTable {
    /// The model's table; `None` for one with absolute positions.
    pub(super) fn load(source: Source<'_>, config: &BertConfig) -> Result<Option<Self>> {
        let Some(relative) = config.relative() else { return Ok(None) };
        let hidden = config.hidden_size;
        let table = source.weights.tensor("encoder.rel_embeddings.weight", &[2 * relative.span, hidden])?;
        let mut rows = table.to_vec();
        if relative.normalised {
            let norm = LayerNorm {
                weight: source.vector("encoder.LayerNorm.weight", hidden)?,
                bias: source.vector("encoder.LayerNorm.bias", hidden)?,
                epsilon: config.layer_norm_eps,
            };
            norm.apply(&mut rows);
        }
        Ok(Some(Self { rows, relative }))
    }

    /// What a layer makes of the table, by its own query and key matrices.
    pub(super) fn for_layer(&self, query: &Linear, key: &Linear, config: &BertConfig) -> Positions {
        let (hidden, size) = (config.hidden_size, config.head_size());
        let projected = |by: &Linear| {
            let mut out = vec![0.0; self.rows.len()];
            by.apply(&self.rows, Then::Keep, &mut out);
            out
        };
        let (queries, keys) = (projected(query), projected(key));
        let heads = |rows: &[f32]| -> Vec<Panels> {
            (0..config.num_attention_heads)
                .map(|head| {
                    let own = rows.chunks_exact(hidden);
                    let mut panels = Panels::empty();
                    panels.lay_columns(
                        size,
                        1.0,
                        own.map(|row| row.get(head * size..(head + 1) * size).unwrap_or_default()),
                    );
                    panels
                })
                .collect()
        };
        Positions { queries: heads(&queries), keys: heads(&keys), relative: self.relative }
    }
}

/// The relative positions as a layer's heads see them.
pub(super) struct Positions {
    /// Scored against the keys of content, a head each; scaled as queries are.
    queries: Vec<Panels>,
    /// Scored against the queries of content, a head each.
    keys: Vec<Panels>,
    relative: Relative,
}

/// Room for the scores of one text.
#[derive(Default)]
pub(super) struct Room {
    /// For each query its score against every position.
    by_query: Vec<f32>,
    /// For each key its score against every position.
    by_key: Vec<f32>,
    /// The row of the table for each distance, from the farthest before to the farthest after.
    places: Vec<usize>,
}

impl Positions {
    /// Makes ready for a head over a text of `length` tokens, whose queries and keys stand `stride` apart.
    pub(super) fn prepare(
        &self,
        head: usize,
        length: usize,
        stride: usize,
        [queries, keys]: [&[f32]; 2],
        room: &mut Room,
    ) {
        let columns = 2 * self.relative.span;
        for (x, panels, out) in [
            (queries, self.keys.get(head), &mut room.by_query),
            (keys, self.queries.get(head), &mut room.by_key),
        ] {
            out.resize(length * columns, 0.0);
            let Some(panels) = panels else { continue };
            Product {
                x: Left::rows(x, stride, length),
                panels,
                bias: None,
                out,
                out_stride: columns,
                accumulate: false,
                then: Then::Keep,
            }
            .run();
        }
        if room.places.len() != 2 * length - 1 {
            let far = length as i64 - 1;
            room.places = (-far..=far).map(|distance| self.relative.place(distance)).collect();
        }
    }

    /// Adds the two scores by position to the scores of content of the queries `first..`, each against every key.
    pub(super) fn add(&self, scores: &mut [f32], length: usize, queries: Range<usize>, room: &Room) {
        let columns = 2 * self.relative.span;
        for (query, scores) in queries.zip(scores.chunks_exact_mut(length)) {
            let own = room.by_query.get(query * columns..).unwrap_or_default();
            for (key, score) in scores.iter_mut().enumerate() {
                let place = room.places.get(query + length - 1 - key).copied().unwrap_or_default();
                let of_key = room.by_key.get(key * columns + place).copied().unwrap_or_default();
                *score += own.get(place).copied().unwrap_or_default() + of_key;
            }
        }
    }
}

impl Relative {
    /// The row of the table for a key that stands `distance` before the query.
    pub(crate) fn place(&self, distance: i64) -> usize {
        let span = self.span as i64;
        let bucket = match self.buckets {
            None => distance,
            Some(buckets) => logarithmic(distance, buckets as i64, self.farthest as f32),
        };
        usize::try_from((bucket + span).clamp(0, 2 * span - 1)).unwrap_or_default()
    }
}

/// Near distances each for themselves, far ones by their logarithm; in single precision, as models were trained.
fn logarithmic(distance: i64, buckets: i64, farthest: f32) -> i64 {
    let middle = buckets / 2;
    let far = distance.abs();
    if far <= middle || middle < 1 {
        return distance;
    }
    let steps =
        (far as f32 / middle as f32).ln() / ((farthest - 1.0) / middle as f32).ln() * (middle - 1) as f32;
    distance.signum() * (steps.ceil() as i64 + middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_even_near_by_and_logarithmic_far_off() {
        // DeBERTa-v3: 256 buckets, 512 positions.
        let relative = Relative { span: 256, buckets: Some(256), farthest: 512, normalised: true };
        for (distance, place) in
            [(0, 256), (1, 257), (-1, 255), (128, 384), (-128, 128), (511, 511), (-511, 1)]
        {
            assert_eq!(relative.place(distance), place, "{distance}");
        }
        assert!(relative.place(200) < 456 && relative.place(200) > 384);
        let plain = Relative { span: 4, buckets: None, farthest: 4, normalised: false };
        assert_eq!([-9, -4, -1, 0, 3, 9].map(|d| plain.place(d)), [0, 0, 3, 4, 7, 7]);
    }
}
