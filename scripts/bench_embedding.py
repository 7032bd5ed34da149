"""Speed of embedding: sentences per CPU-second, the encoder of this project against ONNX Runtime.

    pip install numpy onnxruntime tokenizers
    cargo build --release -p counterproof-encoders --examples
    python scripts/bench_embedding.py MODEL_DIR [--passages passages.jsonl.gz] [--repeats 5]

Both run the same weights (the ONNX file is written by the `export_onnx` example) over the same texts, in turn, and
the best of several runs counts for each, so that what else the machine does weighs on both alike. ONNX Runtime gets
its batches as sentence-transformers makes them: sorted by length, 32 texts each, padded to the longest. It is given
them tokenized; the time of this project's encoder includes tokenizing.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

WINDOW = 256
BATCH = 32


def full_batch(tokenizer, tokens):
    """A batch of texts that all have the same number of tokens: no padding anywhere."""
    words = sorted(w for w in tokenizer.get_vocab() if w.isascii() and w.isalpha() and len(w) > 2)
    draw = random.Random(0)
    return [" ".join(draw.choice(words) for _ in range(tokens - 2)) for _ in range(BATCH)]


def passages(path, count):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [f"{row['title']}. {row['text']}" for row in random.Random(0).sample(rows, count)]


def batches(tokenizer, texts):
    encoded = sorted((tokenizer.encode(text).ids for text in texts), key=len)
    for start in range(0, len(encoded), BATCH):
        part = encoded[start : start + BATCH]
        length = max(map(len, part))
        ids = np.zeros((len(part), length), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(part):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        yield {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


class OnnxRuntime:
    def __init__(self, path, threads, feeds):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Idle threads that spin would be counted as work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feeds = feeds

    def run(self):
        wall, cpu = time.perf_counter(), time.process_time()
        for feed in self.feeds:
            (states,) = self.session.run(None, feed)
            mask = feed["attention_mask"][..., None].astype(np.float32)
            vectors = (states * mask).sum(1) / mask.sum(1)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return time.perf_counter() - wall, time.process_time() - cpu


class Ours:
    def __init__(self, binary, model, texts, threads):
        command = [binary, model, texts, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.load = json.loads(self.process.stdout.readline())

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        result = json.loads(self.process.stdout.readline())
        return result["wall_s"], result["cpu_s"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("model")
    arguments.add_argument("--passages")
    arguments.add_argument("--count", type=int, default=128, help="how many passages")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--bin", default="target/release/examples", help="where the examples were built")
    options = arguments.parse_args()

    tokenizer = Tokenizer.from_file(os.path.join(options.model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(WINDOW)
    sets = {"32 x 128 tokens": full_batch(tokenizer, 128)}
    if options.passages:
        sets[f"{options.count} passages"] = passages(options.passages, options.count)

    with tempfile.TemporaryDirectory() as folder:
        export = [os.path.join(options.bin, "export_onnx"), options.model, folder]
        onnx = subprocess.run(export, check=True, capture_output=True, text=True).stdout.strip()
        print(f"{'texts':>16} {'threads':>7}  {'ours/CPU-s':>10} {'ORT/CPU-s':>10} {'ratio':>6}  "
              f"{'ours/s':>7} {'ORT/s':>7} {'ratio':>6}")
        for name, texts in sets.items():
            file = os.path.join(folder, "texts.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump(texts, out)
            feeds = list(batches(tokenizer, texts))
            for threads in (1, 2):
                ours = Ours(os.path.join(options.bin, "embed_bench"), options.model, file, threads)
                theirs = OnnxRuntime(onnx, threads, feeds)
                runs = [(ours.run(), theirs.run()) for _ in range(options.repeats)]
                ours.close()
                n = len(texts)
                wall, cpu = (n / min(run[0][i] for run in runs) for i in (0, 1))
                their_wall, their_cpu = (n / min(run[1][i] for run in runs) for i in (0, 1))
                print(f"{name:>16} {threads:>7}  {cpu:10.1f} {their_cpu:10.1f} {cpu / their_cpu:6.2f}  "
                      f"{wall:7.1f} {their_wall:7.1f} {wall / their_wall:6.2f}")


if __name__ == "__main__":
    main()
