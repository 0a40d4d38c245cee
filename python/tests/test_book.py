"""The Python blocks of the README and the book run, and the shell blocks whose programs need this package or numpy.

All other shell blocks are run by the Rust test `documents`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handful

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "src").rglob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^<!-- run by: python/tests/test_book.py -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What stands for something small in a test, as in the Rust test: `<!-- where: NAME = it; --draws 20 = --draws 1 -->`.
WHERE = re.compile(r"^<!-- where: (.+) -->$", re.MULTILINE)
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


def scripts(page: Path) -> list[str]:
    """Return the shell blocks of a page that are run here, with small things in the place of large ones."""
    text = page.read_text(encoding="utf-8")
    pairs = [pair.split(" = ", 1) for found in WHERE.findall(text) for pair in found.split(";")]
    # The longest first: `--draws 2` is also the beginning of `--draws 20`.
    pairs.sort(key=lambda pair: -len(pair[0].strip()))
    blocks = SHELL.findall(text)
    for name, small in pairs:
        blocks = [block.replace(name.strip(), small.strip()) for block in blocks]
    return blocks


@pytest.fixture
def checkout(tmp_path: Path, pool) -> Path:
    """Make a folder that scripts of the repository run in: they, the program where they look for it, and `set.npz`."""
    for place in ("benches", "docs/pictures"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).symlink_to(ROOT / place)
    (tmp_path / "docs/src/pictures").mkdir(parents=True)
    program = tmp_path / "target/release/handful"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m handful "$@"\n')
    program.chmod(0o755)
    X, truth, _ = pool
    _, labels = np.unique(truth, return_inverse=True)
    np.savez(tmp_path / "set.npz", features=X, labels=labels)
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are written for a shell")
@pytest.mark.parametrize("page", [page for page in PAGES if scripts(page)], ids=lambda page: page.stem)
def test_shell_blocks_run(page, checkout):
    python = f"{Path(sys.executable).parent}{os.pathsep}{checkout / 'target/release'}"
    environment = {**os.environ, "PATH": f"{python}{os.pathsep}{os.environ['PATH']}"}
    for block in scripts(page):
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}{done.stdout}{done.stderr}"
