"""Figures of fitted estimators, in the manner of scikit-learn's displays.

Every display has a class method ``from_estimator`` that collects what is to be shown and draws it, and a method ``plot``
that draws it again, for example into other axes. What was drawn is in ``figure_`` and ``ax_``. Displays need matplotlib
(``pip install "m3svm[plots]"``), which is only imported when something is drawn.

>>> from sklearn.datasets import load_iris
>>> from m3svm import M3SVMClassifier
>>> from m3svm.plots import MarginMatrixDisplay
>>> model = M3SVMClassifier(scale="standard").fit(*load_iris(return_X_y=True))
>>> display = MarginMatrixDisplay.from_estimator(model)
>>> display.ax_.get_title()
'Margins between classes'
"""

from ._convergence import ConvergenceDisplay
from ._margins import MarginMatrixDisplay
from ._path import PathDisplay
from ._regions import DecisionRegionDisplay

__all__ = ["ConvergenceDisplay", "DecisionRegionDisplay", "MarginMatrixDisplay", "PathDisplay"]
