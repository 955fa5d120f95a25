"""Classifies texts by their words: 20 Newsgroups as a sparse matrix, never made dense.

    M3SVM_DATA=folder python examples/python/text.py

Without the data set, pixels of digits take the place of words: most of them are zero as well.
"""

from __future__ import annotations

import time

import numpy as np
from datasets import newsgroups
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import classification_report
from sklearn.pipeline import make_pipeline

from m3svm import ISM3Classifier, M3SVMClassifier, MultinomialLogisticRegression


def main() -> None:
    """No options."""
    found = newsgroups()
    if found is None:
        pixels, y = load_digits(return_X_y=True)
        X, names = csr_matrix(pixels), [f"digit {k}" for k in range(10)]
        words, split = [f"pixel {j // 8},{j % 8}" for j in range(64)], 1200
    else:
        X, y, names, words = found
        split = 11314
    print(f"{X.shape[0]} rows, {X.shape[1]} columns, {X.nnz / np.prod(X.shape):.2%} of them not zero")
    y = np.array(names)[y - y.min()]

    # A gap of 1e-4 is enough to predict.
    classifiers = [
        M3SVMClassifier(p=2, lam=0.02, tol=1e-4),
        ISM3Classifier(p=2, lam=5e-3, tol=1e-4),
        MultinomialLogisticRegression(lam=0.05, tol=1e-4),
    ]
    models = [make_pipeline(TfidfTransformer(sublinear_tf=True), classifier) for classifier in classifiers]
    for model, classifier in zip(models, classifiers, strict=True):
        start = time.perf_counter()
        model.fit(X[:split], y[:split])
        seconds = time.perf_counter() - start
        print(
            f"{type(classifier).__name__}: accuracy {model.score(X[split:], y[split:]):.3f}, "
            f"optimal to within {classifier.dual_gap_:.0e}, fitted in {seconds:.1f} s"
        )

    print("\nThe first of them:")
    first = models[0]
    print(classification_report(y[split:], first.predict(X[split:]), digits=3))
    print("What speaks most for some of the classes:")
    for k in (0, len(names) // 2, len(names) - 1):
        best = np.argsort(-first[-1].coef_[k])[:6]
        print(f"  {first.classes_[k]}: {', '.join(words[j] for j in best)}")


if __name__ == "__main__":
    main()
