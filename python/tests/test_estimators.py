"""The estimators behave as scikit-learn's do."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from handful import FewShotClassifier, HandfulClassifier, LabelledFold, choose_rows

MINUS_ONE = {"check_classifiers_classes": "uses -1 as a class, which means unlabelled here as in scikit-learn's own"}
TOGETHER = {
    "check_methods_sample_order_invariance": "a transductive method labels the rows of a query together",
    "check_methods_subset_invariance": "a transductive method labels the rows of a query together",
}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (HandfulClassifier(), MINUS_ONE),
        (HandfulClassifier("pool:fast"), MINUS_ONE),
        (FewShotClassifier("protonet"), MINUS_ONE),
        (FewShotClassifier("dm-ida"), MINUS_ONE | TOGETHER),
    ],
    ids=repr,
)
def test_scikit_learns_own_checks(estimator, expected):
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(expected)
    assert sum(result["status"] == "passed" for result in results) > 45


def test_a_pool_is_labelled_and_worth_is_told(pool):
    X, truth, y = pool
    clf = HandfulClassifier().fit(X, y)
    given = y != ""
    assert (clf.transduction_[given] == y[given]).all()
    assert (clf.transduction_ == truth).mean() > 0.75
    assert clf.label_distributions_.shape == (1000, 10)
    assert np.allclose(clf.label_distributions_.sum(axis=1), 1, atol=1e-5)
    assert (clf.label_distributions_[given].max(axis=1) == 1).all()
    agree = clf.classes_[clf.label_distributions_.argmax(axis=1)] == clf.transduction_
    assert agree.mean() > 0.995
    assert (clf.probability_[given] == 1).all()
    assert clf.credibility_.min() >= 0 and clf.credibility_.max() <= 1
    assert clf.calibration_.fitted and clf.calibration_.labels_left_out == 40
    assert sorted(clf.review_order_) == sorted(np.flatnonzero(~given))
    right = clf.transduction_ == truth
    confident = np.argsort(-clf.probability_)[:500]
    assert right[confident].mean() > right.mean()


def test_accepted_rows_are_fewer_the_stricter_the_promise(pool):
    X, truth, y = pool
    clf = HandfulClassifier().fit(X, y)
    strict, loose = clf.accepted(0.1), clf.accepted(0.3)
    assert strict.dtype == bool and (strict <= loose).all() and loose.sum() > strict.sum() >= 40
    assert (clf.transduction_[loose] != truth[loose]).mean() < 0.3
    found = clf.acceptance(0.3, promise="expected")
    assert found.count == (found.accepted & (y == "")).sum()
    left = clf.review(max_error=0.3)
    assert not loose[left].any() and len(left) == (~loose).sum()


def test_strangers_are_rejected(pool):
    X, truth, y = pool
    known = np.isin(truth, np.unique(truth)[:5])
    y = np.where(known, y, "")
    # Two and more labels of each class are needed to know what is familiar.
    for name in np.unique(truth)[:5]:
        rows = np.flatnonzero(truth == name)[:8]
        y[rows] = name
    clf = HandfulClassifier(reject=True).fit(X, y)
    assert clf.rejected_[~known].mean() > 2 * clf.rejected_[known].mean()
    assert not clf.rejected_[y != ""].any()
    assert (clf.labelling_.source[clf.rejected_] == "rejected").all()
    assert not np.isin(np.flatnonzero(clf.rejected_), clf.review_order_).any()


def test_a_wrong_label_is_doubted(pool):
    X, truth, y = pool
    y = y.copy()
    for name in np.unique(truth):
        y[np.flatnonzero(truth == name)[:8]] = name
    names = np.unique(truth)
    sure = HandfulClassifier().fit(X, y)
    wrong = max(np.flatnonzero(y == names[0]), key=lambda row: sure.label_distributions_[row, 0])
    y[wrong] = names[5]
    doubted = [label.row for label in HandfulClassifier().fit(X, y).doubtful_]
    assert wrong in doubted[:10]


@pytest.mark.parametrize(
    "unlabelled",
    [
        lambda truth, known: np.where(known, truth, ""),
        lambda truth, known: np.where(known, truth, None),
        lambda truth, known: pd.Series(np.where(known, truth, None)),
        lambda truth, known: pd.Series(np.where(known, truth, None), dtype="string"),
        lambda truth, known: pd.Series(pd.Categorical(np.where(known, truth, None))),
        lambda truth, known: pl.Series(np.where(known, truth, None).tolist()),
        lambda truth, known: [name if flag else float("nan") for name, flag in zip(truth, known, strict=True)],
    ],
    ids=["empty", "none", "pandas", "pandas-string", "pandas-categorical", "polars", "nan"],
)
def test_every_way_of_saying_unlabelled_is_the_same(pool, unlabelled):
    X, truth, y = pool
    known = y != ""
    clf = HandfulClassifier("pool:fast").fit(X, unlabelled(truth, known))
    expected = HandfulClassifier("pool:fast").fit(X, y)
    assert list(clf.classes_) == list(expected.classes_)
    assert (clf.transduction_ == expected.transduction_).all()


def test_numbers_as_labels(pool):
    X, truth, y = pool
    names, codes = np.unique(truth, return_inverse=True)
    expected = HandfulClassifier("pool:fast").fit(X, y)
    for labels in (
        np.where(y != "", codes, -1),
        np.where(y != "", codes, np.nan),
        pd.Series(np.where(y != "", codes, pd.NA), dtype="Int64"),
        pl.Series([int(code) if name else None for code, name in zip(codes, y, strict=True)]),
    ):
        clf = HandfulClassifier("pool:fast").fit(X, labels)
        assert (names[clf.transduction_.astype(int)] == expected.transduction_).all()
        assert clf.probability_.tobytes() == expected.probability_.tobytes()


def test_data_frames_and_feature_names(pool):
    X, _, y = pool
    names = [f"f{column}" for column in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    expected = HandfulClassifier("pool:fast").fit(X, y)
    for data in (frame, pl.DataFrame(X, schema=names)):
        clf = HandfulClassifier("pool:fast").fit(data, y)
        assert list(clf.feature_names_in_) == names
        assert (clf.predict(data[:50]) == expected.predict(X[:50])).all()
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame.rename(columns={"f0": "other"}))
    out = clf.labelling_.to_pandas(index=frame.index)
    assert list(out.columns)[:5] == ["label", "probability", "credibility", "source", "margin"]
    assert clf.labelling_.to_polars().shape == (1000, 8)
    assert "<table" in clf.labelling_._repr_html_()


def test_pipelines_clones_and_grids(pool):
    X, truth, y = pool
    pipe = make_pipeline(StandardScaler(), HandfulClassifier("pool:fast"))
    assert (pipe.fit(X, y).predict(X) == truth).mean() > 0.6
    clf = HandfulClassifier("pool:fast", neighbours=7)
    assert clone(clf).get_params() == clf.get_params()
    folds = LabelledFold(4)
    search = GridSearchCV(clf, {"neighbours": [5, 15], "class_balance": [0.0, 1.0]}, cv=folds, n_jobs=2)
    search.fit(X, y)
    assert search.best_score_ > 0.6 and search.best_estimator_.transduction_.shape == (1000,)
    plain = cross_val_score(clf, X, y, cv=4, error_score="raise")
    assert plain.mean() < 0.2 < cross_val_score(clf, X, y, cv=folds).mean(), "unlabelled rows count as errors"


def test_a_pickle_answers_as_its_original(pool):
    X, _, y = pool
    clf = HandfulClassifier(reject=True, params={"neighbours": 12}).fit(X, y)
    copy = pickle.loads(pickle.dumps(clf))
    assert copy.get_params() == clf.get_params()
    assert copy.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    assert copy.label_distributions_.tobytes() == clf.label_distributions_.tobytes()
    assert (copy.review_order_ == clf.review_order_).all()
    assert (copy.accepted(0.2) == clf.accepted(0.2)).all()
    assert copy.calibration_ == clf.calibration_ and (copy.rejected_ == clf.rejected_).all()
    assert (copy.fit(X, y).transduction_ == clf.transduction_).all()
    few = FewShotClassifier("protonet").fit(X[y != ""], y[y != ""])
    assert (pickle.loads(pickle.dumps(few)).predict(X) == few.predict(X)).all()


def test_other_methods_label_pools(pool):
    X, truth, y = pool
    clf = HandfulClassifier("laplacianshot").fit(X[:500], y[:500])
    assert (clf.transduction_ == truth[:500]).mean() > 0.5


def test_one_class_is_enough(pool):
    X, truth, y = pool
    one = np.where(y == truth[0], y, "")
    clf = HandfulClassifier().fit(X, one)
    assert (clf.transduction_ == truth[0]).all() and (clf.predict(X) == truth[0]).all()
    assert clf.label_distributions_.shape == (1000, 1) and clf.accepted(0.1).sum() == (one != "").sum()
    assert len(clf.review_order_) == 0
    assert (pickle.loads(pickle.dumps(clf)).predict(X[:3]) == truth[0]).all()


def test_few_shot_tasks_with_and_without_a_pool(pool):
    X, truth, y = pool
    known = y != ""
    alone = FewShotClassifier("dm-ida", preset="fast").fit(X[known], y[known])
    with_pool = FewShotClassifier("dm-ida", preset="fast").fit(X[:600], y[:600])
    assert (alone.predict(X[~known]) == truth[~known]).mean() > 0.6
    assert (with_pool.predict(X[600:]) == truth[600:]).mean() > 0.6
    assert len(with_pool.support_) == known[:600].sum()


def test_chosen_rows_cover_and_skip_what_is_labelled(pool):
    X, truth, y = pool
    rows, coverage = choose_rows(X, 30, return_coverage=True)
    assert len(set(rows)) == 30 and (np.diff(coverage) > 0).all()
    assert len(set(truth[rows])) >= 9
    more = choose_rows(X, 30, y=y)
    assert (y[more] == "").all()
    assert len(choose_rows(X[:20], 50)) == 20
