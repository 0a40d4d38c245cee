"""Which rows to label first."""

from typing import Any, Literal, overload

import numpy as np

from handful import _handful
from handful._encoding import as_rows, column, is_unlabeled
from handful._types import Codes, Doubles


@overload
def choose_rows(X: Any, n: int, y: Any = None, *, return_coverage: Literal[False] = False) -> Codes: ...


@overload
def choose_rows(X: Any, n: int, y: Any = None, *, return_coverage: Literal[True]) -> tuple[Codes, Doubles]: ...


def choose_rows(X: Any, n: int, y: Any = None, *, return_coverage: bool = False) -> Codes | tuple[Codes, Doubles]:
    """Pick rows that cover a pool, the most useful first.

    The order is a list of priorities: stopping early is right.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The pool.
    n : int
        How many rows; fewer come back where fewer are unlabelled.
    y : array-like of shape (n_rows,), default=None
        Labels there are already; -1, NaN, the empty string and None mean unlabelled.
    return_coverage : bool, default=False
        Return, too, the mean coverage of the pool once each row is labelled, from 0 to 1.

    Returns
    -------
    rows : ndarray of int
        Row numbers.
    coverage : ndarray of float
        Only with ``return_coverage``.

    Examples
    --------
    >>> import numpy as np
    >>> from handful import choose_rows
    >>> X = np.repeat(np.eye(3), [50, 30, 20], axis=0) + 0.01 * np.arange(300).reshape(100, 3) / 300
    >>> sorted(np.searchsorted([50, 80], choose_rows(X, 3), side="right").tolist())
    [0, 1, 2]
    """
    rows = as_rows(X)
    if n < 1:
        raise ValueError(f"n = {n}: choose at least one row")
    labelled = np.zeros(0, dtype=np.int64)
    if y is not None:
        values = column(y)
        if values.shape != (len(rows),):
            raise ValueError(f"y has the shape {values.shape}, and X has {len(rows)} rows")
        labelled = np.flatnonzero(~is_unlabeled(values)).astype(np.int64)
    chosen, coverage = _handful.Pool(rows, "pool", [], False).choose(labelled, int(n))
    return (chosen, coverage) if return_coverage else chosen
