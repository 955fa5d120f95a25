"""Docstrings of estimators that choose by cross-validation. They differ in few places, so the whole of them is written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ._core import grid
from ._docs import documented
from ._search import PowerSearch, Search

_TEXT = """:class:`{name}` with {what} chosen by cross-validation.

    Tries every {each} on every split, each fit starting from its neighbour's solution and all splits side by side, and
    trains on all rows with the {each} of the highest mean accuracy, or of another score.

    Parameters
    ----------
    lams : iterable of float or None, default=None
        Values of `lam`; None for {usual}, and as many beyond as it takes until the best one is not the last.
    {ps}cv : int, cross-validation generator or iterable, default=5
        The splits, as everywhere in scikit-learn: a number of stratified folds, a splitter, or pairs of row numbers.
    scoring : str, callable or None, default=None
        What is to be as high as possible, as everywhere in scikit-learn; None for accuracy. Every other score takes longer:
        fits follow one another, and each is proven to `search_tol`.
    rule : {{"best-mean", "one-standard-error"}}, default="best-mean"
        Which {each} is chosen: that of the highest mean score (among equals the largest `lam`), or the largest `lam` that
        is at most one standard error worse{same_p}.
    search_tol : float, default=1e-4
        The relative duality gap of the fits on splits. Scores hardly depend on it; the final fit goes to `tol`.
    {own}<settings>

    Attributes
    ----------
    lam_ : float
        The chosen `lam`.
    {p_}best_params_ : dict
        The same as a dictionary.
    best_index_ : int
        Its row in `cv_results_`.
    best_score_ : float
        Its mean score over the splits. That is too good by the luck of the choice; for an honest estimate pass the whole
        estimator to ``cross_val_score``.
    cv_results_ : dict
        For every {each}, as in ``GridSearchCV`` and ready for a data frame: {params}, `params`, ``split0_test_score`` and so on,
        `mean_test_score`, `std_test_score` and `rank_test_score`.
    {k_}<attributes>

    Notes
    -----
    Scores count sample weights. With ``probability=True`` a score that asks for probabilities has them estimated in every fit,
    which costs five more each. There is a warning if the best value of {what} is the last one that was tried on its side, and
    better than the one before.

    Ctrl-C during the search raises KeyboardInterrupt whatever `on_interrupt` says: there is no model yet. There is no
    `partial_fit`: the choice needs all rows. A model file holds the final model: it comes back as :class:`{name}`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import {name}CV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = {name}CV({values}, scale="standard").fit(X, y)
    >>> model.lam_ in (0.1, 1.0)
    True
    >>> model.cv_results_["params"] == [{tried}]
    True
    """

_PS = """ps : iterable of float or None, default=None
        Values of `p`; None for 1, 2, 4 and 8.
    """
_P_ = """p_ : float
        The chosen `p`.
    """
_K_ = """k_ : int
        The k that was used.
    """

Class = TypeVar("Class", bound=type[Search])


def documented_search(name: str) -> Callable[[Class], Class]:
    """Writes the docstring of the estimator that chooses for the one of this name."""

    def write(cls: Class) -> Class:
        power = issubclass(cls, PowerSearch)
        pairs = grid({"method": cls._method})
        usual = sorted({lam for lam, _ in pairs if lam is not None})
        own = [place for place in ("delta", "norm", "k", "l1_ratio") if place in cls._own_settings]
        few = [(lam, p) for p in ((2.0, 4.0) if power else (None,)) for lam in (1.0, 0.1)]
        tried = [f'{{"lam": {lam}, "p": {p}}}' if power else f'{{"lam": {lam}}}' for lam, p in few]
        cls.__doc__ = _TEXT.format(
            name=name,
            what="`lam` and `p`" if power else "`lam`",
            each="pair" if power else "value",
            usual=f"{len(usual)} from {usual[0]:g} to {usual[-1]:g}",
            ps=_PS if power else "",
            same_p=", with the p of the best" if power else "",
            own="".join(f"<{place}>\n    " for place in own),
            p_=_P_ if power else "",
            params="`param_lam`, `param_p`" if power else "`param_lam`",
            k_=_K_ if "k" in own else "",
            values="lams=[0.1, 1.0], ps=[2, 4]" if power else "lams=[0.1, 1.0]",
            tried=", ".join(tried),
        )
        return documented(cls)

    return write
