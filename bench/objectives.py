"""What the methods minimise, in plain NumPy: one judge for everybody's weights.

Losses are summed over rows, penalties are lambda |W|^2 (or lambda |W|_1), nothing is halved: lambda = 1/(2 C) for the C
of other programs, 1/C for the lasso. Intercepts are free, or absent. W has one row per scorer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from problem import Array, Matrix

Labels = NDArray[np.int64]


def scores(x: Matrix, weights: Array, intercept: Array) -> Array:
    """One row of scores per row of X."""
    return np.asarray(x @ weights.T) + intercept


def one_vs_rest(x: Matrix, y: Labels, weights: Array, intercept: Array, lam: float) -> float:
    """The hinge of every class against all others."""
    signs = np.where(y[:, None] == np.arange(len(weights)), 1.0, -1.0)
    hinge = np.maximum(0.0, 1.0 - signs * scores(x, weights, intercept))
    return float(hinge.sum() + lam * (weights**2).sum())


def one_vs_one(x: Matrix, y: Labels, weights: Array, intercept: Array, lam: float) -> float:
    """The hinge of every pair of classes over their rows; positive scores speak for the first."""
    total = lam * float((weights**2).sum())
    for number, (k, other) in enumerate(combinations(range(int(y.max()) + 1), 2)):
        rows = np.flatnonzero((y == k) | (y == other))
        signs = np.where(y[rows] == k, 1.0, -1.0)
        z = np.asarray(x[rows] @ weights[number]).ravel() + intercept[number]
        total += float(np.maximum(0.0, 1.0 - signs * z).sum())
    return total


def crammer_singer(x: Matrix, y: Labels, weights: Array, intercept: Array, lam: float) -> float:
    """The hinge of the best wrong class."""
    z, rows = scores(x, weights, intercept), np.arange(len(y))
    lead = 1.0 + z - z[rows, y][:, None]
    lead[rows, y] = 0.0
    return float(lead.max(axis=1).sum() + lam * (weights**2).sum())


def _cross_entropy(x: Matrix, y: Labels, weights: Array, intercept: Array) -> float:
    z = scores(x, weights, intercept)
    top = z.max(axis=1)
    log_sum = top + np.log(np.exp(z - top[:, None]).sum(axis=1))
    return float((log_sum - z[np.arange(len(y)), y]).sum())


def multinomial(x: Matrix, y: Labels, weights: Array, intercept: Array, lam: float) -> float:
    """Cross-entropy with a ridge."""
    return _cross_entropy(x, y, weights, intercept) + lam * float((weights**2).sum())


def sparse_multinomial(x: Matrix, y: Labels, weights: Array, intercept: Array, lam: float) -> float:
    """Cross-entropy with a lasso."""
    return _cross_entropy(x, y, weights, intercept) + lam * float(np.abs(weights).sum())


def m3svm(x: Matrix, y: Labels, weights: Array, intercept: Array, lam: float) -> float:
    """The smooth hinge of all pairs with p = 4 and delta = 0.01, as in `problem.Problem` but without its epsilon."""
    z, rows = scores(x, weights, intercept), np.arange(len(y))
    lead = 1.0 + z - z[rows, y][:, None]
    loss = (lead + np.sqrt(lead**2 + 1e-4)) / 2.0
    loss[rows, y] = 0.0
    pairs = (weights[k] - weights[other] for k, other in combinations(range(len(weights)), 2))
    return float(loss.sum()) + lam * sum(float(d @ d) ** 2 for d in pairs)


Objective = Callable[[Matrix, Labels, Array, Array, float], float]
