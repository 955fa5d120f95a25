"""Test losses after the last epoch, from the curves beside this file, and what each way gained over softmax.

    python experiments/deep/losses.py

Differences are taken seed by seed; the intervals are 95 % ones from Student's t. It needs nothing but Python.
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean, stdev

FOLDER = Path(__file__).resolve().parent
RUNS = ("fashion-mnist-cosine", "svhn-cosine", "cifar10-cosine", "plantvillage-cosine", "svhn-constant", "plantvillage-constant")
# The 97.5 % point of Student's t for 1 to 9 degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def last_losses(run: str) -> dict[str, dict[str, float]]:
    """Test loss by method and seed after the last epoch."""
    losses: dict[str, dict[str, float]] = {}
    with (FOLDER / run / "curves.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            losses.setdefault(row["method"], {})[row["seed"]] = float(row["test_loss"])
    return losses


def main() -> None:
    """Prints the table in Markdown."""
    print("| Run | softmax | softmax + weight decay | softmax + label smoothing | ISM3 |")
    print("|---|---|---|---|---|")
    for run in RUNS:
        losses = last_losses(run)
        plain = losses["softmax"]
        cells = [f"{mean(plain.values()):.3f}"]
        for method in ("softmax + weight decay", "softmax + label smoothing", "ism3"):
            gains = [losses[method][seed] - plain[seed] for seed in plain]
            width = STUDENT[len(gains) - 2] * stdev(gains) / len(gains) ** 0.5
            clear = "**" if abs(mean(gains)) > width else ""
            cells.append(f"{mean(losses[method].values()):.3f} ({clear}{mean(gains):+.3f} ± {width:.3f}{clear})")
        print(f"| {run} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
