"""What a search over λ and p found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._search import M3SVMClassifierCV
from ._drawing import COLOUR_MAP, MARKERS, MOST_NUMBERS, axes_to_draw_into, outline, pyplot, table
from ._fitted import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


class PathDisplay:
    """Accuracy in cross-validation over λ and p.

    Parameters
    ----------
    lams, ps : array-like of shape (n_settings,)
        What was tried.
    scores : array-like of shape (n_settings, n_splits)
        The accuracy on every split.
    chosen : tuple of (float, float) or None, default=None
        λ and p that were chosen.

    Attributes
    ----------
    means, errors : ndarray of shape (n_settings,)
        Means over the splits and their standard errors (deviation of the splits over the root of their number).
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import M3SVMClassifierCV
    >>> from m3svm.plots import PathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = M3SVMClassifierCV(lams=[1e-3, 1e-2, 1e-1], ps=[2, 4], scale="standard").fit(X, y)
    >>> display = PathDisplay.from_estimator(search)
    >>> display.ax_.get_xlabel()
    'λ'
    """

    def __init__(
        self, lams: ArrayLike, ps: ArrayLike, scores: ArrayLike, *, chosen: tuple[float, float] | None = None
    ) -> None:
        self.lams = np.asarray(lams, dtype=float)
        self.ps = np.asarray(ps, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        self.chosen = chosen
        if self.scores.ndim != 2 or not len(self.lams) == len(self.ps) == len(self.scores):
            raise ValueError(
                "`lams`, `ps` and `scores` must have one row per setting, and `scores` one column per split"
            )
        splits = self.scores.shape[1]
        self.means = self.scores.mean(axis=1)
        self.errors = self.scores.std(axis=1, ddof=1) / np.sqrt(splits) if splits > 1 else np.zeros(len(self.scores))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: Literal["lines", "heatmap"] = "lines", ax: Axes | None = None
    ) -> Self:
        """Show what a fitted search has tried.

        Parameters
        ----------
        estimator : M3SVMClassifierCV, or pipeline that ends with one
            A fitted one.
        kind : {"lines", "heatmap"}, default="lines"
            One line over λ per p with standard errors, or a table of means.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        display : PathDisplay
        """
        search = fitted(estimator, cls)
        if not isinstance(search, M3SVMClassifierCV):
            raise TypeError(f"PathDisplay shows a M3SVMClassifierCV, found {type(search).__name__}")
        tried = search.cv_results_
        display = cls(tried["param_lam"], tried["param_p"], tried["split_test_scores"], chosen=(search.lam_, search.p_))
        return display.plot(kind=kind, ax=ax)

    def plot(self, *, kind: Literal["lines", "heatmap"] = "lines", ax: Axes | None = None) -> Self:
        """Draw what was found.

        Parameters
        ----------
        kind : {"lines", "heatmap"}, default="lines"
            One line over λ per p with standard errors, or a table of means.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        display : PathDisplay
            Itself.
        """
        if kind not in ("lines", "heatmap"):
            raise ValueError(f'`kind` must be "lines" or "heatmap", found {kind!r}')
        ax = axes_to_draw_into(ax)
        if kind == "lines":
            self._lines(ax)
        else:
            self._heatmap(ax)
        ax.set_title("Accuracy in cross-validation")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _lines(self, ax: Axes) -> None:
        ps = np.unique(self.ps)
        # p has an order, and so have the colours.
        colours = pyplot().get_cmap("viridis")(np.linspace(0.0, 0.88, len(ps)))
        for number, (p, colour) in enumerate(zip(ps, colours, strict=True)):
            rows = np.flatnonzero(self.ps == p)
            rows = rows[np.argsort(self.lams[rows])]
            # Side by side, so that bars of different p do not hide each other.
            aside = 1.03 ** (number - (len(ps) - 1) / 2)
            ax.errorbar(
                self.lams[rows] * aside,
                self.means[rows],
                yerr=self.errors[rows],
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                markersize=5,
                linewidth=1.4,
                elinewidth=0.8,
                capsize=2,
                label=f"p = {p:g}",
            )
        chosen = self._chosen_row()
        if chosen is not None:
            aside = 1.03 ** (np.flatnonzero(ps == self.ps[chosen])[0] - (len(ps) - 1) / 2)
            label = f"chosen: λ = {self.lams[chosen]:.3g}, p = {self.ps[chosen]:g}"
            at = ([self.lams[chosen] * aside], [self.means[chosen]])
            ax.plot(*at, "o", markersize=14, markerfacecolor="none", color="#D55E00", markeredgewidth=2, label=label)
        ax.set_xscale("log")
        ax.set_xlabel("λ")
        ax.set_ylabel("accuracy (bars: ± one standard error)")
        ax.grid(True, color="0.9")
        ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))

    def _heatmap(self, ax: Axes) -> None:
        lams, ps = np.unique(self.lams), np.unique(self.ps)
        means = np.full((len(ps), len(lams)), np.nan)
        means[np.searchsorted(ps, self.ps), np.searchsorted(lams, self.lams)] = self.means
        table(
            ax,
            means,
            [f"{p:g}" for p in ps],
            [f"{lam:.3g}" for lam in lams],
            what="accuracy",
            number=".3f",
            cmap=COLOUR_MAP,
            shown=len(lams) <= MOST_NUMBERS,
        )
        chosen = self._chosen_row()
        if chosen is not None:
            outline(ax, int(np.searchsorted(ps, self.ps[chosen])), int(np.searchsorted(lams, self.lams[chosen])))
        ax.set_xlabel("λ" if chosen is None else "λ (framed: chosen)")
        ax.set_ylabel("p")

    def _chosen_row(self) -> int | None:
        if self.chosen is None:
            return None
        rows = np.flatnonzero((self.lams == self.chosen[0]) & (self.ps == self.chosen[1]))
        return int(rows[0]) if rows.size else None
