"""A cluster of two nodes, each of processes of its own. Needs Ray: ``pip install "ray[data]"``."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time

import numpy as np
import psutil
import pytest

import handful
from handful import FewShotClassifier, HandfulClassifier

ray = pytest.importorskip("ray")

import handful.ray as on_ray  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
MEMORY = 150 * 2**20


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": MEMORY})
    cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    ray.init(address=cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield cluster
    ray.shutdown()
    cluster.shutdown()


class Lost:
    """A further node that is killed in the middle of its work."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __enter__(self):
        self.node = self.cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        self.cluster.wait_for_nodes()
        self.killed_while, self.over = None, False
        self.watch = threading.Thread(target=self.kill_in_the_middle)
        self.watch.start()
        return self

    def work(self):
        """What the node's worker is at: Ray writes it where processes are listed."""
        raylet = psutil.Process(self.node.all_processes["raylet"][0].process.pid)
        for worker in raylet.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                title = " ".join(worker.cmdline())
                if title.startswith("ray::") and "IDLE" not in title:
                    return title
        return None

    def kill_in_the_middle(self):
        while not self.over:
            at_work = self.work()
            if at_work:
                self.killed_while = at_work
                self.cluster.remove_node(self.node, allow_graceful=False)
                return
            time.sleep(0.02)

    def __exit__(self, *exception):
        self.over = True
        self.watch.join()
        assert self.killed_while, "the work was over before the node had any"


def timeless(result):
    return [{k: v for k, v in score.items() if k not in ("seconds", "tasks_per_second")} for score in result.scores]


METHODS = ["protonet", "simpleshot", "dm-ida:fast", FewShotClassifier("tim-adm", params={"steps": 3})]


def test_a_study_is_that_of_one_machine(cluster, demo):
    alone = handful.bench(demo, METHODS, tasks=200, shots=5, progress=False)
    spread = on_ray.bench(demo, METHODS, tasks=200, shots=5, parts=7)
    assert timeless(spread) == timeless(alone)
    tasks = handful.sample_tasks(demo, 30, ways=3)
    listed = on_ray.bench(demo, METHODS, tasks=tasks, reference="simpleshot")
    assert timeless(listed) == timeless(handful.bench(demo, METHODS, tasks=tasks, reference="simpleshot"))


def test_a_lost_node_changes_nothing_of_a_study(cluster, demo):
    alone = handful.bench(demo, ["dm-ida"], tasks=1500, progress=False)
    with Lost(cluster):
        spread = on_ray.bench(demo, ["dm-ida"], tasks=1500, parts=60)
    assert timeless(spread) == timeless(alone)


def test_the_best_of_a_grid(cluster, demo):
    grid = {"steps": [1, 20], "learning_rate": [0.001, 0.1]}
    found = on_ray.tune(demo, "dm-ida", grid, tasks=40)
    points = [{"steps": steps, "learning_rate": rate} for steps in (1, 20) for rate in (0.001, 0.1)]
    alone = handful.bench(demo, [FewShotClassifier("dm-ida", params=p) for p in points], tasks=40, progress=False)
    assert timeless(found.result) == timeless(alone)
    best = int(np.argmax([score["accuracy"] for score in alone.scores]))
    assert found.params == points[best] and found.accuracy == alone.scores[best]["accuracy"]
    with pytest.raises(ValueError, match="grid must be"):
        on_ray.tune(demo, "dm-ida", {})


def dataset(X, y, blocks):
    rows = [{"id": f"row-{n:05}", "features": X[n], "label": str(y[n])} for n in range(len(X))]
    return ray.data.from_items(rows, override_num_blocks=blocks)


def by_one_machine(X, y, sample):
    """The same sample, fitted and used without Ray."""
    names = np.array([f"row-{n:05}" for n in range(len(X))])
    chosen = np.flatnonzero(on_ray.sampled(names, sample / len(X)) | (y != ""))
    model = HandfulClassifier().fit(X[chosen], y[chosen])
    found = model.label(X)
    return names, np.where(y != "", y, found.label), np.where(y != "", np.float32(1), found.probability)


def check_labels(labelled, X, y, sample):
    rows = sorted(labelled.take_all(), key=lambda row: row["id"])
    names, label, probability = by_one_machine(X, y, sample)
    assert [row["id"] for row in rows] == names.tolist()
    assert [row["label"] for row in rows] == label.tolist()
    assert np.array([row["probability"] for row in rows], dtype=np.float32).tobytes() == probability.tobytes()
    assert "features" not in rows[0]
    assert [row["source"] == "given" for row in rows] == (y != "").tolist()


def test_a_dataset_is_labelled_as_by_one_machine(cluster, pool, tmp_path):
    X, _, y = pool
    labelled = on_ray.label_dataset(dataset(X, y, 7), "label", sample=400, batch_size=130, output=tmp_path / "out")
    check_labels(labelled, X, y, 400)
    # Labels by name, and other blocks: the same.
    given = {f"row-{n:05}": str(y[n]) for n in np.flatnonzero(y != "")}
    others = dataset(X, y, 3).drop_columns(["label"])
    check_labels(on_ray.label_dataset(others, given, sample=400), X, y, 400)


def test_a_lost_node_changes_nothing_of_labels(cluster, pool):
    X, _, y = pool

    def slowly(batch):
        time.sleep(0.5)
        return batch

    with Lost(cluster):
        slow = dataset(X, y, 20).map_batches(slowly, batch_size=50)
        check_labels(on_ray.label_dataset(slow, "label", sample=400, batch_size=50), X, y, 400)


def test_a_full_disk_leaves_nothing_half_written(cluster, pool, tmp_path):
    X, _, y = pool
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can be made by root alone")
    try:
        with pytest.raises(OSError, match=f"{disk}/labels could not be written, and nothing is left"):
            on_ray.label_dataset(dataset(X, y, 5), "label", sample=400, output=disk / "labels")
        assert list((disk / "labels").iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    labelled = on_ray.label_dataset(dataset(X, y, 5), "label", sample=400, output=tmp_path / "labels")
    check_labels(labelled, X, y, 400)
    with pytest.raises(FileExistsError, match="has labels already"):
        on_ray.label_dataset(dataset(X, y, 5), "label", sample=400, output=tmp_path / "labels")


def test_tables_of_several_runs_are_those_of_one_machine_and_go_on(cluster, tmp_path):
    runs = {"shipped": None, "unbalanced": {"preset": "balanced"}}
    targets = ["table1", "table6"]
    folders = on_ray.reproduce(runs, tmp_path / "all", targets=targets, tasks=6)

    def cells(folder):
        rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
        return [{k: v for k, v in row.items() if k not in ("seconds", "machine")} for row in rows]

    for name, settings in runs.items():
        alone = tmp_path / f"alone-{name}"
        for target in targets:
            handful.reproduce(target, alone, tasks=6, options=settings, verbose=False)
        assert cells(folders[name]) == cells(alone)
        assert (folders[name] / "report.html").exists()
    # A stop in the middle of a line; and a table that had not begun.
    part = folders["shipped"] / "parts" / "table6" / "results.jsonl"
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    before = cells(folders["shipped"])
    kept = whole[: len(whole) // 2].rsplit(b"\n", 1)[0]
    on_ray.reproduce(runs, tmp_path / "all", targets=targets, tasks=6)
    assert cells(folders["shipped"]) == before
    assert part.read_bytes().startswith(kept), "what was finished is not computed again"
    with pytest.raises(ValueError, match="nothing to compute"):
        on_ray.reproduce({})


def test_images_of_a_dataset_are_embedded_as_by_one_machine(cluster):
    rng = np.random.default_rng(1)
    images = rng.integers(0, 255, size=(12, 32, 32, 3), dtype=np.uint8)
    ds = ray.data.from_items([{"id": n, "image": images[n]} for n in range(12)], override_num_blocks=3)
    rows = sorted(on_ray.embed_dataset(ds, weights="compact", batch_size=5).take_all(), key=lambda row: row["id"])
    alone = handful.embed(list(images), weights="compact")
    assert np.stack([row["features"] for row in rows]).tobytes() == alone.X.tobytes()


def test_what_is_wrong_is_named(cluster, pool):
    X, _, y = pool
    ds = dataset(X[:50], y[:50], 2)
    with pytest.raises(ValueError, match="no column 'labels'; it has"):
        on_ray.label_dataset(ds, "labels")
    with pytest.raises(ValueError, match="no row 'row-99'"):
        on_ray.label_dataset(ds, {"row-99": "a", "row-00001": "b"})
    with pytest.raises(ValueError, match="row-00000' is there twice"):
        on_ray.label_dataset(ds.union(dataset(X[:4], y[:4], 1)), {"row-00003": "a", "row-00001": "b"}, sample=60)
