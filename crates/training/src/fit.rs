//! The training loop: stages under one schedule, validation, checkpoints, a time budget.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use counterproof_core::{Error, Result};
use counterproof_encoders::adapter::{Adapter, AdapterKind, Calibration, FORMAT, Metadata, Tensor};
use counterproof_encoders::parts::file_sha256;
use rayon::ThreadPool;
use sha2::{Digest, Sha256};

use crate::checkpoint::{self, State};
use crate::config::{Amount, TrainConfig};
use crate::model::{HeadSeed, Model};
use crate::net::Workspace;
use crate::net::parameters::Parameters;
use crate::optimiser::{AdamW, norm};
use crate::plan::steps;
use crate::progress::{Evaluation, Progress, Summary};
use crate::random::{Random, mix};
use crate::task::Task;

/// The share of a new step in the moving mean of the loss.
const LOSS_SHARE: f64 = 0.02;

/// A stage whose examples are tokenized.
pub(crate) struct Prepared<S> {
    pub(crate) name: String,
    pub(crate) samples: Vec<S>,
    pub(crate) amount: Amount,
}

/// A stage whose steps are decided.
struct Planned<'a, S> {
    name: &'a str,
    samples: &'a [S],
    steps: Vec<Vec<u32>>,
    /// The tokens up to and with each step.
    tokens: Vec<u64>,
    /// Where the stage begins and ends in the run, each from 0 to 1.
    begin: f64,
    end: f64,
}

/// A run of the trainer.
pub(crate) struct Run<'a, T: Task> {
    pool: &'a ThreadPool,
    config: &'a TrainConfig,
    model: Model<T>,
    adam: AdamW,
    /// The parameters of the best validation; empty before there is one.
    best: Vec<f32>,
    stages: Vec<Planned<'a, T::Sample>>,
    validation: &'a [T::Sample],
    /// SHA-256 of the adapter that the run began with.
    start: Option<String>,
    state: State,
    /// Time, examples and tokens before this process.
    before: (f64, u64, u64),
    started: Instant,
}

/// The threads that a run computes on.
pub(crate) fn pool(config: &TrainConfig) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(config.threads.unwrap_or(0))
        .thread_name(|i| format!("trainer-{i}"))
        .build()
        .map_err(|error| Error::failed("starting the trainer's threads", error))
}

impl<'a, T: Task> Run<'a, T> {
    /// Loads the base, decides the steps, and takes up the checkpoint if there is one.
    pub(crate) fn new(
        pool: &'a ThreadPool,
        base: &Path,
        config: &'a TrainConfig,
        stages: &'a [Prepared<T::Sample>],
        validation: &'a [T::Sample],
        head: impl FnOnce(HeadSeed<'_>) -> T + Send,
    ) -> Result<Self> {
        let mut model = pool.install(|| Model::load(base, config, head))?;
        let start = config.start.as_deref();
        let rank = config.trainable.rank;
        let start = start.map(|path| begin(path, base, rank, &mut model.parameters)).transpose()?;
        if start.is_some() {
            pool.install(|| model.merge(true));
        }
        let stages = plan::<T>(config, stages);
        if stages.iter().all(|stage| stage.steps.is_empty()) {
            return Err(Error::invalid("the training stages", "no example is left to train on: give some"));
        }
        let fingerprint = fingerprint::<T>(config, &start, &stages, validation)?;
        let adam = AdamW::new(model.parameters.values.len());
        let state = State { fingerprint, ..State::default() };
        let mut run = Self {
            pool,
            config,
            model,
            adam,
            best: Vec::new(),
            stages,
            validation,
            start,
            state,
            before: (0.0, 0, 0),
            started: Instant::now(),
        };
        run.resume()?;
        Ok(run)
    }

    fn resume(&mut self) -> Result<()> {
        let Some(path) = &self.config.checkpoint else { return Ok(()) };
        let count = self.model.parameters.values.len();
        let Some(kept) = checkpoint::load(path, &self.state.fingerprint, count)? else { return Ok(()) };
        self.model.parameters.values = kept.values;
        self.adam = AdamW { first: kept.first, second: kept.second };
        self.best = kept.best;
        self.state = kept.state;
        self.before = (self.state.seconds, self.state.examples, self.state.tokens);
        let Self { pool, model, .. } = self;
        pool.install(|| model.merge(false));
        Ok(())
    }

    /// Trains to the end and gives the outputs on the validation set under the weights that are kept.
    pub(crate) fn train(&mut self, progress: &mut dyn FnMut(&Progress)) -> Result<(Summary, Vec<T::Output>)> {
        self.started = Instant::now();
        let mut spaces: Vec<Workspace> = Vec::new();
        spaces.resize_with(self.config.groups, Workspace::default);
        let mut gradient = vec![0.0; self.model.parameters.values.len()];
        let mut saved = Instant::now();
        while !self.state.finished {
            let Some(fraction) = self.next_step() else {
                self.finish(progress)?;
                break;
            };
            let mut told = self.step(fraction, &mut spaces, &mut gradient)?;
            let due = self.config.validate_every > 0
                && self.state.step.is_multiple_of(self.config.validate_every as u64);
            if due {
                told.validation = self.validate()?;
            }
            self.state.seconds = self.seconds();
            if saved.elapsed().as_secs_f64() >= 60.0 * self.config.checkpoint_minutes {
                self.save()?;
                saved = Instant::now();
            }
            progress(&told);
        }
        if self.config.keep_best && !self.best.is_empty() {
            self.model.parameters.values.clone_from(&self.best);
        }
        let Self { pool, model, validation, .. } = self;
        let outputs = pool.install(|| {
            model.merge(false);
            model.outputs(validation)
        })?;
        Ok((self.summary(), outputs))
    }

    /// Moves to the next step's place and says how far the run is there; `None` at the end.
    fn next_step(&mut self) -> Option<f64> {
        let spent = self.config.max_minutes.map_or(0.0, |minutes| self.seconds() / (60.0 * minutes));
        if self.state.stopped_early || spent >= 1.0 {
            return None;
        }
        loop {
            let stage = self.stages.get(self.state.stage)?;
            let all = stage.tokens.last().copied().unwrap_or(0).max(1) as f64;
            let done = |place: usize| match place.checked_sub(1) {
                None => 0.0,
                Some(last) => stage.tokens.get(last).copied().unwrap_or(0) as f64,
            };
            if self.state.place < stage.steps.len() && (spent < stage.end || stage.end >= 1.0) {
                // The middle of the step, so that neither the first nor the last has a rate of zero.
                let middle = 0.5 * (done(self.state.place) + done(self.state.place + 1)) / all;
                let planned = stage.begin + (stage.end - stage.begin) * middle;
                return Some(planned.max(spent));
            }
            self.state.stage += 1;
            self.state.place = 0;
        }
    }

    fn step(&mut self, fraction: f64, spaces: &mut [Workspace], gradient: &mut [f32]) -> Result<Progress> {
        let Self { pool, config, model, adam, stages, state, .. } = self;
        let stage = stages.get(state.stage);
        let (name, samples): (&str, Vec<&T::Sample>) = match stage {
            Some(stage) => {
                let places = stage.steps.get(state.place).map(Vec::as_slice).unwrap_or_default();
                (stage.name, places.iter().filter_map(|i| stage.samples.get(*i as usize)).collect())
            }
            None => ("", Vec::new()),
        };
        let seed = mix(mix(config.seed, 2), state.step);
        let rate = config.rate_at(fraction);
        let (loss, size) = pool.install(|| {
            let loss = model.learn(&samples, Some(seed), spaces, gradient)?;
            let size = norm(gradient);
            if !(loss.is_finite() && size.is_finite()) {
                let message = format!(
                    "step {} has a loss of {loss} and a gradient of norm {size}: lower the learning rate",
                    state.step + 1
                );
                return Err(Error::failed("training", message));
            }
            let factor = if size > config.clip { config.clip / size } else { 1.0 };
            adam.step(&mut model.parameters, gradient, factor as f32, rate, state.step + 1, config);
            model.merge(false);
            Ok((loss, size))
        })?;
        state.step += 1;
        state.place += 1;
        state.examples += samples.len() as u64;
        state.tokens += samples.iter().map(|sample| T::sequence(sample).len() as u64).sum::<u64>();
        let mean = state.loss.map_or(loss, |mean| mean + LOSS_SHARE * (loss - mean));
        state.loss = Some(mean);
        let name = name.to_owned();
        Ok(self.told(name, fraction, rate, size))
    }

    fn told(&self, stage: String, fraction: f64, learning_rate: f64, gradient_norm: f64) -> Progress {
        let State { step, examples, tokens, loss, .. } = self.state;
        let (before, examples_before, tokens_before) = self.before;
        let seconds = self.seconds();
        let here = (seconds - before).max(1e-9);
        Progress {
            stage,
            step,
            fraction,
            examples,
            tokens,
            loss: loss.unwrap_or_default(),
            learning_rate,
            gradient_norm,
            examples_per_second: (examples - examples_before) as f64 / here,
            tokens_per_second: (tokens - tokens_before) as f64 / here,
            elapsed: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            left: Duration::try_from_secs_f64(self.left(fraction)).unwrap_or_default(),
            validation: None,
        }
    }

    /// Seconds that the rest will take at the speed so far, never past the time budget.
    fn left(&self, fraction: f64) -> f64 {
        let seconds = self.seconds();
        let planned = seconds * (1.0 - fraction) / fraction.max(1e-9);
        let budget = self.config.max_minutes.map_or(f64::MAX, |minutes| 60.0 * minutes - seconds);
        planned.min(budget).max(0.0)
    }

    fn seconds(&self) -> f64 {
        self.before.0 + self.started.elapsed().as_secs_f64()
    }

    /// Scores the validation set, keeps the weights if they are the best so far, and decides whether to go on.
    fn validate(&mut self) -> Result<Option<Evaluation>> {
        if self.validation.is_empty() {
            return Ok(None);
        }
        let Self { pool, model, validation, state, .. } = self;
        let mut evaluation = pool.install(|| {
            let outputs = model.outputs(validation)?;
            Ok::<_, Error>(model.task.evaluate(validation, &outputs))
        })?;
        evaluation.step = state.step;
        state.validations.push(evaluation.clone());
        if state.best.is_none_or(|(_, score)| evaluation.score > score) {
            state.best = Some((state.step, evaluation.score));
            state.without_gain = 0;
            if self.config.keep_best {
                self.best.clone_from(&model.parameters.values);
            }
        } else {
            state.without_gain += 1;
            state.stopped_early |= self.config.patience.is_some_and(|most| state.without_gain >= most);
        }
        Ok(Some(evaluation))
    }

    /// The last validation and the last checkpoint.
    fn finish(&mut self, progress: &mut dyn FnMut(&Progress)) -> Result<()> {
        let validated = self.state.validations.last().is_some_and(|last| last.step == self.state.step);
        let stage = self.stages.last().map(|stage| stage.name.to_owned()).unwrap_or_default();
        let validation = if validated { None } else { self.validate()? };
        self.state.seconds = self.seconds();
        self.state.finished = true;
        self.save()?;
        let mut told = self.told(stage, 1.0, 0.0, 0.0);
        told.validation = validation;
        progress(&told);
        Ok(())
    }

    fn save(&self) -> Result<()> {
        let Some(path) = &self.config.checkpoint else { return Ok(()) };
        let numbers: [(&str, &[f32]); 4] = [
            ("values", &self.model.parameters.values),
            ("first", &self.adam.first),
            ("second", &self.adam.second),
            ("best", &self.best),
        ];
        checkpoint::save(path, &self.state, numbers)
    }

    fn summary(&self) -> Summary {
        let State { step, examples, tokens, seconds, stopped_early, validations, best, .. } =
            self.state.clone();
        Summary {
            steps: step,
            examples,
            tokens,
            parameters: self.model.parameters.values.len(),
            seconds,
            left_out: 0,
            stopped_early,
            validations,
            kept_step: best.filter(|_| self.config.keep_best).map_or(step, |(step, _)| step),
        }
    }

    /// What is trained, as the adapter file holds it.
    pub(crate) fn tensors(&self) -> BTreeMap<String, Tensor> {
        self.model.parameters.tensors()
    }

    /// What the adapter says of itself.
    pub(crate) fn metadata(
        &self,
        base: &Path,
        kind: AdapterKind,
        labels: &[&str],
        template: &str,
        calibration: Calibration,
        summary: &Summary,
    ) -> Result<Metadata> {
        let training = serde_json::json!({"config": self.config, "start": self.start, "summary": summary});
        Ok(Metadata {
            format: FORMAT,
            kind,
            base_sha256: file_sha256(&base.join("model.safetensors"))?,
            rank: self.config.trainable.rank,
            alpha: self.config.trainable.alpha,
            template: template.to_owned(),
            max_tokens: self.config.max_tokens,
            languages: Vec::new(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            calibration,
            training,
        })
    }
}

/// Begins with the weights of an adapter in place of zeros, and gives its SHA-256.
fn begin(path: &Path, base: &Path, rank: usize, parameters: &mut Parameters) -> Result<String> {
    let adapter = Adapter::load(path)?;
    adapter.check(adapter.metadata.kind, &file_sha256(&base.join("model.safetensors"))?)?;
    let refused =
        |problem: String| Error::invalid(format!("the adapter to begin with, {}", path.display()), problem);
    if adapter.metadata.rank != rank {
        return Err(refused(format!(
            "its rank is {}, that of what is trained {rank}",
            adapter.metadata.rank
        )));
    }
    if parameters.take_over(&adapter)? == 0 {
        return Err(refused("it holds nothing of what is trained".to_owned()));
    }
    file_sha256(path)
}

/// Decides the steps of every stage and its share of the run, by tokens.
fn plan<'a, T: Task>(config: &TrainConfig, stages: &'a [Prepared<T::Sample>]) -> Vec<Planned<'a, T::Sample>> {
    let mut planned: Vec<Planned<'a, T::Sample>> = Vec::with_capacity(stages.len());
    for (i, stage) in stages.iter().enumerate() {
        let lengths: Vec<usize> = stage.samples.iter().map(|sample| T::sequence(sample).len()).collect();
        let mut random = Random::new(mix(mix(config.seed, 3), i as u64));
        let draws = stage.amount.of(lengths.len());
        let steps = steps(&lengths, draws, config.tokens_per_step, &mut random);
        let mut sum = 0;
        let tokens = steps.iter().map(|step| {
            sum += step.iter().filter_map(|i| lengths.get(*i as usize)).sum::<usize>() as u64;
            sum
        });
        let tokens = tokens.collect();
        planned.push(Planned {
            name: &stage.name,
            samples: &stage.samples,
            steps,
            tokens,
            begin: 0.0,
            end: 1.0,
        });
    }
    let of = |stage: &Planned<'_, T::Sample>| stage.tokens.last().copied().unwrap_or(0);
    let all = planned.iter().map(of).sum::<u64>().max(1) as f64;
    let last = planned.iter().rposition(|stage| !stage.steps.is_empty());
    let mut sum = 0;
    for (i, stage) in planned.iter_mut().enumerate() {
        stage.begin = sum as f64 / all;
        sum += of(stage);
        stage.end = if Some(i) == last { 1.0 } else { sum as f64 / all };
    }
    planned
}

/// A digest of the configuration and of every example, in order.
fn fingerprint<T: Task>(
    config: &TrainConfig,
    start: &Option<String>,
    stages: &[Planned<'_, T::Sample>],
    validation: &[T::Sample],
) -> Result<String> {
    let config =
        serde_json::to_vec(&(config, start)).map_err(|error| Error::failed("naming a run", error))?;
    let mut hasher = Sha256::new();
    hasher.update(&config);
    let mut bytes = Vec::new();
    let lists = stages.iter().map(|stage| (stage.samples, stage.steps.len())).chain([(validation, 0)]);
    for (samples, steps) in lists {
        hasher.update((samples.len() as u64).to_le_bytes());
        hasher.update((steps as u64).to_le_bytes());
        for sample in samples {
            bytes.clear();
            let sequence = T::sequence(sample);
            bytes.extend(sequence.ids.iter().chain(&sequence.type_ids).flat_map(|id| id.to_le_bytes()));
            T::describe(sample, &mut bytes);
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
