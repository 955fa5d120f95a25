"""scikit-learn's own checks of estimators, and its tools at work with ours."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from m3svm import (
    M3SVMClassifier,
    MultinomialLogisticRegression,
    OneVsOneSVMClassifier,
    OneVsRestSVMClassifier,
    SparseMultinomialLogisticRegression,
)
from m3svm._core import default_settings, methods
from m3svm._model_file import ESTIMATORS
from m3svm._search import PowerSearch
from m3svm._searches import SEARCHES


def few_values(search):
    """A search with few values, so that it is quick."""
    return search(lams=[1e-2, 1e-1], cv=3, **({"ps": [2.0, 4.0]} if issubclass(search, PowerSearch) else {}))


CHECKED = [
    *(estimator() for estimator in ESTIMATORS),
    *(few_values(search) for search in SEARCHES),
    # One per way to score, with everything that comes with estimated probabilities.
    *(e(probability=True) for e in (M3SVMClassifier, OneVsRestSVMClassifier, OneVsOneSVMClassifier)),
    few_values(SEARCHES[0]).set_params(scoring="f1_macro"),
    # One per scheme with a kernel.
    *(e(kernel="rbf") for e in (M3SVMClassifier, OneVsRestSVMClassifier, OneVsOneSVMClassifier)),
    M3SVMClassifier(kernel="rbf", rank=10),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_accepts_every_estimator(estimator, check):
    check(estimator)


def test_every_method_of_the_library_has_an_estimator():
    assert sorted(e._method for e in ESTIMATORS) == sorted(methods())
    assert [(e._method, f"{e.__name__}CV") for e in ESTIMATORS] == [(s._method, s.__name__) for s in SEARCHES]


def test_defaults_are_those_of_the_library(any_estimator):
    defaults = {name: p.default for name, p in inspect.signature(any_estimator).parameters.items()}
    expected = default_settings(any_estimator._method)
    # Decided otherwise on purpose: scikit-learn's linear models do not scale either.
    assert defaults.pop("scale") == "auto"
    for name in any_estimator._own_settings + any_estimator._common_settings:
        if name != "scale":
            assert defaults[name] == expected[name], name
    # And no setting of the method is missing.
    assert set(expected) - set(defaults) - {"scale", "method", "seed"} == set()


def test_parameters_are_keywords_with_names_and_every_one_is_documented(any_estimator):
    for cls in (any_estimator, SEARCHES[ESTIMATORS.index(any_estimator)]):
        parameters = inspect.signature(cls).parameters
        assert set(parameters) == set(cls().get_params())
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
        for name in parameters:
            assert f"\n    {name} : " in cls.__doc__, name
        assert "<" not in cls.__doc__.replace("k<l", "").replace("p < 1", "").replace("<BLANKLINE>", "").replace(
            "<=", ""
        )
        with pytest.raises(TypeError, match="unexpected keyword argument 'lambda'"):
            cls(**{"lambda": 1.0})


def test_grid_search_in_processes_finds_what_a_loop_finds(iris):
    X, y = iris
    grid = {"m3svmclassifier__lam": [1e-3, 1e3], "m3svmclassifier__p": [2.0, 4.0]}
    pipeline = make_pipeline(StandardScaler(), M3SVMClassifier())
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        again = cross_val_score(clone(pipeline).set_params(**params), X, y, cv=3).mean()
        assert again == pytest.approx(mean)
    assert search.best_score_ > 0.9


def test_sample_weights_are_routed(iris):
    X, y = iris
    weight = np.linspace(0.1, 2.0, len(y))
    with config_context(enable_metadata_routing=True):
        estimator = MultinomialLogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, estimator).fit(X, y, sample_weight=weight)[-1]
    direct = MultinomialLogisticRegression().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    np.testing.assert_array_equal(routed.coef_, direct.coef_)


def test_feature_names_come_through_a_pipeline_that_keeps_frames(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), M3SVMClassifier()).fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_features_can_be_selected_and_scores_calibrated(iris):
    X, y = iris
    assert SelectFromModel(M3SVMClassifier(lam=1.0)).fit(X, y).transform(X).shape[1] < 4
    # Of a lasso all features with weights are kept, as of scikit-learn's own.
    noise = np.random.RandomState(0).randn(150, 6)
    selector = SelectFromModel(SparseMultinomialLogisticRegression(lam=3.0)).fit(np.hstack([X, noise]), y)
    has_weight = np.abs(selector.estimator_.coef_).sum(axis=0) > 1e-5
    assert 2 <= has_weight.sum() < 10
    np.testing.assert_array_equal(selector.get_support(), has_weight)
    calibrated = CalibratedClassifierCV(M3SVMClassifier(lam=1.0), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_copies_predict_the_same(any_estimator, copied, iris):
    X, y = iris
    labels = np.array(["no", "yes", "maybe"])[y]
    model = any_estimator(lam=0.1).fit(X, labels)
    twin = copied(model)
    np.testing.assert_array_equal(model.decision_function(X), twin.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), twin.predict(X))
    assert twin._model == model._model
    assert twin.get_params() == model.get_params()


def test_joblib_stores_and_threads_share_a_model(iris, tmp_path):
    X, y = iris
    model = M3SVMClassifier().fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    expected = model.decision_function(X)
    scores = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(loaded.decision_function)(X) for _ in range(16)
    )
    assert all(np.array_equal(s, expected) for s in scores)
    fitted = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(M3SVMClassifier(n_threads=1 + i % 3).fit)(X, y) for i in range(8)
    )
    assert all(np.array_equal(f.coef_, model.coef_) for f in fitted)


# In a process of its own, where no threads of other tests are left.
_PARALLEL = """
import os, sys
import joblib
from sklearn.datasets import load_iris
from m3svm import M3SVMClassifier

def name_of(task):
    try:
        return open(f"/proc/self/task/{task}/comm").read()
    except (FileNotFoundError, ProcessLookupError):  # a thread that has ended since the folder was listed
        return ""

def workers():
    M3SVMClassifier().fit(*load_iris(return_X_y=True))
    return sum(name_of(task).startswith("m3svm-") for task in os.listdir("/proc/self/task"))

cores = joblib.cpu_count()
print(cores, *joblib.Parallel(n_jobs=cores, backend=sys.argv[1])(joblib.delayed(workers)() for _ in range(2 * cores)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_fits_have_no_more_threads_than_cores(backend):
    # These count more than what joblib says.
    environment = {k: v for k, v in os.environ.items() if k not in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS")}
    command = [sys.executable, "-c", _PARALLEL, backend]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    cores, *found = map(int, done.stdout.split())
    # As many processes as cores, with one thread each; or threads that share as many workers as there are cores.
    assert set(found) == {1 if backend == "loky" else cores}


def test_a_failed_fit_leaves_the_estimator_as_it_was(iris):
    X, y = iris
    fresh = M3SVMClassifier(lam=-1.0)
    with pytest.raises(ValueError, match="`lam` must be a finite number"):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    model = M3SVMClassifier().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="classes"):
        model.fit(X[:, :2], np.zeros(len(y)))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_only_what_is_random_draws_from_a_generator(any_estimator, iris):
    X, y = iris
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    generator = np.random.RandomState(5)
    any_estimator().fit(X, y).predict(X)
    any_estimator(random_state=generator).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    np.testing.assert_array_equal(generator.get_state()[1], before)
    if hasattr(any_estimator, "partial_fit"):
        any_estimator(random_state=generator).partial_fit(X, y, classes=[0, 1, 2])
        assert (generator.get_state()[1] != before).any() or generator.get_state()[2] != 624
    with pytest.raises(ValueError, match="cannot be used to seed"):
        any_estimator(random_state="seven").fit(X, y)
