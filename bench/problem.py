"""Data sets and the objective of the benchmark, in plain NumPy/SciPy.

    F(W, b) = sum_i sum_{k != y_i} g(1 - (z_{i,y_i} - z_{ik}))
              + lambda sum_{k<l} ||w_k - w_l||^p + epsilon (||W||_F^2 + ||b||^2)

with z = X W + 1 b' and g(x) = (x + sqrt(x^2 + delta^2)) / 2. W is features x classes.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Matrix = Array | sp.csr_array

LAMBDA, POWER, EPSILON, DELTA = 1e-3, 4.0, 1e-6, 0.01

ROOT = Path(__file__).resolve().parent.parent

#: Every set, smallest first, with the learning rate the paper's authors used for Adam.
LEARNING_RATES = {
    "glass": 0.01,
    "vehicle": 0.05,
    "dermatology": 0.01,
    "orl": 0.01,
    "cornell": 0.1,
    "isolet": 0.001,
    "usps": 0.01,
    "hhar-recomputed": 0.02,
}
SETS = tuple(LEARNING_RATES)
SPARSE = ("cornell", "news20")


def data_file(name: str) -> Path:
    """The file of a set, in the folder M3SVM_DATA names."""
    folder = Path(os.environ.get("M3SVM_DATA", ROOT / ".." / "shared" / "data"))
    return folder / f"{name}.{'svm' if name in SPARSE else 'csv'}.gz"


def load(name: str) -> tuple[Matrix, NDArray[np.int64]]:
    """Standardised features and labels 0..c-1 of a set; sparse files stay sparse."""
    x, y = read(name)
    return standardise(x), y


def read(name: str) -> tuple[Matrix, NDArray[np.int64]]:
    """Features as they are in the file and labels 0..c-1."""
    path = data_file(name)
    x, raw = _read_libsvm(path) if ".svm" in path.name else _read_csv(path)
    return x, np.unique(raw, return_inverse=True)[1].astype(np.int64)


def _read_csv(path: Path) -> tuple[Array, NDArray[Any]]:
    with gzip.open(path, "rt") as lines:
        columns = next(lines).count(",")
        labels = np.array([line.rstrip().rpartition(",")[2] for line in lines])
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2, usecols=range(columns)), labels


def _read_libsvm(path: Path) -> tuple[sp.csr_array, Array]:
    labels: list[float] = []
    values: list[float] = []
    columns: list[int] = []
    starts = [0]
    with gzip.open(path, "rt") as lines:
        for line in lines:
            fields = line.split("#", 1)[0].split()
            if not fields:
                continue
            labels.append(float(fields[0]))
            for field in fields[1:]:
                column, value = field.split(":")
                columns.append(int(column) - 1)
                values.append(float(value))
            starts.append(len(values))
    shape = (len(labels), max(columns) + 1)
    x = sp.csr_array((np.array(values), np.array(columns), np.array(starts)), shape=shape)
    return x, np.array(labels)


def standardise(x: Matrix) -> Matrix:
    """Divides by the population sd of each column; dense columns are centred first.

    Sparse matrices are not shifted, though zeros count towards the sd. Constant columns keep their scale.
    """
    n = x.shape[0]
    if sp.issparse(x):
        mean = np.asarray(x.sum(axis=0)).ravel() / n
        filled = np.bincount(x.indices, minlength=x.shape[1])
        square = np.bincount(x.indices, (x.data - mean[x.indices]) ** 2, minlength=x.shape[1])
        sd = np.sqrt((square + (n - filled) * mean**2) / n)
        largest = abs(x).max(axis=0).toarray().ravel()
        sd[sd <= 1e-13 * largest] = 1.0
        return sp.csr_array((x.data / sd[x.indices], x.indices, x.indptr), shape=x.shape)
    sd = x.std(axis=0)
    sd[sd <= 1e-13 * np.abs(x).max(axis=0)] = 1.0
    return (x - x.mean(axis=0)) / sd


@dataclass
class Problem:
    """F and its gradient over the flat vector of W (row-major, d x c) followed by b."""

    x: Matrix
    y: NDArray[np.int64]
    dtype: type = np.float64

    def __post_init__(self) -> None:
        """Casts the features and keeps what every evaluation needs."""
        self.x = self.x.astype(self.dtype)
        self.x_t = self.x.T.tocsr() if sp.issparse(self.x) else self.x.T
        self.n, self.d = self.x.shape
        self.c = int(self.y.max()) + 1
        self.own = np.arange(self.n) * self.c + self.y
        self.size = (self.d + 1) * self.c

    def start(self) -> Array:
        """W = 0, b = 0."""
        return np.zeros(self.size, self.dtype)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """F and its gradient: one product with X, one with its transpose, distances by the Gram matrix."""
        weights, bias = theta[: -self.c].reshape(self.d, self.c), theta[-self.c :]
        # margin[i, k] = 1 - z_own + z_k; the own column is switched off below.
        margin = np.asarray(self.x @ weights)
        margin += bias
        margin += 1.0 - margin.ravel()[self.own][:, None]
        root = np.multiply(margin, margin)
        root += DELTA * DELTA
        np.sqrt(root, out=root)
        # g = (m + root) / 2, g' = (1 + m / root) / 2.
        loss = margin + root
        loss.ravel()[self.own] = 0.0
        value = 0.5 * float(loss.sum(dtype=np.float64))
        slope = np.divide(margin, root, out=margin)
        slope += 1.0
        slope *= 0.5
        slope.ravel()[self.own] = 0.0
        slope.ravel()[self.own] = -slope.sum(axis=1)

        gram = weights.T @ weights
        norms = np.diag(gram)
        squares = np.maximum(norms[:, None] + norms - 2.0 * gram, 0.0)
        np.fill_diagonal(squares, 0.0)
        value += 0.5 * LAMBDA * float((squares ** (POWER / 2)).sum(dtype=np.float64))
        value += EPSILON * float(theta @ theta)
        # d||w_k - w_l||^p / dw_k = p ||.||^(p-2) (w_k - w_l): a graph Laplacian applied to W.
        laplacian = -(LAMBDA * POWER) * squares ** (POWER / 2 - 1)
        np.fill_diagonal(laplacian, 0.0)
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))

        gradient = (2.0 * EPSILON) * theta
        w_part = gradient[: -self.c].reshape(self.d, self.c)
        w_part += self.x_t @ slope
        w_part += weights @ laplacian
        gradient[-self.c :] += slope.sum(axis=0)
        return value, gradient
