"""Data for the examples: from the folder that M3SVM_DATA names, or what comes with scikit-learn."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file


def _file(name: str) -> Path | None:
    folder = os.environ.get("M3SVM_DATA")
    path = Path(folder) / name if folder else None
    if path is not None and path.exists():
        return path
    print(f"{name} is not there (M3SVM_DATA names its folder); a set that comes with scikit-learn takes its place")
    return None


def table(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Features and labels of a table with one line per row, the label last."""
    path = _file(f"{name}.csv.gz")
    if path is None:
        return None
    rows = np.genfromtxt(path, delimiter=",", skip_header=1)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(int)


def newsgroups() -> tuple[csr_matrix, np.ndarray, list[str], list[str]] | None:
    """Counts of words, groups, names of groups and words of 20 Newsgroups; 11314 rows to train come first."""
    path = _file("news20.svm.gz")
    if path is None:
        return None
    X, y = load_svmlight_file(str(path))
    names = (path.parent / "news20.classes.txt").read_text().split()
    with gzip.open(path.parent / "news20.vocab.txt.gz", "rt") as words:
        return X, y.astype(int), names, words.read().split()
