"""`handful predict` on more rows than the disk holds: shards are made, labelled and removed, a batch at a time.

    python benches/stream_rows.py WORK --rows 100000000 [--program target/release/handful]

Rows have 64 columns and 20 made-up classes. Prints rows per second and core (processor time of `predict` alone), and the most
memory that any batch took.
"""

import argparse
import os
import subprocess
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("work", type=Path)
parser.add_argument("--program", default="target/release/handful")
parser.add_argument("--rows", type=int, default=100_000_000)
parser.add_argument("--shard", type=int, default=1_000_000)
parser.add_argument("--batch", type=int, default=10, help="shards on the disk at a time")
args = parser.parse_args()

CLASSES, COLUMNS = 20, 64
args.work.mkdir(parents=True, exist_ok=True)
centres = 1.2 * np.random.default_rng(0).standard_normal((CLASSES, COLUMNS), dtype=np.float32)


def shard(number, rows):
    chance = np.random.default_rng(number)
    truth = chance.integers(CLASSES, size=rows)
    return centres[truth] + 1.5 * chance.standard_normal((rows, COLUMNS), dtype=np.float32), truth


def command(*words):
    """Runs the program; returns its processor time and the most memory it took, in bytes."""
    child = subprocess.Popen([args.program, *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{words[0]} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


sample, truth = shard(10**9, 20_000)
np.save(args.work / "sample.npy", sample)
given = [f"{row},{truth[row]}" for of in range(CLASSES) for row in np.flatnonzero(truth == of)[:5]]
(args.work / "labels.csv").write_text("id,label\n" + "\n".join(given) + "\n")
model = args.work / "model.safetensors"
command("label", args.work / "sample.npy", "--labels", args.work / "labels.csv", "-o", args.work / "labelled.csv", "--save", model)
seconds, memory, done = 0.0, [], 0
while done < args.rows:
    files = []
    for _ in range(args.batch):
        files.append(args.work / f"rows-{done // args.shard:05}.npy")
        np.save(files[-1], shard(done // args.shard, args.shard)[0])
        done += args.shard
    took, most = command("predict", model, *files, "--as", "parquet")
    seconds, memory = seconds + took, [*memory, most]
    for file in files:
        for written in args.work.glob(f"{file.stem}*"):
            written.unlink()
    print(f"{done:>12,} rows  {done / seconds:>9,.0f} rows/s and core  {most / 2**20:.0f} MB", flush=True)
print(f"memory of a batch: {min(memory) / 2**20:.0f} to {max(memory) / 2**20:.0f} MB")
