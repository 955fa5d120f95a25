"""Rows that come in batches: the fit of all rows at once, in memory or not, and errors that name the place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import m3svm
from m3svm import M3SVMClassifier, M3SVMClassifierCV, MultinomialLogisticRegression

ROWS = 3000
# The rows take more than a third of it, also in single precision.
BUDGET = "150KB"
SETTINGS = {"tol": 1e-9, "scale": "standard"}


def clouds(classes: int = 3, width: int = 6) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    y = np.sort(random.randint(0, classes, ROWS))
    return random.normal(size=(ROWS, width)) + np.eye(classes, width)[y], y


@pytest.fixture(params=["in memory", "on disk"])
def on_disk(request: Any, tmp_path: Path) -> Iterator[bool]:
    if request.param == "on disk":
        m3svm.set_memory_budget(BUDGET, cache=tmp_path)
    yield request.param == "on disk"
    m3svm.set_memory_budget(None)
    # The cache has no name.
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def little() -> Iterator[None]:
    m3svm.set_memory_budget(BUDGET)
    yield
    m3svm.set_memory_budget(None)


def batches(*arrays: Any, rows: int = 700) -> Iterator[Any]:
    count = arrays[0].shape[0]
    return (tuple(array[at : at + rows] for array in arrays) for at in range(0, count, rows))


def check_same(model: Any, local: Any, on_disk: bool) -> None:
    """The same optimum within both certificates; the same way to it in memory."""
    assert model.dual_gap_ <= 1e-9 and local.dual_gap_ <= 1e-9
    assert model.objective_ == pytest.approx(local.objective_, rel=2e-9)
    assert model.classes_.tolist() == local.classes_.tolist() and model.classes_.dtype == local.classes_.dtype
    assert hasattr(model, "n_passes_") == on_disk
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-4)
    if not on_disk:
        assert (model.coef_ == local.coef_).all() and (model.support_ == local.support_).all()


def test_batches_of_arrays_are_all_rows(on_disk: bool) -> None:
    X, y = clouds()
    weight = np.arange(ROWS) % 3 + 0.5
    names = np.array(["9", "10", "a"])[y]
    for labels in (y, y.astype(float), y == 0, names, names[names != "a"]):
        x, w = X[: len(labels)], weight[: len(labels)]
        local = M3SVMClassifier(**SETTINGS)
        model = M3SVMClassifier(**SETTINGS).fit(batches(x, labels, w))
        m3svm.set_memory_budget(None)
        check_same(model, local.fit(x, labels, w), on_disk)
        assert (model.predict(x) == local.predict(x)).all()
        if on_disk:
            m3svm.set_memory_budget(BUDGET)


@pytest.mark.parametrize("kind", ["single", "sparse", "function", "memory map"])
def test_rows_of_any_storage(kind: str, on_disk: bool, tmp_path_factory: Any) -> None:
    X, y = clouds()
    if kind == "single":
        X = X.astype(np.float32)
    if kind == "sparse":
        X = sparse.csr_matrix(X * (np.abs(X) > 0.2))
    source: tuple[Any, ...] = (batches(X, y),)
    if kind == "function":
        source = (lambda: batches(X, y),)
    if kind == "memory map":
        path = tmp_path_factory.mktemp("map") / "x.npy"
        np.save(path, X)
        if on_disk:
            m3svm.set_memory_budget(X.nbytes - 1)
        source = (np.load(path, mmap_mode="r"), y)
    model = M3SVMClassifier(**SETTINGS).fit(*source)
    m3svm.set_memory_budget(None)
    check_same(model, M3SVMClassifier(**SETTINGS).fit(X, y), on_disk)


def table(texts: bool) -> pd.DataFrame:
    X, y = clouds()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(weight=np.arange(ROWS) % 2 + 1.0)
    if texts:
        frame["town"] = np.array(["Rome", "Oslo", "Lima"])[np.random.RandomState(1).randint(0, 3, ROWS) * (y > 0)]
        frame.loc[17, "b"] = np.nan
    return frame.assign(kind=np.array(["x", "y", "z"])[y])


def opened(kind: str, frame: pd.DataFrame, folder: Path) -> Any:
    if kind == "lazy frame":
        pl.from_pandas(frame).write_parquet(folder / "rows.parquet", row_group_size=500)
        return pl.scan_parquet(folder / "rows.parquet")
    if kind == "dataset":
        for number, part in enumerate(np.array_split(np.arange(ROWS), 4)):
            pq.write_table(pa.Table.from_pandas(frame.iloc[part], preserve_index=False), folder / f"{number}.parquet")
        return ds.dataset(folder)
    if kind == "reader":
        return pa.Table.from_pandas(frame, preserve_index=False).to_reader(max_chunksize=500)
    if kind == "stream":
        return Stream(pa.Table.from_pandas(frame, preserve_index=False))
    return lambda: (frame.iloc[at : at + 500] for at in range(0, ROWS, 500))


class Stream:
    """What only speaks Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.to_reader(max_chunksize=500).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "columns of every kind"])
@pytest.mark.parametrize("kind", ["lazy frame", "dataset", "reader", "stream", "frames of pandas"])
def test_tables_that_are_not_in_memory(kind: str, texts: bool, on_disk: bool, tmp_path_factory: Any) -> None:
    frame = table(texts)
    source = opened(kind, frame, tmp_path_factory.mktemp("rows"))
    estimator = MultinomialLogisticRegression(tol=1e-9, scale="auto" if texts else "standard")
    if kind == "reader" and texts and on_disk:
        with pytest.raises(ValueError, match="these batches can be had only once; pass a function"):
            estimator.fit(source, "kind", "weight")
        return
    with warnings.catch_warnings(record=True) as caught:
        model = estimator.fit(source, "kind", sample_weight="weight")
    assert {warning.filename for warning in caught} <= {__file__}
    m3svm.set_memory_budget(None)
    X = frame.drop(columns=["kind", "weight"])
    local = MultinomialLogisticRegression(tol=1e-9, scale="auto" if texts else "standard")
    local.fit(X, frame["kind"].to_numpy(str), frame["weight"])
    assert hasattr(model, "n_passes_") == on_disk
    assert model.objective_ == pytest.approx(local.objective_, rel=2e-9)
    assert model.feature_names_in_.tolist() == local.feature_names_in_.tolist()
    gaps = X.assign(a=X["a"].where(X["a"] > 0))
    np.testing.assert_allclose(model.predict_proba(gaps), local.predict_proba(gaps), atol=1e-3)


def test_labels_beside_a_lazy_frame(on_disk: bool) -> None:
    X, y = clouds()
    frame = pl.DataFrame(X, schema=list("abcdef"))
    model = M3SVMClassifier(**SETTINGS).fit(frame.lazy(), pl.Series(y), sample_weight=np.ones(ROWS))
    m3svm.set_memory_budget(None)
    check_same(model, M3SVMClassifier(**SETTINGS).fit(frame, y, np.ones(ROWS)), on_disk)


def test_a_class_may_come_late_and_batches_may_be_empty(little: None) -> None:
    X, y = clouds()
    parts = [(X[:0], y[:0]), *batches(X[y < 2], y[y < 2]), (X[:0], y[:0]), *batches(X[y == 2], y[y == 2])]
    assert M3SVMClassifier(**SETTINGS).fit(iter(parts)).classes_.tolist() == [0, 1, 2]


def changed(X: np.ndarray, row: int, value: float) -> np.ndarray:
    X = X.copy()
    X[row, 1] = value
    return X


X, Y = clouds()
FRAME = pd.DataFrame(X, columns=list("abcdef"))
FIRST = (X[:1000], Y[:1000])
FAULTS: dict[str, tuple[list[Any], str]] = {
    "width": ([FIRST, (X[:, :5], Y)], "batch 2: X has 5 features, and 6 in the first batch"),
    "kind": ([FIRST, (sparse.csr_matrix(X), Y)], "batch 2: X is a sparse matrix, and an array in the first batch"),
    "precision": (
        [(X.astype(np.float32), Y), (X, Y)],
        "batch 2: X is of float64, and of float32 in the first batch",
    ),
    "NaN": ([FIRST, FIRST, (changed(X, 2, np.nan), Y)], "batch 3: row 3, feature 2: Input X contains NaN"),
    "infinity": ([FIRST, (changed(X, 4, -np.inf), Y)], "batch 2: row 5, feature 2: Input X contains infinity"),
    "labels": ([FIRST, (X, Y[:-1])], "batch 2: 3000 rows of features and 2999 labels"),
    "no label": ([FIRST, (X, np.where(np.arange(ROWS) == 7, np.nan, Y))], "batch 2: row 8: there is no label"),
    "kinds of labels": ([FIRST, (X, Y.astype(str))], "batch 2: labels are numbers in some batches and texts in others"),
    "continuous": ([FIRST, (X, X[:, 0])], "batch 2: Unknown label type: continuous"),
    "weight": ([(X, Y, -X[:, 0])], "batch 1: row .*: sample_weight is -"),
    "weights": ([(X, Y, Y), (X, Y)], "batch 2: weights must be in all batches or in none"),
    "columns": (
        [(FRAME, Y), (FRAME.rename(columns={"b": "z"}), Y)],
        "batch 2: other columns than in the first batch: it lacks `b` and has `z` besides",
    ),
    "types": (
        [(FRAME, Y), (FRAME.assign(b="text"), Y)],
        "batch 2: column `b` holds texts, and numbers in the first batch",
    ),
    "no y": ([FIRST, X], "batch 2: a batch must be .*found a ndarray"),
    "empty": ([], "there are no rows: the source of batches is empty"),
    "nothing": ([(X[:0], Y[:0])], "there are no rows: the source of batches is empty"),
    "one class": ([(X, Y * 0)] * 2, "at least two classes are needed, found only one class"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_name_their_batch(fault: str, on_disk: bool) -> None:
    given, message = FAULTS[fault]
    estimator = M3SVMClassifier()
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(iter(given))
    assert not hasattr(estimator, "coef_") and not hasattr(estimator, "n_features_in_")


def test_what_a_source_raises_passes_through(on_disk: bool) -> None:
    def broken() -> Iterator[Any]:
        yield from batches(*clouds())
        raise ConnectionResetError("the database is gone")

    with pytest.raises(ConnectionResetError, match="the database is gone"):
        M3SVMClassifier().fit(broken)


def test_what_is_missing_is_said(little: None) -> None:
    X, y = clouds()
    frame = pl.DataFrame(X, schema=list("abcdef"))
    for arguments, message in [
        ((frame.lazy(),), "a LazyFrame needs y: the name of the column"),
        ((frame.lazy(), "label"), "y is the column 'label', which X does not have; it has `a`, `b`"),
        ((frame.lazy(), y[:-1]), "2999 labels|X has 3000 rows, and y has 2999"),
        ((batches(X, y), None, np.ones(ROWS)), "batches bring their weights with them"),
    ]:
        with pytest.raises(ValueError, match=message):
            M3SVMClassifier().fit(*arguments)


def test_rows_must_be_the_same_every_time(little: None) -> None:
    frame = table(True)
    counts = [ROWS, 2000]

    def fewer() -> Iterator[pd.DataFrame]:
        count = counts.pop(0)
        return (frame.iloc[at : at + 500] for at in range(0, count, 500))

    with pytest.raises(ValueError, match="the batches had 3000 rows the first time, and 2000"):
        M3SVMClassifier().fit(fewer, "kind")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (M3SVMClassifier(probability=True), "probability=True needs all rows in memory"),
        (M3SVMClassifier(kernel="rbf"), "kernel"),
        (m3svm.OneVsOneSVMClassifier(), "a problem for every pair of classes"),
        (M3SVMClassifierCV(), "M3SVMClassifierCV chooses by cross-validation over rows in memory"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_needs_all_rows_says_so_before_they_are_read(estimator: Any, message: str, little: None) -> None:
    X, y = clouds()
    asked = []

    def counted() -> Iterator[Any]:
        for batch in batches(X, y, rows=500):
            asked.append(1)
            yield batch

    with pytest.raises(ValueError, match=message):
        estimator.fit(counted)
    assert len(asked) < 6


def test_what_needs_all_rows_has_them_below_the_budget() -> None:
    X, y = clouds()
    assert M3SVMClassifier(probability=True).fit(batches(X, y)).predict_proba(X).shape == (ROWS, 3)
    search = M3SVMClassifierCV(lams=[1e-3, 1.0], ps=[2.0]).fit(batches(X, y))
    assert search.best_params_ == M3SVMClassifierCV(lams=[1e-3, 1.0], ps=[2.0]).fit(X, y).best_params_


def test_a_warm_start_from_rows_on_disk(little: None) -> None:
    X, y = clouds()
    model = M3SVMClassifier(**SETTINGS, warm_start=True).fit(batches(X, y))
    before = model.n_iter_
    assert model.fit(batches(X, y)).n_iter_ <= before


def test_no_folder_for_the_cache() -> None:
    with pytest.raises(FileNotFoundError, match="the folder for the cache does not exist: /nowhere"):
        m3svm.set_memory_budget("1GB", cache="/nowhere")


def test_ctrl_c_keeps_the_best_model(tmp_path: Path) -> None:
    """A process of its own, interrupted once the fit has begun its steps."""
    code = """
import sys, warnings
import numpy as np, m3svm
m3svm.set_memory_budget("3MB")
random = np.random.RandomState(0)
def batches():
    random.seed(0)
    for _ in range(60):
        X = random.normal(size=(2000, 40)).astype(np.float32)
        yield X, np.argmax(X[:, :12] + random.normal(size=(2000, 12)), axis=1)
model = m3svm.M3SVMClassifier(tol=1e-12, lam=1e-6, on_interrupt="keep", verbose=1).fit(batches)
print("kept", model.objective_, model.dual_gap_, model._model.stop)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "gap" in line:
            os.kill(process.pid, signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "kept" in out and "interrupted" in out and "nan" not in out.split("kept")[1]
    assert "the best point so far was kept" in err
