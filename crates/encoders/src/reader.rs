//! Extractive reading: the words of a passage that answer a question.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{AnswerSpan, ByteSpan, Error, Reading, Result, Score, SpanReader, UserError};
use counterproof_kernels::matrix::Then;
use rayon::prelude::*;

use crate::adapter::{Adapter, AdapterKind};
use crate::batches::compute;
use crate::bert::{BertModel, Linear};
use crate::config::BertConfig;
use crate::digest::file_sha256;
use crate::pairs::{PairTokenizer, Tokens};
use crate::pool::{Cancelled, EncoderOptions, Never, Pool};
use crate::source::Source;
use crate::tokens::Sequence;
use crate::weights::Weights;
use crate::windows::by_stride;

/// The longest answer in tokens.
const MAX_ANSWER_TOKENS: usize = 30;

/// Spans of a passage that [`SpanReader::read`] gives.
const SPANS: usize = 5;

/// Tokens of a passage that a window always has room for, and that two windows share.
const LEAST_CONTEXT: usize = 64;

/// A [`SpanReader`] that runs the base encoder under a reader adapter in this process.
///
/// Scores are log-probabilities of the passage's window: that an answer starts and ends there, or, for `no_answer`, that
/// it starts and ends nowhere; so they can be compared between passages too. A passage longer than the window is read in
/// windows that share some tokens, and its `no_answer` is that of the window which is the least sure of it.
#[derive(Clone)]
pub struct BertReader {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
}

struct Shared {
    identity: String,
    tokenizer: PairTokenizer,
    model: BertModel,
    bounds: Linear,
    none: Linear,
    hidden: usize,
    window: usize,
    most: usize,
}

/// A span and its scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredSpan {
    /// Where it lies in the passage.
    pub span: ByteSpan,
    /// The log-probability that the answer starts and ends there.
    pub score: f64,
    /// `score` less the log-probability of no answer in the same window: above zero the reader prefers the span.
    pub margin: f64,
}

/// What a passage's windows gave.
type Scored = (Vec<ScoredSpan>, f64);

impl BertReader {
    /// Loads the base encoder of the folder `base` under the reader adapter in the file `adapter`. Blocks for about a
    /// tenth of a second.
    ///
    /// # Errors
    /// A file is missing or damaged, or the adapter is of another kind or belongs to another base; the error names it.
    pub fn open(base: impl AsRef<Path>, adapter: impl AsRef<Path>, options: &EncoderOptions) -> Result<Self> {
        Self::with_adapter(base, &Adapter::load(adapter.as_ref())?, options)
    }

    /// As [`open`](Self::open), with an adapter that is in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_adapter(base: impl AsRef<Path>, adapter: &Adapter, options: &EncoderOptions) -> Result<Self> {
        let base = base.as_ref();
        let pool = Pool::new(options.threads)?;
        let config = BertConfig::read(base)?;
        let weights = Weights::open(&base.join("model.safetensors"))?;
        let digest = file_sha256(&base.join("model.safetensors"))?;
        adapter.check(AdapterKind::Reader, &digest)?;
        let (hidden, most) = (config.hidden_size, config.max_tokens());
        let layer = |name: &str, outputs: usize| {
            let weight = adapter.tensor(&format!("head.{name}.weight"), &[outputs, hidden])?;
            let bias = adapter.tensor(&format!("head.{name}.bias"), &[outputs])?;
            Ok::<_, Error>(Linear::new(weight, bias.to_vec(), hidden))
        };
        let (bounds, none) = (layer("bounds", 2)?, layer("none", 1)?);
        let window = options.max_tokens.unwrap_or(adapter.metadata.max_tokens);
        let window = window.clamp(LEAST_CONTEXT.min(most), most);
        let tokenizer = PairTokenizer::open(&base.join("tokenizer.json"))?;
        let model = pool.run(|| BertModel::load(Source::adapted(&weights, adapter), config))?;
        let folder = || base.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = options.name.clone().or_else(folder).unwrap_or_else(|| "reader".to_owned());
        let identity = format!("{name}@{digest}+{}/spans/{window}", adapter.digest());
        let shared = Shared { identity, tokenizer, model, bounds, none, hidden, window, most };
        Ok(Self { shared: Arc::new(shared), pool: Arc::new(pool) })
    }

    /// The best `k` spans of each passage that do not overlap, best first, whether or not the reader prefers them to no
    /// answer; and each passage's log-probability of no answer. Blocks this thread.
    ///
    /// # Errors
    /// The question is blank or longer than the model has positions for.
    pub fn best_spans<T: AsRef<str> + Sync>(
        &self,
        question: &str,
        passages: &[T],
        k: usize,
    ) -> Result<Vec<(Vec<ScoredSpan>, f64)>> {
        self.pool.run(|| self.shared.read(question, passages, k, self.pool.threads(), &Never))
    }
}

#[async_trait]
impl SpanReader for BertReader {
    fn identity(&self) -> &str {
        &self.shared.identity
    }

    async fn read(&self, question: &str, passages: &[&str]) -> Result<Vec<Reading>> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let question = question.to_owned();
        let passages: Vec<String> = passages.iter().map(|&passage| passage.to_owned()).collect();
        let (shared, threads) = (Arc::clone(&self.shared), self.pool.threads());
        let read =
            self.pool.spawn(move |cancelled| shared.read(&question, &passages, SPANS, threads, cancelled));
        let reading = |(spans, none): Scored| {
            let preferred = spans.into_iter().filter(|span| span.margin > 0.0);
            let answers = preferred.map(|s| AnswerSpan { span: s.span, score: Score::new(s.score) });
            Reading { spans: answers.collect(), no_answer: Score::new(none) }
        };
        Ok(read.await?.into_iter().map(reading).collect())
    }
}

/// A passage's tokens and the windows it is read in.
struct Passage {
    tokens: Tokens,
    windows: Vec<Range<usize>>,
}

impl Shared {
    /// Runs on a thread of the pool.
    fn read<T: AsRef<str> + Sync>(
        &self,
        question: &str,
        passages: &[T],
        k: usize,
        threads: usize,
        cancelled: &dyn Cancelled,
    ) -> Result<Vec<Scored>> {
        if question.trim().is_empty() {
            return Err(UserError::Empty { what: "question" }.into());
        }
        let asked = self.tokenizer.ids(question)?;
        let taken = asked.len() + self.tokenizer.special_tokens();
        let least = LEAST_CONTEXT.min(self.most / 4);
        let room = self.window.max(taken + LEAST_CONTEXT).min(self.most).saturating_sub(taken);
        if room < least {
            return Err(UserError::TooLarge {
                what: "question, in tokens,",
                limit: "the reader's positions",
                size: asked.len(),
                max: self.most.saturating_sub(self.tokenizer.special_tokens() + least),
            }
            .into());
        }
        let passage = |text: &T| {
            let tokens = self.tokenizer.tokens(text.as_ref())?;
            let windows = match tokens.ids.len() {
                0 => Vec::new(),
                count => by_stride(count, room, LEAST_CONTEXT.min(room / 2)),
            };
            Ok(Passage { tokens, windows })
        };
        let read: Vec<Passage> = passages.par_iter().map(passage).collect::<Result<_>>()?;
        let ids = |passage: &Passage, range: &Range<usize>| {
            self.tokenizer.join(&asked, passage.tokens.ids.get(range.clone()).unwrap_or_default())
        };
        let sequences: Vec<Sequence> =
            read.iter().flat_map(|p| p.windows.iter().map(|range| ids(p, range))).collect();
        let logits = compute(&sequences, threads, true, cancelled, |batch| self.logits(batch))?;
        let mut logits = logits.into_iter();
        let start = self.tokenizer.second_start(asked.len());
        let scored = passages.iter().zip(&read).map(|(text, passage)| {
            let windows = passage.windows.iter().zip(logits.by_ref());
            best(text.as_ref(), &passage.tokens, windows, start, k)
        });
        Ok(scored.collect())
    }

    /// For each text the start and end logits of its tokens, and its no-answer score.
    fn logits(&self, batch: &[&Sequence]) -> Result<Vec<(Vec<[f32; 2]>, f32)>> {
        let states = self.model.forward(batch)?;
        let mut bounds = vec![0.0; states.len() / self.hidden * 2];
        self.bounds.apply(&states, Then::Keep, &mut bounds);
        let mut rows: &[[f32; 2]] = bounds.as_chunks().0;
        let (mut rest, mut out) = (states.as_slice(), Vec::with_capacity(batch.len()));
        for sequence in batch {
            let mut none = [0.0];
            self.none.apply(rest.get(..self.hidden).unwrap_or_default(), Then::Keep, &mut none);
            let (own, after) = rows.split_at_checked(sequence.len()).unwrap_or((rows, &[]));
            out.push((own.to_vec(), none[0]));
            rows = after;
            rest = rest.get(sequence.len() * self.hidden..).unwrap_or_default();
        }
        Ok(out)
    }
}

/// The best spans over a passage's windows.
fn best<'a>(
    text: &str,
    tokens: &Tokens,
    windows: impl Iterator<Item = (&'a Range<usize>, (Vec<[f32; 2]>, f32))>,
    start: usize,
    k: usize,
) -> Scored {
    // A passage without a token has no answer for certain.
    let mut no_answer = 0f64;
    let mut candidates: Vec<ScoredSpan> = Vec::new();
    for (range, (logits, none)) in windows {
        let logits = logits.get(start..start + range.len()).unwrap_or_default();
        let none = f64::from(none);
        let sum = |which: fn(&[f32; 2]) -> f32| {
            let all = || logits.iter().map(|bounds| f64::from(which(bounds))).chain([none]);
            let most = all().fold(f64::MIN, f64::max);
            most + all().map(|x| (x - most).exp()).sum::<f64>().ln()
        };
        let (start_sum, end_sum) = (sum(|[start, _]| *start), sum(|[_, end]| *end));
        let without = 2.0 * none - start_sum - end_sum;
        no_answer = no_answer.min(without);
        let offsets = tokens.offsets.get(range.clone()).unwrap_or_default();
        let places: Vec<(&(usize, usize), &[f32; 2])> = offsets.iter().zip(logits).collect();
        for (i, ((from, _), [start, _])) in places.iter().enumerate() {
            if inside_word(text, *from) {
                continue;
            }
            for ((_, to), [_, end]) in places.iter().skip(i).take(MAX_ANSWER_TOKENS) {
                if inside_word(text, *to) {
                    continue;
                }
                let score = f64::from(*start) + f64::from(*end) - start_sum - end_sum;
                if let Some(span) = ByteSpan::new(*from, *to).filter(|span| !span.is_empty()) {
                    candidates.push(ScoredSpan { span, score, margin: score - without });
                }
            }
        }
    }
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut chosen: Vec<ScoredSpan> = Vec::new();
    for candidate in candidates {
        if chosen.len() >= k {
            break;
        }
        if chosen.iter().all(|other| !other.span.overlaps(candidate.span)) {
            chosen.push(candidate);
        }
    }
    (chosen, no_answer)
}

/// Whether a byte stands between two letters of one word. Scripts that write no spaces have a bound at every letter.
fn inside_word(text: &str, at: usize) -> bool {
    let letter = |c: char| c.is_alphabetic() && c < '\u{2e80}';
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    before.chars().next_back().is_some_and(letter) && after.chars().next().is_some_and(letter)
}
