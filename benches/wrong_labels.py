"""What labels that are wrong do to `handful label`, and how many of them it lists under "check these".

    cargo build --release
    python benches/wrong_labels.py SET.npz [SET.npz …] [--draws 10] [--labels 10] [--share 0.05] [--program target/release/handful]

Each SET.npz holds `features` [rows, dim] and `labels` [rows]. Of the given labels (`--labels` of each class) a share is
replaced by another class, both drawn by chance. Accuracy is that of the rows without a label, from right labels and from
partly wrong ones.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def label(program, pool, rows, labels, folder):
    """The label of every row, and the rows whose given label is listed as doubtful."""
    given = folder / "given.csv"
    given.write_text("id,label\n" + "".join(f"{row},{label}\n" for row, label in zip(rows, labels)))
    command = [program, "label", pool, "--labels", given, "-o", folder / "out.csv", "--format", "json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    with open(folder / "out.csv") as file:
        said = {int(line["id"]): int(line["label"]) for line in csv.DictReader(file)}
    doubtful = {int(label["id"]) for label in json.loads(done.stdout)["doubtful_labels"]}
    return np.array([said[row] for row in range(len(said))]), doubtful


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    for path in args.sets:
        table = np.load(path)
        truth = np.unique(table["labels"], return_inverse=True)[1]
        ways, chance = truth.max() + 1, np.random.default_rng(1)
        found = wrong = listed = 0
        right, wronged = [], []
        with tempfile.TemporaryDirectory() as folder:
            pool = Path(folder) / "pool.npy"
            np.save(pool, table["features"].astype(np.float32))
            for _ in range(args.draws):
                of_class = [chance.permutation(np.flatnonzero(truth == k))[: args.labels] for k in range(ways)]
                rows = np.concatenate(of_class)
                others = np.setdiff1d(np.arange(len(truth)), rows)
                labels = truth[rows].copy()
                moved = chance.permutation(len(rows))[: max(1, round(args.share * len(rows)))]
                labels[moved] = (labels[moved] + chance.integers(1, ways, len(moved))) % ways
                said, _ = label(args.program, pool, rows, truth[rows], Path(folder))
                right.append((said == truth)[others].mean())
                said, doubtful = label(args.program, pool, rows, labels, Path(folder))
                wronged.append((said == truth)[others].mean())
                found, wrong = found + len(doubtful & set(rows[moved].tolist())), wrong + len(moved)
                listed += len(doubtful)
        lost = 100 * (np.array(right) - np.array(wronged))
        print(
            f"{Path(path).stem:28} found {found} of {wrong} wrong labels ({100 * found / wrong:.0f} %), listed {listed} of "
            f"{args.draws * len(rows)}; accuracy {100 * np.mean(right):.1f}, lost {lost.mean():.2f} ± "
            f"{lost.std(ddof=1) / len(lost) ** 0.5:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
