"""Threads, signals, forks and memory."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from handful import HandfulClassifier, bench


def test_threads_of_python_at_once(pool):
    X, _, y = pool
    expected = HandfulClassifier("pool:fast").fit(X, y)
    probabilities = expected.predict_proba(X).tobytes()

    def work(number):
        if number % 2:
            return expected.predict_proba(X).tobytes() == probabilities
        return HandfulClassifier("pool:fast").fit(X, y).probability_.tobytes() == expected.probability_.tobytes()

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(24)))


def test_python_goes_on_while_rust_works(pool):
    X, truth, _ = pool
    seen, done = [], threading.Event()

    def count():
        while not done.is_set():
            seen.append(None)
            done.wait(0.01)

    other = threading.Thread(target=count)
    other.start()
    result = bench((X, truth), ["dm-ida"], tasks=300, progress=False)
    done.set()
    other.join()
    assert len(result.scores[0]["per_task"]) == 300
    assert len(seen) > 10


INTERRUPTED = """
    import sys, time, threading, os, signal
    import numpy as np
    import handful

    X = np.random.default_rng(1).normal(size=(20_000, 512)).astype(np.float32)
    y = np.arange(20_000) % 200
    def work():
        {work}
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        start = time.monotonic()
        while True:
            work()
    except KeyboardInterrupt:
        print(time.monotonic() - start - 1.0)
    # The process can do something else and end at once.
    handful.FewShotClassifier("protonet").fit(X[:4], [0, 1, 2, 3]).predict(X[:9])
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize(
    "work",
    [
        "handful.HandfulClassifier().fit(X, np.where(y < 100, y, -1))",
        "handful.bench((X, y), ['dm-ida'], tasks=100_000, progress=False)",
        "handful.choose_rows(X, 2_000)",
    ],
    ids=["fit", "bench", "choose"],
)
def test_ctrl_c_comes_through_within_a_second(work):
    program = textwrap.dedent(INTERRUPTED).replace("{work}", work)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0


def test_the_command_ends_on_ctrl_c_as_programs_do(tmp_path, demo):
    np.savez(tmp_path / "t.npz", features=demo.X, labels=demo.codes)
    command = [sys.executable, "-m", "handful", "bench", str(tmp_path / "t.npz"), "--tasks", "1000000"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(2)
    running.send_signal(signal.SIGINT)
    assert running.wait(5) in (-signal.SIGINT, 130)
    assert running.stderr is not None and "Traceback" not in running.stderr.read()
    running.stderr.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_threads_of_its_own(pool):
    X, _, y = pool
    clf = HandfulClassifier("pool:fast").fit(X, y)
    expected = clf.predict(X)
    program = (
        "import os, sys, pickle, numpy as np\n"
        "X, clf, expected = pickle.load(sys.stdin.buffer)\n"
        "assert (clf.predict(X) == expected).all()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if (clf.predict(X) == expected).all() else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], input=pickle.dumps((X, clf, expected)), timeout=60, check=False
    )
    assert done.returncode == 0


MAPPED = """
    import sys
    import numpy as np
    from handful import HandfulClassifier

    def own_megabytes():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) / 1024

    rows, columns = 65_536, 16_384
    X = np.memmap(sys.argv[1], dtype=np.float32, mode="r+", shape=(rows, columns))
    kind = np.arange(rows) % 3
    X[:, :3] = np.eye(3)[kind]
    X[:, 3:11] = 0.3 * np.random.default_rng(1).normal(size=(rows, 8))
    X.flush()
    y = np.full(rows, -1)
    y[:60] = kind[:60]
    before = own_megabytes()
    clf = HandfulClassifier("pool:fast").fit(X, y)
    right = (clf.transduction_ == kind).mean()
    print(X.nbytes / 2**30, own_megabytes() - before, right)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is told by /proc")
def test_a_mapped_file_of_four_gigabytes_is_not_copied(tmp_path):
    path = tmp_path / "pool.f32"
    with open(path, "wb") as file:
        file.truncate(4 << 30)
    program = textwrap.dedent(MAPPED)
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    path.unlink()
    assert done.returncode == 0, done.stderr
    size, own, right = map(float, done.stdout.split())
    assert size == 4.0 and right > 0.95
    assert own < 1000, f"{own:.0f} MB of its own for a pool of {size} GB"


def test_rows_read_are_told(demo):
    told = []
    y = np.where(np.arange(len(demo)) % 300 == 0, demo.codes, -1)
    X = np.tile(demo.X, (4, 1))
    y = np.concatenate([y, np.full(3 * len(demo), -1)])
    clf = HandfulClassifier("pool:fast", verbose=lambda done, total: told.append((done, total))).fit(X, y)
    assert told and all(0 <= done <= total == len(X) for done, total in told)
    before = len(told)
    assert (clf.predict(X) == clf.set_params(verbose=False).predict(X)).all()
    assert len(told) >= before


def test_an_array_is_read_where_it_lies(pool):
    X, _, y = pool
    clf = HandfulClassifier("pool:fast").fit(X, y)
    assert np.shares_memory(clf._rows, X)
    other = HandfulClassifier("pool:fast").fit(X.astype(np.float64), y)
    assert other.probability_.tobytes() == clf.probability_.tobytes()
    assert (
        HandfulClassifier("pool:fast").fit(np.asfortranarray(X), y).predict(X[::2]).tolist()
        == clf.predict(X[::2]).tolist()
    )
