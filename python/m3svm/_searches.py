"""The estimators that choose λ, and p where there is one, by cross-validation: one per method."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._decomposed import OppositeScorers, PairScorers
from ._hinge import HingeClassifier
from ._search import PowerSearch, Search
from ._search_docs import documented_search
from ._sparse import LassoClassifier
from ._top import LimitsK


@documented_search("M3SVMClassifier")
class M3SVMClassifierCV(PowerSearch, HingeClassifier):
    _method = "m3svm"
    _own_settings = ("delta", "norm")

    delta: float = 0.01
    norm: Literal["l2", "l1"] = "l2"


class _HingeSearch(Search, HingeClassifier):
    """A hinge with a quadratic penalty: everything but the name of the method."""

    _own_settings: ClassVar[tuple[str, ...]] = ("delta",)

    delta: float = 0.0


@documented_search("WestonWatkinsClassifier")
class WestonWatkinsClassifierCV(_HingeSearch):
    _method = "ww"


@documented_search("MSVMClassifier")
class MSVMClassifierCV(_HingeSearch):
    _method = "msvm"


@documented_search("CrammerSingerClassifier")
class CrammerSingerClassifierCV(_HingeSearch):
    _method = "cs"


@documented_search("TopKSVMClassifier")
class TopKSVMClassifierCV(LimitsK, _HingeSearch):
    _method = "topk"
    _own_settings = ("delta", "k")


@documented_search("OneVsRestSVMClassifier")
class OneVsRestSVMClassifierCV(OppositeScorers, _HingeSearch):
    _method = "ovr"


@documented_search("OneVsOneSVMClassifier")
class OneVsOneSVMClassifierCV(PairScorers, _HingeSearch):
    _method = "ovo"


class _LogisticPowerSearch(PowerSearch):
    """A logistic loss with the penalty of M³SVM: everything but the name of the method."""

    _own_settings = ("norm",)
    _native_probabilities = True

    norm: Literal["l2", "l1"] = "l2"


@documented_search("ISM3Classifier")
class ISM3ClassifierCV(_LogisticPowerSearch):
    _method = "ism3"


@documented_search("PairwiseLogisticRegression")
class PairwiseLogisticRegressionCV(_LogisticPowerSearch):
    _method = "pairwise-lr"


@documented_search("MultinomialLogisticRegression")
class MultinomialLogisticRegressionCV(Search):
    _method = "lr"
    _own_settings = ()
    _native_probabilities = True


@documented_search("SparseMultinomialLogisticRegression")
class SparseMultinomialLogisticRegressionCV(Search, LassoClassifier):
    _method = "smlr"
    _own_settings = ("l1_ratio",)
    _native_probabilities = True

    l1_ratio: float = 1.0


SEARCHES: tuple[type[Search], ...] = (
    M3SVMClassifierCV,
    WestonWatkinsClassifierCV,
    MSVMClassifierCV,
    CrammerSingerClassifierCV,
    TopKSVMClassifierCV,
    OneVsRestSVMClassifierCV,
    OneVsOneSVMClassifierCV,
    ISM3ClassifierCV,
    PairwiseLogisticRegressionCV,
    MultinomialLogisticRegressionCV,
    SparseMultinomialLogisticRegressionCV,
)
