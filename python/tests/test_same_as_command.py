"""Python and the command give the same bytes, and read each other's files."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import handful
from handful import HandfulClassifier, LabelledFold, bench, read_features, sample_tasks, write_features


@pytest.fixture
def files(pool, tmp_path):
    X, _, y = pool
    write_features(tmp_path / "pool.npz", X)
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label"])
        writer.writerows((row, name) for row, name in enumerate(y) if name)
    return tmp_path


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(values):
    return [f"{value:.4f}" for value in values]


@pytest.mark.parametrize("method", ["pool", "pool:fast", "pool:smoothing", "laplacianshot"])
def test_labels_and_models(pool, files, command, method):
    X, _, y = pool
    command(
        "label", "pool.npz", "--labels", "labels.csv", "--method", method, "-o", "out.csv", "--save", "m.safetensors"
    )
    clf = HandfulClassifier(method).fit(X, y)
    found = lines(files / "out.csv")
    table = clf.labelling_
    assert [line["label"] for line in found] == table.label.tolist()
    assert [line["source"] for line in found] == table.source.tolist()
    for name in ("probability", "credibility", "margin", "agreement", "familiarity"):
        assert [line[name] for line in found] == number(getattr(table, name)), name
    clf.save(files / "own.safetensors")
    assert (files / "own.safetensors").read_bytes() == (files / "m.safetensors").read_bytes()
    loaded = HandfulClassifier.load(files / "m.safetensors")
    assert loaded.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    command("predict", "own.safetensors", "pool.npz", "-o", "new.csv")
    assert [line["label"] for line in lines(files / "new.csv")] == clf.predict(X).tolist()
    assert [line["probability"] for line in lines(files / "new.csv")] == number(clf.label(X).probability)


def test_promises_rejection_and_review(pool, files, command):
    X, _, y = pool
    args = ["label", "pool.npz", "--labels", "labels.csv", "--max-error", "0.2", "--reject", "-o", "out.csv"]
    command(*args)
    clf = HandfulClassifier(reject=True).fit(X, y)
    written = {int(line["id"]): line["source"] for line in lines(files / "out.csv")}
    assert sorted(written) == sorted(np.flatnonzero(clf.accepted(0.2) | clf.rejected_))
    assert [row for row, source in written.items() if source == "rejected"] == np.flatnonzero(clf.rejected_).tolist()
    assert [int(line["id"]) for line in lines(files / "review.csv")] == clf.review(0.2).tolist()


def test_audits(pool, files, command):
    X, truth, y = pool
    rows = np.random.default_rng(5).choice(np.flatnonzero(y == ""), 60, replace=False)
    with open(files / "audit.csv", "w") as file:
        file.write("id,label\n" + "".join(f"{row},{truth[row]}\n" for row in rows))
    labels = ["--labels", "labels.csv", "--audit", "audit.csv"]
    command("label", "pool.npz", *labels, "--max-error", "0.2", "-o", "out.csv")
    y = y.copy()
    y[rows] = truth[rows]
    clf = HandfulClassifier().fit(X, y, audit=rows)
    assert [int(line["id"]) for line in lines(files / "out.csv")] == np.flatnonzero(clf.accepted(0.2)).tolist()
    assert clf.accepted(0.2).sum() > 100


def test_chosen_rows(pool, files, command):
    X, _, y = pool
    command("choose", "pool.npz", "-n", "25", "-o", "choose.csv")
    assert [int(line["id"]) for line in lines(files / "choose.csv")] == handful.choose_rows(X, 25).tolist()
    command("choose", "pool.npz", "--labels", "labels.csv", "-n", "25", "-o", "more.csv")
    assert [int(line["id"]) for line in lines(files / "more.csv")] == handful.choose_rows(X, 25, y).tolist()


def test_tasks_and_studies(pool, files, command):
    X, truth, _ = pool
    write_features(files / "labelled.npz", X, truth)
    table = read_features(files / "labelled.npz")
    setting = {"ways": 4, "shots": 2, "queries": 7, "seed": 5}
    flags = [text for key, value in setting.items() for text in (f"--{key}", value)]
    command("tasks", "sample", "labelled.npz", *flags, "--tasks", 40, "-o", "tasks.jsonl")
    tasks = sample_tasks(table, 40, **setting)
    assert tasks.text == (files / "tasks.jsonl").read_text()
    methods = ["protonet", "dm-ida:fast", "label-spreading"]
    printed = command(
        "bench", "labelled.npz", "--method", ",".join(methods), *flags, "--tasks", 40, "--format", "json", "--per-task"
    )
    expected = json.loads(printed)["methods"]
    for found in (bench(table, methods, tasks=40, **setting), bench((X, truth), methods, tasks=tasks)):
        assert [score["per_task"] for score in found.scores] == [score["per_task"] for score in expected]
        assert [score["significance"] for score in found.scores] == [score["significance"] for score in expected]
        assert [score["params"] for score in found.scores] == [score["params"] for score in expected]


@pytest.mark.parametrize("name", ["t.npy", "t.npz", "t.safetensors", "t.parquet", "t.csv", "t.tsv"])
def test_tables_survive_every_format(pool, tmp_path, name):
    X, truth, _ = pool
    write_features(tmp_path / name, X[:50], truth[:50], [f"row-{row}" for row in range(50)])
    table = read_features(tmp_path / name)
    assert table.X.tobytes() == X[:50].tobytes()
    assert table.y.tolist() == truth[:50].tolist() and table.ids == [f"row-{row}" for row in range(50)]
    assert table.to_pandas().shape == (50, X.shape[1] + 1)


def test_labels_of_a_file_replace_those_of_a_table(files, pool):
    table = read_features(files / "pool.npz", labels=files / "labels.csv")
    assert table.y.tolist() == pool[2].tolist()


def test_numbers_come_back_from_a_model_as_numbers(pool, tmp_path):
    X, truth, y = pool
    codes = np.where(y != "", np.unique(truth, return_inverse=True)[1], -1)
    HandfulClassifier("pool:fast").fit(X, codes).save(tmp_path / "m.safetensors")
    assert HandfulClassifier.load(tmp_path / "m.safetensors").classes_.tolist() == list(range(10))


def test_folds_keep_unlabelled_rows_in_training(pool):
    X, _, y = pool
    tested = []
    for train, test in LabelledFold(4, shuffle=True, random_state=1).split(X, y):
        assert (y[test] != "").all() and not np.intersect1d(train, test).size
        assert np.isin(np.flatnonzero(y == ""), train).all()
        tested.extend(test)
    assert sorted(tested) == np.flatnonzero(y != "").tolist()
