"""Draws the pictures of the documentation into a folder; `make docs` calls it.

    python docs/python/figures.py docs/python/figures

All data comes with scikit-learn.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split

from m3svm import M3SVMClassifier, M3SVMClassifierCV
from m3svm.plots import ConvergenceDisplay, DecisionRegionDisplay, MarginMatrixDisplay, PathDisplay

# Okabe and Ito's colours, which everybody can tell apart; lines differ in style as well.
COLOURS = ("#0072B2", "#E69F00", "#009E73")
STYLES = ("-", "--", "-.")


def hinge() -> plt.Figure:
    """What a row pays for a wrong class."""
    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    lead = np.linspace(-1, 3, 400)
    for delta, colour, style in zip((0.0, 0.5, 1.0), COLOURS, STYLES, strict=True):
        x = 1 - lead
        ax.plot(lead, (x + np.sqrt(x**2 + delta**2)) / 2, style, color=colour, label=f"δ = {delta:g}")
    ax.set(xlabel="lead over a wrong class", ylabel="loss")
    ax.grid(color="0.9")
    ax.legend()
    return figure


def convergence() -> plt.Figure:
    """The gap over iterations."""
    wine = load_wine()
    figure, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
    for solver in ("newton", "lbfgs"):
        model = M3SVMClassifier(lam=1e-3, scale="standard", solver=solver).fit(wine.data, wine.target)
        ConvergenceDisplay.from_estimator(model, ax=ax)
    return figure


def margin_matrix() -> plt.Figure:
    """The margins of wines, of the same rows as in the quick start, which prints the numbers."""
    wine = load_wine()
    X, _, y, _ = train_test_split(wine.data, wine.target, stratify=wine.target, random_state=0)
    model = M3SVMClassifier(lam=0.1, scale="standard").fit(X, y)
    return MarginMatrixDisplay.from_estimator(model, display_labels=wine.target_names).figure_


def path(kind: str) -> plt.Figure:
    """A search on part of the digits."""
    X, y = load_digits(return_X_y=True)
    search = M3SVMClassifierCV(lams=np.logspace(-3, 2, 6), ps=[1, 2, 4, 8], cv=5).fit(X[:600] / 16, y[:600])
    return PathDisplay.from_estimator(search, kind=kind).figure_


def regions() -> plt.Figure:
    """Regions of wines in two planes."""
    wine = load_wine(as_frame=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw = DecisionRegionDisplay.from_estimator
    two = wine.data[["flavanoids", "color_intensity"]]
    labels = wine.target_names
    model = M3SVMClassifier(lam=0.1, scale="standard")
    draw(model.fit(two, wine.target), two, wine.target, display_labels=labels, ax=left)
    left.set_title("Two features")
    model = M3SVMClassifier(lam=0.1, scale="standard")
    draw(model.fit(wine.data, wine.target), wine.data, wine.target, projection="lda", display_labels=labels, ax=right)
    right.set_title('All thirteen features, projection="lda"')
    return figure


FIGURES = {
    "hinge": hinge,
    "convergence": convergence,
    "margin_matrix": margin_matrix,
    "path_lines": lambda: path("lines"),
    "path_heatmap": lambda: path("heatmap"),
    "regions": regions,
}


def main() -> None:
    """Command line: the folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # The same file for the same picture: no date, and names that are not random.
    plt.rcParams["svg.hashsalt"] = "m3svm"
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close("all")


if __name__ == "__main__":
    main()
