"""Draws docs/margins.svg: margins on two iris features for three powers p of the penalty.

Run it from the root of the repository, with NumPy and Matplotlib installed:

    cargo build --release
    python docs/margins.py target/release/m3svm

Every panel is one run of `m3svm train` with default settings but for `--features` and `--p`.
"""

from __future__ import annotations

import csv
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "crates" / "m3svm-cli" / "data" / "iris.csv"
FEATURES = ("petal_length", "petal_width")
POWERS = (1, 4, 16)
# Three colours of Okabe and Ito that colour-blind readers can tell apart; the markers differ as well.
COLOURS = ("#0072B2", "#E69F00", "#009E73")
MARKERS = ("o", "s", "^")


def read_model(path: Path) -> tuple[dict, dict]:
    """Tensors and metadata of a model file (safetensors: length, JSON header, numbers)."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    about = json.loads(header.pop("__metadata__")["m3svm"])
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        values = np.frombuffer(raw[8 + length + start : 8 + length + end], dtype="<f8")
        tensors[name] = values.reshape(entry["shape"])
    return tensors, about


def train(binary: str, p: float, folder: Path) -> tuple[dict, dict, dict]:
    """One fit: its JSON answer, and tensors and metadata of the model."""
    model = folder / f"{p}.m3svm"
    command = [binary, "train", str(DATA), "--features", ",".join(FEATURES), "--p", str(p), "--json", "-o", str(model)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer, *read_model(model)


def scores(low: np.ndarray, high: np.ndarray, steps: int, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores of all classes on a grid."""
    sides = [np.linspace(start, end, steps) for start, end in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*sides), axis=-1) @ w + b


def draw(
    axes: plt.Axes, p: float, answer: dict, tensors: dict, x: np.ndarray, labels: list[str], names: list[str]
) -> None:
    """Regions, samples and the strip of every pair of classes."""
    w, b = tensors["weights"], tensors["intercept"]
    x = (x - tensors["scaler.shift"]) * tensors["scaler.factor"]
    low, high = x.min(axis=0) - 0.35, x.max(axis=0) + 0.35
    # Contours of linear functions need few points.
    fine, coarse = scores(low, high, 360, w, b), scores(low, high, 3, w, b)
    extent = (low[0], high[0], low[1], high[1])
    tint = np.array([matplotlib.colors.to_rgb(c) for c in COLOURS])[fine.argmax(axis=-1)]
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
    for k, name in enumerate(names):
        own = x[[label == name for label in labels]]
        style = {"c": COLOURS[k], "marker": MARKERS[k], "edgecolors": "black", "linewidths": 0.3, "zorder": 4}
        axes.scatter(*own.T, s=13, label=name, **style)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="petal length (scaled)")
    axes.set_aspect("equal")
    accuracy = 100 * answer["train_accuracy"]
    axes.set_title(f"p = {p}: minimum margin {answer['min_margin']:.3f}\ntrain accuracy {accuracy:.1f} %", fontsize=11)
    pair = ", ".join(answer["min_margin_classes"])
    print(f"p {p}: minimum margin {answer['min_margin']:.4f} ({pair}), accuracy {accuracy:.2f} %")


def main() -> None:
    """Command line: the binary and, for another format, the picture."""
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "m3svm")
    with DATA.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    x = np.array([[float(row[name]) for name in FEATURES] for row in rows])
    labels = [row["species"] for row in rows]
    plt.rcParams |= {"font.size": 10, "svg.hashsalt": "m3svm"}
    figure, panels = plt.subplots(1, len(POWERS), figsize=(10, 4.3), sharey=True, layout="constrained")
    with tempfile.TemporaryDirectory() as folder:
        for axes, p in zip(panels, POWERS, strict=True):
            answer, tensors, about = train(binary, p, Path(folder))
            draw(axes, p, answer, tensors, x, labels, about["classes"])
    panels[0].set_ylabel("petal width (scaled)")
    handles, names = panels[0].get_legend_handles_labels()
    handles.append(matplotlib.patches.Patch(facecolor="0.84", edgecolor="black", linestyle="dashed"))
    names.append("strip of the pair with the smallest margin")
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "margins.svg"
    figure.savefig(output, dpi=150, metadata={"Date": None, "Creator": None} if output.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
