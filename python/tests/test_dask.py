"""Fits on Dask's workers, in processes of their own: the local optimum, whatever partitions look like and whatever happens to workers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import m3svm

pytest.importorskip("distributed", reason="Dask's workers are not installed")

import dask.array as da
import pandas as pd
from dask import delayed
from distributed import Client, LocalCluster

from m3svm import dask as m3svm_dask
from m3svm.dask import _carrier


@pytest.fixture(scope="module")
def client() -> Any:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def clouds(n: int = 400, d: int = 6, c: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Clouds that overlap, sorted by class: partitions miss classes."""
    random = np.random.default_rng(seed)
    y = np.sort(random.integers(0, c, n))
    return random.normal(size=(n, d)) + 1.5 * random.normal(size=(c, d))[y], y


def in_parts(x: Any, y: Any, cuts: tuple[int, ...] = (150, 149, 1, 100)) -> tuple[Any, Any]:
    """Dask arrays; some partitions have one row, some none where `cuts` says so."""
    return da.from_array(x, chunks=(cuts, -1)), da.from_array(y, chunks=(cuts,))


def near(model: Any, local: Any) -> None:
    most, least = (
        max(model.objective_, local.objective_),
        min(model.objective_ * (1 - model.dual_gap_), local.objective_ * (1 - local.dual_gap_)),
    )
    assert most - least <= 2 * local.tol * most
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("name", m3svm_dask.__all__)
def test_every_method_reaches_the_local_optimum_with_its_proof(client: Any, name: str) -> None:
    x, y = clouds()
    local = getattr(m3svm, name.removeprefix("Dask"))(scale="standard", tol=1e-7).fit(x, y)
    model = getattr(m3svm_dask, name)(scale="standard", tol=1e-7, client=client).fit(*in_parts(x, y))
    near(model, local)
    assert (model.predict(x) == local.predict(x)).mean() > 0.99


def test_the_same_partitions_give_the_same_bits(client: Any) -> None:
    parts = in_parts(*clouds())
    fits = [m3svm_dask.DaskM3SVMClassifier(scale="standard").fit(*parts) for _ in range(2)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_) and fits[0].dual_gap_ == fits[1].dual_gap_


def test_frames_of_texts_with_empty_partitions(client: Any) -> None:
    import dask.dataframe as dd

    x, y = clouds()
    names = [f"x{j}" for j in range(x.shape[1])]
    table = pd.DataFrame(x, columns=names).assign(label=np.array(["ant", "bee", "cow", "dragonfly"])[y])
    # Dictionaries of texts differ from one partition to the next, and one has no rows.
    cuts = [table[:170], table[:0], table[170:171], table[171:]]
    # (Dask 2026.8 makes no arrays of frames from `from_delayed`.)
    frame = dd.from_map(lambda part: cuts[part], range(4), meta=table[:0])
    model = m3svm_dask.DaskMultinomialLogisticRegression(scale="standard").fit(frame[names], frame["label"])
    local = m3svm.MultinomialLogisticRegression(scale="standard").fit(table[names], table["label"])
    near(model, local)
    assert model.classes_.tolist() == local.classes_.tolist()
    assert model.feature_names_in_.tolist() == names
    lazy = model.predict(frame[names])
    assert hasattr(lazy, "__dask_graph__")
    assert (lazy.compute().to_numpy() == local.predict(table[names])).all()
    probabilities = model.predict_proba(frame[names])
    assert hasattr(probabilities, "__dask_graph__")
    assert np.allclose(probabilities.compute(), local.predict_proba(table[names]), atol=1e-4)
    # The ordinary estimator, ready for rows in memory.
    ordinary = model.to_local()
    assert type(ordinary) is m3svm.MultinomialLogisticRegression
    assert np.array_equal(ordinary.coef_, model.coef_)
    assert (ordinary.predict(table[names]) == local.predict(table[names])).all()


def test_sparse_blocks_and_lazy_scores(client: Any) -> None:
    x, y = clouds()
    x[x < 0.5] = 0
    dense, labels = in_parts(x, y)
    blocks = dense.map_blocks(sparse.csr_matrix)
    model = m3svm_dask.DaskWestonWatkinsClassifier(tol=1e-7).fit(blocks, labels)
    near(model, m3svm.WestonWatkinsClassifier(tol=1e-7).fit(sparse.csr_matrix(x), y))
    scores = model.decision_function(dense)
    assert scores.chunks == (dense.chunks[0], (4,))
    assert np.allclose(scores.compute(), model.to_local().decision_function(x))
    assert (model.predict(blocks).compute() == model.to_local().predict(x)).all()


def test_weights_equal_repetition_across_partitions(client: Any) -> None:
    x, y = clouds(120)
    times = np.arange(120) % 3
    weighted = m3svm_dask.DaskM3SVMClassifier(scale="standard", class_weight="balanced").fit(
        *in_parts(x, y, (70, 50)), sample_weight=da.from_array(times.astype(float), chunks=((70, 50),))
    )
    again, labels = np.repeat(x, times, axis=0), np.repeat(y, times)
    repeated = m3svm_dask.DaskM3SVMClassifier(scale="standard", class_weight="balanced").fit(
        *in_parts(again, labels, (30, len(labels) - 30))
    )
    near(weighted, repeated)


def after_messages(monkeypatch: Any, count: int, act: Any) -> None:
    """Does something in the middle of a fit, right after so many messages were sent."""
    send, sent = _carrier.DaskCarrier.send, []

    def counted(self: Any, parts: list[int], message: bytes) -> None:
        send(self, parts, message)
        sent.append(message)
        if len(sent) == count:
            act(self)

    monkeypatch.setattr(_carrier.DaskCarrier, "send", counted)


@pytest.mark.parametrize("name", ["DaskM3SVMClassifier", "DaskMultinomialLogisticRegression"])
def test_a_killed_worker_changes_nothing(client: Any, monkeypatch: Any, name: str) -> None:
    x, y = clouds()
    parts = in_parts(x, y)
    before = getattr(m3svm_dask, name)(scale="standard").fit(*parts)
    client.wait_for_workers(2, timeout=30)

    def kill(_: Any) -> None:
        worker = next(iter(client.run(os.getpid, workers=[next(iter(client.scheduler_info()["workers"]))]).values()))
        os.kill(worker, signal.SIGKILL)

    after_messages(monkeypatch, 5, kill)
    started = time.monotonic()
    after = getattr(m3svm_dask, name)(scale="standard").fit(*parts)
    assert time.monotonic() - started < 60
    assert after.objective_ == before.objective_
    assert np.array_equal(after.coef_, before.coef_)


@pytest.mark.parametrize("count", [2, 5, 9])
def test_ctrl_c_keeps_the_best_model(client: Any, monkeypatch: Any, capsys: Any, count: int) -> None:
    parts = in_parts(*clouds())
    after_messages(monkeypatch, count, lambda _: os.kill(os.getpid(), signal.SIGINT))
    estimator = m3svm_dask.DaskM3SVMClassifier(scale="standard", tol=1e-10, on_interrupt="keep", verbose=1)
    with pytest.warns(ConvergenceWarning, match="the best point so far was kept"):
        model = estimator.fit(*parts)
    assert 0 < model.objective_ < np.inf
    assert "[DaskM3SVMClassifier] interrupted after" in capsys.readouterr().out
    after_messages(monkeypatch, count, lambda _: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        m3svm_dask.DaskM3SVMClassifier(scale="standard", tol=1e-10).fit(*parts)


def test_a_bad_row_is_named_with_its_partition(client: Any) -> None:
    x, y = clouds()
    x[152, 4] = np.nan
    with pytest.raises(ValueError, match=r"partition 2: .*row 3, feature 5: the value is NaN"):
        m3svm_dask.DaskM3SVMClassifier().fit(*in_parts(x, y))


def test_a_partition_that_always_fails_ends_the_fit(client: Any) -> None:
    def broken() -> Any:
        raise OSError("no such disk")

    x, y = clouds()
    parts = [da.from_array(x[:200]), da.from_delayed(delayed(broken)(), shape=(200, 6), dtype=float)]
    with pytest.raises(OSError, match="no such disk"):
        m3svm_dask.DaskM3SVMClassifier().fit(da.concatenate(parts), da.from_array(y, chunks=200))


def test_cancelled_work_ends_the_fit(client: Any, monkeypatch: Any) -> None:
    after_messages(monkeypatch, 4, lambda carrier: client.cancel(carrier._futures, force=True))
    with pytest.raises(RuntimeError, match="cancelled"):
        m3svm_dask.DaskM3SVMClassifier(scale="standard").fit(*in_parts(*clouds()))


def test_a_worker_without_the_package_is_explained() -> None:
    problem = _carrier.explained(ModuleNotFoundError("No module named 'm3svm'", name="m3svm"))
    assert "m3svm is not installed on the workers" in str(problem)


def test_mistakes_are_refused_before_anything_runs(client: Any) -> None:
    x, y = clouds()
    parts = in_parts(x, y)
    with pytest.raises(TypeError, match="X must be a dask array or data frame"):
        m3svm_dask.DaskM3SVMClassifier().fit(x, y)
    with pytest.raises(ValueError, match="X has 400 rows, and y has 300"):
        m3svm_dask.DaskM3SVMClassifier().fit(parts[0], parts[1][:300])
    with pytest.raises(ValueError, match="kernel"):
        m3svm_dask.DaskM3SVMClassifier(kernel="rbf").fit(*parts)
    with pytest.raises(ValueError, match="at least two classes"):
        m3svm_dask.DaskM3SVMClassifier().fit(parts[0], da.zeros_like(parts[1]))


def test_clones_and_pickles_share_or_lose_the_connection(client: Any) -> None:
    model = m3svm_dask.DaskM3SVMClassifier(client=client, lam=0.1).fit(*in_parts(*clouds()))
    assert model.client_ is client
    assert clone(model).client is client and clone(model).lam == 0.1
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None and np.array_equal(again.coef_, model.coef_)


def test_the_package_needs_no_dask() -> None:
    code = "import sys, m3svm; m3svm.M3SVMClassifier(); assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
