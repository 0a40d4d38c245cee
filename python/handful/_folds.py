"""Cross-validation where most rows have no label."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from handful._encoding import encode
from handful._types import Codes


class LabelledFold:
    """Folds that test labelled rows only and always train with the unlabelled ones.

    Plain cross-validation counts unlabelled rows as errors: no prediction equals -1.

    Parameters
    ----------
    n_splits : int, default=5
        Folds; no more than the largest class has labels.
    shuffle : bool, default=False
        Shuffle the labelled rows of each class first.
    random_state : int, default=None
        Seed of the shuffling.

    Examples
    --------
    >>> import numpy as np
    >>> from handful import LabelledFold
    >>> y = np.array([0, 0, 1, 1, -1, -1])
    >>> for train, test in LabelledFold(2).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 2 4 5] [1 3]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: int | None = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self._folds()

    def __repr__(self) -> str:
        return f"LabelledFold(n_splits={self.n_splits}, shuffle={self.shuffle}, random_state={self.random_state})"

    def _folds(self) -> Any:
        return StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Codes, Codes]]:
        """Row numbers to train with and to test with, fold by fold.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels; -1, NaN, the empty string and None mean unlabelled.
        groups : object
            Ignored.

        Yields
        ------
        train, test : ndarrays of int
            Row numbers.
        """
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        _, codes = encode(y, rows)
        labelled, unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        for train, test in self._folds().split(labelled, codes[labelled]):
            yield np.sort(np.concatenate([labelled[train], unlabeled])), labelled[test]
