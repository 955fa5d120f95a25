"""Estimators with a hinge on pairs of classes, trained as one problem: M³SVM and its relatives."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._batches import LearnsInBatches
from ._docs import documented
from ._kernels import KernelClassifier


class HingeClassifier(KernelClassifier):
    """A loss that defines no probabilities; they can be estimated."""

    probability: bool = False


@documented
class M3SVMClassifier(LearnsInBatches, HingeClassifier):
    """Multi-class support vector machine with maximised minimum margin (M³SVM).

    Minimises, over one vector and one intercept per class,

    ``sum_i w_i sum_{k != y_i} g(1 - (z_{i,y_i} - z_{ik})) + lam sum_{k<l} |w_k - w_l|^p + epsilon (|W|^2 + |b|^2)``

    where g is the hinge, smoothed by `delta`. The margin between two classes is ``2/|w_k - w_l|``: the larger p, the
    more the penalty is about the smallest margin.

    Parameters
    ----------
    <p>
    <lam>
        The strength of the penalty. The loss is summed over rows, not averaged, so it has to grow with their number to
        keep the same balance. With p = 2, c classes and the C of other programs (½|W|² + C sum of losses, one vector
        per class) it is ``1/(2 C c)``; with two classes and `delta` = 0, ``SVC(kernel="linear", C=C)`` is ``1/(2 C)``.
    <delta>
    <norm>
    <settings>

    Attributes
    ----------
    <attributes>

    References
    ----------
    Z. Hao, F. Nie, R. Wang. Multi-class Support Vector Machine with Maximizing Minimum Margin. AAAI 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from m3svm import M3SVMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), M3SVMClassifier(p=4, lam=0.1)).fit(X, y)
    >>> print(f"{model.score(X, y):.3f}")
    1.000
    >>> bool(model[-1].dual_gap_ <= 1e-8)
    True
    """

    _method = "m3svm"
    _own_settings = ("p", "lam", "delta", "norm")

    p: float = 4.0
    lam: float | Literal["auto"] = 1e-3
    delta: float = 0.01
    norm: Literal["l2", "l1"] = "l2"


class RidgeHinge(HingeClassifier):
    """A hinge with a quadratic penalty: everything but the name of the method."""

    _own_settings: ClassVar[tuple[str, ...]] = ("lam", "delta")

    lam: float | Literal["auto"] = 0.5
    delta: float = 0.0


@documented
class WestonWatkinsClassifier(LearnsInBatches, RidgeHinge):
    """The multi-class support vector machine of Weston and Watkins.

    Minimises ``sum_i w_i sum_{k != y_i} g(1 - (z_{i,y_i} - z_{ik})) + lam |W|^2 + epsilon (|W|^2 + |b|^2)`` with the
    hinge g.

    Parameters
    ----------
    <lam>
        The strength of the ridge penalty: ``1/(2 C)`` for programs that minimise ½|W|² + C sum of losses.
    <delta>
    <settings>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import WestonWatkinsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{WestonWatkinsClassifier(lam=0.5).fit(X, y).score(X, y):.3f}")
    0.987
    """

    _method = "ww"


@documented
class MSVMClassifier(LearnsInBatches, RidgeHinge):
    """The M-SVM of Bredensteiner and Bennett.

    The hinge of :class:`WestonWatkinsClassifier`, with a penalty of squared distances between class vectors and of
    their squared lengths: ``lam (sum_{k<l} |w_k - w_l|^2 + |W|^2)``.

    Parameters
    ----------
    <lam>
        The strength of the penalty: ``1/(2 C)`` for a penalty of half the squares beside C sum of losses.
    <delta>
    <settings>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import MSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{MSVMClassifier(lam=0.5).fit(X, y).score(X, y):.3f}")
    0.987
    """

    _method = "msvm"
