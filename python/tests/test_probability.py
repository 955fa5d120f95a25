"""Probabilities: from the loss, or estimated."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import m3svm
from m3svm._columns import columns_of
from m3svm._core import fit_temperature
from m3svm._data import TrainingData
from m3svm._folds import folds_of_rows


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
    folds = folds_of_rows(TrainingData(X, y, np.arange(3), None), 5, 3)
    assert sorted(np.unique(folds)) == [0, 1, 2, 3, 4]
    for fold in range(5):
        inside, outside = folds != fold, folds == fold
        assert (np.bincount(y[outside]) >= 9).all()
        scores[outside] = m3svm.M3SVMClassifier().fit(X[inside], y[inside]).decision_function(X[outside])
    targets = (0.1 + 150 * np.eye(3)[y]) / 150.3
    best = minimize_scalar(
        lambda log_t: -(targets * log_softmax(scores / np.exp(log_t), axis=1)).sum(),
        bounds=(-5, 5),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert model.temperature_ == pytest.approx(np.exp(best.x), rel=1e-5)


def test_folds_depend_on_the_rows_and_on_nothing_else():
    random = np.random.RandomState(0)
    X, y = random.randint(0, 3, (5000, 4)).astype(float), random.randint(0, 3, 5000)
    classes = np.arange(3)
    folds = folds_of_rows(TrainingData(X, y, classes, None), 5, 7)
    # Equal rows of a class share a fold, and so they do wherever they lie.
    _, same = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    assert len(set(zip(same, folds, strict=True))) == len(set(same))
    order = random.permutation(5000)
    np.testing.assert_array_equal(folds_of_rows(TrainingData(X[order], y[order], classes, None), 5, 7), folds[order])
    weight = random.randint(0, 2, 5000).astype(float)
    weighted = folds_of_rows(TrainingData(X, y, classes, weight), 5, 7)
    np.testing.assert_array_equal(weighted == -1, weight == 0)
    kept = weight > 0
    np.testing.assert_array_equal(folds_of_rows(TrainingData(X[kept], y[kept], classes, None), 5, 7), weighted[kept])
    # The storage does not matter, nor does the sign of zero; the seed does.
    pandas = pytest.importorskip("pandas")
    X[0, X[0] == 0] = -0.0
    for stored in (X.astype(np.float32), np.asfortranarray(X), sparse.csr_array(X), columns_of(pandas.DataFrame(X))):
        np.testing.assert_array_equal(folds_of_rows(TrainingData(stored, y, classes, None), 5, 7), folds)
    assert (folds_of_rows(TrainingData(X, y, classes, None), 5, 8) != folds).mean() > 0.5
    # Stratified, and of one size, as far as whole rows go.
    once = np.unique(np.column_stack([X, y]), axis=0)
    folds = folds_of_rows(TrainingData(once[:, :4], once[:, 4].astype(int), classes, None), 5, 7)
    counts = np.array([np.bincount(folds[once[:, 4] == k], minlength=5) for k in range(3)])
    assert np.ptp(counts, axis=1).max() <= 1 and np.ptp(counts.sum(axis=0)) <= 1


def test_a_weight_is_a_repetition_for_probabilities_too(iris):
    X, y = iris
    weight = np.random.RandomState(0).randint(0, 3, 150)
    order = np.random.RandomState(1).permutation(weight.sum())
    repeated = np.repeat(np.arange(150), weight)[order]
    new = partial(m3svm.M3SVMClassifier, probability=True, random_state=0, tol=1e-10)
    weighted, again = new().fit(X, y, sample_weight=weight), new().fit(X[repeated], y[repeated])
    assert weighted.temperature_ == pytest.approx(again.temperature_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), again.predict_proba(X), atol=1e-6)


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
    with pytest.raises(ValueError, match="two different rows of a class, found one row of each"):
        model.fit(X[[0, 0, 50, 100]], y[[0, 0, 50, 100]])


def test_a_class_of_one_row_is_trained_and_not_tested(iris):
    X, y = iris
    model = m3svm.M3SVMClassifier(probability=True, random_state=0).fit(X[:101], y[:101])
    assert model.predict_proba(X).shape == (150, 3)
    folds = folds_of_rows(TrainingData(X[:101], y[:101], np.arange(3), None), 5, 0)
    assert folds[100] == -1 and (folds[:100] >= 0).all()


def test_a_temperature_needs_scores_of_known_classes():
    with pytest.raises(ValueError, match="not one of the 2 classes"):
        fit_temperature(np.zeros((1, 2)), np.array([2], dtype=np.uint32))
    with pytest.raises(ValueError, match="finite"):
        fit_temperature(np.array([[np.inf, 0.0]]), np.array([0], dtype=np.uint32))
