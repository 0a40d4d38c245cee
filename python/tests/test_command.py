"""The command that the wheel carries, and what calls it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import handful


def test_the_command_is_on_the_path_and_says_its_version():
    command = shutil.which("handful", path=str(Path(sys.executable).parent))
    assert command is not None
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["handful", handful.__version__]


def test_what_is_wrong_is_a_sentence_and_code_2():
    command = [sys.executable, "-m", "handful", "bench", "nowhere.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("handful: nowhere.npz") and len(done.stderr.splitlines()) == 1


def test_the_command_starts_without_scikit_learn():
    program = "import sys, handful._command; sys.exit('sklearn' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m handful params | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


@pytest.fixture
def photos(tmp_path):
    rng = np.random.default_rng(1)
    images = []
    for number in range(6):
        image = np.zeros((40, 48, 3), dtype=np.uint8)
        image[..., number % 3] = 200
        image += rng.integers(0, 40, image.shape, dtype=np.uint8)
        folder = tmp_path / "photos" / ["red", "green", "blue"][number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{number}.png")
        images.append(image)
    return tmp_path / "photos", images


def test_images_become_features(photos, tmp_path):
    folder, images = photos
    cache = tmp_path / "cache"
    table = handful.embed(folder, weights="compact", cache=cache)
    assert len(table) == 6 and sorted(table.classes) == ["blue", "green", "red"]
    files = sorted(folder.rglob("*.png"), key=lambda path: path.name)
    of_files = handful.embed(files, weights="compact", cache=cache)
    of_arrays = handful.embed(images, weights="compact", cache=cache)
    of_pillow = handful.embed([Image.fromarray(image) for image in images], weights="compact", cache=cache)
    assert of_files.X.tobytes() == of_arrays.X.tobytes() == of_pillow.X.tobytes()
    order = np.argsort([Path(name).name for name in table.ids])
    assert table.X[order].tobytes() == of_files.X.tobytes()


def test_images_that_cannot_be_embedded_are_named(tmp_path):
    with pytest.raises(ValueError, match="no image"):
        handful.embed([])
    with pytest.raises(ValueError, match="image 0 is an array of float64"):
        handful.embed([np.zeros((4, 4, 3))])
    (tmp_path / "bad.png").write_bytes(b"not an image")
    with pytest.raises(ValueError, match=r"bad\.png"):
        handful.embed([tmp_path / "bad.png"], weights="compact", cache=tmp_path / "cache")


def test_a_table_of_the_paper(tmp_path, demo):
    handful.write_features(tmp_path / "f.npz", demo.X[::10], demo.y[::10])
    folder = handful.reproduce(
        "theorem3", tmp_path / "out", features=tmp_path / "f.npz", tasks=5, options={"preset": "fast"}, verbose=False
    )
    assert (folder / "report.html").is_file() and (folder / "results.jsonl").is_file()
    with pytest.raises(ValueError, match="table99"):
        handful.reproduce("table99", tmp_path / "other")
