"""scikit-learn's semi-supervised classifiers and `handful label` on the same draws: accuracy, time and memory.

    pip install scikit-learn
    cargo build --release
    python benches/peers/sklearn.py FEATURES.npz [--draws 20] [--labels-per-class 5] [--dirichlet 1]

FEATURES.npz holds `features` [rows, dim] and `labels` [rows]. handful draws the pools (`--evaluate --draws-to`), so that
both sides label the same rows from the same labels. scikit-learn gets the features as handful prepares them (signed
square root, unit length, centred, unit length), which is better for every one of its methods than the raw ones;
preparing them is not counted. Each method runs in its own process, one after the other; time is that of `fit` and of
labelling the pool, memory the largest resident size of the process minus what it had before.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# This file has the name of the package it measures: its own folder must not be where Python looks for that.
sys.path = [folder for folder in sys.path if Path(folder or ".").resolve() != Path(__file__).resolve().parent]

import numpy as np

METHODS = ["LogisticRegression", "LabelSpreading knn", "LabelSpreading rbf", "SelfTraining"]


def prepared(features):
    rows = np.sign(features) * np.sqrt(np.abs(features))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows -= rows.mean(axis=0)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def answer(method, rows, given):
    """Labels of all rows; `given` is -1 where there is no label."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

    known = given >= 0
    if method == "LogisticRegression":
        return LogisticRegression(C=10, max_iter=1000).fit(rows[known], given[known]).predict(rows)
    if method == "LabelSpreading knn":
        return LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.8, max_iter=100).fit(rows, given).transduction_
    if method == "LabelSpreading rbf":
        return LabelSpreading(kernel="rbf", gamma=10, alpha=0.8, max_iter=100).fit(rows, given).transduction_
    base = LogisticRegression(C=10, max_iter=200)
    return SelfTrainingClassifier(base, criterion="k_best", k_best=max(1, len(rows) // 10)).fit(rows, given).predict(rows)


def child(method, features, labels, draws):
    """Runs one method over all draws and prints accuracies, seconds and megabytes."""
    import warnings

    warnings.filterwarnings("ignore")
    accuracies, seconds = [], []
    import sklearn.linear_model, sklearn.semi_supervised  # noqa: F401  (importing is not the method's time)

    start_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for draw in draws:
        pool, labelled = np.array(draw["pool"]), np.array(draw["labelled"])
        rows, truth = prepared(features[pool]), labels[pool]
        start_memory = start_memory if accuracies else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        given = np.full(len(pool), -1)
        at = np.searchsorted(pool, labelled)
        given[at] = truth[at]
        start = time.perf_counter()
        said = answer(method, rows, given)
        seconds.append(time.perf_counter() - start)
        accuracies.append(float((said == truth)[given < 0].mean()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"accuracies": accuracies, "seconds": seconds, "megabytes": (peak - start_memory) / 1024}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("features")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--labels-per-class", type=int, default=5)
    parser.add_argument("--dirichlet", type=float)
    parser.add_argument("--handful", default=os.environ.get("HANDFUL", "target/release/handful"))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--list", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        stored = np.load(args.features)
        draws = [json.loads(line) for line in open(args.list)]
        child(args.child, stored["features"].astype(np.float32), stored["labels"], draws)
        return

    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "draws.jsonl"
        command = [args.handful, "label", args.features, "--evaluate", str(args.draws), "--format", "json",
                   "--labels-per-class", str(args.labels_per_class), "--draws-to", str(listed)]
        if args.dirichlet:
            command += ["--dirichlet", str(args.dirichlet)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["draws"]
        memory = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
        table = [("handful label", [draw["accuracy"] for draw in ours], [draw["seconds"] for draw in ours], memory)]
        for method in args.methods.split(","):
            run = [sys.executable, __file__, args.features, "--child", method, "--list", str(listed)]
            said = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
            table.append((method, said["accuracies"], said["seconds"], said["megabytes"]))
    print("| method | accuracy | handful leads by | seconds per pool | MB |")
    print("|---|---|---|---|---|")
    for name, accuracies, seconds, megabytes in table:
        lead = 100 * (np.array(table[0][1]) - np.array(accuracies))
        interval = 1.96 * lead.std() / np.sqrt(len(lead))
        print(f"| {name} | {100 * np.mean(accuracies):.2f} | {lead.mean():+.2f} ± {interval:.2f} "
              f"| {np.mean(seconds):.2f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
