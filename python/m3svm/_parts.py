"""Rows in parts, on the workers of an engine: what a worker says of its rows, and what it answers during a fit."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from ._core import RowPart, describe_part

# Fits whose state a worker keeps. What is thrown away is made again when it is asked for.
_KEPT_FITS = 3


class Described(NamedTuple):
    """What is known of a part before a fit begins."""

    rows: int
    description: str | None
    labels: NDArray[Any]
    mass: NDArray[np.float64]
    columns: list[str] | None


class _Kept(NamedTuple):
    # One message at a time: a task may run twice.
    turn: Lock
    part: RowPart
    x: Any
    y: NDArray[np.uint32]
    weight: NDArray[np.float64] | None


_kept: OrderedDict[str, dict[int, _Kept]] = OrderedDict()
_lock = Lock()


def numbers(x: Any) -> Any:
    """A block of features as the extension module takes it: single or double precision, in rows or compressed rows."""
    if hasattr(x, "tocsr"):
        x = x.tocsr()
    if sparse.issparse(x):
        x = check_array(x, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
        # What came in a message may lie anywhere in it.
        each = [np.require(part, requirements=["C", "A"]) for part in (x.data, x.indices, x.indptr)]
        return sparse.csr_matrix(tuple(each), shape=x.shape, copy=False)
    x = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    if x.dtype not in (np.float64, np.float32):
        x = x.astype(np.float64)
    return np.require(x, requirements=["C", "A"])


def labels(y: Any) -> NDArray[Any]:
    """A block of labels; texts of any kind as objects, so that parts with other dictionaries agree."""
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    return np.asarray(y.astype(str).astype(object) if y.dtype.kind in "US" else y)


def weights(weight: Any) -> NDArray[np.float64] | None:
    """A block of weights."""
    if weight is None:
        return None
    weight = weight.to_numpy() if hasattr(weight, "to_numpy") else weight
    return np.require(weight, dtype=np.float64, requirements=["C", "A"]).reshape(-1)


def place(number: int, problem: Exception) -> Exception:
    """The same problem, with the part that has it."""
    named = f"partition {number + 1}: {problem}"
    return ValueError(named) if isinstance(problem, (ValueError, TypeError)) else RuntimeError(named)


def describe(number: int, x: Any, y: Any, weight: Any) -> Described:
    """Looks at a part, and refuses what no fit could use."""
    try:
        names = [str(name) for name in x.columns] if hasattr(x, "columns") else None
        x, y, weight = numbers(x), labels(y), weights(weight)
        rows = x.shape[0]
        for what, found in (("labels", len(y)), ("weights", rows if weight is None else len(weight))):
            if found != rows:
                raise ValueError(
                    f"{rows} rows of features and {found} {what}; partitions of both must be the same rows"
                )
        if rows == 0:
            return Described(0, None, np.empty(0, dtype=object), np.empty(0), names)
        refuse_gaps(y)
        check_classification_targets(y)
        found, of = np.unique(y, return_inverse=True)
        mass = np.bincount(of, weights=weight, minlength=len(found)).astype(np.float64)
        return Described(rows, describe_part(x, weight), found, mass, names)
    except (ValueError, TypeError) as problem:
        raise place(number, problem) from problem


def refuse_gaps(y: NDArray[Any]) -> None:
    """Refuses labels that are missing, with the first row that has none."""
    gaps = np.not_equal(y, y) if y.dtype.kind in "fcO" else np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "O":
        gaps = gaps | np.array([label is None for label in y])
    if gaps.any():
        raise ValueError(f"row {int(np.argmax(gaps)) + 1}: there is no label")


def answer(fit: str, number: int, block: Any, classes: NDArray[Any], message: bytes) -> bytes:
    """What a part says to a message of a fit. `block` gives its features, labels and weights."""
    with _lock:
        parts = _kept.setdefault(fit, {})
        _kept.move_to_end(fit)
        while len(_kept) > _KEPT_FITS:
            _kept.popitem(last=False)
        kept = parts.get(number)
    try:
        if kept is None:
            x, y, weight = block()
            own = np.searchsorted(classes, labels(y)).astype(np.uint32)
            kept = _Kept(Lock(), RowPart(), numbers(x), own, weights(weight))
            with _lock:
                kept = parts.setdefault(number, kept)
        with kept.turn:
            return kept.part.answer(kept.x, kept.y, message, sample_weight=kept.weight)
    except (ValueError, TypeError) as problem:
        raise place(number, problem) from problem


def forget(fit: str) -> None:
    """Throws away what is kept of a fit."""
    with _lock:
        _kept.pop(fit, None)


class Merged(NamedTuple):
    """What all parts are together. Those without rows are left out."""

    parts: list[int]
    descriptions: list[str]
    classes: NDArray[Any]
    mass: list[float]
    columns: list[str] | None


def merged(described: list[Described]) -> Merged:
    """Puts the descriptions of all parts together; refuses parts that do not belong together."""
    names = next((part.columns for part in described if part.columns is not None), None)
    for number, part in enumerate(described):
        if part.columns is not None and part.columns != names:
            raise ValueError(
                f"partition {number + 1} has other columns: {part.columns[:10]}, expected {(names or [])[:10]}"
            )
    parts = [number for number, part in enumerate(described) if part.rows > 0]
    if not parts:
        raise ValueError("there are no rows: all partitions are empty")
    kinds = {"number" if described[number].labels.dtype.kind in "biuf" else "text" for number in parts}
    if len(kinds) > 1:
        raise ValueError("labels are numbers in some partitions and texts in others")
    classes = np.unique(np.concatenate([described[number].labels for number in parts]))
    mass = np.zeros(len(classes))
    for number in parts:
        mass[np.searchsorted(classes, described[number].labels)] += described[number].mass
    if classes.dtype.kind == "O":
        classes = classes.astype(str)
    found = [described[number].description for number in parts]
    return Merged(parts, [text for text in found if text is not None], classes, mass.tolist(), names)
