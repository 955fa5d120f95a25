"""Data frames with columns of every kind on their way to the library, which prepares them.

Polars, Arrow and whatever else speaks Arrow arrive as Arrow writes them. pandas needs no Arrow to be installed: its columns become
arrays of numbers, or of positions in a list of texts.
"""

from __future__ import annotations

import datetime
import io
import math
import sys
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import Frame

# Milliseconds that stand for no time.
_NO_TIME = np.iinfo(np.int64).min


def is_frame(X: Any) -> bool:
    """Whether X has columns that may be of different types."""
    if _is_a(X, "pandas", "DataFrame"):
        return not any(_is_sparse(dtype) for dtype in X.dtypes)
    if _is_a(X, "polars", "DataFrame"):
        return True
    return _is_a(X, "pyarrow", "Table")


def speaks_arrow(X: Any) -> bool:
    """Whether X has columns as Arrow streams them, and is of a library that is not known here."""
    known = is_frame(X) or _is_a(X, "pandas", "DataFrame")
    # Single columns have that stream as well.
    return not known and hasattr(X, "__arrow_c_stream__") and (hasattr(X, "column_names") or hasattr(X, "columns"))


def as_arrow_table(X: Any) -> Any:
    """What speaks Arrow, as a table of PyArrow."""
    try:
        import pyarrow
    except ImportError as problem:
        raise ImportError(f"a {type(X).__name__} is read by pyarrow, which `pip install pyarrow` installs") from problem
    return pyarrow.table(X)


def frame_of(X: Any) -> Frame:
    """A data frame, or an array whose columns have no names."""
    if _is_a(X, "pandas", "DataFrame"):
        columns = [_of_pandas(X.iloc[:, j], name) for j, name in enumerate(X.columns)]
        return Frame.from_columns(columns, len(X), _names(X.columns))
    if _is_a(X, "polars", "DataFrame"):
        stream = io.BytesIO()
        X.write_ipc_stream(stream)
        return Frame.from_arrow(stream.getvalue())
    if _is_a(X, "pyarrow", "Table"):
        return _of_arrow(X)
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X must have rows and columns")
    return Frame.from_columns([_of_array(X[:, j], f"column {j + 1}") for j in range(X.shape[1])], len(X))


def chosen(X: Any, names: list[str]) -> Any:
    """Some columns of a frame, in that order."""
    if _is_a(X, "pandas", "DataFrame"):
        return X[names]
    return X.select(names)


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a frame; None where there are none."""
    if _is_a(X, "pandas", "DataFrame"):
        return _names(X.columns)
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    return None if names is None or isinstance(X, np.ndarray) else [str(name) for name in names]


def _is_a(X: Any, library: str, kind: str) -> bool:
    known = getattr(sys.modules.get(library), kind, None)
    return known is not None and isinstance(X, known)


def _is_sparse(dtype: Any) -> bool:
    return type(dtype).__name__ == "SparseDtype"


def _names(columns: Any) -> list[str] | None:
    """Names that are texts; whole numbers, as pandas counts columns, are none."""
    return [str(name) for name in columns] if all(isinstance(name, str) for name in columns) else None


def _of_arrow(table: Any) -> Frame:
    import pyarrow

    stream = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return Frame.from_arrow(stream.getvalue().to_pybytes())


def _of_pandas(column: Any, name: Any) -> Any:
    import pandas

    dtype = column.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return column.cat.codes.to_numpy(np.int32), [_text(value) for value in dtype.categories]
    if pandas.api.types.is_datetime64_any_dtype(dtype):
        # Wherever the clock stands: what is compared is the time in the world.
        times = column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(dtype, "tz", None) is not None else column
        return _milliseconds(times.to_numpy("datetime64[ms]")), False
    if pandas.api.types.is_timedelta64_dtype(dtype):
        return _milliseconds(column.to_numpy("timedelta64[ms]")), True
    if isinstance(dtype, pandas.PeriodDtype):
        return _milliseconds(column.dt.to_timestamp().to_numpy("datetime64[ms]")), False
    if pandas.api.types.is_bool_dtype(dtype) or pandas.api.types.is_numeric_dtype(dtype):
        return _of_numbers(column, name)
    try:
        codes, values = pandas.factorize(column)
    except TypeError:
        # Lists and the like cannot be told apart; which of them it is, is said here.
        _refuse_others(column.tolist(), str(name))
        raise
    return _of_values(codes, list(values), str(name))


def _of_numbers(column: Any, name: Any) -> NDArray[Any]:
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}")
    if column.hasnans:
        return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    # Types that allow for missing values name the type of all others.
    return _readable(column.to_numpy(dtype=getattr(column.dtype, "numpy_dtype", column.dtype)))


def _of_array(column: NDArray[Any], name: str) -> Any:
    kind = column.dtype.kind
    if kind in "fiub":
        return _readable(column)
    if kind in "mM":
        return _milliseconds(column.astype(f"{'datetime' if kind == 'M' else 'timedelta'}64[ms]")), kind == "m"
    if kind == "c":
        raise ValueError(f"Complex data not supported: {name}")
    known: dict[Any, int] = {}
    _refuse_others(column.tolist(), name)
    codes = np.array([-1 if _is_gap(value) else known.setdefault(value, len(known)) for value in column.tolist()])
    return _of_values(codes, list(known), name)


def _of_values(codes: NDArray[Any], values: list[Any], name: str) -> Any:
    """A column of objects: of numbers or times if all of them are, of texts if all are something that can be read as one."""
    if values and all(isinstance(v, (bool, int, float, Decimal, np.number, np.bool_)) for v in values):
        return np.append(np.array([_number(v, name) for v in values]), np.nan)[codes]
    if values and all(isinstance(v, (datetime.date, np.datetime64)) for v in values):
        times = [_utc(v) for v in values]
        return np.append(_milliseconds(np.array(times, dtype="datetime64[ms]")), _NO_TIME)[codes], False
    _refuse_others(values, name)
    return np.ascontiguousarray(codes, dtype=np.int32), [_text(value) for value in values]


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except OverflowError as problem:
        raise ValueError(f"column {name!r}: found a whole number above 1.8e308, expected a finite number") from problem


def _refuse_others(values: list[Any], name: str) -> None:
    """Refuses what is neither a text nor a number nor a time."""
    known = (str, bytes, bool, int, float, Decimal, np.generic, datetime.date, datetime.time)
    for value in values:
        if not isinstance(value, known) and not _is_gap(value):
            kind = type(value).__name__
            # scikit-learn's words, which its checks and people look for.
            raise TypeError(f"column {name!r}: argument must be a string or a number, found a {kind}")


def _utc(value: Any) -> Any:
    aware = isinstance(value, datetime.datetime) and value.tzinfo is not None
    return value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if aware else value


def _is_gap(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        # As the library writes it, so that 1 and 1.0 are one value.
        return str(int(value))
    return str(value)


def _milliseconds(times: NDArray[Any]) -> NDArray[np.int64]:
    return np.ascontiguousarray(times).view(np.int64)


def _readable(numbers: NDArray[Any]) -> NDArray[Any]:
    """Numbers one after the other, of a type that the extension module knows."""
    known = numbers.dtype.kind in "iub" or numbers.dtype in (np.float64, np.float32)
    dtype = numbers.dtype.newbyteorder("=") if known else np.dtype(np.float64)
    return np.require(numbers, dtype=dtype, requirements=["C", "A"])
