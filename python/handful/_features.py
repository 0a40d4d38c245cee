"""Tables of features in every format the command reads and writes."""

from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from handful import _handful
from handful._encoding import as_rows, class_names, column, is_unlabeled
from handful._types import Classes, Codes, Floats


class FeatureTable:
    """Rows of features with labels and ids.

    Made by :func:`read_features`, :func:`embed` or :meth:`from_arrays`.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), float32
        The features.
    y : ndarray of shape (n_rows,)
        The names of the classes; empty strings for rows without a label.
    ids : list of str or None
        The ids, where the table has any.
    classes : list of str
        The classes in their order.
    """

    def __init__(self, table: _handful.Table) -> None:
        self._table = table

    @classmethod
    def from_arrays(cls, X: Any, y: Any = None, ids: Sequence[object] | None = None) -> "FeatureTable":
        """A table of arrays.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,), default=None
            Labels; -1, NaN, the empty string and None mean unlabelled.
        ids : sequence, default=None
            Ids, all different.

        Returns
        -------
        FeatureTable
            The table.
        """
        rows = as_rows(X)
        codes = np.full(len(rows), -1, dtype=np.int64)
        names: list[str] = []
        if y is not None:
            values = column(y)
            if values.shape != (len(rows),):
                raise ValueError(f"y has the shape {values.shape}, and X has {len(rows)} rows")
            labelled = ~is_unlabeled(values)
            classes, codes[labelled] = np.unique(values[labelled], return_inverse=True)
            names = class_names(classes)
        texts = None if ids is None else [str(id_) for id_ in ids]
        return cls(_handful.Table.from_arrays(rows, codes, names, texts))

    @cached_property
    def X(self) -> Floats:
        """The features."""
        return self._table.features()

    @cached_property
    def codes(self) -> Codes:
        """The class number of every row, -1 for rows without a label."""
        return self._table.classes()

    @cached_property
    def y(self) -> Classes:
        """The label of every row, the empty string for rows without one."""
        names: Classes = np.array([*self.classes, ""])
        return names[self.codes]

    @property
    def classes(self) -> list[str]:
        """The classes in their order."""
        return self._table.class_names

    @property
    def ids(self) -> list[str] | None:
        """The ids, where the table has any."""
        return self._table.ids

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._table.shape

    @property
    def notes(self) -> list[str]:
        """What was decided or left out while reading."""
        return self._table.notes

    @property
    def path(self) -> Path:
        """The file, or what stands for it."""
        return Path(self._table.path)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"FeatureTable({rows} rows x {columns}, {len(self.classes)} classes, {self.path})"

    def to_pandas(self) -> Any:
        """As a ``pandas.DataFrame``: one column for each feature, then ``label``; the ids are its index."""
        import pandas as pd

        frame = pd.DataFrame(self.X, index=self.ids)
        frame.columns = [f"f{column}" for column in range(self.shape[1])]
        return frame.assign(label=self.y)

    def __reduce__(self) -> tuple[Any, ...]:
        return (FeatureTable.from_arrays, (self.X, self.y, self.ids))


def read_features(
    path: str | PathLike[str],
    labels: str | PathLike[str] | None = None,
    *,
    header: bool | None = None,
    id_column: str | None = None,
) -> FeatureTable:
    """Read a table of features.

    Parameters
    ----------
    path : str or path
        A file: .npy .npz .safetensors .parquet .arrow .csv .tsv .pkl .pt .h5; the extension says the format.
    labels : str or path, default=None
        A file ``id,label`` whose classes replace those of the table.
    header : bool, default=None
        Whether the first line of a .csv or .tsv names its columns; told from the first two lines without it.
    id_column : str, default=None
        The column that names the rows, by its name or by its number from 1.

    Returns
    -------
    FeatureTable
        Features, labels and ids.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        A file that is no table, with the row and the value.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from handful import read_features, write_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "features.npz"
    >>> write_features(path, np.eye(3), ["a", "b", "a"])
    >>> read_features(path).y
    array(['a', 'b', 'a'], dtype='<U1')
    """
    labels = None if labels is None else Path(labels)
    return FeatureTable(_handful.Table.read(Path(path), labels, header, id_column))


def write_features(path: str | PathLike[str], X: Any, y: Any = None, ids: Sequence[object] | None = None) -> None:
    """Write a table of features.

    Parameters
    ----------
    path : str or path
        A file: .npy .npz .safetensors .parquet .csv .tsv; the extension says the format. It appears when it is whole.
    X : array-like of shape (n_rows, n_features) or FeatureTable
        Features.
    y : array-like of shape (n_rows,), default=None
        Labels; -1, NaN, the empty string and None mean unlabelled.
    ids : sequence, default=None
        Ids, all different.
    """
    table_of(X, y, ids)._table.write(Path(path))


def table_of(features: Any, y: Any = None, ids: Sequence[object] | None = None) -> FeatureTable:
    """A table of whatever stands for one: itself, a path, arrays or a pair of them."""
    if isinstance(features, FeatureTable):
        if y is not None or ids is not None:
            raise ValueError("a FeatureTable has its own labels and ids; give its X to replace them")
        return features
    if isinstance(features, str | PathLike):
        return read_features(features)
    if isinstance(features, tuple) and len(features) == 2:
        return FeatureTable.from_arrays(*features)
    return FeatureTable.from_arrays(features, y, ids)


def demo_features() -> FeatureTable:
    """Real features that come with the package: CIFAR-FS's novel classes, for trying things out.

    Returns
    -------
    FeatureTable
        Features and labels.
    """
    return FeatureTable(_handful.Table.shipped())
