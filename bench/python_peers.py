"""Measures the Python package against scikit-learn, LIBLINEAR and gensvm: time to a gap, and accuracy on unseen rows.

    python bench/python_peers.py --sets vehicle usps --limit 60 --out peers.jsonl

`rivals.py` compares fits on whole data sets in double precision. This adds what a user of the package would ask
next: single precision, accuracy on a third of the rows that was held back, and gensvm. Problems, programs,
objectives and tolerances are those of `rival_fits.py`. Every program gets the same training rows, rounded to the
precision in question, and as many threads as M3SVM_THREADS says (2). The loosest tolerance that gets within 1e-2,
1e-4 and 1e-6 of the certified optimum counts: best time of three fits, fewer if they take more than 5 s. A program
has `--limit` seconds for all its tolerances together.

gensvm needs an interpreter of its own (see `gensvm_fit.py`), which M3SVM_GENSVM_PYTHON names; without it its rows
say so. Its hinge is rounded by kappa + 1 = 0.001, and judged like ours by the exact one. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# First of all: it says how many threads there are, before NumPy asks.
from rival_fits import METHODS, REPEATS, SHORT, THREADS, TOLERANCES, Data, Method, load, ours  # isort: split

import m3svm
import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

import objectives
from peer_table import table
from problem import Matrix

SETS = ("vehicle", "dermatology", "segment", "satimage", "usps", "optdigits", "letter", "news20")
TARGETS = (1e-2, 1e-4, 1e-6)
KAPPA = -0.999
PRECISIONS = {"f64": np.float64, "f32": np.float32}
#: Methods with a rival in the packages at issue.
SHARED = ("lr", "ovr", "cs", "gensvm")
GENSVM = "gensvm"
#: The optimum is no contestant and gets this many times the limit.
REFERENCE = 5.0
#: Seconds to start an interpreter and to read data.
START = 60.0


def pairs_hinge(x: Matrix, y: np.ndarray, weights: np.ndarray, intercept: np.ndarray, lam: float) -> float:
    """The exact hinge of all pairs with squared distances of class vectors: M3SVM with p = 2, and GenSVM with p = 1."""
    z, rows = objectives.scores(x, weights, intercept), np.arange(len(y))
    lead = 1.0 + z - z[rows, y][:, None]
    lead[rows, y] = 0.0
    c = len(weights)
    distances = c * (weights**2).sum() - (weights.sum(axis=0) ** 2).sum()
    return float(np.maximum(lead, 0.0).sum() + lam * distances)


def pairs_svm(**settings: object) -> m3svm.M3SVMClassifier:
    """Our estimator of that problem."""
    return m3svm.M3SVMClassifier(p=2, delta=0, **settings)


def methods(classes: int) -> dict[str, Method]:
    """The shared methods; lambda of the last is for a penalty of half the squares of one vector per class."""
    pairs = Method(pairs_hinge, lambda cost: 0.5 / (cost * classes), pairs_svm, True, {})
    return {**METHODS, "gensvm": pairs}


def split(name: str, precision: str) -> tuple[Data, Matrix, np.ndarray]:
    """Two thirds of the rows to train on; features and labels of the others."""
    data = load(name, 1.0)
    parts = train_test_split(data.x, data.y, test_size=1 / 3, stratify=data.y, random_state=0)
    x, x_test = (part.astype(PRECISIONS[precision]) for part in parts[:2])
    return Data(x, parts[2], data.cost), x_test, parts[3]


def judge(method: Method, data: Data, weights: np.ndarray, intercept: np.ndarray) -> float:
    """The objective in double precision, whatever the data is stored in."""
    return method.objective(data.x.astype(np.float64), data.y, weights, intercept, method.lam(data.cost))


def accuracy(x: Matrix, y: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> float:
    """The share of rows whose class has the highest score."""
    return float((objectives.scores(x.astype(np.float64), weights, intercept).argmax(axis=1) == y).mean())


def simplex(classes: int) -> np.ndarray:
    """GenSVM's corners of a simplex with edges of length 1, one per row."""
    corners = np.zeros((classes, classes - 1))
    for column in range(1, classes):
        corners[:column, column - 1] = -1.0
        corners[column, column - 1] = column
    return corners / np.sqrt(2.0 * np.arange(1, classes) * np.arange(2, classes + 1))


def gensvm_fits(data: Data, limit: float) -> Iterator[tuple[float, float, np.ndarray, np.ndarray]]:
    """Fits of the package gensvm as ours would be written: tolerance, seconds, weights, intercepts."""
    python = os.environ.get("M3SVM_GENSVM_PYTHON")
    if not python:
        raise RuntimeError("M3SVM_GENSVM_PYTHON names no interpreter with gensvm")
    if sp.issparse(data.x):
        raise RuntimeError("gensvm takes no sparse rows")
    c, n = data.classes, len(data.y)
    # lam of the pairs is 2 n lmd/c, see docs/python/migration.md.
    strength = 0.5 / (data.cost * c) * c / (2 * n)
    corners = simplex(c)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, x=data.x, y=data.y)
        here = str(Path(__file__).with_name("gensvm_fit.py"))
        command = [python, here, str(path), repr(strength), repr(KAPPA), *map(repr, TOLERANCES)]
        for line in lines(command, limit):
            yield line["tol"], line["seconds"], corners @ np.array(line["v"]).T, corners @ np.array(line["b"])


def our_kind_of_fits(method: Method, program: str, data: Data) -> Iterator[tuple[float, float, np.ndarray, np.ndarray]]:
    """Fits of everybody else."""
    make: Callable[[Data, float], Any] = ours(method) if program == "ours" else method.rivals[program]
    random = np.random.default_rng(0)
    small = Data(random.normal(size=(60, 3)).astype(data.x.dtype), np.arange(60) % 3, 1.0)
    make(small, 1e-1)[0]()  # loads and warms up what the first fit would have to
    for tol in TOLERANCES:
        run, weights = make(data, tol)
        seconds = []
        while len(seconds) < REPEATS and sum(seconds) < SHORT:
            begin = time.perf_counter()
            fitted = run()
            seconds.append(time.perf_counter() - begin)
        yield tol, min(seconds), *(np.asarray(part, dtype=np.float64) for part in weights(fitted))


def lines(command: list[str], limit: float, before: float = 0.0) -> Iterator[dict[str, Any]]:
    """JSON lines of a program, which is ended after some seconds; with `before`, they count from its first line on."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    timer = threading.Timer(before or limit, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            yield json.loads(line)
            if before:
                timer.cancel()
                timer, before = threading.Timer(limit, process.kill), 0.0
                timer.start()
        error = process.stderr.read().strip().splitlines()
        if process.wait() == -9:
            raise TimeoutError
        if process.returncode:
            raise RuntimeError(error[-1] if error else f"exit status {process.returncode}")
    finally:
        timer.cancel()
        process.kill()
        process.wait()


def optimum_of(method: Method, data: Data) -> tuple[float, float]:
    """The optimum by our tightest fit, and its certified gap."""
    lam = method.lam(data.cost)
    model = method.ours(lam=lam, tol=1e-9, fit_intercept=method.intercept, n_threads=THREADS, random_state=0).fit(
        data.x, data.y
    )
    return judge(method, data, model.coef_, model.intercept_), model.dual_gap_


def work(name: str, precision: str, method_name: str, program: str, limit: float) -> None:
    """One program on one problem, in a process of its own: prints a line per target that it reaches."""
    import warnings

    warnings.simplefilter("ignore")
    data, x_test, y_test = split(name, precision)
    method = methods(data.classes)[method_name]
    optimum, certified = optimum_of(method, data)
    print(json.dumps({"optimum": optimum, "certified": certified}), flush=True)
    found = gensvm_fits(data, limit) if program == GENSVM else our_kind_of_fits(method, program, data)
    left = list(TARGETS)
    for tol, seconds, weights, intercept in found:
        gap = (judge(method, data, weights, intercept) - optimum) / optimum
        right = accuracy(x_test, y_test, weights, intercept)
        while left and gap <= left[0]:
            row = {"target": left.pop(0), "seconds": seconds, "tol": tol, "gap": gap, "accuracy": right}
            print(json.dumps(row), flush=True)
        print(json.dumps({"closest": gap}), flush=True)
        if not left:
            return


def measure(name: str, precision: str, method: str, program: str, limit: float) -> dict[str, Any]:
    """What one program reaches, and why not more."""
    command = [sys.executable, __file__, "--work", name, precision, method, program, "--limit", repr(limit)]
    row: dict[str, Any] = {"set": name, "precision": precision, "method": method, "program": program, "reached": {}}
    row |= {"threads": THREADS, "load": os.getloadavg()[0], "why": "its tightest tolerance is not enough"}
    try:
        # The optimum is found first, and is nobody's time. gensvm runs in a process below, which is ended in time.
        for line in lines(command, limit + (START if program == GENSVM else 0.0), before=REFERENCE * limit):
            if "target" in line:
                row["reached"][f"{line.pop('target'):g}"] = line
            else:
                row |= line
    except TimeoutError:
        row["why"] = f"more than {limit:g} s"
    except RuntimeError as problem:
        late = str(problem) == "TimeoutError"
        row["why"] = f"more than {limit:g} s" if late else str(problem).removeprefix("RuntimeError: ")
    return row


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--methods", nargs="+", choices=SHARED, default=SHARED, metavar="METHOD")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS), metavar="PRECISION")
    parser.add_argument("--limit", type=float, default=60.0, help="most seconds of one program on one problem")
    parser.add_argument("--out", type=Path, default=Path("peers.jsonl"), help="measurements (default peers.jsonl)")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(*args.work, args.limit)
        return
    # Finished measurements are not made again.
    written = args.out.read_text().splitlines() if args.out.exists() else []
    rows = [json.loads(line) for line in written if line.endswith("}")]
    known = {(row["set"], row["precision"], row["method"], row["program"]) for row in rows}
    with args.out.open("a") as sink:
        for name in args.sets:
            for precision in args.precisions:
                for method in args.methods:
                    rivals = [GENSVM] if method == "gensvm" else list(METHODS[method].rivals)
                    for program in ("ours", *rivals):
                        if (name, precision, method, program) in known:
                            continue
                        print(name, precision, method, program, file=sys.stderr, flush=True)
                        rows.append(measure(name, precision, method, program, args.limit))
                        print(json.dumps(rows[-1]), file=sink, flush=True)
    print("\n".join(table(rows, TARGETS)))


if __name__ == "__main__":
    main()
