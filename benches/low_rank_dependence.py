"""Dependence with the Gaussian kernel of all rows with all, beside its low-rank factor from landmarks.

    python benches/low_rank_dependence.py SET.npz [SET.npz …] [--labels 10] [--rank 512] [--landmarks 4000] [--width 3] [--linear]

The transductive fit of the member `gaussian-dependence` in numpy, once with the kernel and once with the factor
(crates/handful/src/linalg/landmarks.rs): how far value and gradient of the dependence are apart where the fit starts, how many
rows each labels right, and the processor time of a step. `--linear` is the member `dependence`, whose factor is the 128
coordinates themselves.
"""

import argparse
import time
from pathlib import Path

import numpy as np

TEMPERATURE, STEPS = 2 / 15, 40


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def coordinates(features):
    rows = features.astype(np.float32)
    if (rows < 0).mean() < 0.1:
        rows = np.sign(rows) * np.sqrt(np.abs(rows))
    rows = unit(unit(rows) - unit(rows).mean(0))
    rows = rows - rows.mean(0)
    directions = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :128]
    return unit(rows @ directions)


def evenly(count, most):
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def kernel(rows, others, exponent):
    squared = (rows**2).sum(1)[:, None] + (others**2).sum(1) - 2 * rows @ others.T
    return np.exp(np.float32(exponent) * np.maximum(squared, 0))


def factor(rows, exponent, rank, landmarks):
    chosen = rows[evenly(len(rows), landmarks)]
    among = kernel(chosen, chosen, exponent)
    directions = among @ np.random.default_rng(0).standard_normal((len(chosen), rank + 16), dtype=np.float32)
    for _ in range(2):
        directions = np.linalg.qr(among @ np.linalg.qr(directions)[0])[0]
    values, vectors = np.linalg.eigh((directions.T @ among @ directions).astype(np.float64))
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    weights = (directions @ (vectors / np.sqrt(values))).astype(np.float32)
    out = kernel(rows, chosen, exponent) @ weights
    return out - out.mean(0)


def softmax(logits):
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def predictions(rows, prototypes):
    return softmax(2 / TEMPERATURE * (rows @ prototypes.T) - (prototypes**2).sum(1) / TEMPERATURE)


def through_softmax(rows, p, pull, prototypes):
    residual = p * (pull - (p * pull).sum(1, keepdims=True))
    return 2 / TEMPERATURE * (residual.T @ rows - residual.sum(0)[:, None] * prototypes)


def fit(rows, given, classes, start, times_kernel, weight):
    """Adam as in the member: .3 cross-entropy, .2 conditional entropy, and the dependence."""
    prototypes, count = start.copy(), len(rows)
    hot = np.eye(len(start), dtype=np.float32)[classes]
    first, second = np.zeros_like(start), 0.0
    for step in range(1, STEPS + 1):
        p = predictions(rows, prototypes)
        pull = -0.2 / count * np.log(np.maximum(p, 1e-30)) - 2 * weight / count**2 * times_kernel(p)
        gradient = through_softmax(rows, p, pull, prototypes)
        residual = 0.3 / len(given) * (p[given] - hot)
        gradient += 2 / TEMPERATURE * (residual.T @ rows[given] - residual.sum(0)[:, None] * prototypes)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * (gradient**2).mean()
        rate = 0.02 * 0.5 * (1 + np.cos(np.pi * (step - 1) / STEPS)) / (1 - 0.9**step)
        prototypes -= rate / np.sqrt(second / (1 - 0.99**step)) * first
    return predictions(rows, prototypes).argmax(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--rank", type=int, default=512)
    parser.add_argument("--landmarks", type=int, default=4000)
    parser.add_argument("--width", type=float, default=3.0, help="of the kernel, in median distances")
    parser.add_argument("--linear", action="store_true", help="the linear kernel")
    args = parser.parse_args()
    for path in args.sets:
        table = np.load(path)
        truth = np.unique(table["labels"], return_inverse=True)[1]
        rows = coordinates(table["features"])
        given = np.concatenate([np.flatnonzero(truth == k)[: args.labels] for k in range(truth.max() + 1)])
        start = np.stack([rows[given[truth[given] == k]].mean(0) for k in range(truth.max() + 1)])
        if args.linear:
            weight, whole, low = 0.3, rows @ rows.T, rows - rows.mean(0)
        else:
            some = rows[evenly(len(rows), 500)]
            squared = ((some**2).sum(1)[:, None] + (some**2).sum(1) - 2 * some @ some.T)[np.triu_indices(len(some), 1)]
            exponent = -0.5 / (args.width**2 * np.median(squared))
            weight, whole = 5.0, kernel(rows, rows, exponent)
            low = factor(rows, exponent, args.rank, args.landmarks)

        def exactly(p):
            out = whole @ (p - p.mean(0))
            return out - out.mean(0)

        def by_factor(p):
            return low @ (low.T @ p)

        p = predictions(rows, start)
        values, gradients, right, seconds = [], [], [], []
        for times_kernel in (exactly, by_factor):
            begin = time.process_time()
            pull = times_kernel(p)
            seconds.append(time.process_time() - begin)
            values.append((p * pull).sum())
            gradients.append(through_softmax(rows, p, pull, start))
            said = fit(rows, given, truth[given], start, times_kernel, weight)
            right.append(100 * np.delete(said == truth, given).mean())
        off = np.linalg.norm(gradients[1] - gradients[0]) / np.linalg.norm(gradients[0])
        print(
            f"{Path(path).stem:28} {len(rows)} rows, {len(start)} classes: value {abs(values[1] / values[0] - 1):.1e} apart, "
            f"gradient {off:.1e}; right {right[0]:.2f} exactly, {right[1]:.2f} by the factor; kernel times predictions "
            f"{1000 * seconds[0]:.0f} ms and {1000 * seconds[1]:.0f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
