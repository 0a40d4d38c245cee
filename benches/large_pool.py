"""A made-up pool of any size for `handful label`: features, a few labels, and a check of the answer.

    python benches/large_pool.py make FOLDER --rows 1000000 --dim 640 --classes 100 --per-class 5 [--half]
    /usr/bin/time -v handful label FOLDER/pool.npy --labels FOLDER/labels.csv -o FOLDER/labelled.csv
    python benches/large_pool.py check FOLDER

Features are those of `handful_data::synthetic`, in numpy: not negative, classes that vary in a shared subspace much
more than elsewhere, and overlap. Class sizes are unequal (each is one to four times the smallest).
"""

import argparse
import csv
from pathlib import Path

import numpy as np


def make(folder, rows, dim, classes, per_class, seed, element):
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(seed)
    shared = chance.standard_normal((24, dim), dtype=np.float32)
    centres = 0.8 * chance.standard_normal((classes, dim), dtype=np.float32)
    shares = chance.uniform(1, 4, classes)
    truth = chance.choice(classes, rows, p=shares / shares.sum()).astype(np.int16)
    pool = np.lib.format.open_memmap(folder / "pool.npy", mode="w+", dtype=element, shape=(rows, dim))
    for start in range(0, rows, 20_000):
        part = truth[start:start + 20_000]
        noise = 1.5 * chance.standard_normal((len(part), dim), dtype=np.float32)
        along = chance.standard_normal((len(part), 24), dtype=np.float32) @ shared
        pool[start:start + len(part)] = np.maximum(0.2 + centres[part] + 0.2 * along + noise, 0)
    pool.flush()
    np.save(folder / "truth.npy", truth)
    with open(folder / "labels.csv", "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "label"])
        for name in range(classes):
            for row in np.flatnonzero(truth == name)[:per_class]:
                writer.writerow([row, f"class {name}"])


def check(folder):
    truth = np.load(folder / "truth.npy")
    right = total = 0
    with open(folder / "labelled.csv", newline="") as lines:
        for line in csv.DictReader(lines):
            if line["source"] == "inferred":
                total += 1
                right += line["label"] == f"class {truth[int(line['id'])]}"
    print(f"{total} labels, {100 * right / max(total, 1):.2f} % right")


parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["make", "check"])
parser.add_argument("folder", type=Path)
parser.add_argument("--rows", type=int, default=1_000_000)
parser.add_argument("--dim", type=int, default=640)
parser.add_argument("--classes", type=int, default=100)
parser.add_argument("--per-class", type=int, default=5)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--half", action="store_true", help="write 16-bit floats")
args = parser.parse_args()
if args.what == "make":
    element = np.float16 if args.half else np.float32
    make(args.folder, args.rows, args.dim, args.classes, args.per_class, args.seed, element)
else:
    check(args.folder)
