"""What a training tells its user: a line of progress, and a warning if it did not converge."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from ._core import Model


def print_search(name: str, done: int, planned: int) -> None:
    """One line about a search."""
    print(f"[{name}] {done} of {planned} fits", flush=True)


class ProgressLine:
    """Prints one line about the training now and then."""

    def __init__(self, name: str) -> None:
        self._name = name

    def step(self, iteration: int, objective: float, gap: float | None) -> None:
        """Called while the training runs."""
        print(f"[{self._name}] iteration {iteration}, objective {objective:.8g}{_gap(gap)}", flush=True)

    def finish(self, model: Model) -> None:
        """Called with the result."""
        print(
            f"[{self._name}] {model.stop} after {model.iterations} iterations of {model.solver}, "
            f"objective {model.objective:.8g}{_gap(model.relative_gap)}",
            flush=True,
        )


def warn_unless_converged(name: str, model: Model) -> None:
    """Warns of a result that is not proven to be good, and names the one thing to change."""
    if model.stop == "converged":
        return
    reached = "without a bound (p < 1)" if model.relative_gap is None else f"with gap {model.relative_gap:.1e}"
    settings = model.settings
    warnings.warn(
        f"{name} did not converge: it stopped ({model.stop}) after {model.iterations} iterations of {model.solver} "
        f"{reached}, tol is {settings['tol']:g}; {_advice(model)}",
        ConvergenceWarning,
        stacklevel=3,
    )


def _advice(model: Model) -> str:
    if model.stop == "interrupted":
        return "the best point so far was kept"
    if model.solver in ("lbfgs", "adam"):
        return 'try solver="newton"'
    if model.stop == "iteration-limit":
        return "raise max_iter"
    if model.settings["scale"] == "none":
        return 'scale the features, for example with scale="standard"'
    return "raise tol, this is as exact as the numbers allow"


def _gap(gap: float | None) -> str:
    return "" if gap is None else f", gap {gap:.1e}"
