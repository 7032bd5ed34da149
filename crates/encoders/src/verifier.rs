//! Natural language inference by a cross-encoder: evidence and statement are read together.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{Entailment, Error, Nli, Result, UserError, sha256_hex};
use counterproof_text::language::detect;
use rayon::prelude::*;

use crate::adapter::{Adapter, AdapterKind, Calibration};
use crate::batches::compute;
use crate::bert::BertModel;
use crate::classifier::Head;
use crate::config::BertConfig;
use crate::digest::file_sha256;
use crate::fusion::log_softmax;
use crate::pairs::PairTokenizer;
use crate::pool::{Cancelled, EncoderOptions, Never, Pool};
use crate::source::Source;
use crate::tokens::Sequence;
use crate::weights::Weights;
use crate::windows::by_sentences;

/// The window of a hub's classifier, in tokens.
const CLASSIFIER_TOKENS: usize = 256;

/// Tokens of evidence that a window always has room for: beside a long statement the window grows, up to the positions
/// of the model.
const LEAST_EVIDENCE: usize = 64;

/// An [`Entailment`] that runs a cross-encoder in this process: the base encoder under an adapter of ours, or a
/// sequence classification model of a hub.
///
/// Evidence longer than the window is read in windows of whole sentences, each beginning with the last sentence of the
/// one before. A statement is entailed, or contradicted, as far as the window that says so most, and unsettled only
/// as far as every window leaves it so: the greatest log-probabilities of "entailed" and of "contradicted" and the least of
/// "neutral" are taken, and renormalised. The statement is never cut. Equal pairs are judged once.
#[derive(Clone)]
pub struct BertVerifier {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
}

struct Shared {
    identity: String,
    tokenizer: PairTokenizer,
    model: BertModel,
    head: Head,
    calibration: Calibration,
    /// Languages it was trained on; empty where that is not known.
    languages: Vec<String>,
    /// Tokens of a window, special ones included.
    window: usize,
    /// The longest window that the model has positions for.
    most: usize,
}

/// What a verifier says of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The calibrated probabilities.
    pub nli: Nli,
    /// What they are made of: the logits of entailed, neutral and contradicted, before calibration. Of evidence in
    /// several windows, the joined log-probabilities. Zeros for blank evidence, which no model was asked about.
    pub logits: [f32; 3],
    /// Windows that the evidence was read in; none for blank evidence.
    pub windows: usize,
}

impl BertVerifier {
    /// Loads the base encoder of the folder `base` under the verifier adapter in the file `adapter`. Blocks for about a
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
        adapter.check(AdapterKind::Verifier, &digest)?;
        adapter.check_fusion()?;
        let head = Head::from_adapter(adapter, config.hidden_size)?;
        let window = options.max_tokens.unwrap_or(adapter.metadata.max_tokens);
        let calibration = adapter.metadata.calibration.clone();
        let languages = adapter.metadata.languages.clone();
        let model = format!("{digest}+{}", adapter.digest());
        let source = Source::adapted(&weights, adapter);
        Self::build(base, pool, source, config, head, window, calibration, languages, &model, options)
    }

    /// Loads a BERT, RoBERTa or DeBERTa-v2/v3 sequence classification model of a hub: `config.json`, `tokenizer.json`,
    /// `model.safetensors`. The order of its outputs is read from `id2label`.
    ///
    /// # Errors
    /// A file is missing or damaged, the model is of another family, or its labels do not say which output means
    /// entailment, neutral and contradiction.
    pub fn open_classifier(dir: impl AsRef<Path>, options: &EncoderOptions) -> Result<Self> {
        let dir = dir.as_ref();
        let pool = Pool::new(options.threads)?;
        let config = BertConfig::read(dir)?;
        let weights = Weights::open(&dir.join("model.safetensors"))?;
        let head = Head::from_folder(dir, &weights, &config)?;
        let digest = file_sha256(&dir.join("model.safetensors"))?;
        let window = options.max_tokens.unwrap_or(CLASSIFIER_TOKENS);
        let (source, calibration) = (Source::plain(&weights), Calibration::default());
        Self::build(dir, pool, source, config, head, window, calibration, Vec::new(), &digest, options)
    }

    #[allow(clippy::too_many_arguments)] // The parts of a verifier, each from one of the two kinds of folder.
    fn build(
        dir: &Path,
        pool: Pool,
        source: Source<'_>,
        config: BertConfig,
        head: Head,
        window: usize,
        calibration: Calibration,
        languages: Vec<String>,
        weights: &str,
        options: &EncoderOptions,
    ) -> Result<Self> {
        let most = config.max_tokens();
        let window = window.clamp(LEAST_EVIDENCE.min(most), most);
        let tokenizer = PairTokenizer::open(&dir.join("tokenizer.json"))?;
        let model = pool.run(|| BertModel::load(source, config))?;
        let folder = || dir.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = options.name.clone().or_else(folder).unwrap_or_else(|| "verifier".to_owned());
        let Calibration { temperature, offsets: [entail, neutral, contradict], fusion } = &calibration;
        let fusion =
            fusion.as_ref().map(|f| serde_json::to_vec(f).map(|json| format!("/{}", sha256_hex(&json))));
        let fusion =
            fusion.transpose().map_err(|e| Error::failed("naming a verifier", e))?.unwrap_or_default();
        let identity =
            format!("{name}@{weights}/nli/{window}/{temperature},{entail},{neutral},{contradict}{fusion}");
        let shared = Shared { identity, tokenizer, model, head, calibration, languages, window, most };
        Ok(Self { shared: Arc::new(shared), pool: Arc::new(pool) })
    }

    /// Judges each `(premise, hypothesis)`, with the logits. Blocks this thread: for callers outside an async runtime.
    ///
    /// # Errors
    /// A hypothesis is blank or longer than the model has positions for.
    pub fn judge_blocking<T: AsRef<str> + Sync>(&self, pairs: &[(T, T)]) -> Result<Vec<Judgement>> {
        self.pool.run(|| self.shared.judge(pairs, self.pool.threads(), &Never))
    }

    /// The logits of each `(premise, hypothesis)`: entailed, neutral, contradicted, before calibration. Blocks this thread.
    ///
    /// # Errors
    /// As [`judge_blocking`](Self::judge_blocking).
    pub fn logits<T: AsRef<str> + Sync>(&self, pairs: &[(T, T)]) -> Result<Vec<[f32; 3]>> {
        Ok(self.judge_blocking(pairs)?.into_iter().map(|judgement| judgement.logits).collect())
    }

    /// As [`judge`](Entailment::judge), with the logits.
    ///
    /// # Errors
    /// As [`judge_blocking`](Self::judge_blocking).
    pub async fn judgements(&self, pairs: &[(&str, &str)]) -> Result<Vec<Judgement>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let pairs: Vec<(String, String)> = pairs.iter().map(|&(p, h)| (p.to_owned(), h.to_owned())).collect();
        let (shared, threads) = (Arc::clone(&self.shared), self.pool.threads());
        self.pool.spawn(move |cancelled| shared.judge(&pairs, threads, cancelled)).await
    }

    /// How its logits become probabilities.
    pub fn calibration(&self) -> &Calibration {
        &self.shared.calibration
    }
}

#[async_trait]
impl Entailment for BertVerifier {
    fn identity(&self) -> &str {
        &self.shared.identity
    }

    fn knows_language_of(&self, text: &str) -> bool {
        let known = &self.shared.languages;
        known.is_empty() || known.iter().any(|language| language == detect(text).as_str())
    }

    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        Ok(self.judgements(pairs).await?.into_iter().map(|judgement| judgement.nli).collect())
    }
}

impl Shared {
    /// Runs on a thread of the pool.
    fn judge<T: AsRef<str> + Sync>(
        &self,
        pairs: &[(T, T)],
        threads: usize,
        cancelled: &dyn Cancelled,
    ) -> Result<Vec<Judgement>> {
        // The distinct pairs, and for each pair given its place among them.
        let mut distinct: Vec<(&str, &str)> = Vec::new();
        let mut places: HashMap<(&str, &str), usize> = HashMap::new();
        let mut of = Vec::with_capacity(pairs.len());
        for (premise, hypothesis) in pairs {
            let pair = (premise.as_ref(), hypothesis.as_ref());
            if pair.1.trim().is_empty() {
                return Err(UserError::Empty { what: "statement" }.into());
            }
            of.push(*places.entry(pair).or_insert_with(|| {
                distinct.push(pair);
                distinct.len() - 1
            }));
        }
        let windows: Vec<Vec<Window>> =
            distinct.par_iter().map(|pair| self.windows(pair.0, pair.1)).collect::<Result<_>>()?;
        let texts: Vec<Vec<Range<usize>>> =
            windows.iter().map(|own| own.iter().map(|window| window.text.clone()).collect()).collect();
        let sequences: Vec<Sequence> = windows.into_iter().flatten().map(|window| window.sequence).collect();
        let logits = compute(&sequences, threads, true, cancelled, |batch| {
            Ok(self.head.logits(batch, &self.model.forward(batch)?))
        })?;
        let mut rest = logits.as_slice();
        let mut work = Vec::with_capacity(distinct.len());
        for (pair, texts) in distinct.iter().zip(&texts) {
            let (own, after) = rest.split_at_checked(texts.len()).unwrap_or((rest, &[]));
            rest = after;
            work.push((pair, texts, own));
        }
        let judged: Vec<Judgement> =
            work.into_par_iter().map(|(pair, texts, logits)| self.join(*pair, texts, logits)).collect();
        Ok(of.into_iter().filter_map(|place| judged.get(place).cloned()).collect())
    }

    /// The windows that a pair is read in; none where the evidence is blank.
    fn windows(&self, premise: &str, hypothesis: &str) -> Result<Vec<Window>> {
        let statement = self.tokenizer.ids(hypothesis)?;
        let taken = statement.len() + self.tokenizer.special_tokens();
        let window = self.window.max(taken + LEAST_EVIDENCE).min(self.most);
        let room = window.saturating_sub(taken);
        if room < LEAST_EVIDENCE.min(self.most / 4) {
            return Err(UserError::TooLarge {
                what: "statement, in tokens,",
                limit: "the verifier's positions",
                size: statement.len(),
                max: self
                    .most
                    .saturating_sub(self.tokenizer.special_tokens() + LEAST_EVIDENCE.min(self.most / 4)),
            }
            .into());
        }
        if premise.trim().is_empty() {
            return Ok(Vec::new());
        }
        let tokens = self.tokenizer.tokens(premise)?;
        if tokens.ids.is_empty() {
            return Ok(Vec::new());
        }
        let window = |range: Range<usize>| {
            let offsets = tokens.offsets.get(range.clone()).unwrap_or_default();
            let (from, to) = (offsets.first().map_or(0, |o| o.0), offsets.last().map_or(0, |o| o.1));
            let ids = tokens.ids.get(range).unwrap_or_default();
            Window { sequence: self.tokenizer.join(ids, &statement), text: from..to }
        };
        Ok(by_sentences(premise, &tokens, room).into_iter().map(window).collect())
    }

    /// One judgement from the logits of every window of a pair.
    fn join(
        &self,
        (premise, hypothesis): (&str, &str),
        texts: &[Range<usize>],
        logits: &[[f32; 3]],
    ) -> Judgement {
        let joined = match logits {
            [] => return Judgement { nli: Nli::NEUTRAL, logits: [0.0; 3], windows: 0 },
            [logits] => *logits,
            several => most_decided(several),
        };
        let nli = |[entail, neutral, contradict]: [f64; 3]| Nli::from_weights(entail, neutral, contradict);
        let nli = match &self.calibration.fusion {
            None => nli(self.calibration.probabilities(joined)),
            Some(fusion) => {
                let windows = texts.iter().zip(logits).map(|(text, logits)| {
                    nli(fusion.judge(*logits, premise.get(text.clone()).unwrap_or(premise), hypothesis))
                });
                Nli::over_windows(&windows.collect::<Vec<_>>())
            }
        };
        Judgement { nli, logits: joined, windows: logits.len() }
    }
}

/// A part of the evidence that is read with the statement.
struct Window {
    sequence: Sequence,
    /// Where it lies in the evidence, in bytes.
    text: Range<usize>,
}

/// What windows say together: the greatest log-probabilities of "entailed" and "contradicted", the least of "neutral".
fn most_decided(windows: &[[f32; 3]]) -> [f32; 3] {
    let logs = windows.iter().map(|logits| log_softmax(logits.map(f64::from)));
    let start = [f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY];
    let joined = logs.fold(start, |[e, n, c], [entail, neutral, contradict]| {
        [e.max(entail), n.min(neutral), c.max(contradict)]
    });
    joined.map(|x| x as f32)
}
