"""λ from the data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import m3svm
from m3svm import MultinomialLogisticRegressionCV, OneVsOneSVMClassifier


def test_it_is_chosen_if_asked_for_and_said(any_estimator, iris):
    X, y = iris
    model = any_estimator(lam="auto", scale="standard").fit(X, y)
    choice = model.lambda_choice_
    assert model.lam_ in [tried["lam"] for tried in choice["tried"]]
    assert (choice["rows"], choice["used"], choice["folds"]) == (150, 150, 4)
    assert 0 < choice["fits"] <= 17 and choice["evaluations"] > 0
    # It is the fit with that number, of which nothing is said.
    given = any_estimator(scale="standard", lam=model.lam_).fit(X, y)
    np.testing.assert_array_equal(given.scorer_coef_, model.scorer_coef_)
    assert given.lam_ == model.lam_ and not hasattr(given, "lambda_choice_")


def test_it_is_kept_with_the_model(iris, tmp_path):
    model = m3svm.M3SVMClassifier(lam="auto").fit(*iris)
    model.save(tmp_path / "model")
    loaded = m3svm.load(tmp_path / "model")
    assert (loaded.lam, loaded.lam_) == (model.lam_, model.lam_)
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        assert again.lambda_choice_ == model.lambda_choice_


def test_other_words_are_refused(iris):
    with pytest.raises(ValueError, match='`lam` must be "auto" or a number, found "best"'):
        m3svm.M3SVMClassifier(lam="best").fit(*iris)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_classes_choose_alike_for_weights_and_repetitions(iris, seed):
    X, y = iris
    random = np.random.RandomState(seed)
    X = X + random.randn(*X.shape)
    counts = random.randint(0, 4, len(y))
    order = random.permutation(np.repeat(np.arange(len(y)), counts))
    weighted = OneVsOneSVMClassifier(lam="auto").fit(X, y, sample_weight=counts)
    repeated = OneVsOneSVMClassifier(lam="auto").fit(X[order], y[order])
    assert weighted.lam_ == repeated.lam_
    tried = [[(each["lam"], each["folds"]) for each in m.lambda_choice_["tried"]] for m in (weighted, repeated)]
    assert tried[0] == tried[1]


def test_a_search_goes_on_where_its_range_ends(iris):
    X, y = iris
    # Features so small that weights have to be large.
    model = MultinomialLogisticRegressionCV(cv=3, scoring="neg_log_loss", search_tol=1e-6).fit(X / 10, y)
    tried = model.cv_results_["param_lam"]
    assert len(tried) > 13 and tried.min() < 5e-4 and tried.max() == 500.0
    assert (np.diff(tried) < 0).all() and tried.min() < model.lam_
    given = MultinomialLogisticRegressionCV(cv=3, lams=tried[:13], scoring="neg_log_loss")
    with pytest.warns(UserWarning, match="smallest that was tried"):
        assert len(given.fit(X / 10, y).cv_results_["param_lam"]) == 13
