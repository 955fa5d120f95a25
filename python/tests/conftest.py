"""What all tests use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from m3svm._model_file import ESTIMATORS


@pytest.fixture(scope="session")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    X.setflags(write=False)
    return X, y


@pytest.fixture(params=ESTIMATORS, ids=lambda e: e.__name__)
def any_estimator(request):
    """Every estimator class in turn."""
    return request.param
