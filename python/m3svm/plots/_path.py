"""What a search over λ and p found."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._search import Search
from .._typing import Axes, Self
from ._drawing import COLOUR_MAP, MARKERS, MOST_NUMBERS, axes_to_draw_into, outline, pyplot, table
from ._fitted import fitted

# More lines than this with their bars, and nobody can tell them apart.
_MOST_LINES = 5


class PathDisplay:
    """Accuracy, or another score, in cross-validation over λ, and over p where there is one.

    Parameters
    ----------
    lams : array-like of shape (n_settings,)
        What was tried.
    ps : array-like of shape (n_settings,) or None
        The powers that were tried with them; None where the penalty has none.
    scores : array-like of shape (n_settings, n_splits)
        The score on every split.
    chosen : tuple of (float, float or None) or None, default=None
        λ and p that were chosen.
    score_name : str, default="accuracy"
        What the scores are.

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
        self,
        lams: ArrayLike,
        ps: ArrayLike | None,
        scores: ArrayLike,
        *,
        chosen: tuple[float, float | None] | None = None,
        score_name: str = "accuracy",
    ) -> None:
        self.lams = np.asarray(lams, dtype=float)
        self.powers = ps is not None
        # One and the same for all, where there is none.
        self.ps = np.ones(self.lams.shape) if ps is None else np.asarray(ps, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        self.chosen = chosen
        self.score_name = score_name
        if self.scores.ndim != 2 or not len(self.lams) == len(self.ps) == len(self.scores):
            raise ValueError(
                "`lams`, `ps` and `scores` must have one row per setting, and `scores` one column per split"
            )
        splits = self.scores.shape[1]
        self.means = self.scores.mean(axis=1)
        self.errors = self.scores.std(axis=1, ddof=1) / np.sqrt(splits) if splits > 1 else np.zeros(len(self.scores))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: Literal["lines", "heatmap"] | None = None, ax: Axes | None = None
    ) -> Self:
        """Show what a fitted search has tried.

        Parameters
        ----------
        estimator : estimator whose name ends with CV, or pipeline that ends with one
            A fitted one.
        kind : {"lines", "heatmap"} or None, default=None
            One line over λ per p with standard errors, or a table of means. None is for lines if there are five p or fewer.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        display : PathDisplay
        """
        search = fitted(estimator, cls)
        if not isinstance(search, Search):
            raise TypeError(
                f"PathDisplay shows an estimator that chooses, M3SVMClassifierCV say, found {type(search).__name__}"
            )
        tried = search.cv_results_
        splits = [name for name in tried if name.startswith("split")]
        display = cls(
            tried["param_lam"],
            tried.get("param_p"),
            np.column_stack([tried[name] for name in splits]),
            chosen=(search.best_params_["lam"], search.best_params_.get("p")),
            score_name=search.scoring if isinstance(search.scoring, str) else "score" if search.scoring else "accuracy",
        )
        return display.plot(kind=kind, ax=ax)

    def plot(self, *, kind: Literal["lines", "heatmap"] | None = None, ax: Axes | None = None) -> Self:
        """Draw what was found.

        Parameters
        ----------
        kind : {"lines", "heatmap"} or None, default=None
            One line over λ per p with standard errors, or a table of means. None is for lines if there are five p or fewer.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        display : PathDisplay
            Itself.
        """
        if kind is None:
            kind = "lines" if len(np.unique(self.ps)) <= _MOST_LINES else "heatmap"
        if kind not in ("lines", "heatmap"):
            raise ValueError(f'`kind` must be "lines" or "heatmap", found {kind!r}')
        if kind == "lines":
            ax = axes_to_draw_into(ax)
            self._lines(ax)
        else:
            ax = axes_to_draw_into(ax, rows=len(np.unique(self.ps)), columns=len(np.unique(self.lams)))
            self._heatmap(ax)
        name = self.score_name.replace("_", " ")
        ax.set_title(f"{name[:1].upper()}{name[1:]} in cross-validation")
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
                label=f"p = {p:g}" if self.powers else None,
            )
        chosen = self._chosen_row()
        if chosen is not None:
            aside = 1.03 ** (np.flatnonzero(ps == self.ps[chosen])[0] - (len(ps) - 1) / 2)
            power = f", p = {self.ps[chosen]:g}" if self.powers else ""
            label = f"chosen: λ = {self.lams[chosen]:.3g}{power}"
            at = ([self.lams[chosen] * aside], [self.means[chosen]])
            ax.plot(*at, "o", markersize=14, markerfacecolor="none", color="#D55E00", markeredgewidth=2, label=label)
        ax.set_xscale("log")
        ax.set_xlabel("λ")
        ax.set_ylabel(f"{self.score_name} (bars: ± one standard error)")
        ax.grid(True, color="0.9")
        if not self.powers:
            ax.legend(fontsize="small")
            return
        ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))

    def _heatmap(self, ax: Axes) -> None:
        lams, ps = np.unique(self.lams), np.unique(self.ps)
        means = np.full((len(ps), len(lams)), np.nan)
        means[np.searchsorted(ps, self.ps), np.searchsorted(lams, self.lams)] = self.means
        table(
            ax,
            means,
            [f"{p:g}" if self.powers else "" for p in ps],
            [f"{lam:.3g}" for lam in lams],
            what=self.score_name,
            number=".3f",
            cmap=COLOUR_MAP,
            shown=len(lams) <= MOST_NUMBERS,
        )
        chosen = self._chosen_row()
        if chosen is not None:
            outline(ax, int(np.searchsorted(ps, self.ps[chosen])), int(np.searchsorted(lams, self.lams[chosen])))
        ax.set_xlabel("λ" if chosen is None else "λ (framed: chosen)")
        ax.set_ylabel("p" if self.powers else "")

    def _chosen_row(self) -> int | None:
        if self.chosen is None:
            return None
        rows = np.flatnonzero((self.lams == self.chosen[0]) & ((self.ps == self.chosen[1]) | (not self.powers)))
        return int(rows[0]) if rows.size else None
