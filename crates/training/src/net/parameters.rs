//! Everything that is trained, as one flat buffer of numbers with named parts: what an optimiser, a norm and a
//! checkpoint want.

use std::collections::BTreeMap;
use std::ops::Range;

use counterproof_core::Result;
use counterproof_encoders::adapter::{Adapter, Tensor};

use crate::random::Random;

/// One named tensor of the buffer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    /// Its name in the adapter file.
    pub(crate) name: String,
    /// Its dimensions in the buffer.
    pub(crate) shape: Vec<usize>,
    /// Where it lies.
    pub(crate) range: Range<usize>,
    /// Whether the adapter file holds its transpose.
    pub(crate) transposed: bool,
    /// Whether it decays: matrices do, norms and biases do not.
    pub(crate) decays: bool,
    /// Factor of the learning rate.
    pub(crate) rate: f32,
}

/// The buffer and its parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters {
    pub(crate) values: Vec<f32>,
    pub(crate) slots: Vec<Slot>,
}

/// How a new tensor is filled.
pub(crate) enum Fill<'a> {
    /// With zeros.
    Zeros,
    /// Evenly from `-1/sqrt(inputs)` to `1/sqrt(inputs)`, as PyTorch fills a dense layer (and PEFT the first LoRA matrix).
    Uniform {
        /// Numbers that each output is made of.
        inputs: usize,
    },
    /// With the base encoder's numbers.
    Copy(&'a [f32]),
}

impl Parameters {
    /// Adds a tensor and says where it lies.
    pub(crate) fn add(
        &mut self,
        name: String,
        shape: &[usize],
        fill: &Fill<'_>,
        rate: f32,
        random: &mut Random,
    ) -> Range<usize> {
        let start = self.values.len();
        let count: usize = shape.iter().product();
        match fill {
            Fill::Zeros => self.values.resize(start + count, 0.0),
            Fill::Uniform { inputs } => {
                let bound = 1.0 / (*inputs as f32).sqrt();
                self.values.extend((0..count).map(|_| (2.0 * random.unit() - 1.0) * bound));
            }
            Fill::Copy(numbers) => self.values.extend_from_slice(numbers),
        }
        let range = start..start + count;
        let transposed = name.ends_with(".lora_A");
        let decays = shape.len() > 1;
        let slot = Slot { name, shape: shape.to_vec(), range: range.clone(), transposed, decays, rate };
        self.slots.push(slot);
        range
    }

    /// Takes over what an adapter holds under the same names, and says how many tensors that were.
    ///
    /// # Errors
    /// When one of them has another shape.
    pub(crate) fn take_over(&mut self, adapter: &Adapter) -> Result<usize> {
        let Self { values, slots } = self;
        let mut taken = 0;
        for slot in slots.iter().filter(|slot| adapter.contains(&slot.name)) {
            let values = part_mut(values, &slot.range);
            match slot.shape.as_slice() {
                [rows, columns] if slot.transposed => {
                    let data = adapter.tensor(&slot.name, &[*columns, *rows])?;
                    for (r, row) in values.chunks_exact_mut((*columns).max(1)).enumerate() {
                        let column = data.iter().skip(r).step_by(*rows);
                        row.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
                    }
                }
                shape => values.copy_from_slice(adapter.tensor(&slot.name, shape)?),
            }
            taken += 1;
        }
        Ok(taken)
    }

    /// The tensors by name, as the adapter file holds them.
    pub(crate) fn tensors(&self) -> BTreeMap<String, Tensor> {
        let tensor = |slot: &Slot| {
            let data = part(&self.values, &slot.range);
            let tensor = match slot.shape.as_slice() {
                [rows, columns] if slot.transposed => Tensor {
                    shape: vec![*columns, *rows],
                    data: (0..*columns)
                        .flat_map(|c| data.iter().skip(c).step_by(*columns).copied())
                        .collect(),
                },
                shape => Tensor { shape: shape.to_vec(), data: data.to_vec() },
            };
            (slot.name.clone(), tensor)
        };
        self.slots.iter().map(tensor).collect()
    }
}

/// A part of the buffer, or of one laid out like it; empty if it lies outside.
pub(crate) fn part<'a>(numbers: &'a [f32], range: &Range<usize>) -> &'a [f32] {
    numbers.get(range.clone()).unwrap_or_default()
}

/// As [`part`], to be changed.
pub(crate) fn part_mut<'a>(numbers: &'a mut [f32], range: &Range<usize>) -> &'a mut [f32] {
    numbers.get_mut(range.clone()).unwrap_or_default()
}
