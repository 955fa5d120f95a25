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
    from ._model_file import load
    from ._search import M3SVMClassifierCV
    from ._sparse import SparseMultinomialLogisticRegression
    from ._top import CrammerSingerClassifier, TopKSVMClassifier

__all__ = [
    "CrammerSingerClassifier",
    "ISM3Classifier",
    "M3SVMClassifier",
    "M3SVMClassifierCV",
    "MSVMClassifier",
    "MultinomialLogisticRegression",
    "OneVsOneSVMClassifier",
    "OneVsRestSVMClassifier",
    "PairwiseLogisticRegression",
    "SparseMultinomialLogisticRegression",
    "TopKSVMClassifier",
    "WestonWatkinsClassifier",
    "__version__",
    "load",
    "plots",
]

# Where the names above are. They are imported when they are first asked for, since all of them need scikit-learn: that alone takes
# several times as long to import as NumPy.
_HOMES = {
    "CrammerSingerClassifier": "_top",
    "ISM3Classifier": "_logistic",
    "M3SVMClassifier": "_hinge",
    "M3SVMClassifierCV": "_search",
    "MSVMClassifier": "_hinge",
    "MultinomialLogisticRegression": "_logistic",
    "OneVsOneSVMClassifier": "_decomposed",
    "OneVsRestSVMClassifier": "_decomposed",
    "PairwiseLogisticRegression": "_logistic",
    "SparseMultinomialLogisticRegression": "_sparse",
    "TopKSVMClassifier": "_top",
    "WestonWatkinsClassifier": "_hinge",
    "__version__": "_core",
    "load": "_model_file",
    "plots": "plots",
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
