"""What `handful choose` and the review file are worth: rows they pick beside rows picked by chance.

    cargo build --release
    python benches/choose_and_review.py SET.npz [SET.npz …] [--draws 10] [--program target/release/handful]

Each SET.npz holds `features` [rows, dim] and `labels` [rows]. A draw is four fifths of a set's rows (at most 8,000).
Choosing: 1, 3 and 5 rows per class on average, picked by `choose` or by chance, and the pool labelled from them; a class
that was not met is wrong everywhere. Reviewing: three labels of each class, then 20 more rows from the top of the review
file or by chance, and labelled again; accuracy on the rows that neither asked about.
"""

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ADDED = 20


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())


class Pool:
    def __init__(self, program, folder, features, truth):
        self.program, self.folder, self.truth = program, Path(folder), truth
        self.path = self.folder / "pool.npy"
        np.save(self.path, features)

    def labels(self, rows):
        path = self.folder / "labels.csv"
        path.write_text("id,label\n" + "".join(f"{row},{self.truth[row]}\n" for row in rows))
        return path

    def label(self, rows, review=None):
        """The label of every row."""
        more = ["--review", review] if review else []
        run(self.program, "label", self.path, "--labels", self.labels(rows), "-o", self.folder / "out.csv", *more)
        with open(self.folder / "out.csv") as file:
            said = {int(line["id"]): int(line["label"]) for line in csv.DictReader(file)}
        return np.array([said[row] for row in range(len(self.truth))])

    def accuracy(self, said, without):
        counted = np.ones(len(self.truth), bool)
        counted[without] = False
        return 100 * (said == self.truth)[counted].mean()

    def choose(self, count):
        run(self.program, "choose", self.path, "-n", count, "-o", self.folder / "choose.csv")
        with open(self.folder / "choose.csv") as file:
            rows = [int(line["id"]) for line in csv.DictReader(file)]
        (self.folder / "choose.csv").unlink()
        return rows


def one_draw(program, features, classes, chance):
    rows = chance.permutation(len(classes))[: min(8000, len(classes) * 4 // 5)]
    truth = classes[rows]
    ways = len(np.unique(truth))
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(program, folder, features[rows], truth)
        for each in (1, 3, 5):
            budget = each * ways
            for name, picked in (("chosen", pool.choose(budget)), ("random", chance.permutation(len(rows))[:budget])):
                met = len(np.unique(truth[picked]))
                accuracy = pool.accuracy(pool.label(picked), picked) if met > 1 else 0.0
                out[f"{each} {name}"], out[f"{each} {name} classes"] = accuracy, met
        given = np.concatenate([chance.permutation(np.flatnonzero(truth == k))[:3] for k in np.unique(truth)])
        review = Path(folder) / "review.csv"
        before = pool.label(given, review)
        with open(review) as file:
            asked = [int(line["id"]) for line in csv.DictReader(file)][:ADDED]
        others = np.setdiff1d(np.arange(len(truth)), given)
        by_chance = chance.permutation(others)[:ADDED]
        without = np.concatenate([given, asked, by_chance]).astype(int)
        out["before"] = pool.accuracy(before, without)
        for name, added in (("review", asked), ("by chance", by_chance)):
            out[name] = pool.accuracy(pool.label(np.concatenate([given, added]).astype(int)), without)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    gains = {}
    for path in args.sets:
        table = np.load(path)
        features, classes = table["features"].astype(np.float32), table["labels"].astype(int)
        chance = np.random.default_rng(1)
        draws = [one_draw(args.program, features, classes, chance) for _ in range(args.draws)]
        mean = {key: np.mean([draw[key] for draw in draws]) for key in draws[0]}
        print(Path(path).stem)
        for each in (1, 3, 5):
            gain = mean[f"{each} chosen"] - mean[f"{each} random"]
            gains.setdefault(f"choose {each}", []).append(gain)
            met, by_chance = mean[f"{each} chosen classes"], mean[f"{each} random classes"]
            print(
                f"  {each} per class: chosen {mean[f'{each} chosen']:.1f} ({met:.1f} classes), "
                f"random {mean[f'{each} random']:.1f} ({by_chance:.1f} classes), {gain:+.1f}"
            )
        differences = np.array([draw["review"] - draw["by chance"] for draw in draws])
        error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
        gains.setdefault("review", []).append(differences.mean())
        print(
            f"  review: before {mean['before']:.1f}, 20 from the queue {mean['review']:.1f}, "
            f"20 by chance {mean['by chance']:.1f}, {differences.mean():+.2f} +- {error:.2f}",
            flush=True,
        )
    print("mean gain: " + ", ".join(f"{key} {np.mean(values):+.2f}" for key, values in gains.items()))


if __name__ == "__main__":
    main()
