"""The choice of λ and p by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold

from m3svm import M3SVMClassifier, M3SVMClassifierCV
from m3svm._core import search

LAMS, PS = [1e-3, 1e-1, 10.0, 1e3], [1.0, 2.0, 4.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_it_finds_what_a_grid_search_finds(iris, weighted):
    X, y = iris
    weight = np.linspace(0.2, 2.0, 150) if weighted else None
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    ours = M3SVMClassifierCV(lams=LAMS, ps=PS, cv=cv, search_tol=1e-8).fit(X, y, sample_weight=weight)
    results = ours.cv_results_
    for column, (train, test) in enumerate(cv.split(X, y)):
        part = None if weight is None else weight[train]
        for row in range(len(LAMS) * len(PS)):
            model = M3SVMClassifier(lam=results["param_lam"][row], p=results["param_p"][row])
            score = model.fit(X[train], y[train], part).score(
                X[test], y[test], None if weight is None else weight[test]
            )
            assert score == pytest.approx(results["split_test_scores"][row, column])
    best = results["mean_test_score"].max()
    assert ours.best_score_ == pytest.approx(best)
    equals = np.flatnonzero(results["mean_test_score"] > best - 1e-12)
    assert ours.lam_ == results["param_lam"][equals].max()
    final = M3SVMClassifier(lam=ours.lam_, p=ours.p_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.coef_, final.coef_)


def test_folds_are_those_of_grid_search_and_values_default_to_the_paper(iris):
    X, y = iris
    ours = M3SVMClassifierCV(ps=[4.0], cv=3, search_tol=1e-8).fit(X, y)
    assert len(ours.cv_results_["param_lam"]) == 10
    theirs = GridSearchCV(M3SVMClassifier(), {"lam": ours.cv_results_["param_lam"]}, cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_one_standard_error_chooses_a_stronger_penalty(iris):
    X, y = iris
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=1)
    best, careful = (
        M3SVMClassifierCV(lams=np.logspace(-4, 4, 9), ps=[4.0], cv=cv, rule=rule).fit(X, y)
        for rule in ("best-mean", "one-standard-error")
    )
    assert best.cv_results_["split_test_scores"].shape == (9, 10)
    assert careful.lam_ >= best.lam_
    scores = best.cv_results_["split_test_scores"]
    top = scores[best.cv_results_["param_lam"] == best.lam_][0]
    least = top.mean() - top.std(ddof=1) / np.sqrt(10)
    assert careful.best_score_ >= least - 1e-12


def test_progress_and_errors(iris, capsys):
    X, y = iris
    M3SVMClassifierCV(ps=[4.0], cv=2, verbose=1).fit(X, y)
    assert "converged" in capsys.readouterr().out
    for wrong, message in [
        ({"lams": [-1.0]}, "`lam` must"),
        ({"lams": []}, "`values` must be at least one"),
        ({"rule": "luck"}, "`rule` must be one of best-mean, one-standard-error"),
        ({"search_tol": 0.0}, "`search_tol` must"),
        ({"cv": [([0, 149], [150])]}, "name rows of the data"),
        ({"cv": [([0, 149], [])]}, "rows to test on"),
    ]:
        model = M3SVMClassifierCV(**wrong)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_row_numbers_of_splits_are_checked():
    with pytest.raises(ValueError, match="`splits` must be at least 1"):
        search(np.eye(2), np.arange(2, dtype=np.uint32), ["a", "b"], {"method": "m3svm"}, [])


def test_row_numbers_of_splits_lie_anywhere(iris):
    X, y = iris
    even, odd = np.arange(0, 150, 2), np.arange(1, 150, 2)
    every_other = np.arange(150, dtype=np.uint32)
    scattered = [(every_other[::2], every_other[1::2])]
    masks = [(np.isin(every_other, even), np.isin(every_other, odd))]
    scores = [
        M3SVMClassifierCV(lams=LAMS, ps=PS, cv=cv).fit(X, y).cv_results_["split_test_scores"]
        for cv in ([(list(even), list(odd))], scattered, masks)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
