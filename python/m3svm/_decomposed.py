"""Estimators that solve many problems of two classes: one-vs-rest and one-vs-one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base import LinearClassifier
from ._docs import documented
from ._hinge import RidgeHinge


class OppositeScorers(LinearClassifier):
    """One-vs-rest: both scorers of two classes say the same with opposite signs, so that the difference is twice the score."""

    def _as_one(self, scorers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(super()._as_one(scorers) / 2)


class PairScorers(LinearClassifier):
    """One-vs-one: the one scorer of two classes speaks for the first."""

    def _as_one(self, scorers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-scorers[0])


@documented
class OneVsRestSVMClassifier(OppositeScorers, RidgeHinge):
    """Support vector machines of every class against all the others.

    Every scorer minimises ``sum_i w_i g(1 - s_i z_i) + lam |w|^2 + epsilon (|w|^2 + b^2)``, where ``s_i`` is 1 for rows
    of its class and -1 for all others, and g the hinge. ``objective_`` is the sum over scorers.

    Parameters
    ----------
    <lam>
        The strength of the ridge penalty: ``1/(2 C)`` for the C of ``LinearSVC(loss="hinge")``, whose intercept is
        penalised, ``n alpha/2`` for the alpha of ``SGDClassifier`` with n rows.
    <delta>
    <settings>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    There is no `partial_fit`: it takes a joint problem, such as that of :class:`WestonWatkinsClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import OneVsRestSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{OneVsRestSVMClassifier(lam=0.5).fit(X, y).score(X, y):.3f}")
    0.960
    """

    _method = "ovr"


@documented
class OneVsOneSVMClassifier(PairScorers, RidgeHinge):
    """Support vector machines of every pair of classes, which vote.

    Every pair has a scorer that minimises ``sum_i w_i g(1 - s_i z_i) + lam |w|^2 + epsilon (|w|^2 + b^2)`` over the
    rows of its two classes, with the hinge g. ``objective_`` is the sum over scorers.

    Parameters
    ----------
    <lam>
        The strength of the ridge penalty: ``1/(2 C)`` for ``SVC(kernel="linear", C=C)``.
    <delta>
    <settings>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    With three or more classes `decision_function` gives votes, plus less than one half that breaks ties. There is no
    `partial_fit`: it takes a joint problem, such as that of :class:`WestonWatkinsClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import OneVsOneSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{OneVsOneSVMClassifier(lam=0.5).fit(X, y).score(X, y):.3f}")
    0.993
    """

    _method = "ovo"
