"""The exact transport of `deepemd` beside a linear-programming solver, on 1,000 random problems.

    cargo build --release -p handful --example transport
    python benches/peers/transport_lp.py target/release/examples/transport [FIXTURE]

Writes the fifty of the smaller problems, with their least costs, to FIXTURE (crates/handful/tests/golden/transport.json), if one
is named. Needs numpy and scipy (HiGHS).
"""

import json
import subprocess
import sys
import time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import eye, kron, vstack


def problem(rng: np.random.Generator, number: int) -> dict[str, list[float]]:
    # Every other problem has the sizes of feature maps; the others anything up to 12 places.
    rows, columns = (rng.choice([16, 25]),) * 2 if number % 2 else rng.integers(2, 13, 2)
    costs = rng.uniform(0, 2, (rows, columns))
    supply, demand = rng.exponential(size=rows), rng.exponential(size=columns)
    if number % 5 == 0:  # As in an assignment: most steps move nothing.
        supply, demand = np.ones(rows), np.full(columns, rows / columns)
    if number % 7 == 0:
        costs = np.round(costs, 1)
    if number % 11 == 0:
        supply[0] = 0.0
        demand[-1] = 0.0
    demand *= supply.sum() / demand.sum()
    costs, supply, demand = (np.round(values, 6) for values in (costs, supply, demand))
    demand[0] = max(round(demand[0] + supply.sum() - demand.sum(), 6), 0.0)
    supply[0] = max(supply[0] + demand.sum() - supply.sum(), 0.0)
    return {"costs": costs.ravel().tolist(), "supply": supply.tolist(), "demand": demand.tolist()}


def least(one: dict[str, list[float]]) -> float:
    rows, columns = len(one["supply"]), len(one["demand"])
    sums = vstack([kron(eye(rows), np.ones((1, columns))), kron(np.ones((1, rows)), eye(columns))]).tocsr()[:-1]
    wanted = np.array(one["supply"] + one["demand"])[:-1]
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    result = linprog(one["costs"], A_eq=sums, b_eq=wanted, method="highs-ds", options=options)
    assert result.status == 0, result.message
    return float(result.fun)


def main() -> None:
    rng = np.random.default_rng(1)
    problems = [problem(rng, number) for number in range(1000)]
    start = time.perf_counter()
    expected = np.array([least(one) for one in problems])
    theirs = 1e3 * (time.perf_counter() - start)
    lines = "\n".join(json.dumps(one) for one in problems) + "\n"
    answer = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True).stdout
    found, microseconds = np.array([line.split() for line in answer.splitlines()], dtype=float).T
    worst = np.max(np.abs(found - expected) / np.maximum(expected, 1.0))
    print(f"1,000 problems: largest relative difference {worst:.1e}")
    print(f"  {microseconds.mean():.0f} us a problem, HiGHS {theirs:.0f}")
    for size in (16, 25):
        of_size = [len(one["supply"]) == size for one in problems]
        print(f"  {size} x {size}: {np.median(microseconds[of_size]):.0f} us")
    assert worst < 1e-8, worst
    if len(sys.argv) > 2:
        small = sorted(range(1000), key=lambda at: len(problems[at]["costs"]))
        kept = [{**problems[at], "least": expected[at]} for at in small[::10][:50]]
        with open(sys.argv[2], "w") as file:
            json.dump(kept, file, separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
