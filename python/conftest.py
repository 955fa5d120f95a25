"""What pytest looks at; figures are drawn into memory, and closed after every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# The losses for PyTorch cannot be imported without it; their tests say that they were left out.
collect_ignore_glob = [] if find_spec("torch") else ["m3svm/torch/*"]
# Nor can what needs Spark.
collect_ignore_glob += [] if find_spec("pyspark") else ["m3svm/spark/*"]
# Nor can the kernel without Triton.
collect_ignore_glob += [] if find_spec("triton") else ["m3svm/torch/_kernel.py"]
# Before anything imports matplotlib.
os.environ["MPLBACKEND"] = "Agg"
# Before anything imports SciPy: without it scikit-learn leaves out its check of arrays from other libraries.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture(autouse=True)
def _figures_are_drawn_and_closed() -> Iterator[None]:
    yield
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return
    for number in plt.get_fignums():
        # Some mistakes only show when a figure is drawn.
        plt.figure(number).canvas.draw()
    plt.close("all")
