"""Draws docs/kernels.svg: regions of linear scores, of a kernel, and of p = 2 against p = ∞ at equal training loss.

Run it from the root of the repository, with the package and Matplotlib installed:

    python docs/kernels.py

Two moons and a cloud beside them, 240 rows, made with a fixed seed. λ of p = ∞ is the one at which the rows pay as much as with p = 2.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from m3svm import M3SVMClassifier

# Colours of Okabe and Ito that colour-blind readers can tell apart; the markers differ as well.
COLOURS, MARKERS = ("#0072B2", "#E69F00", "#009E73"), ("o", "s", "^")
NAMES = ("upper moon", "lower moon", "cloud")
DELTA, LAMBDA = 0.0, 0.03


def rows() -> tuple[np.ndarray, np.ndarray]:
    x, y = make_moons(160, noise=0.17, random_state=3)
    cloud = np.random.default_rng(4).normal((2.45, 1.05), 0.36, size=(80, 2))
    return np.vstack([x, cloud]), np.concatenate([y, np.full(80, 2)])


def fitted(x: np.ndarray, y: np.ndarray, p: float, lam: float, kernel: str) -> M3SVMClassifier:
    return M3SVMClassifier(p=p, lam=lam, kernel=kernel, gamma=1.0, delta=DELTA, tol=1e-5).fit(x, y)


def loss(model: M3SVMClassifier, x: np.ndarray, y: np.ndarray) -> float:
    scores = model.decision_function(x)
    lead = scores[np.arange(len(y)), y][:, None] - scores
    return float(np.maximum(1.0 - lead, 0.0).sum() - len(y))


def margins(model: M3SVMClassifier) -> str:
    found = np.asarray(model.margins_)
    values = sorted(found[k, l] for k in range(3) for l in range(k + 1, 3))
    return ", ".join(f"{v:.2f}" for v in values)


def panel(axes: plt.Axes, model: M3SVMClassifier, x: np.ndarray, y: np.ndarray, title: str) -> None:
    low, high = x.min(axis=0) - 0.3, x.max(axis=0) + 0.3
    grid = np.stack(np.meshgrid(*(np.linspace(a, b, 300) for a, b in zip(low, high, strict=True))), axis=-1)
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(300, 300, 3)
    tint = np.array([matplotlib.colors.to_rgb(c) for c in COLOURS])[scores.argmax(axis=-1)]
    extent = (low[0], high[0], low[1], high[1])
    axes.imshow(0.2 * tint + 0.8, origin="lower", extent=extent, aspect="auto", zorder=0)
    for k in range(3):
        rest = np.delete(scores, k, axis=2).max(axis=2)
        axes.contour(scores[..., k] - rest, [0.0], extent=extent, colors="0.3", linewidths=1.1)
        own = x[y == k]
        axes.scatter(*own.T, s=11, marker=MARKERS[k], color=COLOURS[k], linewidths=0, label=NAMES[k], zorder=3)
    axes.set(xticks=[], yticks=[])
    axes.set_title(f"{title}\nmargins {margins(model)}", fontsize=9)


def main() -> None:
    x, y = rows()
    linear, curved = (fitted(x, y, 2.0, LAMBDA, kernel) for kernel in ("linear", "rbf"))
    target = loss(curved, x, y)
    low, high = 1e-4, 1e2
    for _ in range(40):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if loss(fitted(x, y, np.inf, middle, "rbf"), x, y) < target else (low, middle)
    largest = fitted(x, y, np.inf, (low * high) ** 0.5, "rbf")
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
    for ax, model, title in zip(
        axes, (linear, curved, largest), ("linear, p = 2", "rbf, p = 2", "rbf, p = ∞"), strict=True
    ):
        panel(ax, model, x, y, f"{title}: training loss {loss(model, x, y):.1f}")
    axes[0].legend(fontsize=7, loc="lower left")
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg")
    matplotlib.rcParams["svg.hashsalt"] = "m3svm"
    figure.savefig(output, dpi=110, metadata={"Date": None} if output.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
