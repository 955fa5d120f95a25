"""Chooses λ and p for vehicle silhouettes, judges the choice on rows that it has not seen, and looks at the margins.

    M3SVM_DATA=folder python examples/python/choose_lambda_and_p.py pictures

Without the data set, it takes scikit-learn's wines. Pictures are only drawn if a folder for them is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from datasets import table
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from m3svm import M3SVMClassifier, M3SVMClassifierCV


def main() -> None:
    """Command line: a folder for pictures, or nothing."""
    found = table("vehicle")
    if found is None:
        X, y = load_wine(return_X_y=True)
        names = np.array(["cultivar 0", "cultivar 1", "cultivar 2"])
        y = names[y]
    else:
        X, y = found
        y = np.array(["", "opel", "saab", "bus", "van"])[y]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

    search = M3SVMClassifierCV(scale="standard").fit(X_train, y_train)
    print(f"{len(search.cv_results_['param_p'])} settings tried; chosen: lambda {search.lam_:.3g}, p {search.p_:g}")
    print(f"accuracy in cross-validation {search.best_score_:.3f}, on unseen rows {search.score(X_test, y_test):.3f}")
    print(f"optimal to within {search.dual_gap_:.0e}")

    print("smallest margin with the same lambda:")
    for p in (1, 2, 4, 8):
        model = M3SVMClassifier(lam=search.lam_, p=p, scale="standard").fit(X_train, y_train)
        k, l = np.unravel_index(model.margins_.argmin(), model.margins_.shape)
        pair = f"{model.classes_[k]} and {model.classes_[l]}"
        print(f"  p {p}: {model.min_margin_:.3f} ({pair}), accuracy on unseen rows {model.score(X_test, y_test):.3f}")

    if len(sys.argv) > 1:
        from m3svm.plots import MarginMatrixDisplay, PathDisplay

        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        PathDisplay.from_estimator(search, kind="lines").figure_.savefig(folder / "path.png")
        PathDisplay.from_estimator(search, kind="heatmap").figure_.savefig(folder / "path_table.png")
        MarginMatrixDisplay.from_estimator(search).figure_.savefig(folder / "margins.png")


if __name__ == "__main__":
    main()
