"""Estimators that solve many problems of two classes: one-vs-rest and one-vs-one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._data import features
from ._docs import documented
from ._hinge import RidgeHinge


@documented
class OneVsRestSVMClassifier(RidgeHinge):
    """Support vector machines of every class against all the others.

    Every scorer minimises ``sum_i w_i g(1 - s_i z_i) + lam |w|^2 + epsilon (|w|^2 + b^2)``, where ``s_i`` is 1 for rows
    of its class and -1 for all others, and g the hinge. ``objective_`` is the sum over scorers.

    Parameters
    ----------
    lam : float, default=0.5
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
    >>> print(f"{OneVsRestSVMClassifier().fit(X, y).score(X, y):.3f}")
    0.960
    """

    _method = "ovr"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        # Both scorers of two classes say the same with opposite signs: the difference is twice the score.
        decision = super().decision_function(X)
        return decision / 2 if decision.ndim == 1 else decision

    decision_function.__doc__ = RidgeHinge.decision_function.__doc__


@documented
class OneVsOneSVMClassifier(RidgeHinge):
    """Support vector machines of every pair of classes, which vote.

    Every pair has a scorer that minimises ``sum_i w_i g(1 - s_i z_i) + lam |w|^2 + epsilon (|w|^2 + b^2)`` over the
    rows of its two classes, with the hinge g. ``objective_`` is the sum over scorers.

    Parameters
    ----------
    lam : float, default=0.5
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
    >>> print(f"{OneVsOneSVMClassifier().fit(X, y).score(X, y):.3f}")
    0.993
    """

    _method = "ovo"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if len(self.classes_) > 2:
            return super().decision_function(X)
        # The one scorer speaks for the first class; here positive is to speak for the second.
        return -self._model.raw_scores(features(self, X), self.n_threads)[:, 0]

    decision_function.__doc__ = RidgeHinge.decision_function.__doc__
