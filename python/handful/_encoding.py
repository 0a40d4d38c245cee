"""Which rows are labelled, and with what."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from handful._types import Classes, Codes, Floats


def changes(params: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Changed parameters as the command line writes them."""
    if params is None:
        return []
    if not isinstance(params, Mapping):
        raise ValueError(f"params must be a dict of names and values, got {type(params).__name__}")
    text = {True: "true", False: "false"}
    return [
        (str(key), text[bool(value)] if isinstance(value, bool | np.bool_) else str(value))
        for key, value in params.items()
        if value is not None
    ]


def column(y: Any) -> npt.NDArray[Any]:
    """Labels as an array, in which what is missing can still be told."""
    if hasattr(y, "isna") and hasattr(y, "to_numpy"):
        y = y.to_numpy()
    values = np.asarray(y)
    # numpy writes NaN and None among strings as the words.
    if isinstance(y, list | tuple) and values.dtype.kind in "US" and values.ndim == 1:
        if not all(isinstance(value, str | bytes) for value in y):
            values = np.array(y, dtype=object)
    elif values.dtype.kind == "T":
        values = values.astype(object)
    return values


def is_unlabeled(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """-1 among numbers, NaN, the empty string, None."""
    kind = values.dtype.kind
    if kind in "iu":
        return np.asarray(values == -1)
    if kind == "f":
        return np.asarray(np.isnan(values) | (values == -1))
    if kind in "US":
        return np.asarray(values == values.dtype.type())
    if kind == "O":
        return np.fromiter((_is_missing(value) for value in values), dtype=np.bool_, count=len(values))
    return np.zeros(len(values), dtype=np.bool_)


def _is_missing(value: object) -> bool:
    if value is None or (isinstance(value, str) and value == ""):
        return True
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, int | float | np.number):
        return bool(value == -1 or value != value)
    return type(value).__name__ in ("NAType", "NaTType")


def encode(y: Any, rows: int) -> tuple[Classes, Codes]:
    """Classes in their order, and the class number of every row, -1 for the unlabelled.

    Raises
    ------
    ValueError
        Labels that do not belong to the rows, that are no classes, or that are all missing.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    values = column_or_1d(column(y), warn=True)
    if len(values) != rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[rows, len(values)]}")
    unlabeled = is_unlabeled(values)
    given = values[~unlabeled]
    if len(given) == 0:
        raise ValueError(f"all {rows} rows are unlabelled (-1, '' or None); label at least one row of every class")
    if given.dtype.kind == "f" and not np.all(np.isfinite(given)):
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(f"y[{row}] is {values[row]}; labels must be classes (Input y contains infinity)")
    check_classification_targets(given)
    try:
        classes, inverse = np.unique(given, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in given})
        raise ValueError(f"y mixes {' and '.join(kinds)}; labels must be of one kind") from error
    codes = np.full(rows, -1, dtype=np.int64)
    codes[~unlabeled] = inverse
    return classes, codes


def class_names(classes: Classes) -> list[str]:
    """The names under which classes are saved."""
    return [str(int(value)) if isinstance(value, float | np.floating) else str(value) for value in classes]


def classes_of_names(names: list[str]) -> Classes:
    """Classes of a saved model: numbers where all names are numbers, else strings."""
    if all(name.removeprefix("-").isascii() and name.removeprefix("-").isdigit() for name in names):
        numbers = np.array([int(name) for name in names])
        if [str(number) for number in numbers] == names:
            return numbers
    return np.array(names)


def as_rows(X: Any) -> Floats:
    """Rows of features as 32-bit floats, without a copy where they are that already."""
    rows = np.asarray(X)
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"features must be numbers, got an array of {rows.dtype}")
    if rows.ndim != 2:
        raise ValueError(f"features must be a table of rows and columns, got an array of {rows.ndim} dimensions")
    return np.ascontiguousarray(rows, dtype=np.float32)
