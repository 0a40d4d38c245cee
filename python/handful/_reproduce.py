"""The paper's tables and figures."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from handful._command import run


def reproduce(
    target: str,
    output: str | PathLike[str] = "reproduction",
    *,
    features: str | PathLike[str] | None = None,
    tasks: int = 10_000,
    options: Mapping[str, Any] | None = None,
    verbose: bool = True,
) -> Path:
    """Compute tables and figures of the paper beside the printed ones, with a report.

    Parameters
    ----------
    target : str
        Which table or figure, as ``handful reproduce --help`` lists them.
    output : path, default="reproduction"
        Folder of results and report; a run that was stopped goes on there.
    features : path, default=None
        Features of novel classes; None takes those that come with the package.
    tasks : int, default=10000
        Tasks per cell.
    options : dict, default=None
        Further options of ``handful reproduce``, with underscores; True for a flag, a list for one that is repeated.
    verbose : bool, default=True
        Show what the command says.

    Returns
    -------
    Path
        The folder.
    """
    args = ["reproduce", target, "--out", str(output), "--tasks", str(tasks)]
    if features is not None:
        args += ["--features", str(features)]
    for name, value in (options or {}).items():
        flag = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True:
                args.append(flag)
            elif one is not False and one is not None:
                args += [flag, str(one)]
    run(args, echo=verbose)
    return Path(output)
