"""A bar in a terminal or a notebook."""

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

Progress: TypeAlias = bool | Callable[[int, int], object] | None


class Bar:
    """Calls back with how much is done; draws with tqdm, or by itself where that is not installed.

    Parameters
    ----------
    progress : bool, callable or None
        True or False for a bar or none, None for a bar where somebody can see it, or a function of done and total.
    what : str
        What is counted.
    """

    def __init__(self, progress: Progress, what: str) -> None:
        self.call: Callable[[int, int], object] | None = None
        self._bar: Any = None
        self._what = what
        if callable(progress):
            self.call = progress
        elif progress or (progress is None and _is_seen()):
            self.call = self._draw

    def _draw(self, done: int, total: int) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            end = "\n" if done >= total else ""
            print(f"\r{done}/{total} {self._what}", end=end, file=sys.stderr, flush=True)
            return
        if self._bar is None:
            self._bar = tqdm(total=total, unit=f" {self._what}", leave=False)
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_seen() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
