//! The steps in their order. Everything with a meaning of its own lives in the modules beside this one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use counterproof_core::{
    Citation, Entailment, Error, Event, LanguageModel, Limits, Passage, Probability, Result, Retriever,
    RuleOutcome, Verdict,
};
use counterproof_text::claim::{facts, is_question};

use super::calibrator::{CalibrationRow, Calibrator, NoPromise};
use super::config::{Abstention, CheckConfig};
use super::features::Features;
use super::report::{AbstainReason, CHECK_SCHEMA, CheckReport, Cited, PartReport, Stance, whole};
use super::select::{Selected, by_evidence};
use super::verify::{Bench, Guard, Piece};
use crate::ledger::{Ledger, Search};
use crate::pool::Pool;
use crate::ruled::Ruled;

const RETRIEVE: &str = "retrieve";
const STAGE: &str = "check";

/// A claim to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Names the claim in a batch; empty for a single one.
    pub id: String,
    /// Its words.
    pub text: String,
}

impl Claim {
    /// A claim without an id.
    pub fn new(text: impl Into<String>) -> Self {
        Self { id: String::new(), text: text.into() }
    }

    /// Checks that it can be checked: not blank, within the limits, and a statement.
    ///
    /// # Errors
    /// A user's error that says what is wrong.
    pub fn admit(&self, limits: &Limits) -> Result<()> {
        limits.check_claim(&self.text)?;
        if is_question(&self.text) {
            let problem = "it is a question; check takes a statement, such as \"The bridge opened in 1932.\" (to find and test \
                           an answer, use ask)";
            return Err(Error::invalid("the claim", problem));
        }
        Ok(())
    }
}

/// A threshold, or why there is none.
type Threshold = std::result::Result<f64, NoPromise>;

/// Checks claims against evidence.
///
/// ```
/// # use std::sync::Arc;
/// # use counterproof_core::{InMemoryRetriever, LexicalEntailment, Passage, Verdict};
/// # use counterproof_methods::check::{Check, CheckConfig, Claim};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let passages = [Passage::new("p1", "Laboratory", "The laboratory opened in 1913.")];
/// let evidence = Arc::new(InMemoryRetriever::new(passages));
/// // Real verifiers are `encoders::BertVerifier` and `models::tei::TeiVerifier`; this one compares words.
/// let check = Check::without_model(Some(evidence), Arc::new(LexicalEntailment), CheckConfig::default());
/// let report = check.check(&Claim::new("The laboratory opened in 1912.")).await?;
/// assert_eq!(report.whole.verdict, Verdict::Refuted);
/// assert_eq!(report.whole.citations[0].citation.quote, "The laboratory opened in 1913.");
/// # Ok::<(), counterproof_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Check {
    retriever: Option<Arc<dyn Retriever>>,
    /// Without one the evidence itself makes the candidates.
    model: Option<Arc<dyn LanguageModel>>,
    verifier: Arc<dyn Entailment>,
    calibrator: Arc<Calibrator>,
    /// Thresholds for the risk that was asked for, by the number of facts that share it and by whether evidence is given.
    thresholds: Arc<Mutex<HashMap<(usize, bool), Threshold>>>,
    config: CheckConfig,
    limits: Limits,
}

/// What a claim is judged by.
enum Evidence<'a> {
    Searched,
    Given(&'a [Arc<Passage>]),
}

impl Check {
    /// A check in which a language model proposes and the verifier chooses. Without a retriever claims can be checked by
    /// given evidence only.
    pub fn new(
        retriever: Option<Arc<dyn Retriever>>,
        model: Arc<dyn LanguageModel>,
        verifier: Arc<dyn Entailment>,
        config: CheckConfig,
    ) -> Self {
        Self { model: Some(model), ..Self::without_model(retriever, verifier, config) }
    }

    /// A check by the verifier alone, with the [rules](crate::Ruled) around it.
    pub fn without_model(
        retriever: Option<Arc<dyn Retriever>>,
        verifier: Arc<dyn Entailment>,
        config: CheckConfig,
    ) -> Self {
        let verifier: Arc<dyn Entailment> = match config.ablate.no_rules {
            true => verifier,
            false => Arc::new(Ruled::new(verifier)),
        };
        let (calibrator, limits) = (Arc::new(Calibrator::none()), Limits::default());
        let thresholds = Arc::default();
        Self { retriever, model: None, verifier, calibrator, thresholds, config, limits }
    }

    /// Takes confidences from a calibrator. Without one they are the verifier's scores as they are.
    #[must_use]
    pub fn with_calibrator(mut self, calibrator: impl Into<Arc<Calibrator>>) -> Self {
        self.calibrator = calibrator.into();
        self.thresholds = Arc::default();
        self
    }

    /// Replaces the limits on inputs.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The parameters.
    pub fn config(&self) -> &CheckConfig {
        &self.config
    }

    /// How confidences are made.
    pub fn calibrator(&self) -> &Calibrator {
        &self.calibrator
    }

    /// Whether a language model takes part.
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Checks a claim against what a search for it finds.
    ///
    /// # Errors
    /// The user's (an empty or enormous claim, a question), the search's, the verifier's, and the language model's where
    /// it answered nothing at all.
    pub async fn check(&self, claim: &Claim) -> Result<CheckReport> {
        self.report(claim, &Evidence::Searched).await
    }

    /// Checks a claim against given evidence, all of it and nothing else.
    ///
    /// # Errors
    /// As [`check`](Self::check), without the search's; and evidence beyond the limits.
    pub async fn check_by(&self, claim: &Claim, evidence: &[Arc<Passage>]) -> Result<CheckReport> {
        if evidence.len() > self.limits.max_passages {
            let problem =
                format!("{} passages; max_passages is {}", evidence.len(), self.limits.max_passages);
            return Err(Error::invalid("the evidence", problem));
        }
        for passage in evidence {
            self.limits.check_passage(&passage.text)?;
        }
        self.report(claim, &Evidence::Given(evidence)).await
    }

    /// The numbers of the verdict on a claim as a whole, and that verdict: for calibrating. With `evidence` it is judged by
    /// that, else by what a search finds.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn features(
        &self,
        claim: &Claim,
        evidence: Option<&[Arc<Passage>]>,
    ) -> Result<(Verdict, Features)> {
        self.admit(claim)?;
        let evidence = evidence.map_or(Evidence::Searched, Evidence::Given);
        let mut ledger = Ledger::new(self.config.price);
        let (_, selected) = self.select(claim.text.trim(), &evidence, &mut ledger).await?;
        Ok((selected.verdict, selected.features))
    }

    /// A row for [`Calibrator::fit`].
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn calibration_row(
        &self,
        claim: &Claim,
        evidence: Option<&[Arc<Passage>]>,
        truth: Verdict,
        group: impl Into<String>,
    ) -> Result<CalibrationRow> {
        let (verdict, features) = self.features(claim, evidence).await?;
        let given = evidence.is_some();
        Ok(CalibrationRow { features, right: verdict == truth, group: group.into(), given })
    }

    fn admit(&self, claim: &Claim) -> Result<()> {
        claim.admit(&self.limits)?;
        self.config.validate()
    }

    async fn report(&self, claim: &Claim, evidence: &Evidence<'_>) -> Result<CheckReport> {
        self.admit(claim)?;
        let mut ledger = Ledger::new(self.config.price);
        let text = claim.text.trim();
        let stated = if self.config.decompose { facts(text) } else { vec![text.to_owned()] };
        let (whole, parts) = match stated.as_slice() {
            [] | [_] => (self.part(text, 1, evidence, &mut ledger).await?, Vec::new()),
            several => {
                ledger.trace.note(STAGE, format!("the claim states {} facts", several.len()));
                let mut parts = Vec::with_capacity(several.len());
                for fact in several {
                    parts.push(self.part(fact, several.len(), evidence, &mut ledger).await?);
                }
                (self.whole(text, &parts, matches!(evidence, Evidence::Given(_))), parts)
            }
        };
        ledger.trace.push(Event::Decision {
            stage: STAGE.to_owned(),
            decision: name(whole.verdict).to_owned(),
            reason: match whole.reason {
                Some(reason) => format!("withheld: {}", reason.explain()),
                None => "given".to_owned(),
            },
        });
        Ok(CheckReport {
            schema: CHECK_SCHEMA,
            id: claim.id.clone(),
            whole,
            parts,
            cost: ledger.cost,
            trace: ledger.trace,
        })
    }

    /// The verdict on the claim from those on its facts; one that is not sure enough as a whole is withheld.
    fn whole(&self, text: &str, parts: &[PartReport], given: bool) -> PartReport {
        let mut whole = whole(text, parts);
        let promised = matches!(self.config.abstention, Abstention::Risk(_));
        if !whole.abstained && !self.config.ablate.no_abstention && !promised {
            whole.reason = self.withheld_for(whole.confidence.get(), 1, given);
            whole.abstained = whole.reason.is_some();
        }
        whole
    }

    /// Why a verdict of this confidence is withheld, if it is. A risk that is promised for a claim is shared among its facts:
    /// the claim is wrong only if one of them is, so a part of the risk for each keeps the promise for all.
    fn withheld_for(&self, confidence: f64, facts: usize, given: bool) -> Option<AbstainReason> {
        match self.threshold(facts, given) {
            Ok(threshold) if confidence >= threshold => None,
            Ok(_) => Some(AbstainReason::LowConfidence),
            Err(_) => Some(AbstainReason::NoPromise),
        }
    }

    /// The confidence that a verdict on one of `facts` facts needs.
    ///
    /// # Errors
    /// [`NoPromise`] where a share or a risk was asked for that the calibrator cannot show.
    pub fn threshold(&self, facts: usize, given: bool) -> Result<f64, NoPromise> {
        let abstention = match self.config.abstention {
            Abstention::Risk(risk) => Abstention::Risk(risk / facts.max(1) as f64),
            Abstention::Never | Abstention::Threshold(_) => {
                return self.calibrator.threshold(self.config.abstention, given);
            }
            other @ Abstention::Coverage(_) => other,
        };
        if !self.is_calibrated_for_this() {
            return Err(NoPromise::OtherModels);
        }
        // A lock is poisoned only if a thread broke off in here, and what it guards is whole at any time.
        let mut known = self.thresholds.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry((facts, given)).or_insert_with(|| self.calibrator.threshold(abstention, given))
    }

    /// Whether the confidences are those that the calibrator was fitted to: by this verifier, with or without a language
    /// model, and scored in the same way. Of others nothing can be promised.
    pub fn is_calibrated_for_this(&self) -> bool {
        let parts = &self.config.ablate;
        let as_fitted = !(parts.no_calibration || parts.vote_confidence || parts.self_confidence);
        as_fitted && self.calibrator.fitted_for == self.fitted_for()
    }

    /// What a calibrator of this check is fitted for: the verifier, the language model, and how labels are scored.
    pub fn fitted_for(&self) -> String {
        let model = self.model.as_ref().map_or("none", |m| m.identity());
        let CheckConfig { scoring, joining, vote_weight, proposing, .. } = &self.config;
        let mut what = format!("{} {model} {scoring:?} {joining:?} {vote_weight}", self.verifier.identity());
        if self.model.is_some() {
            what.push_str(&format!(" {proposing:?}"));
        }
        what
    }

    /// The verdict on one fact.
    async fn part(
        &self,
        fact: &str,
        facts: usize,
        evidence: &Evidence<'_>,
        ledger: &mut Ledger,
    ) -> Result<PartReport> {
        let given = matches!(evidence, Evidence::Given(_));
        let (pool, selected) = self.select(fact, evidence, ledger).await?;
        let ablate = self.config.ablate;
        let features = &selected.features;
        // Votes in the verifier's place were never calibrated.
        let confidence = if ablate.vote_confidence || selected.unverified {
            features.vote_share.unwrap_or(features.score)
        } else if ablate.self_confidence {
            features.self_confidence.unwrap_or(features.score)
        } else {
            self.confidence(features)
        };
        let (s, r) = (features.support, features.refutation);
        let reason = if ablate.no_abstention {
            None
        } else if !self.verifier.knows_language_of(fact) {
            Some(AbstainReason::UnknownLanguage)
        } else if self.config.abstention == Abstention::Never {
            None
        } else if selected.even {
            Some(AbstainReason::Conflict)
        } else if selected.unverified && self.config.abstention.is_promise() {
            Some(AbstainReason::NoPromise)
        } else {
            let low = self.withheld_for(confidence, facts, given);
            let at_odds = low == Some(AbstainReason::LowConfidence) && selected.conflict.is_some();
            if at_odds { Some(AbstainReason::Conflict) } else { low }
        };
        let verdict = selected.verdict;
        ledger.trace.rule(
            STAGE,
            "confidence",
            if reason.is_none() { RuleOutcome::Passed } else { RuleOutcome::Failed },
            format!("{fact}: {} with confidence {confidence:.2} (s {s:.2}, r {r:.2})", name(verdict)),
        );
        Ok(PartReport {
            claim: fact.to_owned(),
            verdict,
            abstained: reason.is_some(),
            reason,
            confidence: Probability::clamped(confidence),
            conflict: selected.conflict.is_some(),
            unverified: selected.unverified,
            citations: citations(&pool, verdict, &selected),
        })
    }

    /// The probability that a verdict is right.
    pub(super) fn confidence(&self, features: &Features) -> f64 {
        if self.config.ablate.no_calibration {
            return features.score.clamp(0.0, 1.0);
        }
        self.calibrator.confidence(features)
    }

    async fn select(
        &self,
        fact: &str,
        evidence: &Evidence<'_>,
        ledger: &mut Ledger,
    ) -> Result<(Pool, Selected)> {
        let given = matches!(evidence, Evidence::Given(_));
        let pool = match evidence {
            Evidence::Given(passages) => Pool::given(passages),
            Evidence::Searched => self.search(fact, ledger).await?,
        };
        if !self.verifier.knows_language_of(fact) {
            let why = "the verifier was not trained on the claim's language: what it says is a guess";
            ledger.trace.note(STAGE, why.to_owned());
        }
        let guard = self.guard(fact, &pool, ledger);
        let mut bench = Bench::new(fact, &pool, &self.verifier, guard, &self.config);
        let proposed = match &self.model {
            Some(model) if !pool.entries().is_empty() => self.proposed(&mut bench, &**model, ledger).await?,
            _ => None,
        };
        let selected = match proposed {
            Some(selected) => selected,
            None => by_evidence(&mut bench, given, &self.config, ledger).await?,
        };
        Ok((pool, selected))
    }

    async fn search(&self, fact: &str, ledger: &mut Ledger) -> Result<Pool> {
        let Some(retriever) = &self.retriever else {
            return Err(Error::invalid(
                "the check",
                "there is nothing to search: give evidence with the claim",
            ));
        };
        let query = fact.split_whitespace().collect::<Vec<_>>().join(" ");
        let search = Search { stage: RETRIEVE, role: (), query, k: self.config.k };
        match ledger.search_all(&**retriever, vec![search]).await.pop() {
            Some(((), found)) => Ok(Pool::found(&found?)),
            None => Ok(Pool::default()),
        }
    }

    /// Tells what is about somebody else than the claim, and notes it.
    fn guard(&self, fact: &str, pool: &Pool, ledger: &mut Ledger) -> Guard {
        if self.config.ablate.no_entity_guard {
            return Guard::default();
        }
        let guard = Guard::new(fact, pool);
        for (entry, _) in pool.entries().iter().zip(&guard.passages).filter(|(_, foreign)| **foreign) {
            let told = format!("{} is not about {}", entry.passage.id, guard.name());
            ledger.trace.rule(STAGE, "same_entity", RuleOutcome::Failed, told);
        }
        guard
    }
}

/// The words that a verdict rests on; in a conflict also those of the other side.
fn citations(pool: &Pool, verdict: Verdict, selected: &Selected) -> Vec<Cited> {
    let cite = |piece: &Piece, stance: Stance| -> Option<Cited> {
        let citation = Citation::new(&pool.get(piece.passage)?.passage, piece.span)?;
        Some(Cited { citation, stance })
    };
    let own = match verdict {
        Verdict::Supported => Some(Stance::Supports),
        Verdict::Refuted => Some(Stance::Refutes),
        Verdict::NotEnoughEvidence => None,
    };
    let mut all: Vec<Cited> =
        own.map(|stance| selected.cited.iter().filter_map(|p| cite(p, stance)).collect()).unwrap_or_default();
    if let Some((yes, no)) = &selected.conflict {
        for cited in [cite(yes, Stance::Supports), cite(no, Stance::Refutes)].into_iter().flatten() {
            if !all.contains(&cited) {
                all.push(cited);
            }
        }
    }
    all
}

/// A verdict's name in JSON and traces.
fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::Refuted => "refuted",
        Verdict::NotEnoughEvidence => "not_enough_evidence",
    }
}
