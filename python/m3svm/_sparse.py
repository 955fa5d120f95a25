"""The estimator whose weights are mostly zero."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._base import LinearClassifier
from ._docs import documented


class LassoClassifier(LinearClassifier):
    """Many weights are exactly zero."""

    # No parameter. `sklearn.feature_selection.SelectFromModel` looks for it, and then keeps all features with weights.
    penalty: ClassVar[str] = "l1"


@documented
class SparseMultinomialLogisticRegression(LassoClassifier):
    """Multinomial logistic regression with a lasso or an elastic net: many weights are exactly zero.

    Minimises ``sum_i w_i (log sum_k exp(z_ik) - z_{i,y_i}) + lam sum_jk (r |w_jk| + (1 - r) w_jk^2) + epsilon (|W|^2 + |b|^2)``,
    where r is `l1_ratio`.

    Parameters
    ----------
    <lam>
        The strength of the penalty: ``1/C`` for the C of ``LogisticRegression`` with an l1 penalty. One with the elastic net,
        which halves the squares, is ``lam=(1 + l1_ratio) / (2 C)`` here, and our `l1_ratio` is ``2 l1_ratio / (1 + l1_ratio)``
        of theirs.
    <l1_ratio>
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
    _own_settings = ("lam", "l1_ratio")
    _native_probabilities = True

    lam: float | Literal["auto"] = 1.0
    l1_ratio: float = 1.0
