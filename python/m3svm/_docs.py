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
    scale : {"auto", "none", "standard", "maxabs", "minmax"} or None, default="auto"
        How features are scaled before training. "auto" leaves numbers alone, as scikit-learn's own linear models do, and
        takes "standard" (mean 0, deviation 1) for columns that are prepared, which nobody can have scaled before; the
        command line always does. Scaling is learnt from the training rows, travels with the model, and costs a copy of
        the data. Sparse features are divided, never shifted. None is "none".
    preparation : "auto", dict or None, default="auto"
        How columns of every kind become features. "auto" prepares data frames (pandas, Polars, Arrow) unless all of their
        columns are numbers without gaps: texts and categories get a feature per value, dates count days, gaps are filled
        and marked, and columns that are no features are left out with a warning. With a dict, X is prepared whatever it is, arrays
        with NaN too; its keys are ``missing`` ("indicator", "mean", "median" or "error"), ``missing_words`` (more texts and
        numbers that stand for nothing), ``text`` (columns of free text: a feature per word), ``most_words`` (of these, 10,000),
        ``time_parts`` (some of "weekday", "month", "hour": features of dates besides the day), ``most_values`` (of a column that get a feature each, 100), ``keep`` (columns to use
        although they look like no features, or "all") and ``categories`` (columns of numbers that are names). None wants
        numbers. What is learnt from the training rows travels with the model, into its exports too.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied onto sample weights. Classes that a dict leaves out count 1. It may name classes that the
        data lacks, as folds do, if it names all that the data has.
    solver : <solvers>
    tol : float, default=1e-8
        The relative duality gap at which the training has converged.
    max_iter : int or None, default=None
        Most iterations; None leaves the limit to the solver.
    warm_start : bool, default=False
        Whether `fit` starts from the solution of the last fit. It has to have the same features.
    """
)

_KERNEL = dedent(
    """\
    kernel : {"linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "precomputed"}, default="linear"
        The inner product of rows that scores are linear in. "poly" and "polynomial" are the same. With "precomputed", X holds the
        values of a kernel: for `fit` those of all pairs of training rows, for predictions those of every row with all
        training rows. Not with ``norm="l1"``.
    gamma : {"scale", "auto"} or float, default="scale"
        Gamma of the kernels "rbf", "poly" and "laplacian": "scale" is ``1 / (n_features * X.var())``, "auto" is
        ``1 / n_features``. Others ignore it.
    degree : int, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant of the polynomial kernel, at least 0.
    rank : int or None, default=None
        Most training rows that the kernel is approximated by; None for the exact problem while the memory budget has room
        for it. The certificate is that of the problem that was solved; `trace_left_` says how much of the kernel is missing.
    """
)

# Parameters of several methods, by their places in docstrings.
_OF_SOME_METHODS = {
    "<lam>": """lam : float or "auto", default=<default lam>
    "auto" chooses it from the training rows, by short fits on four parts of them, or of a sample of many; see `lam_` and
    `lambda_choice_`. A number takes less time.""",
    "<p>": """p : float, default=4.0
    The power of the distances between class vectors. Below 1 the problem is not convex: the result is a local
    optimum without a certificate. With ``np.inf`` the penalty is ``lam`` times the square of the largest distance, the limit
    of ``(sum |w_k - w_l|^p)^(2/p)``.""",
    "<norm>": """norm : {"l2", "l1"}, default="l2"
    The norm of the distances.""",
    "<l1_ratio>": """l1_ratio : float, default=1.0
    The share of absolute values in the penalty: 1 for the lasso, less for the elastic net, whose squares let features that say
    the same share their weights. With 0 there are no zeros.""",
    "<k>": """k : int, default=2
    How many of the best classes count. With k or fewer classes it is limited to all but one of them, without a
    warning: see `k_`.""",
    "<delta>": """delta : float, default=<default>
    The smoothing of the hinge ``g(x) = (x + sqrt(x² + delta²))/2``; 0 for the exact one.""",
}

_SOLVERS = """{"auto", "newton", "lbfgs", "adam", "dual"}, default="auto"
    How the objective is minimised; "auto" takes "newton" unless it would need too much memory. "dual" is dual
    coordinate ascent for exact hinges, which "auto" tries first where rows are sparse."""
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
        Threads to use; None or -1 for all cores, or as many as `RAYON_NUM_THREADS` or `OMP_NUM_THREADS` say. The result
        does not depend on it.
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
    coef_ : ndarray of shape (n_scorers, n_features), or (1, n_features) for two classes
        The vectors behind `decision_function`, for features as they are passed: those of the scorers, or with two classes the one
        vector that speaks for ``classes_[1]``. They cannot be assigned or changed.
    intercept_ : ndarray of shape (n_scorers,), or (1,) for two classes
        Their intercepts.
    scorer_coef_ : ndarray of shape (n_scorers, n_features)
        The vectors of the scorers. {scorers}
    scorer_intercept_ : ndarray of shape (n_scorers,)
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
    n_passes_ : int
        How often all rows were gone through; only where they did not fit into memory, or were elsewhere. Then there is no ``support_``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of X, if they had any.
    prepared_feature_names_ : ndarray
        Where columns were prepared, the names of the features that they became, in the order of `coef_`: ``town=Oslo``.
    """
)

_CHOICE = dedent(
    """\
    lam_ : float
        The strength of the penalty that was used.
    lambda_choice_ : dict
        With ``lam="auto"`` only, how it was chosen: the number of parts (``folds``), ``rows``, rows that took part (``used``), ``fits``,
        their ``evaluations`` of the loss in units of all rows, and for each value ``tried`` its accuracy and log-loss on held-out rows.
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

_KERNEL_ATTRIBUTES = dedent(
    """\
    dual_coef_ : ndarray of shape (n_scorers, n_support), or (1, n_support) for two classes
        With a kernel only, in place of `coef_`: what the training rows of `support_` weigh in the scores. Then `support_` are all
        rows that scores are sums over.
    support_vectors_ : ndarray or CSR matrix of shape (n_support, n_features)
        With a kernel only: these rows; empty for a precomputed one.
    n_support_ : ndarray of shape (n_classes,)
        With a kernel only: how many of them are of each class.
    trace_left_ : float
        With a kernel only: the share of the trace of the kernel matrix that a low rank left out.
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
    kernel = hasattr(cls, "_kernel_settings")
    settings = (
        (_KERNEL if kernel else "")
        + _SETTINGS
        + (_PROBABILITY if margin else "")
        + _RUNNING.replace("<random>", _what_is_random(cls))
    )
    attributes = (
        _ATTRIBUTES.format(scorers=scorers)
        + (_CHOICE if hasattr(cls, "lam") else "")
        + (_SUPPORT if margin else "")
        + (_KERNEL_ATTRIBUTES if kernel else "")
    )
    text = dedent("    " + (cls.__doc__ or ""))
    solvers = _SOLVERS_OF_LASSO if cls._method == "smlr" else _SOLVERS
    places = {"<settings>": settings.replace("<solvers>", solvers), "<attributes>": attributes, **_OF_SOME_METHODS}
    for place, filling in places.items():
        text = text.replace(place, filling.rstrip("\n"))
    text = text.replace("<default lam>", f"{getattr(cls, 'lam', 0.0):g}")
    text = text.replace("<default>", str(getattr(cls, "delta", None)))
    cls.__doc__ = indent(text, "    ").lstrip()
    return cls


def _what_is_random(cls: type[LinearClassifier]) -> str:
    drawn = ["the order of rows in `partial_fit`"] if hasattr(cls, "partial_fit") else []
    drawn += [] if cls._native_probabilities else ["the folds for `probability`"]
    return (
        f"Where {' and '.join(drawn)} are drawn from. Nothing else is random." if drawn else "Nothing is random here."
    )
