"""Folds that depend on which different rows there are, and on nothing else.

Equal rows of a class share a fold, and rows without weight are not tested. So a whole number as weight means the same as
repeating a row that often, and the order of rows means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._columns import Columns
from ._core import Frame
from ._data import TrainingData

# Rows whose numbers are looked at together.
_BLOCK = 4096


def folds_of_rows(data: TrainingData, number: int, seed: int) -> NDArray[np.intp]:
    """The fold of every row, at most so many folds; -1 for rows that no fold tests: those without weight, and the one row of a
    class that has no other, since without it there would be no class.

    Every fold tests rows of all other classes.
    """
    keys = _keys(data.x, np.random.RandomState(seed))
    tested = np.full(len(data.y), True) if data.sample_weight is None else data.sample_weight > 0
    folds = np.full(len(data.y), -1, dtype=np.intp)
    by_class = [np.flatnonzero(tested & (data.y == k)) for k in range(len(data.classes))]
    # Keys are in no order that has to do with the rows.
    places = [(rows, np.unique(keys[rows], return_inverse=True)[1]) for rows in by_class]
    different = [int(place.max()) + 1 if len(rows) else 0 for rows, place in places]
    if max(different) < 2:
        raise ValueError("probability=True needs two different rows of a class, found one row of each")
    number = min([number, *(count for count in different if count > 1)])
    before = 0
    for (rows, place), count in zip(places, different, strict=True):
        if count < 2:
            continue
        # Every class goes on where the last one has stopped, so that folds are of one size.
        folds[rows] = (place + before) % number
        before += count
    return folds


def _keys(x: Any, random: np.random.RandomState) -> NDArray[np.uint64]:
    """One number per row: the same for equal rows, in whatever storage, and hardly ever for others."""
    x = x.keys() if isinstance(x, Frame) else x
    columns = x.shape[1]
    factors = random.randint(0, 2**64, size=columns, dtype=np.uint64) | np.uint64(1)
    keys = np.empty(x.shape[0], dtype=np.uint64)
    for rows, sums in _sums(x, factors):
        # Sums of products tell of the order of columns, and this of nothing any more.
        keys[rows] = _stirred(sums)
    return keys


def _sums(x: Any, factors: NDArray[np.uint64]) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
    """The stirred bits of the numbers of every row times the factors of their columns, modulo 2⁶⁴."""
    if sparse.issparse(x):
        x = x.copy() if not x.has_canonical_format else x
        x.sum_duplicates()
        ends = np.concatenate([[np.uint64(0)], np.cumsum(_bits(x.data) * factors[x.indices], dtype=np.uint64)])
        yield slice(None), ends[x.indptr[1:]] - ends[x.indptr[:-1]]
        return
    for first in range(0, x.shape[0], _BLOCK):
        rows = slice(first, min(first + _BLOCK, x.shape[0]))
        part = x[np.arange(rows.start, rows.stop)] if isinstance(x, Columns) else x[rows]
        yield rows, _bits(part) @ factors


def _bits(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    # Zero has two signs, and is one number. Small whole numbers differ in their first bits only, which products would lose.
    return _stirred(np.ascontiguousarray(numbers + 0.0, dtype=np.float64).view(np.uint64))


def _stirred(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit depends on every bit, and 0 stays 0: the end of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))
