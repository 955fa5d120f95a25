"""Formats that run nothing while they load: they see plain data, and give back what was stored."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import m3svm
from m3svm import M3SVMClassifier, M3SVMClassifierCV

# Without it there is less to test; it is part of the tests' environment.
skops = pytest.importorskip("skops.io")


def assert_same(found, model, X):
    assert type(found) is type(model)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    for name in ("coef_", "margins_", "classes_", "support_", "dual_gap_"):
        np.testing.assert_array_equal(getattr(found, name, None), getattr(model, name, None))
    assert found._model == model._model and found._model.trace == model._model.trace
    assert found.get_params() == model.get_params()


def kept_by_skops(model):
    content = skops.dumps(model)
    foreign = skops.get_untrusted_types(data=content)
    # The classes of the estimators themselves, and nothing else of ours.
    assert [name for name in foreign if name.startswith("m3svm.")] == [
        f"{type(model).__module__}.{type(model).__name__}"
    ]
    return skops.loads(content, trusted=foreign)


def test_skops_keeps_every_estimator(any_estimator, iris):
    X, y = iris
    model = any_estimator(lam=0.1).fit(X, np.array(["no", "yes", "maybe"])[y])
    assert_same(kept_by_skops(model), model, X)
    assert not hasattr(kept_by_skops(any_estimator()), "coef_")


def test_skops_keeps_searches_batches_and_probabilities(iris):
    X, y = iris
    search = M3SVMClassifierCV(lams=[0.1, 1.0], ps=[2.0], cv=3, probability=True, random_state=0).fit(X, y)
    found = kept_by_skops(search)
    assert_same(found, search, X)
    np.testing.assert_array_equal(found.predict_proba(X), search.predict_proba(X))
    assert found.best_params_ == search.best_params_
    batches = M3SVMClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    again = kept_by_skops(batches).partial_fit(X, y)
    np.testing.assert_array_equal(again.coef_, batches.partial_fit(X, y).coef_)


def test_a_state_is_plain_data_and_does_not_touch_the_estimator(iris):
    X, y = iris
    model = M3SVMClassifier(p=0.5).fit(X, y)
    before = dict(vars(model))
    state = model.__getstate__()
    assert vars(model) == before
    assert type(state["_model"]["file"]) is bytes and type(state["_model"]["trace"]) is np.ndarray
    again = M3SVMClassifier.__new__(M3SVMClassifier)
    again.__setstate__(state)
    assert_same(again, model, X)
    assert type(state["_model"]) is dict
    assert pickle.loads(pickle.dumps(model._model)) == model._model


# It brings so much along that it is no part of the tests' environment.
@pytest.mark.parametrize("form", ["skops", "pickle", "cloudpickle"])
def test_mlflow_keeps_an_estimator(iris, form, tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn")
    X, y = iris
    model = M3SVMClassifier(lam=0.1).fit(X, y)
    trusted = {"skops_trusted_types": ["m3svm._hinge.M3SVMClassifier"]} if form == "skops" else {}
    mlflow.save_model(model, tmp_path / "model", serialization_format=form, **trusted)
    assert_same(mlflow.load_model(str(tmp_path / "model")), model, X)


def test_shap_explains_two_classes_by_one_vector(iris):
    shap = pytest.importorskip("shap")
    X, y = iris[0][50:], iris[1][50:]
    for model in (m3svm.M3SVMClassifier(lam=0.1).fit(X, y), m3svm.ISM3Classifier().fit(X, y)):
        found = shap.LinearExplainer(model, X)(X[:5])
        assert found.values.shape == (5, 4)
        np.testing.assert_allclose(
            found.values.sum(axis=1) + found.base_values, model.decision_function(X[:5]), atol=1e-6
        )
