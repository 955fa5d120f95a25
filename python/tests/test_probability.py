"""Probabilities: from the loss, or estimated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
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
    targets = (1 + 150 * np.eye(3)[y]) / 153
    best = minimize_scalar(
        lambda log_t: -(targets * log_softmax(scores / np.exp(log_t), axis=1)).sum(),
        bounds=(-5, 5),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert model.temperature_ == pytest.approx(np.exp(best.x), rel=1e-5)


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
