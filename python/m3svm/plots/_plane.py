"""The plane of a picture: rows projected into it, and its points as features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone


class Plane(NamedTuple):
    """A plane through the space of features."""

    # Coordinates of the rows.
    points: NDArray[np.float64]
    # Rows of features at given coordinates, in the kind of table that the rows came in.
    features: Callable[[NDArray[np.float64]], Any]
    # What the coordinates are called.
    names: tuple[str, str]


def plane_through(X: Any, y: ArrayLike | None, projection: Any) -> Plane:
    """The plane that a projection of `X` describes; see ``DecisionRegionDisplay.from_estimator``."""
    if issparse(X):
        raise TypeError(
            "decision regions need dense rows, found a sparse matrix; reduce it first, with TruncatedSVD say"
        )
    columns = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"`X` must be a table with at least two rows, found shape {rows.shape}")

    def as_given(table: NDArray[np.float64]) -> Any:
        if columns is None:
            return table
        # pandas and Polars both make a frame of named columns.
        return type(X)(dict(zip(X.columns, table.T, strict=True)))

    if projection is None and rows.shape[1] == 2:
        first, second = columns or ("feature 0", "feature 1")
        return Plane(rows, as_given, (first, second))
    transformer, names = _transformer("pca" if projection is None else projection, y)
    points = np.asarray(transformer.fit_transform(rows, y), dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"`projection` must give two columns, found shape {points.shape}")
    inverse = getattr(transformer, "inverse_transform", None) or _regression(points, rows)
    return Plane(points, lambda grid: as_given(np.asarray(inverse(grid))), names)


def _transformer(projection: Any, y: ArrayLike | None) -> tuple[Any, tuple[str, str]]:
    if projection == "pca":
        from sklearn.decomposition import PCA

        return PCA(n_components=2), ("principal component 1", "principal component 2")
    if projection == "lda":
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        if y is None or len(np.unique(y)) < 3:
            raise ValueError('projection="lda" needs `y` with at least three classes; "pca" does without')
        return LinearDiscriminantAnalysis(n_components=2), ("discriminant 1", "discriminant 2")
    if isinstance(projection, str) or not hasattr(projection, "fit_transform"):
        raise ValueError(f'`projection` must be None, "pca", "lda" or a transformer, found {projection!r}')
    return clone(projection), ("coordinate 1", "coordinate 2")


def _regression(
    points: NDArray[np.float64], rows: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The mean row at given coordinates, by least squares."""
    centre, mean = points.mean(axis=0), rows.mean(axis=0)
    slopes = np.linalg.lstsq(points - centre, rows - mean, rcond=None)[0]
    return lambda grid: mean + (grid - centre) @ slopes
