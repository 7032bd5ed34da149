"""Sentence embeddings of a BERT encoder in plain numpy, in double precision: an independent check of the runtime.

    pip install numpy tokenizers safetensors
    python scripts/reference_embedding.py MODEL_DIR [TEXTS.json]

Prints one line a text: its number of tokens and the first eight numbers of its unit vector. Without TEXTS.json (a
list of strings) it prints the constants of crates/encoders/tests/minilm.rs.
"""

import json
import math
import sys

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

TEXTS = [
    "The observatory opened in 1889.",
    "When did the observatory open?",
    "",
    "   \n\t ",
    "天文台于1889年开放。",
    "Ночь, улица, фонарь, аптека.",
    "🚀🌒 launch at 5:30!",
    "Naïve café déjà-vu — “quoted” ﬁgures: ½, №5, ２０２４",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "a\u0000b\ufeffc\r\nd",
    "x" * 300,
    "the quick brown fox jumps over the lazy dog " * 60,
]


def erf(x):
    return np.vectorize(math.erf)(x)


def layer_norm(x, w, name, eps):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def encode(w, config, ids):
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    n = len(ids)
    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:n]
    x = layer_norm(x + w[e + "token_type_embeddings.weight"][0], w, e + "LayerNorm", eps)
    size = x.shape[1] // heads
    for i in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{i}."
        q, k, v = (
            linear(x, w, p + "attention.self." + name).reshape(n, heads, size).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(size)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        context = (scores @ v).transpose(1, 0, 2).reshape(n, -1)
        x = layer_norm(x + linear(context, w, p + "attention.output.dense"), w, p + "attention.output.LayerNorm", eps)
        inner = linear(x, w, p + "intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = layer_norm(x + linear(inner, w, p + "output.dense"), w, p + "output.LayerNorm", eps)
    vector = x.mean(0)
    return vector / np.linalg.norm(vector)


def main():
    folder = sys.argv[1]
    texts = json.load(open(sys.argv[2], encoding="utf-8")) if len(sys.argv) > 2 else TEXTS
    config = json.load(open(f"{folder}/config.json"))
    weights = {k.removeprefix("bert."): v.astype(np.float64) for k, v in load_file(f"{folder}/model.safetensors").items()
               if v.dtype.kind == "f"}
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    for text in texts:
        ids = tokenizer.encode(text).ids
        vector = encode(weights, config, ids)
        print(len(ids), "[" + ", ".join(f"{x:.7f}" for x in vector[:8]) + "]", json.dumps(text[:40]))


if __name__ == "__main__":
    main()
