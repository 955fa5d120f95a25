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

from ._core import __version__
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
]
