"""Few-shot tasks as row numbers into a table."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from handful import _handful
from handful._features import FeatureTable, table_of
from handful._method import Task
from handful._types import Codes


@dataclass(frozen=True)
class Episode:
    """One task: which classes, and which rows of each.

    Attributes
    ----------
    classes : list of int
        Class numbers of the table.
    support : list of list of int
        Labelled rows of each class.
    query : list of list of int
        Rows of each class that are labelled and scored.
    unlabeled : list of list of int
        Rows of each class in the unlabelled pool; empty when the queries are the pool.
    distractors : list of int
        Rows of other classes in the pool.
    open_query : list of int
        Rows of other classes among the queries.
    """

    classes: list[int]
    support: list[list[int]]
    query: list[list[int]]
    unlabeled: list[list[int]] = field(default_factory=list)
    distractors: list[int] = field(default_factory=list)
    open_query: list[int] = field(default_factory=list)


class TaskList:
    """Tasks for one table, in the format of ``handful tasks``.

    Parameters
    ----------
    table : FeatureTable
        What the row numbers mean.
    text : str
        The list: a header line, then one task a line.
    """

    def __init__(self, table: FeatureTable, text: str) -> None:
        self.table = table
        self.text = text
        self._lines = text.splitlines()[1:]

    @classmethod
    def read(cls, path: str | PathLike[str], features: Any) -> "TaskList":
        """Read a list; it is checked against the table when it is used."""
        return cls(table_of(features), Path(path).read_text(encoding="utf-8"))

    @classmethod
    def of(cls, features: Any, episodes: list[Episode]) -> "TaskList":
        """A list of tasks made elsewhere."""
        table = table_of(features)
        header = {"handful_tasks": 1, "rows": table.shape[0], "dim": table.shape[1]}
        lines = [json.dumps(header), *(json.dumps(asdict(episode)) for episode in episodes)]
        return cls(table, "\n".join(lines) + "\n")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the list; ``handful bench --tasks-from`` reads it."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> Episode:
        return Episode(**json.loads(self._lines[number]))

    def __iter__(self) -> Iterator[Episode]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"TaskList({len(self)} tasks of {self.table!r})"

    def task(self, number: int) -> tuple[Task, Codes]:
        """A task as a method sees it, and the classes of its query rows, which it does not."""
        episode = self[number]
        X = self.table.X

        def rows(parts: list[list[int]], more: list[int]) -> Any:
            return X[np.array([row for part in parts for row in part] + more, dtype=np.int64)]

        def labels(parts: list[list[int]]) -> Codes:
            return np.repeat(np.arange(len(parts)), [len(part) for part in parts]).astype(np.int64)

        transductive = not episode.unlabeled and not episode.distractors
        task = Task(
            support=rows(episode.support, []),
            support_labels=labels(episode.support),
            query=rows(episode.query, episode.open_query),
            unlabeled=None if transductive else rows(episode.unlabeled, episode.distractors),
            ways=len(episode.classes),
            id=number,
        )
        return task, labels(episode.query)


def setting(ways: int, shots: int, queries: int, unlabeled: int, more: dict[str, Any]) -> str:
    """What a task is made of, as JSON."""
    return json.dumps({"ways": ways, "shots": shots, "queries": queries, "unlabeled": unlabeled} | more)


def sample_tasks(
    features: Any,
    n: int = 1000,
    *,
    ways: int = 5,
    shots: int = 1,
    queries: int = 15,
    unlabeled: int = 0,
    seed: int = 1,
    **more: Any,
) -> TaskList:
    """Draw tasks from the classes of a table: the same ones as ``handful tasks sample``.

    Parameters
    ----------
    features : FeatureTable, path or (X, y)
        A table with labels.
    n : int, default=1000
        Number of tasks.
    ways : int, default=5
        Classes of a task.
    shots : int, default=1
        Labelled rows per class.
    queries : int, default=15
        Rows per class to label and score.
    unlabeled : int, default=0
        Unlabelled rows per class besides the queries; 0 makes the queries the unlabelled rows.
    seed : int, default=1
        Seed of the tasks.
    **more
        Further settings of ``handful tasks sample``, with underscores: ``most_shots``, ``query_imbalance``,
        ``distractor_classes`` and so on.

    Returns
    -------
    TaskList
        The tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from handful import sample_tasks
    >>> X, y = np.random.default_rng(0).normal(size=(120, 8)), np.repeat(np.arange(6), 20)
    >>> tasks = sample_tasks((X, y), 3, ways=2, shots=1, queries=4)
    >>> len(tasks), len(tasks[0].classes), len(tasks[0].query[0])
    (3, 2, 4)
    """
    table = table_of(features)
    if n < 1:
        raise ValueError(f"n = {n}: draw at least one task")
    text = _handful.sample_tasks(table._table, setting(ways, shots, queries, unlabeled, more), n, seed)
    return TaskList(table, text)
