"""Names that annotations need while the program runs: tools such as ``typing.get_type_hints`` look them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self
else:
    try:
        from typing import Self
    except ImportError:  # Python 3.10
        Self = Any
    # Nothing imports matplotlib before something is drawn.
    Axes = Any

__all__ = ["Axes", "Self"]
