"""`handful label` beside scikit-learn and GraphLearning on the same draws of several data sets.

    pip install scikit-learn graphlearning
    cargo build --release
    python benches/peers/label_rivals.py SET.npz [SET.npz …] [--draws 20] [--settings 1 5 10 5d] [--members] [--keep kept.jsonl]

Each SET.npz holds `features` [rows, dim] and `labels` [rows]. A setting is the number of labels per class; `5d` draws class
sizes from a Dirichlet(1) distribution. handful draws the pools (`--evaluate --draws-to`), so that everybody labels the same
rows from the same labels. The rivals get the features as handful prepares them (signed root where features are hardly ever
negative, unit length, centred, unit length), and self-training their first 128 principal components. handful is level with a
rival where the mean difference is within one standard error of it or above, and significantly below where it is two of them
below.

With `--keep` every figure is written to a file as soon as it is there, and what the file holds is not computed again: a rival's
figure belongs to a draw, one of handful's to a draw and the bytes of the program. The draws do not depend on the program's
rule; the file would notice (a draw is known by its rows). So rivals can be run first, slow ones (`--rivals SelfTraining --draws
5`) on fewer draws, and the rule later.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

# A neighbour of this file has the name of a package it needs: its folder must not be where Python looks for that.
sys.path = [folder for folder in sys.path if Path(folder or ".").resolve() != Path(__file__).resolve().parent]

import numpy as np

MEMBERS = ["smoothed-half", "smoothed-strong", "laplace", "poisson", "entropy", "fisher-dependence", "dependence"]


def prepared(features):
    rows = features
    if (features < 0).mean() < 0.1:
        rows = np.sign(features) * np.sqrt(np.abs(features))
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows = rows - rows.mean(axis=0)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def logistic_regression(rows, given):
    from sklearn.linear_model import LogisticRegression

    known = np.flatnonzero(given >= 0)
    return LogisticRegression(C=10, max_iter=1000).fit(rows[known], given[known]).predict(rows)


def label_spreading(rows, given):
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="rbf", gamma=20, alpha=0.8, max_iter=100).fit(rows, given).transduction_


def self_training(rows, given):
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    few = PCA(min(128, *rows.shape), svd_solver="randomized", random_state=0).fit_transform(rows)
    return SelfTrainingClassifier(LogisticRegression(C=10, max_iter=200)).fit(few, given).predict(few)


def on_a_graph(method):
    def label(rows, given):
        import graphlearning

        known, graph = np.flatnonzero(given >= 0), neighbour_graph(rows)
        return np.asarray(getattr(graphlearning.ssl, method)(graph).fit_predict(known, given[known])).astype(int)

    return label


GRAPHS = {}


def neighbour_graph(rows):
    """GraphLearning's graph, kept: pools of natural class sizes are all of the set's rows, draw for draw. scikit-learn finds
    the same neighbours as its brute search, twenty times faster."""
    import graphlearning
    from sklearn.neighbors import NearestNeighbors

    key = hashlib.sha256(rows.tobytes()).hexdigest()
    if key not in GRAPHS:
        while len(GRAPHS) >= 8:
            GRAPHS.pop(next(iter(GRAPHS)))
        distances, numbers = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(rows).kneighbors(rows)
        GRAPHS[key] = graphlearning.weightmatrix.knn(rows, 10, knn_data=(numbers, distances))
    return GRAPHS[key]


RIVALS = {
    "LogisticRegression": logistic_regression,
    "LabelSpreading": label_spreading,
    "SelfTraining": self_training,
    "GL Laplace": on_a_graph("laplace"),
    "GL Poisson": on_a_graph("poisson"),
}


class Kept:
    """Figures by draw and name, in a file that is only ever added to."""

    def __init__(self, path):
        self.path, self.figures = path, {}
        for line in open(path) if path and path.exists() else []:
            if line.endswith("\n"):
                figure = json.loads(line)
                self.figures[figure["draw"], figure["name"], figure["program"]] = figure["accuracy"]

    def __contains__(self, key):
        return key in self.figures

    def add(self, key, accuracy, **more):
        self.figures[key] = accuracy
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps(dict(zip(("draw", "name", "program"), key), accuracy=accuracy, **more)) + "\n")


class Cell:
    """A data set and a setting: its draws, and handful's figures on them."""

    def __init__(self, program, path, setting, draws):
        self.program, self.path, self.setting, self.count = program, path, setting, draws
        self.name = f"{Path(path).stem} {setting}"
        with tempfile.TemporaryDirectory() as folder:
            draws_to = Path(folder) / "draws.jsonl"
            self.first = self.evaluate("pool:fast", "--draws-to", draws_to)
            self.draws = [json.loads(line) for line in open(draws_to)]
        self.digests = [hashlib.sha256(json.dumps(draw).encode()).hexdigest()[:16] for draw in self.draws]

    def evaluate(self, method, *more):
        args = [self.program, "label", self.path, "--evaluate", self.count, "--labels-per-class"]
        args += [self.setting.rstrip("d"), "--method", method, "--format", "json", *more]
        args += ["--dirichlet", "1"] if self.setting.endswith("d") else []
        done = subprocess.run(list(map(str, args)), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{self.path} {self.setting}: {done.stderr.strip()}")
        return [draw["accuracy"] for draw in json.loads(done.stdout)["draws"]]


def run_rivals(cells, names, kept):
    tables = {}
    for at in range(max(cell.count for cell in cells)):
        for cell in cells:
            missing = [name for name in names if (cell.digests[at], name, "") not in kept]
            if not missing:
                continue
            if cell.path not in tables:
                table = np.load(cell.path)
                tables[cell.path] = table["features"].astype(np.float32), table["labels"].astype(int)
            features, classes = tables[cell.path]
            draw = cell.draws[at]
            pool, labelled = np.array(draw["pool"]), np.isin(draw["pool"], draw["labelled"])
            truth = np.unique(classes[pool], return_inverse=True)[1]
            rows, given = prepared(features[pool]), np.where(labelled, truth, -1)
            for name in missing:
                start = time.process_time()
                right = (RIVALS[name](rows, given) == truth)[~labelled].mean()
                spent = round(time.process_time() - start, 2)
                kept.add((cell.digests[at], name, ""), float(right), cell=cell.name, at=at, seconds=spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--settings", nargs="+", default=["1", "5", "10", "5d"])
    parser.add_argument("--members", action="store_true", help="each member of the rule alone, too")
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=RIVALS, help="none: only show what is kept")
    parser.add_argument("--methods", nargs="*", default=["pool", "pool:fast", "pool:smoothing"])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    methods = args.methods + [f"pool:{name}" for name in MEMBERS if args.members]
    bytes_of = hashlib.sha256(Path(args.program).read_bytes()).hexdigest()[:12]
    kept = Kept(args.keep)
    cells = [Cell(args.program, path, setting, args.draws) for path in args.sets for setting in args.settings]
    for cell in cells:
        for method in methods:
            if all((digest, method, bytes_of) in kept for digest in cell.digests):
                continue
            accuracies = cell.first if method == "pool:fast" else cell.evaluate(method)
            for at, (digest, accuracy) in enumerate(zip(cell.digests, accuracies)):
                kept.add((digest, method, bytes_of), accuracy, cell=cell.name, at=at)
    run_rivals(cells, args.rivals, kept)
    figures = {}
    for cell in cells:
        columns = [(name, bytes_of) for name in methods] + [(name, "") for name in RIVALS]
        of = {name: [kept.figures.get((digest, name, by)) for digest in cell.digests] for name, by in columns}
        figures[cell.name] = {name: values for name, values in of.items() if any(v is not None for v in values)}
    report(figures)


def mean(values):
    return 100 * np.mean([value for value in values if value is not None])


def difference(scores, rival):
    """handful's lead in points on the draws that both labelled, and its standard error."""
    pairs = [(own, other) for own, other in zip(scores["pool"], scores[rival]) if own is not None and other is not None]
    leads = 100 * (np.array(pairs)[:, 0] - np.array(pairs)[:, 1])
    error = leads.std(ddof=1) / np.sqrt(len(leads)) if len(leads) > 1 else np.inf
    return leads.mean(), error + 1e-9


def report(figures):
    names = list(dict.fromkeys(name for scores in figures.values() for name in scores))
    print("| set, labels per class | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names))
    for cell, scores in figures.items():
        draws = max(sum(v is not None for v in values) for values in scores.values())

        def entry(name):
            if name not in scores:
                return "–"
            fewer = sum(v is not None for v in scores[name])
            return f"{mean(scores[name]):.1f}" + (f" ({fewer})" if fewer < draws else "")

        print(f"| {cell} | " + " | ".join(map(entry, names)) + " |")
    everywhere = [name for name in names if all(name in scores for scores in figures.values())]
    means = {name: np.mean([mean(scores[name]) for scores in figures.values()]) for name in everywhere}
    print("| mean | " + " | ".join(f"{means[name]:.1f}" if name in means else "–" for name in names) + " |")
    rivals = [name for name in names if name in RIVALS]
    if not rivals or "pool" not in names:
        return
    level, behind, below = 0, [], []
    for cell, scores in figures.items():
        gaps = {name: difference(scores, name) for name in rivals if name in scores}
        level += all(lead >= -error for lead, error in gaps.values())
        for name, (lead, error) in gaps.items():
            text = f"{cell}: {name} {lead:+.2f} ± {error:.2f}"
            behind += [text] if -2 * error <= lead < 0 else []
            below += [text] if lead < -2 * error else []
    print(f"first or level in {level} of {len(figures)} cells; significantly below: {'; '.join(below) or 'nobody'}")
    print(f"below, not significantly: {'; '.join(behind) or 'nobody'}")


if __name__ == "__main__":
    main()
