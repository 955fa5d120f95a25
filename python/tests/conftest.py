"""What all tests use."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from m3svm._model_file import ESTIMATORS
from m3svm._searches import SEARCHES


@pytest.fixture(scope="session")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    X.setflags(write=False)
    return X, y


@pytest.fixture(scope="session")
def program():
    """The command line, if it has been built: $M3SVM_CLI, or in the usual folder, or on the path."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    for place in (os.environ.get("M3SVM_CLI"), folder / "debug" / "m3svm", shutil.which("m3svm")):
        if place and Path(place).is_file():
            return lambda *args: subprocess.run([place, *map(str, args)], capture_output=True, text=True, check=True)
    pytest.skip("the program m3svm has not been built")


@pytest.fixture(params=ESTIMATORS, ids=lambda e: e.__name__)
def any_estimator(request):
    """Every estimator class in turn."""
    return request.param


@pytest.fixture(params=SEARCHES, ids=lambda e: e.__name__)
def any_search(request):
    """Every estimator class that chooses by cross-validation in turn."""
    return request.param
