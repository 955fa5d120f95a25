"""Training batch by batch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

import m3svm
from m3svm import M3SVMClassifier, MultinomialLogisticRegression, TopKSVMClassifier, _core
from m3svm._batches import LearnsInBatches
from m3svm._model_file import ESTIMATORS

LEARNING = [e for e in ESTIMATORS if issubclass(e, LearnsInBatches)]


def batches(X, y, size=30, seed=0):
    order = np.random.RandomState(seed).permutation(len(y))
    return [(X[rows], y[rows]) for rows in np.split(order, range(size, len(y), size))]


def test_those_that_learn_in_batches_are_those_that_the_library_can_train_so(any_estimator):
    settings = {"method": any_estimator._method, "scale": "none"}
    train = lambda: _core.fit_batch(np.eye(3), np.arange(3, dtype=np.uint32), ["a", "b", "c"], settings)
    if any_estimator in LEARNING:
        train()
    else:
        assert not hasattr(any_estimator(), "partial_fit")
        assert "no `partial_fit`" in " ".join(any_estimator.__doc__.split())
        with pytest.raises(ValueError, match="batches"):
            train()


@pytest.mark.parametrize("estimator", LEARNING, ids=lambda e: e.__name__)
def test_batches_of_a_share_of_lam_come_to_the_objective_of_a_fit(estimator, iris):
    X, y = iris
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    best = estimator(lam=10.0).fit(X, y).objective_

    def objective(lam, size, turns):
        """The objective of all rows with lam = 10, after training with another lam in batches."""
        model = estimator(lam=lam, random_state=0)
        for turn in range(turns):
            for part in batches(X, y, size, turn):
                model.partial_fit(*part, classes=[0, 1, 2])
        return model.set_params(lam=10.0).partial_fit(X, y).objective_

    assert best < objective(10.0, 150, 120) < 1.03 * best
    # A tenth of the rows at a time needs a tenth of lam.
    assert best < objective(1.0, 15, 60) < 1.03 * best < objective(10.0, 15, 60)


def test_classes_are_named_once(iris):
    X, y = iris
    model = M3SVMClassifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(X, y)
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(X[:50], y[:50], classes=[2, 0, 1])
    assert model.classes_.tolist() == [0, 1, 2]
    model.partial_fit(X[50:], y[50:])
    model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"not among the classes: \[7\]"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match="only one class"):
        M3SVMClassifier().partial_fit(X[:2], [1, 1], classes=[1])
    texts = M3SVMClassifier().partial_fit(X[:2], ["b", "b"], classes=["b", "a"])
    assert texts.predict(X[:1]).tolist() == ["b"]


def test_a_failed_batch_changes_nothing(iris):
    X, y = iris
    model = M3SVMClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    before = pickle.dumps(model)
    for wrong in ((X[:, :3], y), (X, y + 1), (np.full_like(X, np.nan), y)):
        with pytest.raises(ValueError):
            model.partial_fit(*wrong)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=r'class_weight="balanced" cannot be used .* compute_class_weight\("balanced"'):
        model.set_params(class_weight="balanced").partial_fit(X, y)


def test_learning_goes_on_after_a_copy_a_fit_and_a_file(iris, tmp_path):
    X, y = iris
    one = M3SVMClassifier(random_state=0, lam=0.1)
    for part in batches(X, y):
        one.partial_fit(*part, classes=[0, 1, 2])
    two = pickle.loads(pickle.dumps(one))
    for model in (one, two):
        model.partial_fit(X[:40], y[:40])
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert (one.n_iter_, two._moments[2]) == (13, 13)
    assert np.isnan(one.dual_gap_)

    fitted = M3SVMClassifier(random_state=0, lam=0.1).fit(X, y)
    start = fitted.coef_.copy()
    assert hasattr(fitted, "support_")
    fitted.partial_fit(X, y)
    assert not hasattr(fitted, "support_")
    # Ten steps of at most 0.01 each.
    assert 0 < np.abs(fitted.coef_ - start).max() < 0.101
    # And the next fit knows nothing of it.
    np.testing.assert_array_equal(fitted.fit(X, y).coef_, start)
    assert not hasattr(fitted, "_moments")

    fitted.save(tmp_path / "m")
    loaded = m3svm.load(tmp_path / "m").partial_fit(X, y)
    np.testing.assert_allclose(
        loaded.coef_, M3SVMClassifier(random_state=loaded.random_state, lam=0.1).fit(X, y).partial_fit(X, y).coef_
    )


def test_weights_count_and_storage_does_not(iris):
    X, y = iris
    weight = np.random.RandomState(0).randint(0, 3, 150)
    new = lambda: MultinomialLogisticRegression(random_state=0)
    few = slice(0, 150, 10)  # one step: repeated rows would be split into other steps
    weighted = new().partial_fit(X[few], y[few], classes=[0, 1, 2], sample_weight=weight[few])
    taken = np.arange(150)[few][weight[few] > 0]
    dropped = new().partial_fit(X[taken], y[taken], classes=[0, 1, 2], sample_weight=weight[taken])
    np.testing.assert_allclose(weighted.coef_, dropped.coef_, rtol=1e-12)
    by_class = MultinomialLogisticRegression(random_state=0, class_weight={1: 3.0})
    by_class.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    by_row = new().partial_fit(X[:100], y[:100], classes=[0, 1, 2], sample_weight=np.where(y[:100] == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    dense, rows = (new().partial_fit(kind(X), y, classes=[0, 1, 2]) for kind in (np.array, sparse.csr_array))
    np.testing.assert_allclose(dense.coef_, rows.coef_, rtol=1e-9)


def test_the_scaling_of_the_first_batch_stays(iris):
    X, y = iris
    model = M3SVMClassifier(scale="standard", random_state=0).partial_fit(X[:75], y[:75], classes=[0, 1, 2])
    model.partial_fit(X[75:], y[75:])
    outside = M3SVMClassifier(random_state=0)
    scaled = (X - X[:75].mean(axis=0)) / X[:75].std(axis=0)
    outside.partial_fit(scaled[:75], y[:75], classes=[0, 1, 2]).partial_fit(scaled[75:], y[75:])
    np.testing.assert_allclose(model.decision_function(X), outside.decision_function(scaled), atol=1e-9)
    with pytest.raises(ValueError, match="dense"):
        model.partial_fit(sparse.csr_array(X), y)


def test_the_number_of_threads_changes_no_bit_of_a_batch():
    random = np.random.RandomState(0)
    X, y = random.randn(3000, 30), random.randint(0, 4, 3000)
    one, three = (M3SVMClassifier(n_threads=n, random_state=0).partial_fit(X, y, classes=range(4)) for n in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)


def test_k_is_limited_by_the_known_classes_of_batches_too(iris, tmp_path):
    X, y = iris
    model = TopKSVMClassifier(k=9).partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    assert (model.k, model.k_) == (9, 2)
    model.save(tmp_path / "m")
    assert m3svm.load(tmp_path / "m").k_ == 2


def test_probabilities_are_native_or_need_a_fit(iris):
    X, y = iris
    native = MultinomialLogisticRegression().partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(native.predict_proba(X).sum(axis=1), 1.0)
    estimated = M3SVMClassifier(probability=True).fit(X, y).partial_fit(X, y)
    with pytest.raises(AttributeError, match="only a fit"):
        estimated.predict_proba(X)


def test_batches_are_told_on_demand(iris, capsys):
    X, y = iris
    M3SVMClassifier(verbose=1).partial_fit(X, y, classes=[0, 1, 2])
    assert capsys.readouterr().out.startswith("[M3SVMClassifier] 10 steps so far, objective of the batch ")
