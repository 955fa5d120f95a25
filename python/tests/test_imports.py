"""What an import brings along: `import m3svm` is quick because it imports next to nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import m3svm
from m3svm import _core
from m3svm._border import BORDER


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


def test_an_extension_module_of_another_build_is_refused():
    script = """
import sys
from types import ModuleType
other = sys.modules["m3svm._core"] = ModuleType("m3svm._core")
other.__version__ = "0.1.0"
{given}
try:
    import m3svm
except ImportError as problem:
    print(problem)
from m3svm._hinge import M3SVMClassifier
"""
    # The first built modules did not say.
    for given, said in (("", "border unknown"), ("other.BORDER = -1", "border -1")):
        done = subprocess.run(
            [sys.executable, "-c", script.format(given=given)], check=False, capture_output=True, text=True
        )
        assert f"another build than the Python files of m3svm ({said}, expected {BORDER})" in done.stdout, done.stderr
        assert "build it again" in done.stdout
        # There is no way around it: parts of the package do not come without the whole.
        assert done.stderr.splitlines()[-1].startswith(
            "ImportError: the extension module m3svm._core is of another build"
        )


def test_both_sides_of_the_border_say_the_same_in_their_sources():
    source = Path(__file__).parents[2] / "crates" / "m3svm-python" / "src" / "lib.rs"
    assert f"const BORDER: u32 = {BORDER};" in source.read_text(encoding="utf-8")
    assert _core.BORDER == BORDER
