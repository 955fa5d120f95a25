"""Data frames and tables, which are stored by columns: taken apart into arrays that share their memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Columns of one table as arrays, each in pieces.
_Pieces = list[list[NDArray[Any]]]

# Shorter pieces are joined, because every one of them costs time. For the same reason tables with fewer rows and more columns than this are
# left to scikit-learn: there a conversion costs less than taking them apart.
_SHORTEST = 1000

# Types of columns that the library reads, by the names that Polars and Arrow give them.
_POLARS = {"Float64", "Float32", "Boolean", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
_ARROW = {"double", "float", "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


class Gaps(ValueError):
    """A table has missing values."""


class Columns:
    """A table by columns, as the extension module takes it: parts on top of each other, each with all columns."""

    def __init__(self, parts: _Pieces, shape: tuple[int, int]):
        self.parts = parts
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """A copy of some rows."""
        single = all(column.dtype == np.float32 for part in self.parts for column in part)
        taken = np.empty((len(rows), self.shape[1]), np.float32 if single else np.float64)
        first = 0
        for part in self.parts:
            end = first + len(part[0])
            here = np.flatnonzero((rows >= first) & (rows < end))
            for j, column in enumerate(part):
                taken[here, j] = column[rows[here] - first]
            first = end
        return taken

    def means(self) -> NDArray[np.float64]:
        """The mean of every column; NaN where a value is missing."""
        sums = np.array([[column.sum(dtype=np.float64) for column in part] for part in self.parts])
        means = sums.sum(axis=0) / max(len(self), 1)
        for j in np.flatnonzero(~np.isfinite(means)):
            # Infinities are for the library to refuse.
            missing = any(np.isnan(part[j]).any() for part in self.parts)
            means[j] = np.nan if missing else 0.0
        return np.asarray(means)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All rows: for splitters that look at them."""
        return self[np.arange(len(self))].astype(dtype, copy=False)


def columns_of(X: Any) -> Columns | None:
    """The columns of a pandas or Polars data frame or of an Arrow table, without a copy.

    None for everything else, and for tables with columns that are no plain numbers: scikit-learn converts them.
    """
    if is_wide(X):
        return None
    if _is_a(X, "pandas", "DataFrame"):
        pieces = _of_pandas(X)
    elif _is_a(X, "polars", "DataFrame"):
        pieces = _of_polars(X)
    elif _is_a(X, "pyarrow", "Table"):
        pieces = _of_arrow(X)
    else:
        return None
    # Frames around an array of rows have columns with gaps. Those rows need no conversion.
    if not pieces or not all(_is_plain(piece) for column in pieces for piece in column):
        return None
    # A byte may hold another truth than 0 and 1.
    pieces = [[piece.view(np.uint8) if piece.dtype == bool else piece for piece in column] for column in pieces]
    return Columns(_parts(pieces, X.shape[0]), tuple(X.shape))


def is_wide(X: Any) -> bool:
    """Whether a table has so few rows for its columns that its rows are better converted than its columns taken apart."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] < _SHORTEST < shape[1]


def are_numbers(X: Any) -> bool:
    """Whether all columns of a data frame are of numbers or truth values."""
    if _is_a(X, "pandas", "DataFrame"):
        dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in X.dtypes]
        return all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in dtypes)
    if _is_a(X, "polars", "DataFrame"):
        return all(str(dtype) in _POLARS for dtype in X.dtypes)
    return _is_a(X, "pyarrow", "Table") and all(str(kind) in _ARROW for kind in X.schema.types)


def _is_a(X: Any, library: str, kind: str) -> bool:
    """Whether X is of a type of a library, which need not be installed."""
    known = getattr(sys.modules.get(library), kind, None)
    return known is not None and isinstance(X, known)


def _of_pandas(frame: Any) -> _Pieces | None:
    # Types that allow for missing values name the type of all others.
    dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in frame.dtypes]
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in dtypes):
        return None
    if len(set(frame.dtypes)) == 1 and (whole := _one_block(frame)) is not None:
        return [[whole[:, j]] for j in range(len(dtypes))]
    columns = [frame.iloc[:, j] for j in range(len(dtypes))]
    nullable = [hasattr(column.dtype, "numpy_dtype") and column.hasnans for column in columns]
    _refuse_missing(
        [(int(column.isna().argmax()), j) for j, column in enumerate(columns) if nullable[j]], frame.columns
    )
    return [[column.to_numpy(dtype=dtype, copy=False)] for column, dtype in zip(columns, dtypes, strict=True)]


def _one_block(frame: Any) -> NDArray[Any] | None:
    """All numbers of a frame as one array, if that is how pandas has them; cut into columns in no time, which pandas is slow at."""
    # Other frames would be copied. Whether this one would be, its first row says at little cost.
    row, column = frame.iloc[:1].to_numpy(copy=False), frame.iloc[:1, 0].to_numpy(copy=False)
    if not np.shares_memory(row, column):
        return None
    whole: NDArray[Any] = frame.to_numpy(copy=False)
    return whole


def _of_polars(frame: Any) -> _Pieces | None:
    columns = frame.get_columns()
    if not all(str(column.dtype) in _POLARS for column in columns):
        return None
    missing = [(column.is_null().arg_max(), j) for j, column in enumerate(columns) if column.null_count()]
    _refuse_missing(missing, frame.columns)
    # Truth values are bits there and bytes here: these are copied.
    return [[piece.to_numpy() for piece in column.get_chunks()] for column in columns]


def _of_arrow(table: Any) -> _Pieces | None:
    columns = table.columns
    if not all(str(column.type) in _ARROW for column in columns):
        return None
    missing = [(int(column.is_null().to_numpy().argmax()), j) for j, column in enumerate(columns) if column.null_count]
    _refuse_missing(missing, table.column_names)
    return [[piece.to_numpy(zero_copy_only=str(piece.type) != "bool") for piece in column.chunks] for column in columns]


def _refuse_missing(places: list[tuple[int, int]], names: Any) -> None:
    if places:
        row, column = min(places)
        raise Gaps(
            f"Input X contains NaN: row {row + 1}, feature {column + 1} ({names[column]!r}): the value is missing, "
            "expected a finite number"
        )


def _is_plain(piece: NDArray[Any]) -> bool:
    """Whether numbers lie one after the other, in a type that this machine computes with."""
    known = piece.dtype.kind in "iub" or piece.dtype in (np.float64, np.float32)
    return known and piece.dtype.isnative and piece.flags.c_contiguous and piece.flags.aligned


def _parts(columns: _Pieces, rows: int) -> _Pieces:
    """Columns cut where any of them has an end, so that parts have all columns in one piece each."""
    if all(len(column) == 1 for column in columns):
        return [[column[0] for column in columns]]
    ends = {int(end) for column in columns for end in np.cumsum([len(piece) for piece in column])} - {0}
    if len(ends) * _SHORTEST > rows:
        columns = [column if len(column) == 1 else [np.concatenate(column)] for column in columns if column]
        ends = {rows}
    cut = [_cut(column, sorted(ends)) for column in columns]
    return [list(part) for part in zip(*cut, strict=True)]


def _cut(column: list[NDArray[Any]], ends: list[int]) -> list[NDArray[Any]]:
    """The values up to each end. Every end of a piece is among them."""
    pieces = iter(piece for piece in column if len(piece))
    values: list[NDArray[Any]] = []
    piece, at, first = np.empty(0), 0, 0
    for end in ends:
        if at == len(piece):
            piece, at = next(pieces), 0
        values.append(piece[at : at + end - first])
        at, first = at + end - first, end
    return values
