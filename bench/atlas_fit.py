"""Fits one cell of the atlas with one program, to tighter and tighter tolerances; a JSON line per fit.

Started by `atlas.py`, which ends it when a fit takes too long. A line says how long the processor has worked, how much
memory the process has taken at most beside what it held before the first fit, and the objective, by one NumPy function
for everybody.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when NumPy is loaded, hence before the imports

import m3svm  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.linear_model import LogisticRegression, SGDClassifier  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402

import objectives  # noqa: E402
from atlas_data import Cell, Matrix, make  # noqa: E402

#: Whole decades; half ones would double the time of the whole atlas for ratios that differ by less than its noise.
TOLERANCES = tuple(10.0**-exponent for exponent in range(1, 9))
#: A limit of iterations that is none.
PATIENCE = 10**7
EPSILON = 1e-6

Weights = tuple[np.ndarray, np.ndarray]
#: What is timed, and how to get weights and intercepts out of what it returns.
Fit = tuple[Callable[[], Any], Callable[[Any], Weights]]

OBJECTIVES: dict[str, Callable[..., float]] = {
    "ovr": objectives.one_vs_rest,
    "cs": objectives.crammer_singer,
    "ovo": objectives.one_vs_one,
    "lr": objectives.multinomial,
    "smlr": objectives.sparse_multinomial,
}
OURS = {
    "ovr": m3svm.OneVsRestSVMClassifier,
    "cs": m3svm.CrammerSingerClassifier,
    "ovo": m3svm.OneVsOneSVMClassifier,
    "lr": m3svm.MultinomialLogisticRegression,
    "smlr": m3svm.SparseMultinomialLogisticRegression,
    "m3svm": m3svm.M3SVMClassifier,
    "ww": m3svm.WestonWatkinsClassifier,
    "topk": m3svm.TopKSVMClassifier,
}
#: What others are run with who stop where they do by default.
DEFAULTS = {
    "ovr": lambda cell: LinearSVC(C=cell.cost, loss="hinge", fit_intercept=cell.intercept, random_state=0),
    "cs": lambda cell: LinearSVC(
        C=cell.cost, multi_class="crammer_singer", fit_intercept=cell.intercept, random_state=0
    ),
    "ovo": lambda cell: SVC(C=cell.cost, kernel="linear"),
    "lr": lambda cell: LogisticRegression(C=cell.cost, fit_intercept=cell.intercept, max_iter=1000),
}


def lam(cell: Cell) -> float:
    """Our strength for the C of the others: they halve squares."""
    return (1.0 if cell.method == "smlr" else 0.5) / cell.cost


def ours(cell: Cell, x: Matrix, y: np.ndarray, tol: float) -> Fit:
    """The estimator of this package."""

    def fit() -> object:
        settings = {"lam": lam(cell), "tol": tol, "fit_intercept": cell.intercept, "n_threads": 1}
        return OURS[cell.method](**settings).fit(x, y)

    return fit, _attributes


def _attributes(fitted: Any) -> Weights:  # noqa: ANN401, estimators of two packages
    coef = fitted.coef_.toarray() if sp.issparse(fitted.coef_) else fitted.coef_
    return coef, np.broadcast_to(fitted.intercept_, (len(coef),))


def estimator(kind: type, **settings: object) -> Callable[[Cell, Matrix, np.ndarray, float], Fit]:
    """One of scikit-learn."""

    def make_fit(cell: Cell, x: Matrix, y: np.ndarray, tol: float) -> Fit:
        own = {"C": cell.cost} if kind is not SGDClassifier else {"alpha": 1.0 / (cell.cost * len(y))}
        own |= {"max_iter": PATIENCE} | ({"fit_intercept": cell.intercept} if kind is not SVC else {})
        return lambda: kind(tol=tol, **own, **settings).fit(x, y), _attributes

    return make_fit


PEERS: dict[str, dict[str, Callable[[Cell, Matrix, np.ndarray, float], Fit]]] = {
    "ovr": {
        "LinearSVC": estimator(LinearSVC, loss="hinge", random_state=0),
        "SGD": estimator(SGDClassifier, random_state=0),
    },
    "cs": {"LinearSVC": estimator(LinearSVC, multi_class="crammer_singer", random_state=0)},
    "ovo": {"SVC": estimator(SVC, kernel="linear", cache_size=500)},
    "lr": {
        "lbfgs": estimator(LogisticRegression, solver="lbfgs"),
        "newton-cg": estimator(LogisticRegression, solver="newton-cg"),
        "saga": estimator(LogisticRegression, solver="saga", random_state=0),
    },
    "smlr": {"saga": estimator(LogisticRegression, solver="saga", l1_ratio=1.0, random_state=0)},
}


def judge(cell: Cell, x: Matrix, y: np.ndarray, weights: Weights, program: str) -> float:
    """The objective. What LIBLINEAR calls an intercept is one more feature, and penalised as such."""
    w, b = weights
    penalised = lam(cell) * float(b @ b) if program == "LinearSVC" and cell.intercept else 0.0
    if cell.classes == 2 and len(w) == 1 and cell.method in ("ovr", "lr", "smlr"):
        w, b = np.vstack([-w, w]) * (1.0 if cell.method == "ovr" else 0.5), np.array([-b[0], b[0]])
    if cell.classes == 2 and cell.method == "ovo":
        # Of two classes the second is spoken for.
        w, b = -w, -b
    return OBJECTIVES[cell.method](x, y, w, b, lam(cell)) + penalised


def lines(cell: Cell, program: str) -> Iterator[dict[str, Any]]:
    """A line per tolerance."""
    warnings.filterwarnings("ignore")
    x, y = make(cell)
    make_fit = ours if program == "ours" else PEERS[cell.method][program]
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    for tol in TOLERANCES:
        fit, weights = make_fit(cell, x, y, tol)
        yield {"begin": tol}
        started = time.process_time()
        fitted = fit()
        seconds = time.process_time() - started
        row: dict[str, Any] = {"tol": tol, "seconds": seconds}
        row["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0 - held
        if cell.method in OBJECTIVES:
            row["objective"] = judge(cell, x, y, weights(fitted), program)
        if program == "ours":
            row |= {"own": fitted.objective_, "gap": fitted.dual_gap_}
        yield row


def once(cell: Cell, program: str) -> dict[str, Any]:
    """One fit: ours to a proven 1e-3, or what others have for a method at their own default tolerance."""
    warnings.filterwarnings("ignore")
    x, y = make(cell)
    fit = ours(cell, x, y, 1e-3)[0] if program == "ours" else lambda: DEFAULTS[program](cell).fit(x, y)
    # What is loaded by the first fit of a process is not part of it.
    (ours(Cell("lr"), *_toy(), 1e-1)[0] if program == "ours" else lambda: DEFAULTS[program](cell).fit(*_toy()))()
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    started = time.process_time()
    fitted = fit()
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0 - held
    gap = fitted.dual_gap_ if program == "ours" else None
    return {"seconds": seconds, "memory": memory, "gap": gap}


def _toy() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[0.0], [1.0], [2.0], [3.5]]), np.array([0, 0, 1, 1])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    if sys.argv[3:] == ["once"]:
        print(json.dumps({"begin": 0.0}), flush=True)
        print(json.dumps(once(Cell(**json.loads(sys.argv[1])), sys.argv[2])), flush=True)
        sys.exit()
    for _line in lines(Cell(**json.loads(sys.argv[1])), sys.argv[2]):
        print(json.dumps(_line), flush=True)
