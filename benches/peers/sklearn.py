"""scikit-learn's semi-supervised classifiers and `handful label` on the same draws: accuracy, time and memory.

    pip install scikit-learn
    cargo build --release
    python benches/peers/sklearn.py FEATURES.npz [--draws 20] [--labels-per-class 5] [--dirichlet 1] [--jobs 3]

FEATURES.npz holds `features` [rows, dim] and `labels` [rows]. handful draws the pools (`--evaluate --draws-to`), so that
both sides label the same rows from the same labels. scikit-learn gets the features as handful prepares them (signed
square root, unit length, centred, unit length), which is better for every one of its methods than the raw ones, and
self-training their first 128 principal components, so that its ten fits to the growing pool take seconds.

Two times are taken. "In memory": from the features of a pool in memory to its labels, preparing them included on both
sides. "Whole job": the first --jobs draws again as a person would run them, each in a process of its own that reads the
features of the pool and the labels from files and writes a table of labels; the fastest of them, and the largest resident
size.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

# This file has the name of the package it measures: its own folder must not be where Python looks for that.
sys.path = [folder for folder in sys.path if Path(folder or ".").resolve() != Path(__file__).resolve().parent]

import numpy as np

METHODS = ["LogisticRegression", "LabelSpreading knn", "LabelSpreading rbf", "SelfTraining"]
COMPONENTS = 128


def prepared(features):
    rows = np.sign(features) * np.sqrt(np.abs(features))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows -= rows.mean(axis=0)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def answer(method, features, given):
    """Labels of all rows; `given` is -1 where there is no label."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

    rows, known = prepared(features), given >= 0
    if method == "LogisticRegression":
        return LogisticRegression(C=10, max_iter=1000).fit(rows[known], given[known]).predict(rows)
    if method == "LabelSpreading knn":
        return LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.8, max_iter=100).fit(rows, given).transduction_
    if method == "LabelSpreading rbf":
        return LabelSpreading(kernel="rbf", gamma=10, alpha=0.8, max_iter=100).fit(rows, given).transduction_
    rows = PCA(COMPONENTS, svd_solver="randomized", random_state=0).fit_transform(rows)
    base = LogisticRegression(C=10)
    return SelfTrainingClassifier(base, criterion="k_best", k_best=max(1, len(rows) // 10)).fit(rows, given).predict(rows)


def study(method, features, labels, draws):
    """Runs one method over all draws and prints accuracies and seconds."""
    accuracies, seconds = [], []
    import sklearn.decomposition, sklearn.linear_model, sklearn.semi_supervised  # noqa: F401  (not the method's time)

    for draw in draws:
        pool = np.array(draw["pool"])
        rows, truth = features[pool], labels[pool]
        given = np.full(len(pool), -1)
        at = np.searchsorted(pool, draw["labelled"])
        given[at] = truth[at]
        start = time.perf_counter()
        said = answer(method, rows, given)
        seconds.append(time.perf_counter() - start)
        accuracies.append(float((said == truth)[given < 0].mean()))
    print(json.dumps({"accuracies": accuracies, "seconds": seconds}))


def job(method, pool, labels, output):
    """The whole job of a person with two files."""
    features = np.load(pool)["features"].astype(np.float32)
    given = np.full(len(features), -1)
    for line in Path(labels).read_text().splitlines()[1:]:
        row, label = line.split(",")
        given[int(row)] = int(label)
    said = answer(method, features, given)
    Path(output).write_text("id,label\n" + "".join(f"{row},{label}\n" for row, label in enumerate(said)))


def measured(command):
    """Seconds and megabytes of a process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def whole_jobs(handful, method, features, labels, draws, folder):
    """The fastest of the jobs, and the most memory any took; none without jobs."""
    runs = []
    for at, draw in enumerate(draws):
        pool, given, output = folder / f"pool-{at}.npz", folder / f"labels-{at}.csv", folder / "labelled.csv"
        if not pool.exists():
            np.savez(pool, features=features[draw["pool"]])
            rows = np.searchsorted(draw["pool"], draw["labelled"])
            given.write_text("id,label\n" + "".join(f"{row},{labels[draw['pool'][row]]}\n" for row in rows))
        output.unlink(missing_ok=True)
        if method == "handful label":
            runs.append(measured([handful, "label", str(pool), "--labels", str(given), "-o", str(output)]))
        else:
            runs.append(measured([sys.executable, __file__, str(pool), "--child", method, "--job", str(given), str(output)]))
    return (min(run[0] for run in runs), max(run[1] for run in runs)) if runs else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("features")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--labels-per-class", type=int, default=5)
    parser.add_argument("--dirichlet", type=float)
    parser.add_argument("--handful", default=os.environ.get("HANDFUL", "target/release/handful"))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--list", help=argparse.SUPPRESS)
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        warnings.filterwarnings("ignore")
        if args.job:
            job(args.child, args.features, *args.job)
            return
        stored = np.load(args.features)
        draws = [json.loads(line) for line in open(args.list)]
        study(args.child, stored["features"].astype(np.float32), stored["labels"], draws)
        return

    stored = np.load(args.features)
    features, labels = stored["features"].astype(np.float32), stored["labels"]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "draws.jsonl"
        command = [args.handful, "label", args.features, "--evaluate", str(args.draws), "--format", "json",
                   "--labels-per-class", str(args.labels_per_class), "--draws-to", str(listed)]
        if args.dirichlet:
            command += ["--dirichlet", str(args.dirichlet)]
        ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["draws"]
        table = [("handful label", [draw["accuracy"] for draw in ours], [draw["seconds"] for draw in ours])]
        for method in filter(None, args.methods.split(",")):
            run = [sys.executable, __file__, args.features, "--child", method, "--list", str(listed)]
            said = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
            table.append((method, said["accuracies"], said["seconds"]))
        jobs = [json.loads(line) for line in open(listed)][: args.jobs]
        print("| method | accuracy | handful leads by | in memory, s | whole job, s | MB |")
        print("|---|---|---|---|---|---|")
        for name, accuracies, seconds in table:
            lead = 100 * (np.array(table[0][1]) - np.array(accuracies))
            interval = 1.96 * lead.std() / np.sqrt(len(lead))
            whole = whole_jobs(args.handful, name, features, labels, jobs, Path(folder))
            whole = f"{whole[0]:.2f} | {whole[1]:.0f}" if whole else "| "
            print(f"| {name} | {100 * np.mean(accuracies):.2f} | {lead.mean():+.2f} ± {interval:.2f} "
                  f"| {np.median(seconds):.2f} | {whole} |", flush=True)


if __name__ == "__main__":
    main()
