"""What the tests share: real features that come with the package, and a few labels of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import handful


@pytest.fixture(scope="session")
def demo() -> handful.FeatureTable:
    return handful.demo_features()


@pytest.fixture(scope="session")
def pool(demo: handful.FeatureTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1,000 rows of ten classes: features, truth, and labels of four rows of each class."""
    chosen = np.concatenate([np.flatnonzero(demo.codes == code)[:100] for code in range(10)])
    rng = np.random.default_rng(1)
    chosen = rng.permutation(chosen)
    X, truth = np.ascontiguousarray(demo.X[chosen]), demo.y[chosen]
    y = np.full_like(truth, "")
    for name in np.unique(truth):
        rows = np.flatnonzero(truth == name)[:4]
        y[rows] = name
    return X, truth, y


@pytest.fixture
def command(tmp_path: Path):
    """Run the command that came with the package; returns what it printed."""

    def run(*args: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "handful", *map(str, args)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
