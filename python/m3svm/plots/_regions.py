"""Where a classifier decides for which class: in the plane of two features, or in a plane that is laid through the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._base import LinearClassifier
from .._typing import Axes, Self
from ._drawing import COLOURS, axes_to_draw_into, class_colours, class_markers
from ._fitted import inside
from ._plane import Plane, plane_through

# The line in which a margin ends.
_END: dict[str, Any] = {"color": "0.35", "linewidth": 0.9, "linestyle": (0, (4, 3))}


class DecisionRegionDisplay:
    """Regions of a plane by predicted class, with rows of data on top.

    Two features are a plane already. More of them are projected, and the regions are those of the points that the
    projection's inverse puts into the space of features: a flat cut through that space. Rows lie beside the cut, so a
    row may be drawn in the region of another class and be classified correctly all the same.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_points, n_points)
        Coordinates of the points of a grid.
    region : ndarray of int of shape (n_points, n_points)
        Positions in `classes` of the classes there.
    classes : array-like of shape (n_classes,)
        The labels.
    xlabel, ylabel : str, default=""
        What the coordinates are.
    lead : ndarray of shape (n_points, n_points) or None, default=None
        How far the score of the class there is ahead of the next one. Where that is less than 1, a margin is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    surface_ : matplotlib QuadMesh
        The coloured regions.
    margins_ : matplotlib ContourSet or None
        The ends of the margins.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import M3SVMClassifier
    >>> from m3svm.plots import DecisionRegionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = M3SVMClassifier(scale="standard").fit(X, y)
    >>> display = DecisionRegionDisplay.from_estimator(model, X, y, projection="lda", grid_resolution=50)
    >>> display.region.shape
    (50, 50)
    """

    def __init__(
        self,
        *,
        xx0: NDArray[np.float64],
        xx1: NDArray[np.float64],
        region: NDArray[np.intp],
        classes: ArrayLike,
        xlabel: str = "",
        ylabel: str = "",
        lead: NDArray[np.float64] | None = None,
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.region = region
        self.classes = np.asarray(classes)
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.lead = lead

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        projection: Any = None,
        grid_resolution: int = 300,
        eps: float = 0.08,
        display_labels: ArrayLike | None = None,
        margins: bool | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Show the regions of a fitted classifier around rows of data.

        Parameters
        ----------
        estimator : classifier
            A fitted one: of this package, a pipeline, or any other of scikit-learn.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to show; not sparse.
        y : array-like of shape (n_samples,), optional
            Their classes, for the colours of the points and for ``projection="lda"``. Without them, no points are drawn.
        projection : {None, "pca", "lda"} or transformer, default=None
            How features become two coordinates. None is for two features as they are, and "pca" for more. "lda" shows
            the directions that separate the classes of `y` best, and needs three of them. A transformer is fitted to
            copies of `X` and `y`, and has to come out with two columns. Where it has no ``inverse_transform``, a
            linear regression of the features on the coordinates takes its place; with "pca" that is the same, and
            with "lda" it is the plane through the means of three classes.
        grid_resolution : int, default=300
            Points of the grid per axis.
        eps : float, default=0.08
            How far the picture goes beyond the rows, as a share of their extent.
        display_labels : array-like of shape (n_classes,), optional
            Names of the classes; ``classes_`` if None.
        margins : bool or None, default=None
            Whether to show the strips in which the winning class leads by less than 1: between two classes the strip is
            their margin. None is for "where a hinge has been trained". Decompositions have such strips for two classes only.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        display : DecisionRegionDisplay
        """
        check_is_fitted(estimator)
        if not is_classifier(estimator):
            raise TypeError(f"decision regions are those of a classifier, found {type(estimator).__name__}")
        if grid_resolution < 2:
            raise ValueError(f"`grid_resolution` must be at least 2, found {grid_resolution}")
        plane = plane_through(X, y, projection)
        axes = [_steps(column, eps, grid_resolution) for column in plane.points.T]
        xx0, xx1 = np.meshgrid(*axes)
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        cut = plane.features(grid)
        labels = np.asarray(estimator.predict(cut))
        classes = np.asarray(estimator.classes_)
        region = np.searchsorted(classes, labels).reshape(xx0.shape)
        names = classes if display_labels is None else np.asarray(display_labels)
        if names.shape != classes.shape:
            raise ValueError(f"`display_labels` must name {len(classes)} classes, found {names.size} names")
        lead = _lead(estimator, cut).reshape(xx0.shape) if _has_margins(estimator, margins) else None
        display = cls(
            xx0=xx0, xx1=xx1, region=region, classes=names, xlabel=plane.names[0], ylabel=plane.names[1], lead=lead
        )
        display.plot(ax=ax)
        if y is not None:
            display._scatter(plane, classes, np.asarray(y))
        return display

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the regions, without points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        display : DecisionRegionDisplay
            Itself.
        """
        ax = axes_to_draw_into(ax)
        from matplotlib.colors import ListedColormap, to_rgba

        tints = ListedColormap([to_rgba(colour, 0.28) for colour in class_colours(len(self.classes))])
        self.surface_ = ax.pcolormesh(
            self.xx0,
            self.xx1,
            self.region,
            cmap=tints,
            vmin=-0.5,
            vmax=len(self.classes) - 0.5,
            shading="nearest",
            rasterized=True,
        )
        for k in np.unique(self.region)[1:]:
            ax.contour(self.xx0, self.xx1, self.region >= k, levels=[0.5], colors="0.35", linewidths=0.8)
        self.margins_ = None
        # Nothing ends in a picture that lies within the margins, or beyond all of them.
        if self.lead is not None and self.lead.min() < 1 < self.lead.max():
            within = np.minimum(self.lead, 2.0)
            ax.contourf(self.xx0, self.xx1, within, levels=[0.0, 1.0], colors="white", alpha=0.45)
            line: dict[str, Any] = {f"{what}s": [value] for what, value in _END.items()}
            self.margins_ = ax.contour(self.xx0, self.xx1, within, levels=[1.0], **line)
        if len(self.classes) > len(COLOURS):
            self._name_regions(ax)
        ax.set_xlabel(self.xlabel)
        ax.set_ylabel(self.ylabel)
        ax.set_title("Decision regions")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _name_regions(self, ax: Axes) -> None:
        for k in np.unique(self.region):
            inside = np.argwhere(self.region == k)
            # Not the centre itself: that may lie outside a region that is bent.
            row, column = inside[np.argmin(((inside - inside.mean(axis=0)) ** 2).sum(axis=1))]
            box = {"facecolor": "white", "edgecolor": "0.5", "alpha": 0.85, "boxstyle": "round,pad=0.2"}
            at = (self.xx0[row, column], self.xx1[row, column])
            ax.text(*at, str(self.classes[k]), ha="center", va="center", bbox=box, zorder=5)

    def _scatter(self, plane: Plane, classes: NDArray[Any], y: NDArray[Any]) -> None:
        number = len(classes)
        for label, name, colour, marker in zip(
            classes, self.classes, class_colours(number), class_markers(number), strict=True
        ):
            points = plane.points[y == label]
            style: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "s": 22,
                "edgecolors": "white",
                "linewidths": 0.4,
            }
            self.ax_.scatter(points[:, 0], points[:, 1], label=str(name), **style)
        if self.margins_ is not None:
            self.ax_.plot([], [], **_END, label="lead of 1")
        # Beside the picture: inside, there may be no place without points.
        self.ax_.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + number // 20)


def _has_margins(estimator: Any, wanted: bool | None) -> bool:
    """Whether the leads of classes are to be drawn, which not all classifiers have."""
    inner = inside(estimator)
    known = isinstance(inner, LinearClassifier) and (inner._method not in ("ovr", "ovo") or len(inner.classes_) == 2)
    if wanted and not known:
        raise ValueError(
            f"`margins` are those of joint problems of m3svm, or of two classes, found {type(inner).__name__}"
        )
    return bool(known and (not inner._native_probabilities if wanted is None else wanted))


def _lead(estimator: Any, rows: Any) -> NDArray[np.float64]:
    """How far the best class is ahead of the next one."""
    scores = np.asarray(estimator.decision_function(rows))
    if scores.ndim == 1:
        return np.asarray(np.abs(scores))
    best = np.partition(scores, -2, axis=1)
    return np.asarray(best[:, -1] - best[:, -2])


def _steps(column: NDArray[np.float64], eps: float, number: int) -> NDArray[np.float64]:
    low, high = column.min(), column.max()
    beyond = eps * (high - low) if high > low else 1.0
    return np.linspace(low - beyond, high + beyond, number)
