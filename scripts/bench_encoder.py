"""Speed of the encoder: texts embedded and pairs judged per CPU-second, against ONNX Runtime.

    pip install numpy onnx onnxruntime tokenizers
    cargo build --release -p counterproof-encoders --examples
    python scripts/bench_encoder.py MODEL_DIR [--passages passages.jsonl.gz] [--repeats 5]
    python scripts/bench_encoder.py MODEL_DIR --pairs adapters/verifier/pairs.jsonl --adapter ADAPTER
    python scripts/bench_encoder.py MODEL_DIR --passages passages.jsonl.gz --count 100 --question "..." --adapter READER

Both run weights of the same shape (the ONNX file is written by the `export_onnx` example) over the same texts, in turn, and
the best of several runs counts for each, so that what else the machine does weighs on both alike. ONNX Runtime gets
its batches as sentence-transformers makes them: sorted by length, 32 texts each, padded to the longest. It is given
them tokenized, and for pairs computes the encoder without a head; the time of this project's encoder includes tokenizing
and, for pairs, the head and the rules. Pairs are also run through ONNX Runtime with
weights in 8 bit (dynamic quantization).
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


def pairs(path, count):
    """Evidence and statement of each line, again and again until there are `count`."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pair = lambda row: [row.get("evidence", row.get("premise")), row.get("statement", row.get("hypothesis"))]
    if len(rows) > count:
        rows = random.Random(0).sample(rows, count)
    # Equal pairs are judged once: each repetition is made another text.
    return [[f"{i}. {evidence}", statement] for i in range(-(-count // len(rows))) for evidence, statement in map(pair, rows)]


def batches(tokenizer, texts):
    encode = lambda text: tokenizer.encode(text) if isinstance(text, str) else tokenizer.encode(*text)
    encoded = sorted(map(encode, texts), key=lambda e: len(e.ids))
    for start in range(0, len(encoded), BATCH):
        part = encoded[start : start + BATCH]
        length = max(len(e.ids) for e in part)
        ids = np.zeros((len(part), length), np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, e in enumerate(part):
            ids[row, : len(e.ids)] = e.ids
            types[row, : len(e.ids)] = e.type_ids
            mask[row, : len(e.ids)] = 1
        yield {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


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
    def __init__(self, binary, model, texts, threads, adapter=None):
        command = [binary, model, texts, str(threads)] + (adapter or [])
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
    arguments.add_argument("--pairs", help="JSON lines with evidence and statement, or premise and hypothesis")
    arguments.add_argument("--question", help="what the passages are read for")
    arguments.add_argument("--adapter", help="the verifier that judges the pairs, or the reader that reads the passages")
    arguments.add_argument("--count", type=int, default=128, help="how many passages or pairs")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--bin", default="target/release/examples", help="where the examples were built")
    options = arguments.parse_args()

    tokenizer = Tokenizer.from_file(os.path.join(options.model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(WINDOW)
    if options.pairs:
        sets = {f"{options.count} pairs": pairs(options.pairs, options.count)}
    else:
        sets = {"32 x 128 tokens": full_batch(tokenizer, 128)}
    if options.question:
        read = passages(options.passages, options.count)
        sets = {f"{options.count} passages read": [[options.question, text] for text in read]}
    elif options.passages:
        sets[f"{options.count} passages"] = passages(options.passages, options.count)

    adapter = [options.adapter] if options.adapter else []
    if options.question:
        adapter.append("reader")
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
                ours = Ours(os.path.join(options.bin, "encoder_bench"), options.model, file, threads, adapter)
                theirs = OnnxRuntime(onnx, threads, feeds)
                small = OnnxRuntime(int8(onnx, folder), threads, feeds) if options.pairs else None
                runs = [(ours.run(), theirs.run(), small.run() if small else (1, 1)) for _ in range(options.repeats)]
                ours.close()
                n = len(texts)
                (wall, cpu), (their_wall, their_cpu), (_, small_cpu) = (
                    [n / min(run[who][i] for run in runs) for i in (0, 1)] for who in (0, 1, 2)
                )
                print(f"{name:>16} {threads:>7}  {cpu:10.1f} {their_cpu:10.1f} {cpu / their_cpu:6.2f}  "
                      f"{wall:7.1f} {their_wall:7.1f} {wall / their_wall:6.2f}"
                      + (f"   ORT int8 {small_cpu:7.1f}/CPU-s, ratio {cpu / small_cpu:5.2f}" if small else ""))


def int8(onnx, folder):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = os.path.join(folder, "int8.onnx")
    if not os.path.exists(path):
        quantize_dynamic(onnx, path, weight_type=QuantType.QInt8)
    return path


if __name__ == "__main__":
    main()
