"""Examples in docstrings and notebooks run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import handful

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))
MODULES = ["handful", *(f"handful.{module.name}" for module in pkgutil.iter_modules(handful.__path__))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith(("_handful", "__main__"))])
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_there_and_documented():
    for name in handful.__all__:
        value = getattr(handful, name)
        assert name == "__version__" or value.__doc__, name
    assert set(handful._HOME) == set(handful.__all__) == set(dir(handful))
    with pytest.raises(AttributeError, match="nothing"):
        _ = handful.nothing


def test_there_are_two_notebooks():
    assert len(NOTEBOOKS) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_notebooks_run(path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
