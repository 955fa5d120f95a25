"""Fits on Spark's workers in local[2]: the local optimum, whatever partitions look like and whatever happens to workers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import m3svm

pytest.importorskip("pyspark", reason="Spark is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is no `java`", allow_module_level=True)

import pandas as pd
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from sklearn.exceptions import ConvergenceWarning

from m3svm.spark import SparkM3SVMClassifier, SparkM3SVMModel, _carrier

NAMES = [f"x{j}" for j in range(6)]


@pytest.fixture(scope="module")
def spark() -> Any:
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def clouds() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    y = np.sort(random.integers(0, 4, 400))
    return random.normal(size=(400, 6)) + 1.5 * random.normal(size=(4, 6))[y], y


def table(spark: Any, x: Any, label: Any, cuts: int = 3) -> Any:
    frame = pd.DataFrame(x, columns=NAMES).assign(label=label)
    return spark.createDataFrame(frame).coalesce(1).repartitionByRange(cuts, "label")


def after_messages(monkeypatch: Any, count: int, act: Any) -> None:
    send, sent = _carrier.SparkCarrier.send, []

    def counted(self: Any, parts: list[int], message: bytes) -> None:
        send(self, parts, message)
        sent.append(message)
        if len(sent) == count:
            act(self)

    monkeypatch.setattr(_carrier.SparkCarrier, "send", counted)


def files_of_rows() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("m3svm-spark-*"))


def test_the_local_optimum_with_its_proof_and_the_same_bits(spark: Any) -> None:
    x, y = clouds()
    # What a run that was killed has left there is not ours.
    there = files_of_rows()
    rows = table(spark, x, y.astype(float))
    local = m3svm.MultinomialLogisticRegression(scale="standard", lam=0.01 * 400 / 2, tol=1e-6).fit(x, y)
    fits = [SparkM3SVMClassifier(method="lr", regParam=0.01, featuresCol=NAMES).fit(rows) for _ in range(2)]
    assert fits[0].summary.gap <= 1e-6
    assert abs(fits[0].summary.objective / local.objective_ - 1) <= 2e-6
    assert np.array_equal(fits[0].coefficientMatrix, fits[1].coefficientMatrix)
    assert files_of_rows() == there


def test_texts_in_vectors_go_through_save_and_load(spark: Any, tmp_path: Any) -> None:
    x, y = clouds()
    rows = VectorAssembler(inputCols=NAMES, outputCol="features").transform(
        table(spark, x, np.array(["ant", "bee", "cow", "dragonfly"])[y], cuts=7)
    )
    model = SparkM3SVMClassifier(regParam=0.01, tol=1e-7).setP(3.0).fit(rows)
    assert model.labels == ["ant", "bee", "cow", "dragonfly"]
    model.save(str(tmp_path / "model"))
    again = SparkM3SVMModel.load(str(tmp_path / "model"))
    assert again.summary == model.summary and again.getP() == 3.0
    found = again.transform(rows).toPandas()
    assert (found["prediction"] == found["label"]).mean() > 0.9
    assert "regParam" in model.explainParams()


@pytest.mark.parametrize("method", ["lr", "m3svm"])
def test_a_killed_worker_changes_nothing(spark: Any, monkeypatch: Any, method: str) -> None:
    x, y = clouds()
    rows = table(spark, x, y.astype(float))
    estimator = SparkM3SVMClassifier(method=method, regParam=0.01, featuresCol=NAMES)
    before = estimator.fit(rows)

    def kill(_: Any) -> None:
        java = spark.sparkContext._gateway.proc.pid
        listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
        lines = [line.split(None, 2) for line in listed.splitlines()[1:]]
        family, grew = {str(java)}, True
        while grew:
            more = {pid for pid, parent, _ in lines if parent in family} - family
            family |= more
            grew = bool(more)
        daemons = {pid for pid, _, args in lines if pid in family and "pyspark.daemon" in args}
        victims = [int(pid) for pid, parent, _ in lines if parent in daemons]
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)

    after_messages(monkeypatch, 5, kill)
    started = time.monotonic()
    after = estimator.fit(rows)
    assert time.monotonic() - started < 120
    assert after.summary.objective == before.summary.objective
    assert np.array_equal(after.coefficientMatrix, before.coefficientMatrix)


def test_weights_equal_repetition_across_partitions(spark: Any) -> None:
    x, y = clouds()
    times = np.arange(400) % 3
    rows = table(spark, x, y.astype(float)).crossJoin(spark.range(1)).drop("id")
    weights = spark.createDataFrame(pd.DataFrame({"x0": x[:, 0], "times": times.astype(float)}))
    estimator = SparkM3SVMClassifier(regParam=0.01, featuresCol=NAMES, tol=1e-7)
    weighted = estimator.copy({estimator.weightCol: "times"}).fit(rows.join(weights, "x0"))
    repeated = estimator.fit(table(spark, np.repeat(x, times, axis=0), np.repeat(y, times).astype(float), cuts=2))
    assert not estimator.isDefined(estimator.weightCol)
    assert weighted.summary.objective == pytest.approx(repeated.summary.objective, rel=3e-7)
    assert np.allclose(weighted.coefficientMatrix, repeated.coefficientMatrix, atol=1e-3)


def test_a_pipeline_in_a_cross_validator(spark: Any, tmp_path: Any) -> None:
    x, y = clouds()
    rows = table(spark, x, y.astype(float), cuts=2)
    estimator = SparkM3SVMClassifier(method="lr", tol=1e-2)
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=NAMES, outputCol="features"), estimator])
    grid = ParamGridBuilder().addGrid(estimator.regParam, [0.01, 1e4]).build()
    judge = MulticlassClassificationEvaluator(metricName="accuracy")
    search = CrossValidator(estimator=pipeline, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1)
    found = search.fit(rows)
    assert found.avgMetrics[0] > 0.9 > found.avgMetrics[1]
    best = found.bestModel.stages[-1]
    assert best.getRegParam() == 0.01 and best.summary.gap <= 1e-2
    found.bestModel.write().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert np.array_equal(again.stages[-1].coefficientMatrix, best.coefficientMatrix)
    pipeline.write().save(str(tmp_path / "unfitted"))
    assert Pipeline.load(str(tmp_path / "unfitted")).getStages()[1].getMethod() == "lr"


def test_ctrl_c_keeps_the_best_model(spark: Any, monkeypatch: Any, capsys: Any) -> None:
    x, y = clouds()
    rows = table(spark, x, y.astype(float), cuts=2)
    after_messages(monkeypatch, 6, lambda _: os.kill(os.getpid(), signal.SIGINT))
    estimator = SparkM3SVMClassifier(regParam=0.01, featuresCol=NAMES, tol=1e-10, verbose=True)
    with pytest.warns(ConvergenceWarning, match="the best point so far was kept"):
        model = estimator.copy({estimator.onInterrupt: "keep"}).fit(rows)
    assert model.summary.stop == "interrupted" and 0 < model.summary.objective < np.inf
    assert model.transform(rows).count() == 400
    said = capsys.readouterr().out
    assert "[SparkM3SVMClassifier] interrupted after" in said and "\r" not in said
    after_messages(monkeypatch, 6, lambda _: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(rows)


def test_a_bad_row_is_named_with_its_partition(spark: Any) -> None:
    x, y = clouds()
    x[2, 4] = np.nan
    with pytest.raises(ValueError, match=r"partition \d: .*row \d+, feature 5: the value is NaN"):
        SparkM3SVMClassifier(featuresCol=NAMES).fit(table(spark, x, y.astype(float)))


def test_cancelled_work_ends_the_fit(spark: Any, monkeypatch: Any) -> None:
    x, y = clouds()

    def cancel(carrier: Any) -> None:
        time.sleep(0.3)
        carrier.cancel()

    after_messages(monkeypatch, 4, lambda carrier: threading.Thread(target=cancel, args=(carrier,)).start())
    monkeypatch.setattr(_carrier, "ask", slow(_carrier.ask))
    with pytest.raises(RuntimeError, match="cancelled"):
        SparkM3SVMClassifier(featuresCol=NAMES).fit(table(spark, x, y.astype(float)))


def slow(ask: Any) -> Any:
    def slower(*given: Any) -> Any:
        each = ask(*given)

        def wait(rows: Any) -> Any:
            time.sleep(1)
            return each(rows)

        return wait

    return slower


def test_the_package_needs_no_spark() -> None:
    code = "import sys, m3svm; m3svm.M3SVMClassifier(); assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
