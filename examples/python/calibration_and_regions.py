"""Are estimated probabilities true? And where does which class begin?

    M3SVM_DATA=folder python examples/python/calibration_and_regions.py pictures

Compares the probabilities that a hinge classifier estimates by itself with those of scikit-learn's calibration, by log-loss and by
expected calibration error on unseen rows, and draws decision regions. Without the satellite pictures of "satimage" it
takes scikit-learn's digits. Pictures are only drawn if a folder for them is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from datasets import table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from m3svm import ISM3Classifier, M3SVMClassifier


def calibration_error(y: np.ndarray, classes: np.ndarray, probabilities: np.ndarray, bins: int = 15) -> float:
    """The mean distance between how sure predictions are and how often they are right, in bins of equal width."""
    sure = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == y
    place = np.minimum((sure * bins).astype(int), bins - 1)
    total = sum(abs((right[place == b] - sure[place == b]).sum()) for b in range(bins))
    return float(total / len(y))


def main() -> None:
    """Command line: a folder for pictures, or nothing."""
    X, y = table("satimage") or load_digits(return_X_y=True)
    # As texts: scikit-learn 1.9 takes whole numbers for positions when it fits a temperature, and these are not 0, 1, 2...
    y = y.astype(str)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    hinge = {"lam": 0.1, "scale": "standard"}
    models = {
        "M3SVM, probability=True": M3SVMClassifier(probability=True, random_state=0, **hinge),
        "M3SVM, temperature of scikit-learn": CalibratedClassifierCV(
            M3SVMClassifier(**hinge), method="temperature", ensemble=False
        ),
        "M3SVM, isotonic of scikit-learn": CalibratedClassifierCV(M3SVMClassifier(**hinge), method="isotonic"),
        "ISM3, whose loss defines them": ISM3Classifier(**hinge),
    }
    print(f"{'':<36} accuracy  log-loss  calibration error")
    for name, model in models.items():
        probabilities = model.fit(X_train, y_train).predict_proba(X_test)
        accuracy = accuracy_score(y_test, model.predict(X_test))
        error = calibration_error(y_test, model.classes_, probabilities)
        loss = log_loss(y_test, probabilities, labels=model.classes_)
        print(f"{name:<36} {accuracy:8.3f}  {loss:8.3f}  {error:17.3f}")

    if len(sys.argv) > 1:
        from m3svm.plots import DecisionRegionDisplay

        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        model = models["M3SVM, probability=True"]
        for projection in ("pca", "lda"):
            display = DecisionRegionDisplay.from_estimator(model, X_test, y_test, projection=projection)
            display.figure_.savefig(folder / f"regions_{projection}.png")


if __name__ == "__main__":
    main()
