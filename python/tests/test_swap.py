"""Estimators in places where scikit-learn's examples have LogisticRegression or LinearSVC."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, brier_score_loss, classification_report
from sklearn.model_selection import (
    GridSearchCV,
    LearningCurveDisplay,
    TunedThresholdClassifierCV,
    cross_val_predict,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from m3svm import (
    CrammerSingerClassifier,
    ISM3Classifier,
    M3SVMClassifier,
    MultinomialLogisticRegression,
    OneVsOneSVMClassifier,
)

# Two with probabilities of their own, one that estimates them.
WITH_PROBABILITIES = [
    ISM3Classifier(),
    MultinomialLogisticRegression(),
    M3SVMClassifier(probability=True, random_state=0),
]
# One per way to score: by class, with two classes as one number, and by votes of pairs.
SCORERS = [M3SVMClassifier(), CrammerSingerClassifier(), OneVsOneSVMClassifier()]

named = pytest.mark.parametrize("classifier", WITH_PROBABILITIES, ids=lambda e: type(e).__name__)
scored = pytest.mark.parametrize("classifier", SCORERS, ids=lambda e: type(e).__name__)


@scored
def test_a_classification_report_on_digits(classifier):
    X, y = load_digits(return_X_y=True)
    halves = train_test_split(X[:800] / 16, y[:800], test_size=0.5, shuffle=False)
    classifier.fit(halves[0], halves[2])
    report = classification_report(halves[3], classifier.predict(halves[1]), output_dict=True)
    baseline = LogisticRegression(max_iter=1000).fit(halves[0], halves[2]).score(halves[1], halves[3])
    assert report["accuracy"] > baseline - 0.05
    display = ConfusionMatrixDisplay.from_estimator(classifier, halves[1], halves[3])
    assert display.confusion_matrix.sum() == len(halves[3])


TEXTS = {
    "space": [
        "the rocket reached orbit",
        "a launch of the orbit rocket",
        "nasa plans a moon launch",
        "moon orbit nasa",
    ],
    "cooking": [
        "bake the bread with butter",
        "butter and flour for bread",
        "boil the soup",
        "soup with bread and flour",
    ],
    "sport": ["the team won the match", "a goal in the final match", "the coach of the team", "final goal by the team"],
}


@scored
def test_text_classification_from_words_to_the_best_words(classifier):
    texts = [text for group in TEXTS.values() for text in group]
    labels = [name for name, group in TEXTS.items() for _ in group]
    pipeline = make_pipeline(TfidfVectorizer(stop_words="english"), classifier)
    grid = {"tfidfvectorizer__ngram_range": [(1, 1), (1, 2)]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(texts, labels)
    assert search.predict(["rocket to the moon", "flour soup", "team goal"]).tolist() == ["space", "cooking", "sport"]
    if not isinstance(classifier, OneVsOneSVMClassifier):
        words = search.best_estimator_[0].get_feature_names_out()
        coef = search.best_estimator_[-1].coef_
        best = {str(name): words[np.argmax(row)] for name, row in zip(search.classes_, coef, strict=True)}
        assert best["space"] in "orbit rocket moon nasa launch"
        assert best["sport"] in "team goal final match"


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(StandardScaler().fit_transform(X), y, random_state=0)


@named
def test_calibration_curves(classifier, tumours):
    X, X_test, y, y_test = tumours
    classifier.fit(X, y)
    display = CalibrationDisplay.from_estimator(classifier, X_test, y_test, n_bins=5)
    assert len(display.prob_true) >= 3
    assert RocCurveDisplay.from_estimator(classifier, X_test, y_test).roc_auc > 0.98
    assert brier_score_loss(y_test, classifier.predict_proba(X_test)[:, 1]) < 0.05


@scored
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibration_by_scikit_learn(classifier, method, tumours):
    X, X_test, y, y_test = tumours
    calibrated = CalibratedClassifierCV(classifier, method=method, cv=3).fit(X, y)
    assert brier_score_loss(y_test, calibrated.predict_proba(X_test)[:, 1]) < 0.05


@named
@pytest.mark.parametrize("response", ["predict", "decision_function", "predict_proba"])
def test_decision_regions_by_scikit_learn(classifier, response, iris):
    X, y = iris[0][:, :2], iris[1]
    display = DecisionBoundaryDisplay.from_estimator(
        classifier.fit(X, y), X, response_method=response, grid_resolution=20
    )
    assert display.response.shape[:2] == (20, 20)


@scored
def test_classifiers_made_of_classifiers(classifier, iris):
    X, y = iris
    others = [("ours", classifier), ("theirs", LogisticRegression(max_iter=1000))]
    made = [
        VotingClassifier(others),
        StackingClassifier(others, cv=3),
        BaggingClassifier(classifier, n_estimators=3, random_state=0),
        OneVsRestClassifier(classifier),
        RFE(classifier, n_features_to_select=2),
    ]
    for estimator in made:
        assert estimator.fit(X, y).score(X, y) > 0.9, type(estimator).__name__


@scored
def test_tools_around_a_classifier(classifier, iris, tumours):
    X, y = iris
    assert SelectFromModel(classifier, max_features=2, threshold=-np.inf).fit_transform(X, y).shape == (150, 2)
    assert cross_val_predict(classifier, X, y, method="decision_function").shape == (150, 3)
    importance = permutation_importance(classifier.fit(X, y), X, y, n_repeats=3, random_state=0)
    assert importance.importances_mean.argmax() in (2, 3)
    LearningCurveDisplay.from_estimator(classifier, X, y, cv=3, train_sizes=[0.5, 1.0], shuffle=True, random_state=0)
    X, X_test, y, y_test = tumours
    tuned = TunedThresholdClassifierCV(classifier, response_method="decision_function", cv=3).fit(X, y)
    assert tuned.score(X_test, y_test) > 0.9
