"""Draws docs/margins.svg: what a margin is, and what the power p does to the smallest one at equal training loss.

Run it from the root of the repository, with NumPy and Matplotlib installed:

    cargo build --release
    python docs/margins.py target/release/m3svm

The left panel is one run of `m3svm train` on two iris features with p = 4 and lambda = 0.1. The right one shows docs/powers.csv, which
`docs/powers.py` writes.
"""

from __future__ import annotations

import csv
import sys

import matplotlib
import matplotlib.ticker

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from equal_loss import ROOT, Fit, Path, train

DATA = ROOT / "crates" / "m3svm-cli" / "data" / "iris.csv"
FEATURES = ("petal_length", "petal_width")
# Colours of Okabe and Ito that colour-blind readers can tell apart; the markers differ as well.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
MARKERS = ("o", "s", "^", "D", "v")


def scores(low: np.ndarray, high: np.ndarray, steps: int, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores of all classes on a grid."""
    sides = [np.linspace(start, end, steps) for start, end in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*sides), axis=-1) @ w + b


def strips(axes: plt.Axes, fit: Fit, x: np.ndarray, labels: list[str]) -> None:
    """Regions, samples and the strip of every pair of classes."""
    answer, tensors, names = fit.answer, fit.tensors, fit.about["classes"]
    w, b = tensors["weights"], tensors["intercept"]
    x = (x - tensors["scaler.shift"]) * tensors["scaler.factor"]
    low, high = x.min(axis=0) - 0.35, x.max(axis=0) + 0.35
    # Contours of linear functions need few points.
    fine, coarse = scores(low, high, 360, w, b), scores(low, high, 3, w, b)
    extent = (low[0], high[0], low[1], high[1])
    tint = np.array([matplotlib.colors.to_rgb(c) for c in COLOURS[: len(names)]])[fine.argmax(axis=-1)]
    axes.imshow(0.16 * tint + 0.84, origin="lower", extent=extent, aspect="auto", zorder=0)
    closest = {names.index(name) for name in answer["min_margin_classes"]}
    for k in range(len(names)):
        for l in range(k + 1, len(names)):
            f = coarse[..., k] - coarse[..., l]
            smallest = {k, l} == closest
            style = {"colors": "black" if smallest else "0.45", "zorder": 3 if smallest else 2}
            axes.contour(f, [0.0], extent=extent, linewidths=1.3, **style)
            axes.contour(f, [-1.0, 1.0], extent=extent, linewidths=0.9, linestyles="dashed", **style)
            if smallest:
                axes.contourf(f, [-1.0, 1.0], extent=extent, colors=["black"], alpha=0.16, zorder=1)
    for name, colour, marker in zip(names, COLOURS, MARKERS, strict=False):
        own = x[[label == name for label in labels]]
        style = {"c": colour, "marker": marker, "edgecolors": "black", "linewidths": 0.3, "zorder": 4}
        axes.scatter(*own.T, s=13, label=name, **style)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="petal length (scaled)", ylabel="petal width (scaled)")
    axes.set_aspect("equal")
    axes.set_title("Margins between iris species", fontsize=11)
    handles, texts = axes.get_legend_handles_labels()
    handles.append(matplotlib.patches.Patch(facecolor="0.84", edgecolor="black", linestyle="dashed"))
    texts.append("the smallest margin")
    axes.legend(handles, texts, loc="lower right", fontsize=8, framealpha=0.9)


def powers(axes: plt.Axes) -> None:
    """The smallest margin by p, one line per set; bands span three strengths of the penalty."""
    lines: dict[str, dict[float, list[float]]] = {}
    with (ROOT / "docs" / "powers.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            lines.setdefault(row["set"], {}).setdefault(float(row["p"]), []).append(float(row["change_percent"]))
    for (name, changes), colour, marker in zip(lines.items(), COLOURS, MARKERS, strict=False):
        p = sorted(changes)
        axes.plot(p, [np.mean(changes[at]) for at in p], marker=marker, color=colour, label=name, markersize=5)
        axes.fill_between(p, [min(changes[at]) for at in p], [max(changes[at]) for at in p], color=colour, alpha=0.13, linewidth=0)
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axes.yaxis.set_major_locator(matplotlib.ticker.MultipleLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+.0f} %" if value else "0")
    axes.set(xlabel="power p of the penalty", ylabel="smallest margin, against p = 2")
    axes.set_title("At equal training loss", fontsize=11)
    axes.grid(color="0.92")
    axes.legend(fontsize=8, loc="upper left")


def main() -> None:
    """Command line: the binary and, for another format, the picture."""
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "m3svm")
    with DATA.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    x = np.array([[float(row[name]) for name in FEATURES] for row in rows])
    plt.rcParams |= {"font.size": 10, "svg.hashsalt": "m3svm"}
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    strips(left, train(binary, DATA, 4, 0.1, ("--features", ",".join(FEATURES))), x, [row["species"] for row in rows])
    powers(right)
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "margins.svg"
    figure.savefig(output, dpi=150, metadata={"Date": None, "Creator": None} if output.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
