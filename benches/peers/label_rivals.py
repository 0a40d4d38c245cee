"""`handful label` beside scikit-learn and GraphLearning on the same draws of several data sets.

    pip install scikit-learn graphlearning
    cargo build --release
    python benches/peers/label_rivals.py SET.npz [SET.npz …] [--draws 20] [--settings 1 5 10 5d] [--members] [--save out.json]

Each SET.npz holds `features` [rows, dim] and `labels` [rows]. A setting is the number of labels per class; `5d` draws class
sizes from a Dirichlet(1) distribution. handful draws the pools (`--evaluate --draws-to`), so that everybody labels the same
rows from the same labels. The rivals get the features as handful prepares them (signed root where features are hardly ever
negative, unit length, centred, unit length), and self-training their first 128 principal components. handful is level with a
rival where the mean difference is within one standard error of it or above, and significantly below where it is two of them
below.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

# A neighbour of this file has the name of a package it needs: its folder must not be where Python looks for that.
sys.path = [folder for folder in sys.path if Path(folder or ".").resolve() != Path(__file__).resolve().parent]

import numpy as np

RIVALS = ["LogisticRegression", "LabelSpreading", "SelfTraining", "GL Laplace", "GL Poisson"]
MEMBERS = ["smoothed-half", "smoothed-strong", "laplace", "poisson", "entropy", "fisher-dependence"]


def prepared(features):
    rows = features
    if (features < 0).mean() < 0.1:
        rows = np.sign(features) * np.sqrt(np.abs(features))
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows = rows - rows.mean(axis=0)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def answers(features, given):
    """Each rival's label of every row; `given` is -1 where there is none."""
    import graphlearning
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

    rows, known = prepared(features), np.flatnonzero(given >= 0)
    plain = LogisticRegression(C=10, max_iter=1000).fit(rows[known], given[known])
    yield "LogisticRegression", plain.predict(rows)
    spread = LabelSpreading(kernel="rbf", gamma=20, alpha=0.8, max_iter=100).fit(rows, given)
    yield "LabelSpreading", spread.transduction_
    few = PCA(min(128, *rows.shape), svd_solver="randomized", random_state=0).fit_transform(rows)
    self_training = SelfTrainingClassifier(LogisticRegression(C=10, max_iter=200), max_iter=3)
    yield "SelfTraining", self_training.fit(few, given).predict(few)
    neighbours = graphlearning.weightmatrix.knnsearch(rows, 10, method="brute")
    graph = graphlearning.weightmatrix.knn(rows, 10, knn_data=neighbours)
    for name, method in (("GL Laplace", graphlearning.ssl.laplace), ("GL Poisson", graphlearning.ssl.poisson)):
        yield name, np.asarray(method(graph).fit_predict(known, given[known])).astype(int)


def evaluated(program, path, setting, draws, method, draws_to):
    args = [program, "label", path, "--evaluate", str(draws), "--labels-per-class", setting.rstrip("d")]
    args += ["--method", method, "--format", "json", "--draws-to", draws_to]
    args += ["--dirichlet", "1"] if setting.endswith("d") else []
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{path} {setting}: {done.stderr.strip()}")
    return [draw["accuracy"] for draw in json.loads(done.stdout)["draws"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--settings", nargs="+", default=["1", "5", "10", "5d"])
    parser.add_argument("--members", action="store_true", help="each member of the rule alone, too")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    methods = ["pool", "pool:fast", "pool:smoothing"] + [f"pool:{name}" for name in MEMBERS if args.members]
    cells = {}
    for path in args.sets:
        table = np.load(path)
        features, classes = table["features"].astype(np.float32), table["labels"].astype(int)
        for setting in args.settings:
            scores = {}
            with tempfile.TemporaryDirectory() as folder:
                draws_to = f"{folder}/draws.jsonl"
                for method in methods:
                    scores[method] = evaluated(args.program, path, setting, args.draws, method, draws_to)
                draws = [json.loads(line) for line in open(draws_to)]
            for draw in [] if args.no_rivals else draws:
                pool, labelled = np.array(draw["pool"]), np.isin(draw["pool"], draw["labelled"])
                truth = np.unique(classes[pool], return_inverse=True)[1]
                for name, said in answers(features[pool], np.where(labelled, truth, -1)):
                    scores.setdefault(name, []).append(float((said == truth)[~labelled].mean()))
            cells[f"{Path(path).stem} {setting}"] = scores
            report(f"{Path(path).stem} {setting}", scores)
            if args.save:
                args.save.write_text(json.dumps(cells))
    summary(cells)


def difference(scores, rival):
    differences = 100 * (np.array(scores["pool"]) - np.array(scores[rival]))
    return differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences)) + 1e-9


def report(cell, scores):
    means = "  ".join(f"{name} {100 * np.mean(values):.1f}" for name, values in scores.items())
    print(f"{cell:28} {means}", flush=True)


def summary(cells):
    names = list(next(iter(cells.values())))
    print("\nmean over all cells")
    for name in names:
        print(f"  {name:24} {100 * np.mean([np.mean(scores[name]) for scores in cells.values()]):.2f}")
    level, below = 0, []
    rivals = [name for name in names if name in RIVALS]
    for cell, scores in cells.items():
        gaps = {name: difference(scores, name) for name in rivals}
        level += all(mean >= -error for mean, error in gaps.values())
        below += [f"{cell}: {name} {mean:.2f}" for name, (mean, error) in gaps.items() if mean < -2 * error]
    if rivals:
        print(f"first or level in {level} of {len(cells)} cells; significantly below: {'; '.join(below) or 'nobody'}")


if __name__ == "__main__":
    main()
