"""What a new user does first, with the installed package and nothing else; `make test-wheel` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.datasets import load_iris

import m3svm
from m3svm import M3SVMClassifier


def main() -> None:
    """Fits iris, and asks for a plot where matplotlib is missing."""
    home = Path(m3svm.__file__).resolve()
    assert home.is_relative_to(Path(sys.prefix).resolve()), f"{home} is not the installed package"
    assert (home.parent / "py.typed").exists(), "types are missing"

    X, y = load_iris(return_X_y=True)
    model = M3SVMClassifier(scale="standard").fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.dual_gap_ <= 1e-8
    try:
        m3svm.plots.MarginMatrixDisplay.from_estimator(model)
    except ImportError as problem:
        assert "m3svm[plots]" in str(problem), problem
    else:
        raise AssertionError("matplotlib should not be here")
    print(f"m3svm {m3svm.__version__} fits iris: smallest margin {model.min_margin_:.3f}, gap {model.dual_gap_:.0e}")


if __name__ == "__main__":
    main()
