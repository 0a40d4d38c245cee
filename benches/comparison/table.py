"""Renders the JSON documents of run.sh or losses.sh as one Markdown table.

Usage: python3 benches/comparison/table.py OUT_DIR [OUT_DIR ...] [--reference dm-ida] [--only a,b]
Each cell: accuracy in %, and in brackets the paired difference to the reference where its 95% interval excludes zero. Several folders
(one for each domain) are columns beside each other.
"""

import argparse
import json
import math
import pathlib

COLUMNS = [
    (f"{shots}-shot-{classes}-{unlabeled}", f"{shots}-shot {'semi' if unlabeled else 'trans.'} {classes}")
    for unlabeled in (0, 50)
    for shots in (1, 5)
    for classes in ("balanced", "dirichlet")
]


def knows(method):
    if method["prior"]["knows_class_sizes"]:
        return "class sizes"
    return "unlabelled" if method["prior"]["setting"] == "uses-unlabelled" else "labels"


def read(folders):
    """Scores by method and heading, in the order of the headings, and the number of tasks of each."""
    scores, tasks = {}, {}
    for folder in map(pathlib.Path, folders):
        known = dict(COLUMNS)
        others = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name not in known)
        for key, heading in [*COLUMNS, *((name, name.replace("-", " ")) for name in others)]:
            if len(folders) > 1:
                heading = f"{folder.name} {heading.replace('trans. ', '')}"
            for path in sorted((folder / key).glob("*.json")):
                document = json.loads(path.read_text())
                tasks.setdefault(heading, document["setting"]["tasks"])
                scores[path.stem.replace("_", ":"), heading] = document["methods"][0]
    return scores, tasks


def difference(method, reference):
    """Mean paired difference where it is more than chance, else None."""
    pairs = [a - b for a, b in zip(method["per_task"], reference["per_task"])]
    mean = sum(pairs) / len(pairs)
    spread = sum((pair - mean) ** 2 for pair in pairs) / max(len(pairs) - 1, 1)
    return mean if abs(mean) > 1.96 * math.sqrt(spread / len(pairs)) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--reference", default="dm-ida")
    parser.add_argument("--only", help="these methods, comma-separated")
    args = parser.parse_args()
    scores, tasks = read(args.folders)
    names = list(dict.fromkeys(name for name, _ in scores))
    if args.only:
        names = [name for name in names if name in args.only.split(",")]
    of_method = {name: [scores[name, heading] for heading in tasks if (name, heading) in scores] for name in names}
    kinds = {name: knows(found[0]) for name, found in of_method.items()}
    # Ordered by the mean over the columns; a method that is missing in some comes after those that have all.
    mean = {name: sum(m["accuracy"] for m in found) / len(found) for name, found in of_method.items()}
    names.sort(key=lambda name: (-len(of_method[name]), -mean[name]))
    best = {}
    for name in names:
        for heading in tasks:
            if (name, heading) in scores:
                place = (kinds[name], heading)
                best[place] = max(best.get(place, 0), scores[name, heading]["accuracy"])
    print("| method | knows | " + " | ".join(tasks) + " | mean | ms |")
    print("|---|---|" + "---:|" * (len(tasks) + 2))
    for kind in ("class sizes", "unlabelled", "labels"):
        for name in (name for name in names if kinds[name] == kind):
            cells = []
            for heading in tasks:
                method = scores.get((name, heading))
                if method is None:
                    cells.append("")
                    continue
                text = f"{100 * method['accuracy']:.2f}"
                if method["accuracy"] == best[kind, heading]:
                    text = f"**{text}**"
                reference = scores.get((args.reference, heading))
                ahead = difference(method, reference) if reference else None
                cells.append(text if ahead is None else f"{text} ({100 * ahead:+.1f})")
            whole = f"{100 * mean[name]:.2f}" if len(of_method[name]) == len(tasks) else ""
            time = 1000 / of_method[name][0]["tasks_per_second"]
            print(f"| {name} | {kind} | " + " | ".join(cells) + f" | {whole} | {time:.2f} |")
    print()
    print("Tasks per column: " + ", ".join(f"{heading} {count}" for heading, count in tasks.items()) + ".")


main()
