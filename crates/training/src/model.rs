//! The encoder with a head and everything of them that is trained.

use std::path::Path;

use counterproof_core::Result;
use counterproof_encoders::parts::Sequence;
use counterproof_kernels::dropout::Dropout;
use counterproof_kernels::vector::add;
use rayon::prelude::*;

use crate::config::TrainConfig;
use crate::net::parameters::Parameters;
use crate::net::{Encoder, Masks, Workspace};
use crate::plan::deal;
use crate::random::{Random, mix};
use crate::task::Task;

/// Tokens that are computed together where nothing is learnt from them.
const EVALUATION_TOKENS: usize = 1024;

/// Numbers of the gradient that one thread sums at a time.
const SUMMED: usize = 1 << 16;

/// An encoder, a head, and their parameters.
pub(crate) struct Model<T> {
    pub(crate) encoder: Encoder,
    pub(crate) task: T,
    pub(crate) parameters: Parameters,
    dropout: Dropout,
}

/// What a head is built from.
pub(crate) struct HeadSeed<'a> {
    /// Numbers in a hidden state.
    pub(crate) hidden: usize,
    pub(crate) parameters: &'a mut Parameters,
    pub(crate) random: &'a mut Random,
}

impl<T: Task> Model<T> {
    /// Loads the base and puts the head that `head` makes on top.
    pub(crate) fn load(
        base: &Path,
        config: &TrainConfig,
        head: impl FnOnce(HeadSeed<'_>) -> T,
    ) -> Result<Self> {
        let mut random = Random::new(mix(config.seed, 1));
        let mut parameters = Parameters::default();
        let encoder = Encoder::load(base, config, &mut parameters, &mut random)?;
        let seed = HeadSeed { hidden: encoder.hidden(), parameters: &mut parameters, random: &mut random };
        let task = head(seed);
        let mut model = Self { encoder, task, parameters, dropout: Dropout::new(config.dropout) };
        model.merge(true);
        Ok(model)
    }

    /// Takes new values of the parameters over; of all layers the first time.
    pub(crate) fn merge(&mut self, first: bool) {
        let Self { encoder, task, parameters, .. } = self;
        encoder.merge(&parameters.values, first);
        task.merge(&parameters.values);
    }

    /// The mean loss of a step's samples and, in `gradient`, its gradient. `seed` decides what is dropped out; without
    /// one nothing is. The samples are cut into as many groups as there are `spaces`, and the result does not depend on
    /// which thread computes which.
    pub(crate) fn learn(
        &self,
        samples: &[&T::Sample],
        seed: Option<u64>,
        spaces: &mut [Workspace],
        gradient: &mut [f32],
    ) -> Result<f64> {
        let lengths: Vec<usize> = samples.iter().map(|sample| T::sequence(sample).len()).collect();
        let groups = deal(&lengths, spaces.len());
        let factor = 1.0 / samples.len().max(1) as f32;
        let used = groups.len();
        let losses = groups.into_par_iter().zip(spaces.par_iter_mut()).map(|(group, space)| {
            let batch: Vec<&T::Sample> = group.iter().filter_map(|i| samples.get(*i).copied()).collect();
            let sequences: Vec<&Sequence> = batch.iter().map(|sample| T::sequence(sample)).collect();
            let seeds: Option<Vec<u64>> =
                seed.map(|seed| group.iter().map(|i| mix(seed, *i as u64)).collect());
            let masks = seeds.as_deref().map(|seeds| Masks { dropout: self.dropout, seeds });
            space.gradients.clear();
            space.gradients.resize(self.parameters.values.len(), 0.0);
            self.encoder.forward(&sequences, masks, space)?;
            let loss = self.task.learn(&batch, seeds.as_deref(), factor, space);
            self.encoder.backward(masks, space);
            Ok(loss)
        });
        let losses: Vec<f64> = losses.collect::<Result<_>>()?;
        let spaces = spaces.get(..used).unwrap_or_default();
        gradient.par_chunks_mut(SUMMED).enumerate().for_each(|(i, sum)| {
            sum.fill(0.0);
            for space in spaces {
                add(sum, space.gradients.get(i * SUMMED..).unwrap_or_default());
            }
        });
        Ok(losses.iter().sum())
    }

    /// What the head says of each sample, in order, without dropout.
    pub(crate) fn outputs(&self, samples: &[T::Sample]) -> Result<Vec<T::Output>> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        let length = |i: &usize| samples.get(*i).map_or(0, |sample| T::sequence(sample).len());
        order.sort_by_key(|i| std::cmp::Reverse(length(i)));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut room = 0;
        for i in order {
            match groups.last_mut() {
                Some(group) if length(&i) <= room => {
                    group.push(i);
                    room -= length(&i);
                }
                _ => {
                    groups.push(vec![i]);
                    room = EVALUATION_TOKENS.saturating_sub(length(&i));
                }
            }
        }
        let compute = |space: &mut Workspace, group: &Vec<usize>| {
            let batch: Vec<&T::Sample> = group.iter().filter_map(|i| samples.get(*i)).collect();
            let sequences: Vec<&Sequence> = batch.iter().map(|sample| T::sequence(sample)).collect();
            self.encoder.forward(&sequences, None, space)?;
            Ok(group.iter().copied().zip(self.task.outputs(&batch, space)).collect::<Vec<_>>())
        };
        let outputs: Vec<Vec<(usize, T::Output)>> =
            groups.par_iter().map_init(Workspace::default, compute).collect::<Result<_>>()?;
        let mut outputs: Vec<(usize, T::Output)> = outputs.into_iter().flatten().collect();
        outputs.sort_by_key(|(i, _)| *i);
        Ok(outputs.into_iter().map(|(_, output)| output).collect())
    }
}
