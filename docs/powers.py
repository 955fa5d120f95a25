"""What p does to the smallest margin at equal training loss: writes docs/powers.csv.

    cargo build --release
    python docs/powers.py target/release/m3svm

Iris comes with the program; the other sets are read from the folder that the variable M3SVM_DATA names, and left out without it.
Three strengths: lambda 0.01, 0.1 and 1 at p = 2; lambda of the other p such that the training loss is the same.
"""

from __future__ import annotations

import csv
import os
import sys

from equal_loss import ROOT, Fit, Path, at_loss, train

SETS = ("dermatology", "vehicle", "optdigits", "glass")
STRENGTHS = (0.01, 0.1, 1.0)
POWERS = (1, 4, 8, 16)


def line(name: str, strength: float, p: float, fit: Fit, reference: Fit) -> list[str]:
    """One model as text."""
    margin, base = fit.answer["min_margin"], reference.answer["min_margin"]
    change = f"{100 * (margin / base - 1):+.1f}"
    accuracy = f"{fit.answer['train_accuracy']:.4f}"
    return [name, f"{strength:g}", f"{p:g}", f"{fit.answer['lambda']:.4g}", f"{fit.loss:.6g}", f"{margin:.6g}", change, accuracy]


def main() -> None:
    """Command line: the binary."""
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "m3svm")
    files = {"iris": ROOT / "crates" / "m3svm-cli" / "data" / "iris.csv"}
    if "M3SVM_DATA" in os.environ:
        files |= {name: Path(os.environ["M3SVM_DATA"]) / f"{name}.csv.gz" for name in SETS}
    with (ROOT / "docs" / "powers.csv").open("w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["set", "lambda_at_p2", "p", "lambda", "train_loss", "min_margin", "change_percent", "train_accuracy"])
        for name, path in files.items():
            for strength in STRENGTHS:
                reference = train(binary, path, 2, strength)
                table.writerow(line(name, strength, 2, reference, reference))
                for p in POWERS:
                    table.writerow(line(name, strength, p, at_loss(binary, path, p, reference, strength), reference))
                    out.flush()


if __name__ == "__main__":
    main()
