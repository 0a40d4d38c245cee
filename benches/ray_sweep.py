"""A study of eight methods over a local Ray cluster of two nodes, against one process with two threads.

    pip install "handful[ray]"
    python benches/ray_sweep.py [FEATURES.npz] [--tasks 10000]

Without features it takes those that come with the package. Prints whether every number is the same, and what the cluster
costs in time.
"""

import argparse
import time

import handful
import handful.ray
import ray
from ray.cluster_utils import Cluster

METHODS = ["protonet", "simpleshot", "bd-cspn", "laplacianshot", "tim-gd", "alpha-tim", "pt-map", "dm-ida"]

parser = argparse.ArgumentParser()
parser.add_argument("features", nargs="?")
parser.add_argument("--tasks", type=int, default=10_000)
args = parser.parse_args()
features = args.features or handful.demo_features()

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
cluster.add_node(num_cpus=1)
ray.init(address=cluster.address, log_to_driver=False)
handful.ray.bench(features, ["protonet"], tasks=8)  # both nodes have a worker now


def timed(study):
    start = time.perf_counter()
    result = study()
    return result, time.perf_counter() - start


spread, on_ray = timed(lambda: handful.ray.bench(features, METHODS, tasks=args.tasks))
alone, here = timed(lambda: handful.bench(features, METHODS, tasks=args.tasks, threads=2, progress=False))
timings = ("seconds", "tasks_per_second")
same = [{k: v for k, v in score.items() if k not in timings} for score in spread.scores] == [
    {k: v for k, v in score.items() if k not in timings} for score in alone.scores
]
print(f"{args.tasks} tasks, {len(METHODS)} methods: {'the same' if same else 'NOT the same'} scores")
print(f"two nodes {on_ray:.1f} s, two threads {here:.1f} s: {100 * (on_ray / here - 1):+.1f} %")
ray.shutdown()
cluster.shutdown()
