"""Checks the conversions of λ in the README against scikit-learn (and through it LIBLINEAR) on iris.

Run it from the root of the repository, with NumPy, Matplotlib and scikit-learn installed:

    cargo build --release
    python docs/lambda_scale.py target/release/m3svm

Every line is the largest difference between two weights of equal meaning; the last test is that none exceeds 1e-4.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from margins import DATA, ROOT, read_model
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

C = 0.7


def ours(binary: str, rows: list[list[str]], *options: object) -> np.ndarray:
    """Weights (features × classes) of one fit without scaling and with hardly any ε."""
    with tempfile.TemporaryDirectory() as name:
        data, model = Path(name) / "data.csv", Path(name) / "model"
        with data.open("w", newline="") as lines:
            csv.writer(lines).writerows(rows)
        command = [binary, "train", data, "-o", model, "--scale", "none", "--epsilon", 1e-9, "--tol", 1e-12]
        subprocess.run([str(word) for word in (*command, *options)], check=True, capture_output=True)
        return read_model(model)[0]["weights"]


def main() -> None:
    """Command line: the binary."""
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "m3svm")
    with DATA.open(newline="") as lines:
        three = list(csv.reader(lines))
    two = [row for row in three if row[-1] != "setosa"]

    def arrays(rows: list[list[str]]) -> tuple[np.ndarray, list[str]]:
        return np.array([row[:-1] for row in rows[1:]], dtype=float), [row[-1] for row in rows[1:]]

    logistic = LogisticRegression(C=C, tol=1e-12, max_iter=100_000, solver="newton-cg")
    hinge = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-10, max_iter=10_000_000)
    free = SVC(kernel="linear", C=C, tol=1e-10)
    soft, exact, ridge = ("--method", "ism3"), ("--delta", 0), ("--penalty", "ridge")
    cases = [
        ("LogisticRegression, 3 classes, ridge 1/(2C)", logistic, three, (*soft, *ridge, "--lambda", 1 / (2 * C))),
        ("LogisticRegression, 3 classes, pairs 1/(2Cc)", logistic, three, (*soft, "--p", 2, "--lambda", 1 / (6 * C))),
        ("LogisticRegression, 2 classes, ridge 1/C", logistic, two, (*soft, *ridge, "--lambda", 1 / C)),
        ("LogisticRegression, 2 classes, pairs 1/(2C)", logistic, two, (*soft, "--p", 2, "--lambda", 1 / (2 * C))),
        ("SVC, 2 classes, ridge 1/C", free, two, (*exact, *ridge, "--lambda", 1 / C)),
        ("SVC, 2 classes, pairs 1/(2C)", free, two, (*exact, "--p", 2, "--lambda", 1 / (2 * C))),
        ("LIBLINEAR, no bias, pairs 1/(2C)", hinge, two, (*exact, "--p", 2, "--no-intercept", "--lambda", 1 / (2 * C))),
    ]
    worst = 0.0
    for name, theirs, rows, options in cases:
        w = ours(binary, rows, *options)
        expected = theirs.fit(*arrays(rows)).coef_
        found = w.T if len(expected) > 1 else (w[:, 1] - w[:, 0])[None]
        apart = np.abs(found - expected).max()
        worst = max(worst, apart)
        print(f"{name:<46} {apart:.0e}")
    sys.exit(1 if worst > 1e-4 else 0)


if __name__ == "__main__":
    main()
