"""easyfsl's heads and handful's on one task list: per-task agreement of accuracy, and time.

    pip install easyfsl torch torchvision
    cargo build --release
    python benches/peers/easyfsl.py FEATURES.npz [--tasks 300] [--shots 1] [--markdown out.md]

FEATURES.npz holds `features` [rows, dim] and `labels` [rows]. Both sides get the same L2-normalised rows in memory: this
script normalises them, draws a task list, writes both in handful's formats, runs easyfsl's heads in this process (each
task solved by itself, only `process_support_set` and the call of the head timed), then `handful bench --tasks-from` on
the same list, one method at a time, without a transform of its own. easyfsl runs its README's hyper-parameters. Each side may use `--threads` threads:
PyTorch inside a task, handful over tasks. Each side runs `--repeats` times and its fastest run counts, since other
work on the machine only ever adds time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# This file has the name of the package it measures: its own folder must not be where Python looks for that.
sys.path = [folder for folder in sys.path if Path(folder or ".").resolve() != Path(__file__).resolve().parent]

import numpy as np
import torch
from easyfsl import methods as heads
from torch import nn


def minus_squared_distances(samples, prototypes, scale):
    return -scale * ((samples[:, None, :] - prototypes[None, :, :]) ** 2).sum(dim=2)


class SquaredTIM(heads.TIM):
    """easyfsl's TIM with the logits of its authors, which handful has: what is left of the difference to handful?"""

    def cosine_distance_to_prototypes(self, samples):
        return minus_squared_distances(samples, self.prototypes, 0.5)


class SquaredTransductiveFinetuning(heads.TransductiveFinetuning):
    """The same for transductive fine-tuning, at handful's temperature (15 / 2 for the 10 that logits are multiplied by)."""

    def l2_distance_to_prototypes(self, samples):
        return minus_squared_distances(samples, self.prototypes, 0.75)


ENTROPY_MIN = ["transform=none", "basis=original", "steps=10", "learning_rate=1e-4", "head=prototype"]
TIM = ["transform=none", "basis=original", "steps=50", "learning_rate=1e-3", "cross_entropy_weight=1",
       "conditional_weight=0.1", "temperature=0.2"]
TIM_ARGUMENTS = {"fine_tuning_steps": 50, "fine_tuning_lr": 1e-3, "cross_entropy_weight": 1.0,
                 "marginal_entropy_weight": 1.0, "conditional_entropy_weight": 0.1, "temperature": 10.0}
FINETUNING_ARGUMENTS = {"fine_tuning_steps": 10, "fine_tuning_lr": 1e-4, "temperature": 10.0}

# Head, its arguments, handful's method for it, changed parameters, and why the two may differ.
PAIRS = [
    ("ProtoNet", heads.PrototypicalNetworks, {}, "protonet", ["transform=none"], ""),
    ("SimpleShot", heads.SimpleShot, {}, "simpleshot:easyfsl", ["transform=none"], ""),
    ("Finetune", heads.Finetune, {"fine_tuning_steps": 50, "fine_tuning_lr": 1e-4, "temperature": 10.0},
     "baseline-pp:easyfsl", [], ""),
    ("TransductiveFinetuning", heads.TransductiveFinetuning, FINETUNING_ARGUMENTS, "entropy-min", ENTROPY_MIN,
     "logits are distances there, squared distances here"),
    ("TransductiveFinetuning, our logits", SquaredTransductiveFinetuning, FINETUNING_ARGUMENTS, "entropy-min", ENTROPY_MIN,
     "squared distances there too"),
    ("BD-CSPN", heads.BDCSPN, {}, "bd-cspn:easyfsl", ["transform=none"], ""),
    ("LaplacianShot", heads.LaplacianShot, {"inference_steps": 20, "knn": 3, "lambda_regularization": 0.7},
     "laplacianshot:easyfsl", ["transform=none"], ""),
    ("TIM", heads.TIM, TIM_ARGUMENTS, "tim-gd:authors", TIM,
     "logits are cosines times 10 there, distances to free prototypes here"),
    ("TIM, our logits", SquaredTIM, TIM_ARGUMENTS, "tim-gd:authors", TIM, "squared distances there too"),
    ("PT-MAP", heads.PTMAP, {"fine_tuning_steps": 10, "fine_tuning_lr": 0.2, "lambda_regularization": 10.0,
                             "power_factor": 0.5},
     "pt-map:easyfsl", ["transform=power"], "exp(-10 d^2) underflows in single precision there"),
]


def draw_tasks(labels, ways, shots, queries, count, seed):
    """Rows of each class of each task; support and query never overlap."""
    generator = np.random.default_rng(seed)
    classes = np.unique(labels)
    rows_of = {label: np.flatnonzero(labels == label) for label in classes}
    tasks = []
    for _ in range(count):
        chosen = generator.choice(classes, ways, replace=False)
        picked = [generator.choice(rows_of[label], shots + queries, replace=False) for label in chosen]
        tasks.append({
            "classes": [int(label) for label in chosen],
            "support": [[int(row) for row in rows[:shots]] for rows in picked],
            "unlabeled": [],
            "query": [[int(row) for row in rows[shots:]] for rows in picked],
        })
    return tasks


def write_task_list(path, tasks, features):
    with open(path, "w") as out:
        header = {"handful_tasks": 1, "rows": int(features.shape[0]), "dim": int(features.shape[1])}
        for line in [header, *tasks]:
            out.write(json.dumps(line) + "\n")


def flatten(rows_by_class):
    rows = [row for rows in rows_by_class for row in rows]
    labels = [label for label, rows in enumerate(rows_by_class) for _ in rows]
    return rows, torch.tensor(labels)


def run_easyfsl(head_type, arguments, features, tasks):
    """Accuracy of each task, and milliseconds per task."""
    head = head_type(backbone=nn.Identity(), **arguments)
    accuracies, seconds = [], 0.0
    for task in tasks:
        support_rows, support_labels = flatten(task["support"])
        query_rows, query_labels = flatten(task["query"])
        support, query = features[support_rows], features[query_rows]
        start = time.perf_counter()
        with torch.no_grad():
            head.process_support_set(support, support_labels)
            predicted = head(query).argmax(dim=1)
        seconds += time.perf_counter() - start
        accuracies.append(float((predicted == query_labels).float().mean()))
    return np.array(accuracies), 1000.0 * seconds / len(tasks)


def run_handful(binary, table, list_path, method, changes, threads):
    command = [binary, "bench", table, "--tasks-from", list_path, "--method", method, "--per-task",
               "--format", "json", "--threads", str(threads)]
    for change in changes:
        command += ["--set", change]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    score = json.loads(done.stdout)["methods"][0]
    per_task = np.array(score["per_task"])
    return per_task, 1000.0 * score["seconds"] / len(per_task)


def fastest(repeats, run):
    """The accuracies, which do not change from run to run, and the least time."""
    runs = [run() for _ in range(repeats)]
    return runs[0][0], min(ms for _, ms in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features")
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--ways", type=int, default=5)
    parser.add_argument("--shots", type=int, default=1)
    parser.add_argument("--queries", type=int, default=15)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--binary", default="target/release/handful")
    parser.add_argument("--only", nargs="*", help="heads to run, as the table names them")
    parser.add_argument("--markdown", help="also write the table to this file")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    table = np.load(arguments.features)
    features = torch.from_numpy(table["features"].astype(np.float32))
    features = nn.functional.normalize(features, dim=1)
    tasks = draw_tasks(table["labels"], arguments.ways, arguments.shots, arguments.queries, arguments.tasks,
                       arguments.seed)
    lines = ["| easyfsl head | handful | easyfsl % | handful % | mean difference | tasks equal | easyfsl ms | handful ms | faster | note |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        list_path = str(Path(folder) / "tasks.jsonl")
        table_path = str(Path(folder) / "features.npz")
        np.savez(table_path, features=features.numpy(), labels=table["labels"].astype(np.int64))
        write_task_list(list_path, tasks, features)
        for name, head_type, options, method, changes, note in PAIRS:
            if arguments.only and name not in arguments.only:
                continue
            theirs, their_ms = fastest(arguments.repeats, lambda: run_easyfsl(head_type, options, features, tasks))
            ours, our_ms = fastest(arguments.repeats, lambda: run_handful(
                arguments.binary, table_path, list_path, method, changes, arguments.threads))
            difference = 100.0 * (ours - theirs)
            interval = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
            equal = np.mean(np.abs(difference) < 1e-3)
            ours_named = method + "".join(f" {change}" for change in changes)
            line = (f"| {name} | `{ours_named}` | {100 * theirs.mean():.2f} | {100 * ours.mean():.2f} | "
                    f"{difference.mean():+.2f} ± {interval:.2f} | {100 * equal:.0f}% | {their_ms:.2f} | "
                    f"{our_ms:.3f} | {their_ms / our_ms:.0f}x | {note} |")
            print(line, flush=True)
            lines.append(line)
    if arguments.markdown:
        Path(arguments.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
