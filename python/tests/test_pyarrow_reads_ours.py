"""Parquet that the command writes, read by pyarrow."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

parquet = pytest.importorskip("pyarrow.parquet")


def test_converted_and_labelled_tables(tmp_path: Path, command) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    X[:30] += 3
    table = tmp_path / "pool.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", *"abcde"])
        for row, values in enumerate(X):
            writer.writerow([f"é {row}", "one" if row < 30 else "two", *(repr(float(value)) for value in values)])
    command("data", "convert", table, tmp_path / "converted.parquet")
    converted = parquet.read_table(tmp_path / "converted.parquet")
    assert converted.column("id").to_pylist() == [f"é {row}" for row in range(60)]
    assert np.array_equal(np.array(converted.column("embedding").to_pylist(), dtype=np.float32), X)

    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\né 0,one\né 1,one\né 30,two\né 31,two\n", encoding="utf-8")
    command("label", table, "--labels", labels, "-o", tmp_path / "labelled.parquet")
    command("label", table, "--labels", labels, "-o", tmp_path / "labelled.csv")
    labelled = parquet.read_table(tmp_path / "labelled.parquet")
    with (tmp_path / "labelled.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert labelled.column("id").to_pylist() == [row["id"] for row in rows]
    assert labelled.column("label").to_pylist() == [row["label"] for row in rows]
