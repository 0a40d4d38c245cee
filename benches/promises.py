"""Whether `--max-error 0.05` and `--promise expected` hold, over many draws of several sets.

    cargo build --release
    python benches/promises.py SET.npz [SET.npz …] [--draws 100] [--program target/release/handful]

Each SET.npz holds `features` [rows, dim] and `labels` [rows]. Settings: 5 and 10 labels per class, class sizes as they are
and from Dirichlet(1).
"""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

PROMISED = 0.05


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--program", default="target/release/handful")
    args = parser.parse_args()
    kept = accepting = 0
    worst, accepted, expected = 0.0, [], []
    for path in args.sets:
        for each, dirichlet in ((5, False), (10, False), (5, True), (10, True)):
            command = [args.program, "label", path, "--evaluate", str(args.draws), "--labels-per-class", str(each)]
            command += ["--draw-seed", "7", "--format", "json"] + (["--dirichlet", "1"] if dirichlet else [])
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr.strip())
            draws = json.loads(done.stdout)["draws"]

            def of(draw, kind):
                return next(p for p in draw["promises"] if p["kind"] == kind and p["max_error"] == PROMISED)

            sure = [of(draw, "high-probability") for draw in draws]
            mean = [of(draw, "expected") for draw in draws]
            some = [p for p in sure if p["accepted"] > 0]
            broken = [p for p in some if p["realised"] > PROMISED + 1e-9]
            large = [p["realised"] for p in some if p["accepted_rows"] >= 50]
            kept, accepting = kept + len(some) - len(broken), accepting + len(some)
            worst = max([worst, *large])
            accepted.append(np.mean([p["accepted"] for p in sure]))
            expected.append(np.mean([p["realised"] for p in mean]))
            print(
                f"{Path(path).stem:28} {each:2}{'d' if dirichlet else ' '}  kept {len(some) - len(broken)} of {len(some)} "
                f"draws that accept, accepted {100 * accepted[-1]:.1f} %, worst {100 * max(large, default=0):.1f} %;  "
                f"expected: realised {100 * expected[-1]:.2f} %, accepted {100 * np.mean([p['accepted'] for p in mean]):.1f} %",
                flush=True,
            )
    print(
        f"kept in {kept} of {accepting} draws that accept ({100 * kept / max(accepting, 1):.1f} %), "
        f"accepted {100 * np.mean(accepted):.1f} % on average, worst error of 50 rows or more {100 * worst:.1f} %; "
        f"expected: {100 * max(expected):.2f} % realised in the worst setting"
    )


if __name__ == "__main__":
    main()
