"""Many machines, through Ray: ``pip install handful[ray]``.

Nothing is computed here that one machine would compute otherwise. A pool is sampled by the names of its rows, so that
the sample does not depend on how the rows lie on the machines; tasks of a study keep their numbers. Results are those
of one machine, byte for byte, and work that is lost with a machine is done again by another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from os import PathLike, replace
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import numpy as np

from handful import _handful
from handful._bench import BenchResult, _Study
from handful._classifier import HandfulClassifier
from handful._embed import embed
from handful._encoding import is_unlabeled
from handful._few_shot import FewShotClassifier
from handful._labelling import Labelling
from handful._method import Method
from handful._reproduce import reproduce as _reproduce_here
from handful._tasks import TaskList
from handful._types import Classes, Flags, Floats

__all__ = ["TuneResult", "bench", "embed_dataset", "label_dataset", "reproduce", "sampled", "tune"]

# Ray gives up on a task after a few lost machines; a study of hours should not.
_RETRIES = 20

# What `reproduce all` computes, each by itself: they share no cell.
_TARGETS = ("table1", "table2", "table3", "table4", "table5", "table6", "figure1", "theorem3", "picture", "differences")


def sampled(ids: Any, share: float, seed: int = 1) -> Flags:
    """Which rows are in the sample that a model is fitted to: a matter of their names alone.

    Parameters
    ----------
    ids : array-like
        Names of rows.
    share : float
        The share of rows to take, from 0 to 1.
    seed : int, default=1
        Another one draws another sample.

    Returns
    -------
    ndarray of bool
        One flag for each row.

    Examples
    --------
    >>> from handful.ray import sampled
    >>> flags = sampled(range(1000), 0.1)
    >>> bool(60 < flags.sum() < 140)
    True
    """
    from hashlib import blake2b

    limit = int(share * 2.0**64)
    key = str(seed).encode()

    def place(name: object) -> int:
        return int.from_bytes(blake2b(str(name).encode(), digest_size=8, key=key).digest(), "big")

    return np.fromiter((place(name) < limit for name in ids), dtype=np.bool_)


def label_dataset(
    ds: Any,
    labels: str | Mapping[Any, Any],
    *,
    id_column: str = "id",
    feature_column: str = "features",
    estimator: HandfulClassifier | None = None,
    sample: int = 100_000,
    seed: int = 1,
    batch_size: int = 8192,
    output: str | PathLike[str] | None = None,
) -> Any:
    """Label a dataset of Ray Data from a handful of labels.

    A sample of the rows and all labelled ones are brought together and a model is fitted to them; the rows are then
    labelled where they lie.

    Parameters
    ----------
    ds : ray.data.Dataset
        Rows with a name (``id_column``) and features (``feature_column``, a tensor or a list of numbers).
    labels : str or dict
        The column with the labels, empty or missing where nothing is known, or a dict of names of rows and labels.
    id_column, feature_column : str
        Columns of the dataset.
    estimator : HandfulClassifier, default=None
        What to fit; None is the default one.
    sample : int, default=100_000
        About how many rows to fit to, labelled ones not counted.
    seed : int, default=1
        Seed of the sample.
    batch_size : int, default=8192
        Rows labelled at a time.
    output : path, default=None
        Write the labels there as Parquet: all of them, or none. Every machine must see the folder. An address such as
        ``s3://bucket/labels`` is written by Ray, part by part.

    Returns
    -------
    ray.data.Dataset
        The columns of the dataset without the features, and those of :class:`handful.Labelling`. Given labels are kept.

    Raises
    ------
    ValueError
        A column that is not there, labels of rows that are not, names that are there twice in the sample.
    OSError
        ``output`` cannot be written, or has files of Parquet already.
    """
    import ray

    columns = ds.schema().names
    needed = [id_column, feature_column, *([labels] if isinstance(labels, str) else [])]
    for name in needed:
        if name not in columns:
            raise ValueError(f"the dataset has no column {name!r}; it has {', '.join(columns)}")
    share = min(1.0, sample / max(ds.count(), 1))

    def of_batch(batch: dict[str, Any]) -> Any:
        if isinstance(labels, str):
            return np.asarray(batch[labels])
        given = np.full(len(batch[id_column]), None, dtype=object)
        for at, name in enumerate(batch[id_column].tolist()):
            given[at] = labels.get(name)
        return given

    def take(batch: dict[str, Any]) -> dict[str, Any]:
        given = of_batch(batch)
        keep = sampled(batch[id_column], share, seed) | _is_given(given)
        return {
            "id": batch[id_column][keep],
            "features": _rows(batch[feature_column])[keep],
            "label": _texts(given)[keep],
        }

    rows = ds.map_batches(take, batch_size=batch_size, batch_format="numpy").take_all()
    rows.sort(key=lambda row: str(row["id"]))
    names = [row["id"] for row in rows]
    if len(set(names)) < len(names):
        twice = next(one for one, other in pairwise(names) if one == other)
        raise ValueError(f"{id_column} {twice!r} is there twice; rows must have names of their own")
    values = [row["label"] for row in rows]
    if not isinstance(labels, str):
        missing = set(map(str, labels)) - {str(name) for name, value in zip(names, values, strict=True) if value}
        if missing:
            raise ValueError(f"there is no row {min(missing)!r} in the dataset, but a label of it")
    fitted = (HandfulClassifier() if estimator is None else estimator).fit(
        np.stack([row["features"] for row in rows]).astype(np.float32), values
    )
    if fitted._model is None:
        raise ValueError("all labels are of one class: there is nothing to tell apart")
    model = ray.put((fitted._model.to_bytes(), fitted.classes_, bool(fitted.reject)))

    def label(batch: dict[str, Any]) -> dict[str, Any]:
        found = _label(_model(model), batch[feature_column], of_batch(batch))
        kept = {name: values for name, values in batch.items() if name not in (feature_column, labels)}
        return kept | found.columns()

    labelled = ds.map_batches(label, batch_size=batch_size, batch_format="numpy")
    if output is not None:
        _write_whole(labelled, str(output))
        return ray.data.read_parquet(str(output))
    return labelled


def _write_whole(ds: Any, output: str) -> None:
    """Write all of a dataset or nothing: its files get their place when every one of them is whole."""
    if "://" in output:
        ds.write_parquet(output)
        return
    folder = Path(output)
    if any(folder.glob("*.parquet")):
        raise FileExistsError(f"{folder} has labels already; give another folder or remove them")
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".unfinished-{uuid4().hex}"
    try:
        ds.write_parquet(str(unfinished))
        for part in sorted(unfinished.glob("*.parquet")):
            part.rename(folder / part.name)
    except Exception as error:
        cause = error if error.__cause__ is None else error.__cause__
        raise OSError(f"{folder} could not be written, and nothing is left in it: {cause}") from error
    finally:
        rmtree(unfinished, ignore_errors=True)


def _is_given(values: Any) -> Flags:
    return ~is_unlabeled(values)


def _texts(given: Any) -> Classes:
    """Labels as text, empty where there is none."""
    known = _is_given(given)
    return np.array([str(value) if ok else "" for ok, value in zip(known, given.tolist(), strict=True)], dtype=object)


def _rows(values: Any) -> Floats:
    stacked = np.stack(list(values)) if values.dtype == object else values
    return np.ascontiguousarray(stacked, dtype=np.float32)


_MODELS: dict[Any, HandfulClassifier] = {}


def _model(reference: Any) -> HandfulClassifier:
    """The model, once for each process."""
    import ray

    if reference not in _MODELS:
        made, classes, reject = ray.get(reference)
        _MODELS.clear()
        _MODELS[reference] = HandfulClassifier._of_model(_handful.Model.from_bytes(made), classes, reject)
    return _MODELS[reference]


def _label(fitted: HandfulClassifier, features: Any, given: Any) -> Labelling:
    found = fitted.label(_rows(features))
    known = _is_given(given)
    if not known.any():
        return found
    certain = {name: np.where(known, np.float32(1), getattr(found, name)) for name in ("probability", "margin")}
    return Labelling(
        label=np.where(known, _texts(given), found.label.astype(object)).astype(str),
        source=np.where(known, "given", found.source),
        credibility=found.credibility,
        agreement=found.agreement,
        familiarity=found.familiarity,
        error=np.where(known, np.float32(0), found.error),
        **certain,
    )


def embed_dataset(
    ds: Any,
    *,
    image_column: str = "image",
    feature_column: str = "features",
    weights: str | PathLike[str] | None = None,
    batch_size: int = 256,
) -> Any:
    """Put features beside the images of a dataset of Ray Data.

    Parameters
    ----------
    ds : ray.data.Dataset
        Rows with an image, as ``ray.data.read_images`` makes them.
    image_column, feature_column : str
        Where the images are, and where the features go; the images are left out of the result.
    weights : str or path, default=None
        As in :func:`handful.embed`; every machine must have them.
    batch_size : int, default=256
        Images embedded at a time.

    Returns
    -------
    ray.data.Dataset
        The other columns, and the features.
    """

    def work(batch: dict[str, Any]) -> dict[str, Any]:
        table = embed(list(batch[image_column]), weights=weights)
        rest = {name: values for name, values in batch.items() if name != image_column}
        return rest | {feature_column: np.array(table.X)}

    return ds.map_batches(work, batch_size=batch_size, batch_format="numpy")


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
    parts: int | None = None,
    **more: Any,
) -> BenchResult:
    """Compare methods on identical tasks, spread over a cluster; results are those of :func:`handful.bench`.

    Parameters
    ----------
    features : FeatureTable, path or (X, y)
        A table with labels; it is sent to the machines once.
    methods : sequence
        As in :func:`handful.bench`.
    tasks : int or TaskList, default=1000
        How many to draw, or those to solve.
    ways, shots, queries, unlabeled, seed : int
        What tasks are made of; see :func:`handful.sample_tasks`.
    reference : str, default=None
        The method that differences are taken to; the first one if None.
    parts : int, default=None
        Into how many pieces to cut the study; None is four for each processor of the cluster.
    **more
        Further settings; see :func:`handful.sample_tasks`.

    Returns
    -------
    BenchResult
        Scores and paired statistics.
    """
    import ray

    study = _Study(features, methods, tasks, ways, shots, queries, unlabeled, seed, more)
    if parts is None:
        parts = 4 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    parts = max(1, min(parts, study.count))
    ends = [study.count * at // parts for at in range(parts + 1)]
    X, codes, names = study.table.X, study.table.codes, list(study.table.classes)
    shared = ray.put((np.asarray(X), np.asarray(codes), names, study.contenders, study.tasks))

    def work(shared: Any, start: int, end: int) -> str:
        X, codes, names, contenders, settings = shared
        table = _handful.Table.from_arrays(X, codes, names)
        return _handful.run_part(table, contenders, start, end, **settings, threads=1)

    remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(work)
    found = [remote.remote(shared, start, end) for start, end in pairwise(ends)]
    return study.result(_handful.merge_parts(ray.get(found)), reference)


@dataclass(frozen=True, eq=False)
class TuneResult:
    """The best parameters of a grid.

    Attributes
    ----------
    params : dict
        The values, for ``FewShotClassifier(method, params=...)``.
    accuracy : float
        What they reached.
    result : BenchResult
        All combinations.
    """

    params: dict[str, Any]
    accuracy: float
    result: BenchResult


def tune(
    features: Any, method: str, grid: Mapping[str, Sequence[Any]], *, preset: str | None = None, **options: Any
) -> TuneResult:
    """Try every combination of parameters of a method on identical tasks, spread over a cluster.

    Parameters
    ----------
    features : FeatureTable, path or (X, y)
        A table of validation classes: novel ones are for reporting.
    method : str
        The method.
    grid : dict
        Names of parameters and the values to try.
    preset : str, default=None
        What is changed; None is the default one.
    **options
        As in :func:`bench`.

    Returns
    -------
    TuneResult
        The first of the best combinations, the last parameter changing fastest, as ``handful bench tune`` has it.
    """
    if not grid or any(isinstance(values, str) or len(values) == 0 for values in grid.values()):
        raise ValueError("grid must be a dict of parameters, each with the values to try")
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    result = bench(features, [FewShotClassifier(method, preset, params=point) for point in points], **options)
    accuracies = [score["accuracy"] for score in result.scores]
    best = max(range(len(points)), key=lambda at: accuracies[at])
    return TuneResult(points[best], accuracies[best], result)


def reproduce(
    runs: Mapping[str, str | PathLike[str] | Mapping[str, Any] | None],
    output: str | PathLike[str] = "reproduction",
    *,
    targets: Sequence[str] = _TARGETS,
    tasks: int = 10_000,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Path]:
    """Compute the paper's tables and figures for several datasets and backbones as one job.

    Every table of every run is a task of its own. Run the same job again after a stop: what is finished is not computed
    again, cell by cell.

    Parameters
    ----------
    runs : dict
        A name for each run, and its features: a path, None for those that come with the package, or a dict of options
        of ``handful reproduce`` (``{"features": ..., "cross_features": ..., "benchmark": "cub"}``).
    output : path, default="reproduction"
        A folder that every machine sees; each run has one of its own in it, with results and report.
    targets : sequence of str
        Which tables and figures.
    tasks : int, default=10000
        Tasks per cell.
    options : dict, default=None
        Options of all runs.

    Returns
    -------
    dict of Path
        The folder of each run.

    Examples
    --------
    >>> from handful.ray import reproduce
    >>> reproduce({"cifar-fs": "cifar-fs.npz", "cub": {"features": "cub.npz", "benchmark": "cub"}})  # doctest: +SKIP
    """
    import ray

    if not runs or not targets:
        raise ValueError("there is nothing to compute: give at least one run and one target")

    def of_run(name: str) -> dict[str, Any]:
        given = runs[name]
        return dict(options or {}) | (dict(given) if isinstance(given, Mapping) else {"features": given})

    def work(target: str, folder: str, settings: dict[str, Any], tasks: int) -> None:
        _reproduce_here(target, folder, tasks=tasks, options=settings | {"threads": 1}, verbose=False)

    root = Path(output).resolve()
    remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(work)
    parts = {name: [root / name / "parts" / target for target in targets] for name in runs}
    ray.get(
        [
            remote.remote(target, str(folder), of_run(name), tasks)
            for name, folders in parts.items()
            for target, folder in zip(targets, folders, strict=True)
        ]
    )
    for name, folders in parts.items():
        _gather_results(root / name, folders)
        _reproduce_here("report", root / name, tasks=tasks, options=of_run(name), verbose=False)
    return {name: root / name for name in runs}


def _gather_results(folder: Path, parts: Sequence[Path]) -> None:
    """Put the results of the parts into one file, as if one process had appended them in this order."""
    lines = [file.read_bytes() for file in (part / "results.jsonl" for part in parts) if file.exists()]
    unfinished = folder / f".unfinished-{uuid4().hex}"
    unfinished.write_bytes(b"".join(lines))
    replace(unfinished, folder / "results.jsonl")
