"""Where a classifier decides for which class: in the plane of two features, or in a plane that is laid through the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ._drawing import COLOURS, axes_to_draw_into, class_colours, class_markers
from ._plane import Plane, plane_through

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


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

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    surface_ : matplotlib QuadMesh
        The coloured regions.

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
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.region = region
        self.classes = np.asarray(classes)
        self.xlabel = xlabel
        self.ylabel = ylabel

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
        labels = np.asarray(estimator.predict(plane.features(grid)))
        classes = np.asarray(estimator.classes_)
        region = np.searchsorted(classes, labels).reshape(xx0.shape)
        names = classes if display_labels is None else np.asarray(display_labels)
        if names.shape != classes.shape:
            raise ValueError(f"`display_labels` must name {len(classes)} classes, found {names.size} names")
        display = cls(xx0=xx0, xx1=xx1, region=region, classes=names, xlabel=plane.names[0], ylabel=plane.names[1])
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
        # Beside the picture: inside, there may be no place without points.
        self.ax_.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + number // 20)


def _steps(column: NDArray[np.float64], eps: float, number: int) -> NDArray[np.float64]:
    low, high = column.min(), column.max()
    beyond = eps * (high - low) if high > low else 1.0
    return np.linspace(low - beyond, high + beyond, number)
