"""Bad input gets Python's own errors, with the row and the value; nothing panics."""

from __future__ import annotations

import numpy as np
import pytest

import handful
from handful import FewShotClassifier, HandfulClassifier, LabelledFold, Method, _handful, bench, choose_rows

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 6)).astype(np.float32)
Y = np.where(np.arange(40) < 8, np.arange(40) % 2, -1)
FULL = np.arange(40) % 4
EMPTY = np.zeros((0, 6), dtype=np.float32)


def with_value(value, row=7, column=2):
    bad = X.astype(np.float64)
    bad[row, column] = value
    return bad


class Wrong(Method):
    name = "wrong"

    def __init__(self, answer):
        self.answer = answer

    def solve(self, task):
        return self.answer(task)


def fitted():
    return HandfulClassifier("pool:fast").fit(X, Y)


def study(answer):
    return bench((X, FULL), [Wrong(answer)], tasks=4, ways=2, queries=3, progress=False)


NAMED = {
    "NaN in the pool": (lambda: HandfulClassifier().fit(with_value(np.nan), Y), "row 7, column 2 is NaN"),
    "infinity in the pool": (lambda: HandfulClassifier().fit(with_value(-np.inf), Y), "row 7, column 2 is -inf"),
    "NaN in new rows": (lambda: fitted().predict(with_value(np.nan, row=3)), "row 3, column 2 is NaN"),
    "NaN in probabilities": (lambda: fitted().predict_proba(with_value(np.nan, row=3)), "row 3, column 2 is NaN"),
    "NaN in a support": (lambda: FewShotClassifier().fit(with_value(np.nan), Y), "row 7, column 2 is NaN"),
    "NaN in a query": (lambda: FewShotClassifier().fit(X, Y).predict(with_value(np.nan)), "row 7, column 2 is NaN"),
    "NaN of one class": (lambda: HandfulClassifier().fit(with_value(np.nan), Y * 0), "row 7, column 2 is NaN"),
    "NaN to choose from": (lambda: choose_rows(with_value(np.nan), 3), "row 7, column 2 is NaN"),
    "NaN to bench": (lambda: bench((with_value(np.nan), FULL)), "row 7, column 2 is NaN"),
    "other width": (lambda: fitted().predict(X[:, :4]), "X has 4 features"),
    "one dimension": (lambda: HandfulClassifier().fit(X[0], Y), "1D array"),
    "three dimensions": (lambda: HandfulClassifier().fit(X[None], Y), "dim 3"),
    "strings as features": (lambda: HandfulClassifier().fit(X.astype(str)[:, :2] + "x", Y), "could not convert"),
    "words as features": (lambda: HandfulClassifier().fit([["a"], ["b"]], [0, 1]), "could not convert"),
    "complex features": (lambda: HandfulClassifier().fit(X * 1j, Y), "[Cc]omplex"),
    "no rows": (lambda: HandfulClassifier().fit(EMPTY, []), "0 sample"),
    "no columns": (lambda: HandfulClassifier().fit(X[:, :0], Y), "0 feature"),
    "y too short": (lambda: HandfulClassifier().fit(X, Y[:-1]), r"\[40, 39\]"),
    "y of a table": (lambda: HandfulClassifier().fit(X, np.stack([Y, Y], axis=1)), "1d array"),
    "no y": (lambda: HandfulClassifier().fit(X, None), "y is None"),
    "all unlabelled": (lambda: HandfulClassifier().fit(X, np.full(40, -1)), "all 40 rows are unlabelled"),
    "all unlabelled strings": (lambda: HandfulClassifier().fit(X, [""] * 40), "all 40 rows are unlabelled"),
    "all unlabelled few shot": (lambda: FewShotClassifier().fit(X, [None] * 40), "all 40 rows are unlabelled"),
    "continuous y": (lambda: HandfulClassifier().fit(X, RNG.normal(size=40)), "continuous"),
    "infinite y": (lambda: HandfulClassifier().fit(X, np.where(Y == 0, np.inf, Y)), r"y\[0\] is inf"),
    "mixed y": (lambda: HandfulClassifier().fit(X, np.array([0, "a"] * 20, dtype=object)), "int and str|label type"),
    "the same row in two classes": (
        lambda: HandfulClassifier().fit(np.repeat(X[:20], 2, axis=0), np.arange(40) % 2),
        "rows 0 and 1 have the same features",
    ),
    "unknown method": (lambda: HandfulClassifier("laplacianshott").fit(X, Y), "did you mean laplacianshot"),
    "unknown preset": (lambda: HandfulClassifier("pool:fats").fit(X, Y), "did you mean fast"),
    "unknown parameter": (lambda: HandfulClassifier(params={"neighbors": 3}).fit(X, Y), "did you mean neighbours"),
    "parameter of another kind": (
        lambda: HandfulClassifier(params={"neighbours": "few"}).fit(X, Y),
        "neighbours = few",
    ),
    "parameter out of range": (lambda: HandfulClassifier(components=0).fit(X, Y), "components = 0"),
    "negative parameter": (lambda: HandfulClassifier(neighbours=-4).fit(X, Y), "neighbours = -4"),
    "parameters that are no dict": (lambda: HandfulClassifier(params=[1]).fit(X, Y), "must be a dict"),
    "a method that is no name": (lambda: HandfulClassifier(method=3).fit(X, Y), "must be a name"),
    "unknown few-shot method": (lambda: FewShotClassifier("dm_ida").fit(X, Y), "did you mean dm-ida"),
    "unknown few-shot preset": (lambda: FewShotClassifier("dm-ida", "fastest").fit(X, Y), "did you mean fast"),
    "a preset that is no name": (lambda: FewShotClassifier("dm-ida", 4).fit(X, Y), "must be a name"),
    "unknown few-shot parameter": (
        lambda: FewShotClassifier(params={"learnin_rate": 1}).fit(X, Y),
        "did you mean learning_rate",
    ),
    "too few labels to reject": (lambda: HandfulClassifier(reject=True).fit(X, Y), "reject needs at least 10"),
    "max_error of 0": (lambda: fitted().accepted(0), "max_error = 0"),
    "max_error of NaN": (lambda: fitted().accepted(float("nan")), "max_error = NaN"),
    "another promise": (lambda: fitted().accepted(0.1, promise="sure"), "promise"),
    "audit of an unlabelled row": (lambda: HandfulClassifier().fit(X, Y, audit=[0, 9]), "audit names row 9"),
    "audit that is no numbers": (lambda: HandfulClassifier().fit(X, Y, audit=[0.5]), "row numbers"),
    "choose none": (lambda: choose_rows(X, 0), "n = 0"),
    "choose among labelled": (lambda: choose_rows(X, 3, y=FULL), "labelled already"),
    "choose with another y": (lambda: choose_rows(X, 3, y=Y[:3]), r"shape \(3,\)"),
    "choose of strings": (lambda: choose_rows([["a"]], 1), "must be numbers"),
    "one fold": (lambda: LabelledFold(1), "k-fold"),
    "more folds than labels": (lambda: list(LabelledFold(9).split(X, Y)), "n_splits=9"),
    "unknown method in a study": (lambda: bench((X, FULL), ["protonets"]), "did you mean protonet"),
    "no method in a study": (lambda: bench((X, FULL), [], ways=2, queries=3), "at least one"),
    "no task": (lambda: bench((X, FULL), tasks=0), "tasks = 0"),
    "more ways than classes": (lambda: bench((X, FULL), ways=9), "4 classes"),
    "more rows than there are": (lambda: bench((X, FULL), ways=2, queries=50), "10 rows"),
    "unknown setting": (lambda: bench((X, FULL), way=2), "unknown field"),
    "setting of another kind": (lambda: bench((X, FULL), ways="two"), "invalid type"),
    "a study without labels": (lambda: bench(X), "0 classes"),
    "a method of another kind": (lambda: bench((X, FULL), [3]), "got 3"),
    "unknown reference": (lambda: bench((X, FULL), ["protonet"], tasks=2, ways=2, queries=3, reference="x"), "'x'"),
    "labels of another length": (lambda: study(lambda task: np.zeros(2, dtype=int)), r"shape \(6,\)"),
    "labels out of range": (lambda: study(lambda task: np.full(6, 2)), "query 0 has label 2"),
    "labels that are floats": (lambda: study(lambda task: np.zeros(6)), "float64"),
    "probabilities of another shape": (lambda: study(lambda task: np.zeros((6, 3))), r"shape \[6, 3\]"),
    "probabilities that are NaN": (lambda: study(lambda task: np.full((6, 2), np.nan)), "is NaN"),
    "ids that are not different": (
        lambda: handful.FeatureTable.from_arrays(X, ids=["a"] * 40),
        "`?a`?",
    ),
    "too few ids": (lambda: handful.FeatureTable.from_arrays(X, ids=["a"]), "1 ids"),
    "an unknown kind of file": (lambda: handful.write_features("x.docx", X), "x.docx"),
    "a one-class model": (lambda: HandfulClassifier().fit(X, Y * 0).save("m.safetensors"), "one class"),
    "bytes that are no model": (lambda: _handful.Model.from_bytes(b"nonsense"), "not a whole model"),
    "bytes that are no labelling": (lambda: _handful.Labelling.from_bytes(b"\xff" * 9), "not a labelling"),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_is_wrong_is_named(case):
    call, words = NAMED[case]
    with pytest.raises(ValueError, match=words):
        call()


def raw_pool():
    return _handful.Pool(X, "pool:fast", [], False)


NUMBERS = np.array([0, 1], dtype=np.int64)
NONE = NUMBERS[:0]
TASK = {"support": X[:4], "support_labels": FULL[:4], "unlabeled": None, "query": X[4:], "ways": 4, "id": 0}
RAW = {
    "objects as features": lambda: HandfulClassifier().fit([[{}], [{}]], [0, 1]),
    "double precision": lambda: _handful.Pool(X.astype(np.float64), "pool", [], False),
    "columns first": lambda: _handful.Pool(np.asfortranarray(X), "pool", [], False),
    "every other column": lambda: _handful.Pool(X[:, ::2], "pool", [], False),
    "not aligned": lambda: _handful.Pool(
        np.frombuffer(bytearray(X.nbytes + 1), dtype=np.uint8)[1:].view(np.float32).reshape(X.shape),
        "pool:x",
        [],
        False,
    ),
    "no rows": lambda: _handful.Pool(EMPTY, "pool", [], False),
    "no columns": lambda: _handful.Pool(X[:, :0], "pool", [], False),
    "no array": lambda: _handful.Pool(None, "pool", [], False),
    "no name": lambda: _handful.Pool(X, None, [], False),
    "changes of three": lambda: _handful.Pool(X, "pool", [("a", "b", "c")], False),
    "negative row": lambda: raw_pool().fit(-NUMBERS - 1, NUMBERS, ["a", "b"], NONE),
    "row beyond": lambda: raw_pool().fit(NUMBERS + 99, NUMBERS, ["a", "b"], NONE),
    "audit beyond": lambda: raw_pool().fit(NUMBERS, NUMBERS, ["a", "b"], -NUMBERS - 1),
    "class beyond": lambda: raw_pool().fit(NUMBERS, NUMBERS + 7, ["a", "b"], NONE),
    "class without a label": lambda: raw_pool().fit(NUMBERS, NUMBERS, ["a", "b", "c"], NONE),
    "one class": lambda: raw_pool().fit(NUMBERS[:1], NUMBERS[:1], ["a"], NONE),
    "no class": lambda: raw_pool().fit(NUMBERS[:0], NUMBERS[:0], [], NONE),
    "fewer classes": lambda: raw_pool().fit(NUMBERS, NUMBERS[:1], ["a", "b"], NONE),
    "choose beyond": lambda: raw_pool().choose(NUMBERS + 99, 3),
    "choose negative": lambda: raw_pool().choose(NUMBERS, -3),
    "other flags": lambda: raw_pool().review_order(
        raw_pool().fit(NUMBERS, NUMBERS, ["a", "b"], NONE)[1], np.ones(3, dtype=bool)
    ),
    "another pool's labels": lambda: _handful.Pool(X[:9], "pool:fast", [], False).review_order(
        raw_pool().fit(NUMBERS, NUMBERS, ["a", "b"], NONE)[1], np.ones(40, dtype=bool)
    ),
    "no model": lambda: _handful.Model.load("/nowhere/model.safetensors"),
    "a folder as a model": lambda: _handful.Model.load("/"),
    "a table that is not there": lambda: _handful.Table.read("/nowhere/table.npz"),
    "class beyond the names": lambda: _handful.Table.from_arrays(X, FULL, ["a"]),
    "fewer classes than rows": lambda: _handful.Table.from_arrays(X, FULL[:3], list("abcd")),
    "a setting that is no JSON": lambda: _handful.sample_tasks(
        _handful.Table.from_arrays(X, FULL, list("abcd")), "{", 1, 1
    ),
    "a negative seed": lambda: _handful.sample_tasks(_handful.Table.from_arrays(X, FULL, list("abcd")), "{}", 1, -1),
    "tasks of another table": lambda: _handful.run_study(
        _handful.Table.from_arrays(X, FULL, list("abcd")),
        [("protonet", None, [])],
        tasks='{"handful_tasks":1,"rows":3,"dim":6}\n',
    ),
    "tasks that are no list": lambda: _handful.run_study(
        _handful.Table.from_arrays(X, FULL, list("abcd")), [("protonet", None, [])], tasks="nonsense"
    ),
    "a method without a name": lambda: _handful.run_study(
        _handful.Table.from_arrays(X, FULL, list("abcd")), [object()], setting='{"ways":2,"queries":3}', count=2
    ),
    "a task without a query": lambda: _handful.solve("protonet", None, [], {}),
    "a task of one class": lambda: _handful.solve("protonet", None, [], TASK | {"ways": 1}),
    "a task with an empty class": lambda: _handful.solve("protonet", None, [], TASK | {"ways": 9}),
    "a task with a class beyond": lambda: _handful.solve("protonet", None, [], TASK | {"ways": 2}),
    "a task of two widths": lambda: _handful.solve(
        "protonet", None, [], TASK | {"query": np.ascontiguousarray(X[:, :3])}
    ),
    "a task with fewer labels": lambda: _handful.solve("protonet", None, [], TASK | {"support_labels": FULL[:2]}),
}


@pytest.mark.parametrize("case", RAW)
def test_the_module_itself_refuses_nonsense(case):
    with pytest.raises((ValueError, TypeError, OSError, KeyError, OverflowError, AttributeError)) as caught:
        RAW[case]()
    assert "bug" not in str(caught.value)


def test_there_are_more_than_fifty_of_them():
    assert len(NAMED) + len(RAW) > 50


def test_an_exception_of_a_method_comes_back_as_it_was():
    class Special(Exception):
        pass

    def fail(task):
        raise Special("here")

    with pytest.raises(Special, match="here"):
        study(fail)


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        handful.read_features("nowhere.npz")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.safetensors"):
        HandfulClassifier.load("nowhere.safetensors")
    with pytest.raises(OSError, match="nowhere"):
        fitted().save("/nowhere/model.safetensors")
