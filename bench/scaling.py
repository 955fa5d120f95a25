"""Time and peak memory of `m3svm train` against the number of rows, on synthetic data with n much larger than d times c.

Prints seconds of the fit, its growth for ten times the rows, and peak memory relative to the data. A tenth of the labels is drawn
at random: without that a small sample is separable and a large one is not, which are different problems. Run from the
repository root:

    python bench/scaling.py [--rows 30000 300000] [--features 200] [--classes 5]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

BINARY = Path("target/release/m3svm")
NOISE = 0.1


def write_data(folder: Path, rows: int, features: int, classes: int) -> Path:
    """Overlapping Gaussian classes with some wrong labels, as one `.npy` matrix whose last column is the label."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, features)) * 0.3
    labels = rng.integers(0, classes, rows)
    given = np.where(rng.random(rows) < NOISE, rng.integers(0, classes, rows), labels)
    path = folder / f"rows{rows}.npy"
    table = np.lib.format.open_memmap(path, "w+", dtype=np.float64, shape=(rows, features + 1))
    for start in range(0, rows, 50_000):
        part = slice(start, min(start + 50_000, rows))
        table[part, :features] = centres[labels[part]] + rng.normal(size=(len(labels[part]), features))
        table[part, features] = given[part]
    table.flush()
    return path


def measure(path: Path, threads: int) -> tuple[dict, float]:
    """The report of one training and its peak resident memory in bytes."""
    command = [BINARY, "train", path, "--label", "-1", "--lambda", "0.001", "--json", "--threads", str(threads)]
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            raise SystemExit(f"{command} failed")
        out.seek(0)
        return json.loads(out.read()), usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[30_000, 300_000])
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    print("    rows   data MB  seconds  iterations  growth per 10x rows  peak memory / data")
    before = None
    with tempfile.TemporaryDirectory() as folder:
        for rows in args.rows:
            # In a process of its own: the peak of a child begins with the memory of its parent.
            with ProcessPoolExecutor(max_workers=1) as writer:
                path = writer.submit(write_data, Path(folder), rows, args.features, args.classes).result()
            report, peak = measure(path, args.threads)
            size = path.stat().st_size
            growth = ""
            if before:
                growth = f"{(report['seconds'] / before[1]) ** (np.log(10) / np.log(rows / before[0])):.1f}"
            print(
                f"{rows:8d} {size / 1e6:9.1f} {report['seconds']:8.3f} {report['iterations']:11d} {growth:>20} {peak / size:19.2f}"
            )
            before = (rows, report["seconds"])


if __name__ == "__main__":
    main()
