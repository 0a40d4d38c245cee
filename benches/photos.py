"""Labels a folder of photographs with `handful label` as the guide says, from three labels of each class, and copies of them that
a camera could have written on its side.

    pip install pillow piexif
    cargo build --release && handful weights get efficientnet-lite0
    python benches/photos.py CLASSES [--labels 3] [--draws 20]

CLASSES is a folder of class folders. Its photographs are put into one flat folder, without their classes; the labelled ones are drawn
anew in each draw. Copies: the pixels turned by a quarter or a half, with the EXIF tag that turns them back. Prints accuracy over the
photographs without a label, and the time of the first run, which embeds, and of the later ones, which find the features kept.
"""

import argparse
import csv
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import piexif
from PIL import Image

HANDFUL = os.environ.get("HANDFUL", "target/release/handful")
# Orientation tags, and the turn of the pixels that each undoes.
TURNS = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}


def turned_copy(photo, target, tag):
    """The same photograph as a camera held otherwise writes it."""
    image = Image.open(photo).convert("RGB").transpose(TURNS[tag])
    image.save(target, quality=95, exif=piexif.dump({"0th": {piexif.ImageIFD.Orientation: tag}}))


def flat_copy(photo, target, _):
    shutil.copyfile(photo, target)


def written_again(photo, target, _):
    """What turning costs besides the turn: the loss of a second JPEG."""
    Image.open(photo).convert("RGB").save(target, quality=95)


def accuracies(folder, truth, asked):
    """Of each draw, and how long each run took."""
    found, times = [], []
    for draw in range(asked.draws):
        chosen = random.Random(draw)
        names = {}
        for name, label in sorted(truth.items()):
            names.setdefault(label, []).append(name)
        labelled = {name: label for label, group in sorted(names.items()) for name in chosen.sample(group, asked.labels)}
        labels, output = folder / "labels.csv", folder / "labelled.csv"
        with open(labels, "w", newline="") as file:
            csv.writer(file).writerows([("id", "label"), *labelled.items()])
        command = [HANDFUL, "label", folder / "photos", "--labels", labels, "-o", output, "--cache", folder / "cache"]
        began = time.time()
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(time.time() - began)
        if draw == 0:
            print(run.stderr.strip().splitlines()[0])
        rows = [row for row in csv.DictReader(open(output)) if row["id"] not in labelled]
        found.append(100 * sum(row["label"] == truth[row["id"]] for row in rows) / len(rows))
    return found, times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("classes", type=Path)
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--draws", type=int, default=20)
    asked = parser.parse_args()
    photos = sorted(photo for photo in asked.classes.glob("*/*") if photo.is_file())
    truth = {f"{number:04}.jpg": photo.parent.name for number, photo in enumerate(photos)}
    results = {}
    for kind, make in {"as they are": flat_copy, "written again": written_again, "turned by EXIF": turned_copy}.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "photos").mkdir()
            for number, photo in enumerate(photos):
                make(photo, folder / "photos" / f"{number:04}.jpg", [3, 6, 8][number % 3])
            found, times = accuracies(folder, truth, asked)
        results[kind] = found
        spread = 1.96 * statistics.stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0
        differences = [one - other for one, other in zip(found, results["as they are"])]
        apart = 1.96 * statistics.stdev(differences) / len(found) ** 0.5 if len(found) > 1 else 0
        print(
            f"{len(photos)} photographs {kind}, {asked.labels} labels per class, {asked.draws} draws: {statistics.mean(found):.2f} "
            f"± {spread:.2f}% right, {statistics.mean(differences):+.2f} ± {apart:.2f} to as they are; "
            f"{times[0]:.1f} s, then {statistics.median(times[1:] or times):.2f} s"
        )


if __name__ == "__main__":
    main()
