"""Methods: which there are, and how to write one."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from handful import _handful
from handful._encoding import changes
from handful._types import Codes, Floats


@dataclass(frozen=True, eq=False)
class Task:
    """A few labelled rows, rows without labels, and rows to label. It has no room for the truth.

    Attributes
    ----------
    support : ndarray of shape (n_support, n_features)
        The labelled rows.
    support_labels : ndarray of int
        Their classes, from 0 to ``ways - 1``.
    query : ndarray of shape (n_query, n_features)
        The rows to label.
    unlabeled : ndarray or None
        Rows without labels to learn from; None where the queries are these (a transductive task).
    ways : int
        Number of classes.
    id : int
        Number of the task; seeds whatever a method draws at random.
    """

    support: Floats
    support_labels: Codes
    query: Floats
    unlabeled: Floats | None
    ways: int
    id: int = 0


class Method(ABC):
    """A method of your own, to be run in :func:`handful.bench` against those of Rust on the same tasks.

    Attributes
    ----------
    name : str
        Its name in tables.
    uses_unlabeled : bool
        Whether it learns from rows without labels.
    knows_class_sizes : bool
        Whether it is told, or assumes, how many rows of each class there are.

    Examples
    --------
    >>> import numpy as np
    >>> import handful
    >>> class NearestMean(handful.Method):
    ...     name = "nearest-mean"
    ...     uses_unlabeled = False
    ...     def solve(self, task):
    ...         means = np.stack([task.support[task.support_labels == c].mean(0) for c in range(task.ways)])
    ...         return ((task.query[:, None] - means) ** 2).sum(-1).argmin(1)
    >>> X, y = np.eye(4).repeat(20, axis=0) + 0.01 * np.arange(320).reshape(80, 4) / 320, np.arange(4).repeat(20)
    >>> result = handful.bench((X, y), [NearestMean(), "protonet"], tasks=10, ways=3, queries=5, progress=False)
    >>> [score["accuracy"] for score in result.scores]
    [1.0, 1.0]
    """

    name: str = "method"
    uses_unlabeled: bool = True
    knows_class_sizes: bool = False

    @abstractmethod
    def solve(self, task: Task) -> Any:
        """Label the query of a task.

        Parameters
        ----------
        task : Task
            The task.

        Returns
        -------
        ndarray
            Labels of shape (n_query,), or probabilities (or any scores) of shape (n_query, ways).
        """

    def solve_arrays(self, arrays: dict[str, Any]) -> Floats:
        """Answer as the engine wants it."""
        task = Task(**arrays)
        answer = np.asarray(self.solve(task))
        if answer.ndim == 1:
            if answer.shape != (len(task.query),) or answer.dtype.kind not in "iu":
                raise ValueError(
                    f"{self.name}: the labels are an array of {answer.dtype} of shape {answer.shape} and should be "
                    f"integers of shape ({len(task.query)},)"
                )
            if len(answer) and not 0 <= answer.min() <= answer.max() < task.ways:
                row = int(np.flatnonzero((answer < 0) | (answer >= task.ways))[0])
                raise ValueError(f"{self.name}: query {row} has label {answer[row]}, but there are {task.ways} classes")
            answer = np.eye(task.ways, dtype=np.float32)[answer]
        return np.ascontiguousarray(answer, dtype=np.float32)


def methods() -> dict[str, list[str]]:
    """The methods of Rust, each with its presets, the default one first.

    Returns
    -------
    dict
        Presets by name.

    Examples
    --------
    >>> from handful import methods
    >>> methods()["dm-ida"][0]
    'default'
    """
    return dict(_handful.methods())


def method_params(method: str, preset: str | None = None, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The complete parameters of a method.

    Parameters
    ----------
    method : str
        A name of :func:`methods`.
    preset : str, default=None
        One of its presets.
    params : dict, default=None
        Changes to it.

    Returns
    -------
    dict
        Values by name.
    """
    found: dict[str, Any] = json.loads(_handful.method_params(method, preset, changes(params)))
    return found
