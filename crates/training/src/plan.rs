//! Which examples each step takes, decided before the run from the seed: so a run knows how long it is, and going on
//! from a checkpoint is a matter of counting.
//!
//! Sequences are packed without padding, so a step may mix lengths freely: there are no length buckets, whose steps of
//! look-alikes would only make gradients noisier. What matters is that each step has about the same number of tokens,
//! and each of its groups too.

use crate::random::Random;

/// Draws `draws` examples, whose tokens are `lengths`, in shuffled passes, and cuts them into steps of at most
/// `tokens_per_step` tokens (an example alone may have more).
pub(crate) fn steps(
    lengths: &[usize],
    draws: usize,
    tokens_per_step: usize,
    random: &mut Random,
) -> Vec<Vec<u32>> {
    let mut steps: Vec<Vec<u32>> = Vec::new();
    let mut room = 0;
    let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
    let mut left = draws;
    while left > 0 && !order.is_empty() {
        random.shuffle(&mut order);
        for &example in order.iter().take(left) {
            let length = lengths.get(example as usize).copied().unwrap_or_default();
            match steps.last_mut() {
                Some(step) if length <= room => {
                    step.push(example);
                    room -= length;
                }
                _ => {
                    steps.push(vec![example]);
                    room = tokens_per_step.saturating_sub(length);
                }
            }
        }
        left = left.saturating_sub(order.len());
    }
    steps
}

/// Deals texts of these lengths to at most `groups` groups of about equal tokens: the longest first, each to the group
/// that has the fewest (Graham, "Bounds on Multiprocessing Timing Anomalies", 1969). Gives the places of the texts.
pub(crate) fn deal(lengths: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    let length = |place: &usize| lengths.get(*place).copied().unwrap_or_default();
    order.sort_by_key(|place| std::cmp::Reverse(length(place)));
    let mut dealt: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new()); groups.clamp(1, lengths.len().max(1))];
    for place in order {
        if let Some((tokens, group)) = dealt.iter_mut().min_by_key(|(tokens, _)| *tokens) {
            *tokens += length(&place);
            group.push(place);
        }
    }
    dealt.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    // A failed expectation is what these are for.
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn each_pass_takes_every_example_once_and_no_step_is_too_large() {
        let lengths: Vec<usize> = (0..100).map(|i| 10 + i % 50).collect();
        let plan = steps(&lengths, 250, 200, &mut Random::new(1));
        let order: Vec<u32> = plan.concat();
        assert_eq!(order.len(), 250);
        for pass in order.chunks(100) {
            let mut seen = pass.to_vec();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), pass.len());
        }
        for step in &plan {
            assert!(step.iter().map(|i| lengths[*i as usize]).sum::<usize>() <= 200);
        }
        assert_eq!(plan, steps(&lengths, 250, 200, &mut Random::new(1)));
        assert_ne!(plan, steps(&lengths, 250, 200, &mut Random::new(2)));
        assert!(steps(&[], 5, 200, &mut Random::new(1)).is_empty());
        assert_eq!(steps(&[900], 2, 200, &mut Random::new(1)).len(), 2);
    }

    #[test]
    fn groups_are_even() {
        let lengths: Vec<usize> = (0..37).map(|i| 10 + (i * 31) % 90).collect();
        let groups = deal(&lengths, 4);
        let tokens = |group: &Vec<usize>| group.iter().map(|i| lengths[*i]).sum::<usize>();
        let (least, most) = (groups.iter().map(tokens).min(), groups.iter().map(tokens).max());
        assert!(most.unwrap() - least.unwrap() < 30, "{least:?} {most:?}");
        let mut all: Vec<usize> = groups.concat();
        all.sort_unstable();
        assert_eq!(all, (0..37).collect::<Vec<_>>());
        assert_eq!(deal(&[5, 5], 4).len(), 2);
    }
}
