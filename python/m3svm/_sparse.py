"""The estimator whose weights are mostly zero."""

from __future__ import annotations

from typing import Literal

from ._base import ClassWeight, LinearClassifier, RandomState, Scale, Solver
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

    def __init__(
        self,
        *,
        lam: float = 1.0,
        epsilon: float = 1e-6,
        fit_intercept: bool = True,
        scale: Scale = "none",
        class_weight: ClassWeight = None,
        solver: Solver = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        warm_start: bool = False,
        n_threads: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        on_interrupt: Literal["raise", "keep"] = "raise",
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            fit_intercept=fit_intercept,
            scale=scale,
            class_weight=class_weight,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            n_threads=n_threads,
            random_state=random_state,
            verbose=verbose,
            on_interrupt=on_interrupt,
        )
        self.lam = lam
