"""What `handful predict` says of rows, beside what `handful label` says of them with the rows in the pool.

    cargo build --release
    python benches/new_rows.py SET.npz [SET.npz …] [--draws 5] [--labels 5] [--program target/release/handful]

Each SET.npz holds `features` [rows, dim] and `labels` [rows]. A draw is at most 8,000 rows of a set. Same: the share of the
pool's own rows whose label `predict` repeats. New: a tenth of the rows is kept out of the pool and predicted by its model;
beside it, the same rows labelled in the pool.
"""

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())


def said(path):
    with open(path) as file:
        return np.array([int(line["label"]) for line in csv.DictReader(file)])


def one_draw(program, features, classes, labels, chance):
    rows = chance.permutation(len(classes))[:8000]
    features, truth = features[rows], classes[rows]
    new = len(rows) // 10
    given = np.concatenate([chance.permutation(np.flatnonzero(truth[new:] == k))[:labels] for k in np.unique(truth)])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        parts = {"pool": features[new:], "new": features[:new], "all": np.concatenate([features[new:], features[:new]])}
        for name, part in parts.items():
            np.save(folder / f"{name}.npy", part)
        list_of_labels = folder / "labels.csv"
        list_of_labels.write_text("id,label\n" + "".join(f"{row},{truth[new + row]}\n" for row in given))
        model = folder / "model.safetensors"
        answers = {}
        for name, save in (("pool", ["--save", model]), ("all", [])):
            output = folder / f"{name}.csv"
            run(program, "label", folder / f"{name}.npy", "--labels", list_of_labels, "-o", output, *save)
            answers[name] = said(output)
        for name in ("pool", "new"):
            output = folder / f"{name}-predicted.csv"
            run(program, "predict", model, folder / f"{name}.npy", "-o", output)
            answers[f"{name} predicted"] = said(output)
    return {
        "same": 100 * (answers["pool predicted"] == answers["pool"]).mean(),
        "new": 100 * (answers["new predicted"] == truth[:new]).mean(),
        "in the pool": 100 * (answers["all"][len(truth) - new :] == truth[:new]).mean(),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    print(f"{'set':32} {'same':>7} {'new':>7} {'in pool':>8} {'difference':>16}")
    for path in args.sets:
        arrays = np.load(path)
        features, classes = arrays["features"].astype(np.float32), arrays["labels"].astype(int)
        chance = np.random.default_rng(3)
        draws = [one_draw(args.program, features, classes, args.labels, chance) for _ in range(args.draws)]
        mean = {key: np.mean([draw[key] for draw in draws]) for key in draws[0]}
        differences = np.array([draw["new"] - draw["in the pool"] for draw in draws])
        error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else float("nan")
        print(
            f"{path.stem:32} {mean['same']:7.2f} {mean['new']:7.2f} {mean['in the pool']:8.2f} "
            f"{differences.mean():+9.2f} ± {error:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
