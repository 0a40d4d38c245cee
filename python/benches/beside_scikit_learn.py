"""HandfulClassifier beside scikit-learn's semi-supervised estimators: accuracy, time of fit, and overhead over Rust.

    python python/benches/beside_scikit_learn.py [features.npz] [--rows 12000] [--labels 5] [--draws 3]

Without a file, on features that come with the package (256 columns). All get unit rows and the same labels.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

import handful
from handful import HandfulClassifier, _handful


class LabelledOnly(LogisticRegression):
    """Logistic regression that leaves unlabelled rows out."""

    def fit(self, X, y):
        return super().fit(X[y >= 0], y[y >= 0])


def estimators():
    return {
        "HandfulClassifier": HandfulClassifier(),
        'HandfulClassifier("pool:fast")': HandfulClassifier("pool:fast"),
        "LabelSpreading(knn)": LabelSpreading(kernel="knn", n_neighbors=10),
        "SelfTrainingClassifier(logistic)": SelfTrainingClassifier(LogisticRegression(max_iter=300), threshold=0.8),
        "LogisticRegression": LabelledOnly(max_iter=300),
    }


def draw(codes, labels, seed):
    rng = np.random.default_rng(seed)
    y = np.full(len(codes), -1)
    for code in np.unique(codes):
        y[rng.choice(np.flatnonzero(codes == code), labels, replace=False)] = code
    return y


def overhead(X, y, repeats=5):
    """Median time of the estimator against that of the calls of Rust alone, measured in turn."""
    given = np.flatnonzero(y >= 0)
    classes = np.unique(y[given], return_inverse=True)[1].astype(np.int64)
    names = [str(code) for code in np.unique(y[given])]
    none = np.zeros(0, dtype=np.int64)
    ours, alone = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        HandfulClassifier().fit(X, y)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        _handful.Pool(X, "pool", [], False).fit(given, classes, names, none)
        alone.append(time.perf_counter() - start)
    return min(ours), min(alone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", nargs="?")
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--draws", type=int, default=3)
    args = parser.parse_args()
    table = handful.read_features(args.features) if args.features else handful.demo_features()
    chosen = np.flatnonzero((table.codes >= 0) & (table.codes < args.classes))[: args.rows]
    X, codes = np.ascontiguousarray(normalize(table.X[chosen])), table.codes[chosen]
    print(f"{X.shape[0]} rows x {X.shape[1]}, {len(np.unique(codes))} classes, {args.labels} labels of each")
    print(f"{'':34}{'accuracy %':>12}{'seconds':>10}")
    for name, estimator in estimators().items():
        right, seconds = [], []
        for seed in range(args.draws):
            y = draw(codes, args.labels, seed)
            start = time.perf_counter()
            fitted = estimator.fit(X, y)
            seconds.append(time.perf_counter() - start)
            found = getattr(fitted, "transduction_", None)
            found = fitted.predict(X) if found is None or name.startswith("SelfTraining") else found
            right.append((found == codes)[y < 0].mean())
        print(f"{name:34}{100 * np.mean(right):12.1f}{np.median(seconds):10.2f}")
    whole, rust = overhead(X, draw(codes, args.labels, 0))
    print(f"\nestimator {whole:.3f} s, the same calls of Rust {rust:.3f} s: overhead {100 * (whole / rust - 1):+.1f}%")


if __name__ == "__main__":
    main()
