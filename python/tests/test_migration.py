"""The conversions that docs/python/migration.md promises, where test_results.py does not have them already."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from m3svm import ISM3Classifier, M3SVMClassifier, OneVsOneSVMClassifier, OneVsRestSVMClassifier

C = 0.7


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("classes", [3, 2])
def test_softmax_with_pairs_is_logistic_regression(flowers, classes):
    X, y = flowers
    X, y = X[y < classes], y[y < classes]
    theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cg").fit(X, y)
    lam = 1 / (2 * C * classes) if classes > 2 else 1 / (2 * C)
    ours = ISM3Classifier(p=2, lam=lam, epsilon=1e-9, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_one_against_the_rest_is_linear_svc_without_intercept(flowers):
    X, y = flowers
    theirs = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-10, max_iter=10**7).fit(X, y)
    ours = OneVsRestSVMClassifier(lam=1 / (2 * C), fit_intercept=False, epsilon=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_pairs_are_those_of_svc(flowers):
    X, y = flowers
    theirs = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    ours = OneVsOneSVMClassifier(lam=1 / (2 * C), epsilon=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_pairs_with_a_kernel_are_those_of_svc(flowers):
    X, y = flowers
    settings = {"kernel": "rbf", "gamma": 0.5}
    theirs = SVC(C=C, tol=1e-10, decision_function_shape="ovo", break_ties=False, **settings).fit(X, y)
    ours = OneVsOneSVMClassifier(lam=1 / (2 * C), epsilon=1e-10, **settings).fit(X, y)
    np.testing.assert_allclose(ours._model.raw_scores(X), theirs.decision_function(X), atol=1e-4)


def test_ties_between_pairs_are_broken_as_svc_does_on_demand():
    # Classes that overlap, so that circles of votes are common.
    random = np.random.RandomState(0)
    X, y = random.randn(60, 2), np.arange(60) % 5
    new = random.randn(5000, 2)
    ours = OneVsOneSVMClassifier(lam=1 / (2 * C), epsilon=1e-10, tol=1e-10).fit(X, y).predict(new)
    theirs = {
        ties: SVC(kernel="linear", C=C, tol=1e-10, break_ties=ties).fit(X, y).predict(new) for ties in (True, False)
    }
    assert (ours != theirs[True]).mean() < 0.002
    assert (ours != theirs[False]).mean() > 0.01


def test_two_classes_with_p_2_are_one_support_vector_machine(flowers):
    X, y = flowers
    X, y = X[y > 0], y[y > 0]
    theirs = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    ours = M3SVMClassifier(p=2, lam=1 / (2 * C), delta=0, epsilon=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_one_against_the_rest_is_what_stochastic_descent_comes_close_to(flowers):
    X, y = flowers
    alpha = 0.01
    lam = len(y) * alpha / 2
    ours = OneVsRestSVMClassifier(lam=lam, fit_intercept=False, epsilon=1e-12).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = {"max_iter": 2000, "tol": None, "average": True, "random_state": 0}
        theirs = SGDClassifier(loss="hinge", alpha=alpha, fit_intercept=False, **steps).fit(X, y)

    def objective(coef):
        signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
        return np.maximum(0, 1 - signs * (X @ coef.T)).sum() + lam * (coef**2).sum()

    assert objective(ours.coef_) == pytest.approx(ours.objective_, rel=1e-6)
    assert 1 - 1e-9 <= objective(theirs.coef_) / objective(ours.coef_) < 1.001


def test_gensvm_with_a_sharp_hinge_is_ours_with_p_2(flowers):
    X, y = flowers
    (n, d), c = X.shape, 3
    strength, kappa = 1e-3, -0.999
    # Corners of a simplex around the origin, with edges of length 1.
    corners = np.linalg.svd(np.eye(c) - 1 / c)[0][:, : c - 1] / np.sqrt(2)
    steps = corners[y][:, None, :] - corners[None, :, :]
    wrong = np.arange(c) != y[:, None]

    def published(theta):
        b, V = theta[: c - 1], theta[c - 1 :].reshape(d, c - 1)
        q = np.einsum("ij,ikj->ik", X @ V + b, steps)
        width = kappa + 1
        loss = np.where(q <= -kappa, 1 - q - width / 2, np.where(q <= 1, (1 - q) ** 2 / (2 * width), 0))
        slope = np.where(q <= -kappa, -1.0, np.where(q <= 1, -(1 - q) / width, 0))
        pull = np.einsum("ik,ikj->ij", slope * wrong, steps) / n
        gradient = np.concatenate([pull.sum(axis=0), (X.T @ pull + 2 * strength * V).ravel()])
        return (loss * wrong).sum() / n + strength * (V**2).sum(), gradient

    ours = M3SVMClassifier(p=2, lam=2 * n * strength / c, delta=0, epsilon=1e-10).fit(X, y)
    # From zero and from our optimum: neither may be much below what we have proven to be optimal for the exact hinge.
    centred = ours.coef_ - ours.coef_.mean(axis=0)
    free = ours.intercept_ - ours.intercept_.mean()
    as_theta = np.concatenate([2 * free @ corners, (2 * centred.T @ corners).ravel()])
    found = minimize(published, as_theta, jac=True, method="L-BFGS-B", options={"maxiter": 10_000, "ftol": 1e-14})
    assert n * published(as_theta)[0] == pytest.approx(ours.objective_, rel=0.01)
    assert n * found.fun == pytest.approx(ours.objective_, rel=0.01)
    weights = corners @ found.x[c - 1 :].reshape(d, c - 1).T
    np.testing.assert_allclose(weights, centred, atol=0.02)
