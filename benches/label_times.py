"""Time of whole labelling jobs, file to file: many classes, very many classes, very many labels.

    pip install scikit-learn
    cargo build --release
    python benches/label_times.py [--intents clinc150-minilm.npz] [--times 3] [--program target/release/handful]

150 classes with 10 labels each: `pool` and `pool:fast` beside scikit-learn's LogisticRegression on the labelled rows
(C = 10, features prepared alike, the file read and written, too), on `--intents` (7,500 rows) or made-up features of that size;
then 10,000 classes with one label in 20,000 made-up rows, and 1,000,000 given labels in 1,010,000 made-up rows. Processor time
and time by the clock, the least of `--times` (the two large jobs run once).
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SKLEARN = """
import sys, numpy as np
from sklearn.linear_model import LogisticRegression
pool, labels, out = sys.argv[1:]
rows = np.load(pool)
if (rows < 0).mean() < 0.1:
    rows = np.sign(rows) * np.sqrt(np.abs(rows))
rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
rows -= rows.mean(axis=0)
rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
given = np.loadtxt(labels, delimiter=",", skiprows=1, dtype=int)
said = LogisticRegression(C=10, max_iter=1000).fit(rows[given[:, 0]], given[:, 1]).predict(rows)
np.savetxt(out, np.c_[np.arange(len(said)), said], fmt="%d", delimiter=",")
"""


def made_up(rows, dim, ways, chance):
    """Rows of classes about as far apart as rows of a class are."""
    truth = np.arange(rows) % ways
    centres = chance.standard_normal((ways, dim), dtype=np.float32)
    features = np.empty((rows, dim), np.float32)
    for start in range(0, rows, 50_000):
        part = truth[start : start + 50_000]
        features[start : start + len(part)] = centres[part] + chance.standard_normal((len(part), dim), dtype=np.float32)
    return features, truth


def run(command, times):
    """The least processor time and time by the clock."""
    spent = []
    for _ in range(times):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stderr.strip())
        spent.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock))
    return min(spent)


def job(folder, features, truth, labelled):
    np.save(folder / "pool.npy", features)
    lines = "".join(f"{row},{truth[row]}\n" for row in labelled)
    (folder / "labels.csv").write_text("id,label\n" + lines)
    (folder / "out.csv").unlink(missing_ok=True)
    return folder / "pool.npy", folder / "labels.csv", folder / "out.csv"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intents", type=Path)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    chance = np.random.default_rng(1)

    def handful(files, *more):
        pool, labels, out = files
        return [args.program, "label", pool, "--labels", labels, "-o", out, *more]

    def show(name, spent):
        print(f"{name:48} {spent[0]:6.1f} s of processor time, {spent[1]:6.1f} s by the clock", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if args.intents:
            table = np.load(args.intents)
            features, truth = table["features"].astype(np.float32), np.unique(table["labels"], return_inverse=True)[1]
        else:
            features, truth = made_up(7500, 384, 150, chance)
        ways = truth.max() + 1
        labelled = np.concatenate([np.flatnonzero(truth == k)[:10] for k in range(ways)])
        files = job(folder, features, truth, labelled)
        size = f"{len(truth)} rows, {ways} classes x 10"
        show(f"{size}: pool", run(handful(files), args.times))
        show(f"{size}: pool:fast", run(handful(files, "--method", "pool:fast"), args.times))
        show(f"{size}: LogisticRegression", run([sys.executable, "-c", SKLEARN, *files], args.times))
        features, truth = made_up(20_000, 256, 10_000, chance)
        show("20000 rows, 10000 classes x 1: pool", run(handful(job(folder, features, truth, np.arange(10_000))), 1))
        features, truth = made_up(1_010_000, 64, 100, chance)
        show("1010000 rows, 1000000 labels: pool", run(handful(job(folder, features, truth, np.arange(1_000_000))), 1))


if __name__ == "__main__":
    main()
