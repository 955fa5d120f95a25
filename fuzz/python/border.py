"""Throws arrays, tables, sparse matrices and settings of random kinds at the border between Python and Rust.

    python fuzz/python/border.py --rounds 1000 --seed 1

What can be read gives what a plain copy of the same numbers gives; everything else is a ValueError or a TypeError in one
line. A panic, another exception, another result or too much memory ends the run with the round and its seed.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import m3svm
from m3svm import M3SVMClassifier, MultinomialLogisticRegression, _core
from m3svm._columns import Columns

ALLOWED = (ValueError, TypeError)
# More than what is in use at the start.
MOST_MEMORY = 4 << 30
DTYPES = [
    "f8",
    "f4",
    "f2",
    "i8",
    "i4",
    "i2",
    "i1",
    "u8",
    "u4",
    "u2",
    "u1",
    "?",
    "c8",
    "c16",
    "g",
    "U3",
    "S3",
    "M8[s]",
    "m8[s]",
    "O",
]
NUMERIC = DTYPES[:12]
STRANGE = [
    0,
    1,
    -1,
    0.5,
    1e308,
    -1e308,
    1e-320,
    float("nan"),
    float("inf"),
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
]

Numbers = np.ndarray[Any, Any]
# How often something was accepted and refused.
COUNTS = Counter[str]()


class Broken(Exception):
    """A promise that was not kept."""


class Round:
    """One seed, and what is drawn from it."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.numpy = np.random.default_rng(seed)

    def one(self, *of: Any) -> Any:
        return self.draw.choice(of)

    def numbers(self, rows: int, columns: int, dtype: str) -> Numbers:
        """Whole numbers that every numeric type can hold."""
        return self.numpy.integers(0, 2 if dtype == "?" else 100, (rows, columns)).astype(dtype)

    def layout(self, values: Numbers) -> Numbers:
        """The same values, otherwise in memory."""
        rows, columns = values.shape
        kind = self.draw.randrange(9)
        if kind == 0:
            return np.asfortranarray(values)
        if kind == 1:
            return values[::-1].copy()[::-1]
        if kind == 2:
            return values[:, ::-1].copy()[:, ::-1]
        if kind == 3:
            wide = np.zeros((rows * 2 + 1, columns * 3 + 1), values.dtype)
            wide[1::2, 1::3] = values
            return wide[1::2, 1::3]
        if kind == 4:
            return values.astype(values.dtype.newbyteorder(self.one("<", ">")))
        if kind == 5:
            offset = self.draw.randrange(1, 8)
            memory = np.zeros(values.nbytes + offset, np.uint8)
            shifted = memory[offset:].view(values.dtype) if values.dtype.itemsize == 1 else None
            shifted = (
                np.ndarray(values.shape, values.dtype, memory, offset)
                if shifted is None
                else shifted.reshape(values.shape)
            )
            shifted[...] = values
            return shifted
        if kind == 6:
            values = values.copy()
            values.setflags(write=False)
            return values
        if kind == 7:
            return np.ascontiguousarray(values.T).T
        return values

    def frame(self, values: Numbers) -> Any:
        """The values as a table of a library."""
        names = [f"f{j}" for j in range(values.shape[1])]
        columns = dict(zip(names, values.T, strict=True))
        kind = self.draw.randrange(7)
        if kind == 0:
            return pd.DataFrame(values)
        if kind == 1:
            return pd.DataFrame({name: self.layout(column[:, None])[:, 0] for name, column in columns.items()})
        if kind == 2:
            return pd.DataFrame(columns).iloc[:: self.one(1, -1)][:: self.one(1, 1)].convert_dtypes()
        if values.dtype in (np.float16, np.longdouble):
            values = values.astype(np.float32)
            columns = dict(zip(names, values.T, strict=True))
        if kind == 3:
            whole = pl.DataFrame(columns)
            cut = self.draw.randrange(len(values) + 1)
            return pl.concat([whole[:cut], whole[cut:]], rechunk=False)
        columns = {name: np.ascontiguousarray(column) for name, column in columns.items()}
        if kind == 4:
            return pa.table({name: self.chunks(column) for name, column in columns.items()})
        if kind == 5:
            doubled = pa.table({name: np.repeat(column, 2) for name, column in columns.items()})
            table = doubled.slice(len(values) - len(values) % 2, len(values))
            return table
        return pa.table({name: pa.array(column).dictionary_encode() for name, column in columns.items()})

    def chunks(self, column: Numbers) -> Any:
        cuts = sorted(self.draw.randrange(len(column) + 1) for _ in range(self.draw.randrange(4)))
        pieces = [column[a:b] for a, b in zip([0, *cuts], [*cuts, len(column)], strict=True)]
        return pa.chunked_array([pa.array(piece) for piece in pieces])


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def survives(call: Callable[[], Any]) -> Any:
    """The result, or None where it is refused as it should be."""
    try:
        found = call()
        COUNTS["accepted"] += 1
        return found
    except ALLOWED as refusal:
        expect(bool(str(refusal)), f"{type(refusal).__name__} without a word")
        COUNTS["refused"] += 1
        return None


def plain(values: Any) -> Numbers:
    """What a reader of the same numbers would have: rows in one piece, in double precision."""
    return np.ascontiguousarray(np.asarray(values), dtype=np.float64)


def same(found: Numbers, expected: Numbers) -> bool:
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=1e-4, atol=1e-4))


def arrays(at: Round, model: Any) -> None:
    """Scores do not depend on how the numbers lie in memory."""
    rows = at.draw.randrange(1, 30)
    values = at.numbers(rows, 3, at.one(*NUMERIC))
    given = at.one(at.layout, at.frame)(values)
    expected = model.decision_function(
        plain(given if isinstance(given, np.ndarray) else given.to_pandas() if hasattr(given, "to_pandas") else given)
    )
    found = survives(lambda: model.decision_function(given))
    if found is None:
        expect(not isinstance(given, np.ndarray), f"an array of {values.dtype} was refused")
    else:
        expect(same(found, expected), f"other scores for {type(given)} of {values.dtype}")


def anything(at: Round, model: Any) -> None:
    """Arrays of any type and shape, with any values."""
    shape = tuple(at.draw.randrange(5) for _ in range(at.draw.randrange(4)))
    values = np.empty(shape, object)
    for place in np.ndindex(shape):
        values[place] = at.one(*STRANGE, None, "x", b"y", 1j)
    dtype = at.one(*DTYPES)
    with np.errstate(all="ignore"):
        try:
            values = values.astype(dtype)
        except (ValueError, TypeError, OverflowError):
            values = np.zeros(shape, dtype)
    estimator = at.one(M3SVMClassifier, MultinomialLogisticRegression)(max_iter=2)
    survives(lambda: estimator.fit(values, at.numpy.integers(0, 2, shape[:1] or (1,))))
    found = survives(lambda: model.decision_function(values))
    expect(found is None or bool(np.isfinite(found).all()), "scores that are not finite")


def borders(at: Round, model: Any) -> None:
    """The extension module itself, past all checks of the package."""
    core: _core.Model = model._model
    rows = at.draw.randrange(6)
    given = at.layout(at.numbers(rows, at.one(3, 3, 3, 2), at.one("f8", "f4", "i4")))
    if at.one(True, False):
        pieces = [[given[:, j] for j in range(given.shape[1])] for _ in range(at.draw.randrange(3))]
        if pieces and at.one(True, False):
            at.draw.choice(pieces).pop()
        given = Columns(pieces, at.one((rows, 3), (rows + 1, 3), (2**62, 3), (0, 0), (-1, 3), (rows, 2**40)))
    scores = survives(lambda: core.scores(given, n_threads=1))
    expect(scores is None or scores.shape[1] == 3 and bool(np.isfinite(scores).all()), "scores")
    labels = at.numpy.integers(0, at.one(3, 3, 3, 5, 2**32), rows).astype(at.one("u4", "u4", "i8"))
    classes = at.one(["a", "b", "c"], ["a", "b", "c"], ["a", "a"], [], ["a", "b", "c", "d", "e"])
    weights = at.one(None, None, np.full(rows, at.one(1.0, -1.0, float("nan"), 1e308)), np.ones(rows + 1))
    arguments = {"sample_weight": weights, "n_threads": 1, "feature_names": at.one(None, ["a", "b", "c"], [])}
    survives(lambda: _core.fit(given, labels, classes, {"method": "m3svm", "max_iter": 2}, **arguments))
    survives(lambda: _core.fit_batch(given, labels, classes, {"method": "lr", "max_iter": 2}, **arguments))


def sparse_matrices(at: Round, model: Any) -> None:
    """SciPy's matrices, and things that look like them."""
    rows = at.draw.randrange(1, 9)
    values = at.numbers(rows, 3, "f8") * at.numpy.integers(0, 2, (rows, 3))
    matrix = at.one(sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array)(values)
    found = model.decision_function(matrix)
    expect(same(found, model.decision_function(values)), "other scores for a sparse matrix")
    good = sparse.csr_matrix(values.astype(at.one("f8", "f4")))
    fields: dict[str, Any] = {name: getattr(good, name) for name in ("format", "shape", "data", "indices", "indptr")}
    for _ in range(at.draw.randrange(1, 4)):
        name = at.one("shape", "data", "indices", "indptr", "format")
        if name == "format":
            fields[name] = at.one("csr", "csc", "", None)
        elif name == "shape":
            fields[name] = at.one((rows, 3), (rows, 2), (2**63 - 1, 3), (0, 3), (-1, 3), (rows, 2**32), (rows,))
        else:
            changed = np.array(fields[name], at.one("f8", "f4", "i4", "i8"))
            if len(changed):
                changed[at.draw.randrange(len(changed))] = at.one(-1, 0, 1, 2, 3, 100, 2**31 - 1)
            fields[name] = changed[: len(changed) - at.one(0, 0, 0, 1)]
    scores = survives(lambda: model._model.scores(SimpleNamespace(**fields), n_threads=1))
    expect(scores is None or bool(np.isfinite(scores).all()), "scores of a damaged sparse matrix")


def settings(at: Round, _model: Any) -> None:
    """Settings of any type and size."""
    method = at.one(*_core.methods())
    chosen = dict(_core.default_settings(method), max_iter=3)
    for _ in range(at.draw.randrange(1, 3)):
        key = at.one(*chosen, "lam", "p", "norm", "delta", "k", "learning_rate", "batch_size", "unknown")
        plausible = [0.01, 0.5, 1.0, 2, 3, 10.0, 100.0]
        chosen[key] = at.one(
            *plausible,
            *plausible,
            *STRANGE,
            None,
            "",
            "auto",
            "newton",
            "adam",
            "lbfgs",
            "l1",
            "balanced",
            True,
            [],
            {},
            {"a": 1.0},
            {"a": float("nan")},
        )
    x = at.numbers(8, 3, "f8")
    y = np.arange(8, dtype=np.uint32) % 3
    fitted = survives(lambda: _core.fit(x, y, ["a", "b", "c"], chosen, n_threads=1))
    if fitted is not None:
        gap = fitted[0].relative_gap
        expect(np.isfinite(fitted[0].objective) and (gap is None or gap >= 0), f"the certificate with {chosen}")


def models(at: Round, model: Any) -> None:
    """Bytes of models, as pickles carry them."""
    content = bytearray(model._model.to_bytes())
    for _ in range(at.draw.randrange(1, 4)):
        content[at.draw.randrange(len(content))] = at.draw.randrange(256)
    survives(lambda: _core.Model.from_bytes(bytes(content[: at.one(None, at.draw.randrange(len(content)))])))


KINDS = [arrays, anything, borders, sparse_matrices, settings, models]


def run(seed: int, rounds: int, seconds: float) -> int:
    """Rounds until one of the limits; how many there were."""
    warnings.simplefilter("ignore")
    x = np.random.default_rng(0).integers(0, 100, (60, 3)).astype(float)
    model = M3SVMClassifier(lam=1e-3, max_iter=20, n_threads=1).fit(x, x.argmax(axis=1))
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MOST_MEMORY, resource.RLIM_INFINITY))
    until = time.monotonic() + seconds
    for done in range(rounds):
        if time.monotonic() > until:
            return done
        at = Round(seed + done)
        kind = KINDS[done % len(KINDS)]
        try:
            kind(at, model)
        except BaseException as problem:
            raise SystemExit(
                f"round {done} ({kind.__name__}) with --seed {seed}: {type(problem).__name__}: {problem}"
            ) from problem
    return rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    typed = parser.parse_args()
    started = time.monotonic()
    done = run(typed.seed, typed.rounds, typed.seconds)
    print(
        f"border: {done} rounds in {time.monotonic() - started:.0f} s, {COUNTS['accepted']} accepted, {COUNTS['refused']} refused, nothing found (m3svm {m3svm.__version__})"
    )


if __name__ == "__main__":
    main()
