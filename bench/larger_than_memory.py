#!/usr/bin/env python3
"""Data of ten times the memory budget against the same data without a budget.

Repeats the rows of a CSV file with noise until they take FACTOR times the budget (as numbers of 8 bytes), writes them as several CSV
files, and trains twice: with `--memory`, where rows pass by on disk, and without. Times are those of processors, reading and decoding included; peak
memory is what the system says of the process (`VmHWM`), so this is for Linux.

    python3 bench/larger_than_memory.py DATA.csv --program target/release/m3svm --memory 64MB
"""

import argparse
import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


def bytes_of(text):
    return int(float(text[:-2]) * UNITS[text[-2:].upper()])


def rows_of(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        rows = list(csv.reader(file))
    try:
        float(rows[0][0])
        return [f"x{j}" for j in range(len(rows[0]) - 1)] + ["label"], rows
    except ValueError:
        return rows[0], rows[1:]


def write(path, factor, budget, folder, parts=8):
    """Rows in order of their label, as the worst of files would have them; the share of the spread that noise adds is 0.1."""
    header, rows = rows_of(path)
    label = len(header) - 1
    features = [[float(v) for v in row[:label]] for row in rows]
    spread = []
    for column in zip(*features):
        mean = sum(column) / len(column)
        spread.append((sum((v - mean) ** 2 for v in column) / len(column)) ** 0.5)
    count = factor * budget // (8 * label)
    rng = random.Random(0)
    order = sorted(range(len(rows)), key=lambda i: rows[i][label])
    each = -(-count // len(rows))
    written, at = 0, None
    for number, i in enumerate(order):
        for _ in range(each):
            part = written * parts // (each * len(rows))
            if at is None or part != at[0]:
                if at:
                    at[1].close()
                at = (part, open(os.path.join(folder, f"part-{part:03}.csv"), "w"))
                at[1].write(",".join(header) + "\n")
            values = (v + 0.1 * s * rng.gauss(0, 1) for v, s in zip(features[i], spread))
            at[1].write(",".join(f"{v:.6g}" for v in values) + f",{rows[i][label]}\n")
            written += 1
    at[1].close()
    return written, label


def peak_of(pid, found):
    """The peak of a process by what the system says of it, until it ends. The usage that a parent is told of begins with the memory of the parent."""
    try:
        while True:
            with open(f"/proc/{pid}/status") as status:
                peaks = [int(line.split()[1]) for line in status if line.startswith("VmHWM:")]
            if not peaks:
                return
            found[0] = max(found[0], 1024 * peaks[0])
            time.sleep(0.01)
    except OSError:
        return


def run(command):
    started = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        peak = [0]
        watcher = threading.Thread(target=peak_of, args=(child.pid, peak))
        watcher.start()
        watcher.join()
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{' '.join(command)}: status {status}")
        out.seek(0)
        processor = usage.ru_utime + usage.ru_stime
        return json.load(out), time.perf_counter() - started, processor, peak[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--program", default="target/release/m3svm")
    parser.add_argument("--memory", default="64MB")
    parser.add_argument("--factor", type=int, default=10)
    parser.add_argument("--options", default="--tol 1e-6 --threads 1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        rows, features = write(args.data, args.factor, bytes_of(args.memory), folder)
        common = [args.program, "train", folder, "--json", *args.options.split()]
        print(f"{rows} rows, {features} features, budget {args.memory}, {args.options}")
        found = {}
        for name, more in [("streamed", ["--memory", args.memory]), ("in memory", [])]:
            model, seconds, processor, peak = run(common + more)
            found[name] = processor, peak
            print(
                f"{name:10} {seconds:7.1f} s in all, {processor:6.1f} s of processors, fit {model['seconds']:7.1f} s, peak {peak / 1e6:8.1f} MB, gap {model['relative_gap']:.1e},"
                f" passes {model['passes']}, steps {model['iterations']}, objective {model['objective']:.10g}"
            )
        budget = bytes_of(args.memory)
        print(f"processor time: {found['streamed'][0] / found['in memory'][0]:.2f} of that in memory; peak: {found['streamed'][1] / budget:.2f} of the budget")


if __name__ == "__main__":
    main()
