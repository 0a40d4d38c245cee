"""The Python blocks of the README and the book run, those of one page one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handful

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "src").rglob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: (.+) -->\n$")
#: Blocks that need more than this package has; one more is a decision.
MOST_LEFT_OUT = 2


def blocks(page: Path) -> tuple[list[str], list[str]]:
    """Return what is run of a page, and the reasons of what is not."""
    text = page.read_text(encoding="utf-8")
    run, left_out = [], []
    for match in FENCE.finditer(text):
        reason = NOT_RUN.search(text[: match.start()])
        if reason:
            left_out.append(reason[1])
        else:
            run.append(match[1])
    return run, left_out


def sample(folder: Path) -> dict[str, Any]:
    """Write small features, and return the names that a block may use without making them."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 40)
    X = (rng.normal(size=(240, 16)) + 3 * np.eye(16)[truth]).astype(np.float32)
    handful.write_features(folder / "features.npz", X, truth)
    y = np.full(240, -1)
    y[::8] = truth[::8]
    return {"X": X, "y": y, "new_rows": X[:5]}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)[0]], ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore")
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = sample(tmp_path)
    for block in blocks(page)[0]:
        exec(compile(block, str(page), "exec"), names)


def test_few_blocks_are_left_out():
    left_out = [reason for page in PAGES for reason in blocks(page)[1]]
    assert len(left_out) <= MOST_LEFT_OUT, left_out
