"""The choice of λ and p by cross-validation."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import m3svm
from m3svm import ISM3ClassifierCV, M3SVMClassifier, M3SVMClassifierCV, MultinomialLogisticRegressionCV
from m3svm._core import choose, grid, search
from m3svm._search import PowerSearch

LAMS, PS = [1e-3, 1e-1, 10.0, 1e3], [1.0, 2.0, 4.0]


def splits(search):
    """The scores of a search, one column per split."""
    columns = [column for name, column in search.cv_results_.items() if name.startswith("split")]
    return np.column_stack(columns)


def values(search, lams=LAMS, ps=PS):
    """What to try, for a class that chooses."""
    return {"lams": lams, "ps": ps} if issubclass(search, PowerSearch) else {"lams": lams}


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
            assert score == pytest.approx(results[f"split{column}_test_score"][row])
    best = results["mean_test_score"].max()
    assert ours.best_score_ == pytest.approx(best)
    equals = np.flatnonzero(results["mean_test_score"] > best - 1e-12)
    assert ours.lam_ == results["param_lam"][equals].max()
    final = M3SVMClassifier(lam=ours.lam_, p=ours.p_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.coef_, final.coef_)


def test_folds_are_those_of_grid_search_and_values_default_to_the_usual_ones(iris):
    X, y = iris
    ours = M3SVMClassifierCV(ps=[4.0], cv=3, search_tol=1e-8).fit(X, y)
    assert len(ours.cv_results_["param_lam"]) == 13
    theirs = GridSearchCV(M3SVMClassifier(), {"lam": ours.cv_results_["param_lam"]}, cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_one_standard_error_chooses_a_stronger_penalty(iris):
    X, y = iris
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=1)
    best, careful = (
        M3SVMClassifierCV(lams=np.logspace(-4, 4, 9), ps=[4.0], cv=cv, rule=rule).fit(X, y)
        for rule in ("best-mean", "one-standard-error")
    )
    scores = splits(best)
    assert scores.shape == (9, 10)
    assert careful.lam_ >= best.lam_
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
        ({"rule": "luck", "scoring": "f1_macro"}, "`rule` must be one of best-mean, one-standard-error"),
        ({"lams": [-1.0], "scoring": "f1_macro"}, "`lam` must"),
        ({"scoring": "nonsense"}, "not a valid scoring value|nonsense"),
        ({"scoring": lambda *_: np.nan, "ps": [2]}, "`scoring` must give finite numbers, found nan"),
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
        splits(M3SVMClassifierCV(lams=LAMS, ps=PS, cv=cv).fit(X, y))
        for cv in ([(list(even), list(odd))], scattered, masks)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_every_method_has_one_and_finds_what_a_grid_search_finds(any_search, iris):
    X, y = iris
    plain = getattr(m3svm, any_search.__name__.removesuffix("CV"))
    ours = any_search(**values(any_search, [1e-2, 1.0, 10.0], [1.0, 4.0]), cv=3, search_tol=1e-8).fit(X, y)
    given = {"lam": [1e-2, 1.0, 10.0], **({"p": [1.0, 4.0]} if issubclass(any_search, PowerSearch) else {})}
    theirs = GridSearchCV(plain(), given, cv=3).fit(X, y)
    found = {tuple(params.values()): score for params, score in tried(theirs)}
    assert {tuple(params.values()): score for params, score in tried(ours)} == pytest.approx(found)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert type(ours.lam_) is float and ours.best_params_["lam"] == ours.lam_
    final = plain(**ours.best_params_).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, final.coef_)
    np.testing.assert_array_equal(ours.decision_function(X), final.decision_function(X))
    assert "lam" not in ours.get_params() and not hasattr(ours, "partial_fit")
    assert hasattr(ours, "predict_proba") == hasattr(final, "predict_proba")
    twin = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(twin.predict(X), ours.predict(X))


def tried(search):
    return zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)


def test_results_make_a_data_frame_with_the_columns_of_grid_search(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    ours = M3SVMClassifierCV(lams=LAMS, ps=PS, cv=4).fit(X, y)
    frame = pandas.DataFrame(ours.cv_results_)
    theirs = GridSearchCV(M3SVMClassifier(), {"lam": LAMS, "p": PS}, cv=4).fit(X, y).cv_results_
    assert set(frame.columns) == {name for name in theirs if not name.endswith("_time")}
    assert len(frame) == 12
    best = frame.loc[ours.best_index_]
    assert best["rank_test_score"] == 1 and best["params"] == {"lam": ours.lam_, "p": ours.p_} == ours.best_params_
    order = np.argsort(-frame["mean_test_score"].to_numpy())
    assert (np.diff(frame["rank_test_score"].to_numpy()[order]) >= 0).all()
    lone = MultinomialLogisticRegressionCV(lams=LAMS).fit(X, y)
    assert "param_p" not in lone.cv_results_ and not hasattr(lone, "p_")


def _top_two(estimator, X, y):
    return (np.argsort(estimator.decision_function(X), axis=1)[:, -2:] == y[:, None]).any(axis=1).mean()


@pytest.mark.parametrize("rule", ["best-mean", "one-standard-error"])
@pytest.mark.parametrize(
    "scoring", ["f1_macro", _top_two, make_scorer(log_loss, response_method="predict_proba", greater_is_better=False)]
)
def test_other_scores_find_what_a_grid_search_finds(iris, scoring, rule):
    X, y = iris
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    ours = ISM3ClassifierCV(lams=LAMS, ps=PS, cv=cv, scoring=scoring, search_tol=1e-9, rule=rule).fit(X, y)
    theirs = GridSearchCV(m3svm.ISM3Classifier(), {"lam": LAMS, "p": PS}, cv=cv, scoring=scoring).fit(X, y)
    by_setting = {(s["lam"], s["p"]): score for s, score in tried(theirs)}
    assert {(s["lam"], s["p"]): score for s, score in tried(ours)} == pytest.approx(by_setting, rel=1e-4)
    best = max(by_setting.values())
    if rule == "best-mean":
        assert ours.best_score_ == pytest.approx(best, rel=1e-4)
    else:
        deviation = splits(ours)[ours.cv_results_["rank_test_score"] == 1][0].std(ddof=1)
        assert ours.best_score_ >= best - deviation / 2 - 1e-6
        assert ours.lam_ >= theirs.best_params_["lam"]


def test_accuracy_by_name_is_the_quick_search_and_the_slow_one_agrees(iris):
    X, y = iris
    weight = np.linspace(0.2, 2.0, 150)
    scores = [
        splits(
            M3SVMClassifierCV(lams=LAMS, ps=PS, cv=4, scoring=scoring, search_tol=1e-8).fit(X, y, sample_weight=weight)
        )
        for scoring in (
            None,
            "accuracy",
            make_scorer(lambda t, p, sample_weight: np.average(t == p, weights=sample_weight)),
        )
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_allclose(scores[0], scores[2])


def test_scores_of_estimated_probabilities_are_those_of_fits_that_estimate_them(iris):
    X, y = iris
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    asked = {"lams": [0.1], "ps": [2.0], "cv": cv, "scoring": "neg_log_loss", "random_state": 0, "search_tol": 1e-9}
    ours = M3SVMClassifierCV(**asked, probability=True).fit(X, y)
    plain = M3SVMClassifier(lam=0.1, p=2.0, probability=True, random_state=0)
    theirs = GridSearchCV(plain, {"lam": [0.1]}, cv=cv, scoring="neg_log_loss").fit(X, y)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-3)
    assert ours.predict_proba(X).shape == (150, 3)
    with pytest.raises(AttributeError, match="predict_proba"):
        M3SVMClassifierCV(**asked).fit(X, y)


def test_groups_reach_the_splitter(iris):
    X, y = iris
    groups = np.arange(150) % 5
    direct = M3SVMClassifierCV(lams=LAMS, ps=PS, cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    parts = list(LeaveOneGroupOut().split(X, y, groups))
    np.testing.assert_array_equal(splits(direct), splits(M3SVMClassifierCV(lams=LAMS, ps=PS, cv=parts).fit(X, y)))
    with pytest.raises(ValueError, match="groups"):
        M3SVMClassifierCV(cv=GroupKFold()).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
        M3SVMClassifierCV().fit(X, y, group=groups)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_metadata_is_routed_to_splitter_and_scorer(iris, scoring):
    X, y = iris
    groups, weight = np.arange(150) % 5, np.linspace(0.2, 2.0, 150)
    with config_context(enable_metadata_routing=True):
        if scoring is not None:
            scoring = m3svm_scorer(scoring)
        search = M3SVMClassifierCV(lams=LAMS, ps=[2.0], cv=GroupKFold(), scoring=scoring).set_fit_request(
            sample_weight=True
        )
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
        routed = pipeline.fit(X, y, groups=groups, sample_weight=weight)[-1]
        with pytest.raises(TypeError, match="nonsense"):
            search.fit(X, y, nonsense=groups)
    scaled = StandardScaler().fit_transform(X)
    direct = M3SVMClassifierCV(lams=LAMS, ps=[2.0], cv=GroupKFold(), scoring=scoring and "balanced_accuracy")
    direct.fit(scaled, y, sample_weight=weight, groups=groups)
    np.testing.assert_array_equal(splits(routed), splits(direct))
    np.testing.assert_array_equal(routed.coef_, direct.coef_)


def m3svm_scorer(name):
    from sklearn.metrics import get_scorer

    return get_scorer(name).set_score_request(sample_weight=True)


def test_a_choice_at_the_edge_is_a_warning_that_names_it():
    random = np.random.RandomState(0)
    X, y = random.randn(120, 6), np.arange(120) % 3
    X[:, :2] += 1.2 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    lams = np.logspace(-6, 6, 7)

    def told(**settings):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = M3SVMClassifierCV(**{"lams": lams, "ps": [2.0], "cv": 4, **settings}).fit(X, y)
        assert all(warning.filename == __file__ for warning in caught)
        return model, [str(warning.message) for warning in caught]

    wide, said = told()
    means = dict(zip(wide.cv_results_["param_lam"], wide.cv_results_["mean_test_score"], strict=True))
    inside = max(means, key=means.get)
    assert lams[0] < inside < lams[-1] and said == []
    below, above = lams[lams <= inside], lams[lams >= inside]
    for part, end, further in ((below, "largest", "larger"), (above, "smallest", "smaller")):
        step = sorted((means[lam] for lam in part), reverse=True)
        assert step[0] > step[1] + 1e-12, "the example tells nothing"
        assert any(f"the best lam, {inside:g}, is the {end} that was tried" in text for text in told(lams=part)[1])
        assert any(f"{further} ones may be better still" in text for text in told(lams=part)[1])
    # Two values are a question, not a range; and equals are no reason to go on.
    assert told(lams=below[-2:])[1] == []
    assert told(lams=[1e7, 1e8, 1e9])[1] == []


def test_rules_choose_by_hand():
    rows = [(0.1, 2.0, [0.7, 0.9]), (1.0, 2.0, [0.75, 0.8]), (10.0, 2.0, [0.1, 0.2])]
    assert (choose(rows, "best-mean"), choose(rows, "one-standard-error")) == (0, 1)
    with pytest.raises(ValueError, match="there is no setting to choose"):
        choose([], "best-mean")
    assert grid({"method": "m3svm"}, lams=[1.0, 2.0], ps=[4.0, 2.0]) == [(2.0, 2.0), (1.0, 2.0), (2.0, 4.0), (1.0, 4.0)]
    assert len(grid({"method": "lr"})) == 13
