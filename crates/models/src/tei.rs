//! A verifier on a text-embeddings-inference server: any sequence classifier that it serves, by its `/predict` route.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use counterproof_core::{Entailment, Nli, Result, UserError, nli_order};
use counterproof_text::sentences::sentences;
use serde_json::{Value, json};

use crate::http::Endpoint;
use crate::secrets::{Secret, redact};

/// Pairs of one request: what a server takes at once unless it was told otherwise (`--max-client-batch-size`).
const BATCH: usize = 32;

/// Evidence of one pair, in bytes. The server's tokenizer is not known here; this is about 250 tokens of English.
const WINDOW: usize = 1200;

/// How to reach a server.
#[derive(Debug, Clone)]
pub struct TeiConfig {
    /// Its address, as `http://localhost:8080`.
    pub base_url: String,
    /// The key, where it asks for one.
    pub key: Option<Secret>,
    /// How long one request may take.
    pub timeout: Duration,
}

impl TeiConfig {
    /// The server at `base_url`, with the key in `TEI_API_KEY` if that is set.
    pub fn at(base_url: &str) -> Self {
        let key = Secret::from_env("TEI_API_KEY");
        Self { base_url: base_url.to_owned(), key, timeout: Duration::from_secs(60) }
    }
}

/// An [`Entailment`] that a text-embeddings-inference server computes.
///
/// The model has to have three outputs named entailment, neutral and contradiction, in any order and case. Long evidence is
/// sent in windows of whole sentences and joined as far as a window settles the matter: the greatest probabilities of
/// entailment and contradiction, the least of neutral. Equal pairs are sent once.
#[derive(Debug)]
pub struct TeiVerifier {
    identity: String,
    url: String,
    endpoint: Endpoint,
}

impl TeiVerifier {
    /// A verifier. Nothing is sent yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: TeiConfig) -> Result<Self> {
        let base = crate::spec::check_url(&config.base_url)?;
        let identity = format!("tei:{}", redact(&base, config.key.as_ref()));
        let endpoint = Endpoint::new(
            &identity,
            config.key,
            ("authorization", "Bearer "),
            "TEI_API_KEY",
            config.timeout,
        )?;
        Ok(Self { identity, url: format!("{base}/predict"), endpoint })
    }

    /// The judgement of each pair, all of them short.
    async fn predict(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        let inputs: Vec<[&str; 2]> =
            pairs.iter().map(|(premise, hypothesis)| [*premise, *hypothesis]).collect();
        // Should a pair be too long all the same, the server cuts its longer text, which is the evidence.
        let body = json!({"inputs": inputs, "raw_scores": false, "truncate": true});
        let reply = self.endpoint.post(&self.url, &body).await.map_err(|failure| failure.error)?;
        let rows = reply.as_array().filter(|rows| rows.len() == pairs.len()).ok_or_else(|| {
            self.endpoint.bad_reply(&format!("not one list of predictions for each of {} pairs", pairs.len()))
        })?;
        rows.iter().map(|row| self.read(row)).collect()
    }

    fn read(&self, row: &Value) -> Result<Nli> {
        let predictions = row.as_array().map(Vec::as_slice).unwrap_or_default();
        let labels: Option<Vec<&str>> = predictions.iter().map(|p| p.get("label")?.as_str()).collect();
        let scores: Option<Vec<f64>> = predictions.iter().map(|p| p.get("score")?.as_f64()).collect();
        let (labels, scores) = labels.zip(scores).ok_or_else(|| {
            self.endpoint
                .bad_reply("a prediction without label and score; is the model a sequence classifier?")
        })?;
        let order = nli_order(&labels).ok_or_else(|| UserError::Unsupported {
            who: self.identity.clone(),
            what: format!("judge entailment: the outputs of its model are called {labels:?}, not entailment, neutral and contradiction"),
        })?;
        let [entail, neutral, contradict] = order.map(|i| scores.get(i).copied().unwrap_or_default());
        Ok(Nli::from_weights(entail, neutral, contradict))
    }
}

#[async_trait]
impl Entailment for TeiVerifier {
    fn identity(&self) -> &str {
        &self.identity
    }

    async fn judge(&self, pairs: &[(&str, &str)]) -> Result<Vec<Nli>> {
        if pairs.iter().any(|(_, hypothesis)| hypothesis.trim().is_empty()) {
            return Err(UserError::Empty { what: "statement" }.into());
        }
        let mut distinct: Vec<(&str, &str)> = Vec::new();
        let mut places: HashMap<(&str, &str), usize> = HashMap::new();
        let mut windows: Vec<Vec<usize>> = Vec::with_capacity(pairs.len());
        for (premise, hypothesis) in pairs {
            let own = windows_of(premise).into_iter().map(|window| {
                *places.entry((window, hypothesis)).or_insert_with(|| {
                    distinct.push((window, hypothesis));
                    distinct.len() - 1
                })
            });
            windows.push(own.collect());
        }
        let mut judged: Vec<Nli> = Vec::with_capacity(distinct.len());
        for batch in distinct.chunks(BATCH) {
            judged.extend(self.predict(batch).await?);
        }
        let join = |own: Vec<usize>| {
            let all: Vec<Nli> = own.into_iter().filter_map(|i| judged.get(i).copied()).collect();
            Nli::over_windows(&all)
        };
        Ok(windows.into_iter().map(join).collect())
    }
}

/// Parts of the evidence, each of whole sentences as far as these fit; none of blank evidence.
fn windows_of(premise: &str) -> Vec<&str> {
    let trimmed = premise.trim();
    if trimmed.len() <= WINDOW {
        return if trimmed.is_empty() { Vec::new() } else { vec![trimmed] };
    }
    let mut windows: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    let mut cut = |from: usize, to: usize| {
        let mut rest = trimmed.get(from..to).unwrap_or_default();
        while !rest.trim().is_empty() {
            let mut at = rest.len().min(WINDOW);
            while !rest.is_char_boundary(at) {
                at -= 1;
            }
            let (part, after) = rest.split_at(at);
            windows.push(part.trim());
            rest = after;
        }
    };
    for sentence in sentences(trimmed) {
        if sentence.end() - start > WINDOW && end > start {
            cut(start, end);
            start = end;
        }
        end = sentence.end();
    }
    cut(start, trimmed.len());
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_all_of_the_evidence_in_whole_sentences() {
        assert!(windows_of("  ").is_empty());
        assert_eq!(windows_of(" It opened. "), ["It opened."]);
        let text = "The observatory on the hill was opened in 1889. ".repeat(80);
        let windows = windows_of(&text);
        assert!(windows.len() > 2);
        assert!(windows.iter().all(|w| w.len() <= WINDOW && w.starts_with("The") && w.ends_with("1889.")));
        assert_eq!(windows.iter().map(|w| w.matches("1889").count()).sum::<usize>(), 80);
        let one = "é".repeat(3000);
        assert_eq!(windows_of(&one).concat(), one);
    }
}
