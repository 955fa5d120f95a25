"""Displays: what they show is what the estimator says. How they look, a person has to judge."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import m3svm
from m3svm import (
    ISM3Classifier,
    M3SVMClassifier,
    M3SVMClassifierCV,
    MultinomialLogisticRegressionCV,
    OneVsOneSVMClassifier,
)
from m3svm.plots import ConvergenceDisplay, DecisionRegionDisplay, MarginMatrixDisplay, PathDisplay
from m3svm.plots._plane import plane_through


@pytest.fixture(scope="module")
def model(iris):
    return M3SVMClassifier(scale="standard").fit(*iris)


@pytest.fixture(scope="module")
def search(iris):
    return M3SVMClassifierCV(lams=[1e-3, 1e-2, 1e-1], ps=[1, 2, 4], cv=4, scale="standard").fit(*iris)


def test_the_margin_matrix_shows_all_margins_and_frames_the_smallest(model):
    display = MarginMatrixDisplay.from_estimator(model, display_labels=["a", "b", "c"])
    shown = {text.get_position(): float(text.get_text()) for text in display.ax_.texts}
    off_diagonal = [(k, l) for k in range(3) for l in range(3) if k != l]
    assert shown == pytest.approx({(l, k): model.margins_[k, l] for k, l in off_diagonal}, rel=5e-3)
    frames = {tuple(np.add(patch.get_xy(), 0.5)) for patch in display.ax_.patches}
    assert frames == {at for at, margin in shown.items() if margin == min(shown.values())}
    assert "smallest (framed): 0.345, a and c" in display.ax_.get_xlabel()


def test_margins_of_equal_classes_are_infinite_and_still_drawn():
    flat = M3SVMClassifier(lam=1e9, p=1.0).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    margins = flat.margins_.copy()
    margins[0, 1] = margins[1, 0] = np.inf
    display = MarginMatrixDisplay(margins, display_labels=flat.classes_).plot()
    assert sum(text.get_text() == "∞" for text in display.ax_.texts) >= 2
    MarginMatrixDisplay(np.full((2, 2), np.inf), display_labels=["one", "the other"]).plot()


@pytest.mark.parametrize("wrap", ["alone", "pipeline", "search"])
def test_displays_find_the_estimator_inside(iris, wrap):
    X, y = iris
    estimator = {
        "alone": M3SVMClassifier(),
        "pipeline": make_pipeline(StandardScaler(), M3SVMClassifier()),
        "search": GridSearchCV(make_pipeline(M3SVMClassifier()), {"m3svmclassifier__p": [2.0]}, cv=2),
    }[wrap].fit(X, y)
    MarginMatrixDisplay.from_estimator(estimator)
    ConvergenceDisplay.from_estimator(estimator)


@pytest.mark.parametrize("display", [MarginMatrixDisplay, ConvergenceDisplay, PathDisplay])
def test_other_or_unfitted_estimators_are_refused(iris, search, display):
    with pytest.raises(TypeError, match="LogisticRegression"):
        display.from_estimator(LogisticRegression(max_iter=1000).fit(*iris))
    with pytest.raises(NotFittedError):
        display.from_estimator(M3SVMClassifierCV())


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "adam"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_trace_of_a_training_goes_down_to_its_result(iris, solver):
    model = M3SVMClassifier(scale="standard", solver=solver, max_iter=30).fit(*iris)
    display = ConvergenceDisplay.from_estimator(model, kind="objective")
    assert np.all(np.diff(display.iterations) >= 0)
    assert np.all(np.diff(display.objectives[:-1]) <= 1e-12 * display.objectives[0])
    assert (display.iterations[-1], display.objectives[-1]) == (model.n_iter_, model.objective_)
    assert display.gaps[-1] == pytest.approx(model.dual_gap_, abs=1e-15)
    # Known for every iteration, and never less than what is left indeed.
    left = display.objectives / M3SVMClassifier(scale="standard", tol=1e-12).fit(*iris).objective_ - 1
    assert np.all(display.gaps >= left / (1 + left) - 1e-12)
    assert display.name == solver
    np.testing.assert_array_equal(display.line_.get_ydata(), display.objectives)


def test_the_trace_survives_a_pickle_but_not_a_model_file(model, tmp_path):
    again = pickle.loads(pickle.dumps(model))
    assert again._model.trace == model._model.trace != []
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="nothing is known of the training"):
        ConvergenceDisplay.from_estimator(m3svm.load(tmp_path / "model"))


def test_curves_share_axes_and_one_line_for_the_tolerance(iris):
    first = ConvergenceDisplay.from_estimator(M3SVMClassifier().fit(*iris))
    second = ConvergenceDisplay.from_estimator(OneVsOneSVMClassifier().fit(*iris), name="pairs", ax=first.ax_)
    assert second.ax_ is first.ax_
    names = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert names == ["newton", "tol = 1e-08", "pairs"]
    assert first.line_.get_color() != second.line_.get_color()


def test_a_problem_without_bound_has_no_gap_to_show(iris):
    model = M3SVMClassifier(p=0.5, scale="standard").fit(*iris)
    with pytest.raises(ValueError, match='try kind="objective"'):
        ConvergenceDisplay.from_estimator(model)
    ConvergenceDisplay.from_estimator(model, kind="objective")


def test_the_path_shows_means_and_standard_errors(search):
    display = PathDisplay.from_estimator(search)
    results = search.cv_results_
    assert display.means == pytest.approx(results["mean_test_score"])
    assert display.errors == pytest.approx(results["std_test_score"] / np.sqrt(3))
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [f"chosen: λ = {search.lam_:g}, p = {search.p_:g}", "p = 1", "p = 2", "p = 4"]


def test_the_heat_map_has_every_setting_and_frames_the_chosen_one(search):
    display = PathDisplay.from_estimator(search, kind="heatmap")
    lams, ps = [1e-3, 1e-2, 1e-1], [1, 2, 4]
    shown = {text.get_position(): text.get_text() for text in display.ax_.texts}
    results = search.cv_results_
    for lam, p, mean in zip(results["param_lam"], results["param_p"], results["mean_test_score"], strict=True):
        assert shown[(lams.index(lam), ps.index(p))] == f"{mean:.3f}"
    (frame,) = display.ax_.patches
    assert tuple(np.add(frame.get_xy(), 0.5)) == (lams.index(search.lam_), ps.index(search.p_))


def test_many_p_are_a_heat_map_and_no_p_is_one_line(iris):
    many = M3SVMClassifierCV(lams=[1e-3, 1e-2, 1e-1], ps=range(1, 7), cv=3).fit(*iris)
    assert PathDisplay.from_estimator(many).ax_.images
    assert not PathDisplay.from_estimator(many, kind="lines").ax_.images
    lone = MultinomialLogisticRegressionCV(lams=[0.1, 1.0, 10.0], cv=3, scoring="f1_macro").fit(*iris)
    display = PathDisplay.from_estimator(lone)
    assert display.ax_.get_title() == "F1 macro in cross-validation"
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [f"chosen: λ = {lone.lam_:g}"]
    (table,) = PathDisplay.from_estimator(lone, kind="heatmap").ax_.images
    assert table.get_array().shape == (1, 3)


def test_names_of_many_classes_do_not_overlap():
    for classes in (3, 12, 60, 150):
        names = [f"class {k}" for k in range(classes)]
        display = MarginMatrixDisplay(np.random.RandomState(0).rand(classes, classes), display_labels=names).plot()
        figure = display.figure_
        figure.canvas.draw()
        for labels, side in ((display.ax_.get_xticklabels(), "x"), (display.ax_.get_yticklabels(), "y")):
            boxes = [label.get_window_extent() for label in labels]
            sizes = [label.get_fontsize() for label in labels]
            assert len(labels) == classes or classes > 60
            assert min(sizes) >= 5
            steps = np.abs(np.diff([getattr(box, f"{side}1") for box in boxes])) / figure.dpi * 72
            assert steps.min() > 0.95 * sizes[0], (classes, side)


def test_classes_have_colours_of_their_own_up_to_ten():
    from m3svm.plots._drawing import class_colours

    for number in range(2, 61):
        colours = class_colours(number)
        assert len(set(colours)) == number
    assert all(isinstance(colour, str) for colour in class_colours(10))


@pytest.mark.parametrize("classes", [2, 3])
def test_margins_end_where_the_lead_is_one(iris, classes):
    X, y = iris[0][iris[1] < classes, 2:], iris[1][iris[1] < classes]
    model = M3SVMClassifier(lam=0.1).fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=200)
    ends = np.concatenate([path.vertices for path in display.margins_.get_paths()])
    scores = np.sort(model._model.scores(np.ascontiguousarray(ends)), axis=1)
    np.testing.assert_allclose(scores[:, -1] - scores[:, -2], 1.0, atol=0.05)
    off = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=20, margins=False)
    assert off.margins_ is None and off.lead is None


def test_margins_are_drawn_where_there_are_any(iris):
    X, y = iris[0][:, 2:], iris[1]
    draw = DecisionRegionDisplay.from_estimator
    assert draw(make_pipeline(StandardScaler(), M3SVMClassifier(lam=0.1)).fit(X, y), X, y).margins_ is not None
    logistic = ISM3Classifier().fit(X, y)
    assert draw(logistic, X, y).margins_ is None
    assert draw(logistic, X, y, margins=True).margins_ is not None
    pairs, other = OneVsOneSVMClassifier().fit(X, y), LogisticRegression(max_iter=1000).fit(X, y)
    for model in (pairs, other):
        assert draw(model, X, y).margins_ is None
        with pytest.raises(ValueError, match="`margins` are those of joint problems"):
            draw(model, X, y, margins=True)
    assert draw(OneVsOneSVMClassifier().fit(X[y < 2], y[y < 2]), X, y).margins_ is not None


def test_regions_of_two_features_are_the_predictions(iris):
    X, y = iris[0][:, 2:], iris[1]
    model = M3SVMClassifier().fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=40)
    expected = model.predict(np.column_stack([display.xx0.ravel(), display.xx1.ravel()]))
    np.testing.assert_array_equal(display.region.ravel(), expected)
    assert len(display.ax_.collections) >= 1 + 3
    assert display.xx0.min() < X[:, 0].min() and display.xx1.max() > X[:, 1].max()


def test_the_plane_of_pca_is_its_inverse_transform(iris):
    X, _ = iris
    plane = plane_through(X, None, None)
    pca = PCA(2).fit(X)
    grid = np.array([[0.0, 0.0], [1.5, -0.3]])
    np.testing.assert_allclose(plane.features(grid), pca.inverse_transform(grid))


def test_the_plane_of_lda_holds_the_means_of_three_classes():
    X, y = load_wine(return_X_y=True)
    plane = plane_through(X, y, "lda")
    lda = LinearDiscriminantAnalysis(n_components=2).fit(X, y)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(plane.features(lda.transform(means)), means, rtol=1e-6)
    # And projecting the plane gives its own coordinates.
    grid = np.array([[0.0, 0.0], [2.0, -1.0]])
    np.testing.assert_allclose(lda.transform(plane.features(grid)), grid, atol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_frames_stay_frames(iris, library):
    frames = pytest.importorskip(library)
    X, y = iris
    frame = frames.DataFrame(dict(zip("abcd", X.T, strict=True)))
    DecisionRegionDisplay.from_estimator(M3SVMClassifier().fit(frame, y), frame, y, grid_resolution=10)
    two = frame[["a", "b"]]
    display = DecisionRegionDisplay.from_estimator(M3SVMClassifier().fit(two, y), two, y, grid_resolution=10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("a", "b")


def test_other_classifiers_and_texts_as_labels_have_regions_too(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, names)
    scaled = make_pipeline(StandardScaler(), PCA(2))
    display = DecisionRegionDisplay.from_estimator(model, X, names, projection=scaled, grid_resolution=20)
    assert set(np.unique(display.region)) == {0, 1, 2}
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == sorted(set(names))


def test_many_classes_are_named_in_the_picture():
    X = np.stack([np.cos(np.arange(40) * 0.9), np.sin(np.arange(40) * 0.9)], axis=1)
    y = np.arange(40) % 7
    model = M3SVMClassifier().fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=60)
    assert {text.get_text() for text in display.ax_.texts} == {str(k) for k in np.unique(display.region)}


def test_what_cannot_be_drawn_is_said(iris, model):
    X, y = iris
    draw = DecisionRegionDisplay.from_estimator
    with pytest.raises(ValueError, match="at least three classes"):
        draw(model, X, projection="lda")
    with pytest.raises(ValueError, match='None, "pca", "lda" or a transformer'):
        draw(model, X, projection="tsne")
    with pytest.raises(ValueError, match="two columns"):
        draw(model, X, projection=PCA(3))
    with pytest.raises(ValueError, match="must name 3 classes"):
        draw(model, X, y, display_labels=["a"])
    with pytest.raises(TypeError, match="sparse"):
        draw(model, pytest.importorskip("scipy.sparse").csr_array(X))
    with pytest.raises(ValueError, match="`kind`"):
        ConvergenceDisplay.from_estimator(model, kind="speed")
    with pytest.raises(ValueError, match="shape"):
        MarginMatrixDisplay([[1.0]], display_labels=["a", "b"])


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"m3svm\[plots\]"):
        MarginMatrixDisplay.from_estimator(model)
