"""M³SVM that chooses λ and p by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import check_cv

from ._core import search
from ._data import TrainingData, class_names
from ._docs import documented
from ._hinge import HingeClassifier
from ._progress import print_search
from ._settings import Settings


@documented
class M3SVMClassifierCV(HingeClassifier):
    """M³SVM with `lam` and `p` chosen by cross-validation.

    Tries every pair of values on every split, each fit starting from its neighbour's solution and all splits side by
    side, and trains :class:`M3SVMClassifier` on all rows with the pair of the highest mean accuracy.

    Parameters
    ----------
    lams : iterable of float or None, default=None
        Values of `lam`; None for ten from 1e-4 to 1e-1.
    ps : iterable of float or None, default=None
        Values of `p`; None for 1 to 8.
    cv : int, cross-validation generator or iterable, default=5
        The splits, as everywhere in scikit-learn: a number of stratified folds, a splitter, or pairs of row numbers.
    rule : {"best-mean", "one-standard-error"}, default="best-mean"
        Which pair is chosen: that of the highest mean accuracy (among equals the largest `lam`), or the largest `lam`
        that is at most one standard error worse, with the p of the best.
    search_tol : float, default=1e-4
        The relative duality gap of the fits on splits. Accuracy hardly depends on it; the final fit goes to `tol`.
    delta : float, default=0.01
        The smoothing of the hinge, see :class:`M3SVMClassifier`.
    <norm>
    <settings>

    Attributes
    ----------
    lam_ : float
        The chosen `lam`.
    p_ : float
        The chosen `p`.
    best_score_ : float
        Its mean accuracy over the splits. That is too good by the luck of the choice; for an honest estimate pass the
        whole estimator to ``cross_val_score``.
    cv_results_ : dict of ndarray
        For every pair: `param_lam`, `param_p`, `mean_test_score`, `std_test_score`, and `split_test_scores` with one
        column per split.
    <attributes>

    Notes
    -----
    Accuracies count sample weights. Ctrl-C during the search raises KeyboardInterrupt whatever `on_interrupt` says: there
    is no model yet. There is no `partial_fit`: the choice of `lam` and `p` needs all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import M3SVMClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = M3SVMClassifierCV(lams=[1e-3, 1e-1], ps=[2, 4], scale="standard").fit(X, y)
    >>> model.p_ in (2, 4)
    True
    >>> len(model.cv_results_["mean_test_score"])
    4
    """

    _method = "m3svm"
    _own_settings = ("delta", "norm")

    lams: Iterable[float] | None = None
    ps: Iterable[float] | None = None
    cv: Any = 5
    rule: Literal["best-mean", "one-standard-error"] = "best-mean"
    search_tol: float = 1e-4
    delta: float = 0.01
    norm: Literal["l2", "l1"] = "l2"

    def _tuned(self, data: TrainingData, settings: Settings) -> Settings:
        if len(data.classes) < 2:
            raise ValueError(f"at least two classes are needed, found only one class ({data.classes[0]})")
        splits = check_cv(self.cv, data.y, classifier=True).split(data.x, data.y)
        chosen, tried = search(
            data.x,
            data.y,
            class_names(data.classes),
            settings,
            [(_row_numbers(train), _row_numbers(test)) for train, test in splits],
            lams=None if self.lams is None else list(self.lams),
            ps=None if self.ps is None else list(self.ps),
            rule=self.rule,
            tol=self.search_tol,
            sample_weight=data.sample_weight,
            n_threads=self.n_threads,
            progress=partial(print_search, type(self).__name__) if self.verbose else None,
        )
        scores = np.array([accuracies for _, _, accuracies in tried])
        self.cv_results_ = {
            "param_lam": np.array([lam for lam, _, _ in tried]),
            "param_p": np.array([p for _, p, _ in tried]),
            "mean_test_score": scores.mean(axis=1),
            "std_test_score": scores.std(axis=1),
            "split_test_scores": scores,
        }
        self.lam_ = float(self.cv_results_["param_lam"][chosen])
        self.p_ = float(self.cv_results_["param_p"][chosen])
        self.best_score_ = float(self.cv_results_["mean_test_score"][chosen])
        return {**settings, "lam": self.lam_, "p": self.p_}


def _row_numbers(rows: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    rows = np.asarray(rows)
    return np.require(np.flatnonzero(rows) if rows.dtype == bool else rows, np.uint32, ["C", "ALIGNED"])
