"""What an import brings along: `import m3svm` is quick because it imports next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import m3svm


def modules_after(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_package_alone_imports_neither_scikit_learn_nor_scipy_nor_pandas():
    found = modules_after("import m3svm; m3svm.__version__; dir(m3svm)")
    assert not found & {"sklearn", "scipy", "pandas", "polars", "matplotlib", "onnx", "torch", "joblib"}


def test_estimators_and_displays_do_without_matplotlib():
    found = modules_after("from m3svm import *; from m3svm.plots import *")
    assert "sklearn" in found
    assert not found & {"matplotlib", "onnx", "torch"}


def test_every_public_name_can_be_had():
    for name in m3svm.__all__:
        assert getattr(m3svm, name) is not None
    assert set(m3svm.__all__) == set(dir(m3svm))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = m3svm.Nothing
