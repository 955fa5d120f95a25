"""Training on Dask collections that are larger than one machine, to the same certified optimum.

Needs Dask and a client: ``pip install m3svm[dask]``. Every joint method has an estimator here, named after the one for arrays.
"""

try:
    import distributed  # noqa: F401
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError("m3svm.dask needs Dask: pip install 'm3svm[dask]'") from problem

from ._estimators import (
    DaskCrammerSingerClassifier,
    DaskISM3Classifier,
    DaskM3SVMClassifier,
    DaskMSVMClassifier,
    DaskMultinomialLogisticRegression,
    DaskPairwiseLogisticRegression,
    DaskSparseMultinomialLogisticRegression,
    DaskTopKSVMClassifier,
    DaskWestonWatkinsClassifier,
)

__all__ = [
    "DaskCrammerSingerClassifier",
    "DaskISM3Classifier",
    "DaskM3SVMClassifier",
    "DaskMSVMClassifier",
    "DaskMultinomialLogisticRegression",
    "DaskPairwiseLogisticRegression",
    "DaskSparseMultinomialLogisticRegression",
    "DaskTopKSVMClassifier",
    "DaskWestonWatkinsClassifier",
]
