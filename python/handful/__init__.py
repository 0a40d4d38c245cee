"""Label everything from a handful of examples.

A few labelled rows and many unlabelled ones go in; labels, what each is worth, and a short list of what to check
come out. The work is done by the same Rust code as that of the command ``handful``, which this package brings along.

Examples
--------
>>> import numpy as np
>>> from handful import HandfulClassifier
>>> rng = np.random.default_rng(0)
>>> truth = np.repeat([0, 1, 2], 100)
>>> X = np.eye(3)[truth] * 4 + rng.normal(size=(300, 3))
>>> y = np.full(300, -1)
>>> for known in (0, 1, 100, 101, 200, 201):
...     y[known] = truth[known]
>>> labels = HandfulClassifier().fit(X, y).transduction_
>>> bool((labels == truth).mean() > 0.9)
True
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handful._bench import BenchResult, bench
    from handful._choose import choose_rows
    from handful._classifier import Acceptance, Calibration, DoubtfulLabel, HandfulClassifier
    from handful._embed import embed
    from handful._features import FeatureTable, demo_features, read_features, write_features
    from handful._few_shot import FewShotClassifier
    from handful._folds import LabelledFold
    from handful._handful import __version__
    from handful._labelling import Labelling
    from handful._method import Method, Task, method_params, methods
    from handful._reproduce import reproduce
    from handful._tasks import Episode, TaskList, sample_tasks

__all__ = [
    "Acceptance",
    "BenchResult",
    "Calibration",
    "DoubtfulLabel",
    "Episode",
    "FeatureTable",
    "FewShotClassifier",
    "HandfulClassifier",
    "LabelledFold",
    "Labelling",
    "Method",
    "Task",
    "TaskList",
    "__version__",
    "bench",
    "choose_rows",
    "demo_features",
    "embed",
    "method_params",
    "methods",
    "read_features",
    "reproduce",
    "sample_tasks",
    "write_features",
]

# The command starts without scikit-learn and numpy: what is public is imported when it is first asked for.
_HOME = {
    "Acceptance": "_classifier",
    "BenchResult": "_bench",
    "Calibration": "_classifier",
    "DoubtfulLabel": "_classifier",
    "Episode": "_tasks",
    "FeatureTable": "_features",
    "FewShotClassifier": "_few_shot",
    "HandfulClassifier": "_classifier",
    "LabelledFold": "_folds",
    "Labelling": "_labelling",
    "Method": "_method",
    "Task": "_method",
    "TaskList": "_tasks",
    "__version__": "_handful",
    "bench": "_bench",
    "choose_rows": "_choose",
    "demo_features": "_features",
    "embed": "_embed",
    "method_params": "_method",
    "methods": "_method",
    "read_features": "_features",
    "reproduce": "_reproduce",
    "sample_tasks": "_tasks",
    "write_features": "_features",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'handful' has no attribute {name!r}")
    value = getattr(import_module(f"handful.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
