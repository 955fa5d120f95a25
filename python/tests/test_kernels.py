"""Estimators with kernels: what they share with scikit-learn's, and what they say of themselves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import cosine_similarity, laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

import m3svm
from m3svm import (
    CrammerSingerClassifier,
    M3SVMClassifier,
    MultinomialLogisticRegression,
    OneVsOneSVMClassifier,
    OneVsRestSVMClassifier,
    SparseMultinomialLogisticRegression,
    WestonWatkinsClassifier,
)
from m3svm._model_file import ESTIMATORS

X, y = load_iris(return_X_y=True)
WITH_KERNELS = [e for e in ESTIMATORS if e is not SparseMultinomialLogisticRegression]


@pytest.mark.parametrize("estimator", WITH_KERNELS, ids=lambda e: e.__name__)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine"])
def test_every_method_proves_its_optimum(estimator, kernel):
    model = estimator(kernel=kernel).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    # Directions alone say less of flowers.
    assert model.score(X, y) > (0.6 if kernel == "cosine" else 0.9)
    assert not hasattr(model, "coef_")
    assert model.n_support_.sum() == len(model.support_) == len(model.support_vectors_)
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_]))
    np.testing.assert_allclose(model.support_vectors_, X[model.support_], rtol=1e-12)
    assert model.dual_coef_.shape[1] == len(model.support_)


def test_one_vs_one_of_two_classes_is_svc():
    inside = y < 2
    X2, y2 = X[inside][:, :2], y[inside]
    for kernel, settings in [
        ("rbf", {"gamma": 0.5}),
        ("rbf", {"gamma": "scale"}),
        ("rbf", {"gamma": "auto"}),
        ("poly", {"degree": 2, "coef0": 1.0, "gamma": "scale"}),
    ]:
        C = 3.0
        theirs = SVC(kernel=kernel, C=C, tol=1e-9, **settings).fit(X2, y2)
        ours = OneVsOneSVMClassifier(kernel=kernel, lam=1 / (2 * C), epsilon=1e-10, **settings).fit(X2, y2)
        np.testing.assert_allclose(ours.decision_function(X2), theirs.decision_function(X2), atol=2e-4)
        assert set(ours.support_) >= set(theirs.support_[np.abs(theirs.dual_coef_[0]) > 1e-3 * C])


KERNELS = {
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.3),
    "laplacian": lambda A, B: laplacian_kernel(A, B, gamma=0.3),
    "polynomial": lambda A, B: polynomial_kernel(A, B, gamma=0.3, degree=3, coef0=1.0),
    "cosine": cosine_similarity,
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", [WestonWatkinsClassifier, OneVsRestSVMClassifier, OneVsOneSVMClassifier])
def test_scores_are_sums_over_support_vectors(estimator, kernel):
    model = estimator(kernel=kernel, gamma=0.3, coef0=1.0).fit(X, y)
    values = KERNELS[kernel](X, model.support_vectors_)
    by_hand = values @ model.dual_coef_.T + model.scorer_intercept_
    np.testing.assert_allclose(model._model.raw_scores(X), by_hand, atol=1e-8)
    given = estimator(kernel="precomputed").fit(KERNELS[kernel](X, X), y)
    assert given.objective_ == pytest.approx(model.objective_, rel=1e-6)
    assert given.support_vectors_.shape == (0, 0)
    assert np.mean(given.predict(KERNELS[kernel](X, X)) == model.predict(X)) > 0.99


def test_precomputed_kernels_are_cut_for_folds_on_both_sides():
    K = rbf_kernel(X, gamma=0.3)
    scores = cross_val_score(CrammerSingerClassifier(kernel="precomputed"), K, y, cv=5)
    same = cross_val_score(CrammerSingerClassifier(kernel="rbf", gamma=0.3), X, y, cv=5)
    np.testing.assert_allclose(scores, same, atol=0.07)
    chosen = m3svm.CrammerSingerClassifierCV(kernel="precomputed", lams=[0.1, 1.0]).fit(K, y)
    assert chosen.best_score_ > 0.9


def test_sparse_rows_are_the_same_rows():
    dense = M3SVMClassifier(kernel="rbf", gamma=0.3).fit(X, y)
    sparse = M3SVMClassifier(kernel="rbf", gamma=0.3).fit(sp.csr_matrix(X), y)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-3)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-7)


def test_low_rank_says_what_it_leaves_out():
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = M3SVMClassifier(kernel="rbf", gamma=2.0, rank=20).fit(X, y)
    assert len(model.support_) <= 20
    assert 0 < model.trace_left_ < 0.5
    assert model.dual_gap_ <= 1e-8
    assert model.score(X, y) > 0.93
    assert M3SVMClassifier(kernel="rbf", gamma=2.0).fit(X, y).trace_left_ < 1e-10


def test_kernels_survive_files_pickles_and_clones(tmp_path):
    model = OneVsOneSVMClassifier(kernel="laplacian", gamma=0.2, scale="standard").fit(X, y)
    model.save(tmp_path / "model.m3svm")
    read = m3svm.load(tmp_path / "model.m3svm")
    again = pickle.loads(pickle.dumps(model))
    for other in (read, again):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
        np.testing.assert_array_equal(other.support_, model.support_)
        assert (other.kernel, other.gamma, other.rank) == ("laplacian", 0.2, None)
        with pytest.raises(AttributeError):
            other.dual_coef_ = model.dual_coef_
    assert clone(model).get_params()["kernel"] == "laplacian"
    # Back to linear scores: nothing of the kernel stays.
    linear = model.set_params(kernel="linear").fit(X, y)
    assert hasattr(linear, "coef_") and not hasattr(linear, "dual_coef_") and not hasattr(linear, "n_support_")


def test_probabilities_and_searches_take_kernels():
    model = MultinomialLogisticRegression(kernel="rbf").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    estimated = CrammerSingerClassifier(kernel="rbf", probability=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(estimated.predict_proba(X).sum(axis=1), 1.0)
    found = GridSearchCV(M3SVMClassifier(kernel="rbf", tol=1e-4), {"gamma": ["scale", 0.1, 1.0]}, cv=3).fit(X, y)
    assert found.best_score_ > 0.9


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_largest_distance_alone_is_a_penalty(kernel):
    model = M3SVMClassifier(p=np.inf, lam=0.1, kernel=kernel).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert model.score(X, y) > 0.9
    assert pickle.loads(pickle.dumps(model))._model.settings["p"] == np.inf


def test_what_is_wrong_is_named():
    def refused(message, estimator=M3SVMClassifier, X=X, **settings):
        with pytest.raises(ValueError, match=message):
            estimator(**settings).fit(X, y)

    refused("`gamma` must be", kernel="rbf", gamma=0.0)
    refused("`gamma` must be", kernel="rbf", gamma="sclae")
    refused("`kernel` must be one of", kernel="sigmoid")
    refused("`rank` must be at least 1", kernel="rbf", rank=0)
    refused("`rank` must be at most the number of training rows", kernel="rbf", rank=151)
    refused("`degree` must be", kernel="poly", degree=0)
    refused("`coef0` must be", kernel="poly", coef0=-1.0)
    refused("precomputed", kernel="precomputed")
    refused("smallest eigenvalue", kernel="precomputed", X=-rbf_kernel(X))
    refused("tells rows apart", kernel="precomputed", X=np.ones((150, 150)))
    refused("absolute values", kernel="rbf", norm="l1")
    with pytest.raises(TypeError):
        SparseMultinomialLogisticRegression(kernel="rbf")
    with pytest.raises(AttributeError, match="partial_fit"):
        M3SVMClassifier(kernel="rbf").partial_fit(X, y, classes=[0, 1, 2])
