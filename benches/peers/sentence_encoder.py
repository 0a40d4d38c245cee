"""Features of sentences through `handful embed`, against onnxruntime and tokenizers with the pooling of
sentence-transformers (mean over the tokens of a text, then length 1) on the same files.

    pip install numpy onnxruntime tokenizers
    cargo build --release
    handful weights get minilm
    python benches/peers/sentence_encoder.py FOLDER [--texts 200]

FOLDER holds model.onnx and tokenizer.json (`handful weights list` says where). The sentences are put together from parts
by counting, from two words to several hundred, with other scripts, signs and empty texts among them.
"""

import argparse
import csv
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MAX_TOKENS = 256
WHO = "The bank|My card|A customer|Nobody|The new phone|Ein Hund|La cuenta|Наш врач|この店|An unbelievably overcomplicated machine".split("|")
WHAT = "was closed|doesn't work any more|asked for a refund of $12.50|lief über die Straße|has never been better!|está bloqueada".split("|")
WHEN = "on Monday|since the last update (v2.0.1)|😀|before we arrived, although nobody had told us|yesterday|".split("|")


def sentence(number):
    parts = [WHO[number % len(WHO)], WHAT[number % len(WHAT)], WHEN[number * 7 % len(WHEN)]]
    repeated = [1, 1, 1, 3, 1, 12, 1, 60][number % 8]
    return " ".join(" ".join(parts) + f" {number + at}" for at in range(repeated)).strip() if number else ""


def reference(folder, texts):
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    names = {put.name for put in session.get_inputs()}
    rows = []
    for start in range(0, len(texts), 32):
        encodings = tokenizer.encode_batch(texts[start : start + 32])
        longest = max(len(encoding.ids) for encoding in encodings)
        ids = np.array([encoding.ids + [0] * (longest - len(encoding.ids)) for encoding in encodings])
        mask = np.array([[1] * len(encoding.ids) + [0] * (longest - len(encoding.ids)) for encoding in encodings])
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, {name: value for name, value in inputs.items() if name in names})[0]
        pooled = (hidden * mask[..., None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1)
        rows.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
    return np.concatenate(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=200)
    asked = parser.parse_args()
    texts = [sentence(number) for number in range(asked.texts)]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with open(folder / "texts.csv", "w", newline="") as file:
            csv.writer(file).writerows([["id", "text"], *enumerate(texts)])
        handful = os.environ.get("HANDFUL", "target/release/handful")
        command = [handful, "embed", folder / "texts.csv", "-o", folder / "ours.npz", "--column", "text"]
        command += ["--weights", asked.folder / "model.onnx", "--tokenizer", asked.folder / "tokenizer.json"]
        began = time.time()
        subprocess.run([*command, "--cache", folder / "cache"], check=True)
        ours_took = time.time() - began
        ours = np.load(folder / "ours.npz")["features"].astype(np.float64)
    began = time.time()
    theirs = reference(asked.folder, texts).astype(np.float64)
    theirs_took = time.time() - began
    cosine = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    print(f"{asked.texts} texts: cosine {cosine.mean():.7f} on average, {cosine.min():.7f} at least")
    print(f"seconds, reading the network included: handful {ours_took:.1f}, onnxruntime {theirs_took:.1f}")


if __name__ == "__main__":
    main()
