"""Signed features, with and without a root: tables for `handful bench`.

    python benches/signed_features.py FEATURES.npz FOLDER

FEATURES.npz holds `features` [rows, dim], none of them negative, and `labels` [rows]. Into FOLDER go the same features
centred and turned by a random rotation, and their 64 principal components; each as it is and with the signed root of
every entry already taken.
"""

import sys
from pathlib import Path

import numpy as np


def main(path, folder):
    stored = np.load(path)
    rows, labels = stored["features"].astype(np.float32), stored["labels"]
    rows -= rows.mean(axis=0)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(rows.shape[1], rows.shape[1])))
    _, _, directions = np.linalg.svd(rows[::4], full_matrices=False)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, basis in [("rotated", rotation), ("components", directions[:64].T)]:
        turned = (rows @ basis).astype(np.float32)
        np.savez(Path(folder) / f"{name}.npz", features=turned, labels=labels)
        rooted = np.sign(turned) * np.sqrt(np.abs(turned))
        np.savez(Path(folder) / f"{name}-rooted.npz", features=rooted, labels=labels)


main(*sys.argv[1:])
