//! `answers` from a question to a report: the acceptance tests of RI²VER and what must not happen.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use counterproof_core::{
    CompletionRequest, Entailment, Error, InMemoryRetriever, Nli, Passage, Question, Result, Script,
    ScriptedModel, ScriptedReader,
};
use counterproof_methods::answers::{
    Answers, AnswersCalibration, AnswersConfig, AnswersReport, CalibrationRow, Course, Decider, Evidence,
    RejectReason, Unparsed, VqMode,
};

const QUESTION: &str = "Who played for the team?";

fn passages() -> Vec<Passage> {
    vec![
        Passage::new("p1", "One", "Alpha Ames played for the team."),
        Passage::new("p2", "Two", "The team had Alpha Ames. It also had Beta Bell."),
        Passage::new("p3", "Three", "The team was old."),
    ]
}

fn prompt(request: &CompletionRequest) -> String {
    request.messages.last().unwrap().content.clone()
}

/// Reads as the first acceptance test has it; verdicts are those of `says`, by the candidate that is asked about.
fn model(says: impl Fn(&str, u64) -> String + Send + Sync + 'static) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(move |request: &CompletionRequest| {
        let text = prompt(request);
        let reply = match request.stage.as_str() {
            "read" if text.contains("[1] One") => "Alpha Ames".to_owned(),
            "read" if text.contains("[1] Two") => "- Alpha Ames\n- Beta Bell".to_owned(),
            "read" => "NONE".to_owned(),
            "verification_question" if text.contains("[X]") => "Did [X] play for the team?".to_owned(),
            "verification_question" => {
                let name = ["Alpha Ames", "Beta Bell"].into_iter().find(|n| text.contains(n)).unwrap();
                format!("Did {name} play for the team?")
            }
            _ => {
                let asked = text.lines().find(|l| l.starts_with("Possible answer:")).unwrap_or(&text);
                says(asked, request.sampling.seed.unwrap_or(0))
            }
        };
        Script::Reply(reply)
    }))
}

async fn faithful(model: Arc<ScriptedModel>, config: AnswersConfig) -> AnswersReport {
    let retriever = Arc::new(InMemoryRetriever::new(passages()));
    let passages: Vec<Arc<Passage>> = passages().into_iter().map(Arc::new).collect();
    let answers = Answers::by_model(Some(retriever), model, config);
    answers.answers_in(&Question::new(QUESTION), &passages).await.unwrap()
}

fn found(report: &AnswersReport) -> Vec<(&str, usize)> {
    report.answers.iter().map(|a| (a.answer.as_str(), a.support)).collect()
}

#[tokio::test]
async fn candidates_are_merged_over_passages_and_each_is_verified() {
    let report = faithful(model(|_, _| "Yes".to_owned()), AnswersConfig::default()).await;
    assert_eq!(found(&report), [("Alpha Ames", 2), ("Beta Bell", 1)]);
    // K + 2|A| calls, and a search for each candidate.
    assert_eq!((report.cost.total.model_calls, report.cost.total.searches), (3 + 2 * 2, 2));
    assert_eq!(report.answers[0].verified_by, ["Did Alpha Ames play for the team?"]);
    let cited = &report.answers[0].citations[0];
    assert_eq!(cited.quote, "Alpha Ames played for the team.");
    assert!(report.answers.iter().all(|a| a.decided_by == Decider::Model));
}

#[tokio::test]
async fn what_is_denied_or_cannot_be_read_is_no_answer() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let says = move |asked: &str, _: u64| {
        if asked.contains("Alpha") {
            return "Yes, both passages say so.".to_owned();
        }
        counted.fetch_add(1, Ordering::Relaxed);
        "I would rather not say".to_owned()
    };
    let report = faithful(model(says), AnswersConfig::default()).await;
    assert_eq!(found(&report), [("Alpha Ames", 2)]);
    assert_eq!(report.rejected[0].reason, RejectReason::Unparsed);
    assert_eq!(asked.load(Ordering::Relaxed), 2, "it is asked once more");
    let kept = AnswersConfig { unparsed: Unparsed::Keep, ..AnswersConfig::default() };
    let report = faithful(model(|_, _| "hm".to_owned()), kept).await;
    assert_eq!(report.answers.len(), 2);
    let second = faithful(
        model(|_, seed| if seed == 0 { "hm".to_owned() } else { "Yes".to_owned() }),
        AnswersConfig::default(),
    );
    assert_eq!(second.await.answers.len(), 2, "the second reply counts");
}

#[tokio::test]
async fn without_further_evidence_one_search_is_made() {
    let retriever = Arc::new(InMemoryRetriever::new(passages()));
    let mut config = AnswersConfig::default();
    config.ablate("no_extra_evidence").unwrap();
    let answers = Answers::by_model(Some(retriever), model(|_, _| "No".to_owned()), config);
    let report = answers.answers(&Question::new(QUESTION)).await.unwrap();
    assert_eq!(report.cost.total.searches, 1);
    assert!(report.answers.is_empty() && report.rejected.len() == 2);
    assert_eq!(report.rejected[0].reason, RejectReason::NotEstablished);
}

#[tokio::test]
async fn a_pattern_costs_one_call_for_all_candidates() {
    let config = AnswersConfig { questions: Some(VqMode::Template), ..AnswersConfig::default() };
    let report = faithful(model(|_, _| "Yes".to_owned()), config).await;
    assert_eq!(report.cost.total.model_calls, 3 + 1 + 2);
    assert_eq!(report.answers[1].verified_by, ["Did Beta Bell play for the team?"]);
}

#[tokio::test]
async fn the_order_of_the_passages_does_not_change_the_set() {
    let set = |passages: Vec<Passage>| async move {
        let shared: Vec<Arc<Passage>> = passages.into_iter().map(Arc::new).collect();
        let answers = Answers::by_model(None, model(|_, _| "Yes".to_owned()), AnswersConfig::default());
        let report = answers.answers_in(&Question::new(QUESTION), &shared).await.unwrap();
        report.answers.into_iter().map(|a| a.answer).collect::<BTreeSet<String>>()
    };
    let mut turned = passages();
    turned.reverse();
    assert_eq!(set(passages()).await, set(turned).await);
}

#[tokio::test]
async fn a_verifier_that_is_always_right_leaves_what_reading_missed() {
    // Of two right answers the second stands in no passage: the oracle keeps no wrong one and finds no more than was read.
    let gold = ["Alpha Ames", "Omega Orr"];
    let oracle =
        model(
            move |asked, _| {
                if gold.iter().any(|name| asked.contains(name)) { "Yes".to_owned() } else { "No".to_owned() }
            },
        );
    let report = faithful(oracle, AnswersConfig::default()).await;
    let kept: Vec<&str> = report.answers.iter().map(|a| a.answer.as_str()).collect();
    assert!(!kept.is_empty() && kept.iter().all(|name| gold.contains(name)), "precision 1: {kept:?}");
    let read = |name: &&&str| kept.contains(*name) || report.rejected.iter().any(|r| r.answer == **name);
    assert_eq!(kept.len(), gold.iter().filter(read).count(), "recall is the candidates'");
}

#[tokio::test]
async fn parts_can_be_taken_out() {
    let with = |part: &'static str| async move {
        let mut config = AnswersConfig::default();
        config.ablate(part).unwrap();
        faithful(model(|_, _| "No".to_owned()), config).await
    };
    let all = with("no_verification").await;
    assert_eq!((all.answers.len(), all.cost.total.model_calls), (2, 3));
    let no_vq = with("no_vq").await;
    assert_eq!(no_vq.cost.total.model_calls, 3 + 2, "no question is written");
    let support = AnswersConfig { support_threshold: Some(2), ..AnswersConfig::default() };
    let report = faithful(model(|_, _| "No".to_owned()), support).await;
    assert_eq!(found(&report), [("Alpha Ames", 2)]);
    assert_eq!(report.rejected[0].reason, RejectReason::TooLittleSupport);
}

#[tokio::test]
async fn a_budget_is_kept_and_what_it_leaves_is_told() {
    let config = AnswersConfig { budget_calls: Some(5), ..AnswersConfig::default() };
    let report = faithful(model(|_, _| "Yes".to_owned()), config).await;
    assert_eq!(report.cost.total.model_calls, 5);
    assert_eq!((report.answers.len(), report.rejected[0].reason), (1, RejectReason::OverBudget));
    let config = AnswersConfig { max_candidates: Some(1), ..AnswersConfig::default() };
    let report = faithful(model(|_, _| "Yes".to_owned()), config).await;
    assert_eq!((report.answers.len(), report.rejected[0].reason), (1, RejectReason::OverBudget));
}

#[tokio::test]
async fn one_failure_does_not_stop_the_others() {
    let model = Arc::new(ScriptedModel::new(|request: &CompletionRequest| {
        let text = prompt(request);
        match request.stage.as_str() {
            "read" if text.contains("[1] One") => Script::Fail(Error::failed("the model", "it is down")),
            "read" if text.contains("[1] Two") => Script::Reply("Alpha Ames\nBeta Bell".to_owned()),
            "read" => Script::Reply("none".to_owned()),
            "verdict" if text.contains("Possible answer: Alpha") => {
                Script::Fail(Error::failed("the model", "it is down"))
            }
            _ => Script::Reply("Yes".to_owned()),
        }
    }));
    let report = faithful(model, AnswersConfig::default()).await;
    assert_eq!(found(&report), [("Beta Bell", 1)]);
    assert_eq!(report.rejected[0].reason, RejectReason::Failed);
    let down = Arc::new(ScriptedModel::new(|_: &CompletionRequest| {
        Script::Fail(Error::failed("the model", "it is down"))
    }));
    let shared: Vec<Arc<Passage>> = passages().into_iter().map(Arc::new).collect();
    let answers = Answers::by_model(None, down, AnswersConfig::default());
    assert!(answers.answers_in(&Question::new(QUESTION), &shared).await.is_err());
}

/// Judges statements about Alpha as entailed and others as not.
struct ForAlpha(AtomicUsize);

#[async_trait]
impl Entailment for ForAlpha {
    fn identity(&self) -> &str {
        "for alpha"
    }
    fn knows_language_of(&self, _: &str) -> bool {
        true
    }
    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        self.0.fetch_add(pairs.len(), Ordering::Relaxed);
        let judged = |(_, stated): &(&str, &str)| match stated {
            s if s.contains("Alpha") => Nli::from_weights(0.9, 0.05, 0.05),
            s if s.contains("Beta") => Nli::from_weights(0.5, 0.3, 0.2),
            _ => Nli::from_weights(0.05, 0.05, 0.9),
        };
        Ok(pairs.iter().map(judged).collect())
    }
}

/// Weighs by what the verifier says.
fn calibration() -> AnswersCalibration {
    let row = |i: usize| {
        let of = |entail: f64, right: bool| {
            let evidence = Evidence {
                entail: Some(entail),
                extra_entail: Some(entail),
                support: 1.0,
                ..Evidence::default()
            };
            (evidence, right.then_some(0))
        };
        CalibrationRow {
            candidates: vec![
                of(0.9, !i.is_multiple_of(10)),
                of(0.5, i.is_multiple_of(2)),
                of(0.05, i.is_multiple_of(10)),
            ],
            answers: 1,
        }
    };
    AnswersCalibration::fit(&(0..100).map(row).collect::<Vec<_>>(), "a test").unwrap()
}

fn cascade(config: AnswersConfig) -> (Answers, Arc<ForAlpha>) {
    let reader = ["Alpha Ames", "Beta Bell", "Gamma Gray"]
        .into_iter()
        .fold(ScriptedReader::default(), |reader, name| reader.answering(QUESTION, name));
    let mut all = passages();
    all.push(Passage::new("p4", "Four", "Gamma Gray never played."));
    all.push(Passage::new("p5", "Delta Dean", "This one played for the team."));
    let mut config = config;
    config.ablate.no_titles = true;
    let verifier = Arc::new(ForAlpha(AtomicUsize::new(0)));
    let retriever = Arc::new(InMemoryRetriever::new(all));
    let answers =
        Answers::by_encoders(Some(retriever), Arc::new(reader), verifier.clone(), calibration(), config);
    (answers, verifier)
}

#[tokio::test]
async fn without_a_language_model_reader_and_verifier_decide() {
    let (answers, verifier) = cascade(AnswersConfig { threshold: Some(0.7), ..AnswersConfig::default() });
    let report = answers.answers(&Question::new(QUESTION)).await.unwrap();
    assert_eq!(report.answers[0].answer, "Alpha Ames");
    assert!(report.answers[0].confidence.unwrap().get() > 0.7);
    assert_eq!(report.answers[0].decided_by, Decider::Verifier);
    let rejected: Vec<&str> = report.rejected.iter().map(|r| r.answer.as_str()).collect();
    assert_eq!(rejected, ["Beta Bell", "Gamma Gray"]);
    assert_eq!(report.cost.total.model_calls, 0);
    assert!(verifier.0.load(Ordering::Relaxed) > 3, "further passages are judged too");
}

#[tokio::test]
async fn what_a_page_is_about_may_be_the_answer() {
    let film = Passage::new("p1", "Sanctuary", "It is a manga that Ryoichi Ikegami drew.");
    let other = Passage::new("p2", "Snow", "Snow falls in winter.");
    let (reader, verifier) = (Arc::new(ScriptedReader::default()), Arc::new(ForAlpha(AtomicUsize::new(0))));
    let of = |config: AnswersConfig| {
        let answers = Answers::by_encoders(None, reader.clone(), verifier.clone(), calibration(), config);
        let passages = [Arc::new(film.clone()), Arc::new(other.clone())];
        async move {
            let question = Question::new("Which manga did Ryoichi Ikegami draw?");
            let report = answers.answers_in(&question, &passages).await.unwrap();
            report.answers.len() + report.rejected.len()
        }
    };
    assert_eq!(of(AnswersConfig::default()).await, 1);
    let mut without = AnswersConfig::default();
    without.ablate("no_titles").unwrap();
    assert_eq!(of(without).await, 0);
}

#[tokio::test]
async fn the_model_is_asked_about_what_is_open_and_nothing_else() {
    let config = AnswersConfig { threshold: Some(0.5), unsure: Some((0.3, 0.7)), ..AnswersConfig::default() };
    let (answers, _) = cascade(config);
    let model = model(|asked, _| if asked.contains("Beta") { "No".to_owned() } else { "Yes".to_owned() });
    let report = answers.with_model(model.clone()).answers(&Question::new(QUESTION)).await.unwrap();
    assert_eq!(found(&report), [("Alpha Ames", 2)]);
    assert_eq!(report.cost.total.model_calls, 1, "{:?}", model.requests());
    assert!(prompt(&model.requests()[0]).contains("Possible answer: Beta Bell"));
}

#[tokio::test]
async fn several_are_asked_about_in_one_call_and_a_missing_one_again() {
    let config = AnswersConfig { unsure: Some((0.0, 1.0)), ..AnswersConfig::default() };
    let (answers, _) = cascade(config);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let model = Arc::new(ScriptedModel::new(move |_: &CompletionRequest| {
        Script::Reply(match counted.fetch_add(1, Ordering::Relaxed) {
            0 => "1: yes\n3: yes".to_owned(),
            _ => "No".to_owned(),
        })
    }));
    let report = answers.with_model(model.clone()).answers(&Question::new(QUESTION)).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let again = prompt(&model.requests()[1]);
    assert!(again.contains("[1] ") && !again.contains("[2] Alpha"), "{again}");
    let kept = report.answers.iter().filter(|a| a.decided_by == Decider::Model).count();
    assert_eq!(kept, 2, "{report:?}");
}

#[tokio::test]
async fn a_small_local_model_scores_its_verdicts_and_what_it_leans_to_is_taken_off() {
    let config = AnswersConfig { threshold: Some(0.5), unsure: Some((0.0, 1.0)), ..AnswersConfig::default() };
    let (answers, _) = cascade(config);
    let model = ScriptedModel::new(|_: &CompletionRequest| Script::Reply("hm".to_owned()));
    // It always rather says no, and least so of Beta.
    let model = Arc::new(model.scoring(|request| {
        let text = &request.messages.last().unwrap().content;
        let beta = if text.contains("Possible answer: Beta") { 6.0 } else { 0.0 };
        vec![-9.0 + beta, -1.0]
    }));
    let report = answers.with_model(model).answers(&Question::new(QUESTION)).await.unwrap();
    assert_eq!(found(&report), [("Beta Bell", 1), ("Alpha Ames", 2)]);
    assert_eq!(report.cost.total.model_calls, 1 + 3, "what it leans to, and each candidate");
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let (answers, _) = cascade(AnswersConfig { course: Course::Faithful, ..AnswersConfig::default() });
    let error = answers.answers(&Question::new(QUESTION)).await.unwrap_err();
    assert!(error.to_string().contains("--model"), "{error}");
    let (answers, _) = cascade(AnswersConfig::default());
    assert!(answers.answers(&Question::new("  ")).await.unwrap_err().is_user());
    let nothing = answers.answers_in(&Question::new(QUESTION), &[]).await.unwrap();
    assert!(nothing.answers.is_empty() && nothing.rejected.is_empty());
}

#[tokio::test]
async fn the_report_keeps_its_form() {
    let (answers, _) = cascade(AnswersConfig::default());
    let report = answers.answers(&Question::new(QUESTION)).await.unwrap();
    let json = report.to_json(false);
    assert_eq!(json["schema"], 1);
    assert_eq!(json["answers"][0]["answer"], "Alpha Ames");
    assert!(json["answers"][0]["confidence"].is_number() && json["answers"][0]["support"] == 2);
    assert!(json["answers"][0]["citations"][0]["quote"].is_string());
    assert!(json["rejected"][0]["reason"].is_string() && json.get("trace").is_none());
    let back: AnswersReport = serde_json::from_value(report.to_json(true)).unwrap();
    assert_eq!(back, report);
}
