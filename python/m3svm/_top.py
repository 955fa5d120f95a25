"""Estimators with a hinge on the best classes: Crammer and Singer's, and top-k."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._base import LinearClassifier
from ._batches import LearnsInBatches
from ._core import Model
from ._docs import documented
from ._hinge import RidgeHinge
from ._settings import Settings


@documented
class CrammerSingerClassifier(LearnsInBatches, RidgeHinge):
    """The multi-class support vector machine of Crammer and Singer.

    Minimises ``sum_i w_i max(0, 1 + max_{k != y_i} z_ik - z_{i,y_i}) + lam |W|^2 + epsilon (|W|^2 + |b|^2)``.

    Parameters
    ----------
    <lam>
        The strength of the ridge penalty: ``1/(2 C)`` for ``LinearSVC(multi_class="crammer_singer")``, whose intercept
        is penalised.
    delta : float, default=0.0
        The smoothing of the maximum; 0 for the exact one.
    <settings>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import CrammerSingerClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{CrammerSingerClassifier(lam=0.5).fit(X, y).score(X, y):.3f}")
    0.987
    """

    _method = "cs"


class LimitsK(LinearClassifier):
    """The k of the top-k hinge, which has to be smaller than the number of classes."""

    k: int = 2

    def _settings(self, seed: int | None, classes: NDArray[Any]) -> Settings:
        return {**super()._settings(seed, classes), "k": min(self.k, max(1, len(classes) - 1))}

    def _adopt(self, model: Model, classes: NDArray[Any]) -> None:
        super()._adopt(model, classes)
        # With k = 1 the method is that of Crammer and Singer, which has no such setting.
        self.k_ = model.settings.get("k", 1)


@documented
class TopKSVMClassifier(LearnsInBatches, LimitsK, RidgeHinge):
    """The top-k support vector machine of Lapin, Hein and Schiele.

    Minimises ``sum_i w_i max(0, mean of the k largest a_ij) + lam |W|^2 + epsilon (|W|^2 + |b|^2)``, where ``a_ij`` is
    ``1 + z_ij - z_{i,y_i}`` for the wrong classes and 0 for the true one. It aims at having the true class among the k
    best, which `sklearn.metrics.top_k_accuracy_score` measures.

    Parameters
    ----------
    <k>
    <lam>
        The strength of the ridge penalty: ``1/(2 C)`` for programs that minimise ½|W|² + C sum of losses.
    delta : float, default=0.0
        The smoothing of the maxima; 0 for the exact ones.
    <settings>

    Attributes
    ----------
    k_ : int
        The k that was used.
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import top_k_accuracy_score
    >>> from m3svm import TopKSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = TopKSVMClassifier(k=3, lam=10.0, tol=1e-4).fit(X / 16, y)
    >>> print(f"{top_k_accuracy_score(y, model.decision_function(X / 16), k=3):.2f}")
    1.00
    """

    _method = "topk"
    _own_settings = ("lam", "delta", "k")
