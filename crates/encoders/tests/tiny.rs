//! A tiny random encoder, made here, against a forward pass written as plainly as can be: checks the kernels, the
//! packing and the ONNX writer without any downloaded weights.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use counterproof_core::Embedder;
use counterproof_encoders::{BertEmbedder, EncoderOptions, Head, export_onnx};

use support::{SMALL, Shape, Tensors, WORDS, tensors, write};

/// The embedding of a text that is given as words of the list, in double precision, one number after another.
fn reference(tensors: &Tensors, shape: Shape, words: &[&str], activation: fn(f64) -> f64) -> Vec<f64> {
    let get = |name: &str| -> Vec<f64> { tensors[name].1.iter().map(|x| f64::from(*x)).collect() };
    let linear = |x: &[Vec<f64>], name: &str| -> Vec<Vec<f64>> {
        let (w, b) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        let inputs = w.len() / b.len();
        x.iter()
            .map(|x| {
                (0..b.len())
                    .map(|o| b[o] + (0..inputs).map(|i| w[o * inputs + i] * x[i]).sum::<f64>())
                    .collect()
            })
            .collect()
    };
    let norm = |x: Vec<Vec<f64>>, name: &str| -> Vec<Vec<f64>> {
        let (w, b) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        x.into_iter()
            .map(|x| {
                let n = x.len() as f64;
                let mean = x.iter().sum::<f64>() / n;
                let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
                x.iter()
                    .enumerate()
                    .map(|(i, v)| (v - mean) / (variance + 1e-12).sqrt() * w[i] + b[i])
                    .collect()
            })
            .collect()
    };
    let add = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<Vec<f64>> {
        a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
    };
    let ids: Vec<usize> = std::iter::once(2)
        .chain(words.iter().map(|word| WORDS.iter().position(|w| w == word).unwrap_or(1)))
        .chain(std::iter::once(3))
        .collect();
    let h = shape.hidden;
    let (word, position, segment) = (
        get("embeddings.word_embeddings.weight"),
        get("embeddings.position_embeddings.weight"),
        get("embeddings.token_type_embeddings.weight"),
    );
    let sum = |(p, id): (usize, &usize)| {
        (0..h).map(|j| word[id * h + j] + position[p * h + j] + segment[j]).collect()
    };
    let mut x = norm(ids.iter().enumerate().map(sum).collect(), "embeddings.LayerNorm");
    let size = h / shape.heads;
    for i in 0..shape.layers {
        let part = |name: &str| format!("encoder.layer.{i}.{name}");
        let [q, k, v] =
            ["query", "key", "value"].map(|name| linear(&x, &part(&format!("attention.self.{name}"))));
        let mut context = vec![vec![0.0; h]; x.len()];
        for head in 0..shape.heads {
            for row in 0..x.len() {
                let score = |other: usize| {
                    let dot: f64 =
                        (0..size).map(|j| q[row][head * size + j] * k[other][head * size + j]).sum();
                    (dot / (size as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = (0..x.len()).map(score).collect();
                let total: f64 = scores.iter().sum();
                for (other, score) in scores.iter().enumerate() {
                    for j in head * size..(head + 1) * size {
                        context[row][j] += score / total * v[other][j];
                    }
                }
            }
        }
        let attended = add(&x, &linear(&context, &part("attention.output.dense")));
        x = norm(attended, &part("attention.output.LayerNorm"));
        let mut inner = linear(&x, &part("intermediate.dense"));
        inner.iter_mut().flatten().for_each(|v| *v = activation(*v));
        x = norm(add(&x, &linear(&inner, &part("output.dense"))), &part("output.LayerNorm"));
    }
    let mean: Vec<f64> = (0..h).map(|j| x.iter().map(|row| row[j]).sum::<f64>()).collect();
    let length = mean.iter().map(|v| v * v).sum::<f64>().sqrt();
    mean.iter().map(|v| v / length).collect()
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
}

/// The error function by its Taylor series, which converges everywhere.
fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    0.5 * x * (1.0 + 2.0 / std::f64::consts::PI.sqrt() * sum)
}

fn texts() -> Vec<String> {
    let mut texts = vec![
        String::new(),
        "the observatory opened in 1889".to_owned(),
        "when did the observatory opened late".to_owned(),
        "unknown 天 🚀".to_owned(),
    ];
    // Lengths around the sizes of tiles and of blocks of queries.
    for length in [1, 4, 5, 10, 46, 47, 70] {
        texts.push((0..length).map(|i| WORDS[4 + (i * 5 + length) % 8]).collect::<Vec<_>>().join(" "));
    }
    texts
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').filter(|word| !word.is_empty()).collect()
}

fn close(vector: &[f32], expected: &[f64], what: &str) {
    assert_eq!(vector.len(), expected.len());
    for (x, y) in vector.iter().zip(expected) {
        assert!((f64::from(*x) - y).abs() < 2e-5, "{what}: {vector:?} instead of {expected:?}");
    }
}

fn options() -> EncoderOptions {
    EncoderOptions { name: Some("tiny".to_owned()), threads: Some(2), ..EncoderOptions::default() }
}

#[tokio::test]
async fn vectors_equal_a_plain_forward_pass() {
    type Function = fn(f64) -> f64;
    let activations: [(&str, Function); 3] =
        [("gelu", gelu), ("gelu_new", gelu_tanh), ("relu", |x| x.max(0.0))];
    for (name, activation) in activations {
        let dir = tempfile::tempdir().unwrap();
        let weights = tensors(SMALL, "");
        write(dir.path(), SMALL, &weights, name);
        let embedder = BertEmbedder::open(dir.path(), &options()).unwrap();
        assert_eq!(embedder.dimension(), SMALL.hidden);
        let texts = texts();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder.embed(&texts).await.unwrap();
        for (text, vector) in texts.iter().zip(&vectors) {
            close(vector, &reference(&weights, SMALL, &words(text), activation), text);
        }
    }
}

#[tokio::test]
async fn a_vector_does_not_depend_on_the_texts_beside_it_nor_on_the_threads() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), SMALL, &tensors(SMALL, ""), "gelu");
    let texts: Vec<String> = texts().into_iter().cycle().take(100).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let one = BertEmbedder::open(dir.path(), &EncoderOptions { threads: Some(1), ..options() }).unwrap();
    let two = BertEmbedder::open(dir.path(), &options()).unwrap();
    assert_eq!(one.identity(), two.identity());
    let together = two.embed(&texts).await.unwrap();
    assert_eq!(together, one.embed(&texts).await.unwrap());
    assert_eq!(together, two.embed_blocking(&texts).unwrap());
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(vector, &two.embed(&[text]).await.unwrap()[0], "{text}");
    }
    assert!(two.embed(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_onnx_file_gives_the_same_vectors() {
    for activation in ["gelu", "gelu_new", "relu"] {
        let (native, graph) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(native.path(), SMALL, &tensors(SMALL, ""), activation);
        let written = export_onnx(native.path(), Head::HiddenStates, graph.path()).unwrap();
        assert_eq!(written, export_onnx(native.path(), Head::HiddenStates, graph.path()).unwrap());
        std::fs::rename(&written, graph.path().join("model.onnx")).unwrap();
        std::fs::copy(native.path().join("tokenizer.json"), graph.path().join("tokenizer.json")).unwrap();

        let native = BertEmbedder::open(native.path(), &options()).unwrap();
        let graph = BertEmbedder::open(graph.path(), &options()).unwrap();
        assert_ne!(native.identity(), graph.identity());
        assert_eq!(graph.dimension(), SMALL.hidden);
        let texts = texts();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (a, b) = (native.embed(&texts).await.unwrap(), graph.embed(&texts).await.unwrap());
        for ((text, a), b) in texts.iter().zip(&a).zip(&b) {
            let b: Vec<f64> = b.iter().map(|x| f64::from(*x)).collect();
            close(a, &b, text);
        }
    }
}

#[tokio::test]
async fn an_encoder_saved_with_a_head_or_in_the_first_naming_is_the_same() {
    let (plain, renamed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(plain.path(), SMALL, &tensors(SMALL, ""), "gelu");
    let older: Tensors = tensors(SMALL, "bert.")
        .into_iter()
        .map(|(name, tensor)| {
            (
                name.replace("LayerNorm.weight", "LayerNorm.gamma")
                    .replace("LayerNorm.bias", "LayerNorm.beta"),
                tensor,
            )
        })
        .collect();
    write(renamed.path(), SMALL, &older, "gelu");
    let plain = BertEmbedder::open(plain.path(), &options()).unwrap();
    let renamed = BertEmbedder::open(renamed.path(), &options()).unwrap();
    let text = ["the observatory opened"];
    assert_eq!(plain.embed(&text).await.unwrap(), renamed.embed(&text).await.unwrap());
}

#[tokio::test]
async fn the_identity_changes_with_whatever_changes_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let mut weights = tensors(SMALL, "");
    write(dir.path(), SMALL, &weights, "gelu");
    let first = BertEmbedder::open(dir.path(), &options()).unwrap();
    assert!(first.identity().starts_with("tiny@"), "{}", first.identity());
    let narrow =
        BertEmbedder::open(dir.path(), &EncoderOptions { max_tokens: Some(8), ..options() }).unwrap();
    assert_ne!(first.identity(), narrow.identity());
    let long = ["the observatory opened in 1889 late when did the observatory"];
    assert_ne!(first.embed(&long).await.unwrap(), narrow.embed(&long).await.unwrap());

    let other = tempfile::tempdir().unwrap();
    weights.get_mut("embeddings.LayerNorm.bias").unwrap().1[0] += 1.0;
    write(other.path(), SMALL, &weights, "gelu");
    let other = BertEmbedder::open(other.path(), &options()).unwrap();
    assert_ne!(first.identity(), other.identity());
}

#[tokio::test]
async fn a_dropped_future_leaves_the_embedder_usable() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), SMALL, &tensors(SMALL, ""), "gelu");
    let embedder = BertEmbedder::open(dir.path(), &options()).unwrap();
    let many = vec!["the observatory opened in 1889"; 5_000];
    tokio::select! {
        biased;
        _ = embedder.embed(&many) => {}
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(embedder.embed(&many[..3]).await.unwrap().len(), 3);
}

#[test]
fn damaged_and_missing_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let open = || BertEmbedder::open(dir.path(), &options()).err().unwrap();
    assert_eq!(open().code(), "not_found");

    let mut weights = tensors(SMALL, "");
    weights.remove("encoder.layer.1.output.dense.bias");
    write(dir.path(), SMALL, &weights, "gelu");
    let error = open();
    assert_eq!(error.code(), "damaged");
    assert!(error.to_string().contains("encoder.layer.1.output.dense.bias"), "{error}");

    write(dir.path(), Shape { hidden: 40, ..SMALL }, &tensors(SMALL, ""), "gelu");
    let error = open();
    assert_eq!(error.code(), "damaged");
    assert!(error.to_string().contains("config.json makes it"), "{error}");

    write(dir.path(), SMALL, &tensors(SMALL, ""), "gelu");
    let whole = std::fs::read(dir.path().join("model.safetensors")).unwrap();
    std::fs::write(dir.path().join("model.safetensors"), &whole[..whole.len() / 2]).unwrap();
    let error = open();
    assert_eq!(error.code(), "damaged");
    assert!(error.to_string().contains("model.safetensors"), "{error}");

    std::fs::write(dir.path().join("model.safetensors"), &whole).unwrap();
    std::fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    let error = open();
    assert_eq!(error.code(), "not_found");
    assert!(error.to_string().contains("tokenizer.json"), "{error}");

    // The graph of something else.
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    write(dir.path(), SMALL, &tensors(SMALL, ""), "gelu");
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    std::fs::write(dir.path().join("model.onnx"), b"<html>not found</html>").unwrap();
    assert_eq!(open().code(), "damaged");
}
