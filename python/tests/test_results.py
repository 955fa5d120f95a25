"""Numbers against other programs, and what a fitted estimator knows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import m3svm


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_multinomial_regression_is_that_of_scikit_learn(wine, strength):
    X, y = wine
    theirs = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(X, y)
    ours = m3svm.MultinomialLogisticRegression(lam=0.5 / strength, epsilon=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    squared = m3svm.ISM3Classifier(p=2.0, lam=0.5 / strength / 3, epsilon=1e-12).fit(X, y)
    np.testing.assert_allclose(squared.coef_, theirs.coef_, atol=1e-4)


def test_sparse_regression_is_that_of_scikit_learn(wine):
    X, y = wine
    theirs = LogisticRegression(l1_ratio=1.0, C=0.2, solver="saga", tol=1e-9, max_iter=100_000).fit(X, y)
    ours = m3svm.SparseMultinomialLogisticRegression(lam=5.0, epsilon=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-6)
    with pytest.raises(ValueError, match="use proximal or auto"):
        ours.set_params(solver="newton").fit(X, y)


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_elastic_net_is_that_of_scikit_learn(wine, share):
    X, y = wine
    theirs = LogisticRegression(l1_ratio=share, C=0.2, solver="saga", tol=1e-9, max_iter=100_000).fit(X, y)
    lam, ratio = (1 + share) / (2 * 0.2), 2 * share / (1 + share)
    ours = m3svm.SparseMultinomialLogisticRegression(lam=lam, l1_ratio=ratio, epsilon=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-6)
    assert ours.dual_gap_ <= 1e-8


def test_an_elastic_net_keeps_its_ratio_in_model_files_and_searches(wine, tmp_path):
    X, y = wine
    model = m3svm.SparseMultinomialLogisticRegression(lam=2.0, l1_ratio=0.5).fit(X, y)
    model.save(tmp_path / "net.m3svm")
    assert m3svm.load(tmp_path / "net.m3svm").get_params()["l1_ratio"] == 0.5
    search = m3svm.SparseMultinomialLogisticRegressionCV(lams=[0.5, 2.0], l1_ratio=0.5).fit(X, y)
    again = m3svm.SparseMultinomialLogisticRegression(lam=search.lam_, l1_ratio=0.5).fit(X, y)
    np.testing.assert_allclose(search.coef_, again.coef_, atol=1e-6)
    lasso = m3svm.SparseMultinomialLogisticRegression(lam=search.lam_).fit(X, y)
    assert (lasso.coef_ == 0).sum() > (again.coef_ == 0).sum()
    with pytest.raises(ValueError, match="l1_ratio"):
        m3svm.SparseMultinomialLogisticRegression(l1_ratio=1.5).fit(X, y)


def test_two_classes_of_logistic_regression_have_twice_the_penalty(wine):
    X, y = wine
    X, y = X[y < 2], y[y < 2]
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(X, y)
    ours = m3svm.MultinomialLogisticRegression(lam=2.0, epsilon=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        m3svm.OneVsOneSVMClassifier(lam=0.5, epsilon=1e-10),
        m3svm.OneVsRestSVMClassifier(lam=0.5, epsilon=1e-10),
        m3svm.M3SVMClassifier(p=2.0, lam=0.5, delta=0.0, epsilon=1e-10),
        m3svm.WestonWatkinsClassifier(lam=1.0, epsilon=1e-10),
    ],
    ids=lambda e: type(e).__name__,
)
def test_two_classes_of_a_hinge_are_one_support_vector_machine(wine, estimator):
    X, y = wine
    X, y = X[y > 0], y[y > 0]
    theirs = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    ours = estimator.fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.min_margin_, 2 / np.linalg.norm(theirs.coef_), rtol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    # Rows strictly inside the margin support it in both programs.
    inside = np.flatnonzero((2 * (y == 2) - 1) * theirs.decision_function(X) < 0.999)
    assert set(inside) <= set(ours.support_)
    assert set(theirs.support_) <= set(ours.support_)


def test_votes_of_pairs_are_those_of_svc(iris):
    X, y = iris
    theirs = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    ours = m3svm.OneVsOneSVMClassifier(epsilon=1e-10).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_crammer_and_singer_is_that_of_liblinear(wine):
    X, y = wine
    theirs = LinearSVC(multi_class="crammer_singer", C=0.1, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, y)
    ours = m3svm.CrammerSingerClassifier(lam=5.0, fit_intercept=False, epsilon=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_top_k_is_limited_by_the_classes(iris):
    X, y = iris
    two = m3svm.TopKSVMClassifier(k=2).fit(X[:100], y[:100])
    assert two.k_ == 1
    np.testing.assert_array_equal(two.coef_, m3svm.CrammerSingerClassifier().fit(X[:100], y[:100]).coef_)
    assert m3svm.TopKSVMClassifier(k=9).fit(X, y).k_ == 2
    # Every fit looks at its own classes, and k itself stays as it was set.
    again = m3svm.TopKSVMClassifier(k=2).fit(X, y)
    assert (again.k, again.k_, again.fit(X[:100], y[:100]).k_, again.fit(X, y).k_) == (2, 2, 1, 2)
    assert again.get_params()["k"] == 2
    with pytest.raises(ValueError, match="`k` must be at least 1"):
        m3svm.TopKSVMClassifier(k=0).fit(X, y)


def test_a_fitted_estimator_describes_itself(any_estimator, iris):
    X, y = iris
    model = any_estimator().fit(X, y)
    scorers = 3
    assert model.coef_.shape == (scorers, 4)
    assert model.intercept_.shape == (scorers,)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_features_in_ == 4
    assert model.n_iter_ >= 1
    assert 0 <= model.dual_gap_ <= model.tol
    assert model.objective_ > 0
    assert np.isinf(np.diag(model.margins_)).all()
    assert model.min_margin_ == model.margins_.min()
    if any_estimator._native_probabilities:
        assert not hasattr(model, "support_")
    else:
        assert 0 < len(model.support_) <= 150
        assert not hasattr(model, "predict_proba")


def test_scores_follow_from_coefficients_whatever_the_scaling(iris):
    X, y = iris
    for scale in ("none", "standard", "maxabs", "minmax"):
        model = m3svm.M3SVMClassifier(scale=scale).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-9)
    assert m3svm.M3SVMClassifier(fit_intercept=False).fit(X, y).intercept_.tolist() == [0, 0, 0]


def test_scaling_inside_is_scaling_outside(iris):
    X, y = iris
    inside = m3svm.M3SVMClassifier(scale="standard").fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    outside = m3svm.M3SVMClassifier().fit(scaled, y)
    np.testing.assert_allclose(inside.decision_function(X), outside.decision_function(scaled), atol=1e-6)


def test_a_larger_power_lifts_the_smallest_margin(iris):
    X, y = iris
    margins = [m3svm.M3SVMClassifier(p=p, scale="standard").fit(X, y).min_margin_ for p in (1.0, 2.0, 4.0, 8.0)]
    assert margins == sorted(margins) and margins[-1] > 2 * margins[0]


def test_the_objective_is_what_the_documentation_says(iris):
    X, y = iris
    model = m3svm.M3SVMClassifier(p=3.0, lam=0.2, delta=0.1, epsilon=1e-3).fit(X, y)
    z = model.decision_function(X)
    gap = 1 - (z[np.arange(150), y][:, None] - z)
    hinge = (gap + np.sqrt(gap**2 + 0.1**2)) / 2
    hinge[np.arange(150), y] = 0
    distances = sum(np.linalg.norm(model.coef_[k] - model.coef_[l]) ** 3 for k, l in ((0, 1), (0, 2), (1, 2)))
    small = 1e-3 * ((model.coef_**2).sum() + (model.intercept_**2).sum())
    assert hinge.sum() + 0.2 * distances + small == pytest.approx(model.objective_, rel=1e-9)


def test_class_weights_are_sample_weights(iris):
    X, y = iris
    X, y = X[:120], y[:120]  # 50, 50 and 20 rows
    labels = np.array(["a", "b", "c"])[y]
    each = {"a": 0.8, "c": 2.0}
    by_class = m3svm.M3SVMClassifier(class_weight=each).fit(X, labels)
    weight = np.array([0.8, 1.0, 2.0])[y]
    by_row = m3svm.M3SVMClassifier().fit(X, labels, sample_weight=weight)
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-8)
    balanced = m3svm.M3SVMClassifier(class_weight="balanced").fit(X, y)
    by_row = m3svm.M3SVMClassifier().fit(X, y, sample_weight=np.array([0.8, 0.8, 2.0])[y])
    np.testing.assert_allclose(balanced.coef_, by_row.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="`class_weight` must name classes of the data"):
        m3svm.M3SVMClassifier(class_weight={"d": 1.0}).fit(X, labels)
    with pytest.raises(ValueError, match="`class_weight` must name classes of the data, found '1'"):
        m3svm.M3SVMClassifier(class_weight={"1": 1.0}).fit(X, y)


@pytest.mark.parametrize("named", [[0, 1, 2], [0, 1], [0, 2], [2], [0, 1, 5]], ids=str)
def test_class_weights_may_name_what_logistic_regression_lets_them_name(iris, named):
    # A fold without the last class.
    X, y = iris[0][:100], iris[1][:100]
    weights = {label: 1.0 + label for label in named}

    def outcome(estimator):
        try:
            return estimator.set_params(class_weight=weights).fit(X, y).predict(X).tolist()
        except ValueError:
            return "refused"

    assert outcome(m3svm.MultinomialLogisticRegression()) == outcome(LogisticRegression())


def test_rows_that_count_nothing_support_nothing(iris):
    X, y = iris
    weight = np.ones(150)
    weight[m3svm.M3SVMClassifier().fit(X, y).support_[:5]] = 0.0
    model = m3svm.M3SVMClassifier().fit(X, y, sample_weight=weight)
    assert (weight[model.support_] > 0).all()


def test_a_warm_start_needs_fewer_iterations(iris):
    X, y = iris
    model = m3svm.ISM3Classifier(warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.set_params(lam=1.1e-3).fit(X, y).n_iter_ < cold
    with pytest.raises(ValueError, match="features of the warm start"):
        model.fit(X[:, :3], y)


def test_the_number_of_threads_changes_no_bit(any_estimator):
    random = np.random.RandomState(0)
    X, y = random.randn(3000, 30), random.randint(0, 4, 3000)
    one, three = (any_estimator(n_threads=n, tol=1e-4).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.intercept_, three.intercept_)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_solvers_agree(iris, solver):
    X, y = iris
    ours = m3svm.ISM3Classifier(solver=solver).fit(X, y)
    assert ours.objective_ == pytest.approx(m3svm.ISM3Classifier().fit(X, y).objective_, rel=1e-8)


def test_what_was_found_cannot_be_set(any_estimator, iris):
    X, y = iris
    unfitted = any_estimator()
    model = any_estimator().fit(X, y)
    for name in ("coef_", "intercept_", "scorer_coef_", "scorer_intercept_"):
        assert not hasattr(unfitted, name)
        assert getattr(any_estimator, name) is not None
        for restored in (model, pickle.loads(pickle.dumps(model)), copy.copy(model)):
            with pytest.raises(AttributeError, match=f"`{name}` is what the training found, and cannot be set"):
                setattr(restored, name, np.zeros(3))
            with pytest.raises(ValueError, match="read-only"):
                getattr(restored, name)[0] = 1.0
            assert name in vars(restored)


def test_two_classes_have_one_vector_that_decides(any_estimator, iris):
    X, y = iris
    X, y = X[50:], np.array(["maybe", "yes"])[y[50:] - 1]
    model = any_estimator(scale="standard", lam=0.1).fit(X, y)
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 4), (1,))
    scale = np.abs(model.decision_function(X)).max()
    said = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(said, model.decision_function(X), atol=1e-9 * scale)
    np.testing.assert_array_equal(np.where(said > 0, "yes", "maybe"), model.predict(X))
    # What was trained is there as well.
    scorers = 1 if any_estimator is m3svm.OneVsOneSVMClassifier else 2
    assert (model.scorer_coef_.shape, model.scorer_intercept_.shape) == ((scorers, 4), (scorers,))
    said = X @ model.scorer_coef_.T + model.scorer_intercept_
    np.testing.assert_allclose(said, model._model.raw_scores(X), atol=1e-9 * scale)


def test_more_classes_have_the_vectors_of_all_scorers(any_estimator, iris):
    X, y = iris
    model = any_estimator().fit(X, y)
    assert model.coef_ is model.scorer_coef_ or (model.coef_ == model.scorer_coef_).all()
    assert (model.intercept_ == model.scorer_intercept_).all()


@pytest.mark.parametrize("threads", [-1, None])
def test_all_cores_have_two_names(iris, threads):
    X, y = iris
    assert m3svm.M3SVMClassifier(n_threads=threads).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("threads", [0, -2, 1025, 10**30])
def test_other_numbers_of_threads_are_refused_in_a_sentence(iris, threads):
    X, y = iris
    expected = f"`n_threads` must be between 1 and 1024, or -1 for all cores, found {threads}"
    with pytest.raises(ValueError, match=f"^{expected}$"):
        m3svm.M3SVMClassifier(n_threads=threads).fit(X, y)


def test_no_scaling_may_be_called_none(iris):
    X, y = iris
    model = m3svm.M3SVMClassifier(scale=None).fit(X, y)
    np.testing.assert_array_equal(model.coef_, m3svm.M3SVMClassifier(scale="none").fit(X, y).coef_)
    assert model.get_params()["scale"] is None
