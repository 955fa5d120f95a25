"""An Estimator and a Model of pyspark.ml."""

from __future__ import annotations

import json
import pickle
import uuid
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFitIntercept,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasRegParam,
    HasStandardization,
    HasTol,
    HasWeightCol,
)
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLWritable
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

from .._core import Model as CoreModel
from .._core import default_settings, fit_parts, methods
from .._data import class_names
from .._parts import merged
from .._progress import ProgressLine, warn_unless_converged
from ._carrier import SparkCarrier, explained
from ._rows import META, clean, write

# The one of M3SVM is the product, and has its own default of lambda.
_METHODS = [name for name in methods() if name not in ("ovr", "ovo")]


class TrainingSummary(NamedTuple):
    """How a training went, and what is proven of its result."""

    objective: float
    gap: float
    iterations: int
    rounds: int
    stop: str


class _Params(
    HasLabelCol,
    HasWeightCol,
    HasPredictionCol,
    HasRawPredictionCol,
    HasProbabilityCol,
    HasRegParam,
    HasMaxIter,
    HasTol,
    HasFitIntercept,
    HasStandardization,
):
    """What estimator and model have in common."""

    featuresCol = Param(
        Params._dummy(),
        "featuresCol",
        "the column of vectors or arrays, or a list of columns of numbers",
    )
    method = Param(
        Params._dummy(),
        "method",
        f"what is minimised: {', '.join(_METHODS)}",
        TypeConverters.toString,
    )
    p = Param(
        Params._dummy(),
        "p",
        "the power of distances between class vectors, for methods that have one",
        TypeConverters.toFloat,
    )

    verbose = Param(
        Params._dummy(),
        "verbose",
        "whether to print steps, passes, gap and the time that may be left: in one line on a terminal",
        TypeConverters.toBoolean,
    )
    onInterrupt = Param(
        Params._dummy(),
        "onInterrupt",
        'what Ctrl-C does to a training: "raise" ends it with KeyboardInterrupt, "keep" with a warning and the best model so far',
        TypeConverters.toString,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            featuresCol="features",
            method="m3svm",
            p=4.0,
            regParam=0.0,
            maxIter=100,
            tol=1e-6,
            fitIntercept=True,
            standardization=True,
            verbose=False,
            onInterrupt="raise",
        )

    def getFeaturesCol(self) -> str | list[str]:
        return self.getOrDefault(self.featuresCol)

    def getMethod(self) -> str:
        return self.getOrDefault(self.method)

    def getP(self) -> float:
        return self.getOrDefault(self.p)

    def getVerbose(self) -> bool:
        return self.getOrDefault(self.verbose)

    def getOnInterrupt(self) -> str:
        return self.getOrDefault(self.onInterrupt)

    def _features(self, table: Any) -> Any:
        """The features of a table as one column of arrays."""
        name = self.getFeaturesCol()
        if not isinstance(name, str):
            return F.array(*[F.col(column).cast("double") for column in name])
        kind = table.schema[name].dataType
        if type(kind).__name__ == "VectorUDT":
            return vector_to_array(F.col(name))
        return F.col(name).cast(ArrayType(DoubleType()))

    def _checked_method(self) -> str:
        if self.getMethod() not in _METHODS:
            raise ValueError(f"`method` must be one of {', '.join(_METHODS)}, found {self.getMethod()!r}")
        return self.getMethod()


class SparkM3SVMClassifier(_Params, Estimator[Any], MLReadable[Any], MLWritable):
    """Linear classifiers for many classes on Spark data frames, trained to a certified optimum.

    ``regParam`` weighs the penalty against the *mean* loss, as everywhere in MLlib: lambda is ``regParam * n / 2`` for rows that weigh n, so that
    with ``method="lr"`` the objective is that of ``LogisticRegression`` with ``elasticNetParam=0``.
    """

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str | list[str] = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        weightCol: str | None = None,
        maxIter: int = 100,
        regParam: float = 0.0,
        tol: float = 1e-6,
        fitIntercept: bool = True,
        standardization: bool = True,
        method: str = "m3svm",
        p: float = 4.0,
        verbose: bool = False,
        onInterrupt: str = "raise",
    ) -> None:
        super().__init__()
        self._set(**{name: value for name, value in self._input_kwargs.items() if value is not None})

    @keyword_only
    def setParams(self, **given: Any) -> SparkM3SVMClassifier:
        """Sets some parameters by name."""
        return self._set(**self._input_kwargs)

    def _setting(self, **given: Any) -> SparkM3SVMClassifier:
        return self._set(**given)

    def setFeaturesCol(self, value: str | list[str]) -> SparkM3SVMClassifier:
        """The column of vectors or arrays, or a list of columns."""
        return self._setting(featuresCol=value)

    def setLabelCol(self, value: str) -> SparkM3SVMClassifier:
        """The column of labels: numbers or texts."""
        return self._setting(labelCol=value)

    def setWeightCol(self, value: str) -> SparkM3SVMClassifier:
        """The column of weights."""
        return self._setting(weightCol=value)

    def setPredictionCol(self, value: str) -> SparkM3SVMClassifier:
        """Where predictions go."""
        return self._setting(predictionCol=value)

    def setRawPredictionCol(self, value: str) -> SparkM3SVMClassifier:
        """Where scores go."""
        return self._setting(rawPredictionCol=value)

    def setProbabilityCol(self, value: str) -> SparkM3SVMClassifier:
        """Where probabilities go, of methods that define them."""
        return self._setting(probabilityCol=value)

    def setRegParam(self, value: float) -> SparkM3SVMClassifier:
        """The weight of the penalty beside the mean loss."""
        return self._setting(regParam=value)

    def setMaxIter(self, value: int) -> SparkM3SVMClassifier:
        """Most iterations."""
        return self._setting(maxIter=value)

    def setTol(self, value: float) -> SparkM3SVMClassifier:
        """The relative duality gap at which the training has converged."""
        return self._setting(tol=value)

    def setFitIntercept(self, value: bool) -> SparkM3SVMClassifier:
        """Whether every class has an intercept."""
        return self._setting(fitIntercept=value)

    def setStandardization(self, value: bool) -> SparkM3SVMClassifier:
        """Whether features are scaled to deviation 1 before training."""
        return self._setting(standardization=value)

    def setMethod(self, value: str) -> SparkM3SVMClassifier:
        """What is minimised."""
        return self._setting(method=value)

    def setP(self, value: float) -> SparkM3SVMClassifier:
        """The power of distances between class vectors."""
        return self._setting(p=value)

    def setVerbose(self, value: bool) -> SparkM3SVMClassifier:
        """Whether to print how the training goes."""
        return self._setting(verbose=value)

    def setOnInterrupt(self, value: str) -> SparkM3SVMClassifier:
        """What Ctrl-C does to a training."""
        return self._setting(onInterrupt=value)

    def write(self) -> DefaultParamsWriter:
        """What writes the parameters."""
        return DefaultParamsWriter(self)

    @classmethod
    def read(cls) -> DefaultParamsReader[Any]:
        """What reads the parameters."""
        return DefaultParamsReader(cls)

    def _fit(self, dataset: Any) -> SparkM3SVMModel:
        spark, fit = dataset.sparkSession, uuid.uuid4().hex
        if not hasattr(spark, "sparkContext") or not hasattr(dataset, "rdd"):
            raise RuntimeError(
                "m3svm.spark needs a classic Spark session: Spark Connect has no RDDs, which keep rows where they are"
            )
        method = self._checked_method()
        if self.getOnInterrupt() not in ("raise", "keep"):
            raise ValueError(f'`onInterrupt` must be "raise" or "keep", found {self.getOnInterrupt()!r}')
        line = ProgressLine(type(self).__name__) if self.getVerbose() else None
        columns = [self._features(dataset).alias("features"), F.col(self.getLabelCol()).alias("label")]
        if self.isDefined(self.weightCol) and self.getWeightCol():
            columns.append(F.col(self.getWeightCol()).cast("double").alias("weight"))
        meta = dataset.select(*columns).mapInArrow(write(fit), META).rdd.persist()
        try:
            try:
                rows = sorted(meta.collect(), key=lambda row: row.part)
            except Exception as problem:
                raise explained(problem) from problem
            # A part is known by the number that Spark has for it.
            described = {row.part: pickle.loads(row.described) for row in rows}
            together = merged([described[part] for part in sorted(described)])
            parts = [sorted(described)[number] for number in together.parts]
            known = default_settings(method)
            lam = self.getRegParam() * sum(together.mass) / 2
            settings: Any = {
                "method": method,
                "lam": lam if lam > 0 else 1e-12 * sum(together.mass),
                "tol": self.getTol(),
                "max_iter": self.getMaxIter(),
                "fit_intercept": self.getFitIntercept(),
                "scale": "standard" if self.getStandardization() else "none",
            }
            if "p" in known:
                settings["p"] = self.getP()
            classes = together.classes
            carrier = SparkCarrier(
                spark, fit, meta, parts, classes.astype(object) if classes.dtype.kind == "U" else classes
            )
            model = fit_parts(
                carrier,
                together.descriptions,
                class_names(classes),
                together.mass,
                settings,
                progress=None if line is None else line.step,
                keep_interrupted=self.getOnInterrupt() == "keep",
            )
            if line is not None:
                line.finish(model)
        finally:
            _clean(meta, fit)
        warn_unless_converged(type(self).__name__, model)
        fitted = SparkM3SVMModel(model.to_bytes(), classes.tolist())
        return self._copyValues(fitted)


def _clean(meta: Any, fit: str) -> None:
    """Leaves nothing behind where workers still answer."""
    try:
        meta.foreachPartition(clean(fit))
        meta.unpersist()
    except Exception:  # noqa: BLE001 - the fit is over, and its result or its own error counts
        return


class SparkM3SVMModel(_Params, Model, MLReadable[Any], MLWritable):
    """What :class:`SparkM3SVMClassifier` has trained."""

    def __init__(self, content: bytes = b"", labels: list[Any] | None = None) -> None:
        super().__init__()
        self._content = content
        self._labels = [] if labels is None else labels

    @property
    def _core(self) -> CoreModel:
        return CoreModel.from_bytes(self._content)

    @property
    def numClasses(self) -> int:
        """How many classes there are."""
        return len(self._labels)

    @property
    def numFeatures(self) -> int:
        """How many features there are."""
        return self._core.n_features

    @property
    def labels(self) -> list[Any]:
        """The classes, in the order of scores."""
        return list(self._labels)

    @property
    def coefficientMatrix(self) -> np.ndarray[Any, Any]:
        """One vector per class, for features as they come."""
        return self._core.coef

    @property
    def interceptVector(self) -> np.ndarray[Any, Any]:
        """One intercept per class."""
        return self._core.intercept

    @property
    def summary(self) -> TrainingSummary:
        """How the training went, with the proof: ``gap`` bounds how far the objective can be above the smallest possible one."""
        core = self._core
        gap = float("nan") if core.relative_gap is None else core.relative_gap
        return TrainingSummary(core.objective, gap, core.iterations, core.passes or 0, core.stop)

    def to_local(self) -> CoreModel:
        """The model without Spark, which saves model files."""
        return self._core

    def _transform(self, dataset: Any) -> Any:
        content, labels = self._content, np.array(self._labels)
        texts = labels.dtype.kind == "U"
        kind = StructType(
            [
                StructField("raw", ArrayType(DoubleType())),
                StructField("probability", ArrayType(DoubleType())),
                StructField("label", _label_type(texts)),
            ]
        )

        def predicted(features: pd.Series) -> pd.DataFrame:
            core = CoreModel.from_bytes(content)
            x = np.require(np.stack(features.to_numpy()), dtype=np.float64, requirements=["C", "A"])
            probabilities = core.probabilities(x)
            chosen = labels[core.predict(x)]
            return pd.DataFrame(
                {
                    "raw": list(core.scores(x)),
                    "probability": [None] * len(x) if probabilities is None else list(probabilities),
                    "label": chosen.astype(object) if texts else chosen.astype(np.float64),
                }
            )

        of = F.pandas_udf(predicted, returnType=kind)
        name = f"_m3svm_{uuid.uuid4().hex}"
        table = dataset.withColumn(name, of(self._features(dataset)))
        if self.getRawPredictionCol():
            table = table.withColumn(self.getRawPredictionCol(), array_to_vector(F.col(f"{name}.raw")))
        if self.getProbabilityCol() and self.getMethod() in ("lr", "ism3", "pairwise-lr", "smlr"):
            table = table.withColumn(self.getProbabilityCol(), array_to_vector(F.col(f"{name}.probability")))
        if self.getPredictionCol():
            table = table.withColumn(self.getPredictionCol(), F.col(f"{name}.label"))
        return table.drop(name)

    def copy(self, extra: Any = None) -> SparkM3SVMModel:
        """A copy with other parameters."""
        copied = super().copy(extra)
        copied._content, copied._labels = self._content, self._labels
        return copied

    def write(self) -> Any:
        """What writes parameters and model."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> Any:
        """What reads parameters and model."""
        return _ModelReader(cls)


def _label_type(texts: bool) -> Any:
    from pyspark.sql.types import StringType

    return StringType() if texts else DoubleType()


class _ModelWriter(DefaultParamsWriter):
    def saveImpl(self, path: str) -> None:
        super().saveImpl(path)
        row = (bytearray(self.instance._content), json.dumps(self.instance._labels))
        self.sparkSession.createDataFrame([row], "model binary, labels string").coalesce(1).write.parquet(
            f"{path}/data"
        )


class _ModelReader(DefaultParamsReader[Any]):
    def load(self, path: str) -> Any:
        model = super().load(path)
        row = self.sparkSession.read.parquet(f"{path}/data").first()
        model._content, model._labels = bytes(row["model"]), json.loads(row["labels"])
        return model
