"""What a training tells its user: a line of progress, and a warning if it did not converge."""

from __future__ import annotations

import sys
import time
import warnings

from sklearn.exceptions import ConvergenceWarning

from ._core import Model

# Between two lines of progress.
_SECONDS = 1.0


def print_search(name: str, done: int, planned: int) -> None:
    """One line about a search."""
    print(f"[{name}] {done} of {planned} fits", flush=True)


def print_batch(name: str, model: Model) -> None:
    """One line about a batch."""
    print(f"[{name}] {model.iterations} steps so far, objective of the batch {model.objective:.8g}", flush=True)


class ProgressLine:
    """Prints how the training goes, about once a second: over and over in one line on a terminal, else line by line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = 0.0
        self._terminal = sys.stdout.isatty()
        self._width = 0

    def reading(self, rows: int, number: int) -> None:
        """Called while rows are read, for so many times."""
        if self._is_due():
            self._print(f"{rows} rows read" + (f", pass {number}" if number > 1 else ""), last=False)

    def step(
        self,
        iteration: int,
        objective: float,
        gap: float | None,
        passes: int | None = None,
        seconds_left: float | None = None,
    ) -> None:
        """Called many times a second while the training runs."""
        if self._is_due():
            passed = "" if passes is None else f", pass {passes}"
            left = "" if seconds_left is None else f", about {seconds_left:.0f} s left"
            self._print(f"iteration {iteration}{passed}, objective {objective:.8g}{_gap(gap)}{left}", last=False)

    def finish(self, model: Model) -> None:
        """Called with the result."""
        work = f"{model.stop} after {model.iterations} iterations of {model.solver}"
        self._print(f"{work}, objective {model.objective:.8g}{_gap(model.relative_gap)}", last=True)

    def _is_due(self) -> bool:
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + (_SECONDS / 5 if self._terminal else _SECONDS)
        return True

    def _print(self, text: str, *, last: bool) -> None:
        line = f"[{self._name}] {text}"
        if not self._terminal:
            print(line, flush=True)
            return
        # Covers what is left of a longer line.
        print("\r" + line.ljust(self._width), end="\n" if last else "", flush=True)
        self._width = len(line)


def warn_of_missing_probabilities(name: str) -> None:
    """Warns that Ctrl-C came after the training, while its probabilities were estimated."""
    warnings.warn(
        f"{name} was interrupted while probabilities were estimated; the model was kept without them",
        ConvergenceWarning,
        stacklevel=5,
    )


def warn_at_the_edge(name: str, parameter: str, value: float, end: str) -> None:
    """Warns of a choice that was cut short by the values to choose from."""
    further = "larger" if end == "largest" else "smaller"
    warnings.warn(
        f"{name}: the best {parameter}, {value:g}, is the {end} that was tried and better than the next; {further} ones may be better still",
        UserWarning,
        stacklevel=3,
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
