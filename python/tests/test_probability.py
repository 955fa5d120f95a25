"""Probabilities: from the loss, or estimated."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

import m3svm
from m3svm._core import fit_temperature


@pytest.mark.parametrize(
    "estimator", [m3svm.M3SVMClassifier, m3svm.OneVsRestSVMClassifier, m3svm.OneVsOneSVMClassifier]
)
def test_estimated_probabilities_rank_like_scores_and_inform(iris, estimator):
    X, y = iris
    train, test, train_y, test_y = train_test_split(X, y, random_state=0, stratify=y)
    model = estimator(probability=True, random_state=0).fit(train, train_y)
    probabilities = model.predict_proba(test)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(test))
    assert log_loss(test_y, probabilities) < 0.5 * np.log(3)
    np.testing.assert_allclose(model.predict_log_proba(test), np.log(probabilities))


def test_the_temperature_is_that_of_scores_out_of_fold(iris):
    X, y = iris
    model = m3svm.M3SVMClassifier(probability=True, random_state=3).fit(X, y)
    scores = np.empty((150, 3))
    for inside, outside in StratifiedKFold(5, shuffle=True, random_state=3).split(X, y):
        scores[outside] = m3svm.M3SVMClassifier().fit(X[inside], y[inside]).decision_function(X[outside])
    targets = (0.1 + 150 * np.eye(3)[y]) / 150.3
    best = minimize_scalar(
        lambda log_t: -(targets * log_softmax(scores / np.exp(log_t), axis=1)).sum(),
        bounds=(-5, 5),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert model.temperature_ == pytest.approx(np.exp(best.x), rel=1e-5)


def _calibration_error(y, probabilities, bins=15):
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    place = np.minimum((sure * bins).astype(int), bins - 1)
    return sum(abs((right[place == b] - sure[place == b]).sum()) for b in range(bins)) / len(y)


# The smaller a set, the more splits it takes to see a difference.
@pytest.mark.parametrize(
    ("load", "splits"), [(load_iris, 20), (load_wine, 20), (load_digits, 2)], ids=["iris", "wine", "digits"]
)
def test_probabilities_are_as_good_as_those_of_scikit_learn(load, splits):
    X, y = load(return_X_y=True)
    X, y = X[:600], y[:600]
    X = X / X.max(axis=0).clip(1)
    new = partial(m3svm.M3SVMClassifier, lam=0.1, tol=1e-4)
    losses, errors = [], []
    for seed in range(splits):
        train, test, train_y, test_y = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        for model in (
            new(probability=True, random_state=seed),
            CalibratedClassifierCV(new(), method="temperature", ensemble=False),
        ):
            probabilities = model.fit(train, train_y).predict_proba(test)
            losses.append(log_loss(test_y, probabilities))
            errors.append(_calibration_error(test_y, probabilities))
    (ours, theirs), (our_error, their_error) = (
        np.reshape(found, (splits, 2)).mean(axis=0) for found in (losses, errors)
    )
    assert ours < 1.03 * theirs, (ours, theirs)
    assert our_error < their_error + 0.01, (our_error, their_error)


def test_two_classes_have_two_columns(iris):
    X, y = iris
    X, y = X[50:], y[50:]
    for estimator in (m3svm.M3SVMClassifier(probability=True, random_state=0), m3svm.ISM3Classifier()):
        model = estimator.fit(X, y)
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (100, 2)
        np.testing.assert_array_equal(probabilities[:, 1] > 0.5, model.decision_function(X) > 0)


def test_probabilities_are_offered_only_where_there_are_any(iris):
    X, y = iris
    model = m3svm.M3SVMClassifier().fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    model.set_params(probability=True)
    with pytest.raises(AttributeError, match="fit again"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="at least two rows of every class, class 2 has one"):
        model.fit(X[:101], y[:101])


def test_a_temperature_needs_scores_of_known_classes():
    with pytest.raises(ValueError, match="not one of the 2 classes"):
        fit_temperature(np.zeros((1, 2)), np.array([2], dtype=np.uint32))
    with pytest.raises(ValueError, match="finite"):
        fit_temperature(np.array([[np.inf, 0.0]]), np.array([0], dtype=np.uint32))
