"""The examples run: on what comes with scikit-learn and, where it is given, on the data that they are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
# Examples, and the pictures that they draw.
DRAWN = {
    "choose_lambda_and_p": {"path.png", "path_table.png", "margins.png"},
    "calibration_and_regions": {"regions_pca.png", "regions_lda.png"},
    "text": set(),
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} - {"datasets"} == set(DRAWN)


@pytest.mark.parametrize("name", DRAWN)
def test_examples_run_without_data_and_say_so(name, tmp_path):
    arguments = [str(tmp_path)] if DRAWN[name] else []
    environment = {key: value for key, value in os.environ.items() if key != "M3SVM_DATA"}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "comes with scikit-learn" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == DRAWN[name]
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["choose_lambda_and_p", "calibration_and_regions"])
def test_examples_run_on_real_data(name):
    if not os.environ.get("M3SVM_DATA"):
        pytest.skip("M3SVM_DATA names no folder with data sets")
    done = subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py")], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "comes with scikit-learn" not in done.stdout
