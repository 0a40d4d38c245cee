"""`handful label` on pools whose classes have unequal numbers of labels, for several values of `class_balance`.

    cargo build --release
    python benches/unequal_labels.py FEATURES.npz [HANDFUL]

FEATURES.npz holds `features` [rows, dim] and `labels` [rows]. Labels are given in two ways, 1 to 8 for each class whatever
its size, and drawn from the pool at random (4.5 per class on average, at least one); pools have classes of equal size or of
sizes from Dirichlet(1). Five draws each.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BALANCES = ["0", "0.5", "1"]
DRAWS = 5


def draw(classes, evenly, at_random, rng):
    """Rows of the pool, and which of them are labelled."""
    names = np.unique(classes)
    sizes = np.full(len(names), 300)
    if not evenly:
        shares = rng.dirichlet(np.ones(len(names)))
        sizes = np.maximum(12, (600 * shares / shares.max()).astype(int))
    pool = np.concatenate([rng.choice(np.flatnonzero(classes == name), size, replace=False)
                           for name, size in zip(names, sizes)])
    labelled = list(rng.permutation(len(pool))[: round(4.5 * len(names))]) if at_random else []
    for name in names:
        rows = np.flatnonzero(classes[pool] == name)
        if not at_random:
            labelled += list(rng.choice(rows, rng.integers(1, 9), replace=False))
        elif not np.isin(rows, labelled).any():
            labelled.append(rng.choice(rows))
    return pool, labelled


def accuracy(handful, folder, balance, truth):
    command = [handful, "label", f"{folder}/pool.npz", "--labels", f"{folder}/labels.csv", "-o", f"{folder}/out.csv",
               "--set", f"class_balance={balance}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/out.csv") as out:
        rows = [row for row in csv.DictReader(out) if row["source"] != "given"]
    return np.mean([row["label"] == str(truth[int(row["id"])]) for row in rows])


def main(path, handful="target/release/handful"):
    stored = np.load(path)
    features, classes = stored["features"], stored["labels"]
    print("| labels | pool | " + " | ".join(f"class_balance {balance}" for balance in BALANCES) + " |")
    print("|---|---|" + "---|" * len(BALANCES))
    for at_random in (False, True):
        for evenly in (True, False):
            found = []
            for number in range(DRAWS):
                rng = np.random.default_rng(100 * number + (not evenly))
                pool, labelled = draw(classes, evenly, at_random, rng)
                with tempfile.TemporaryDirectory() as folder:
                    np.savez(f"{folder}/pool.npz", features=features[pool])
                    lines = "".join(f"{row},{classes[pool[row]]}\n" for row in labelled)
                    Path(folder, "labels.csv").write_text("id,label\n" + lines)
                    found.append([accuracy(handful, folder, balance, classes[pool]) for balance in BALANCES])
            cells = " | ".join(f"{100 * value:.2f}" for value in np.mean(found, axis=0))
            given = "drawn at random" if at_random else "1 to 8 per class"
            print(f"| {given} | {'balanced' if evenly else 'Dirichlet(1)'} | {cells} |", flush=True)


main(*sys.argv[1:])
