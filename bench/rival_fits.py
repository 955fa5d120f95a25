"""Fits one data set by one method with one program, to tighter and tighter tolerances; a JSON line per fit.

Started by `rivals.py`, which ends it when a fit takes too long: the programs cannot be interrupted from inside.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

THREADS = int(os.environ.get("M3SVM_THREADS", "2"))
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_variable] = str(THREADS)  # read when NumPy is loaded, hence before the imports

import m3svm  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from liblinear import liblinearutil  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402

import objectives  # noqa: E402
from problem import SPARSE, Array, Matrix, read, standardise  # noqa: E402

#: Half decades.
TOLERANCES = tuple(10.0 ** (-exponent / 2) for exponent in range(0, 25))
#: The tolerances of fits that tell the optimum: one that is tight enough for every target, and one for a better answer if there is time.
TIGHTEST = (1e-8, 1e-10)
#: Fits shorter than this are repeated, and the best time counts.
SHORT = 5.0
REPEATS = 3
#: Tolerances in a row that bring nothing before a program is believed to get no closer. A Newton step may pass many at once.
PLATEAU = 12
#: A limit of iterations that is none.
PATIENCE = 10**8

Weights = tuple[Array, Array]
#: What is timed, and how to get weights and intercepts out of what it returns.
Fit = tuple[Callable[[], Any], Callable[[Any], Weights]]


@dataclass
class Data:
    """A data set and the strength of the penalty."""

    x: Matrix
    y: np.ndarray
    cost: float

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.y.max()) + 1

    @cached_property
    def for_liblinear(self) -> object:
        """The same in LIBLINEAR's own format, which takes long to make and is not timed."""
        return liblinearutil.problem(self.y.astype(float), self.x)


@dataclass(frozen=True)
class Method:
    """A method: its objective, its lambda for a cost C, our estimator, and who else has it."""

    objective: objectives.Objective
    lam: Callable[[float], float]
    ours: Callable[..., Any]
    intercept: bool
    rivals: dict[str, Callable[[Data, float], Fit]]


def _estimator(make: Callable[[], Any], data: Data, intercept: bool) -> Fit:
    def weights(fitted: object) -> Weights:
        coef = fitted.coef_.toarray() if sp.issparse(fitted.coef_) else fitted.coef_
        return coef, fitted.intercept_ if intercept else np.zeros(len(coef))

    return lambda: make().fit(data.x, data.y), weights


def liblinear(kind: int) -> Callable[[Data, float], Fit]:
    """LIBLINEAR's `-s KIND` without a bias, which it would penalise."""

    def fit(data: Data, tol: float) -> Fit:
        data.for_liblinear  # noqa: B018, made before the clock starts
        options = liblinearutil.parameter(f"-s {kind} -c {data.cost!r} -e {tol!r} -B -1 -q")

        def weights(model: object) -> Weights:
            c, d = data.classes, data.x.shape[1]
            rows = np.ctypeslib.as_array(model.w, shape=(d, c)).T
            return np.ascontiguousarray(rows[np.argsort(model.get_labels())]), np.zeros(c)

        return lambda: liblinearutil.train(data.for_liblinear, options), weights

    return fit


def linear_svc(**settings: object) -> Callable[[Data, float], Fit]:
    """scikit-learn's copy of LIBLINEAR, whose limit of iterations can be lifted."""

    def fit(data: Data, tol: float) -> Fit:
        return _estimator(
            lambda: LinearSVC(C=data.cost, tol=tol, fit_intercept=False, max_iter=PATIENCE, random_state=0, **settings),
            data,
            intercept=False,
        )

    return fit


def logistic(**settings: object) -> Callable[[Data, float], Fit]:
    """scikit-learn's logistic regression."""

    def fit(data: Data, tol: float) -> Fit:
        return _estimator(
            lambda: LogisticRegression(C=data.cost, tol=tol, max_iter=PATIENCE, random_state=0, **settings),
            data,
            intercept=True,
        )

    return fit


def libsvm(data: Data, tol: float) -> Fit:
    """LIBSVM with a linear kernel, which votes over pairs."""
    return _estimator(lambda: SVC(kernel="linear", C=data.cost, tol=tol, cache_size=500), data, intercept=True)


METHODS = {
    "ovr": Method(
        objectives.one_vs_rest,
        lambda cost: 0.5 / cost,
        m3svm.OneVsRestSVMClassifier,
        False,
        {"liblinear -s 3": liblinear(3), "sklearn LinearSVC": linear_svc(loss="hinge")},
    ),
    "cs": Method(
        objectives.crammer_singer,
        lambda cost: 0.5 / cost,
        m3svm.CrammerSingerClassifier,
        False,
        {"liblinear -s 4": liblinear(4), "sklearn LinearSVC": linear_svc(multi_class="crammer_singer")},
    ),
    "ovo": Method(
        objectives.one_vs_one, lambda cost: 0.5 / cost, m3svm.OneVsOneSVMClassifier, True, {"libsvm": libsvm}
    ),
    "lr": Method(
        objectives.multinomial,
        lambda cost: 0.5 / cost,
        m3svm.MultinomialLogisticRegression,
        True,
        {
            "sklearn lbfgs": logistic(solver="lbfgs"),
            "sklearn newton-cg": logistic(solver="newton-cg"),
            "sklearn newton-cholesky": logistic(solver="newton-cholesky"),
        },
    ),
    "smlr": Method(
        objectives.sparse_multinomial,
        lambda cost: 1.0 / cost,
        m3svm.SparseMultinomialLogisticRegression,
        True,
        {"sklearn saga": logistic(solver="saga", l1_ratio=1.0)},
    ),
    "m3svm": Method(objectives.m3svm, lambda cost: 1e-3 / cost, m3svm.M3SVMClassifier, True, {}),
}


def ours(method: Method) -> Callable[[Data, float], Fit]:
    """Our own estimator. Its epsilon of 1e-6 is nobody else's, but moves the optimum in the second order only."""

    def fit(data: Data, tol: float) -> Fit:
        def make() -> object:
            lam = method.lam(data.cost)
            return method.ours(lam=lam, tol=tol, fit_intercept=method.intercept, n_threads=THREADS, random_state=0)

        return _estimator(make, data, method.intercept)

    return fit


def load(name: str, cost: float) -> Data:
    """Dense features standardised; counts of words as text is usually weighed: logarithms, rows of length 1."""
    x, y = read(name)
    if name not in SPARSE:
        return Data(np.ascontiguousarray(standardise(x)), y, cost)
    x = sp.csr_matrix(x)
    x.data = np.log1p(x.data)
    length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    length[length == 0.0] = 1.0
    # 32-bit indices: LIBLINEAR and LIBSVM take no others.
    x = sp.csr_matrix(sp.diags(1.0 / length) @ x)
    x.sort_indices()
    return Data(x, y, cost)


def fits(method: Method, program: str, data: Data, targets: list[float], optimum: float | None) -> Iterator[dict]:
    """A line per fit, from loose to tight, until every target is reached; without an optimum, the tightest alone."""
    make = ours(method) if program == "ours" else method.rivals[program]
    judge = lambda weights: method.objective(data.x, data.y, *weights, method.lam(data.cost))  # noqa: E731
    if optimum is None:
        for tol in TIGHTEST:
            run, weights = make(data, tol)
            yield {"begin": tol}
            fitted = run()
            yield {"objective": judge(weights(fitted)), "gap": getattr(fitted, "dual_gap_", None)}
        return
    left, gaps = sorted(targets, reverse=True), []
    for tol in TOLERANCES:
        run, weights = make(data, tol)
        seconds = []
        gap = np.inf
        while len(seconds) < (REPEATS if gap <= left[0] and min(seconds) < SHORT else 1):
            yield {"begin": tol}
            begin = time.perf_counter()
            fitted = run()
            seconds.append(time.perf_counter() - begin)
            gap = (judge(weights(fitted)) - optimum) / abs(optimum)
        reached = [target for target in left if gap <= target]
        left = [target for target in left if gap > target]
        yield {"tol": tol, "seconds": seconds, "gap": gap, "reached": reached}
        gaps.append(gap)
        # A limit inside the program, or rounding.
        stuck = len(gaps) > PLATEAU and min(gaps[-PLATEAU:]) > 0.99 * min(gaps[:-PLATEAU])
        if not left or stuck:
            return


def main() -> None:
    """Command line: SET METHOD PROGRAM COST OPTIMUM TARGET..."""
    warnings.simplefilter("ignore")  # many programs warn of limits that no target needs
    name, method, program, cost, optimum, *targets = sys.argv[1:]
    say = lambda line: print(json.dumps(line), flush=True)  # noqa: E731
    random = np.random.default_rng(0)
    small = Data(random.normal(size=(60, 3)), np.arange(60) % 3, 1.0)
    for _ in fits(METHODS[method], program, small, [1e-1], 1e9):
        pass  # loads and warms up what the first fit would have to
    data = load(name, float(cost))
    say({"rows": data.x.shape[0], "features": data.x.shape[1], "classes": data.classes})
    known = None if optimum == "none" else float(optimum)
    for line in fits(METHODS[method], program, data, [float(t) for t in targets], known):
        say(line)


if __name__ == "__main__":
    main()
