//! The steps in their order. Everything with a meaning of its own lives in the modules beside this one.

use std::sync::Arc;

use counterproof_core::{
    ByteSpan, Citation, Entailment, Event, Hit, LanguageModel, Limits, NoModel, Probability, Question,
    QuestionType, Result, Retriever,
};
use counterproof_text::abstention::is_abstention;
use counterproof_text::answer::clean_answer;
use counterproof_text::question::{QuestionTyper, RuleTyper};

use super::gate::{Comparison, EncoderGate, Gate, GateCase, Ruling, ScoreGate, TextGate, holds};
use super::report::{REPAIR_SCHEMA, RepairReport};
use super::rules::{Case, means_the_same, validate};
use super::{Decision, GateKind, Pool, QueryRole, Reason, RepairConfig, draft, normalise, queries, veto};
use crate::ledger::{Ledger, Search};

const RETRIEVE: &str = "retrieve";

/// Puts short answers to the test and repairs them.
///
/// ```
/// # use std::sync::Arc;
/// # use counterproof_core::{InMemoryRetriever, Passage, Question, ScriptedModel};
/// # use counterproof_methods::repair::{Repair, RepairConfig};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let passages = [Passage::new("p1", "Laboratory", "The laboratory was founded in 1913.")];
/// let model = ScriptedModel::by_stage([
///     ("gate", "DECISION: REVISE\nANSWER: 1913\nEVIDENCE: The laboratory was founded in 1913."),
/// ]);
/// let repair = Repair::new(Arc::new(InMemoryRetriever::new(passages)), Arc::new(model), RepairConfig::default());
/// let report = repair.repair(&Question::new("In what year was the laboratory founded?"), "1912").await?;
/// assert_eq!(report.answer, "1913");
/// assert_eq!(report.citations[0].quote, "The laboratory was founded in 1913");
/// # Ok::<(), counterproof_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Repair {
    retriever: Arc<dyn Retriever>,
    model: Arc<dyn LanguageModel>,
    gate: Arc<dyn Gate>,
    /// Drafts in place of the model.
    drafter: Option<EncoderGate>,
    /// Vetoes what the gate proposes.
    verifier: Option<Arc<dyn Entailment>>,
    typer: Arc<dyn QuestionTyper>,
    config: RepairConfig,
    limits: Limits,
}

/// What one round of testing an answer came to.
struct Round {
    answer: String,
    reason: Reason,
    confidence: Option<Probability>,
    citations: Vec<Citation>,
}

impl Repair {
    /// A repair with the gate that `config` names; [`GateKind::Auto`] takes the score gate for a local model that
    /// scores given answers, and the text gate for any other.
    pub fn new(retriever: Arc<dyn Retriever>, model: Arc<dyn LanguageModel>, config: RepairConfig) -> Self {
        let capabilities = model.capabilities();
        let by_score = match config.gate {
            GateKind::Score => true,
            GateKind::Text => false,
            GateKind::Auto => capabilities.is_best_scored(),
        };
        let gate: Arc<dyn Gate> = if by_score { Arc::new(ScoreGate) } else { Arc::new(TextGate) };
        let (typer, limits) = (Arc::new(RuleTyper), Limits::default());
        Self { retriever, model, gate, drafter: None, verifier: None, typer, config, limits }
    }

    /// A repair without any language model: the gate's reader drafts, reader and verifier decide.
    pub fn without_model(retriever: Arc<dyn Retriever>, gate: EncoderGate, config: RepairConfig) -> Self {
        let drafter = Some(gate.clone());
        Self { drafter, ..Self::new(retriever, Arc::new(NoModel), config).with_gate(Arc::new(gate)) }
    }

    /// Lets a verifier veto revisions that passed the rules; see [`VetoConfig`](super::VetoConfig). Of use behind a language
    /// model's gate; the encoder gate has asked its verifier already.
    #[must_use]
    pub fn with_veto(mut self, verifier: Arc<dyn Entailment>) -> Self {
        self.verifier = Some(verifier);
        self
    }

    /// Replaces the rules that tell what kind of answer a question asks for.
    #[must_use]
    pub fn with_typer(mut self, typer: Arc<dyn QuestionTyper>) -> Self {
        self.typer = typer;
        self
    }

    /// Replaces the gate.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// Replaces the limits on inputs.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The parameters.
    pub fn config(&self) -> &RepairConfig {
        &self.config
    }

    pub(super) fn gate(&self) -> &dyn Gate {
        self.gate.as_ref()
    }

    pub(super) fn question_type(&self, question: &Question) -> QuestionType {
        self.typer.classify(&question.text)
    }

    /// Drafts an answer over the first search, then puts it to the test.
    ///
    /// # Errors
    /// The user's (an empty or enormous question), every search having failed, or the model's at the draft.
    /// A failure later than that is no error: the draft is kept, and the reason says so.
    pub async fn ask(&self, question: &Question) -> Result<RepairReport> {
        self.limits.check_question(&question.text)?;
        let mut ledger = Ledger::new(self.config.price);
        let first = self.first_search(question, draft::STAGE, &mut ledger).await?;
        let mut pool = Pool::default();
        self.add(&mut pool, QueryRole::Question, &first);
        let answer = self.answer(draft::STAGE, question, &pool, &mut ledger).await?;
        self.test(question, &answer, Some(first), ledger).await
    }

    /// Puts a given answer to the test.
    ///
    /// # Errors
    /// The user's only (an empty or enormous question, an enormous draft). A search or a model that fails is no
    /// error: the draft is kept, and the reason says so.
    pub async fn repair(&self, question: &Question, draft: &str) -> Result<RepairReport> {
        self.limits.check_question(&question.text)?;
        self.limits.check_draft(draft)?;
        self.test(question, draft, None, Ledger::new(self.config.price)).await
    }

    /// What the encoder gate makes of a draft, without deciding: for calibrating it. `None` where the searches failed or
    /// the pool offers no alternative.
    ///
    /// # Errors
    /// The user's, as [`repair`](Self::repair), and those of reader and verifier.
    pub async fn compare(
        &self,
        gate: &EncoderGate,
        question: &Question,
        draft: &str,
    ) -> Result<Option<Comparison>> {
        self.limits.check_question(&question.text)?;
        self.limits.check_draft(draft)?;
        let (mut ledger, question_type) = (Ledger::new(None), self.question_type(question));
        let Some(pool) = self.evidence(question, question_type, draft, None, &mut ledger).await else {
            return Ok(None);
        };
        gate.compare(
            &GateCase { question, question_type, draft, pool: &pool, config: &self.config },
            &mut ledger,
        )
        .await
    }

    async fn first_search(
        &self,
        question: &Question,
        stage: &'static str,
        ledger: &mut Ledger,
    ) -> Result<Vec<Hit>> {
        let query = question.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let search = Search { stage, role: QueryRole::Question, query, k: self.config.k_b };
        match ledger.search_all(&*self.retriever, vec![search]).await.pop() {
            Some((_, found)) => found,
            None => Ok(Vec::new()),
        }
    }

    /// The answer of plain retrieval-augmented generation over `pool`. Without a model it is what the reader reads.
    async fn answer(
        &self,
        stage: &'static str,
        question: &Question,
        pool: &Pool,
        ledger: &mut Ledger,
    ) -> Result<String> {
        match &self.drafter {
            Some(gate) => gate.draft(stage, &question.text, pool, ledger).await,
            None => draft::answer_over(stage, question, pool, &*self.model, &self.config, ledger).await,
        }
    }

    /// Tests `draft` for as many rounds as the configuration asks, and reports.
    async fn test(
        &self,
        question: &Question,
        draft: &str,
        first: Option<Vec<Hit>>,
        mut ledger: Ledger,
    ) -> Result<RepairReport> {
        let question_type = self.question_type(question);
        let mut last = self.round(question, question_type, draft, first, &mut ledger).await;
        let mut revised = last.reason == Reason::Accepted;
        let mut seen = vec![draft.to_owned(), last.answer.clone()];
        for _ in 1..self.config.rounds {
            if last.reason != Reason::Accepted {
                break;
            }
            let next = self.round(question, question_type, &last.answer, None, &mut ledger).await;
            let circles = seen.iter().any(|s| means_the_same(s, &next.answer, &self.config.aliases));
            if next.reason != Reason::Accepted || circles {
                break;
            }
            seen.push(next.answer.clone());
            last = next;
            revised = true;
        }
        let decision = if revised { Decision::Revise } else { Decision::Keep };
        ledger.trace.push(Event::Decision {
            stage: "repair".to_owned(),
            decision: if revised { "revise" } else { "keep" }.to_owned(),
            reason: last.reason.code().to_owned(),
        });
        Ok(RepairReport {
            schema: REPAIR_SCHEMA,
            id: question.id.clone(),
            question: question.text.clone(),
            draft: draft.to_owned(),
            answer: if revised { last.answer } else { draft.to_owned() },
            decision,
            reason: last.reason,
            question_type,
            confidence: last.confidence,
            citations: last.citations,
            cost: ledger.cost,
            trace: ledger.trace,
        })
    }

    /// Steps 3 to 7 for one answer.
    async fn round(
        &self,
        question: &Question,
        question_type: QuestionType,
        draft: &str,
        first: Option<Vec<Hit>>,
        ledger: &mut Ledger,
    ) -> Round {
        let keep =
            |reason, confidence, citations| Round { answer: draft.to_owned(), reason, confidence, citations };
        let Some(pool) = self.evidence(question, question_type, draft, first, ledger).await else {
            return keep(Reason::RetrievalFailed, None, Vec::new());
        };
        if self.config.ablate.free_rewrite {
            return self.rewrite(question, draft, &pool, ledger).await;
        }
        let case = GateCase { question, question_type, draft, pool: &pool, config: &self.config };
        let ruling = self.gate.rule(&case, &*self.model, ledger).await;
        let support = || self.support(draft, &pool);
        let (proposal, confidence) = match ruling {
            Err(error) => {
                ledger.trace.note("gate", format!("the model failed: {error}"));
                return keep(Reason::GateFailed, None, Vec::new());
            }
            Ok(Ruling::Malformed { why }) => {
                ledger.trace.note("gate", format!("the reply could not be read: {why}"));
                return keep(Reason::Malformed, None, Vec::new());
            }
            Ok(Ruling::Keep { confidence }) => return keep(Reason::Supported, confidence, support()),
            Ok(Ruling::NoAlternative) => return keep(Reason::NoAlternative, None, support()),
            Ok(Ruling::Revise { proposal, confidence }) => (proposal, confidence),
        };
        let case = Case { question_type, draft, pool: &pool, config: &self.config };
        let accepted = match validate(&proposal, &case, &mut ledger.trace) {
            Ok(accepted) => accepted,
            Err(rule) => return keep(Reason::Rejected(rule), None, support()),
        };
        let answer = if self.config.ablate.no_normalisation {
            accepted.answer
        } else {
            normalise(&accepted.answer, &question.text, question_type)
        };
        if means_the_same(&answer, draft, &self.config.aliases) && !self.config.ablate.no_validation {
            ledger.trace.note("normalise", format!("\"{answer}\" is the draft once normalised"));
            return keep(Reason::Rejected(super::Rule::SameAsDraft), None, support());
        }
        if let Some((verifier, located)) = self.verifier.as_ref().zip(accepted.located.as_ref()) {
            let veto = &self.config.veto;
            match veto::stands(verifier, veto, question, &answer, (&pool, located), ledger).await {
                Ok(true) => {}
                Ok(false) => return keep(Reason::Vetoed, None, support()),
                Err(error) => {
                    ledger.trace.note("veto", format!("the verifier failed: {error}"));
                    return keep(Reason::GateFailed, None, Vec::new());
                }
            }
        }
        let citations =
            accepted.located.and_then(|l| Citation::new(pool.get(l.passage)?, l.span)).into_iter().collect();
        Round { answer, reason: Reason::Accepted, confidence, citations }
    }

    /// Steps 3 and 4: the conditioned searches and the pool; `None` when every search failed.
    async fn evidence(
        &self,
        question: &Question,
        question_type: QuestionType,
        draft: &str,
        first: Option<Vec<Hit>>,
        ledger: &mut Ledger,
    ) -> Option<Pool> {
        let config = &self.config;
        let mut sent = queries(&question.text, draft, question_type, config);
        let asked = (!sent.is_empty()).then(|| sent.remove(0));
        if config.ablate.no_counter_retrieval {
            sent.clear();
        }
        // The question is searched once, for the larger of the two numbers: its best k_b are R0.
        let k_question = config.k_b.max(config.k_r);
        let mut searches: Vec<Search<QueryRole>> = Vec::new();
        if let Some((role, query)) = asked.filter(|_| first.is_none() || k_question > config.k_b) {
            searches.push(Search { stage: RETRIEVE, role, query, k: k_question });
        }
        searches.extend(sent.into_iter().map(|(role, query)| Search {
            stage: RETRIEVE,
            role,
            query,
            k: config.k_r,
        }));
        let mut by_question = first;
        let mut any = by_question.is_some();
        let mut conditioned = Vec::new();
        for (role, found) in ledger.search_all(&*self.retriever, searches).await {
            match found {
                Ok(hits) if role == QueryRole::Question => {
                    any = true;
                    by_question = Some(hits);
                }
                Ok(hits) => {
                    any = true;
                    conditioned.push((role, hits));
                }
                Err(error) => {
                    tracing::warn!(%error, query = role.as_str(), "a search failed; the others go on")
                }
            }
        }
        if !any {
            return None;
        }
        let by_question = by_question.unwrap_or_default();
        let mut pool = Pool::default();
        self.add(&mut pool, QueryRole::Question, by_question.get(..config.k_b).unwrap_or(&by_question));
        let base = pool.len();
        if config.ablate.unconditioned_expansion {
            let mut counted = pool.clone();
            conditioned.iter().for_each(|(role, hits)| self.add(&mut counted, *role, hits));
            return Some(self.expand(question, pool, counted.len() - base, ledger).await);
        }
        conditioned.iter().for_each(|(role, hits)| self.add(&mut pool, *role, hits));
        if !config.ablate.no_counter_retrieval {
            self.add(&mut pool, QueryRole::Question, by_question.get(..config.k_r).unwrap_or(&by_question));
        }
        Some(pool)
    }

    /// The control for conditioned queries: `extra` more passages by the question alone.
    async fn expand(&self, question: &Question, mut pool: Pool, extra: usize, ledger: &mut Ledger) -> Pool {
        let target = pool.len() + extra;
        let query = question.text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Near-duplicates are dropped from the pool, so a few more than needed are asked for.
        let k = self.config.k_b + 2 * extra;
        let search = Search { stage: RETRIEVE, role: QueryRole::Question, query, k };
        for (role, found) in ledger.search_all(&*self.retriever, vec![search]).await {
            if let Ok(hits) = found {
                pool.add(role, &hits, self.config.duplicate_jaccard, target.min(self.config.max_pool));
            }
        }
        pool
    }

    /// The ablation `free_rewrite`: the question is answered anew over the pool, and nothing is checked.
    async fn rewrite(&self, question: &Question, draft: &str, pool: &Pool, ledger: &mut Ledger) -> Round {
        let rewritten = self.answer("rewrite", question, pool, ledger).await;
        let (answer, reason) = match rewritten {
            Err(_) => (draft.to_owned(), Reason::GateFailed),
            Ok(new) if means_the_same(&new, draft, &self.config.aliases) => {
                (draft.to_owned(), Reason::Supported)
            }
            Ok(new) => (new, Reason::Accepted),
        };
        Round { answer, reason, confidence: None, citations: Vec::new() }
    }

    fn add(&self, pool: &mut Pool, role: QueryRole, hits: &[Hit]) {
        pool.add(role, hits, self.config.duplicate_jaccard, self.config.max_pool);
    }

    /// A citation for a draft that is kept: the first sentence of the pool that holds it.
    fn support(&self, draft: &str, pool: &Pool) -> Vec<Citation> {
        let draft = clean_answer(draft);
        if draft.is_empty() || is_abstention(&draft) {
            return Vec::new();
        }
        pool.passages()
            .iter()
            .find_map(|entry| {
                let text = &entry.passage.text;
                let span: ByteSpan = counterproof_text::sentences::sentences(text)
                    .into_iter()
                    .find(|s| s.slice(text).is_some_and(|sentence| holds(sentence, &draft)))?;
                Citation::new(&entry.passage, span)
            })
            .into_iter()
            .collect()
    }
}
