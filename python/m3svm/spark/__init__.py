"""Training on Spark data frames, to the same certified optimum: an Estimator and a Model of ``pyspark.ml``.

Needs Spark and Java: ``pip install m3svm[spark]``.
"""

try:
    import pyspark  # noqa: F401
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError("m3svm.spark needs Spark: pip install 'm3svm[spark]'") from problem

from ._estimator import SparkM3SVMClassifier, SparkM3SVMModel, TrainingSummary

__all__ = ["SparkM3SVMClassifier", "SparkM3SVMModel", "TrainingSummary"]
