"""Studies, and methods written in Python."""

from __future__ import annotations

import numpy as np
import pytest

import handful
from handful import FewShotClassifier, Method, TaskList, bench, sample_tasks


class NearestMean(Method):
    name = "nearest-mean"
    uses_unlabeled = False

    def solve(self, task):
        def unit(rows):
            rows = np.sqrt(np.maximum(rows, 0)) if (task.support >= 0).all() else rows
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        support, query = unit(task.support), unit(task.query)
        means = np.stack([support[task.support_labels == label].mean(axis=0) for label in range(task.ways)])
        return -((query[:, None] - means) ** 2).sum(axis=-1)


def test_a_method_of_python_solves_the_tasks_of_rust(demo):
    tasks = sample_tasks(demo, 60, ways=5, shots=5, seed=3)
    result = bench(demo, ["protonet", NearestMean(), FewShotClassifier("dm-ida", "fast")], tasks=tasks, progress=False)
    own = []
    for number in range(len(tasks)):
        task, truth = tasks.task(number)
        own.append(float((NearestMean().solve(task).argmax(axis=1) == truth).mean()))
    assert result.scores[1]["per_task"] == pytest.approx(own)
    assert abs(result.scores[1]["accuracy"] - result.scores[0]["accuracy"]) < 0.05
    assert result.labels == ["protonet", "nearest-mean", "dm-ida:fast"]
    assert result.scores[1]["prior"] == {"setting": "inductive", "knows_class_sizes": False}


def test_a_method_sees_the_pool_and_no_truth(demo):
    seen = []

    class Looking(NearestMean):
        name = "looking"

        def solve(self, task):
            seen.append((task.unlabeled.shape, task.query.shape, task.ways, sorted(vars(task))))
            return super().solve(task)

    bench(demo, [Looking()], tasks=5, ways=3, queries=4, unlabeled=6, progress=False)
    names = ["id", "query", "support", "support_labels", "unlabeled", "ways"]
    assert seen == [((18, 256), (12, 256), 3, names)] * 5


def test_a_registered_method_solves_a_single_task_as_in_a_study(demo):
    tasks = sample_tasks(demo, 8, shots=5, seed=2)
    accuracies = []
    for number in range(len(tasks)):
        task, truth = tasks.task(number)
        clf = FewShotClassifier("dm-ida", random_state=number).fit(task.support, task.support_labels)
        accuracies.append(float((clf.predict(task.query) == truth).mean()))
    assert bench(demo, ["dm-ida"], tasks=tasks, progress=False).scores[0]["per_task"] == accuracies


def test_results_as_tables_frames_and_html(demo):
    result = bench(demo, ["protonet", "simpleshot", "dm-ida:fast"], tasks=50, progress=False)
    assert "accuracy %" in result.table() and result.table().splitlines()[2].startswith("protonet")
    assert result.csv().startswith("method,preset,accuracy")
    frame = result.to_pandas()
    assert list(frame.index) == result.labels
    assert frame.loc["simpleshot", "accuracy"] == result.scores[1]["accuracy"]
    assert frame["p_paired_t"].notna().tolist() == [False, True, True]
    per_task = result.per_task()
    assert per_task.shape == (50, 3)
    difference = (per_task["dm-ida:fast"] - per_task["protonet"]).mean()
    assert result.scores[2]["difference"]["mean"] == pytest.approx(difference)
    again = result.compared_to("dm-ida:fast")
    assert again.scores[0]["difference"]["mean"] == pytest.approx(-difference)
    page = result._repr_html_()
    assert page.count("<tr>") == 4 and "<th>accuracy %</th>" in page and "protonet" in page
    assert "dm-ida:fast" in repr(result)


def test_progress_is_told(demo):
    told = []
    bench(demo, ["protonet"], tasks=30, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (30, 30) and all(total == 30 for _, total in told)


def test_an_exception_of_the_progress_ends_the_study(demo):
    class Enough(Exception):
        pass

    def enough(done, total):
        raise Enough

    with pytest.raises(Enough):
        bench(demo, ["dm-ida"], tasks=100_000, progress=enough)


def test_task_lists_are_read_and_written(demo, tmp_path):
    tasks = sample_tasks(demo, 10, ways=3, unlabeled=4, distractor_classes=2, distractor_rows=3, seed=9)
    tasks.save(tmp_path / "tasks.jsonl")
    read = TaskList.read(tmp_path / "tasks.jsonl", demo)
    assert list(read) == list(tasks) and len(read[0].distractors) == 6
    task, truth = read.task(0)
    assert task.unlabeled.shape == (18, 256) and len(truth) == len(task.query) == 45
    made = TaskList.of(demo, list(tasks))
    first = bench(demo, ["protonet"], tasks=made, progress=False)
    assert first.scores[0]["per_task"] == bench(demo, ["protonet"], tasks=tasks, progress=False).scores[0]["per_task"]


def test_methods_and_their_parameters():
    assert len(handful.methods()) >= 29 and handful.methods()["dm-ida"][0] == "default"
    params = handful.method_params("dm-ida", "fast", {"learning_rate": 0.5})
    assert params["learning_rate"] == 0.5
