"""Rows that come batch by batch, so that they need not fit into memory: what may be passed to ``fit`` in the place of an array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from ._data import class_names, collected
from ._frames import chosen, column_names, is_frame
from ._parts import labels, numbers, refuse_gaps, weights

# Bytes of a batch that is cut from something larger.
_BATCH = 4 << 20


class Batch(NamedTuple):
    """Some rows, as arrays, compressed rows or a data frame."""

    number: int
    x: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None


class Source:
    """Batches of rows with labels; checked, and counted from 1."""

    def __init__(self, opened: Callable[[], Iterable[Any]], repeats: bool, y: Any = None, sample_weight: Any = None):
        self.repeats = repeats
        self._opened = opened
        self._y = y if y is None or isinstance(y, str) else labels(collected(y))
        self._weight = (
            sample_weight
            if sample_weight is None or isinstance(sample_weight, str)
            else weights(collected(sample_weight))
        )
        self._held: list[Batch] = []
        self._rest: Iterator[Batch] | None = None
        self._first: Batch | None = None
        self._kinds: dict[str, str] = {}
        self._rows: int | None = None
        if self._y is None and self._weight is not None:
            raise ValueError("batches bring their weights with them, as (X, y, sample_weight)")

    def whole(self, most: int) -> tuple[Any, Any, Any] | None:
        """All rows together, if they take no more than so many bytes."""
        held, size = [], 0
        rest = self._checked()
        for batch in rest:
            held.append(batch)
            size += _bytes(batch.x) + batch.y.nbytes
            if size > most:
                self._held, self._rest = held, rest
                return None
        # Should there be no room for the fit, the rows are there to be gone through.
        self._held, self._rest = held, iter(())
        weight = None if held[0].weight is None else np.concatenate([batch.weight for batch in held])
        y = np.concatenate([batch.y for batch in held])
        texts = y.dtype.kind == "O" and all(isinstance(label, str) for label in y)
        return _joined([batch.x for batch in held]), y.astype(str) if texts else y, weight

    def batches(self) -> Iterator[Batch]:
        """One batch after the other. What was held before is let go on the way."""
        if self._rest is None:
            yield from self._checked()
            return
        rest, self._rest = self._rest, None
        held, self._held = self._held[::-1], []
        while held:
            yield held.pop()
        yield from rest

    def _checked(self) -> Iterator[Batch]:
        number, at = 0, 0
        for item in self._opened():
            number += 1
            with _named(number):
                x, y, weight = self._split(item, at)
                rows = x.shape[0]
                for what, found in (("labels", len(y)), ("weights", rows if weight is None else len(weight))):
                    if found != rows:
                        raise ValueError(f"{rows} rows of features and {found} {what}")
                if rows == 0:
                    continue
                batch = self._alike(Batch(number, x, y, weight))
            at += rows
            yield batch
        if at == 0:
            raise ValueError("there are no rows: the source of batches is empty")
        for what, array in (("y", self._y), ("sample_weight", self._weight)):
            if isinstance(array, np.ndarray) and len(array) != at:
                raise ValueError(f"X has {at} rows, and {what} has {len(array)}")
        if self._rows not in (None, at):
            raise ValueError(f"the batches had {self._rows} rows the first time, and {at} when asked for once more")
        self._rows = at

    def _split(self, item: Any, at: int) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
        """Features, labels and weights of a batch whose first row is number `at` of all."""
        if self._y is None:
            if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
                raise TypeError(
                    f"a batch must be (X, y) or (X, y, sample_weight), found a {type(item).__name__}; or pass labels as y, "
                    "which may be the name of a column"
                )
            x = _features(item[0])
            return x, labels(collected(item[1])), weights(item[2]) if len(item) == 3 else None
        x = _features(item)
        end = at + x.shape[0]
        y = _column(x, self._y, "y") if isinstance(self._y, str) else self._y[at:end]
        weight = self._weight
        if weight is not None:
            weight = weights(_column(x, weight, "sample_weight")) if isinstance(weight, str) else weight[at:end]
        taken = [name for name in (self._y, self._weight) if isinstance(name, str)]
        if taken:
            x = chosen(x, [name for name in column_names(x) or [] if name not in taken])
        return x, labels(y), weight

    def _alike(self, batch: Batch) -> Batch:
        """The batch as it will be used; refuses one that is not like the first, or that no fit could use."""
        x = batch.x if is_frame(batch.x) else numbers(batch.x)
        if not is_frame(x):
            if x.ndim != 2:
                raise ValueError(f"X must have rows and columns, found {x.ndim} dimensions")
            _refuse_not_finite(x)
        refuse_gaps(batch.y)
        check_classification_targets(batch.y)
        if batch.weight is not None:
            bad = ~(np.isfinite(batch.weight) & (batch.weight >= 0))
            if bad.any():
                row = int(np.argmax(bad))
                raise ValueError(
                    f"row {row + 1}: sample_weight is {batch.weight[row]}, expected a number of at least 0"
                )
        first = self._first
        if first is None:
            if is_frame(x):
                kinds = {name: _holds(x[name]) for name in column_names(x) or []}
                self._kinds = {name: kind for name, kind in kinds.items() if kind is not None}
            self._first = batch._replace(
                x=x[:0], y=batch.y[:1], weight=None if batch.weight is None else batch.weight[:0]
            )
            return batch._replace(x=x)
        x = _like_first(x, first.x)
        if is_frame(x):
            for name, known in self._kinds.items():
                if (found := _holds(x[name])) not in (None, known):
                    raise ValueError(f"column `{name}` holds {found}, and {known} in the first batch")
        if (first.weight is None) != (batch.weight is None):
            raise ValueError("weights must be in all batches or in none")
        if (first.y.dtype.kind in "biuf") != (batch.y.dtype.kind in "biuf"):
            raise ValueError("labels are numbers in some batches and texts in others")
        return batch._replace(x=x)


class Labels:
    """Numbers for labels, by first appearance."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self.names: list[str] = []

    def numbers(self, y: NDArray[Any]) -> NDArray[np.uint32]:
        """The numbers of some labels."""
        found, of = np.unique(y, return_inverse=True)
        for label, name in zip(found.tolist(), class_names(found), strict=True):
            if label not in self._known:
                self._known[label] = len(self.names)
                self.names.append(name)
        here = np.array([self._known[label] for label in found.tolist()], dtype=np.uint32)
        return np.ascontiguousarray(here[of])

    def classes(self) -> NDArray[Any]:
        """All labels in their order."""
        return np.unique(np.array(list(self._known)))


def source_of(X: Any, y: Any, sample_weight: Any, budget: int) -> Source | None:
    """X as batches of rows, if it is something that need not be held as a whole."""
    if isinstance(X, np.memmap) and X.ndim == 2 and getattr(X, "_mmap", None) is not None:
        if X.nbytes <= budget:
            return None
        step = max(1, _BATCH // max(1, X.nbytes // max(1, len(X))))
        return Source(lambda: (np.array(X[i : i + step]) for i in range(0, len(X), step)), True, y, sample_weight)
    known = _columnar(X)
    if known is None and callable(X) and not hasattr(X, "__array__"):
        return Source(X, True, y, sample_weight)
    if known is None and hasattr(X, "__next__"):
        return Source(lambda: X, False, y, sample_weight)
    if known is None:
        return None
    if y is None:
        raise ValueError(f"a {type(X).__name__} needs y: the name of the column with the labels, or an array")
    return Source(*known, y, sample_weight)


def _columnar(X: Any) -> tuple[Callable[[], Iterable[Any]], bool] | None:
    """What opens a table that is not in memory, and whether that can be done more than once."""
    polars, dataset = sys.modules.get("polars"), sys.modules.get("pyarrow.dataset")
    if polars is not None and isinstance(X, polars.LazyFrame):
        return lambda: X.collect_batches(maintain_order=True), True
    if hasattr(X, "to_pyarrow_dataset"):
        X, dataset = X.to_pyarrow_dataset(), sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(X, dataset.Dataset):
        # In the order of files and rows; few of them ahead, which are held.
        return lambda: X.to_batches(batch_readahead=2, fragment_readahead=1), True
    if hasattr(X, "read_next_batch"):
        return lambda: X, False
    if hasattr(X, "__arrow_c_stream__") and not is_frame(X) and not hasattr(X, "__array__"):
        return lambda: _reader(X), not hasattr(X, "__next__")
    return None


def _reader(X: Any) -> Any:
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(X)


def _features(x: Any) -> Any:
    """What a batch holds, as something that has a shape."""
    if type(x).__name__ == "RecordBatch" and hasattr(x, "schema"):
        import pyarrow

        return pyarrow.Table.from_batches([x])
    x = collected(x)
    return x if hasattr(x, "shape") else np.asarray(x)


def _column(x: Any, name: str, what: str) -> Any:
    names = column_names(x) if is_frame(x) else None
    if names is None:
        raise ValueError(f"{what} is the name of a column, {name!r}, and X has no columns with names")
    if name not in names:
        raise ValueError(f"{what} is the column {name!r}, which X does not have; it has {_listed(names)}")
    return x[name]


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:10]) + (", ..." if len(names) > 10 else "")


def _kind(x: Any) -> str:
    if sparse.issparse(x):
        return "a sparse matrix"
    return "an array" if isinstance(x, np.ndarray) else f"a data frame of {type(x).__module__.split('.')[0]}"


def _holds(column: Any) -> str | None:
    """Whether a column of a data frame has numbers or texts; None for all else, and where nothing is known."""
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if kind.startswith(("int", "uint", "float", "double", "bool", "decimal")):
        return "numbers"
    if kind == "object":
        values = column.dropna()
        return "texts" if len(values) and isinstance(values.iloc[0], str) else None
    return "texts" if kind.startswith(("str", "utf8", "large_", "categor", "enum", "dictionary")) else None


def _like_first(x: Any, first: Any) -> Any:
    if _kind(x) != _kind(first):
        raise ValueError(f"X is {_kind(x)}, and {_kind(first)} in the first batch")
    if not is_frame(x):
        if x.shape[1] != first.shape[1]:
            raise ValueError(f"X has {x.shape[1]} features, and {first.shape[1]} in the first batch")
        if x.dtype != first.dtype:
            if first.dtype != np.float64:
                raise ValueError(f"X is of {x.dtype}, and of {first.dtype} in the first batch")
            x = numbers(x.astype(np.float64))
        return x
    names, expected = column_names(x) or list(x.columns), column_names(first) or list(first.columns)
    if names == expected:
        return x
    lacks, more = [n for n in expected if n not in names], [n for n in names if n not in expected]
    if lacks or more:
        said = [f"lacks {_listed(lacks)}"] * bool(lacks) + [f"has {_listed(more)} besides"] * bool(more)
        raise ValueError(f"other columns than in the first batch: it {' and '.join(said)}")
    return chosen(x, expected)


def _refuse_not_finite(x: Any) -> None:
    values = x.data if sparse.issparse(x) else x
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    at = int(np.argmin(np.isfinite(values).reshape(-1)))
    row = int(np.searchsorted(x.indptr, at, side="right")) - 1 if sparse.issparse(x) else at // x.shape[1]
    column = int(x.indices[at]) if sparse.issparse(x) else at % x.shape[1]
    value = values.reshape(-1)[at]
    what = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"row {row + 1}, feature {column + 1}: Input X contains {what}, expected a finite number")


def _bytes(x: Any) -> int:
    if sparse.issparse(x):
        return int(x.data.nbytes + x.indices.nbytes + x.indptr.nbytes)
    if hasattr(x, "memory_usage"):
        return int(x.memory_usage(deep=True).sum())
    return int(x.estimated_size() if hasattr(x, "estimated_size") else x.nbytes)


def _joined(parts: list[Any]) -> Any:
    first = parts[0]
    if len(parts) == 1:
        return first
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    library = sys.modules[type(first).__module__.split(".")[0]]
    if library.__name__ == "pandas":
        return library.concat(parts, ignore_index=True)
    if library.__name__ == "polars":
        return library.concat(parts, how="vertical_relaxed")
    return library.concat_tables(parts, promote_options="permissive")


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Says of what is wrong with a batch which one it is."""
    try:
        yield
    except (ValueError, TypeError) as problem:
        raise type(problem)(f"batch {number}: {problem}") from problem


def named_batch(number: int) -> Any:
    """The same for what the library finds in it."""
    return _named(number)
