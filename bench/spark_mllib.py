"""Our Spark estimator with method="lr" beside MLlib's LogisticRegression: seconds and jobs to the same objective, on the same rows in one run.

    python bench/spark_mllib.py --rows 50000 --features 50 --classes 10 --partitions 4

The optimum is the best that any run has found. MLlib is run with as many iterations as its own history says that it takes to come within a
share of it; ours with that share as its tolerance, which it proves. Both take turns.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import m3svm
import numpy as np
import pandas as pd
import pyspark
from m3svm.spark import SparkM3SVMClassifier
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

ABOVE = (1e-2, 1e-4, 1e-6)


def timed(spark: Any, fit: Callable[[], Any]) -> tuple[Any, float, int]:
    """What a fit gives, its seconds and its jobs."""
    jobs = spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs
    before, started = jobs(), time.perf_counter()
    model = fit()
    return model, time.perf_counter() - started, jobs() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--reg", type=float, default=1e-4)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    print(f"m3svm {m3svm.__version__} at {commit.stdout.strip()}, pyspark {pyspark.__version__}, Python {platform.python_version()}")
    print(f"{given.rows} × {given.features}, {given.classes} classes, regParam {given.reg:g}, {given.partitions} partitions, local[2]")

    random = np.random.default_rng(0)
    centres = random.normal(size=(given.classes, given.features))
    y = random.integers(0, given.classes, given.rows)
    x = random.normal(scale=3.0, size=(given.rows, given.features)) + centres[y]
    names = [f"x{j}" for j in range(given.features)]
    frame = spark.createDataFrame(pd.DataFrame(x, columns=names).assign(label=y.astype(float)))
    rows = VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features", "label")
    rows = rows.repartition(given.partitions).persist()
    rows.count()

    empty = []
    for _ in range(10):
        started = time.perf_counter()
        spark.sparkContext.parallelize(range(given.partitions), given.partitions).mapPartitions(list).collect()
        empty.append(time.perf_counter() - started)
    print(f"an empty job: {1e3 * statistics.median(empty):.0f} ms\n")

    def theirs(iterations: int) -> Any:
        return LogisticRegression(regParam=given.reg, maxIter=iterations, tol=1e-14).fit(rows)

    def ours(tol: float) -> Any:
        return SparkM3SVMClassifier(method="lr", regParam=given.reg, tol=tol).fit(rows)

    history = theirs(500).summary.objectiveHistory
    best = min(min(history), ours(1e-9).summary.objective / given.rows)
    print("| above the optimum | MLlib s | jobs | iterations | ours s | jobs | steps | ratio of seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for above in ABOVE:
        needed = next((k for k, value in enumerate(history) if value <= best * (1 + above)), None)
        a, b = [], []
        for _ in range(given.repeats):
            if needed is not None:
                _, seconds, their_jobs = timed(spark, lambda: theirs(needed))
                a.append(seconds)
            model, seconds, our_jobs = timed(spark, lambda: ours(above))
            b.append(seconds)
        mine = statistics.median(b)
        if needed is None:
            print(f"| {above:g} | never | | {len(history)} | {mine:.2f} | {our_jobs} | {model.summary.iterations} | |")
            continue
        other = statistics.median(a)
        print(f"| {above:g} | {other:.2f} | {their_jobs} | {needed} | {mine:.2f} | {our_jobs} | {model.summary.iterations} | {mine / other:.2f} |")
    spark.stop()


if __name__ == "__main__":
    main()
