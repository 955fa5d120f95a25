"""What all displays share: matplotlib when it is needed, axes to draw into, colours that everybody can tell apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# Okabe and Ito's palette, without black and yellow: told apart by people with any kind of colour vision, and on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
# Petroff's ten, found so that all pairs are as far apart as ten can be for any kind of colour vision.
TEN_COLOURS = (
    *("#3F90DA", "#FFA90E", "#BD1F01", "#94A4A2", "#832DB6"),
    *("#A96B59", "#E76300", "#B9AC70", "#717581", "#92DADD"),
)
MARKERS = "osD^vP*X<>"
# From dark to light for everybody, also when printed in grey.
COLOUR_MAP = "cividis"
# More cells than this in a row, and numbers would not fit into them.
MOST_NUMBERS = 12
# Points that a row of letters takes in a table, and the fewest that can be read; the usual size of labels.
_LINE, _LEAST_LINE, _LETTERS = 12.0, 7.0, 10.0
# The width of a letter, as a share of its size, with some room.
_LETTER = 0.7
# Inches of a figure: those that a row of a table wants, those beside the table, and the most in all.
_ROW, _BESIDE, _MOST = 0.13, 1.8, 12.0


def pyplot() -> Any:
    """matplotlib's pyplot, or an error that says how to get it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as problem:
        raise ImportError('plots need matplotlib, which `pip install "m3svm[plots]"` installs') from problem
    return plt


def axes_to_draw_into(ax: Axes | None, *, rows: int = 0, columns: int = 0) -> Axes:
    """The axes that were given, or those of a new figure, which is larger for a large table."""
    plt = pyplot()
    if ax is None:
        usual = plt.rcParams["figure.figsize"]
        size = [max(least, min(_MOST, _BESIDE + _ROW * n)) for least, n in zip(usual, (columns, rows), strict=True)]
        _, ax = plt.subplots(layout="constrained", figsize=size)
        assert ax is not None
    return ax


def class_colours(number: int) -> list[Any]:
    """One colour per class."""
    for colours in (COLOURS, TEN_COLOURS):
        if number <= len(colours):
            return list(colours[:number])
    # More than there are colours that anybody can tell apart: from dark to light, and markers and names do the rest.
    return [pyplot().get_cmap("viridis")(position) for position in np.linspace(0.0, 1.0, number)]


def class_markers(number: int) -> list[str]:
    """One marker per class; they start again after some."""
    return [MARKERS[k % len(MARKERS)] for k in range(number)]


def table(
    ax: Axes,
    values: NDArray[np.float64],
    rows: list[str],
    columns: list[str],
    *,
    what: str,
    number: str,
    cmap: str,
    shown: bool,
) -> AxesImage:
    """A heat map with named rows and columns, a colour bar, and numbers in cells that have one."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    colours = pyplot().get_cmap(cmap).with_extremes(bad="0.93")
    image = ax.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=low, vmax=high, aspect="auto")
    figure = ax.figure
    assert figure is not None
    # In dots, of which there are `dpi` per inch and so many per point.
    box, dots = ax.get_window_extent(), figure.get_dpi() / 72
    _name_columns(ax, columns, box.width / dots / len(columns))
    every, size = _readable(box.height / dots / len(rows))
    ax.set_yticks(range(0, len(rows), every), rows[::every], fontsize=size)
    if shown:
        longest = max([len(format(value, number)) for value in values.ravel() if np.isfinite(value)], default=1)
        letters = min(_LETTERS, box.width / dots / len(columns) / (_LETTER * longest))
        for (row, column), value in np.ndenumerate(values):
            if np.isnan(value):
                continue
            text = format(value, number) if np.isfinite(value) else "∞"
            # The map is light at its upper end.
            dark = not np.isfinite(value) or value > low + 0.55 * (high - low)
            colour = "black" if dark else "white"
            ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=letters)
    figure.colorbar(image, ax=ax, label=what)
    return image


def _name_columns(ax: Axes, names: list[str], points: float) -> None:
    """Names below columns that are so many points wide: level where they fit, else at an angle, else upright."""
    longest = max(map(len, names))
    if longest * _LETTERS * _LETTER <= points:
        ax.set_xticks(range(len(names)), names)
        return
    every, size = _readable(points)
    angle = 45 if points >= 2 * _LINE else 90
    ax.set_xticks(range(0, len(names), every), names[::every], rotation=angle, rotation_mode="anchor", fontsize=size)
    for label in ax.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_verticalalignment("center" if angle == 90 else "top")


def _readable(points: float) -> tuple[int, float]:
    """Of how many names one is shown, and how large, where each has so many points."""
    every = max(1, math.ceil(_LEAST_LINE / points))
    return every, min(_LETTERS, _LETTERS * every * points / _LINE)


def outline(ax: Axes, row: int, column: int, colour: str = "#D55E00") -> None:
    """A frame around a cell of a table."""
    pyplot()
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=colour, linewidth=2.5))
