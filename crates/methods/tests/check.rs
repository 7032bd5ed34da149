//! `check` from a claim to a report: the acceptance tests of R2VC and what must not happen.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{
    CompletionRequest, Entailment, Error, Event, InMemoryRetriever, LexicalEntailment, Nli, Passage, Result,
    RuleOutcome, Script, ScriptedModel, Verdict,
};
use counterproof_methods::check::{
    AbstainReason, Abstention, Check, CheckConfig, CheckReport, Claim, Stance,
};

/// Judges by what a premise contains: the first line that matches says how.
struct Says(Vec<(&'static str, [f64; 3])>);

#[async_trait]
impl Entailment for Says {
    fn identity(&self) -> &str {
        "says"
    }
    fn knows_language_of(&self, text: &str) -> bool {
        text.is_ascii()
    }
    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        Ok(pairs
            .iter()
            .map(|(premise, _)| {
                let said = self.0.iter().find(|(part, _)| premise.contains(part));
                said.map_or(Nli::NEUTRAL, |(_, [e, n, c])| Nli::from_weights(*e, *n, *c))
            })
            .collect())
    }
}

const YES: [f64; 3] = [0.95, 0.04, 0.01];
const NO: [f64; 3] = [0.01, 0.04, 0.95];

fn passages(texts: &[(&str, &str)]) -> Vec<Passage> {
    texts
        .iter()
        .enumerate()
        .map(|(i, (title, text))| Passage::new(format!("p{}", i + 1), *title, *text))
        .collect()
}

fn given(texts: &[(&str, &str)]) -> Vec<Arc<Passage>> {
    passages(texts).into_iter().map(Arc::new).collect()
}

fn config() -> CheckConfig {
    CheckConfig { abstention: Abstention::Never, ..CheckConfig::default() }
}

/// A model whose sample number `n` (by its seed) says `replies[n]`, the last for all further ones.
fn sampler(replies: Vec<String>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(move |request: &CompletionRequest| {
        let at = usize::try_from(request.sampling.seed.unwrap_or(0)).unwrap();
        Script::Reply(replies[at.min(replies.len() - 1)].clone())
    }))
}

fn reply(label: &str, citations: &str) -> String {
    format!(r#"{{"label": "{label}", "citations": [{citations}], "rationale": "x", "confidence": 0.9}}"#)
}

async fn by_model(
    texts: &[(&str, &str)],
    claim: &str,
    replies: Vec<String>,
    verifier: Says,
    config: CheckConfig,
) -> CheckReport {
    let check = Check::new(None, sampler(replies), Arc::new(verifier), config);
    check.check_by(&Claim::new(claim), &given(texts)).await.unwrap()
}

async fn by_verifier(
    texts: &[(&str, &str)],
    claim: &str,
    verifier: Says,
    config: CheckConfig,
) -> CheckReport {
    let check = Check::without_model(None, Arc::new(verifier), config);
    check.check_by(&Claim::new(claim), &given(texts)).await.unwrap()
}

const LAB: &[(&str, &str)] = &[("Laboratory", "The laboratory opened in 1913.")];

#[tokio::test]
async fn who_cites_a_passage_that_contradicts_him_loses() {
    let replies = vec![reply("supported", "1"), reply("refuted", "1")];
    let says = Says(vec![("1913", NO)]);
    let report = by_model(LAB, "The Laboratory opened in 1912.", replies, says, config()).await;
    assert_eq!(report.whole.verdict, Verdict::Refuted);
    assert_eq!(report.whole.citations[0].stance, Stance::Refutes);
    assert_eq!(report.whole.citations[0].citation.quote, "The laboratory opened in 1913.");
}

#[tokio::test]
async fn one_right_voice_beats_fifteen_wrong_ones() {
    let texts = &[("Laboratory", "The laboratory opened in 1913."), ("Laboratory", "The hill is high.")];
    let mut replies = vec![reply("refuted", "2"); 15];
    replies.insert(9, reply("supported", "1"));
    let forced = CheckConfig { adaptive: false, ..config() };
    let says = || Says(vec![("1913", YES)]);
    let claim = "The Laboratory opened in 1913.";
    for config in [forced.clone(), config()] {
        // The passage that nobody cites yet speaks for another verdict, so asking goes on.
        let report = by_model(texts, claim, replies.clone(), says(), config).await;
        assert_eq!(report.whole.verdict, Verdict::Supported);
    }
    let mut majority = forced.clone();
    majority.ablate("no_selection").unwrap();
    assert_eq!(
        by_model(texts, claim, replies.clone(), says(), majority).await.whole.verdict,
        Verdict::Refuted
    );
    let mut first = forced;
    first.ablate("first-sample").unwrap();
    let report = by_model(texts, claim, replies, says(), first).await;
    assert_eq!((report.whole.verdict, report.cost.total.model_calls), (Verdict::Refuted, 1));
}

#[tokio::test]
async fn asking_ends_when_nothing_can_change_the_verdict() {
    let says = || Says(vec![("1913", YES)]);
    let claim = "The Laboratory opened in 1913.";
    let replies = vec![reply("supported", "1")];
    let report = by_model(LAB, claim, replies.clone(), says(), config()).await;
    assert_eq!(report.cost.total.model_calls, 4);
    let all = CheckConfig { adaptive: false, ..config() };
    assert_eq!(by_model(LAB, claim, replies, says(), all).await.cost.total.model_calls, 16);
}

#[tokio::test]
async fn citations_that_are_not_needed_are_dropped() {
    let texts =
        &[("Laboratory", "The laboratory opened in 1913."), ("Laboratory", "The laboratory is white.")];
    let replies = vec![reply("supported", "2, 1")];
    let says = || Says(vec![("1913", YES), ("white", [0.3, 0.6, 0.1])]);
    let claim = "The Laboratory opened in 1913.";
    let report = by_model(texts, claim, replies.clone(), says(), config()).await;
    assert_eq!(report.whole.citations.len(), 1, "{:?}", report.whole.citations);
    assert_eq!(report.whole.citations[0].citation.passage.as_str(), "p1");
    let mut whole = config();
    whole.ablate("no_pruning").unwrap();
    assert_eq!(by_model(texts, claim, replies, says(), whole).await.whole.citations.len(), 2);
}

#[tokio::test]
async fn replies_that_cannot_be_used_leave_the_verifier_alone() {
    let says = Says(vec![("1913", YES)]);
    let report =
        by_model(LAB, "The Laboratory opened in 1913.", vec!["I think so.".to_owned()], says, config()).await;
    assert_eq!(report.whole.verdict, Verdict::Supported);
    let told = |e: &Event| matches!(e, Event::Note { text, .. } if text.contains("verifier's alone"));
    assert!(report.trace.events.iter().any(told));
}

#[tokio::test]
async fn a_model_that_answers_nothing_is_an_error() {
    let down = Arc::new(ScriptedModel::new(|_| Script::Fail(Error::failed("the endpoint", "it is away"))));
    let check = Check::new(None, down, Arc::new(Says(vec![("1913", YES)])), config());
    assert!(check.check_by(&Claim::new("The Laboratory opened in 1913."), &given(LAB)).await.is_err());
}

#[tokio::test]
async fn evidence_about_somebody_else_decides_nothing() {
    let says = || Says(vec![("1859", NO)]);
    let claim = "Marie Curie was born in Warsaw.";
    let born = "Pierre Curie was born in Paris in 1859.";
    let lead = format!("{born} He shared the prize with his wife, Marie Curie.");
    // A page about him; one that tells of her too, as such pages do; and words without a title.
    for texts in [&[("Pierre Curie", born)], &[("Pierre Curie", lead.as_str())], &[("", born)]] {
        let report = by_verifier(texts, claim, says(), config()).await;
        assert_eq!(report.whole.verdict, Verdict::NotEnoughEvidence, "{texts:?}");
        assert!(report.whole.citations.is_empty());
        let report = by_model(texts, claim, vec![reply("refuted", "1")], says(), config()).await;
        assert_eq!(report.whole.verdict, Verdict::NotEnoughEvidence, "{texts:?}");
        let mut unguarded = config();
        unguarded.ablate("no_entity_guard").unwrap();
        assert_eq!(by_verifier(texts, claim, says(), unguarded).await.whole.verdict, Verdict::Refuted);
    }
    let report = by_verifier(&[("Pierre Curie", born)], claim, says(), config()).await;
    let failed = |e: &Event| matches!(e, Event::Rule { rule, outcome: RuleOutcome::Failed, .. } if rule == "same_entity");
    assert!(report.trace.events.iter().any(failed));
    // Words without a name may be about her.
    let nameless = &[("", "She was born in Warsaw in 1859.")];
    assert_eq!(by_verifier(nameless, claim, says(), config()).await.whole.verdict, Verdict::Refuted);
}

#[tokio::test]
async fn three_passages_about_others_do_not_hide_the_fourth() {
    let texts = &[
        ("Pierre Curie", "Pierre Curie was born in 1859."),
        ("Irene Curie", "Irene Curie was born in 1897."),
        ("Eve Curie", "Eve Curie was born in 1904."),
        ("Marie Curie", "Marie Curie was born in Warsaw in 1867."),
    ];
    let mut replies = vec![reply("supported", "4"); 3];
    replies.insert(0, reply("not enough info", ""));
    let report =
        by_model(texts, "Marie Curie was born in Warsaw.", replies, Says(vec![("1867", YES)]), config())
            .await;
    assert_eq!(report.whole.verdict, Verdict::Supported);
}

#[tokio::test]
async fn passages_at_odds_are_a_conflict_and_not_an_average() {
    let texts =
        &[("Laboratory", "The laboratory opened in 1913."), ("Laboratory", "The laboratory opened in 1921.")];
    let check = Check::without_model(
        Some(Arc::new(InMemoryRetriever::new(passages(texts)))),
        Arc::new(Says(vec![("1913", YES), ("1921", NO)])),
        CheckConfig::default(),
    );
    let claim = Claim::new("The Laboratory opened in 1913.");
    let searched = check.check(&claim).await.unwrap().whole;
    let by_given = check.check_by(&claim, &given(texts)).await.unwrap().whole;
    for whole in [searched, by_given] {
        assert!(whole.conflict && whole.abstained, "{whole:?}");
        assert_eq!(
            (whole.verdict, whole.reason),
            (Verdict::NotEnoughEvidence, Some(AbstainReason::Conflict))
        );
        let stances: Vec<Stance> = whole.citations.iter().map(|c| c.stance).collect();
        assert_eq!(stances, [Stance::Supports, Stance::Refutes]);
    }
}

/// Judges by what the statement contains.
struct ByStatement(&'static [(&'static str, [f64; 3])]);

#[async_trait]
impl Entailment for ByStatement {
    fn identity(&self) -> &str {
        "by statement"
    }
    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        let said = |(_, statement): &(&str, &str)| {
            let known = self.0.iter().find(|(part, _)| statement.contains(part));
            known.map_or(Nli::NEUTRAL, |(_, [e, n, c])| Nli::from_weights(*e, *n, *c))
        };
        Ok(pairs.iter().map(said).collect())
    }
}

#[tokio::test]
async fn a_claim_with_two_facts_is_supported_only_by_both() {
    let texts = &[("Marie Curie", "Marie Curie lived in Warsaw and Paris.")];
    let claim = "Marie Curie was born in Warsaw and won two Nobel Prizes.";
    let check = |verifier: ByStatement, config: CheckConfig| async move {
        let check = Check::without_model(None, Arc::new(verifier), config);
        check.check_by(&Claim::new(claim), &given(texts)).await.unwrap()
    };
    let both = check(ByStatement(&[("Warsaw", YES), ("Nobel", YES)]), config()).await;
    assert_eq!((both.whole.verdict, both.parts.len()), (Verdict::Supported, 2));
    assert_eq!(both.parts[1].claim, "Marie Curie won two Nobel Prizes.");
    let refuted = check(ByStatement(&[("Warsaw", YES), ("Nobel", NO)]), config()).await;
    assert_eq!(refuted.whole.verdict, Verdict::Refuted);
    assert_eq!(refuted.parts[0].verdict, Verdict::Supported);
    let half = check(ByStatement(&[("Warsaw", YES)]), config()).await;
    assert_eq!(half.whole.verdict, Verdict::NotEnoughEvidence);
    assert!(half.whole.citations.is_empty(), "nothing is cited for what is not known");
    let undivided = CheckConfig { decompose: false, ..config() };
    assert!(check(ByStatement(&[("Warsaw", YES)]), undivided).await.parts.is_empty());
}

#[tokio::test]
async fn what_no_sentence_says_alone_is_cited_by_those_that_say_it_together() {
    let texts = &[(
        "Kestrel",
        "The Kestrel is a ship. Its builder was Dahl. Dahl was a Dane. The Kestrel is not red.",
    )];
    // Alone each says little, and the last the opposite; the first three together say it.
    let says = Says(vec![
        ("ship. Its builder was Dahl. Dahl was a Dane. The Kestrel is not red.", [0.6, 0.3, 0.1]),
        ("Its builder was Dahl. Dahl was a Dane.", [0.7, 0.2, 0.1]),
        ("not red", [0.1, 0.3, 0.45]),
        ("builder", [0.4, 0.5, 0.1]),
        ("Dane", [0.35, 0.6, 0.05]),
        ("ship", [0.2, 0.7, 0.1]),
    ]);
    let report = by_verifier(texts, "The Kestrel was built by a Dane.", says, config()).await;
    assert_eq!(report.whole.verdict, Verdict::Supported);
    let quotes: Vec<&str> = report.whole.citations.iter().map(|c| c.citation.quote.as_str()).collect();
    assert_eq!(quotes, ["Its builder was Dahl.", "Dahl was a Dane."]);
}

#[tokio::test]
async fn a_model_that_goes_away_in_between_leaves_what_it_said() {
    let model = Arc::new(ScriptedModel::new(|request: &CompletionRequest| match request.sampling.seed {
        Some(0..4) => Script::Reply(reply("refuted", "1")),
        _ => Script::Fail(Error::failed("the endpoint", "it is away")),
    }));
    // Another passage speaks for another label, so that asking goes on.
    let texts =
        &[("Laboratory", "The laboratory opened in 1913."), ("Laboratory", "The laboratory is from 1921.")];
    let says = Says(vec![("1921", YES), ("1913", [0.0, 0.8, 0.2])]);
    let check = Check::new(None, model, Arc::new(says), config());
    let report = check.check_by(&Claim::new("The Laboratory stands by water."), &given(texts)).await.unwrap();
    assert_eq!(report.whole.verdict, Verdict::Refuted);
    assert!(
        report
            .trace
            .events
            .iter()
            .any(|e| matches!(e, Event::Note { text, .. } if text.contains("a round failed")))
    );
}

#[tokio::test]
async fn without_evidence_there_is_none() {
    let check = Check::without_model(
        Some(Arc::new(InMemoryRetriever::new([]))),
        Arc::new(LexicalEntailment),
        config(),
    );
    let report = check.check(&Claim::new("The Laboratory opened in 1913.")).await.unwrap();
    assert_eq!(report.whole.verdict, Verdict::NotEnoughEvidence);
    assert!(report.whole.confidence.get() < 0.9, "there is nothing to be sure of");
    let blank = by_verifier(&[("", " "), ("", "")], "It opened in 1913.", Says(Vec::new()), config()).await;
    assert_eq!(blank.whole.verdict, Verdict::NotEnoughEvidence);
}

#[tokio::test]
async fn a_passage_counts_once_however_often_it_is_given() {
    let twice = &[LAB[0], LAB[0], ("Laboratory", "the  laboratory opened in 1913.")];
    let report =
        by_verifier(twice, "The Laboratory opened in 1913.", Says(vec![("1913", YES)]), config()).await;
    let judged = report.trace.events.iter().find_map(|e| match e {
        Event::Judged { judged, .. } => Some(judged.len()),
        _ => None,
    });
    assert_eq!(judged, Some(1));
}

#[tokio::test]
async fn a_language_that_the_verifier_does_not_know_gets_no_verdict() {
    let texts = &[("实验室", "实验室成立于1913年。")];
    let check = Check::without_model(None, Arc::new(Says(vec![("1913", YES)])), CheckConfig::default());
    let whole = check.check_by(&Claim::new("实验室成立于1913年。"), &given(texts)).await.unwrap().whole;
    assert_eq!((whole.abstained, whole.reason), (true, Some(AbstainReason::UnknownLanguage)));
}

#[tokio::test]
async fn what_is_no_claim_is_refused_in_words() {
    let check = Check::without_model(None, Arc::new(LexicalEntailment), config());
    for (text, says) in [
        ("", "claim"),
        (" \n", "claim"),
        ("When did the laboratory open?", "question"),
        (&"x".repeat(100_000), "max_question_bytes"),
    ] {
        let error = check.check_by(&Claim::new(text), &given(LAB)).await.unwrap_err();
        assert!(error.is_user() && error.to_string().contains(says), "{error}");
    }
    let error = check.check(&Claim::new("It opened.")).await.unwrap_err();
    assert!(error.to_string().contains("nothing to search"), "{error}");
}

#[tokio::test]
async fn withholding_is_no_verdict_of_its_own() {
    let says = || Says(vec![("1913", [0.55, 0.4, 0.05])]);
    let strict = CheckConfig { abstention: Abstention::Threshold(0.9), ..config() };
    let whole = by_verifier(LAB, "The Laboratory opened in 1913.", says(), strict.clone()).await.whole;
    assert_eq!(
        (whole.verdict, whole.abstained, whole.reason),
        (Verdict::Supported, true, Some(AbstainReason::LowConfidence))
    );
    let mut forced = strict;
    forced.ablate("no_abstention").unwrap();
    assert!(!by_verifier(LAB, "The Laboratory opened in 1913.", says(), forced).await.whole.abstained);
    // Nothing was calibrated, so no risk can be promised.
    let promised = CheckConfig { abstention: Abstention::Risk(0.1), ..config() };
    let whole = by_verifier(LAB, "The Laboratory opened in 1913.", says(), promised).await.whole;
    assert_eq!(whole.reason, Some(AbstainReason::NoPromise));
}

#[tokio::test]
async fn every_citation_can_be_verified_and_the_json_keeps_its_form() {
    let report =
        by_verifier(LAB, "The Laboratory opened in 1913.", Says(vec![("1913", YES)]), config()).await;
    let passage = &given(LAB)[0];
    assert_eq!(report.whole.citations[0].citation.verify(passage), Ok(()));
    let json = report.to_json(false);
    for field in
        ["schema", "claim", "verdict", "abstained", "confidence", "conflict", "citations", "parts", "cost"]
    {
        assert!(json.get(field).is_some(), "{field}: {json}");
    }
    assert_eq!(json["verdict"], "supported");
    assert_eq!(json["citations"][0]["stance"], "supports");
    assert_eq!(json["citations"][0]["quote"], "The laboratory opened in 1913.");
    assert!(json.get("trace").is_none() && report.to_json(true).get("trace").is_some());
}

#[tokio::test]
async fn a_page_that_says_the_claim_does_not_contradict_it_in_its_next_sentence() {
    let texts = &[(
        "Valentina Tereshkova",
        "Valentina Tereshkova was the first woman in space. She orbited alone in 1963.",
    )];
    let says = Says(vec![("first woman", [0.8, 0.1, 0.1]), ("1963", [0.05, 0.25, 0.7])]);
    let search = Arc::new(InMemoryRetriever::new(passages(texts)));
    let check = Check::without_model(Some(search), Arc::new(says), config());
    let claim = Claim::new("Valentina Tereshkova was the first woman in space.");
    let whole = check.check(&claim).await.unwrap().whole;
    assert_eq!((whole.verdict, whole.conflict), (Verdict::Supported, false), "{whole:?}");
    assert!(whole.confidence.get() > 0.7, "{whole:?}");
}

/// A verifier that is down.
struct Down;

#[async_trait]
impl Entailment for Down {
    fn identity(&self) -> &str {
        "down"
    }
    fn knows_language_of(&self, _: &str) -> bool {
        true
    }
    async fn judge(&self, _: &[(&str, &str)]) -> Result<Vec<Nli>> {
        Err(Error::failed("the verifier", "it is down"))
    }
}

#[tokio::test]
async fn votes_stand_in_for_a_verifier_that_is_down_and_say_so() {
    let no = reply("refuted", "1");
    let model = sampler(vec![reply("supported", "1"), no.clone(), no.clone(), no]);
    let config = CheckConfig { candidates: 4, ..config() };
    let evidence = given(&[("Bridge", "It is long. The bridge opened in 1932.")]);
    let claim = Claim::new("The bridge opened in 1931.");
    let check = Check::new(None, model, Arc::new(Down), config.clone());
    let part = check.check_by(&claim, &evidence).await.unwrap().whole;
    assert!(part.unverified);
    assert_eq!((part.verdict, part.confidence.get()), (Verdict::Refuted, 0.75));
    assert_eq!(part.citations[0].citation.quote, "The bridge opened in 1932.");
    let promised = CheckConfig { abstention: Abstention::Risk(0.2), ..config };
    let model = sampler(vec![reply("supported", "1")]);
    let report = Check::new(None, model, Arc::new(Down), promised).check_by(&claim, &evidence).await.unwrap();
    assert_eq!(report.whole.reason, Some(AbstainReason::NoPromise));
    let alone = Check::without_model(None, Arc::new(Down), CheckConfig::default());
    assert!(alone.check_by(&claim, &evidence).await.is_err(), "without a model nobody votes");
}

/// A local model that scores: true where the prompt holds `yes`, false where it holds `no`, and untold otherwise; and leans to
/// "true" by much more than that.
fn scorer(yes: &'static str, no: &'static str) -> Arc<ScriptedModel> {
    let model = ScriptedModel::new(|_: &CompletionRequest| Script::Reply("no object".to_owned()));
    Arc::new(model.scoring(move |request| {
        let prompt = &request.messages.iter().find(|m| m.content.contains("Claim:")).unwrap().content;
        let says = |part: &str| f64::from(u8::from(prompt.contains(part)));
        let (yes, no) = (says(yes), says(no));
        vec![-1.0 + 2.0 * yes, -9.0 + 2.0 * no, -9.0 + 0.5]
    }))
}

#[tokio::test]
async fn a_small_local_model_scores_labels_and_the_verifier_chooses() {
    let texts = [("Bridge", "The bridge opened in 1932."), ("Bridge", "The bridge is not old.")];
    let verifier = Arc::new(Says(vec![("1932", YES)]));
    let claim = Claim::new("The bridge opened in 1932.");
    let of = |model: Arc<ScriptedModel>, part: Option<&str>| {
        let mut config = CheckConfig { candidates: 8, ..config() };
        part.iter().for_each(|part| config.ablate(part).unwrap());
        let check = Check::new(None, model, verifier.clone(), config);
        let claim = &claim;
        async move { check.check_by(claim, &given(&texts)).await.unwrap() }
    };
    let report = of(scorer("opened in 1932.\n\n", "not old"), None).await;
    assert_eq!(report.whole.verdict, Verdict::Supported);
    assert_eq!(report.whole.citations[0].citation.quote, "The bridge opened in 1932.");
    assert_eq!(report.cost.total.model_calls, 3, "what it leans to, and each passage once");
    // What it leans to does not count: with nothing to read it gives "true" the most by far.
    let report = of(scorer("nowhere", "Bridge"), Some("no_selection")).await;
    assert_eq!(report.whole.verdict, Verdict::Refuted);
}
