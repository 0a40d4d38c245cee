"""The labelling job as an estimator."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from handful import _handful
from handful._encoding import changes, class_names, classes_of_names, encode
from handful._labelling import Labelling, from_columns
from handful._progress import Bar
from handful._types import Classes, Codes, Flags, Floats

# Share of labelled rows that may look as strange as a rejected row; the command's.
_REJECT_MISS = 0.05


@dataclass(frozen=True)
class Calibration:
    """Where the probabilities come from.

    Attributes
    ----------
    temperature : float
        T of ``softmax(log p / T)``.
    labels_left_out : int
        Labels that were left out to fit it.
    fitted : bool
        Whether there were enough of them; otherwise the probabilities are not calibrated.
    """

    temperature: float
    labels_left_out: int
    fitted: bool


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Which rows may be accepted so that few of their labels are wrong.

    Attributes
    ----------
    accepted : ndarray of bool
        Whether each row is; given labels always are.
    count : int
        Rows accepted, given ones not counted.
    estimated_error : float
        Estimated share of wrong labels among those.
    smallest_promise : float or None
        The smallest of a list of promises under which anything could be accepted.
    """

    accepted: Flags
    count: int
    estimated_error: float
    smallest_promise: float | None


@dataclass(frozen=True)
class DoubtfulLabel:
    """A given label that the rest contradicts.

    Attributes
    ----------
    row : int
        The row.
    given : object
        The label somebody gave it.
    suggested : object
        The label it got while that one was left out.
    probability : float
        The probability of that.
    """

    row: int
    given: Any
    suggested: Any
    probability: float


def _audited(audit: Any, codes: Codes) -> Codes:
    if audit is None:
        return np.zeros(0, dtype=np.int64)
    rows = np.asarray(audit)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(f"audit must be row numbers, got an array of {rows.dtype} and {rows.ndim} dimensions")
    for row in rows:
        if not 0 <= row < len(codes) or codes[row] < 0:
            raise ValueError(f"audit names row {row}, which is not among the labelled rows")
    return rows.astype(np.int64)


class HandfulClassifier(ClassifierMixin, BaseEstimator):
    """Label a pool of rows from a handful of labelled ones, and rows like them.

    ``fit`` takes labelled and unlabelled rows together and labels all of them; ``predict`` labels rows that were not
    there. Results are those of ``handful label`` and ``handful predict``, bit for bit.

    Parameters
    ----------
    method : str, default="pool"
        How labels are inferred: ``pool`` with its presets ``pool:adaptive`` (the default), ``pool:fast`` and
        ``pool:smoothing``, or ``NAME`` or ``NAME:PRESET`` of any method of :func:`handful.methods`.
    reject : bool, default=False
        Look for rows that belong to none of the classes (``rejected_``).
    components : int, default=None
        Principal coordinates in which rows are compared; None leaves it to the rule.
    neighbours : int, default=None
        Neighbours of a row; None leaves it to the rule.
    class_balance : float, default=None
        How far labels of classes with many are made to count less, from 0 to 1; None leaves it to the rule.
    random_state : int, default=None
        Seed of the start of the principal directions; None is the command's.
    params : dict, default=None
        Further parameters by name, as ``--set`` of the command takes them.
    verbose : bool or callable, default=False
        Show a bar while rows are read, or call a function with the rows read and all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    transduction_ : ndarray of shape (n_rows,)
        The label of every row of the pool.
    label_distributions_ : ndarray of shape (n_rows, n_classes)
        Probability of every class for every row of the pool, computed when first asked for.
    probability_ : ndarray of shape (n_rows,)
        Probability of the label, 1 for given ones.
    credibility_ : ndarray of shape (n_rows,)
        Place of the row's IDA value among the rows of its class, from 0 to 1.
    labelling_ : Labelling
        All of that as columns; ``labelling_.to_pandas()`` is the command's output.
    calibration_ : Calibration
        Where the probabilities come from.
    rejected_ : ndarray of bool
        Rows of no class; none without ``reject``.
    review_order_ : ndarray of int
        Rows to check by hand, the most informative first, computed when first asked for.
    doubtful_ : list of DoubtfulLabel
        Given labels that the rest contradicts, the most doubtful first.
    n_features_in_ : int
        Columns of the features.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from handful import HandfulClassifier
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(["cat", "dog"], 60)
    >>> X = np.where(truth == "cat", 1.0, -1.0)[:, None] * [1, 0.5, 0, 0] + 0.3 * rng.normal(size=(120, 4))
    >>> y = np.full(120, "", dtype="U3")
    >>> y[[0, 1, 60, 61]] = truth[[0, 1, 60, 61]]
    >>> clf = HandfulClassifier().fit(X, y)
    >>> bool((clf.transduction_ == truth).all())
    True
    >>> clf.predict([[1.1, 0.4, 0.1, 0.0]])
    array(['cat'], dtype='<U3')
    """

    _model: _handful.Model | None
    _labelling: _handful.Labelling | None
    _pool: _handful.Pool | None
    _rows: Floats | None

    def __init__(
        self,
        method: str = "pool",
        *,
        reject: bool = False,
        components: int | None = None,
        neighbours: int | None = None,
        class_balance: float | None = None,
        random_state: int | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool | Callable[[int, int], object] = False,
    ) -> None:
        self.method = method
        self.reject = reject
        self.components = components
        self.neighbours = neighbours
        self.class_balance = class_balance
        self.random_state = random_state
        self.params = params
        self.verbose = verbose

    def fit(self, X: Any, y: Any, audit: Any = None) -> "HandfulClassifier":
        """Label a pool.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Labelled and unlabelled rows. A C-contiguous array of float32, memory-mapped or not, is read where it lies.
        y : array-like of shape (n_rows,)
            Their labels; -1, NaN, the empty string and None mean unlabelled.
        audit : array-like of int, default=None
            Numbers of labelled rows that were drawn by chance: promises of :meth:`accepted` then rest on them alone.

        Returns
        -------
        HandfulClassifier
            Itself.

        Raises
        ------
        ValueError
            Labels or features that do not fit, with the row and the value.
        """
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        rows: Floats = validate_data(self, X, dtype=np.float32, order="C", ensure_all_finite=False)
        self._forget()
        self.classes_, codes = encode(y, len(rows))
        if len(self.classes_) == 1:
            self._fit_one_class(rows, codes)
            return self
        given, drawn = np.flatnonzero(codes >= 0), _audited(audit, codes)
        with Bar(self.verbose, "rows") as bar:
            pool = _handful.Pool(rows, self._method_name(), self._changes(), bool(self.reject), bar.call)
            model, labelling = pool.fit(given, codes[given], class_names(self.classes_), drawn)
        rejected = np.zeros(len(rows), dtype=np.bool_)
        if self.reject:
            found = labelling.reject(_REJECT_MISS)
            if found is None:
                raise ValueError(
                    "reject needs at least 10 labels of classes with two or more, to know what a familiar row looks "
                    f"like; there are {labelling.calibration[1]}"
                )
            rejected = found
        self._model, self._labelling, self._pool, self._rows = model, labelling, pool, rows
        self.calibration_ = Calibration(*labelling.calibration)
        self._finish(labelling.columns(), rejected)
        self.doubtful_ = [
            DoubtfulLabel(row, self.classes_[class_], self.classes_[other], probability)
            for row, class_, other, probability in labelling.doubtful
        ]
        return self

    def _fit_one_class(self, rows: Floats, codes: Codes) -> None:
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            row, column = bad[0]
            value = rows[row, column]
            text = "NaN" if np.isnan(value) else f"{value}"
            raise ValueError(f"row {row}, column {column} is {text}; features must be finite")
        ones = np.ones(len(rows), dtype=np.float32)
        self._model = self._labelling = self._pool = None
        self._rows = rows
        self.calibration_ = Calibration(1.0, 0, False)
        columns: dict[str, Any] = {
            name: ones for name in ("probability", "credibility", "margin", "agreement", "familiarity")
        }
        columns |= {"class": np.zeros(len(rows), dtype=np.int64), "given": codes >= 0, "error": 0 * ones}
        self._finish(columns, np.zeros(len(rows), dtype=np.bool_))
        self.doubtful_ = []

    def _finish(self, columns: dict[str, Any], rejected: Flags) -> None:
        self.labelling_ = from_columns(columns, self.classes_, rejected)
        self.transduction_ = self.labelling_.label
        self.probability_ = self.labelling_.probability
        self.credibility_ = self.labelling_.credibility
        self.rejected_ = rejected

    def _forget(self) -> None:
        for name in ("_distributions", "_review_order"):
            self.__dict__.pop(name, None)

    def _method_name(self) -> str:
        if not isinstance(self.method, str):
            raise ValueError(f"method must be a name, got {self.method!r}")
        return self.method

    def _changes(self) -> list[tuple[str, str]]:
        own = {
            "components": self.components,
            "neighbours": self.neighbours,
            "class_balance": self.class_balance,
            "seed": self.random_state,
        }
        return changes(own) + changes(self.params)

    @property
    def label_distributions_(self) -> Floats:
        """Probability of every class for every row of the pool."""
        check_is_fitted(self, "labelling_")
        if "_distributions" not in self.__dict__:
            given = np.flatnonzero(self.labelling_.source == "given")
            if self._model is None or self._rows is None:
                found = np.ones((len(self.labelling_), 1), dtype=np.float32)
            else:
                found = self._model.probabilities(self._rows)
                codes = np.searchsorted(self.classes_, self.transduction_[given])
                found[given] = 0
                found[given, codes] = 1
            self._distributions: Floats = found
        return self._distributions

    @property
    def review_order_(self) -> Codes:
        """Rows to check by hand, the most informative first."""
        check_is_fitted(self, "labelling_")
        if "_review_order" not in self.__dict__:
            self._review_order: Codes = self._review(np.ones(len(self.labelling_), dtype=np.bool_))
        return self._review_order

    def review(self, max_error: float | None = None, promise: str = "high-probability") -> Codes:
        """Rows to check by hand, the most informative first, without those that can be accepted.

        Parameters
        ----------
        max_error : float, default=None
            Leave out the rows that :meth:`accepted` accepts.
        promise : {"high-probability", "expected"}, default="high-probability"
            As in :meth:`accepted`.

        Returns
        -------
        ndarray of int
            Row numbers.
        """
        if max_error is None:
            return self.review_order_
        check_is_fitted(self, "labelling_")
        if self._pool is None:
            raise ValueError("the pool is not part of a pickle; review_order_ is")
        return self._review(~self.accepted(max_error, promise))

    def _review(self, may: Flags) -> Codes:
        if self._pool is None or self._labelling is None:
            return np.zeros(0, dtype=np.int64)
        return self._pool.review_order(self._labelling, may & ~self.rejected_)

    def acceptance(self, max_error: float, promise: str = "high-probability") -> Acceptance:
        """Which labels to accept so that at most a share of them is wrong, and what speaks for it.

        Parameters
        ----------
        max_error : float
            The share, above 0 and below 1.
        promise : {"high-probability", "expected"}, default="high-probability"
            Whether this pool keeps the promise, in 95 pools of 100, or pools do on average.

        Returns
        -------
        Acceptance
            The accepted rows and what is known of them.
        """
        check_is_fitted(self, "labelling_")
        if self._labelling is None:
            return Acceptance(self.labelling_.source == "given", 0, 0.0, None)
        return Acceptance(*self._labelling.accept(float(max_error), promise, ~self.rejected_))

    def accepted(self, max_error: float, promise: str = "high-probability") -> Flags:
        """Flags of the rows whose labels to accept; see :meth:`acceptance`.

        Parameters
        ----------
        max_error : float
            The share of wrong labels that is allowed among them.
        promise : {"high-probability", "expected"}, default="high-probability"
            As in :meth:`acceptance`.

        Returns
        -------
        ndarray of bool
            One flag for each row; given labels are always accepted.
        """
        return self.acceptance(max_error, promise).accepted

    def label(self, X: Any) -> Labelling:
        """Label new rows, with what each label is worth.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of features.

        Returns
        -------
        Labelling
            Labels as columns; rows that look like none of the classes are rejected if ``reject`` is set.
        """
        rows = self._validated(X)
        if self._model is None:
            ones = np.ones(len(rows), dtype=np.float32)
            label = np.repeat(self.classes_, len(rows))
            return Labelling(label, ones, ones, np.full(len(rows), "inferred"), ones, ones, ones, 0 * ones)
        with Bar(self.verbose, "rows") as bar:
            columns = self._model.predict(rows, bar.call).columns()
        limit = self._model.familiarity_limit if self.reject else None
        strange = columns["familiarity"] < (-np.inf if limit is None else limit)
        return from_columns(columns, self.classes_, strange)

    def predict(self, X: Any) -> Classes:
        """Label new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of features.

        Returns
        -------
        ndarray of shape (n_rows,)
            Their labels.
        """
        return self.label(X).label

    def predict_proba(self, X: Any) -> Floats:
        """Probability of every class for new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of features.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        rows = self._validated(X)
        if self._model is None:
            return np.ones((len(rows), 1), dtype=np.float32)
        with Bar(self.verbose, "rows") as bar:
            return self._model.probabilities(rows, bar.call)

    def _validated(self, X: Any) -> Floats:
        check_is_fitted(self, "classes_")
        rows: Floats = validate_data(
            self, X, dtype=np.float32, order="C", ensure_all_finite=self._model is None, reset=False
        )
        return rows

    def save(self, path: str | PathLike[str]) -> None:
        """Write what ``predict`` needs as a file that ``handful predict`` reads.

        Parameters
        ----------
        path : str or path
            Usually ``model.safetensors``.
        """
        check_is_fitted(self, "classes_")
        if self._model is None:
            raise ValueError("a model of one class cannot be saved: there is nothing to tell apart")
        self._model.save(Path(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "HandfulClassifier":
        """Read a file of :meth:`save` or of ``handful label --save``.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        HandfulClassifier
            An estimator that predicts; the pool it was fitted to is not part of the file.
        """
        loaded = cls()
        loaded._model = _handful.Model.load(Path(path))
        loaded.classes_ = classes_of_names(loaded._model.classes)
        loaded.n_features_in_ = loaded._model.dim
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        # A pickle has no pool; what is computed from it on demand is computed now.
        if getattr(self, "_pool", None) is not None:
            _ = self.label_distributions_, self.review_order_
        state: dict[str, Any] = dict(super().__getstate__())
        if "_pool" in state:
            state["_pool"] = state["_rows"] = None
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
