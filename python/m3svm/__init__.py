"""Multi-class support vector machines with maximised minimum margin, solved to a certified optimum.

Every estimator follows the conventions of scikit-learn and comes with a proof of optimality: ``dual_gap_`` bounds
how far its objective can be above the smallest possible one.

>>> from sklearn.datasets import load_iris
>>> from m3svm import M3SVMClassifier
>>> X, y = load_iris(return_X_y=True)
>>> model = M3SVMClassifier(scale="standard").fit(X, y)
>>> model.dual_gap_ <= 1e-8
True
>>> print(f"{model.score(X, y):.3f}, smallest margin {model.min_margin_:.3f}")
0.973, smallest margin 0.345
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from ._core import __version__
except ModuleNotFoundError as problem:
    # The losses of `m3svm.torch` work in a clone where nothing was built; all else says what is missing when it is asked for.
    if problem.name != "m3svm._core":
        raise
else:
    from ._border import refuse_other_builds

    refuse_other_builds()

if TYPE_CHECKING:
    from . import plots
    from ._decomposed import OneVsOneSVMClassifier, OneVsRestSVMClassifier
    from ._hinge import M3SVMClassifier, MSVMClassifier, WestonWatkinsClassifier
    from ._logistic import ISM3Classifier, MultinomialLogisticRegression, PairwiseLogisticRegression
    from ._memory import memory_budget, set_memory_budget
    from ._model_file import load
    from ._onnx_pipelines import register_skl2onnx
    from ._searches import (
        CrammerSingerClassifierCV,
        ISM3ClassifierCV,
        M3SVMClassifierCV,
        MSVMClassifierCV,
        MultinomialLogisticRegressionCV,
        OneVsOneSVMClassifierCV,
        OneVsRestSVMClassifierCV,
        PairwiseLogisticRegressionCV,
        SparseMultinomialLogisticRegressionCV,
        TopKSVMClassifierCV,
        WestonWatkinsClassifierCV,
    )
    from ._sparse import SparseMultinomialLogisticRegression
    from ._top import CrammerSingerClassifier, TopKSVMClassifier

__all__ = [
    "CrammerSingerClassifier",
    "CrammerSingerClassifierCV",
    "ISM3Classifier",
    "ISM3ClassifierCV",
    "M3SVMClassifier",
    "M3SVMClassifierCV",
    "MSVMClassifier",
    "MSVMClassifierCV",
    "MultinomialLogisticRegression",
    "MultinomialLogisticRegressionCV",
    "OneVsOneSVMClassifier",
    "OneVsOneSVMClassifierCV",
    "OneVsRestSVMClassifier",
    "OneVsRestSVMClassifierCV",
    "PairwiseLogisticRegression",
    "PairwiseLogisticRegressionCV",
    "SparseMultinomialLogisticRegression",
    "SparseMultinomialLogisticRegressionCV",
    "TopKSVMClassifier",
    "TopKSVMClassifierCV",
    "WestonWatkinsClassifier",
    "WestonWatkinsClassifierCV",
    "__version__",
    "load",
    "memory_budget",
    "plots",
    "register_skl2onnx",
    "set_memory_budget",
]

# Where the names above are. They are imported when they are first asked for, since all of them need scikit-learn: that alone takes
# several times as long to import as NumPy.
_HOMES = {
    "CrammerSingerClassifier": "_top",
    "CrammerSingerClassifierCV": "_searches",
    "ISM3Classifier": "_logistic",
    "ISM3ClassifierCV": "_searches",
    "M3SVMClassifier": "_hinge",
    "M3SVMClassifierCV": "_searches",
    "MSVMClassifier": "_hinge",
    "MSVMClassifierCV": "_searches",
    "MultinomialLogisticRegression": "_logistic",
    "MultinomialLogisticRegressionCV": "_searches",
    "OneVsOneSVMClassifier": "_decomposed",
    "OneVsOneSVMClassifierCV": "_searches",
    "OneVsRestSVMClassifier": "_decomposed",
    "OneVsRestSVMClassifierCV": "_searches",
    "PairwiseLogisticRegression": "_logistic",
    "PairwiseLogisticRegressionCV": "_searches",
    "SparseMultinomialLogisticRegression": "_sparse",
    "SparseMultinomialLogisticRegressionCV": "_searches",
    "TopKSVMClassifier": "_top",
    "TopKSVMClassifierCV": "_searches",
    "WestonWatkinsClassifier": "_hinge",
    "WestonWatkinsClassifierCV": "_searches",
    "__version__": "_core",
    "load": "_model_file",
    "memory_budget": "_memory",
    "plots": "plots",
    "register_skl2onnx": "_onnx_pipelines",
    "set_memory_budget": "_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f".{_HOMES[name]}", __name__)
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
