//! Published models, where they are at hand: tokens and probabilities against those of llama.cpp (build 11549), an
//! independent implementation. It rounds activations to eight bits, which moves its log-probabilities by some
//! hundredths, more for a small model in four bits.

use std::path::{Path, PathBuf};

use counterproof_core::{CompletionRequest, Continuation, LanguageModel, Message, Sampling, ScoreRequest};

use crate::file::GgufFile;
use crate::tokenizer::Vocabulary;
use crate::{GgufModel, GgufOptions};

const SMOLLM2: &[&str] = &["SmolLM2-135M-Instruct.Q4_1.gguf"];
const QWEN_CODER: &[&str] = &["qwen25-coder-0.5b.gguf"];
/// All of these have the same tokenizer.
const QWEN: &[&str] = &["qwen25-coder-0.5b.gguf", "qwen2.5-0.5b-instruct-q4_k_m.gguf"];

/// A file of one of these names in the model store.
fn find(names: &[&str]) -> Option<PathBuf> {
    fn search(folder: &Path, names: &[&str], depth: usize) -> Option<PathBuf> {
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if names.iter().any(|n| path.file_name().is_some_and(|f| f == *n)) {
                return Some(path);
            }
        }
        folders.iter().filter(|_| depth > 0).find_map(|f| search(f, names, depth - 1))
    }
    let home = std::env::var_os("COUNTERPROOF_HOME").map(PathBuf::from).or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        Some(cache?.join("counterproof"))
    });
    let found = home.and_then(|home| search(&home, names, 4));
    if found.is_none() {
        eprintln!("skipped: needs {} in the model store (COUNTERPROOF_HOME)", names.join(" or "));
    }
    found
}

const TEXTS: [&str; 7] = [
    "Hello world 1234 don't\n\n  x é 中文 🎉",
    "  leading spaces\tand\ttabs \r\n windows",
    "The Eiffel Tower was built in 1887-1889; it's 330 m (1,083 ft) tall.",
    "def f(x):\n    return x**2  # comment\n",
    "你好，世界！二〇一九年三月五日",
    "I'LL we'Re THEY'VE naïve café ﬁ Å",
    "<|im_end|> plain",
];

fn check_tokens(names: &[&str], want: [&[u32]; 7]) {
    let Some(path) = find(names) else { return };
    let vocabulary = Vocabulary::load(&GgufFile::open(&path).unwrap()).unwrap();
    for (text, want) in TEXTS.iter().zip(want) {
        assert_eq!(vocabulary.encode_text(text).unwrap(), want, "{text:?}");
        let back: Vec<u8> = want.iter().flat_map(|t| vocabulary.bytes(*t).to_vec()).collect();
        assert_eq!(String::from_utf8(back).unwrap(), *text);
    }
}

#[test]
fn smollm2_cuts_text_as_llama_cpp_does() {
    check_tokens(
        SMOLLM2,
        [
            &[
                19556, 905, 216, 33, 34, 35, 36, 1326, 982, 8866, 1792, 26411, 216, 28589, 29184, 15107, 232,
                227,
            ],
            &[216, 2899, 5600, 197, 397, 197, 100, 7366, 216, 2738, 8393],
            &[
                504, 414, 46682, 18669, 436, 2837, 281, 216, 33, 40, 40, 39, 29, 33, 40, 40, 41, 43, 357,
                506, 216, 35, 35, 32, 283, 365, 33, 28, 32, 40, 35, 11083, 25, 6780, 30,
            ],
            &[1604, 275, 24, 104, 727, 472, 1003, 1792, 828, 34, 216, 907, 5189, 198],
            &[
                18645, 250, 48392, 138, 12831, 7906, 240, 178, 239, 230, 8083, 219, 16736, 230, 12109, 225,
                22924, 27948, 247, 32090, 129, 7906, 227, 14483, 226, 16736, 238, 23274, 115,
            ],
            &[57, 23, 16421, 392, 23, 3733, 6462, 73, 23, 18525, 15486, 46494, 37366, 40367, 5549, 223],
            &[44, 108, 306, 79, 486, 108, 46, 9079],
        ],
    );
}

#[test]
fn qwen2_cuts_text_as_llama_cpp_does() {
    check_tokens(
        QWEN,
        [
            &[9707, 1879, 220, 16, 17, 18, 19, 1513, 944, 271, 220, 856, 3958, 72858, 16744, 11162, 236, 231],
            &[220, 6388, 12621, 52477, 3244, 3435, 2529, 11030],
            &[
                785, 468, 3092, 301, 21938, 572, 5798, 304, 220, 16, 23, 23, 22, 12, 16, 23, 23, 24, 26, 432,
                594, 220, 18, 18, 15, 296, 320, 16, 11, 15, 23, 18, 10482, 8, 16217, 13,
            ],
            &[750, 282, 2075, 982, 262, 470, 856, 334, 17, 220, 671, 3980, 198],
            &[108386, 3837, 99489, 6313, 40820, 1277, 229, 14777, 113297, 44991, 9754, 75108, 8903],
            &[40, 6, 4086, 582, 49427, 62493, 6, 4491, 94880, 586, 51950, 32495, 70731, 79252],
            &[27, 91, 318, 6213, 91, 29, 14396],
        ],
    );
}

const FRANCE: &str = "What is the capital of France?";
const TOWER: &str = "Passage: The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in Paris, France. It is \
     named after the engineer Gustave Eiffel, whose company designed and built the tower from 1887 to 1889.\n\n\
     Question: When was the Eiffel Tower finished? Answer with the year only.";

async fn check_probabilities(model: &GgufModel, question: &str, want: &[(&str, f64)], tolerance: f64) {
    let request = ScoreRequest {
        messages: vec![Message::user(question)],
        continuations: want.iter().map(|(text, _)| Continuation((*text).to_owned())).collect(),
        ..ScoreRequest::default()
    };
    let scores = model.score(&request).await.unwrap();
    for (score, (text, want)) in scores.iter().zip(want) {
        assert!(
            (score.total() - want).abs() < tolerance,
            "{question:?} {text:?}: {} not {want}",
            score.total()
        );
    }
}

#[tokio::test]
async fn smollm2_gives_llama_cpps_probabilities() {
    let Some(path) = find(SMOLLM2) else { return };
    let model = GgufModel::open(path, &GgufOptions::default()).unwrap();
    let france = [("L", -1.853), ("The", -2.010), ("La", -2.406), ("Al", -2.764), ("Le", -2.979)];
    check_probabilities(&model, FRANCE, &france, SMOLLM2_TOLERANCE).await;
    let tower = [("The", -0.441), ("1", -3.112), ("It", -4.012), ("When", -4.077)];
    check_probabilities(&model, TOWER, &tower, SMOLLM2_TOLERANCE).await;
}

/// Its Q4_1 weights and 30 narrow layers make much of rounded activations.
const SMOLLM2_TOLERANCE: f64 = 0.3;

#[tokio::test]
async fn qwen_gives_llama_cpps_probabilities_and_answers_from_the_passage() {
    let Some(path) = find(QWEN_CODER) else { return };
    let model = GgufModel::open(path, &GgufOptions::default()).unwrap();
    let france = [("The", -0.062), ("France", -3.967), ("As", -4.043), ("Paris", -4.964)];
    check_probabilities(&model, FRANCE, &france, 0.15).await;
    let tower = [("1", -0.101), ("2", -2.542), ("The", -4.444)];
    check_probabilities(&model, TOWER, &tower, 0.15).await;
    let request = CompletionRequest {
        messages: vec![Message::user(TOWER)],
        sampling: Sampling::greedy(8),
        ..CompletionRequest::default()
    };
    assert_eq!(model.complete(&request).await.unwrap().text, "1889");
}
