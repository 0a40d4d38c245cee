"""What unlabelled rows change: ``python docs/pictures/decision.py``, with the package installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from plot import COLOURS, document, text

from handful import FewShotClassifier

SIDE, GAP, TOP = 300, 20, 40
CELLS = 60
METHODS = [("labels only: protonet", "protonet", {}), ("and unlabelled rows: dm-ida", "dm-ida", {"preset": "plain"})]


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return three long groups in the plane, and the group of each row."""
    rng = np.random.default_rng(3)
    groups = []
    for centre, angle in [((0.36, 0.75), 0.5), ((0.7, 0.6), 0.5), ((0.45, 0.25), 0.5)]:
        along, across = rng.normal(0, 0.13, 60), rng.normal(0, 0.035, 60)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        groups.append(np.array(centre) + np.stack([along, across], 1) @ turn)
    return np.concatenate(groups).astype(np.float32), np.repeat(np.arange(3), 60)


def main() -> None:
    """Fit both methods to one label per group, and draw what they say of every place."""
    X, truth = rows()
    given = np.array([np.flatnonzero(truth == group)[X[truth == group][:, 0].argmax()] for group in range(3)])
    at = (np.arange(CELLS) + 0.5) / CELLS
    places = np.stack(np.meshgrid(at, at), -1).reshape(-1, 2).astype(np.float32)
    y = np.full(len(X), -1)
    y[given] = truth[given]
    parts = []
    for number, (title, method, options) in enumerate(METHODS):
        left = GAP + number * (SIDE + GAP)
        params = {"transform": "none", "temperature": 0.02}
        if method != "protonet":
            params |= {"temperature_five_shot": 0.02, "feature_bandwidth": 0.1}
        classifier = FewShotClassifier(method, params=params, **options)
        said = classifier.fit(X, y).predict(np.concatenate([places, X])) if method != "protonet" else None
        if said is None:
            said = classifier.fit(X[given], truth[given]).predict(np.concatenate([places, X]))
        right = (said[len(places) :] == truth).mean()
        parts.append(text(left, 26, f"{title}, {100 * right:.0f} % right", "start", extra="font-weight='600'"))
        cell = SIDE / CELLS
        # One path for each class, a stripe for each run of equal cells: thousands of squares would be half a megabyte.
        stripes: dict[int, str] = {}
        for line, groups in enumerate(said[: len(places)].reshape(CELLS, CELLS)):
            ends = [*(np.flatnonzero(np.diff(groups)) + 1), CELLS]
            for start, end in zip([0, *ends], ends, strict=False):
                corner = f"M{left + start * cell:.0f} {TOP + SIDE - (line + 1) * cell:.0f}"
                stripe = f"{corner}h{(end - start) * cell:.0f}v{cell:.0f}h{(start - end) * cell:.0f}z"
                stripes[int(groups[start])] = stripes.get(int(groups[start]), "") + stripe
        parts += [f"<path d='{path}' fill='{COLOURS[group]}' opacity='0.22'/>" for group, path in stripes.items()]
        for row, (x, height) in enumerate(X):
            place = f"cx='{left + x * SIDE:.1f}' cy='{TOP + (1 - height) * SIDE:.1f}'"
            look = "r='7' stroke='#111' stroke-width='2'" if row in given else "r='3'"
            parts.append(f"<circle {place} {look} fill='{COLOURS[truth[row]]}'/>")
    width = 2 * SIDE + 3 * GAP
    target = Path(__file__).parent.parent / "src/pictures/decision.svg"
    target.write_text(
        document(width, TOP + SIDE + GAP, parts, "Regions of three classes, without and with unlabelled rows")
    )


if __name__ == "__main__":
    main()
