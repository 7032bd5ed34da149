//! A DeBERTa-v3 classifier against the definition, computed plainly in double precision.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_wrap)]

mod support;

use counterproof_encoders::{BertVerifier, EncoderOptions};
use support::{Shape, Tensors, WORDS, random, write};

const SHAPE: Shape = Shape { layers: 2, hidden: 24, heads: 3, inner: 40, positions: 64 };
const BUCKETS: usize = 8;

fn tensors() -> Tensors {
    let Shape { layers, hidden, inner, .. } = SHAPE;
    let mut list = vec![
        ("deberta.embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), hidden]),
        ("deberta.encoder.rel_embeddings.weight".to_owned(), vec![2 * BUCKETS, hidden]),
        ("pooler.dense.weight".to_owned(), vec![hidden, hidden]),
        ("pooler.dense.bias".to_owned(), vec![hidden]),
        ("classifier.weight".to_owned(), vec![3, hidden]),
        ("classifier.bias".to_owned(), vec![3]),
    ];
    let mut norms = vec!["deberta.embeddings.LayerNorm".to_owned(), "deberta.encoder.LayerNorm".to_owned()];
    for i in 0..layers {
        let part = |name: &str| format!("deberta.encoder.layer.{i}.{name}");
        for (name, out, input) in [
            ("attention.self.query_proj", hidden, hidden),
            ("attention.self.key_proj", hidden, hidden),
            ("attention.self.value_proj", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", inner, hidden),
            ("output.dense", hidden, inner),
        ] {
            list.push((part(&format!("{name}.weight")), vec![out, input]));
            list.push((part(&format!("{name}.bias")), vec![out]));
        }
        norms.extend([part("attention.output.LayerNorm"), part("output.LayerNorm")]);
    }
    for norm in norms {
        list.push((format!("{norm}.weight"), vec![hidden]));
        list.push((format!("{norm}.bias"), vec![hidden]));
    }
    let mut state = 0x2545_f491_4f6c_dd1d;
    list.into_iter()
        .map(|(name, dims)| {
            let data = random(dims.iter().product(), &mut state);
            (name, (dims, data.into_iter().map(|x| 2.0 * x).collect()))
        })
        .collect()
}

fn model(dir: &std::path::Path, tensors: &Tensors, change: impl FnOnce(&mut serde_json::Value)) {
    write(dir, SHAPE, tensors, "gelu");
    let path = dir.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let more = serde_json::json!({
        "model_type": "deberta-v2", "type_vocab_size": 0, "layer_norm_eps": 1e-7, "relative_attention": true,
        "position_buckets": BUCKETS, "max_relative_positions": -1, "pos_att_type": ["p2c", "c2p"],
        "share_att_key": true, "norm_rel_ebd": "layer_norm", "position_biased_input": false,
        "id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"},
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    change(&mut config);
    std::fs::write(&path, config.to_string()).unwrap();
}

type Rows = Vec<Vec<f64>>;

/// The definition, step by step, as He et al. and the published code have it.
struct Plain<'a>(&'a Tensors);

impl Plain<'_> {
    fn get(&self, name: &str) -> Vec<f64> {
        self.0[name].1.iter().map(|x| f64::from(*x)).collect()
    }

    fn linear(&self, name: &str, x: &Rows) -> Rows {
        let (weight, bias) = (self.get(&format!("{name}.weight")), self.get(&format!("{name}.bias")));
        let row = |x: &Vec<f64>| {
            let outputs = weight.chunks(x.len()).zip(&bias);
            outputs.map(|(w, b)| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect()
        };
        x.iter().map(row).collect()
    }

    fn norm(&self, name: &str, x: &Rows) -> Rows {
        let (weight, bias) = (self.get(&format!("{name}.weight")), self.get(&format!("{name}.bias")));
        let row = |x: &Vec<f64>| {
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let scaled = x.iter().map(|x| (x - mean) / (variance + 1e-7).sqrt());
            scaled.zip(&weight).zip(&bias).map(|((x, w), b)| x * w + b).collect()
        };
        x.iter().map(row).collect()
    }

    fn logits(&self, ids: &[usize]) -> Vec<f64> {
        let words = self.get("deberta.embeddings.word_embeddings.weight");
        let table = self.get("deberta.encoder.rel_embeddings.weight");
        let rows = |x: &[f64]| -> Rows { x.chunks(SHAPE.hidden).map(<[f64]>::to_vec).collect() };
        let words = rows(&words);
        let mut x: Rows = ids.iter().map(|id| words[*id].clone()).collect();
        x = self.norm("deberta.embeddings.LayerNorm", &x);
        let table = self.norm("deberta.encoder.LayerNorm", &rows(&table));
        for i in 0..SHAPE.layers {
            let part = |name: &str| format!("deberta.encoder.layer.{i}.{name}");
            let attended = self.attend(&part("attention.self"), &x, &table);
            x = self.norm(
                &part("attention.output.LayerNorm"),
                &sum(&self.linear(&part("attention.output.dense"), &attended), &x),
            );
            let mut inner = self.linear(&part("intermediate.dense"), &x);
            inner.iter_mut().flatten().for_each(|x| *x = gelu(*x));
            x = self.norm(&part("output.LayerNorm"), &sum(&self.linear(&part("output.dense"), &inner), &x));
        }
        let mut pooled = self.linear("pooler.dense", &vec![x[0].clone()]);
        pooled.iter_mut().flatten().for_each(|x| *x = gelu(*x));
        self.linear("classifier", &pooled).remove(0)
    }

    fn attend(&self, name: &str, x: &Rows, table: &Rows) -> Rows {
        let (length, size) = (x.len(), SHAPE.hidden / SHAPE.heads);
        let [q, k, v] =
            ["query_proj", "key_proj", "value_proj"].map(|p| self.linear(&format!("{name}.{p}"), x));
        let [pq, pk] = ["query_proj", "key_proj"].map(|p| self.linear(&format!("{name}.{p}"), table));
        let scale = (3.0 * size as f64).sqrt();
        let mut out = vec![vec![0.0; SHAPE.hidden]; length];
        for head in 0..SHAPE.heads {
            let own = head * size..(head + 1) * size;
            let dot = |a: &[f64], b: &[f64]| -> f64 {
                a[own.clone()].iter().zip(&b[own.clone()]).map(|(a, b)| a * b).sum()
            };
            // relative_pos[i][j] = bucket(i - j)
            let relative = |i: usize, j: usize| bucket(i as i64 - j as i64);
            let clamp = |at: i64| at.clamp(0, 2 * BUCKETS as i64 - 1) as usize;
            for i in 0..length {
                let scores: Vec<f64> = (0..length)
                    .map(|j| {
                        let content = dot(&q[i], &k[j]);
                        let c2p = dot(&q[i], &pk[clamp(relative(i, j) + BUCKETS as i64)]);
                        // The score of key j against positions, gathered at -relative_pos[j][i] and transposed.
                        let p2c = dot(&k[j], &pq[clamp(-relative(j, i) + BUCKETS as i64)]);
                        (content + c2p + p2c) / scale
                    })
                    .collect();
                let most = scores.iter().copied().fold(f64::MIN, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
                let all: f64 = weights.iter().sum();
                for (j, weight) in weights.iter().enumerate() {
                    for at in own.clone() {
                        out[i][at] += weight / all * v[j][at];
                    }
                }
            }
        }
        out
    }
}

/// `make_log_bucket_position` with `max_position_embeddings` as the farthest.
fn bucket(relative: i64) -> i64 {
    let middle = BUCKETS as i64 / 2;
    let far = if relative < middle && relative > -middle { middle - 1 } else { relative.abs() };
    if far <= middle {
        return relative;
    }
    let by = (far as f64 / middle as f64).ln() / ((SHAPE.positions as f64 - 1.0) / middle as f64).ln();
    ((by * (middle as f64 - 1.0)).ceil() as i64 + middle) * relative.signum()
}

fn sum(a: &Rows, b: &Rows) -> Rows {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// `x * Phi(x)`, the distribution function by its series (Abramowitz and Stegun 7.1.6).
fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    if z.abs() > 5.0 {
        return if z > 0.0 { x } else { 0.0 };
    }
    let (mut term, mut series) = (z, z);
    for n in 1..200 {
        term *= 2.0 * z * z / (2.0 * f64::from(n) + 1.0);
        series += term;
    }
    let erf = 2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * series;
    0.5 * x * (1.0 + erf)
}

#[test]
fn the_logits_are_those_of_the_definition() {
    let dir = tempfile::tempdir().unwrap();
    let tensors = tensors();
    model(dir.path(), &tensors, |_| {});
    let verifier = BertVerifier::open_classifier(dir.path(), &EncoderOptions::default()).unwrap();
    let long = "the observatory opened in 1889 , when did the observatory opened late ? ".repeat(3);
    for (premise, hypothesis) in
        [("the observatory opened", "late"), (long.as_str(), "when did the observatory opened")]
    {
        let id = |word: &str| WORDS.iter().position(|w| *w == word).unwrap_or(1);
        let ids = |text: &str| text.split_whitespace().map(id).collect::<Vec<usize>>();
        let all = [vec![2], ids(premise), vec![3], ids(hypothesis), vec![3]].concat();
        let due = Plain(&tensors).logits(&all);
        let logits = verifier.logits(&[(premise, hypothesis)]).unwrap()[0];
        for (x, due) in logits.iter().zip([due[1], due[2], due[0]]) {
            assert!((f64::from(*x) - due).abs() < 2e-4, "{logits:?} {due}");
        }
    }
}

#[test]
fn what_is_not_built_is_named() {
    for (key, value, part) in [
        ("conv_kernel_size", serde_json::json!(3), "convolution"),
        ("pos_att_type", serde_json::json!("c2p"), "one of the two scores"),
        ("position_biased_input", serde_json::json!(true), "absolute positions"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        model(dir.path(), &tensors(), |config| config[key] = value);
        let error = BertVerifier::open_classifier(dir.path(), &EncoderOptions::default()).err().unwrap();
        assert!(error.is_user() && error.to_string().contains(part), "{error}");
    }
}
