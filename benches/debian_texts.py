"""Labels the descriptions of Debian packages by section with `handful label`: real texts with real classes.

    apt update
    cargo build --release && handful weights get minilm
    python benches/debian_texts.py [--labels 5] [--most 200]

Up to 200 packages of each of ten sections, the first `--labels` of each labelled. Prints the share of the others that were labelled
with their own section.
"""

import argparse
import csv
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

SECTIONS = "database editors education electronics fonts games graphics mail science sound".split()
PARTS = ("-dev", "-dbg", "-data", "-doc", "-common")


def packages():
    """Name, description and section, each description once."""
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    seen = set()
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] not in " \t")
        name, section = fields.get("Package", ""), fields.get("Section", "")
        text = fields.get("Description", fields.get("Description-en", ""))
        if section in SECTIONS and text and text not in seen and not name.endswith(PARTS):
            seen.add(text)
            yield name, text, section


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--most", type=int, default=200)
    asked = parser.parse_args()
    rows = sorted(packages())
    random.Random(1).shuffle(rows)
    kept = [row for section in SECTIONS for row in [row for row in rows if row[2] == section][: asked.most]]
    labelled = {row[0] for section in SECTIONS for row in [row for row in kept if row[2] == section][: asked.labels]}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with open(folder / "texts.csv", "w", newline="") as file:
            rows = [(name, text, section if name in labelled else "") for name, text, section in kept]
            csv.writer(file).writerows([("id", "text", "label"), *rows])
        handful = os.environ.get("HANDFUL", "target/release/handful")
        began = time.time()
        subprocess.run([handful, "label", folder / "texts.csv", "-o", folder / "out.csv", "--cache", folder / "cache"], check=True)
        took = time.time() - began
        found = {row["id"]: row["label"] for row in csv.DictReader(open(folder / "out.csv"))}
    rest = [(name, section) for name, _, section in kept if name not in labelled]
    right = sum(found[name] == section for name, section in rest)
    print(f"{right} of {len(rest)} labelled rightly ({100 * right / len(rest):.1f}%), {took:.1f} s")


if __name__ == "__main__":
    main()
