"""The methods of few-shot tasks as estimators."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from handful import _handful
from handful._encoding import changes, encode
from handful._types import Classes, Floats


class FewShotClassifier(ClassifierMixin, BaseEstimator):
    """Any method of the benchmark on one task.

    ``fit`` keeps the labelled rows (the support) and the unlabelled ones, ``predict`` solves the task. Without
    unlabelled rows in ``fit`` the task is transductive: the rows given to ``predict`` are labelled together and learnt
    from, so that a row's label may depend on the others.

    Parameters
    ----------
    method : str, default="dm-ida"
        A name of :func:`handful.methods`.
    preset : str, default=None
        One of its presets; None is the default one.
    params : dict, default=None
        Changed parameters by name; see :func:`handful.method_params`.
    random_state : int, default=0
        Number of the task, which seeds whatever the method draws at random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    support_ : ndarray of int
        Rows of ``fit`` that were labelled.
    n_features_in_ : int
        Columns of the features.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from handful import FewShotClassifier
    >>> support = np.array([[1.0, 0.1], [0.1, 1.0]])
    >>> query = np.array([[0.9, 0.2], [1.0, 0.0], [0.2, 0.8], [0.0, 1.1]])
    >>> FewShotClassifier("dm-ida", preset="fast").fit(support, ["a", "b"]).predict(query)
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        method: str = "dm-ida",
        preset: str | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.method = method
        self.preset = preset
        self.params = params
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "FewShotClassifier":
        """Keep the rows of a task.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Labelled and unlabelled rows.
        y : array-like of shape (n_rows,)
            Their labels; -1, NaN, the empty string and None mean unlabelled.

        Returns
        -------
        FewShotClassifier
            Itself.

        Raises
        ------
        ValueError
            A method, preset or parameter that there is not, labels or features that do not fit.
        """
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        for name, value in (("method", self.method), ("preset", self.preset or "")):
            if not isinstance(value, str):
                raise ValueError(f"{name} must be a name, got {value!r}")
        _handful.method_params(self.method, self.preset, changes(self.params))
        rows: Floats = validate_data(self, X, dtype=np.float32, order="C", ensure_all_finite=False)
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            row, column = bad[0]
            value = rows[row, column]
            text = "NaN" if np.isnan(value) else f"{value}"
            raise ValueError(f"row {row}, column {column} is {text}; features must be finite")
        self.classes_, codes = encode(y, len(rows))
        self.support_ = np.flatnonzero(codes >= 0)
        self._support = np.ascontiguousarray(rows[self.support_])
        self._labels = codes[self.support_]
        unlabeled = rows[codes < 0]
        self._unlabeled = np.ascontiguousarray(unlabeled) if len(unlabeled) else None
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of every class for the rows of a query.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows to label, together.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self, "classes_")
        one_class = len(self.classes_) == 1
        rows: Floats = validate_data(self, X, dtype=np.float32, order="C", ensure_all_finite=one_class, reset=False)
        if one_class:
            return np.ones((len(rows), 1), dtype=np.float32)
        task = {
            "support": self._support,
            "support_labels": self._labels,
            "unlabeled": self._unlabeled,
            "query": rows,
            "ways": len(self.classes_),
            "id": int(self.random_state or 0),
        }
        return _handful.solve(self.method, self.preset, changes(self.params), task)[0]

    def predict(self, X: Any) -> Classes:
        """Label the rows of a query.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows to label, together.

        Returns
        -------
        ndarray of shape (n_rows,)
            Their labels.
        """
        probabilities = self.predict_proba(X)
        labels: Classes = self.classes_[probabilities.argmax(axis=1)]
        return labels
