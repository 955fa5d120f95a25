"""What Dask costs beside the local fit: one empty round, one pass, and the fit as a whole; on the same rows, taking turns in one run.

    python bench/dask_overhead.py --rows 200000 --features 50 --classes 10 --partitions 8 --repeats 3

Both get as many threads in all. Rows are clouds that overlap; the objective of both must agree within the tolerance.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import time
from typing import Any

import dask.array as da
import distributed
import m3svm
import numpy as np
from distributed import Client, LocalCluster
from m3svm import dask as m3svm_dask


def clouds(rows: int, features: int, classes: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    centres = random.normal(size=(classes, features))
    y = random.integers(0, classes, rows)
    return random.normal(scale=3.0, size=(rows, features)) + centres[y], y


def empty_round(client: Client, partitions: int) -> float:
    """The median of the seconds that a round with nothing to do takes."""
    seconds = []
    for _ in range(20):
        started = time.perf_counter()
        client.gather(client.map(abs, range(partitions), pure=False))
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tol", type=float, default=1e-6)
    given = parser.parse_args()

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    print(f"m3svm {m3svm.__version__} at {commit.stdout.strip()}, distributed {distributed.__version__}, ", end="")
    print(f"numpy {np.__version__}, Python {platform.python_version()}")
    print(f"{given.rows} × {given.features}, {given.classes} classes, {given.partitions} partitions, {given.workers} workers")
    x, y = clouds(given.rows, given.features, given.classes)
    with (
        LocalCluster(
            n_workers=given.workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        size = -(-given.rows // given.partitions)
        parts = client.persist([da.from_array(x, chunks=(size, -1)), da.from_array(y, chunks=size)])
        distributed.wait(parts)
        empty = empty_round(client, given.partitions)
        print(f"an empty round: {1e3 * empty:.0f} ms\n")
        print("| method | local s | Dask s | ratio | rounds | ms per round beyond the local fit | objectives differ by |")
        print("|---|---|---|---|---|---|---|")
        pairs = [
            (m3svm.MultinomialLogisticRegression, m3svm_dask.DaskMultinomialLogisticRegression),
            (m3svm.M3SVMClassifier, m3svm_dask.DaskM3SVMClassifier),
            (m3svm.WestonWatkinsClassifier, m3svm_dask.DaskWestonWatkinsClassifier),
        ]
        for local, remote in pairs:
            here, there = [], []
            for _ in range(given.repeats):
                started = time.perf_counter()
                alone = local(tol=given.tol, n_threads=given.workers).fit(x, y)
                here.append(time.perf_counter() - started)
                started = time.perf_counter()
                apart = remote(tol=given.tol, n_threads=1).fit(*parts)
                there.append(time.perf_counter() - started)
            a, b, rounds = statistics.median(here), statistics.median(there), apart._model.passes
            apart_by = abs(apart.objective_ / alone.objective_ - 1)
            print(f"| {local._method} | {a:.2f} | {b:.2f} | {b / a:.2f} | {rounds} | {1e3 * (b - a) / rounds:.0f} | {apart_by:.1e} |")


if __name__ == "__main__":
    main()
