#!/usr/bin/env python3
"""Data larger than the memory budget against the same data without a budget.

DATA is one of

* a CSV file, whose rows are repeated with noise until they take FACTOR times the budget (as numbers of 8 bytes),
* a folder with the images of MNIST or Fashion-MNIST (`train-images-idx3-ubyte.gz`), as they are,
* `made:ROWSxFEATURESxCLASSES`, clouds that overlap.

It is written as several CSV files and trained on twice: with `--memory`, where rows pass by on disk, and without. Times are those of processors, reading
and decoding included; peak memory is what the system says of the process (`VmHWM`), so this is for Linux.

    python3 bench/larger_than_memory.py DATA.csv --program target/release/m3svm --memory 64MB
    python3 bench/larger_than_memory.py mnist --program target/release/m3svm --memory 200MB
"""

import argparse
import csv
import gzip
import json
import os
import random
import struct
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


class Parts:
    """A table in several CSV files."""

    def __init__(self, folder, header, rows, parts=8):
        self.folder, self.header, self.rows, self.parts = folder, header, rows, parts
        self.written, self.file = 0, None

    def add(self, line):
        if self.written * self.parts // self.rows != (self.written - 1) * self.parts // self.rows:
            self.close()
            self.file = open(os.path.join(self.folder, f"part-{self.written * self.parts // self.rows:03}.csv"), "w")
            self.file.write(",".join(self.header) + "\n")
        self.file.write(line + "\n")
        self.written += 1

    def close(self):
        if self.file:
            self.file.close()


def repeated(path, count, folder):
    """Rows in order of their label, as the worst of files would have them; the share of the spread that noise adds is 0.1."""
    header, rows = rows_of(path)
    label = len(header) - 1
    features = [[float(v) for v in row[:label]] for row in rows]
    spread = []
    for column in zip(*features):
        mean = sum(column) / len(column)
        spread.append((sum((v - mean) ** 2 for v in column) / len(column)) ** 0.5)
    count //= 8 * label
    rng = random.Random(0)
    each = -(-count // len(rows))
    parts = Parts(folder, header, each * len(rows))
    for i in sorted(range(len(rows)), key=lambda i: rows[i][label]):
        for _ in range(each):
            values = (v + 0.1 * s * rng.gauss(0, 1) for v, s in zip(features[i], spread))
            parts.add(",".join(f"{v:.6g}" for v in values) + f",{rows[i][label]}")
    parts.close()
    return parts.written, label


def images(path, folder):
    """Images as they are, in their own order."""
    with gzip.open(os.path.join(path, "train-images-idx3-ubyte.gz")) as file:
        _, count, rows, columns = struct.unpack(">IIII", file.read(16))
        pixels = file.read()
    with gzip.open(os.path.join(path, "train-labels-idx1-ubyte.gz")) as file:
        labels = file.read()[8:]
    d, text = rows * columns, [str(i) for i in range(256)]
    parts = Parts(folder, [f"x{j}" for j in range(d)] + ["label"], count)
    for i in range(count):
        parts.add(",".join(text[v] for v in pixels[i * d : (i + 1) * d]) + f",{labels[i]}")
    parts.close()
    return count, d


def clouds(count, d, classes, folder):
    """A cloud around a centre per class, so near to each other that many rows are on the wrong side."""
    rng = random.Random(0)
    centres = [[rng.gauss(0, 0.3) for _ in range(d)] for _ in range(classes)]
    parts = Parts(folder, [f"x{j}" for j in range(d)] + ["label"], count)
    for _ in range(count):
        label = rng.randrange(classes)
        parts.add(",".join(f"{v + rng.gauss(0, 1):.4g}" for v in centres[label]) + f",{label}")
    parts.close()
    return count, d


def write(data, bytes_wanted, folder):
    if data.startswith("made:"):
        return clouds(*map(int, data[5:].split("x")), folder)
    return images(data, folder) if os.path.isdir(data) else repeated(data, bytes_wanted, folder)


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
    parser.add_argument("--options", default="--lambda 0.001 --tol 1e-6 --threads 1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        rows, features = write(args.data, args.factor * bytes_of(args.memory), folder)
        common = [args.program, "train", folder, "--json", *args.options.split()]
        print(f"{os.path.basename(args.data)}: {rows} rows, {features} features, budget {args.memory}, {args.options}")
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
