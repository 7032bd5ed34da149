//! What the candidates of a local language model add to `check`: the verifier's choice among them, their majority, a single
//! one, and no language model at all, on the same claims with the same passages.
//!
//! ```text
//! cargo run --release --features gguf -p counterproof --example candidates_report -- --data ../shared/data \
//!     --base MODEL_DIR --index DIR --model FILE.gguf [--side report|validation] [--claims 102] [--rows rows.jsonl]
//!     [--scores scores.jsonl]
//! ```
//!
//! Claims are of FEVER, none of which the verifier was trained on, a third of each label, and searched for over an index of
//! `wiki_passages`. What a model was asked once is not asked again for another arm.

// A script for measuring: what goes wrong ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use counterproof::datasets::claims::Verdict as Gold;
use counterproof::datasets::collection::SplitShares;
use counterproof::datasets::{Collection, Split};
use counterproof::encoders::{BertEmbedder, EncoderOptions};
use counterproof::evaluation::{bootstrap, label_accuracy};
use counterproof::gguf::{GgufModel, GgufOptions};
use counterproof::methods::check::{Abstention, Check, CheckConfig, Claim};
use counterproof::retrieval::index::EmbeddedIndex;
use counterproof::{
    Capabilities, Completion, CompletionRequest, ContinuationScore, Embedder, LanguageModel, Result,
    Retriever, ScoreRequest, Verdict,
};

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.next().and_then(|_| arguments.next())
}

/// A model that remembers what it was asked.
struct Remembering {
    model: GgufModel,
    scores: Mutex<HashMap<String, Vec<ContinuationScore>>>,
}

#[async_trait::async_trait]
impl LanguageModel for Remembering {
    fn identity(&self) -> &str {
        self.model.identity()
    }
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        self.model.complete(request).await
    }
    async fn score(&self, request: &ScoreRequest) -> Result<Vec<ContinuationScore>> {
        let key = serde_json::to_string(&(&request.messages, &request.continuations)).unwrap();
        let known = self.scores.lock().unwrap().get(&key).cloned();
        if let Some(scores) = known {
            return Ok(scores);
        }
        let scores = self.model.score(request).await?;
        if let Some(path) = argument("--scores") {
            let totals: Vec<f64> = scores.iter().map(ContinuationScore::total).collect();
            let mut out = std::fs::File::options().create(true).append(true).open(path).unwrap();
            writeln!(out, "{}", serde_json::json!({"prompt": request.messages, "scores": totals})).unwrap();
        }
        self.scores.lock().unwrap().insert(key, scores.clone());
        Ok(scores)
    }
}

#[tokio::main]
async fn main() {
    let data = Collection::read(argument("--data").expect("--data DIR")).unwrap();
    let base = argument("--base").expect("--base DIR");
    let options = EncoderOptions { name: Some("all-MiniLM-L6-v2".to_owned()), ..EncoderOptions::default() };
    let embedder: Arc<dyn Embedder> = Arc::new(BertEmbedder::open(&base, &options).unwrap());
    let index = EmbeddedIndex::open(argument("--index").expect("--index DIR"), Some(embedder)).unwrap();
    let retriever: Arc<dyn Retriever> = Arc::new(index);
    let verifier: Arc<dyn counterproof::Entailment> = Arc::new(counterproof::own::verifier(&base).unwrap());
    let file = argument("--model").expect("--model FILE");
    let model = GgufModel::open(std::path::Path::new(&file), &GgufOptions::default()).unwrap();
    let model = Arc::new(Remembering { model, scores: Mutex::default() });

    let side = match argument("--side").as_deref() {
        Some("validation") => Split::Validation,
        _ => Split::Report,
    };
    let claims = chosen(&data, side, argument("--claims").map_or(102, |n| n.parse().unwrap()));
    let arms: [(&str, Option<&str>); 4] = [
        ("no language model", None),
        ("one candidate", Some("first_sample")),
        ("majority of 16", Some("no_selection")),
        ("the verifier's choice of 16", Some("")),
    ];
    let mut rows = argument("--rows").map(|path| std::fs::File::create(path).unwrap());
    let mut right: Vec<Vec<(Verdict, Verdict)>> = vec![Vec::new(); arms.len()];
    let start = Instant::now();
    for (n, (text, truth)) in claims.iter().enumerate() {
        for (ix, (name, part)) in arms.iter().enumerate() {
            let mut config = CheckConfig { abstention: Abstention::Never, ..CheckConfig::default() };
            part.filter(|p| !p.is_empty()).into_iter().for_each(|part| config.ablate(part).unwrap());
            let (retriever, verifier) = (Some(Arc::clone(&retriever)), Arc::clone(&verifier));
            let check = match part {
                None => Check::without_model(retriever, verifier, config),
                Some(_) => Check::new(retriever, Arc::clone(&model) as _, verifier, config),
            };
            let (verdict, features) = check.features(&Claim::new(text), None).await.unwrap();
            right[ix].push((verdict, *truth));
            if let Some(rows) = &mut rows {
                let json = serde_json::json!({
                    "claim": text, "truth": truth, "arm": name, "verdict": verdict,
                    "votes": features.vote_share, "probability": features.self_confidence, "score": features.score,
                });
                writeln!(rows, "{json}").unwrap();
            }
        }
        eprint!("\r{} of {} claims, {:.0} s", n + 1, claims.len(), start.elapsed().as_secs_f64());
    }
    let seconds = start.elapsed().as_secs_f64() / claims.len() as f64;
    println!("\n{}, n {}, {seconds:.1} s a claim for all arms", model.identity(), claims.len());
    println!(
        "| candidates | accuracy (95 %) | the verifier's choice less this (paired, 95 %) |\n|---|---|---|"
    );
    let correct =
        |arm: usize| right[arm].iter().map(|(v, t)| f64::from(u8::from(v == t))).collect::<Vec<_>>();
    let choice = correct(arms.len() - 1);
    for (ix, (name, _)) in arms.iter().enumerate() {
        let accuracy = label_accuracy(&right[ix]);
        let within = accuracy.wilson().unwrap();
        let own = correct(ix);
        let difference =
            |rows: &[usize]| rows.iter().map(|i| choice[*i] - own[*i]).sum::<f64>() / rows.len() as f64;
        let paired = bootstrap(claims.len(), 2000, 1, |rows| Some(difference(rows)));
        let all: Vec<usize> = (0..claims.len()).collect();
        let paired = paired.map_or_else(String::new, |i| format!(" ({:+.3} to {:+.3})", i.low, i.high));
        println!(
            "| {name} | {:.3} ({:.3}-{:.3}) | {:+.3}{paired} |",
            accuracy.value.unwrap(),
            within.low,
            within.high,
            difference(&all)
        );
    }
}

/// Claims that the verifier was not trained on, as many of each label, in an order that has nothing to do with them.
fn chosen(data: &Collection, side: Split, n: usize) -> Vec<(String, Verdict)> {
    let splits = data.splits(&SplitShares::default());
    let kept = |claim: &str| {
        splits.of(claim) == side && (side == Split::Validation || splits.is_kept_by("fever", claim))
    };
    let mut by_label: Vec<Vec<(String, Verdict)>> = vec![Vec::new(); 3];
    for row in data.fever.iter().filter(|row| kept(&row.claim)) {
        let (at, verdict) = match row.verdict {
            Gold::Supported => (0, Verdict::Supported),
            Gold::Refuted => (1, Verdict::Refuted),
            Gold::NotEnough => (2, Verdict::NotEnoughEvidence),
        };
        by_label[at].push((row.claim.clone(), verdict));
    }
    for rows in &mut by_label {
        rows.sort_by_key(|(claim, _)| counterproof::sha256_hex(claim));
        rows.truncate(n / 3);
    }
    (0..n / 3)
        .flat_map(|i| by_label.iter().filter_map(|rows| rows.get(i).cloned()).collect::<Vec<_>>())
        .collect()
}
