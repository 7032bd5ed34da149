//! Runs requests on the transformer, one after the other: prompts, replies, and scores of given continuations.

use counterproof_core::{
    Completion, CompletionRequest, ContinuationScore, Error, FinishReason, InternalError, Message, Result,
    ScoreRequest, TokenLogprob, Tokens, Usage, UserError,
};

use crate::GgufOptions;
use crate::chat::Chat;
use crate::file::GgufFile;
use crate::model::{KvCache, Stop, Transformer, stopped_error};
use crate::ops::log_sum_exp;
use crate::prompts::PromptCaches;
use crate::reply::{Finished, Reply};
use crate::sampler::Sampler;
use crate::tokenizer::Vocabulary;

/// Rows of scores over the whole vocabulary that are held at once: a row takes 600 KB with Qwen's vocabulary.
const LOGIT_ROWS: usize = 32;

/// A model and what it remembers of earlier requests.
pub(crate) struct Engine {
    transformer: Transformer,
    vocabulary: Vocabulary,
    chat: Chat,
    prompts: PromptCaches,
    name: String,
    context: usize,
    chunk: usize,
}

impl Engine {
    /// Builds everything from the file.
    pub(crate) fn load(file: &GgufFile, options: &GgufOptions) -> Result<Self> {
        let transformer = Transformer::load(file)?;
        let vocabulary = Vocabulary::load(file)?;
        if vocabulary.len() > transformer.config().vocabulary {
            return Err(file.damaged(format!(
                "its tokenizer has {} tokens and its embeddings {}",
                vocabulary.len(),
                transformer.config().vocabulary
            )));
        }
        let chat = Chat::load(file, &vocabulary, options.thinking)?;
        let trained = transformer.config().context;
        Ok(Self {
            prompts: PromptCaches::new(transformer.new_cache(), options.prompt_caches),
            vocabulary,
            chat,
            name: file.text("general.name").unwrap_or(transformer.config().architecture.name()).to_owned(),
            context: options.context_tokens.map_or(trained, |c| c.min(trained)).max(1),
            chunk: options.prefill_chunk.max(1),
            transformer,
        })
    }

    /// The most tokens that prompt and reply may have together.
    pub(crate) fn context(&self) -> usize {
        self.context
    }

    /// The name the file gives the model.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The family of the model.
    pub(crate) fn architecture(&self) -> &'static str {
        self.transformer.config().architecture.name()
    }

    fn prompt(&self, messages: &[Message]) -> Result<String> {
        self.chat.render(messages, |text| self.vocabulary.shield(text))
    }

    fn check_room(&self, what: &'static str, tokens: usize) -> Result<()> {
        if tokens > self.context {
            return Err(UserError::TooLarge {
                what,
                limit: "context_tokens",
                size: tokens,
                max: self.context,
            }
            .into());
        }
        Ok(())
    }

    /// Writes a reply.
    pub(crate) fn complete(&mut self, request: &CompletionRequest, stop: &dyn Stop) -> Result<Completion> {
        let tokens = self.vocabulary.encode_template(&self.prompt(&request.messages)?)?;
        // There must be room for a token of reply.
        self.check_room("prompt (in tokens, with one for the reply)", tokens.len() + 1)?;
        if request.sampling.max_tokens == Some(0) {
            return Err(UserError::Invalid {
                what: "max_tokens".to_owned(),
                problem: "it is 0, and a reply has at least one token".to_owned(),
            }
            .into());
        }
        let limit = request.sampling.max_tokens.map_or(usize::MAX, |n| n as usize);
        let limit = limit.min(self.context - tokens.len());
        let mut sampler = Sampler::new(&request.sampling)?;
        let mut reply = Reply::new(&request.sampling.stop);
        let Self { transformer, prompts, vocabulary, chunk, .. } = self;
        let (cache, mut logits) = prefill(transformer, prompts, &tokens, *chunk, stop)?;
        let finish = loop {
            let token = sampler.choose(&logits).ok_or_else(no_numbers)?;
            if vocabulary.is_end(token) {
                break FinishReason::Stop;
            }
            let logprob = request.logprobs.then(|| logprob(&logits, token));
            if reply.push(&vocabulary.piece(token), logprob) {
                break FinishReason::Stop;
            }
            if reply.len() >= limit {
                break FinishReason::Length;
            }
            let hidden = transformer.extend(cache, &[token], stop)?;
            logits = transformer.logits(&hidden, 0..1);
        };
        let tokens_out = Tokens(reply.len() as u64);
        let Finished { text, reasoning, tokens: scored } = reply.finish();
        if tokens_out.0 == 0 {
            return Err(Error::failed("GGUF model", format!("{} ended its turn without a word", self.name)));
        }
        Ok(Completion {
            text,
            reasoning,
            usage: Usage { tokens_in: Tokens(tokens.len() as u64), tokens_out },
            finish,
            tokens: request.logprobs.then_some(scored),
            model: self.name.clone(),
            cached: false,
        })
    }

    /// Scores continuations of one prompt.
    ///
    /// Each is encoded together with the text before it, as it would be in training. Where its beginning would merge
    /// with the end of the prompt into one token, all continuations are scored from the last token that they share
    /// with the prompt, so that none of them gets a token for nothing that another has to pay for.
    pub(crate) fn score(
        &mut self,
        request: &ScoreRequest,
        stop: &dyn Stop,
    ) -> Result<Vec<ContinuationScore>> {
        let prompt = self.prompt(&request.messages)?;
        let alone = self.vocabulary.encode_template(&prompt)?;
        let mut shared = alone.len();
        let mut whole = Vec::with_capacity(request.continuations.len());
        for continuation in &request.continuations {
            let tokens = self
                .vocabulary
                .encode_template(&format!("{prompt}{}", self.vocabulary.shield(&continuation.0)))?;
            self.check_room("prompt with a continuation (in tokens)", tokens.len())?;
            if !continuation.0.is_empty() {
                shared = shared.min(common_prefix(&alone, &tokens));
            }
            whole.push(tokens);
        }
        if whole.iter().all(|tokens| tokens.len() <= shared) {
            return Ok(whole.iter().map(|_| ContinuationScore { tokens: Vec::new() }).collect());
        }
        let Some(prefix) = alone.get(..shared).filter(|p| !p.is_empty()) else {
            return Err(UserError::Empty { what: "prompt before the continuations" }.into());
        };
        let Self { transformer, prompts, chunk, .. } = self;
        let (cache, first) = prefill(transformer, prompts, prefix, *chunk, stop)?;
        let tails: Vec<&[u32]> = whole
            .iter()
            .zip(&request.continuations)
            .map(|(t, c)| if c.0.is_empty() { &[][..] } else { t.get(shared..).unwrap_or_default() })
            .collect();
        let mut logprobs = Vec::with_capacity(tails.len());
        let mut group: Vec<&[u32]> = Vec::new();
        for tail in tails.iter().copied().map(Some).chain([None]) {
            let rows: usize = group.iter().map(|t| t.len() - 1).sum();
            let full = tail.is_none_or(|t| rows + t.len() > *chunk);
            if full && !group.is_empty() {
                logprobs.extend(branch_logprobs(transformer, cache, &first, &group, stop)?);
                group.clear();
            }
            match tail {
                Some([]) | None => {}
                Some(tail) => group.push(tail),
            }
        }
        let mut logprobs = logprobs.into_iter();
        tails
            .iter()
            .map(|tail| {
                let scores = if tail.is_empty() { Vec::new() } else { logprobs.next().unwrap_or_default() };
                if scores.iter().any(|l| l.is_nan()) {
                    return Err(no_numbers());
                }
                let tokens = tail
                    .iter()
                    .zip(scores)
                    .map(|(id, logprob)| TokenLogprob { token: self.vocabulary.token_text(*id), logprob })
                    .collect();
                Ok(ContinuationScore { tokens })
            })
            .collect()
    }
}

/// Reads a prompt into a cache, as far as none holds it already, and gives the scores of what comes next.
fn prefill<'a>(
    transformer: &Transformer,
    prompts: &'a mut PromptCaches,
    tokens: &[u32],
    chunk: usize,
    stop: &dyn Stop,
) -> Result<(&'a mut KvCache, Vec<f32>)> {
    let cache = prompts.for_prompt(tokens);
    let mut logits = Vec::new();
    let rest = tokens.get(cache.len()..).unwrap_or_default();
    let count = rest.chunks(chunk).len();
    for (i, piece) in rest.chunks(chunk).enumerate() {
        let hidden = transformer.extend(cache, piece, stop)?;
        if i + 1 == count {
            logits = transformer.logits(&hidden, piece.len() - 1..piece.len());
        }
    }
    Ok((cache, logits))
}

/// The log-probabilities of the tokens of each tail. `first` are the scores after the cached tokens.
fn branch_logprobs(
    transformer: &Transformer,
    cache: &mut KvCache,
    first: &[f32],
    tails: &[&[u32]],
    stop: &dyn Stop,
) -> Result<Vec<Vec<f64>>> {
    let first_total = log_sum_exp(first);
    let mut results: Vec<Vec<f64>> = tails
        .iter()
        .map(|tail| {
            let logit = tail.first().and_then(|t| first.get(*t as usize)).copied().unwrap_or(f32::NAN);
            vec![f64::from(logit) - first_total]
        })
        .collect();
    // The last token of a tail has nothing after it to predict.
    let inputs: Vec<&[u32]> =
        tails.iter().map(|t| t.split_last().map_or(&[][..], |(_, before)| before)).collect();
    let targets: Vec<(usize, u32)> = tails
        .iter()
        .enumerate()
        .flat_map(|(i, tail)| tail.iter().skip(1).map(move |target| (i, *target)))
        .collect();
    if targets.is_empty() {
        return Ok(results);
    }
    let hidden = transformer.branch(cache, &inputs, stop)?;
    let vocabulary = transformer.config().vocabulary;
    for (block, wanted) in targets.chunks(LOGIT_ROWS).enumerate() {
        if stop.stopped() {
            return Err(stopped_error());
        }
        let start = block * LOGIT_ROWS;
        let logits = transformer.logits(&hidden, start..start + wanted.len());
        for ((i, target), row) in wanted.iter().zip(logits.chunks_exact(vocabulary)) {
            if let Some(result) = results.get_mut(*i) {
                result.push(logprob(row, *target));
            }
        }
    }
    Ok(results)
}

/// The natural logarithm of a token's probability.
fn logprob(logits: &[f32], token: u32) -> f64 {
    logits.get(token as usize).map_or(f64::NAN, |l| f64::from(*l) - log_sum_exp(logits))
}

/// How many tokens two sequences have in common at their beginning.
pub(crate) fn common_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn no_numbers() -> Error {
    InternalError::Failed {
        context: "GGUF model",
        message: "it computed something that is no number: its weights are damaged. Fetch the file again"
            .to_owned(),
    }
    .into()
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
