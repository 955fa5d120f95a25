"""Docstrings of estimators: what they all have in common is written once, here."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING, TypeVar

_SETTINGS = dedent(
    """\
    epsilon : float, default=1e-6
        Weight of the tiny quadratic term on weights and intercepts that makes the optimum unique.
    fit_intercept : bool, default=True
        Whether every scorer has an intercept. Intercepts are not penalised, but for `epsilon`.
    scale : {"none", "standard", "maxabs", "minmax"}, default="none"
        How features are scaled before training. The default is to leave them alone, as scikit-learn's own linear
        models do; the command line scales to mean 0 and deviation 1. Scaling is learnt from the training rows, travels
        with the model, and costs a copy of the data. Sparse features are divided, never shifted.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied onto sample weights. Classes that a dict leaves out count 1.
    solver : <solvers>
    tol : float, default=1e-8
        The relative duality gap at which the training has converged.
    max_iter : int or None, default=None
        Most iterations; None leaves the limit to the solver.
    warm_start : bool, default=False
        Whether `fit` starts from the solution of the last fit. It has to have the same features.
    """
)

# Parameters of several methods, by their places in docstrings.
_OF_SOME_METHODS = {
    "<p>": """p : float, default=4.0
    The power of the distances between class vectors. Below 1 the problem is not convex: the result is a local
    optimum without a certificate.""",
    "<norm>": """norm : {"l2", "l1"}, default="l2"
    The norm of the distances.""",
    "<delta>": """delta : float, default=<default>
    The smoothing of the hinge ``g(x) = (x + sqrt(x² + delta²))/2``; 0 for the exact one.""",
}

_SOLVERS = """{"auto", "newton", "lbfgs", "adam"}, default="auto"
    How the objective is minimised; "auto" estimates which of the next two is cheaper. Exact hinges on sparse rows
    without an intercept are first tried by descent in the dual."""
_SOLVERS_OF_LASSO = """{"auto", "proximal"}, default="auto"
    How the objective is minimised; both are the same here."""

_PROBABILITY = dedent(
    """\
    probability : bool, default=False
        Whether to estimate probabilities: softmax of the scores, divided by a temperature that is learnt from a
        cross-validation with five folds. Costs five more trainings.
    """
)

_RUNNING = dedent(
    """\
    n_threads : int or None, default=None
        Threads to use; None for all cores, or as many as `RAYON_NUM_THREADS` or `OMP_NUM_THREADS` say. The result does
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        <random>
    verbose : int, default=0
        Whether to print how the training goes: about once a second, in one line on a terminal.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does to a training: end it with KeyboardInterrupt and leave the estimator as it was, or end it with
        a warning and keep the best point so far (without probabilities, if they were to be estimated).
    """
)

_ATTRIBUTES = dedent(
    """\
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_scorers, n_features)
        The vectors of the scorers, for features as they are passed. {scorers}
    intercept_ : ndarray of shape (n_scorers,)
        Their intercepts.
    margins_ : ndarray of shape (n_classes, n_classes)
        The margin of every pair of classes, infinite on the diagonal. Lengths are those of scaled features.
    min_margin_ : float
        The smallest of them.
    objective_ : float
        The value of the objective.
    dual_gap_ : float
        How far `objective_` is above the smallest possible value at most, relative to `objective_`. NaN where the
        problem is not convex and there is no bound (p < 1), and after `partial_fit`.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if they had any.
    """
)

_SUPPORT = dedent(
    """\
    support_ : ndarray of shape (n_support,)
        Training rows that hold up at least one margin.
    temperature_ : float
        The temperature behind `predict_proba`; with ``probability=True`` only.
    """
)

_ONE_PER_CLASS = "There is one per class, also with two classes."
_ONE_PER_PAIR = """There is one per pair of
    classes, in the order (0, 1), (0, 2), ... (1, 2), ...; positive speaks for the first."""

if TYPE_CHECKING:
    from ._base import LinearClassifier

Class = TypeVar("Class", bound="type[LinearClassifier]")


def documented(cls: Class) -> Class:
    """Fills the places such as ``<settings>`` and ``<attributes>`` in the docstring of an estimator."""
    margin = not cls._native_probabilities
    scorers = _ONE_PER_PAIR if cls._method == "ovo" else _ONE_PER_CLASS
    settings = _SETTINGS + (_PROBABILITY if margin else "") + _RUNNING.replace("<random>", _what_is_random(cls))
    attributes = _ATTRIBUTES.format(scorers=scorers) + (_SUPPORT if margin else "")
    text = dedent("    " + (cls.__doc__ or ""))
    solvers = _SOLVERS_OF_LASSO if cls._method == "smlr" else _SOLVERS
    places = {"<settings>": settings.replace("<solvers>", solvers), "<attributes>": attributes, **_OF_SOME_METHODS}
    for place, filling in places.items():
        text = text.replace(place, filling.rstrip("\n"))
    text = text.replace("<default>", str(getattr(cls, "delta", None)))
    cls.__doc__ = indent(text, "    ").lstrip()
    return cls


def _what_is_random(cls: type[LinearClassifier]) -> str:
    drawn = ["the order of rows in `partial_fit`"] if hasattr(cls, "partial_fit") else []
    drawn += [] if cls._native_probabilities else ["the folds for `probability`"]
    return (
        f"Where {' and '.join(drawn)} are drawn from. Nothing else is random." if drawn else "Nothing is random here."
    )
