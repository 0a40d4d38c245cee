"""Accuracy against labels given, on the shipped features: ``python docs/pictures/curves.py handful``."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

from plot import COLOURS, document, text

ROOT = Path(__file__).parent.parent.parent
FEATURES = ROOT / "crates/handful-data/assets/cifar-fs-novel.compact.npz"
LABELS = [1, 2, 3, 5, 8, 12]
RULES = {
    "handful label": "pool",
    "release 0.1": "pool:smoothing",
    "Poisson learning": "pool:poisson",
    "Laplace learning": "pool:laplace",
}
DRAWS = 3
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 60, 150, 40, 50


def accuracy(program: str, rule: str, labels: int) -> float:
    """Return the mean share of unlabelled rows that get the right label, in percent."""
    arguments = ["label", str(FEATURES), "--method", rule, "--evaluate", str(DRAWS), "--labels-per-class", str(labels)]
    run = subprocess.run([program, *arguments, "--format", "json"], check=True, capture_output=True, text=True)
    draws = json.loads(run.stdout)["draws"]
    return 100 * sum(draw["accuracy"] for draw in draws) / len(draws)


def main(program: str) -> None:
    """Measure and draw."""
    curves = {name: [accuracy(program, rule, labels) for labels in LABELS] for name, rule in RULES.items()}
    low = 10 * math.floor(min(map(min, curves.values())) / 10)
    high = 10 * math.ceil(max(map(max, curves.values())) / 10)

    def place(labels: float, value: float) -> tuple[float, float]:
        along = math.log(labels / LABELS[0]) / math.log(LABELS[-1] / LABELS[0])
        x = LEFT + along * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    title = "Accuracy against labels per class, 12,000 images of 20 classes"
    parts = [text(LEFT, 24, title, "start", extra="font-weight='600'")]
    for value in range(low, high + 1, 10):
        (x, y), (end, _) = place(LABELS[0], value), place(LABELS[-1], value)
        parts.append(f"<path d='M{x:.1f} {y:.1f}H{end:.1f}' stroke='#e3e6ea'/>")
        parts.append(text(x - 8, y + 4, f"{value} %", "end", "#555"))
    parts += [text(place(labels, low)[0], HEIGHT - BOTTOM + 20, str(labels), colour="#555") for labels in LABELS]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "labels per class", colour="#555"))
    ends = sorted(((values[-1], name) for name, values in curves.items()), reverse=True)
    below = -math.inf
    heights = {}
    for value, name in ends:
        below = heights[name] = max(place(LABELS[-1], value)[1] + 4, below + 16)
    for colour, (name, values) in zip(COLOURS, curves.items(), strict=False):
        points = [place(labels, value) for labels, value in zip(LABELS, values, strict=True)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f"<path d='M{path}' fill='none' stroke='{colour}' stroke-width='2.5'/>")
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>" for x, y in points]
        parts.append(text(points[-1][0] + 10, heights[name], name, "start", colour))
    target = ROOT / "docs/src/pictures/accuracy-against-labels.svg"
    target.write_text(document(WIDTH, HEIGHT, parts, title))
    for name, values in curves.items():
        print(name, *(f"{value:.1f}" for value in values))


if __name__ == "__main__":
    main(sys.argv[1])
