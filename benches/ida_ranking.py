"""How well does IDA rank single labels, and does a variant of it do better?

A softmax over distances to class means (temperature 2/15) labels the query rows of a task. Each measure ranks those labels; the
area under the ROC curve (AUC) says how well it tells right ones from wrong ones within a task, 0.5 being chance.

Usage: python benches/ida_ranking.py FEATURES.npz [TASKS]
"""
import sys

import numpy as np

WAYS, QUERIES, DIMENSIONS, RIDGE = 5, 15, 10, 0.1


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def smoothed(rows, neighbours=10, alpha=0.5):
    """`smooth:10:50`: (I - alpha S)^-1 Z over the symmetric graph of nearest neighbours."""
    similar = rows @ rows.T
    np.fill_diagonal(similar, -np.inf)
    graph = np.zeros_like(similar)
    nearest = np.argsort(-similar, axis=1)[:, :neighbours]
    np.put_along_axis(graph, nearest, np.maximum(np.take_along_axis(similar, nearest, 1), 0), 1)
    graph = (graph + graph.T) / 2
    root = 1 / np.sqrt(np.maximum(graph.sum(1), 1e-12))
    return unit(np.linalg.solve(np.eye(len(rows)) - alpha * graph * root[:, None] * root, rows))


def whitened(rows):
    centred = rows - rows.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    u, values = u[:, :DIMENSIONS], s[:DIMENSIONS] ** 2
    return u * np.sqrt(values / (values + RIDGE * values.mean()))


def psi(rows, shares):
    """tr(S^-1 S_B) with soft labels; the rows are whitened, so S is near the identity but changes with a row left out."""
    centred = rows - rows.mean(0)
    scatter = centred.T @ centred + RIDGE * np.eye(rows.shape[1])
    sums = shares.T @ centred
    return np.sum(np.linalg.solve(scatter, sums.T).T * sums / np.maximum(shares.sum(0), 1e-9)[:, None])


def left_out(rows, shares):
    every = psi(rows, shares)
    keep = ~np.eye(len(rows), dtype=bool)
    return np.array([every - psi(rows[keep[u]], shares[keep[u]]) for u in range(len(rows))])


def own_class(rows, labels):
    """Minus the Mahalanobis distance to the class's mean without the row, by the class's own scatter shrunk to the common one."""
    common = np.eye(rows.shape[1]) / len(rows)
    out = np.zeros(len(rows))
    for u, label in enumerate(labels):
        others = rows[(labels == label) & (np.arange(len(rows)) != u)]
        if len(others) == 0:
            out[u] = -1e9
            continue
        centred = others - others.mean(0)
        scatter = (centred.T @ centred + DIMENSIONS * common) / (len(others) + DIMENSIONS)
        step = rows[u] - others.mean(0)
        out[u] = -step @ np.linalg.solve(scatter, step)
    return out


def auc(scores, right):
    if right.all() or not right.any():
        return None
    ahead = scores[right][:, None] - scores[~right][None, :]
    return float(np.mean((ahead > 0) + 0.5 * (ahead == 0)))


def rank(scores):
    return np.argsort(np.argsort(scores)) / len(scores)


def main(path, tasks):
    data = np.load(path, allow_pickle=False)
    keys = data.files
    features = data["features"] if "features" in keys else data[keys[0]]
    labels = data["labels"] if "labels" in keys else data[keys[1]]
    of_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    for shots in (1, 5):
        for imbalance in (None, 2.0):
            generator = np.random.default_rng(11)
            found = {}
            for _ in range(tasks):
                classes = generator.choice(len(of_class), WAYS, replace=False)
                sizes = np.full(WAYS, QUERIES)
                if imbalance:
                    sizes = generator.multinomial(WAYS * QUERIES, generator.dirichlet([imbalance] * WAYS))
                drawn = [generator.permutation(of_class[c])[: shots + size] for c, size in zip(classes, sizes)]
                support = np.concatenate([rows[:shots] for rows in drawn])
                query = np.concatenate([rows[shots:] for rows in drawn])
                truth = np.repeat(np.arange(WAYS), [len(rows) - shots for rows in drawn])
                raw = features[np.concatenate([support, query])].astype(np.float64)
                plain = unit(np.sqrt(np.maximum(raw, 0)) if raw.min() >= 0 else raw)
                smooth = smoothed(plain)
                given = np.repeat(np.arange(WAYS), shots)
                for kind, rows in (("plain", plain), ("smoothed", smooth)):
                    means = np.stack([rows[: len(given)][given == c].mean(0) for c in range(WAYS)])
                    unlabelled = rows[len(given) :]
                    logits = -7.5 * ((unlabelled[:, None] - means) ** 2).sum(2)
                    p = np.exp(logits - logits.max(1, keepdims=True))
                    p /= p.sum(1, keepdims=True)
                    guess = p.argmax(1)
                    right = guess == truth
                    hard = np.eye(WAYS)[guess]
                    white = whitened(unlabelled)
                    ida = left_out(white, hard)
                    expected = sum(
                        p[:, c] * np.array([psi_with(white, hard, u, c) for u in range(len(white))]) for c in range(WAYS)
                    )
                    measures = {
                        "probability": p.max(1),
                        "IDA": ida,
                        "IDA on smoothed features": left_out(whitened(smooth[len(given) :]), hard),
                        "own class's whitening": own_class(white, guess),
                        "IDA, soft labels": left_out(white, p),
                        "IDA less its expectation under p": ida - expected,
                        "ranks of IDA and probability together": rank(ida) + rank(p.max(1)),
                    }
                    for name, scores in measures.items():
                        value = auc(scores, right)
                        if value is not None:
                            found.setdefault((name, kind), []).append(value)
            sizes = f"Dirichlet({imbalance:g})" if imbalance else "balanced"
            for kind in ("plain", "smoothed"):
                for name in measures:
                    values = found[name, kind]
                    error = 1.96 * np.std(values) / np.sqrt(len(values))
                    print(f"{shots}-shot {sizes} | labels of {kind} | {name} | {np.mean(values):.3f} ± {error:.3f}")


def psi_with(rows, hard, u, c):
    """What the row would bring with label c: psi with it, less psi without it."""
    shares = hard.copy()
    shares[u] = np.eye(hard.shape[1])[c]
    without = np.arange(len(rows)) != u
    return psi(rows, shares) - psi(rows[without], shares[without])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100)
