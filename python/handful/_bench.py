"""Methods on identical tasks."""

import html
import json
from collections.abc import Sequence
from typing import Any

from handful import _handful
from handful._encoding import changes
from handful._features import FeatureTable, table_of
from handful._few_shot import FewShotClassifier
from handful._method import Method
from handful._progress import Bar, Progress
from handful._tasks import TaskList, setting


class BenchResult:
    """What every method reached on the same tasks.

    Attributes
    ----------
    scores : list of dict
        One for each method: ``name``, ``preset``, ``accuracy``, ``ci95``, ``seconds``, ``tasks_per_second``,
        ``per_task``, and against the reference ``difference`` and ``significance``.
    """

    def __init__(self, scores: _handful.Scores, table: FeatureTable, tasks: int) -> None:
        self._scores = scores
        self._table = table
        self._tasks = tasks
        self.scores: list[dict[str, Any]] = json.loads(scores.json())

    @property
    def labels(self) -> list[str]:
        """The methods as the tables name them."""
        return self._scores.labels()

    def table(self) -> str:
        """An aligned table: accuracy with its 95% interval, paired differences with p-values, time, prior knowledge."""
        return self._scores.table()

    def markdown(self) -> str:
        """The same as Markdown."""
        return self._scores.markdown()

    def csv(self) -> str:
        """The same as comma-separated values, fractions."""
        return self._scores.csv()

    def compared_to(self, method: str) -> "BenchResult":
        """The same result with differences to another method.

        Parameters
        ----------
        method : str
            One of ``labels``.

        Returns
        -------
        BenchResult
            The result.
        """
        if method not in self.labels:
            raise ValueError(f"{method!r} is not among the methods, {', '.join(self.labels)}")
        compared = self._scores.compared(self.labels.index(method))
        return BenchResult(compared, self._table, self._tasks)

    def to_pandas(self) -> Any:
        """One line for each method, as a ``pandas.DataFrame``."""
        import io

        import pandas as pd

        frame = pd.read_csv(io.StringIO(self.csv()))
        frame.insert(0, "label", self.labels)
        return frame.set_index("label")

    def per_task(self) -> Any:
        """Accuracy of every task (rows) by every method (columns), as a ``pandas.DataFrame``."""
        import pandas as pd

        columns = zip(self.labels, self.scores, strict=True)
        return pd.DataFrame({label: score["per_task"] for label, score in columns})

    def __repr__(self) -> str:
        return f"{self._table!r}, {self._tasks} tasks\n\n{self.table()}"

    def _repr_html_(self) -> str:
        lines = [
            [cell.strip().replace("\\|", "|") for cell in line.strip().strip("|").split(" | ")]
            for line in self.markdown().splitlines()
        ]

        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(line, "td") for line in lines[2:])
        caption = html.escape(f"{self._table!r}, {self._tasks} tasks")
        return f"<table><caption>{caption}</caption><thead>{row(lines[0], 'th')}</thead><tbody>{body}</tbody></table>"


def bench(
    features: Any,
    methods: Sequence[str | FewShotClassifier | Method] = ("protonet", "tim-gd", "dm-ida"),
    *,
    tasks: int | TaskList = 1000,
    ways: int = 5,
    shots: int = 1,
    queries: int = 15,
    unlabeled: int = 0,
    seed: int = 1,
    reference: str | None = None,
    threads: int = 0,
    progress: Progress = None,
    **more: Any,
) -> BenchResult:
    """Compare methods on identical tasks, as ``handful bench`` does, number for number.

    Parameters
    ----------
    features : FeatureTable, path or (X, y)
        A table with labels.
    methods : sequence
        Each ``"name"``, ``"name:preset"``, a :class:`FewShotClassifier` with its parameters, or a :class:`Method` of
        your own.
    tasks : int or TaskList, default=1000
        How many to draw, or those to solve.
    ways, shots, queries, unlabeled, seed : int
        What tasks are made of; see :func:`sample_tasks`.
    reference : str, default=None
        The method that differences are taken to; the first one if None.
    threads : int, default=0
        Threads, 0 for one per core. The results do not depend on it.
    progress : bool, callable or None, default=None
        A bar where somebody can see it, or a function of tasks done and all tasks.
    **more
        Further settings; see :func:`sample_tasks`.

    Returns
    -------
    BenchResult
        Scores and paired statistics.

    Examples
    --------
    >>> import handful
    >>> result = handful.bench(handful.demo_features(), ["protonet", "simpleshot"], tasks=20, progress=False)
    >>> result.labels
    ['protonet', 'simpleshot']
    """
    table = table_of(features)
    if isinstance(methods, str | FewShotClassifier | Method):
        methods = [methods]
    listed, count = (tasks, len(tasks)) if isinstance(tasks, TaskList) else (None, int(tasks))
    if count < 1:
        raise ValueError(f"tasks = {count}: solve at least one")
    with Bar(progress, "tasks") as bar:
        scores = _handful.run_study(
            table._table,
            [_contender(method) for method in methods],
            tasks=None if listed is None else listed.text,
            setting=setting(ways, shots, queries, unlabeled, more),
            count=count,
            seed=seed,
            threads=threads,
            progress=bar.call,
        )
    result = BenchResult(scores, table, count)
    return result if reference is None else result.compared_to(reference)


def _contender(method: Any) -> Any:
    if isinstance(method, str):
        name, _, preset = method.partition(":")
        return (name, preset or None, [])
    if isinstance(method, FewShotClassifier):
        return (method.method, method.preset, changes(method.params))
    if isinstance(method, Method):
        return method
    raise ValueError(f"a method must be a name, a FewShotClassifier or a Method, got {method!r}")
