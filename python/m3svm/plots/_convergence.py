"""How a training came to its optimum."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Axes, Self
from ._drawing import COLOURS, axes_to_draw_into
from ._fitted import fitted


class ConvergenceDisplay:
    """The duality gap, or the objective, after every iteration of a training.

    The gap is proven: the objective is at most that far above the smallest possible value. It is the distance to the
    lower bound that was found at the end. On the way solvers only know of larger gaps, or of none.

    Parameters
    ----------
    iterations : array-like of shape (n_steps,)
        Numbers of iterations.
    objectives : array-like of shape (n_steps,)
        The lowest value of the objective so far.
    gaps : array-like of shape (n_steps,)
        The relative duality gap, NaN where there is none.
    tol : float or None, default=None
        The gap at which the training has converged.
    name : str or None, default=None
        The name in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib Line2D
        The curve.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import M3SVMClassifier
    >>> from m3svm.plots import ConvergenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> newton = ConvergenceDisplay.from_estimator(M3SVMClassifier(lam=1e-3).fit(X, y))
    >>> other = M3SVMClassifier(lam=1e-3, solver="lbfgs").fit(X, y)
    >>> both = ConvergenceDisplay.from_estimator(other, ax=newton.ax_)
    >>> len(both.iterations) > len(newton.iterations)
    True
    """

    def __init__(
        self,
        iterations: ArrayLike,
        objectives: ArrayLike,
        gaps: ArrayLike,
        *,
        tol: float | None = None,
        name: str | None = None,
    ) -> None:
        self.iterations = np.asarray(iterations)
        self.objectives = np.asarray(objectives, dtype=float)
        self.gaps = np.asarray(gaps, dtype=float)
        self.tol = tol
        self.name = name
        if not self.iterations.shape == self.objectives.shape == self.gaps.shape:
            raise ValueError("`iterations`, `objectives` and `gaps` must have the same length")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: Literal["gap", "objective"] = "gap",
        name: str | None = None,
        ax: Axes | None = None,
        **line_kwargs: Any,
    ) -> Self:
        """Show how a fitted estimator was trained.

        Parameters
        ----------
        estimator : estimator of this package, pipeline or search
            A fitted one. Of a pipeline the last step is shown, of a search the best estimator. It must have been trained
            by ``fit``: model files do not say how a model came about.
        kind : {"gap", "objective"}, default="gap"
            What to show.
        name : str, optional
            The name in the legend; the solver's if None.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **line_kwargs : dict
            Passed on to matplotlib's ``plot``.

        Returns
        -------
        display : ConvergenceDisplay
        """
        model = fitted(estimator, cls)._model
        if not model.trace:
            raise ValueError(
                "nothing is known of the training: `fit` has not made this model, but a file or `partial_fit`"
            )
        iterations, objectives, _ = (list(column) for column in zip(*model.trace, strict=True))
        # Solvers look at the end once more, and more closely.
        iterations.append(max(model.iterations, iterations[-1]))
        objectives.append(model.objective)
        # A bound holds for all iterations. Those that solvers knew on the way are worse, and Newton asks for none.
        gap = np.nan if model.relative_gap is None else model.relative_gap
        bound = model.objective * (1 - gap)
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.maximum(np.array(objectives) - bound, 0) / objectives
        name = model.solver if name is None else name
        display = cls(iterations, objectives, gaps, tol=model.settings["tol"], name=name)
        return display.plot(kind=kind, ax=ax, **line_kwargs)

    def plot(self, *, kind: Literal["gap", "objective"] = "gap", ax: Axes | None = None, **line_kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        kind : {"gap", "objective"}, default="gap"
            What to show.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **line_kwargs : dict
            Passed on to matplotlib's ``plot``.

        Returns
        -------
        display : ConvergenceDisplay
            Itself.
        """
        if kind not in ("gap", "objective"):
            raise ValueError(f'`kind` must be "gap" or "objective", found {kind!r}')
        values = self.gaps if kind == "gap" else self.objectives
        # A gap of exactly zero has no place on a logarithmic axis.
        known = np.isfinite(values) & (values > 0)
        if not known.any():
            raise ValueError(f'there is no {kind} to show; try kind="{"objective" if kind == "gap" else "gap"}"')
        ax = axes_to_draw_into(ax)
        drawn = sum(line.get_gid() == _CURVE for line in ax.get_lines())
        style = {
            "color": COLOURS[drawn % len(COLOURS)],
            "linestyle": ("-", "--", "-.", ":")[drawn % 4],
            "marker": "." if known.sum() <= 40 else None,
            "label": self.name,
            **line_kwargs,
        }
        (self.line_,) = ax.plot(self.iterations[known], values[known], gid=_CURVE, **style)
        ax.set_yscale("log")
        ax.set_xlabel("iteration")
        ax.set_ylabel("relative duality gap" if kind == "gap" else "objective")
        ax.set_title("Convergence")
        if kind == "gap" and self.tol is not None and not any(line.get_gid() == _TOL for line in ax.get_lines()):
            ax.axhline(self.tol, color="0.4", linewidth=1, linestyle=(0, (1, 2)), gid=_TOL, label=f"tol = {self.tol:g}")
        ax.grid(True, which="major", color="0.9")
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


# Marks of lines that are curves of displays, or the line of a tolerance: a second display in the same axes looks for them.
_CURVE = "m3svm convergence"
_TOL = "m3svm tolerance"
