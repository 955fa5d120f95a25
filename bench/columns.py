"""Measures what X by columns costs next to X by rows: time of a fit, and memory besides X.

    python bench/columns.py --rows 200000 --features 50 --classes 10

Every storage has a process of its own. Times are processor seconds of
one thread, the best of `--repeats` fits to the default tolerance: they count what is done, on busy machines too.
Memory is how much the peak grows during the first fit and a prediction; it is asked of Linux. Needs the package of
this repository in a release build; libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

STORAGES = {"rows": None, "columns": None, "pandas": "pandas", "pandas, every other integer": "pandas"}
STORAGES |= {"polars": "polars", "pyarrow": "pyarrow", "pyarrow, 8 pieces": "pyarrow"}


def make(storage: str, rows: int, features: int, classes: int) -> tuple[Any, np.ndarray]:
    """The same numbers in some storage (but for the integers)."""
    random = np.random.default_rng(0)
    scores = random.standard_normal((rows, classes), dtype=np.float32)
    columns = []
    for j in range(features):
        columns.append(random.standard_normal(rows))
        scores[:, j % classes] += columns[-1]
        if storage.endswith("integer") and j % 2:
            columns[-1] = np.rint(3 * columns[-1]).astype(np.int64)
    y = scores.argmax(axis=1)
    names = [f"f{j}" for j in range(features)]
    library = importlib.import_module(STORAGES[storage] or "numpy")
    if library is np:
        x = np.empty((rows, features), order="C" if storage == "rows" else "F")
        for j in reversed(range(features)):
            x[:, j] = columns.pop()
        return x, y
    if storage.startswith("pyarrow"):
        pieces = 8 if storage.endswith("pieces") else 1
        return library.table(
            {name: library.chunked_array(np.array_split(c, pieces)) for name, c in zip(names, columns, strict=True)}
        ), y
    if storage == "polars":
        return library.DataFrame([library.Series(n, c) for n, c in zip(names, columns, strict=True)]), y
    return library.DataFrame(dict(zip(names, columns, strict=True)), copy=False), y


def peak() -> int:
    """Bytes, since `forget_peak`."""
    found = re.search(r"VmHWM:\s+([0-9]+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def forget_peak() -> None:
    """Lets the peak begin anew at what is in use now."""
    Path("/proc/self/clear_refs").write_text("5")


def measure(storage: str, arguments: argparse.Namespace) -> None:
    """One storage, in a process of its own."""
    from m3svm import M3SVMClassifier

    x, y = make(storage, arguments.rows, arguments.features, arguments.classes)
    settings = {"lam": 1e-3, "n_threads": 1, "solver": arguments.solver, "max_iter": arguments.max_iter}
    warnings.simplefilter("ignore")
    M3SVMClassifier(**settings).fit(x[:100], y[:100])  # whatever does not depend on the rows
    forget_peak()
    before, fits = peak(), []
    for _ in range(arguments.repeats):
        start = time.process_time()
        model = M3SVMClassifier(**settings).fit(x, y)
        fits.append(time.process_time() - start)
        start = time.process_time()
        model.predict(x)
        predicted = time.process_time() - start
        if len(fits) == 1:
            grown = peak() - before
    print(json.dumps({"fit": min(fits), "predict": predicted, "memory": grown, "steps": model.n_iter_}))


def main() -> None:
    """All storages, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--max-iter", type=int, help="cut the fits short")
    parser.add_argument("--storage", choices=STORAGES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.storage:
        return measure(arguments.storage, arguments)
    size = arguments.rows * arguments.features * 8
    print(f"X of {arguments.rows} x {arguments.features} numbers, {size / 1e6:.0f} MB, {arguments.classes} classes")
    print(f"{'':30}{'fit, s':>10}{'predict, s':>12}{'besides X, MB':>15}{'steps':>7}")
    for storage, library in STORAGES.items():
        if library and importlib.util.find_spec(library) is None:
            print(f"{storage:30}{library} is not installed")
            continue
        command = [sys.executable, __file__, *sys.argv[1:], "--storage", storage]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(
            f"{storage:30}{found['fit']:10.2f}{found['predict']:12.3f}{found['memory'] / 1e6:15.0f}{found['steps']:7}",
            flush=True,
        )


if __name__ == "__main__":
    main()
