"""The estimator whose weights are mostly zero."""

from __future__ import annotations

from ._base import LinearClassifier
from ._docs import documented


@documented
class SparseMultinomialLogisticRegression(LinearClassifier):
    """Multinomial logistic regression with a lasso penalty: many weights are exactly zero.

    Minimises ``sum_i w_i (log sum_k exp(z_ik) - z_{i,y_i}) + lam sum_jk |w_jk| + epsilon (|W|^2 + |b|^2)``.

    Parameters
    ----------
    lam : float, default=1.0
        The strength of the penalty: ``1/C`` for the C of ``LogisticRegression`` with an l1 penalty.
    <settings>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    There is no `partial_fit`: zeros come from a solver that sees all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import SparseMultinomialLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseMultinomialLogisticRegression(lam=10.0).fit(X, y)
    >>> int((model.coef_ == 0).sum()) > 4
    True
    """

    _method = "smlr"
    _own_settings = ("lam",)
    _native_probabilities = True

    lam: float = 1.0
