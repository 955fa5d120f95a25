"""The margins of all pairs of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Axes, Self
from ._drawing import COLOUR_MAP, MOST_NUMBERS, axes_to_draw_into, outline, table
from ._fitted import fitted


class MarginMatrixDisplay:
    """Heat map of the margins between classes.

    Parameters
    ----------
    margins : array-like of shape (n_classes, n_classes)
        The margin of every pair of classes; the diagonal is not shown.
    display_labels : array-like of shape (n_classes,)
        Names of the classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    im_ : matplotlib AxesImage
        The coloured cells.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import M3SVMClassifier
    >>> from m3svm.plots import MarginMatrixDisplay
    >>> iris = load_iris()
    >>> model = M3SVMClassifier(scale="standard").fit(iris.data, iris.target)
    >>> display = MarginMatrixDisplay.from_estimator(model, display_labels=iris.target_names)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['setosa', 'versicolor', 'virginica']
    """

    def __init__(self, margins: ArrayLike, *, display_labels: ArrayLike) -> None:
        self.margins = np.asarray(margins, dtype=float)
        self.display_labels = np.asarray(display_labels)
        shape = (len(self.display_labels),) * 2
        if self.margins.shape != shape:
            raise ValueError(f"`margins` must be of shape {shape}, one row per label, found {self.margins.shape}")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        display_labels: ArrayLike | None = None,
        ax: Axes | None = None,
        cmap: str = COLOUR_MAP,
        include_values: bool | None = None,
        values_format: str = ".3g",
    ) -> Self:
        """Show the margins of a fitted estimator.

        Parameters
        ----------
        estimator : estimator of this package, pipeline or search
            A fitted one. Of a pipeline the last step is shown, of a search the best estimator.
        display_labels : array-like of shape (n_classes,), optional
            Names of the classes; ``classes_`` if None.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        cmap : str, default="cividis"
            The colour map.
        include_values : bool or None, default=None
            Whether margins are written into the cells; None for "if there are not too many".
        values_format : str, default=".3g"
            How they are written.

        Returns
        -------
        display : MarginMatrixDisplay
        """
        model = fitted(estimator, cls)
        display = cls(model.margins_, display_labels=model.classes_ if display_labels is None else display_labels)
        return display.plot(ax=ax, cmap=cmap, include_values=include_values, values_format=values_format)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        cmap: str = COLOUR_MAP,
        include_values: bool | None = None,
        values_format: str = ".3g",
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        cmap : str, default="cividis"
            The colour map.
        include_values : bool or None, default=None
            Whether margins are written into the cells; None for "if there are not too many".
        values_format : str, default=".3g"
            How they are written.

        Returns
        -------
        display : MarginMatrixDisplay
            Itself.
        """
        names = [str(label) for label in self.display_labels]
        ax = axes_to_draw_into(ax, rows=len(names), columns=len(names))
        shown = self.margins.copy()
        np.fill_diagonal(shown, np.nan)
        self.im_ = table(
            ax,
            shown,
            names,
            names,
            what="margin",
            number=values_format,
            cmap=cmap,
            shown=len(names) <= MOST_NUMBERS if include_values is None else include_values,
        )
        if np.isfinite(shown).any():
            smallest = np.nanmin(shown)
            first, second = np.argwhere(shown == smallest)[0]
            outline(ax, first, second)
            outline(ax, second, first)
            ax.set_xlabel(f"smallest (framed): {smallest:{values_format}}, {names[first]} and {names[second]}")
        ax.set_title("Margins between classes")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
