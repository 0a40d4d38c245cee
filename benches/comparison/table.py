"""Renders the JSON documents of run.sh as one Markdown table.

Usage: python3 benches/comparison/table.py OUT_DIR
Each cell: accuracy in %, and in small print the paired difference to dm-ida where its interval excludes zero.
"""
import json
import pathlib
import sys

COLUMNS = [
    (f"{shots}-shot-{classes}-{unlabeled}", f"{shots}-shot {'semi' if unlabeled else 'trans.'} {classes}")
    for unlabeled in (0, 50)
    for shots in (1, 5)
    for classes in ("balanced", "dirichlet")
]


def label(method):
    preset = method["preset"]
    if method["name"] == "dm-ida" and not preset.endswith(".toml"):
        return f"dm-ida:{preset}"
    return method["name"]


def knows(method):
    if method["prior"]["knows_class_sizes"]:
        return "class sizes"
    return "unlabelled" if method["prior"]["setting"] == "uses-unlabelled" else "labels"


def main(folder):
    scores, order, kinds, tasks = {}, [], {}, {}
    for key, heading in COLUMNS:
        path = pathlib.Path(folder) / f"{key}.json"
        if not path.exists():
            continue
        document = json.loads(path.read_text())
        tasks[heading] = document["setting"]["tasks"]
        for method in document["methods"]:
            name = label(method)
            if name not in order:
                order.append(name)
            kinds[name] = knows(method)
            scores[name, heading] = method
    headings = [heading for _, heading in COLUMNS if heading in tasks]
    print("| method | knows | " + " | ".join(headings) + " | ms |")
    print("|---|---|" + "---:|" * (len(headings) + 1))
    # The best of each column among methods that know as much.
    best = {}
    for (name, heading), method in scores.items():
        place = (kinds[name], heading)
        best[place] = max(best.get(place, 0), method["accuracy"])
    # Some methods cannot do every setting; each is placed by the first it can.
    first = {name: next(scores[name, heading] for heading in headings if (name, heading) in scores) for name in order}
    order.sort(key=lambda name: -first[name]["accuracy"])
    for kind in ("class sizes", "unlabelled", "labels"):
        for name in (name for name in order if kinds[name] == kind):
            cells = []
            for heading in headings:
                method = scores.get((name, heading))
                if method is None:
                    cells.append("")
                    continue
                text = f"{100 * method['accuracy']:.2f}"
                if method["accuracy"] == best[kind, heading]:
                    text = f"**{text}**"
                difference = method["difference"]
                if difference and abs(difference["mean"]) > difference["ci95"]:
                    text += f" ({100 * difference['mean']:+.1f})"
                cells.append(text)
            time = 1000 / first[name]["tasks_per_second"]
            print(f"| {name} | {kind} | " + " | ".join(cells) + f" | {time:.2f} |")
    print()
    print("Tasks per column: " + ", ".join(f"{heading} {count}" for heading, count in tasks.items()) + ".")


main(sys.argv[1])
