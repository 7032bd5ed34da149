//! Training the reader: start, end and no-answer scores over (question, passage).

mod head;
mod loss;
mod measure;

use std::ops::Range;
use std::path::Path;

use counterproof_core::{Error, Result};
use counterproof_encoders::adapter::{Adapter, AdapterKind, Calibration};
use counterproof_encoders::parts::{PairTokenizer, Sequence, Tokens};
use rayon::prelude::*;

pub(crate) use self::head::ReaderTask;
use crate::config::{Stage, TrainConfig};
use crate::examples::SpanExample;
use crate::fit::{Prepared, Run, pool};
use crate::progress::{Outcome, Progress};
use crate::random::{Random, mix};

/// Tokens of a passage that an example must have room for beside its question.
const LEAST_CONTEXT: usize = 8;

/// Trains a reader on the base encoder of the folder `base`, as [`train_verifier`](crate::train_verifier) trains a
/// verifier.
///
/// A passage longer than `config.max_tokens` leaves room for is read in one window: around its first answer, at a place of
/// the seed's choice, or from its start where it holds none. Answers outside the window, or that no token covers, do not
/// count. Examples with an empty side, or whose question leaves no room, are left out and counted.
///
/// # Errors
/// As [`train_verifier`](crate::train_verifier); or an answer lies outside its passage.
pub fn train_reader(
    base: &Path,
    stages: &[Stage<'_, SpanExample>],
    validation: &[SpanExample],
    config: &TrainConfig,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome> {
    let pool = pool(config)?;
    let tokenizer = PairTokenizer::open(&base.join("tokenizer.json"))?;
    let mut prepared = Vec::with_capacity(stages.len());
    let mut left_out = 0;
    for stage in stages {
        let samples = pool.install(|| samples(&tokenizer, stage.examples, config))?;
        left_out += stage.examples.len() - samples.len();
        prepared.push(Prepared { name: stage.name.clone(), samples, amount: stage.amount });
    }
    let validation = pool.install(|| samples(&tokenizer, validation, config))?;
    let mut run = Run::new(&pool, base, config, &prepared, &validation, |model| {
        ReaderTask::new(config, model.hidden, model.parameters, model.random)
    })?;
    let (mut summary, _) = run.train(progress)?;
    summary.left_out = left_out;
    let (kind, labels) = (AdapterKind::Reader, ["start", "end", "none"]);
    let metadata =
        run.metadata(base, kind, &labels, "question, passage", Calibration::default(), &summary)?;
    Ok(Outcome { adapter: Adapter::new(metadata, run.tensors()), summary })
}

/// A tokenized question and passage.
#[derive(Debug, Clone)]
pub(crate) struct SpanSample {
    pub(crate) sequence: Sequence,
    /// Where the passage's tokens stand in the sequence.
    pub(crate) context: Range<usize>,
    /// First and last token of each answer, counted within the passage's tokens.
    pub(crate) answers: Vec<(usize, usize)>,
}

impl SpanSample {
    /// The distinct starts and the distinct ends of the answers.
    fn bounds(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut starts, mut ends): (Vec<usize>, Vec<usize>) = self.answers.iter().copied().unzip();
        for bounds in [&mut starts, &mut ends] {
            bounds.sort_unstable();
            bounds.dedup();
        }
        (starts, ends)
    }
}

/// What the head says of a passage.
#[derive(Debug, Clone)]
pub(crate) struct ReaderOutput {
    /// A logit a token of the passage.
    pub(crate) starts: Vec<f32>,
    /// Likewise.
    pub(crate) ends: Vec<f32>,
    pub(crate) none: f32,
}

/// The examples that can be trained on, in order.
fn samples(
    tokenizer: &PairTokenizer,
    examples: &[SpanExample],
    config: &TrainConfig,
) -> Result<Vec<SpanSample>> {
    let sample = |(i, example): (usize, &SpanExample)| sample(tokenizer, example, config, i as u64);
    let samples: Vec<Option<SpanSample>> =
        examples.par_iter().enumerate().map(sample).collect::<Result<_>>()?;
    Ok(samples.into_iter().flatten().collect())
}

fn sample(
    tokenizer: &PairTokenizer,
    example: &SpanExample,
    config: &TrainConfig,
    number: u64,
) -> Result<Option<SpanSample>> {
    if example.question.trim().is_empty() || example.context.trim().is_empty() {
        return Ok(None);
    }
    if let Some(answer) =
        example.answers.iter().find(|answer| example.context.get((*answer).clone()).is_none())
    {
        let what =
            format!("the answer at bytes {}..{} of a row of {}", answer.start, answer.end, example.source);
        return Err(Error::invalid(what, "it does not lie in its passage on character bounds"));
    }
    let question = tokenizer.ids(&example.question)?;
    let Some(room) = config.max_tokens.checked_sub(tokenizer.special_tokens() + question.len()) else {
        return Ok(None);
    };
    let tokens = tokenizer.tokens(&example.context)?;
    if room < LEAST_CONTEXT || tokens.ids.is_empty() {
        return Ok(None);
    }
    let mut answers: Vec<(usize, usize)> =
        example.answers.iter().filter_map(|answer| covering(&tokens, answer)).collect();
    answers.sort_unstable();
    answers.dedup();
    let first = window_start(tokens.ids.len(), room, answers.first().copied(), config.seed, number);
    let last = (first + room).min(tokens.ids.len());
    let start = tokenizer.second_start(question.len());
    let ids = tokens.ids.get(first..last).unwrap_or_default();
    Ok(Some(SpanSample {
        sequence: tokenizer.join(&question, ids),
        context: start..start + ids.len(),
        answers: answers
            .into_iter()
            .filter(|(from, to)| *from >= first && *to < last)
            .map(|(from, to)| (from - first, to - first))
            .collect(),
    }))
}

/// The first and the last token that share a byte with `answer`.
fn covering(tokens: &Tokens, answer: &Range<usize>) -> Option<(usize, usize)> {
    let shares = |(start, end): &(usize, usize)| *start < answer.end && *end > answer.start;
    let first = tokens.offsets.iter().position(shares)?;
    let last = tokens.offsets.iter().rposition(shares)?;
    Some((first, last))
}

/// Where the window of `room` tokens begins among `tokens`: anywhere that leaves `answer` inside it, if there is one.
fn window_start(tokens: usize, room: usize, answer: Option<(usize, usize)>, seed: u64, number: u64) -> usize {
    let most = tokens.saturating_sub(room);
    match answer {
        None => 0,
        Some((from, to)) => {
            let low = (to + 1).saturating_sub(room).min(most);
            let high = from.min(most).max(low);
            low + Random::new(mix(seed, number)).below(high - low + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_the_answer() {
        for number in 0..200 {
            let start = window_start(500, 100, Some((300, 310)), 1, number);
            assert!((211..=300).contains(&start), "{start}");
            assert_eq!(window_start(50, 100, Some((10, 12)), 1, number), 0);
            assert!(window_start(500, 100, Some((495, 499)), 1, number) == 400);
            assert!(window_start(500, 100, Some((0, 2)), 1, number) == 0);
        }
        assert_eq!(window_start(500, 100, None, 1, 3), 0);
    }

    #[test]
    fn an_answer_is_covered_by_the_tokens_that_share_its_bytes() {
        let tokens = Tokens { ids: vec![1, 2, 3], offsets: vec![(0, 3), (4, 8), (8, 10)] };
        assert_eq!(covering(&tokens, &(5..9)), Some((1, 2)));
        assert_eq!(covering(&tokens, &(0..3)), Some((0, 0)));
        assert_eq!(covering(&tokens, &(3..4)), None);
    }
}
