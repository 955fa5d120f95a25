"""What all displays share: matplotlib when it is needed, axes to draw into, colours that everybody can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# Okabe and Ito's palette, without black and yellow: told apart by people with any kind of colour vision, and on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
MARKERS = "osD^vP*X<>"
# From dark to light for everybody, also when printed in grey.
COLOUR_MAP = "cividis"
# More cells than this in a row, and numbers would not fit into them.
MOST_NUMBERS = 12


def pyplot() -> Any:
    """matplotlib's pyplot, or an error that says how to get it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as problem:
        raise ImportError('plots need matplotlib, which `pip install "m3svm[plots]"` installs') from problem
    return plt


def axes_to_draw_into(ax: Axes | None) -> Axes:
    """The axes that were given, or those of a new figure."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
        assert ax is not None
    return ax


def class_colours(number: int) -> list[Any]:
    """One colour per class."""
    if number <= len(COLOURS):
        return list(COLOURS[:number])
    # More than there are colours that everybody can tell apart: from dark to light, and markers and names do the rest.
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
    ax.set_xticks(
        range(len(columns)), columns, rotation=45 if max(map(len, columns)) > 4 else 0, rotation_mode="anchor"
    )
    if max(map(len, columns)) > 4:
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
    ax.set_yticks(range(len(rows)), rows)
    if shown:
        for (row, column), value in np.ndenumerate(values):
            if np.isnan(value):
                continue
            text = format(value, number) if np.isfinite(value) else "∞"
            # The map is light at its upper end.
            dark = not np.isfinite(value) or value > low + 0.55 * (high - low)
            ax.text(column, row, text, ha="center", va="center", color="black" if dark else "white")
    figure = ax.figure
    assert figure is not None
    figure.colorbar(image, ax=ax, label=what)
    return image


def outline(ax: Axes, row: int, column: int, colour: str = "#D55E00") -> None:
    """A frame around a cell of a table."""
    pyplot()
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=colour, linewidth=2.5))
