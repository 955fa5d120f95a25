"""What runs on Spark's workers: rows go to a file of the worker once, and answers come from there."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._parts import answer, describe, forget

# What a worker says of the rows that it has written.
META = "part long, path string, described binary"


def folder(fit: str) -> str:
    """Where the rows of a fit are, on every worker."""
    return os.path.join(tempfile.gettempdir(), f"m3svm-spark-{fit}")


def _features(batch: Any) -> Any:
    """The column of lists as a matrix, without a copy where all is in order."""
    import pyarrow as pa

    lists = batch.column("features")
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    if lists.null_count:
        raise ValueError(
            f"row {int(np.argmax(lists.is_null().to_numpy(zero_copy_only=False))) + 1}: there are no features"
        )
    values = lists.flatten().to_numpy(zero_copy_only=False)
    lengths = np.diff(lists.offsets.to_numpy())
    width = int(lengths[0]) if len(lengths) else 0
    if (lengths != width).any():
        raise ValueError(f"rows have {width} and {int(lengths[lengths != width][0])} features")
    return np.asarray(values, dtype=np.float64).reshape(len(lengths), width)


def write(fit: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for ``mapInArrow`` that writes a part to a file and says what is in it."""

    def each(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        x, y, weight = [], [], []
        # To its end, whatever is in it: Spark waits for that.
        for batch in batches:
            if batch.num_rows:
                x.append(_features(batch))
                y.append(np.asarray(batch.column("label").to_pylist()))
                if "weight" in batch.schema.names:
                    weight.append(batch.column("weight").to_numpy(zero_copy_only=False).astype(np.float64))
        rows = np.concatenate(x) if x else np.empty((0, 0))
        labels = np.concatenate(y) if y else np.empty(0)
        weights = np.concatenate(weight) if weight else None
        described = describe(part, rows, labels, weights)
        os.makedirs(folder(fit), exist_ok=True)
        path = os.path.join(folder(fit), f"{part}.npz")
        with tempfile.NamedTemporaryFile(dir=folder(fit), delete=False) as file:
            everything = {"x": rows, "y": labels}
            np.savez(file, **everything if weights is None else {**everything, "weight": weights})
        os.replace(file.name, path)
        yield pa.RecordBatch.from_pydict(
            {"part": [part], "path": [path], "described": [pickle.dumps(described)]},
            schema=pa.schema([("part", pa.int64()), ("path", pa.string()), ("described", pa.binary())]),
        )

    return each


def clean(fit: str) -> Callable[[Any], None]:
    """A function that removes what a worker keeps of a fit."""

    def each(_: Any) -> None:
        forget(fit)
        shutil.rmtree(folder(fit), ignore_errors=True)

    return each


def ask(fit: str, parts: frozenset[int], classes: Any, message: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function over the rows of `META` that answers a message; None where the file has gone with its worker."""

    def each(rows: Iterable[Any]) -> Iterator[tuple[int, bytes | None]]:
        for row in rows:
            if row.part not in parts:
                continue

            def load(path: str = row.path) -> tuple[Any, Any, Any]:
                with np.load(path, allow_pickle=False) as file:
                    return file["x"], file["y"], file.get("weight")

            try:
                yield row.part, answer(fit, row.part, load, classes, message.value)
            except FileNotFoundError:
                yield row.part, None

    return each
