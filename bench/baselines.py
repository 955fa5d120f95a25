"""Measures what m3svm is compared with: SciPy's L-BFGS-B and the paper's 500 epochs of Adam.

One JSON line per data set. Optimal values come from `--optima`, a JSON object {"set": F*}; where a set is not in it,
L-BFGS-B runs until it stops by itself and its own best value stands in for F* ("optimum_source": "self").

    python bench/baselines.py --sets glass vehicle --optima optima.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = int(os.environ.get("M3SVM_THREADS", "2"))
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = str(THREADS)  # read when NumPy and torch are loaded, hence before the imports

import numpy as np  # noqa: E402
import scipy  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from adam import numpy_adam, torch, torch_adam  # noqa: E402
from problem import LEARNING_RATES, SETS, Matrix, Problem, load  # noqa: E402

TOLERANCE = 1e-6
MEMORY = 20
REPEAT_BELOW = 20.0


class _Stop(Exception):
    """Raised inside the objective to leave SciPy: target reached or time over."""


def measure_scipy(problem: Problem, optimum: float | None, limit: float, max_evals: float = np.inf) -> dict[str, Any]:
    """L-BFGS-B from W = 0 until within TOLERANCE of the optimum, its own end or the time limit.

    Every evaluation counts, those inside line searches too: the clock stops at the first good enough one.
    """
    target = -np.inf if optimum is None else optimum + TOLERANCE * abs(optimum)
    trace: list[tuple[float, float]] = []  # seconds and best value after each evaluation
    best, best_theta = np.inf, problem.start()
    begin, cpu = time.perf_counter(), time.process_time()

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, best_theta
        value, gradient = problem(theta)
        if value < best:
            best, best_theta = value, theta.copy()
        elapsed = time.perf_counter() - begin
        trace.append((elapsed, best))
        if best <= target or elapsed > limit or len(trace) >= max_evals:
            raise _Stop
        return value, gradient

    options = {"maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9, "maxls": 50}
    restarts = -1
    try:
        while True:
            before = best
            restarts += 1
            # A failed line search ends a run; a restart drops the memory and may go on from there.
            minimize(objective, best_theta, jac=True, method="L-BFGS-B", options=options)
            if not best < before - 1e-14 * abs(before):
                break
    except _Stop:
        pass
    cpu = time.process_time() - cpu  # close to the wall time of one thread on an idle machine
    seconds, evals = trace[-1][0], len(trace)
    per_eval = seconds / evals
    if optimum is None:
        optimum, good = best, best + TOLERANCE * abs(best)
        evals = next(i for i, (_, value) in enumerate(trace, 1) if value <= good)
        seconds = trace[evals - 1][0]
    gap = (best - optimum) / abs(optimum)
    return {
        "scipy_seconds": seconds,
        "scipy_cpu_seconds": cpu,
        "scipy_evals": evals,
        "scipy_gap": gap,
        "scipy_reached": gap <= TOLERANCE,
        "scipy_restarts": restarts,
        "scipy_ms_per_eval": 1e3 * per_eval,
    }


def median(run: Callable[[], dict[str, Any]], key: str, repeats: int) -> dict[str, Any]:
    """The run with the median time `key`; `KEY_min` and `KEY_max` show how steady the machine was."""
    runs = [run()]
    while len(runs) < repeats and runs[0][key] < REPEAT_BELOW:
        runs.append(run())
    runs.sort(key=lambda row: row[key])
    return runs[(len(runs) - 1) // 2] | {f"{key}_min": runs[0][key], f"{key}_max": runs[-1][key]}


def versions() -> dict[str, str]:
    """What the numbers depend on besides the code."""
    found = torch.__version__ if torch else "none"
    return {"threads": f"1..{THREADS}", "numpy": np.__version__, "scipy": scipy.__version__, "torch": found}


def measure_adam(x: Matrix, y: np.ndarray, rate: float, threads: int) -> dict[str, Any]:
    """The paper's recipe in both precisions; the plain `adam_` fields are float32, by PyTorch where there is one."""
    judge = Problem(x, y)
    row: dict[str, Any] = {"adam_rate": rate, "adam_objective_start": judge(judge.start())[0]}
    for dtype, suffix in ((np.float32, ""), (np.float64, "_f64")):
        seconds, theta = numpy_adam(x, y, rate, dtype)
        row[f"numpy_adam{suffix}_seconds"] = seconds
        row[f"numpy_adam{suffix}_objective"] = judge(theta)[0]
        if torch:
            cpu = time.process_time()
            seconds, theta = torch_adam(x, y, rate, dtype, threads)
            row[f"adam{suffix}_cpu_seconds"] = time.process_time() - cpu
        row[f"adam{suffix}_seconds"] = seconds
        row[f"adam{suffix}_objective"] = judge(theta)[0]
    row["adam_backend"] = "torch" if torch else "numpy"
    return row


def calibrate(run: Callable[[int], float]) -> dict[int, float]:
    """The best of three short runs of the real thing with one thread and with THREADS.

    Threads slow products this small down, and by orders of magnitude where something else runs on the machine (they
    spin for each other, those of SciPy's own BLAS too): the baselines get the number that suits them at the moment.
    """
    times = {}
    for threads in dict.fromkeys((1, THREADS)):
        with threadpool_limits(threads):
            times[threads] = min(run(threads) for _ in range(3))
    return times


def measure(name: str, optimum: float | None, limit: float, adam: bool = True, repeats: int = 3) -> dict[str, Any]:
    """The whole row of one set: medians, or a single run where one takes over REPEAT_BELOW seconds."""
    x, y = load(name)
    problem = Problem(x, y)
    row: dict[str, Any] = {"set": name, "n": problem.n, "d": problem.d, "c": problem.c}
    row |= {"optimum": optimum, "optimum_source": "self" if optimum is None else "given", "limit": limit}
    row |= {"load_before": os.getloadavg()[0]}
    row["objective_start"] = problem(problem.start())[0]
    times = calibrate(lambda _: measure_scipy(problem, None, 5.0, 50)["scipy_ms_per_eval"])
    threads = min(times, key=times.__getitem__)
    row |= {"scipy_threads": threads} | {f"scipy_ms_per_eval_t{count}": value for count, value in times.items()}
    with threadpool_limits(threads):
        row |= median(lambda: measure_scipy(problem, optimum, limit), "scipy_seconds", repeats)
    if not row["scipy_reached"]:
        why = f"> {limit:.0f} s" if row["scipy_seconds"] > limit else "line search failed"
        row["scipy_note"] = f"{why}, gap {row['scipy_gap']:.1e}"
    if adam:
        if torch:
            rate = LEARNING_RATES[name]
            times = calibrate(lambda threads: torch_adam(x, y, rate, np.float32, threads, epochs=10)[0])
            threads = min(times, key=times.__getitem__)
        row["adam_threads"] = threads
        with threadpool_limits(threads):
            row |= median(lambda: measure_adam(x, y, LEARNING_RATES[name], threads), "adam_seconds", repeats)
    return row | {"load_after": os.getloadavg()[0]}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--optima", type=Path, help='JSON object {"set": F*}')
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of L-BFGS-B per set (default 300)")
    parser.add_argument("--no-adam", action="store_true", help="measure L-BFGS-B only")
    parser.add_argument("--out", type=Path, help="file for the JSON lines (default: stdout)")
    args = parser.parse_args()
    optima = json.loads(args.optima.read_text()) if args.optima else {}
    print(f"{versions()}, load {os.getloadavg()[0]:.2f}", file=sys.stderr)
    with args.out.open("w") if args.out else sys.stdout as sink:
        for name in args.sets:
            row = measure(name, optima.get(name), args.limit, not args.no_adam)
            print(json.dumps(row), file=sink, flush=True)


if __name__ == "__main__":
    main()
