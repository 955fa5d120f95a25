"""What runs on Dask's workers, and how its collections become blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.delayed import delayed

from .._parts import Described, answer, describe, forget


def together(x: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The rows of one part. It stays where it was made."""
    return x, y, weight


def describe_block(block: tuple[Any, Any, Any], number: int) -> Described:
    """What a worker says of its rows."""
    return describe(number, *block)


def answer_block(block: tuple[Any, Any, Any], number: int, fit: str, classes: Any, message: bytes) -> bytes:
    """What a worker answers during a fit."""
    return answer(fit, number, lambda: block, classes, message)


async def forget_fit(fit: str) -> None:
    """Runs on every worker once a fit is over."""
    forget(fit)


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks")


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and hasattr(collection, "to_delayed") and not _is_array(collection)


def _rows(what: str, collection: Any, like: Any) -> list[Any]:
    """The blocks of a collection, as many rows each as those of another."""
    if _is_frame(collection):
        return list(collection.to_delayed())
    if not _is_array(collection):
        raise TypeError(
            f"{what} must be a dask array or data frame, found {type(collection).__name__}; estimators without Dask take it"
        )
    if collection.ndim == 2:
        # A row is one piece.
        collection = collection.rechunk({1: -1})
    known = _is_array(like) and not np.isnan(like.chunks[0]).any() and not np.isnan(collection.chunks[0]).any()
    if known and collection.chunks[0] != like.chunks[0]:
        if collection.shape[0] != like.shape[0]:
            raise ValueError(f"X has {like.shape[0]} rows, and {what} has {collection.shape[0]}")
        collection = collection.rechunk({0: like.chunks[0]})
    return [block for row in collection.to_delayed().tolist() for block in (row if isinstance(row, list) else [row])]


def blocks(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """One block of features, labels and weights per part of the rows, to be computed."""
    of = {"X": _rows("X", X, X), "y": _rows("y", y, X)}
    if sample_weight is not None:
        of["sample_weight"] = _rows("sample_weight", sample_weight, X)
    for what, found in of.items():
        if len(found) != len(of["X"]):
            raise ValueError(f"X has {len(of['X'])} partitions, and {what} has {len(found)}; repartition one of them")
    weights = of.get("sample_weight", [None] * len(of["X"]))
    make = delayed(together, pure=False, traverse=False)
    return [make(*parts) for parts in zip(of["X"], of["y"], weights, strict=True)]
