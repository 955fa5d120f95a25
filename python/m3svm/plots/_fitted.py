"""Which estimator a display is about."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._base import LinearClassifier


def fitted(estimator: Any, display: type) -> LinearClassifier:
    """The fitted estimator of this package: itself, the last step of a pipeline, or the best one of a search."""
    inner = inside(estimator)
    if not isinstance(inner, LinearClassifier):
        raise TypeError(f"{display.__name__} shows estimators of m3svm, found {type(inner).__name__}")
    check_is_fitted(inner)
    return inner


def inside(estimator: Any) -> Any:
    """What decides in the end, in pipelines and searches."""
    inner = estimator
    while not isinstance(inner, LinearClassifier):
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        else:
            break
    return inner
